"""Starts this interpreter anew, with this process's import path and one socket to it.

Invariant
  Y1  Neither the environment nor the working directory decides what the new process imports: it
      imports what this one would. It needs no `__main__` of the host.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

STOP_S_MAX = 10.0

_BOOT = """
import sys, socket
link = socket.socket(fileno=int(sys.argv[1]))
try:
    sys.path[:] = sys.argv[3:]
    from importlib import import_module
    module, _, name = sys.argv[2].partition(":")
    call = getattr(import_module(module), name)
except BaseException as error:
    link.sendall(f"{type(error).__name__}: {error}".encode())
    sys.exit(1)
call(link)
"""
# What else a process needs to find the libraries that this one found.
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def start_python(target: str, link: socket.socket, *, quiet: bool) -> subprocess.Popen[bytes]:
    """Start a process that calls one function with a socket.

    Args:
        target: the function, as `module:name`.
        link: the other process's end of a connection; it stays open here.
        quiet: whether its standard error goes nowhere.

    Returns:
        The process, in a session of its own: an interrupt at the terminal is this process's affair.

    Raises:
        OSError: where no process can be started.
    """
    from multiprocessing.spawn import get_executable  # an embedding host sets it there

    own = str(Path(__file__).resolve().parent.parent.parent)
    paths = [str(Path(entry).absolute()) for entry in sys.path]
    command = ["-I", "-c", _BOOT, str(link.fileno()), target, *paths, own]
    return subprocess.Popen(  # noqa: S603 - this interpreter
        [get_executable() or sys.executable, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if quiet else None,
        pass_fds=[link.fileno()],
        start_new_session=True,
        cwd="/",
        env={"MALLOC_ARENA_MAX": "2"} | {n: os.environ[n] for n in _KEPT if n in os.environ},
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait until a process that was told to end is gone; kill one that does not end.

    Args:
        process: as `start_python` gave it.

    Returns:
        Its status; negative for a signal.
    """
    try:
        return process.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()

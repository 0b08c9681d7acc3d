"""A process that has loaded what is slow to load, and forks a child whenever it is asked.

A new child costs a fork, not a new interpreter.

Invariants
  K1  Nobody is left behind. The fork server kills its child when it is closed or when the process
      that started it ends, whatever the child is doing; a child whose fork server is gone ends itself.
  K2  There is one child at a time: another is started only after the one before was killed.
"""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import NoReturn

from preview.errors import RecorderFailed
from preview.forks import no_fork
from preview.process.channel import Channel, first_frame
from preview.process.python import ended, start_python

_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


class ForkServer:
    """A fork server's process and its control socket, seen from who started it."""

    def __init__(self, target: str, task: bytes) -> None:
        """Start nothing yet.

        Args:
            target: as `module:name`, a function that calls `serve` with the socket it is given.
            task: what every child is given.
        """
        self.channel: Channel | None = None
        self._target = target
        self._task = task
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def new_child(self) -> Channel:
        """Have the child killed, if there is one, and another started; do not wait for either.

        Returns:
            The channel to the new child.

        Raises:
            RecorderFailed: where the fork server cannot be started.
        """
        self._drop_channel()
        for _ in range(2):
            try:
                with no_fork():  # or the other process keeps ends of what is made here
                    if self._control is None:
                        self._start()
                    self.channel = self._asked_child()
                return self.channel
            except OSError:
                self.close()  # the fork server is gone: once more, with another
            except BaseException:
                self.close()  # somebody interrupts, and what was being started is half there
                raise
        raise RecorderFailed("the recorder's process could not be started")

    def _asked_child(self) -> Channel:
        assert self._control is not None  # `new_child` has started the fork server
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"+"], [theirs.fileno()], _NO_SIGNAL)
        except OSError:
            ours.close()
            raise
        return Channel(ours)

    def _start(self) -> None:
        control, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = start_python(self._target, theirs, quiet=True)
            Channel(control).send(self._task)
            # Only now: one that was not told its task would take what is sent next for it.
            self._control = control
        except BaseException:
            control.close()  # whoever is at its other end by now ends
            raise

    def last_words(self) -> str:
        """End the fork server, and say why there is no child."""
        words = b""
        if self._control is not None:
            try:
                self._control.settimeout(1)
                words = self._control.recv(500)
            except OSError:
                pass
        self.close()
        told = words.decode(errors="replace") or "it said nothing"
        return f"the recorder's process could not be started: {told}"

    def close(self) -> None:
        """End the fork server, which ends its child, and wait until both are gone."""
        self._drop_channel()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            ended(self._process)
            self._process = None

    def after_fork(self) -> None:
        """Forget a fork server that belongs to the process this one was forked from."""
        if self._process is not None:
            self._process.returncode = 0  # not ours to wait for
            self._process = None
        self.close()

    def _drop_channel(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None


# --- in the fork server's process -----------------------------------------------------------------


def serve(
    control: socket.socket, prepare: Callable[[bytes], Callable[[Channel], None]]
) -> NoReturn:
    """Start a child whenever it is asked for; end with who asks (K1).

    Args:
        control: its first frame is the task; then every byte brings the socket of a new child, for
            which the old one is killed.
        prepare: takes the task, once, and gives what a child does with its channel.
    """
    try:
        work = prepare(first_frame(control))
    except BaseException as error:
        control.sendall(f"{type(error).__name__}: {error}".encode())
        raise
    child: tuple[int, int] | None = None
    while True:
        request, passed, _, _ = socket.recv_fds(control, 1, 1)
        if child is not None:
            pid, alive = child
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(alive)
        if not request:
            os._exit(0)
        ends, alive = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(alive)
            control.close()
            _be_child(work, Channel(socket.socket(fileno=passed[0])), ends)
        os.close(ends)
        os.close(passed[0])
        child = pid, alive


def _be_child(work: Callable[[Channel], None], channel: Channel, server_alive: int) -> NoReturn:
    try:
        threading.Thread(target=_end_with, args=(server_alive,), daemon=True).start()
        work(channel)
    finally:
        os._exit(1)


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)  # nothing is ever written: this returns when the fork server is gone
    os._exit(1)

"""Runs a verb, writes its answer, and turns trouble into one line and a status (specification 9).

A verb gives an `Answer` and writes nothing, or a `Stream`, which writes with what it is given: so a
full disk or a closed pipe is met in one place.

Invariants
  G1  Exit status: 0 something is eligible, released or done; 1 nothing is; 2 trouble, with one
      line on standard error.
  G2  With `--json`, standard output holds one JSON document and nothing else; of a stream, one
      each line.
  G3  No help loads the database, the parser or Arrow: verbs import what they need.
  G4  Bad input never ends in a traceback; an error that nobody expected is a bug, and does.
"""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from evidence_adapters.cli.documents import json_bytes
from evidence_adapters.cli.trouble import FILE, Trouble, UsageError, from_error

if TYPE_CHECKING:
    from evidence_adapters.cli.screen import Screen

DONE, NOTHING, TROUBLE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb gives back.

    Attributes:
        status: of the exit.
        document: what `--json` prints.
        show: how people see it.
        everything: whether they see long lists whole.
    """

    status: int
    document: Any
    show: "Callable[[Screen], None]"
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """What a verb gives back whose answer is too long to be held.

    Attributes:
        write_all: writes it with what it is given, and gives the status of the exit.
    """

    write_all: Callable[[Callable[[bytes], None]], int]


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the program.

    Args:
        app: its verbs, each of which gives an `Answer` or a `Stream`.
        arguments: without the program's name.

    Returns:
        The exit status.
    """
    as_json = "--json" in arguments
    said = StringIO()
    try:
        # A verb writes nothing; what is written nevertheless is help, which is a document too (G2).
        with redirect_stdout(said) if as_json else nullcontext():
            made = get_command(app).main(list(arguments), "eligibility", standalone_mode=False)
        if isinstance(made, Stream):
            return made.write_all(_write)
        if isinstance(made, Answer):
            _write(json_bytes(made.document) if as_json else _shown(made))
            return made.status
        _write(json_bytes({"help": said.getvalue()}) if said.getvalue() else b"")
        return made if isinstance(made, int) else DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit:  # Typer's answer to a pipe that closed while help was printed
        _close_stdout()
        return PIPE_CLOSED
    except TyperException as error:
        trouble: Trouble = UsageError(error.format_message())
    except OSError as error:
        if error.errno == errno.EPIPE:
            _close_stdout()
            return PIPE_CLOSED
        trouble = Trouble(FILE, f"{error.filename or 'standard output'}: {error.strerror}")
    except Exception as error:
        expected = from_error(error)
        if expected is None:
            raise
        trouble = expected
    return _fail(trouble, as_json)


def _shown(answer: Answer) -> bytes:
    return b"" if sys.stdout is None else shown_on(sys.stdout, answer.show, answer.everything)


def shown_on(stream: TextIO, show: "Callable[[Screen], None]", everything: bool = False) -> bytes:
    """Give what people see on a stream.

    Args:
        stream: a terminal or not, with its encoding; nothing is written to it.
        show: writes it.
        everything: whether long lists are whole.

    Returns:
        Its bytes.
    """
    from rich.console import Console

    from evidence_adapters.cli.screen import Screen

    width = None if stream.isatty() or "COLUMNS" in os.environ else 100
    console = Console(
        file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False
    )
    with console.capture() as captured:
        show(Screen(console, everything=everything))
    lines = (line.rstrip() for line in captured.get().split("\n"))
    return "\n".join(lines).encode(stream.encoding or "utf-8", errors="backslashreplace")


def _write(data: bytes) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()  # here, where a full disk or a closed pipe can still be told


def _close_stdout() -> None:
    """Keep the interpreter from writing what is left to where it cannot go."""
    with suppress(OSError, ValueError, AttributeError):  # there may be no standard output
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _fail(trouble: Trouble, as_json: bool) -> int:
    error = {"code": trouble.code, "message": trouble.message}
    try:
        if as_json:
            _write(json_bytes({"error": error}))
    except OSError:
        _close_stdout()
    with suppress(OSError, AttributeError):  # there may be no standard error
        sys.stderr.write(f"eligibility: {trouble.message}\n")
        sys.stderr.flush()
    return TROUBLE

"""`check --batch`: JSON lines in, JSON lines out, by as many processes as there are processors.

The program itself only cuts, hands on and writes bytes; lines are read and judged by the workers.

Invariants
  T1  Lines go out in the order in which they came in, however many judge them.
  T2  Memory does not grow with the input: no more than `LINE_BYTES_MAX` of a line is kept, and no
      more than `CHUNKS_WAITING` chunks a worker are in the program at once.
  T3  Whole lines that are there are judged; nothing waits for more input than a line's end.
"""

import os
import selectors
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from evidence_adapters.cli.documents import json_bytes
from evidence_adapters.cli.inputs import Source
from evidence_adapters.cli.lines import LINE_BYTES_MAX, Tally
from evidence_adapters.cli.program import DONE, NOTHING, shown_on
from evidence_adapters.cli.trouble import FILE, LINE, Trouble
from evidence_adapters.cli.workers import Task, Workers
from preview.process.channel import Channel

BLOCK_BYTES = 2**15
CHUNKS_WAITING = 4

Write = Callable[[bytes], None]
Told = Callable[[int, int], None]


def processors() -> int:
    """Say how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked(
    source: Source, task: Task, jobs: int, write: Write, *, on_stdout: bool, as_json: bool
) -> int:
    """Judge every line of a file, and say on standard error what was found.

    Args:
        source: the open file.
        task: over which tables, and how.
        jobs: how many processes judge, at most.
        write: takes the lines out, in order.
        on_stdout: whether that is standard output: how far it is is not shown among the lines.
        as_json: whether what was found is said as JSON.

    Returns:
        The status of the exit.

    Raises:
        Trouble: the file cannot be read, a worker fails, or a line is of another form.
    """
    write(b"")  # fails now, before any work, where the reader of the output is gone
    begun = time.monotonic()
    among = on_stdout and sys.stdout.isatty()
    with nullcontext() if among else _progress(source) as told:
        tally = judged(source, task, jobs, write, told)
    _summarise(tally, time.monotonic() - begun, as_json=as_json)
    if tally.first_malformed is not None:
        first = f"line {tally.first_malformed:,}"
        many = f"{tally.malformed:,} lines are of another form; the first is {first}"
        said = many if tally.malformed > 1 else f"{first} is of another form"
        raise Trouble(LINE, f"{source.name}: {said}")
    return DONE if tally.eligible or tally.partly else NOTHING


def judged(source: Source, task: Task, jobs: int, write: Write, told: Told | None = None) -> Tally:
    """Judge every line of a file.

    Args:
        source: the open file.
        task: over which tables, and how.
        jobs: how many processes judge, at most.
        write: takes the lines out, in order.
        told: is told, again and again, how many bytes and how many statements are done.

    Returns:
        What was counted.

    Raises:
        Trouble: the file cannot be read, or a worker fails.
        OSError: what `write` raises.
    """
    cutter, tally = _Cutter(source), Tally()
    done: dict[int, tuple[bytes, Tally]] = {}
    ends: deque[int] = deque()
    written = 0
    with Workers(task, jobs) as workers:
        while ends or not cutter.at_end:
            room = len(ends) < CHUNKS_WAITING * jobs and workers.have_room
            reading = room and not cutter.at_end
            ready = _ready(
                [worker.channel for worker in workers.all], source.fd if reading else None
            )
            for worker in workers.all:
                if worker.channel in ready:
                    done.update((n, (lines, found)) for n, lines, found in worker.taken())
            if source.fd in ready:
                first = cutter.line
                lines = cutter.whole_lines()
                if lines:
                    workers.give(written + len(ends), first, lines)
                    ends.append(cutter.bytes_cut)
            while written in done:
                lines, found = done.pop(written)
                write(lines)
                tally.add(found)
                written += 1
                if told is not None:
                    told(ends[0], tally.statements)
                ends.popleft()
    return tally


def _ready(links: list[Channel], source: int | None) -> set[Any]:
    """Wait until a worker has answered, or there is something to read."""
    with selectors.PollSelector() as selector:  # poll, since epoll takes no plain files
        for link in links:
            selector.register(link, selectors.EVENT_READ)
        if source is not None:
            selector.register(source, selectors.EVENT_READ)
        return {key.fileobj for key, _ in selector.select()}


class _Cutter:
    """Cuts a file into whole lines.

    Attributes:
        line: the number of the line that comes next.
        bytes_cut: how much of the file is before it.
        at_end: whether there is nothing more.
    """

    def __init__(self, source: Source) -> None:
        self.line = 1
        self.bytes_cut = 0
        self.at_end = False
        self._source = source
        self._rest = bytearray()
        self._rest_bytes = 0

    def whole_lines(self) -> bytes:
        """Read once, and give the lines that are whole by then; nothing where none is."""
        block = self._source.read(BLOCK_BYTES)
        self.at_end = not block
        end = block.rfind(b"\n") + 1
        if block and not end:
            self._rest_bytes += len(block)
            if len(self._rest) <= LINE_BYTES_MAX:  # of a longer line the rest is not kept (T2)
                self._rest += block
            return b""
        lines = bytes(self._rest) + block[:end]
        self.bytes_cut += self._rest_bytes + end
        self._rest = bytearray(block[end:])
        self._rest_bytes = len(self._rest)
        self.line += lines.count(b"\n")
        return lines


# --- what people see ----------------------------------------------------------------------------


@contextmanager
def _progress(source: Source) -> Iterator[Told | None]:
    """Give a function that shows how far it is; None where nobody would see it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    known = source.size is not None
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *((TaskProgressColumn(),) if known else ()),
        TimeElapsedColumn(),
        *((TextColumn("left"), TimeRemainingColumn()) if known else ()),
        console=Console(file=sys.stderr, markup=False, emoji=False),
        transient=True,
    )
    task = bar.add_task("starting", total=source.size)

    def told(size: int, statements: int) -> None:
        bar.update(task, description=f"{statements:,} statements", completed=size)

    with bar:
        yield told


def _summarise(tally: Tally, seconds: float, *, as_json: bool) -> None:
    """Say on standard error what was found."""
    with suppress(OSError, AttributeError):  # there may be no standard error
        if as_json:
            told = json_bytes(tally.document())
        else:
            told = shown_on(sys.stderr, lambda screen: screen.tally(tally, seconds))
        sys.stderr.write(told.decode(sys.stderr.encoding or "utf-8"))
        sys.stderr.flush()


@contextmanager
def written_to(path: str) -> Iterator[Write]:
    """Give what writes to a new file.

    Args:
        path: of the file; there is none yet.

    Raises:
        Trouble: it is there already, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except (OSError, ValueError) as error:
        raise _not_written(path, error) from None
    with os.fdopen(descriptor, "wb", buffering=0) as file:

        def write(data: bytes) -> None:
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:
                raise _not_written(path, error) from None

        yield write


def _not_written(path: str, error: OSError | ValueError) -> Trouble:
    said = error.strerror if isinstance(error, OSError) else "it is not the name of a file"
    return Trouble(FILE, f"{path}: {said}")

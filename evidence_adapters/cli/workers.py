"""The processes that judge the lines of a batch, and both ends of what is said to them.

The first frame to a worker is its task, each further one is the number of a line and whole lines, and
an empty one ends it. It answers each, in order, with a line of JSON, the tally, and the lines out.

Invariants
  W1  Nobody is left behind: a worker whose socket is at its end is gone at once, whatever it is
      doing, and so is its recorder.
  W2  A worker that is gone before its work is done ends the batch; nobody waits for it.
  W3  No worker has more than `CHUNKS_AHEAD` chunks that it has not answered.
"""

import json
import os
import socket
import threading
from collections import Counter, deque
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Self

from evidence_adapters.cli.trouble import WORKER, Trouble, from_error
from preview.process.channel import Channel
from preview.process.python import ended, start_python

if TYPE_CHECKING:
    from eligibility.sql.schema import Schema
    from evidence_adapters.cli.lines import Tally
    from preview import Recorder, Snapshot

CHUNKS_AHEAD = 2
# A chunk of lines, or the verdicts on them.
FRAME_BYTES_MAX = 2**31


# --- what every worker is told ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Task:
    """What every worker of a batch is given once.

    Attributes:
        schema: the pinned tables.
        snapshot: where the engine is asked; verified already, and it stays so (K5 of
            `preview.recorder`).
        timeout_s, memory_bytes: limits of each recorder.
    """

    schema: "Schema"
    snapshot: "Snapshot | None" = None
    timeout_s: float = 0
    memory_bytes: int = 0

    def encoded(self) -> bytes:
        """Give the JSON bytes that are sent to a worker."""
        pinned = self.snapshot
        told = None
        if pinned is not None:
            told = {
                "folder": str(pinned.folder.absolute()),
                "id": pinned.id,
                "manifest_sha256": pinned.manifest_sha256,
                "manifest": pinned.manifest.model_dump_json(),
                "identity": pinned.identity,
            }
        return json.dumps(
            {
                "schema": self.schema.model_dump_json(),
                "snapshot": told,
                "timeout_s": self.timeout_s,
                "memory_bytes": self.memory_bytes,
            }
        ).encode()

    @classmethod
    def decoded(cls, frame: bytes) -> Self:
        """Read what `encoded` gave."""
        from eligibility.sql.schema import Schema

        tree = json.loads(frame)
        snapshot = None
        if tree["snapshot"] is not None:
            from eligibility.sql.manifest import Manifest
            from preview import Snapshot

            told = tree["snapshot"]
            snapshot = Snapshot(
                folder=Path(told["folder"]),
                id=told["id"],
                manifest_sha256=told["manifest_sha256"],
                manifest=Manifest.model_validate_json(told["manifest"]),
                schema=Schema.model_validate_json(tree["schema"]),
                identity=tuple(told["identity"]),
            )
        return cls(
            schema=Schema.model_validate_json(tree["schema"]),
            snapshot=snapshot,
            timeout_s=tree["timeout_s"],
            memory_bytes=tree["memory_bytes"],
        )


# --- the program's side -------------------------------------------------------------------------


class Worker:
    """One process, seen from the program."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            Trouble: it cannot be started.
        """
        self.given: deque[int] = deque()
        link, theirs = socket.socketpair()
        self.channel = Channel(link, FRAME_BYTES_MAX)
        try:
            with theirs:
                self._process = start_python(f"{__name__}:serve", theirs, quiet=False)
        except OSError as error:
            self.channel.close()
            raise Trouble(WORKER, f"a process could not be started: {error.strerror}") from None

    def begin(self, task: bytes) -> None:
        """Tell it its task.

        Args:
            task: encoded.

        Raises:
            Trouble: it is gone.
        """
        self._send(task)

    def give(self, number: int, first: int, lines: bytes) -> None:
        """Give it lines to judge.

        Args:
            number: of the chunk.
            first: the number of its first line.
            lines: whole lines.

        Raises:
            Trouble: it is gone.
        """
        self.given.append(number)
        self._send(first.to_bytes(8, "big") + lines)

    def taken(self) -> "list[tuple[int, bytes, Tally]]":
        """Take what it has answered; call it where there is something to read.

        Returns:
            Number, lines and tally of each chunk that is done.

        Raises:
            Trouble: it is gone, or met trouble.
        """
        try:
            frames = self.channel.received()
        except (EOFError, OSError):
            raise self._gone() from None
        done = []
        for frame in frames:
            head, _, lines = frame.partition(b"\n")
            done.append((self.given.popleft(), lines, _tally(head)))
        return done

    def end(self) -> None:
        """Say that there is nothing more to do."""
        with suppress(OSError):
            self.channel.send(b"")

    def kill(self) -> None:
        """End it at once; its recorder ends with it."""
        self._process.kill()

    def wait(self) -> None:
        """Wait until it is gone."""
        ended(self._process)
        self.channel.close()

    def _send(self, frame: bytes) -> None:
        try:
            self.channel.send(frame)
        except OSError:
            raise self._gone() from None

    def _gone(self) -> Trouble:
        status = ended(self._process)
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return Trouble(WORKER, f"a process that judges lines {how}; what it had is not judged")


def _tally(head: bytes) -> "Tally":
    from evidence_adapters.cli.lines import Tally

    told = json.loads(head)
    if "trouble" in told:
        raise Trouble(*told["trouble"])
    return Tally(**told | {"reasons": Counter(told["reasons"])})


class Workers:
    """As many processes as there is work for, up to a number."""

    def __init__(self, task: Task, jobs: int) -> None:
        """Start none yet.

        Args:
            task: what each is given once.
            jobs: how many there are at most.
        """
        self.all: list[Worker] = []
        self._task = task.encoded()
        self._jobs = jobs

    @property
    def have_room(self) -> bool:
        """Whether one takes another chunk (W3)."""
        return len(self.all) < self._jobs or any(len(w.given) < CHUNKS_AHEAD for w in self.all)

    def give(self, number: int, first: int, lines: bytes) -> None:
        """Give lines to the one that has least to do; start another rather than let them wait."""
        least = min(self.all, key=lambda worker: len(worker.given), default=None)
        if least is None or (least.given and len(self.all) < self._jobs):
            least = Worker()
            self.all.append(least)
            least.begin(self._task)
        least.give(number, first, lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self.all:
            if kind is None:
                worker.end()
            else:
                worker.kill()
        for worker in self.all:
            worker.wait()


# --- the worker's side --------------------------------------------------------------------------


def serve(link: socket.socket) -> None:
    """Be a worker, until the program says that there is nothing more to do.

    Args:
        link: to the program.
    """
    channel = Channel(link, FRAME_BYTES_MAX)
    frames: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(channel, frames), daemon=True).start()
    try:
        _answer(channel, frames)
    except Exception as error:
        trouble = from_error(error)
        if trouble is None:
            raise
        told = {"trouble": [trouble.code, trouble.message]}
        _send(channel, json.dumps(told).encode() + b"\n")


def _answer(channel: Channel, frames: "SimpleQueue[bytes]") -> None:
    from evidence_adapters.cli.lines import Judge, Tally

    task = Task.decoded(frames.get())
    with _recorder(task) as recorder:
        judge = Judge(task.schema, recorder)
        while frame := frames.get():
            lines, tally = judge.judged(frame[8:], int.from_bytes(frame[:8], "big"))
            told = {name: getattr(tally, name) for name in Tally.__slots__}
            _send(channel, json.dumps(told).encode() + b"\n" + lines)


def _recorder(task: Task) -> "AbstractContextManager[Recorder | None]":
    if task.snapshot is None:
        return nullcontext()
    from preview import Recorder

    return Recorder(task.snapshot, timeout_s=task.timeout_s, memory_bytes=task.memory_bytes)


def _receive(channel: Channel, frames: "SimpleQueue[bytes]") -> None:
    """Put what comes where it is waited for; end the process with the program (W1)."""
    try:
        while frame := channel.receive():
            frames.put(frame)
    except (EOFError, OSError):
        os._exit(1)
    frames.put(b"")


def _send(channel: Channel, frame: bytes) -> None:
    with suppress(OSError):  # nobody listens: the other thread ends the process
        channel.send(frame)

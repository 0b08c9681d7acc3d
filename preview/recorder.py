"""The child that executes statements, and can be killed (specification 5).

A recorder starts a small process, the fork server, which has loaded the engine but opened nothing,
and which forks the child that opens the snapshot.

Invariants
  K1  Statements are parsed, planned and executed in the child alone.
  K2  A child that took longer than its time limit, died, ran out of memory, or whose answer nobody
      waited for, never answers again: its channel is closed, the fork server kills it, and the next
      statement gets another.
  K3  No process is left behind (`preview.process.fork_server`).
  K4  What the child sends is data of a known form and size; nothing is unpickled or evaluated.
  K5  The file that answers is the file that was verified: device, inode, size and times are
      compared before and after every statement; and those of what a child has open, by its
      descriptor, when it has opened it. Where the path led meanwhile makes no difference.
"""

import os
import resource
import socket
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, Self, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from eligibility.reasons import Reason
from eligibility.sql.limits import refusal
from eligibility.sql.observation import (
    CELL_TEXT_BYTES_MAX,
    ROWS_MAX,
    CellBound,
    Engine,
    EngineReading,
    Observation,
)
from eligibility.sql.schema import Pin
from eligibility.wire.model import Model
from preview.bounds import question
from preview.descriptors import Identity, files_open, identity_of
from preview.engine import (
    THREADS,
    Broken,
    Captured,
    EnginePort,
    Failed,
    Measured,
    NotOpened,
    Read,
    Refused,
    Session,
    engine_named,
)
from preview.errors import (
    PinMismatch,
    RecorderClosed,
    RecorderFailed,
    StatementFailed,
    StatementKilled,
    StatementRefused,
    StatementTimedOut,
)
from preview.observing import Observer
from preview.process.channel import FRAME_BYTES_MAX, Channel
from preview.process.fork_server import ForkServer, serve

if TYPE_CHECKING:
    from preview.keeper import Keeper
    from preview.snapshot import Snapshot  # it loads pyarrow, which no child needs

TIMEOUT_S = 10.0
TIMEOUT_S_MAX = 86_400.0
MEMORY_BYTES = 2 * 2**30
MEMORY_BYTES_MIN = 512 * 2**20
START_S_MAX = 60.0
ENGINE = "duckdb"
FORK_SERVER = f"{__name__}:forks"

Outcome = TypeVar("Outcome", Read, Captured, Measured)


class Recorder:
    """Executes statements over one `snapshot` and records what they return (specification 5 and 6).

    Safe to use from several threads, one statement at a time; several recorders may read one
    snapshot. After `os.fork` each process has its own child.
    """

    def __init__(
        self,
        snapshot: "Snapshot",
        *,
        timeout_s: float = TIMEOUT_S,
        memory_bytes: int = MEMORY_BYTES,
        threads: int = THREADS,
        ledger: "Keeper | None" = None,
    ) -> None:
        """Start a child for a snapshot; it gets ready while the caller goes on.

        Args:
            snapshot: an opened snapshot.
            timeout_s: how long one statement may take, in seconds, from its sending to its answer;
                at most a day.
            memory_bytes: cap of the child's address space, in bytes, at least 512 MiB; half of it
                is the engine's own limit.
            threads: how many threads the engine uses (see `preview.duckdb.sealed`).
            ledger: keeps the snapshot's manifest, and every observation before it is returned.

        Raises:
            ValueError: for a limit that is out of range or no number, or what is no snapshot.
            LedgerError: where the manifest cannot be appended.
            PinMismatch: where the database file is not the one that was verified.
            RecorderFailed: where no process can be started.
        """
        if not hasattr(snapshot, "identity"):
            raise ValueError("a recorder takes a snapshot: pin one, or open one")
        limits: tuple[object, ...] = (timeout_s, memory_bytes, threads)
        if not all(isinstance(limit, int | float) for limit in limits):
            raise ValueError("a limit of the recorder is no number, so it is out of range")
        if not 0 < timeout_s <= TIMEOUT_S_MAX or memory_bytes < MEMORY_BYTES_MIN or threads < 1:
            raise ValueError("a limit of the recorder is out of range")
        self.snapshot = snapshot
        self._ledger = ledger
        self._timeout_s = timeout_s
        self._identity = snapshot.identity
        self._file = str(snapshot.database)
        self._check_file()
        if ledger is not None:
            ledger.record_snapshot(snapshot.manifest)
        task = _Task(
            engine=ENGINE,
            database=str(snapshot.database.absolute()),
            identity=self._identity,
            memory_bytes=memory_bytes,
            threads=threads,
            pins=snapshot.pins,
        )
        self._server = ForkServer(FORK_SERVER, task.model_dump_json().encode())
        self._observer = Observer(snapshot)
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._closed = False
        self._finalizer = weakref.finalize(self, self._server.close)
        _RECORDERS.add(self)
        self._server.new_child()

    def capture(self, statement: str) -> Observation:
        """Execute a statement and record its first rows (specification 6).

        Where the plan shows a sum of floats that may be stated, a statement of our own then asks
        for its bound. It has the same time limit once more; one that ends without an answer leaves
        those sums without a bound, and nothing else.

        Args:
            statement: SQL text, at most 16 KiB of UTF-8.

        Returns:
            The observation: at most 50 rows and 64 KiB of cell text.

        Raises:
            StatementRefused: where the statement is not run here.
            StatementFailed: where the engine gave an error.
            StatementTimedOut: where it took longer than the time limit, and was killed.
            StatementKilled: where the child died, mostly for lack of memory.
            PinMismatch: where the database file is no longer the one that was verified.
            RecorderFailed: where no child can be started.
            RecorderClosed: where the recorder was closed.
            LedgerError: where the ledger cannot be appended to, before the statement is executed,
                or could not be; then there is no observation.
        """
        if self._ledger is not None:
            self._ledger.check()
        _check(statement)
        outcome, engine = self._ask(b"c", statement, Captured)
        bounds = self._bounds(outcome)
        observation = self._observer.observation(statement, outcome, engine, bounds)
        if self._ledger is not None:
            self._ledger.record(observation)
        return observation

    def read(self, statement: str) -> EngineReading:
        """Give the engine reading of a statement; nothing is executed (specification 3).

        Args:
            statement: SQL text, at most 16 KiB of UTF-8.

        Returns:
            The reading.

        Raises:
            PreviewError: as `capture` does.
        """
        _check(statement)
        return self._ask(b"r", statement, Read)[0].reading

    def close(self) -> None:
        """End the child; a second call does nothing. A statement that runs is waited for."""
        with self._lock:
            self._closed = True
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _bounds(self, captured: Captured) -> tuple[CellBound, ...]:
        """Ask how far the sums of floats may be off; nothing where there is no answer."""
        asked = question(captured, self.snapshot.pins)
        if asked is None:
            return ()
        try:
            return asked.bounds(self._ask(b"b", asked.statement, Measured)[0])
        except (StatementFailed, StatementTimedOut, StatementKilled, RecorderFailed):
            return ()

    def _ask(self, verb: bytes, statement: str, wanted: type[Outcome]) -> tuple[Outcome, Engine]:
        """Send one statement and give its outcome, and the engine that gave it."""
        with self._lock:
            if self._closed:
                raise RecorderClosed("the recorder was closed")
            self._check_file()
            channel, engine = self._ready()
            try:
                answer = self._exchange(channel, verb + statement.encode())
            except TimeoutError:
                self._replace_child()
                message = f"the statement was killed after {self._timeout_s:g} seconds"
                raise StatementTimedOut(message) from None
            except (EOFError, OSError):
                self._replace_child()
                raise StatementKilled("the process that ran the statement died") from None
            except BaseException:
                # An answer may still come, and it would be taken for that of the next statement.
                self._replace_child()
                raise
            self._check_file()
            if isinstance(answer, wanted):
                return answer, engine
            if isinstance(answer, Refused):
                raise StatementRefused(answer.reason, answer.message)
            if isinstance(answer, Failed):
                raise StatementFailed(answer.error_class, answer.message)
            self._replace_child()
            if isinstance(answer, Broken):
                raise StatementKilled(f"the statement was ended: {answer.error_class}")
            raise _malformed()

    def _exchange(self, channel: "Channel", frame: bytes) -> "Answer":
        deadline = time.monotonic() + self._timeout_s
        channel.send(frame, deadline)
        return _checked(channel.receive(deadline))

    def _ready(self) -> "tuple[Channel, Engine]":
        """Give a child that waits for a statement; one that died since the last one is replaced."""
        channel = self._server.channel
        if channel is None or (self._engine is not None and channel.is_dead()):
            self._engine = None
            channel = self._server.new_child()
        if self._engine is None:
            try:
                answer = _checked(channel.receive(time.monotonic() + START_S_MAX))
                if not isinstance(answer, Ready):
                    if isinstance(answer, Unready) and answer.error_class == PinMismatch.__name__:
                        raise _changed()
                    raise RecorderFailed("the snapshot's database file could not be opened")
                self._engine = Engine(name=ENGINE, version=answer.version, settings=answer.settings)
            except (EOFError, OSError):
                raise RecorderFailed(self._server.last_words()) from None
            except BaseException:
                # Also where somebody interrupts: a child is ready once, and says so once.
                self._engine = None
                self._server.close()
                raise
        return channel, self._engine

    def _replace_child(self) -> None:
        """Kill the child, and let another get ready meanwhile (K2)."""
        self._engine = None
        try:
            self._server.new_child()
        except RecorderFailed:
            pass  # the fork server is gone, and so is the child; the next statement tries again

    def _check_file(self) -> None:
        if _identity(self._file) != self._identity:
            raise _changed()

    def _after_fork(self) -> None:
        """Leave the parent's child to the parent: this process gets its own when it needs one."""
        self._lock = threading.Lock()
        self._engine = None
        self._server.after_fork()


def _check(statement: str) -> None:
    reason = refusal(statement)
    if reason is not None:
        raise StatementRefused(reason)


_RECORDERS: "weakref.WeakSet[Recorder]" = weakref.WeakSet()


def _after_fork() -> None:
    for recorder in list(_RECORDERS):
        recorder._after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _malformed() -> RecorderFailed:
    return RecorderFailed("the recorder's process gave an answer of another form")


def _changed() -> PinMismatch:
    return PinMismatch("the snapshot's database file is not the one that was verified")


def _identity(database: str) -> Identity:
    """Give what changes when a file is replaced or written (K5); a missing one is a mismatch."""
    try:
        # Twice for every statement, so without a `Path`.
        found = os.stat(database)  # noqa: PTH116
        # The engine would replay a log that lies beside the file.
        if os.path.lexists(f"{database}.wal"):
            raise _changed()
    except OSError:
        raise _changed() from None
    return identity_of(found)


# --- what crosses ------------------------------------------------------------------------------


class _Task(Model):
    """What every child of one recorder is started with."""

    engine: str
    database: str
    identity: Identity
    memory_bytes: int
    threads: int
    pins: tuple[Pin, ...]


class Ready(Model):
    """The child has opened the snapshot and waits for statements."""

    kind: Literal["ready"] = "ready"
    version: str
    settings: tuple[tuple[str, str], ...]


class Unready(Model):
    """The child could not open the snapshot."""

    kind: Literal["unready"] = "unready"
    error_class: str


Answer = Ready | Unready | Refused | Failed | Broken | Read | Captured | Measured
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])


def _checked(frame: bytes) -> Answer:
    """Take an answer only where it is of the right form and within all limits (K4)."""
    try:
        answer = _ANSWER.validate_json(frame)
    except ValidationError:
        raise _malformed() from None
    if isinstance(answer, Captured):
        width = len(answer.names)
        size = len("".join([text for row in answer.rows for text in row if text]).encode())
        if (
            len(answer.types) != width
            or any(len(row) != width for row in answer.rows)
            or size > CELL_TEXT_BYTES_MAX
            or (answer.truncated == "rows" and len(answer.rows) != ROWS_MAX)
        ):
            raise _malformed()
    return answer


# --- the child ------------------------------------------------------------------------------------


def forks(control: socket.socket) -> NoReturn:
    """Be the fork server of a recorder.

    Args:
        control: as `preview.process.fork_server.serve` takes it.
    """
    serve(control, _prepared)


def _prepared(task: bytes) -> Callable[[Channel], None]:
    """Load the engine, before any child is forked, and give what a child does."""
    told = _Task.model_validate_json(task)
    return partial(_be_child, told, engine_named(told.engine))


def _be_child(task: _Task, engine: EnginePort, channel: Channel) -> None:
    _limit(resource.RLIMIT_AS, task.memory_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _answer_statements(task, engine, channel)


def _answer_statements(task: _Task, engine: EnginePort, channel: Channel) -> None:
    """Open the snapshot, then answer statements until the parent is gone."""
    try:
        before = files_open()
        session = engine.open(
            Path(task.database), memory_bytes=task.memory_bytes // 2, threads=task.threads
        )
        # A log that was open before may grow: only device and inode tell files apart here.
        after = files_open().items()
        opened = {file for place, file in after if before.get(place, ())[:2] != file[:2]}
        if opened != {task.identity} or _identity(task.database) != task.identity:
            raise _changed()
    except NotOpened as error:
        channel.send(Unready(error_class=str(error)).model_dump_json().encode())
        return
    except (PinMismatch, OSError) as error:
        channel.send(Unready(error_class=type(error).__name__).model_dump_json().encode())
        return
    ready = Ready(version=session.version, settings=session.settings)
    channel.send(ready.model_dump_json().encode())
    while True:
        session.prepare()
        try:
            frame = channel.receive()
        except EOFError:
            return
        outcome = _outcome(session, frame[:1], frame[1:].decode(), task.pins)
        answer = outcome.model_dump_json().encode()
        if len(answer) > FRAME_BYTES_MAX - 4:
            answer = Refused(reason=Reason.ENGINE_REFUSED).model_dump_json().encode()
        channel.send(answer)
        if isinstance(outcome, Broken):
            return


def _outcome(session: Session, verb: bytes, statement: str, pins: tuple[Pin, ...]) -> Answer:
    match verb:
        case b"r":
            return session.read(statement, pins)
        case b"c":
            return session.capture(statement, pins)
        case b"b":
            return session.measure(statement)
        case _:
            return Failed(error_class="UnknownRequest")


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))

"""The child that executes statements, and can be killed (specification 5).

A recorder starts a small process, the nurse, which has loaded the engine but opened nothing. The
nurse forks the child that opens the snapshot; a new child costs a fork, not a new interpreter.

Invariants
  K1  Statements are parsed, planned and executed in the child alone.
  K2  A child that overran its time, lost its parent's attention, died, or ran out of memory never
      answers again: its channel is closed, the nurse kills it, and the next statement gets another.
  K3  Nobody is left behind. The nurse kills its child when the recorder closes or its process
      ends, whatever the child is doing; a child whose nurse is gone ends itself.
  K4  What the child sends is data of a known form and size; nothing is unpickled or evaluated.
  K5  The file that answers is the file that was verified: device, inode, size and times are
      compared before and after every statement; and those of what a child has open, by its
      descriptor, when it has opened it. Where the path led meanwhile makes no difference.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, Self, TypeVar

import duckdb
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
from preview.bounds import Measured, measure, question
from preview.capture import Broken, Captured, Failed, Read, Refused, capture, read
from preview.descriptors import Identity, files_open, identity_of
from preview.errors import (
    PinMismatch,
    RecorderClosed,
    RecorderFailed,
    StatementFailed,
    StatementKilled,
    StatementRefused,
    StatementTimedOut,
)
from preview.forks import no_fork
from preview.observing import Observer
from preview.sealed import THREADS, open_sealed

if TYPE_CHECKING:
    from preview.keeper import Keeper
    from preview.snapshot import Snapshot  # it loads pyarrow, which no child needs

TIMEOUT_S = 10.0
TIMEOUT_S_MAX = 86_400.0
MEMORY_BYTES = 2 * 2**30
MEMORY_BYTES_MIN = 512 * 2**20
START_S_MAX = 60.0
STOP_S_MAX = 10.0
FRAME_BYTES_MAX = 4 * 2**20

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
            threads: how many threads the engine uses (see `preview.sealed.open_sealed`).
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
        self._nursery = _Nursery(
            _Task(
                database=str(snapshot.database.absolute()),
                identity=self._identity,
                memory_bytes=memory_bytes,
                threads=threads,
                pins=snapshot.pins,
            )
        )
        self._observer = Observer(snapshot)
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._closed = False
        self._finalizer = weakref.finalize(self, self._nursery.close)
        _RECORDERS.add(self)
        self._nursery.new_child()

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

    def _exchange(self, channel: "_Channel", frame: bytes) -> "Answer":
        deadline = time.monotonic() + self._timeout_s
        channel.send(frame, deadline)
        return _checked(channel.receive(deadline))

    def _ready(self) -> "tuple[_Channel, Engine]":
        """Give a child that waits for a statement; one that died in its sleep is replaced."""
        channel = self._nursery.channel
        if channel is None or (self._engine is not None and channel.is_dead()):
            self._engine = None
            channel = self._nursery.new_child()
        if self._engine is None:
            try:
                answer = _checked(channel.receive(time.monotonic() + START_S_MAX))
                if not isinstance(answer, Ready):
                    if isinstance(answer, Unready) and answer.error_class == PinMismatch.__name__:
                        raise _changed()
                    raise RecorderFailed("the snapshot's database file could not be opened")
                self._engine = Engine(
                    name="duckdb", version=answer.version, settings=answer.settings
                )
            except (EOFError, OSError):
                raise RecorderFailed(self._nursery.last_words()) from None
            except BaseException:
                # Also where somebody interrupts: a child is ready once, and says so once.
                self._engine = None
                self._nursery.close()
                raise
        return channel, self._engine

    def _replace_child(self) -> None:
        """Kill the child, and let another get ready meanwhile (K2)."""
        self._engine = None
        try:
            self._nursery.new_child()
        except RecorderFailed:
            pass  # the nurse is gone, and so is the child; the next statement tries again

    def _check_file(self) -> None:
        if _identity(self._file) != self._identity:
            raise _changed()

    def _after_fork(self) -> None:
        """Leave the parent's child to the parent: this process gets its own when it needs one."""
        self._lock = threading.Lock()
        self._engine = None
        self._nursery.after_fork()


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


class _Channel:
    """Frames over a socket: four bytes of length, then the frame."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def send(self, frame: bytes, deadline: float | None = None) -> None:
        """Send a frame.

        Args:
            frame: any bytes.
            deadline: on the monotonic clock, in seconds; None to wait for ever.

        Raises:
            TimeoutError: where the deadline passes.
            OSError: where nobody listens.
        """
        self._link.settimeout(_left(deadline))
        self._link.sendall(len(frame).to_bytes(4, "big") + frame, _NO_SIGNAL)

    def receive(self, deadline: float | None = None) -> bytes:
        """Receive a frame.

        Args:
            deadline: on the monotonic clock, in seconds; None to wait for ever.

        Returns:
            The frame.

        Raises:
            TimeoutError: where the deadline passes.
            EOFError: where the other side is gone, or sends more than is ever sent.
        """
        received = bytearray()
        wanted = 4
        while len(received) < wanted:
            self._link.settimeout(_left(deadline))
            chunk = self._link.recv(2**16)
            if not chunk:
                raise EOFError
            received += chunk
            if wanted == 4 and len(received) >= 4:
                wanted += int.from_bytes(received[:4], "big")
                if wanted > FRAME_BYTES_MAX:
                    raise EOFError
        return bytes(received[4:])

    def is_dead(self) -> bool:
        """Say whether the other side is gone, or speaks without being asked."""
        self._link.settimeout(0)
        try:
            self._link.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        """Close this end."""
        self._link.close()


def _left(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)

# --- the parent's side of the nurse --------------------------------------------------------------

# Isolated, so that neither the environment nor the working directory decides what is imported: it
# imports what this process would. It needs no `__main__` of the host.
_BOOT = """
import sys, socket
control = socket.socket(fileno=int(sys.argv[1]))
try:
    sys.path[:] = sys.argv[2:]
    from preview.recorder import nurse
except BaseException as error:
    control.sendall(f"{type(error).__name__}: {error}".encode())
else:
    nurse(control)
"""


class _Nursery:
    """The nurse's process and its control socket, seen from the recorder."""

    def __init__(self, task: _Task) -> None:
        self.channel: _Channel | None = None
        self._task = task.model_dump_json().encode()
        self._import_path = _import_path()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def new_child(self) -> _Channel:
        """Have the child killed, if there is one, and another started; do not wait for either.

        Returns:
            The channel to the new child.

        Raises:
            RecorderFailed: where the nurse cannot be started.
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
                self.close()  # the nurse is gone: once more, with another
            except BaseException:
                self.close()  # somebody interrupts, and what was being started is half there
                raise
        raise RecorderFailed("the recorder's process could not be started")

    def _asked_child(self) -> _Channel:
        assert self._control is not None  # `new_child` has started the nurse
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"+"], [theirs.fileno()], _NO_SIGNAL)
        except OSError:
            ours.close()
            raise
        return _Channel(ours)

    def _start(self) -> None:
        from multiprocessing.spawn import get_executable  # an embedding host sets it there

        control, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                    [
                        get_executable() or sys.executable,
                        "-I",
                        "-c",
                        _BOOT,
                        str(theirs.fileno()),
                        *self._import_path,
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # an interrupt at the terminal is the host's affair
                    cwd="/",
                    env={"MALLOC_ARENA_MAX": "2"} | _kept("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
                )
            _Channel(control).send(self._task)
            # Only now: one that was not told its task would take what is sent next for it.
            self._control = control
        except BaseException:
            control.close()  # whoever is at its other end by now ends
            raise

    def last_words(self) -> str:
        """End the nurse, and say why there is no child."""
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
        """End the nurse, which ends its child, and wait until both are gone."""
        self._drop_channel()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def after_fork(self) -> None:
        """Forget a nurse that belongs to the process this one was forked from."""
        if self._process is not None:
            self._process.returncode = 0  # not ours to wait for
            self._process = None
        self.close()

    def _drop_channel(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None


def _import_path() -> list[str]:
    own = str(Path(__file__).resolve().parent.parent)
    paths = [str(Path(entry).absolute()) for entry in sys.path]
    return [*paths, own]


def _kept(*names: str) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


# --- the nurse and the child ---------------------------------------------------------------------


def nurse(control: socket.socket) -> NoReturn:
    """Start a child whenever the recorder asks; end with the recorder (K3).

    Args:
        control: the socket that the recorder asks on. Its first frame is the task; then every
            byte brings the socket of a new child, for which the old one is killed.
    """
    task = _Task.model_validate_json(_task_frame(control))
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
            _child(task, socket.socket(fileno=passed[0]), ends)
        os.close(ends)
        os.close(passed[0])
        child = pid, alive


def _task_frame(control: socket.socket) -> bytes:
    """Read the task and not one byte more: the next ones carry sockets."""
    size = int.from_bytes(control.recv(4, socket.MSG_WAITALL), "big")
    return control.recv(size, socket.MSG_WAITALL)


def _child(task: _Task, link: socket.socket, nurse_alive: int) -> NoReturn:
    """Be the child: open the snapshot, then answer statements until the parent is gone."""
    try:
        threading.Thread(target=_end_with, args=(nurse_alive,), daemon=True).start()
        _limit(resource.RLIMIT_AS, task.memory_bytes)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, 0)
        _serve(task, _Channel(link))
    finally:
        os._exit(1)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)  # nothing is ever written: this returns when the nurse is gone
    os._exit(1)


def _serve(task: _Task, channel: _Channel) -> None:
    try:
        before = files_open()
        connection, settings = open_sealed(
            Path(task.database), memory_bytes=task.memory_bytes // 2, threads=task.threads
        )
        # A log that was open before may grow: only device and inode tell files apart here.
        after = files_open().items()
        opened = {file for place, file in after if before.get(place, ())[:2] != file[:2]}
        if opened != {task.identity} or _identity(task.database) != task.identity:
            raise _changed()
    except (duckdb.Error, PinMismatch, OSError) as error:
        channel.send(Unready(error_class=type(error).__name__).model_dump_json().encode())
        return
    ready = Ready(version=duckdb.__version__, settings=settings)
    channel.send(ready.model_dump_json().encode())
    while True:
        fresh = connection.cursor()  # made while nobody waits
        try:
            frame = channel.receive()
        except EOFError:
            return
        verb, statement = frame[:1], frame[1:].decode()
        outcome: Answer
        if verb == b"b":
            outcome = measure(connection, statement, fresh)
        else:
            work: Callable[..., Answer] = capture if verb == b"c" else read
            outcome = work(connection, statement, task.pins, fresh)
        answer = outcome.model_dump_json().encode()
        if len(answer) > FRAME_BYTES_MAX - 4:
            answer = Refused(reason=Reason.ENGINE_REFUSED).model_dump_json().encode()
        channel.send(answer)
        if isinstance(outcome, Broken):
            return

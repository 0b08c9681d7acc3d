"""What was recorded, executed again over a snapshot, and what that shows.

Invariants
  X1  Nothing is executed but the statement that was recorded, and statements of our own about its
      facts, each in a sealed child with limits of time and memory.
  X2  A folder is opened where the caller names it: no address, no link, nor one inside.
  X3  What cannot be executed is a code, never an exception: who asks demands an answer.
"""

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from eligibility.evidence.bundle import verify
from eligibility.evidence.replay import compared
from eligibility.evidence.verification import Code, Report
from preview.errors import (
    PinMismatch,
    PreviewError,
    StatementFailed,
    StatementRefused,
    StatementTimedOut,
)

if TYPE_CHECKING:
    from eligibility.evidence.entry import PublicKey
    from eligibility.evidence.verification import Verification
    from eligibility.sql.observation import Observation
    from preview.recorder import Recorder
    from preview.snapshot import Snapshot

THREADS_MAX = 64
# Those of a recorder; it is imported when it is needed, so that an engine which is absent is found.
TIMEOUT_S = 10.0
MEMORY_BYTES = 2 * 2**30


def reexecute(
    recorded: "Observation | bytes",
    snapshot: "Snapshot | Path | str",
    *,
    keys: "Iterable[PublicKey] | None" = None,
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MEMORY_BYTES,
) -> "Verification":
    """Execute what was recorded again, and say what that shows (specification 11).

    Args:
        recorded: an observation; or the bytes of a bundle of evidence, at most 16 MiB, of which all
            that can be checked offline is checked too.
        snapshot: the snapshot that it was recorded over, opened or as its folder.
        keys: that are trusted, where a bundle is given; see `eligibility.evidence.bundle.verify`.
        timeout_s: how long one statement may take, in seconds; at most a day.
        memory_bytes: cap of the address space of the process that executes, at least 512 MiB.

    Returns:
        What was found, with codes, JSON pointers and advice. A statement that cannot be executed
        over this snapshot is found, not raised.

    Raises:
        ValueError: a limit is out of range.
    """
    with Executor(snapshot, timeout_s=timeout_s, memory_bytes=memory_bytes) as execute:
        if isinstance(recorded, bytes):
            return verify(recorded, keys=keys, execute=execute)
        report = Report()
        for code, at in compared(recorded, execute):
            report.add(code, at)
        report.advise(recorded.engine.name, recorded.engine.version)
        return report.verification(None)


class Executor:
    """Executes statements as an observation was, over one snapshot; starts when it is first asked.

    What it is called with and gives is what `eligibility.evidence.bundle.verify` takes as `execute`.
    """

    def __init__(
        self,
        snapshot: "Snapshot | Path | str",
        *,
        timeout_s: float = TIMEOUT_S,
        memory_bytes: int = MEMORY_BYTES,
        opening: "Callable[[str], Snapshot] | None" = None,
    ) -> None:
        """Take a snapshot.

        Args:
            snapshot: opened, or its folder, which is opened when a statement is first asked for.
            timeout_s: how long one statement may take, in seconds.
            memory_bytes: cap of the address space of the process that executes.
            opening: opens a folder; by default `open_snapshot`.
        """
        self._given = snapshot
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._opening = opening
        self._recorder: Recorder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recorder is not None:
            self._recorder.close()

    def __call__(self, observation: "Observation", statement: str) -> "Observation | Code":
        """Execute a statement (X3).

        Args:
            observation: what was recorded; its engine and its snapshot must be these.
            statement: its own, or one about its facts.

        Returns:
            What the statement returns now; a code where it cannot be executed.
        """
        if (observation.engine.name, observation.engine.version) != ("duckdb", _engine_version()):
            return Code.ENGINE_ABSENT
        try:
            if self._recorder is None:
                refused = self._start(observation)
                if refused is not None:
                    return refused
            assert self._recorder is not None  # `_start` has made it
            return self._recorder.capture(statement)
        except (StatementRefused, StatementFailed):
            return Code.RESULT_DIFFERS
        except StatementTimedOut:
            return Code.EXECUTION_TOO_SLOW
        except PreviewError:
            return Code.EXECUTION_FAILED

    def _start(self, observation: "Observation") -> Code | None:
        from preview.engine import THREADS
        from preview.recorder import Recorder

        snapshot = self._opened()
        if isinstance(snapshot, Code):
            return snapshot
        if snapshot.id != observation.snapshot:
            return Code.SNAPSHOT_DIFFERS
        told = dict(observation.engine.settings).get("threads", "")
        given = int(told) if told.isascii() and told.isdigit() and len(told) < 4 else THREADS
        self._recorder = Recorder(
            snapshot,
            timeout_s=self._timeout_s,
            memory_bytes=self._memory_bytes,
            threads=min(max(given, 1), THREADS_MAX),
        )
        return None

    def _opened(self) -> "Snapshot | Code":
        """Open the snapshot where that is to be done (X2)."""
        if not isinstance(self._given, Path | str):
            return self._given
        folder = Path(self._given)
        try:
            if _is_address(str(self._given)) or folder.is_symlink():
                return Code.SNAPSHOT_REFUSED
            if any(entry.is_symlink() for entry in folder.iterdir()):
                return Code.SNAPSHOT_REFUSED
            from preview.snapshot import open_snapshot

            return (self._opening or open_snapshot)(str(self._given))
        except (PinMismatch, OSError, ValueError):
            return Code.SNAPSHOT_REFUSED


def _is_address(path: str) -> bool:
    return "://" in path or path.startswith(("//", "\\\\", "file:"))


def _engine_version() -> str | None:
    try:
        return version("duckdb")
    except PackageNotFoundError:
        return None

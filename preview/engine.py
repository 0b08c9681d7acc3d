"""The port: what an engine is asked, and what it can answer (specification 5).

An engine opens a snapshot's database in the child, reads statements and executes them there. What it
found is a value that crosses to the parent: for a statement it never raises.

Invariants
  E1  Recorder, observer and ledger know an engine by this file alone.
  E2  Whatever an engine can answer is one of the outcomes below.
"""

from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from eligibility.reasons import Reason
from eligibility.sql.observation import COLUMNS_MAX, ROWS_MAX, EngineReading, Truncation
from eligibility.sql.schema import Pin
from eligibility.wire.model import Model

THREADS = 2


class Refused(Model):
    """The statement is not run; `message` is the parser's, where it is no SQL."""

    kind: Literal["refused"] = "refused"
    reason: Reason
    message: str | None = None


class Failed(Model):
    """The engine gave an error; its message only where it quotes nothing but the statement."""

    kind: Literal["failed"] = "failed"
    error_class: str
    message: str | None = None


class Broken(Model):
    """The engine ran out of memory or reported an internal error; the child ends after this answer."""

    kind: Literal["broken"] = "broken"
    error_class: str


class Read(Model):
    """What the plan says; nothing was executed."""

    kind: Literal["read"] = "read"
    reading: EngineReading


class Captured(Model):
    """What the execution returned.

    Attributes:
        reading: what the plan says.
        names, types: of the bare statement's columns, by position.
        rows: the engine's own texts, None for NULL.
        truncated: why rows are missing; None where none is.
    """

    kind: Literal["captured"] = "captured"
    reading: EngineReading
    names: tuple[str, ...] = Field(min_length=1, max_length=COLUMNS_MAX)
    types: tuple[str, ...] = Field(min_length=1, max_length=COLUMNS_MAX)
    rows: tuple[tuple[str | None, ...], ...] = Field(max_length=ROWS_MAX)
    truncated: Truncation | None


class Measured(Model):
    """What the engine answered: for each group its place, and per column a count and a size."""

    kind: Literal["measured"] = "measured"
    rows: tuple[tuple[str | None, ...], ...]


class NotOpened(Exception):
    """The engine could not open a database; the message is the class of its error."""


class Session(Protocol):
    """One opened database.

    Attributes:
        version: of the engine.
        settings: as they took effect, as (name, value) pairs.
    """

    version: str
    settings: tuple[tuple[str, str], ...]

    def prepare(self) -> None:
        """Do for the next statement what can be done while nobody waits."""

    def read(self, statement: str, pins: tuple[Pin, ...]) -> Refused | Failed | Broken | Read:
        """Plan a statement without executing it (specification 3, the engine reading).

        Args:
            statement: text that `eligibility.sql.limits.refusal` lets pass.
            pins: the pinned tables.
        """

    def capture(
        self, statement: str, pins: tuple[Pin, ...]
    ) -> Refused | Failed | Broken | Captured:
        """Execute a statement and take its first rows: at most 50, with at most 64 KiB of text."""

    def measure(self, statement: str) -> Failed | Broken | Measured:
        """Execute a statement of our own, as `preview.bounds.question` makes it."""


class EnginePort(Protocol):
    """One engine.

    Attributes:
        name: as an observation and `eligibility.sql.dialect.DIALECTS` have it.
    """

    name: str

    def open(self, database: Path, *, memory_bytes: int, threads: int) -> Session:
        """Open a database so that a statement can read it and do nothing else.

        Args:
            database: the snapshot's database file.
            memory_bytes: how much memory the engine's buffers may take.
            threads: how many threads it uses.

        Raises:
            NotOpened: where it cannot.
        """


# Where each engine stands; it is loaded where it is asked for, in the child.
_ENGINES = {"duckdb": "preview.duckdb.engine"}


def engine_named(name: str) -> EnginePort:
    """Load an engine by its name; KeyError for one that is not known."""
    engine: EnginePort = import_module(_ENGINES[name]).ENGINE
    return engine

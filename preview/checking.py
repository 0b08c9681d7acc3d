"""One statement checked: both readings' verdicts, what is at fault, and what would help.

Nothing is executed: the engine is asked for its plan, never for rows.

Invariants
  K1  A statement that the engine refuses, cannot bind, or does not bind within its limits of time
      and memory is withheld; only a snapshot or a recorder that fails raises.
  K2  What was decided stands, whatever becomes of the engine while edits are looked for.
  K3  Looking for edits ends after `SECONDS_MAX`; those found count.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eligibility.explaining.edits import Enough, edits
from eligibility.explaining.found import Edit, Mark
from eligibility.explaining.marks import marks
from eligibility.sql.classify import classify
from eligibility.sql.schema import Schema
from eligibility.sql.verdicts import Verdicts
from preview.errors import (
    PreviewError,
    StatementFailed,
    StatementKilled,
    StatementRefused,
    StatementTimedOut,
)

if TYPE_CHECKING:
    from preview.recorder import Recorder
    from preview.snapshot import Snapshot

SECONDS_MAX = 2.0


class Checked(Verdicts):
    """What was decided of a statement, why, and what would help.

    Attributes:
        note: what the engine said where it does not run the statement; empty elsewhere.
        marks: which part of the statement each reason is about. Where the engine does not run it,
            they are about what the text alone is withheld for.
        edits: changes that were tried; each makes an output eligible.
    """

    note: str
    marks: tuple[Mark, ...]
    edits: tuple[Edit, ...]

    @property
    def agreed(self) -> bool:
        """Whether both readings say the same of the statement; false where one was not asked."""
        return self.engine == "agrees"


def check(statement: str, over: "Snapshot | Recorder") -> Checked:
    """Say which outputs of a statement could be stated, by both readings; run nothing (specification 9).

    Args:
        statement: SQL text, at most 16 KiB of UTF-8.
        over: an opened snapshot; or a recorder over one, which spares the start of a process and
            has limits of time and memory of its own.

    Returns:
        The verdicts, with marks and edits. A statement that the engine refuses, cannot bind, or
        does not bind within its limits is withheld.

    Raises:
        PinMismatch: the snapshot's file is not the one that was verified.
        RecorderFailed: no process could be started.
        RecorderClosed: the recorder was closed.
        ValueError: `over` is neither.
    """
    from preview.recorder import Recorder

    if not isinstance(over, Recorder):
        with Recorder(over) as recorder:
            return check(statement, recorder)
    schema = over.snapshot.schema
    return explained(statement, schema, decided(statement, schema, over), over)


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided of a statement.

    Attributes:
        verdicts: on its outputs.
        note: as of `Checked`.
        killed: whether the engine had to be ended, so that it is not asked more.
    """

    verdicts: Verdicts
    note: str = ""
    killed: bool = False


def decided(statement: str, schema: Schema, recorder: "Recorder | None") -> Decided:
    """Decide a statement; nothing is executed.

    Args:
        statement: SQL text.
        schema: the pinned tables.
        recorder: asks the engine; None where the text alone is read.

    Returns:
        What was decided (K1).

    Raises:
        PreviewError: the snapshot or the recorder fails, whatever the statement.
    """
    if recorder is None:
        return Decided(classify(statement, schema))
    try:
        return Decided(classify(statement, schema, recorder.read(statement)))
    except StatementRefused as error:
        return Decided(classify(statement, schema, "refused"), str(error))
    except StatementFailed as error:
        return Decided(classify(statement, schema, "failed"), str(error))
    except (StatementKilled, StatementTimedOut) as error:
        return Decided(classify(statement, schema, "failed"), str(error), killed=True)


def explained(
    statement: str, schema: Schema, found: Decided, recorder: "Recorder | None"
) -> Checked:
    """Find what is at fault in a statement that was decided, and what would help (K2, K3).

    Args:
        statement: SQL text.
        schema: the pinned tables.
        found: what was decided of it.
        recorder: as for `decided`.

    Returns:
        The verdicts, with marks and edits.
    """
    verdicts = found.verdicts
    # Where the engine does not run it, the text still shows what is at fault, and where.
    own = classify(statement, schema) if verdicts.engine in ("refused", "failed") else verdicts
    deadline = time.monotonic() + SECONDS_MAX

    def judge(other: str) -> Verdicts:
        if time.monotonic() > deadline:
            raise Enough
        try:
            return decided(other, schema, recorder).verdicts
        except PreviewError:
            raise Enough from None

    return Checked(
        **dict(verdicts),
        note=found.note.encode(errors="backslashreplace").decode(),
        marks=marks(statement, own, schema),
        edits=() if found.killed else edits(statement, own, schema, judge),
    )

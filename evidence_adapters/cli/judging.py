"""A statement decided, by both readings or by the text alone, with what is at fault in it."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eligibility import classify
from eligibility.evidence import Schema, Verdicts
from eligibility.reasons import Reason
from evidence_adapters.cli.hints import hints
from evidence_adapters.cli.marks import marks
from evidence_adapters.cli.proposals import Hint
from evidence_adapters.cli.screen import Judged
from evidence_adapters.cli.visible import one_line
from preview.errors import PreviewError

if TYPE_CHECKING:
    from preview import Recorder


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided of a statement.

    Attributes:
        verdicts: on its outputs.
        note: what the engine said where it does not run it; empty elsewhere.
        killed: whether the engine had to be ended, so that it is not asked more.
    """

    verdicts: Verdicts
    note: str = ""
    killed: bool = False


def decided(text: str, schema: Schema, recorder: "Recorder | None") -> Decided:
    """Decide a statement; nothing is executed.

    Args:
        text: the statement.
        schema: the pinned tables.
        recorder: asks the engine; None where the text alone is read.

    Returns:
        The verdicts. A statement that the engine refuses, cannot bind, or does not bind within
        its limits of time and memory is withheld.

    Raises:
        PreviewError: the snapshot or the recorder fails, whatever the statement.
    """
    if recorder is None:
        return Decided(classify(text, schema))
    from preview import StatementFailed, StatementKilled, StatementRefused, StatementTimedOut

    try:
        return Decided(classify(text, schema, recorder.read(text)))
    except StatementRefused as error:
        return Decided(classify(text, schema, "refused"), one_line(str(error)))
    except StatementFailed as error:
        return Decided(classify(text, schema, "failed"), one_line(str(error)))
    except (StatementKilled, StatementTimedOut) as error:
        return Decided(classify(text, schema, "failed"), one_line(str(error)), killed=True)


def judged(text: str, schema: Schema, found: Decided, recorder: "Recorder | None") -> Judged:
    """Find what is at fault in a statement, and what would help.

    Args:
        text: the statement.
        schema: the pinned tables.
        found: what was decided of it.
        recorder: as for `decided`.

    Returns:
        All that a screen shows of it.
    """
    verdicts = found.verdicts
    if Reason.STATEMENT_TOO_LONG in verdicts.reasons:
        return Judged(text, schema, verdicts, note=found.note)
    # Where the engine does not run it, the text still shows what is at fault, and where.
    own = classify(text, schema) if verdicts.engine in ("refused", "failed") else verdicts
    marked = marks(text, own, lambda other: classify(other, schema))
    helping: dict[int | None, Hint] = {}
    if not found.killed:
        # What was decided stands, whatever becomes of the engine meanwhile.
        with suppress(PreviewError):
            helping = hints(
                text, own, schema, lambda other: decided(other, schema, recorder).verdicts
            )
    return Judged(text, schema, verdicts, marked, helping, found.note)

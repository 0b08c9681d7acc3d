"""One edit that would make a withheld output eligible, where there is one.

Edits are proposed by what was found and tried on the statement itself, so a hint is never a guess:
the edited statement was judged, and the output was eligible in it.

Invariants
  H1  A hint is given only after the edited statement was judged, and the output is eligible.
  H2  Looking for hints ends: after `JUDGED_MAX` statements or `SECONDS_MAX`, those found count.
"""

import time
from collections.abc import Iterator
from contextlib import suppress

from eligibility.cli.layout import lay_out
from eligibility.cli.marks import Probe
from eligibility.cli.proposals import Case, Hint, proposals
from eligibility.evidence import Schema, Verdicts

JUDGED_MAX = 150
SECONDS_MAX = 2.0


def hints(
    statement: str, verdicts: Verdicts, schema: Schema, judge: Probe
) -> dict[int | None, Hint]:
    """Find, for each withheld output, one edit that would make it eligible.

    Args:
        statement: the text as it was written.
        verdicts: what was decided of it.
        schema: the pinned tables.
        judge: decides another statement in the same way.

    Returns:
        By position; under None for the whole statement. An output without a hint is left out.
    """
    layout = lay_out(statement)
    patient = _Patient(judge)
    found: dict[int | None, Hint] = {}
    with suppress(_Enough):
        if verdicts.reasons:
            case = Case(layout, verdicts, schema, patient)
            _keep(found, None, patient.first(proposals(case, verdicts.reasons), None))
        elif len(layout.items) == len(verdicts.outputs):
            for output in verdicts.outputs:
                case = Case(layout, verdicts, schema, patient, output.position)
                tried = patient.first(proposals(case, output.reasons), output.position)
                _keep(found, output.position, tried)
    return found


def _keep(found: dict[int | None, Hint], position: int | None, hint: Hint | None) -> None:
    if hint is not None:
        found[position] = hint


class _Enough(Exception):
    """Ends the search (H2)."""


class _Patient:
    """A judge that is asked each question once, and loses its patience (H2)."""

    def __init__(self, judge: Probe) -> None:
        self._judge = judge
        self._judged: dict[str, Verdicts] = {}
        self._deadline = time.monotonic() + SECONDS_MAX

    def __call__(self, statement: str) -> Verdicts:
        if statement not in self._judged:
            if len(self._judged) >= JUDGED_MAX or time.monotonic() > self._deadline:
                raise _Enough
            self._judged[statement] = self._judge(statement)
        return self._judged[statement]

    def first(self, proposed: Iterator[Hint], position: int | None) -> Hint | None:
        """Give the first proposal that makes an output, or any, eligible (H1)."""
        for hint in proposed:
            outputs = self(hint.statement).outputs
            wanted = outputs if position is None else outputs[position : position + 1]
            if any(output.label is not None for output in wanted):
                return hint
        return None

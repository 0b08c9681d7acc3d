"""What would make a withheld output eligible: one edit where that does, else a few.

Edits are proposed by what was found and tried on the statement itself, so a hint is never a guess:
the edited statement was judged, and the output was eligible in it.

Invariants
  H1  A hint is given only after the edited statement was judged, and the output is eligible.
  H2  Looking for hints ends: after `JUDGED_MAX` statements or `SECONDS_MAX`, those found count.
  H3  Where several edits are needed, each does away with the reason that it is for.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from eligibility.evidence import Schema, Verdict, Verdicts
from evidence_adapters.cli.layout import lay_out
from evidence_adapters.cli.marks import Probe
from evidence_adapters.cli.proposals import Case, Hint, proposals

JUDGED_MAX = 150
SECONDS_MAX = 2.0
EDITS_MAX = 3


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
                _keep(found, output.position, tried or _several(case, statement))
    return found


def _several(case: Case, statement: str) -> Hint | None:
    """Find a few edits that together make an output eligible (H3)."""
    said: list[str] = []
    for _ in range(EDITS_MAX + 1):
        verdicts = case.judge(statement)
        output = verdicts.outputs[case.position or 0]
        if output.label is not None:
            return Hint("; ".join(said), statement)
        now = replace(case, layout=lay_out(statement), verdicts=verdicts)
        step = next(_helpful(now, output), None)
        if step is None:
            return None
        said.append(step.said)
        statement = step.statement
    return None


def _helpful(case: Case, output: Verdict) -> Iterator[Hint]:
    """Give the proposals that do away with the reason they are for (H3)."""
    for reason in output.reasons:
        for hint in proposals(case, (reason,)):
            after = case.judge(hint.statement)
            left = after.outputs[output.position : output.position + 1]
            if not after.reasons and left and reason not in left[0].reasons:
                yield hint


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

"""What would make a withheld output eligible: one edit where that does, else a few.

Edits are proposed by what was found and tried on the statement itself, so none is a guess: the
edited statement was judged, and the output was eligible in it.

Invariants
  H1  An edit is given only after the edited statement was judged, and the output is eligible.
  H2  Looking for edits ends: after `JUDGED_MAX` statements, or when the judge raises `Enough`, those
      found count.
  H3  Where several edits are needed, each does away with the reason that it is for.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from eligibility.explaining.found import Edit
from eligibility.explaining.layout import lay_out
from eligibility.explaining.marks import Probe
from eligibility.explaining.proposals import Case, Proposal, proposals
from eligibility.reasons import Reason
from eligibility.sql.classify import classify, digest_of
from eligibility.sql.schema import Schema
from eligibility.sql.verdicts import Verdict, Verdicts

JUDGED_MAX = 150
EDITS_MAX = 3


class Enough(Exception):
    """What a judge raises that is not to be asked any more (H2)."""


def edits(
    statement: str, verdicts: Verdicts, schema: Schema, judge: Probe | None = None
) -> tuple[Edit, ...]:
    """Find, for each withheld output, one edit that would make it eligible (specification 8).

    Args:
        statement: the text as it was written. One that is over the limit of a statement, 16 KiB of
            UTF-8, has no edits.
        verdicts: what `classify` decided of it; where they are of another, there are no edits.
        schema: the tables that it was decided over.
        judge: decides another statement in the same way, and is asked of at most 150; it may raise
            `Enough`. By default the text alone is read.

    Returns:
        The edits, by output; one for the whole statement stands alone. An output for which none
        was found is left out.
    """
    if Reason.STATEMENT_TOO_LONG in verdicts.reasons:
        return ()
    if digest_of(statement) != verdicts.statement_sha256:
        return ()
    if judge is None:
        judge = lambda other: classify(other, schema)  # noqa: E731 - it has no other use
    layout = lay_out(statement)
    found: list[Edit] = []
    patient = _Patient(judge)

    def keep(output: int | None, proposal: Proposal | None) -> None:
        if proposal is not None:
            found.append(_edit(statement, output, proposal))

    with suppress(Enough):
        if verdicts.reasons:
            case = Case(layout, verdicts, schema, patient)
            keep(None, patient.first(proposals(case, verdicts.reasons), None))
        elif len(layout.items) == len(verdicts.outputs):
            for output in (each for each in verdicts.outputs if each.label is None):
                case = Case(layout, verdicts, schema, patient, output.position)
                tried = patient.first(proposals(case, output.reasons), output.position)
                keep(output.position, tried or _several(case, statement))
    return tuple(found)


def _edit(statement: str, output: int | None, proposal: Proposal) -> Edit:
    """Find the one part of a statement that a proposal replaces."""
    new = proposal.statement
    start = _same(statement, new)
    kept = _same(statement[start:][::-1], new[start:][::-1])
    stop = len(statement) - kept
    text = new[start : len(new) - kept]
    return Edit(
        output=output, title=proposal.said, start=start, stop=stop, text=text, statement=new
    )


def _same(one: str, other: str) -> int:
    """Count the first characters that two texts share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _several(case: Case, statement: str) -> Proposal | None:
    """Find a few edits that together make an output eligible (H3)."""
    said: list[str] = []
    for _ in range(EDITS_MAX + 1):
        verdicts = case.judge(statement)
        output = next((o for o in verdicts.outputs if o.position == case.position), None)
        if output is None:
            return None
        if output.label is not None:
            return Proposal("; ".join(said), statement)
        now = replace(case, layout=lay_out(statement), verdicts=verdicts)
        step = next(_helpful(now, output), None)
        if step is None:
            return None
        said.append(step.said)
        statement = step.statement
    return None


def _helpful(case: Case, output: Verdict) -> Iterator[Proposal]:
    """Give the proposals that do away with the reason they are for (H3)."""
    for reason in output.reasons:
        for one in proposals(case, (reason,)):
            after = case.judge(one.statement)
            left = after.outputs[output.position : output.position + 1]
            if not after.reasons and left and reason not in left[0].reasons:
                yield one


class _Patient:
    """Asks a judge, each question once and only so many of them (H2)."""

    def __init__(self, judge: Probe) -> None:
        self._judge = judge
        self._judged: dict[str, Verdicts] = {}

    def __call__(self, statement: str) -> Verdicts:
        if statement not in self._judged:
            if len(self._judged) >= JUDGED_MAX:
                raise Enough
            self._judged[statement] = self._judge(statement)
        return self._judged[statement]

    def first(self, proposed: Iterator[Proposal], position: int | None) -> Proposal | None:
        """Give the first proposal that makes an output, or any, eligible (H1)."""
        for one in proposed:
            outputs = self(one.statement).outputs
            wanted = outputs if position is None else outputs[position : position + 1]
            if any(output.label is not None for output in wanted):
                return one
        return None

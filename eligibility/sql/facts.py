"""What an answer claims, and what is released of it (specification 7).

Invariant
  A1  `Claim` and `Fact` are unions by `domain`: who looks into one asks it for its domain first. In
      JSON the domain `sql` is absent, as it was when there was no other.
"""

from typing import Any, Literal, assert_never

from pydantic import Field

from eligibility.reasons import Reason
from eligibility.sql.observation import COLUMNS_MAX, ROWS_MAX, BoundText, Cell
from eligibility.sql.verdicts import Filter, Label, SelectionFlags
from eligibility.wire.model import Model, Sha256, is_absent

CLAIMS_MAX = 1_000


Domain = Literal["sql"]


def _is_sql(domain: object) -> bool:
    """Say whether a domain is left out of JSON (A1)."""
    return domain == "sql"


class SqlClaim(Model):
    """One cell the answer wants to state.

    Attributes:
        domain: what kind of evidence it is about.
        row, column: zero-based.
        type, text: what the cell is expected to hold, to the character; None for no expectation.
    """

    domain: Literal["sql"] = Field(default="sql", exclude_if=_is_sql)
    row: int
    column: int
    type: str | None = None
    text: str | None = None


Claim = SqlClaim


class GroupCell(Model):
    """One group key of a fact: the native column and its cell."""

    column: str
    cell: Cell


class SqlFact(Model):
    """One released value with its label and row scope (specification 7).

    Attributes:
        domain: what kind of evidence it is from.
        label: under what description.
        value: type and text.
        exact: false for SUM or AVG that yield FLOAT or DOUBLE.
        bound: how far the value, as the double that its text stands for, may be from the exact
            sum or average; at most a millionth of it. Absent where the value is exact, and in
            what was released from format 1 of an observation.
        row, column: where it stands in the observation, zero-based.
        group: the key cells of its group; empty for none.
        filter, selection: which rows.
        observation, snapshot: digest and id.
        text: the one line that may be shown.
    """

    domain: Literal["sql"] = Field(default="sql", exclude_if=_is_sql)
    label: Label
    value: Cell
    exact: bool
    bound: BoundText | None = Field(default=None, exclude_if=is_absent)
    row: int = Field(ge=0, lt=ROWS_MAX)
    column: int = Field(ge=0, lt=COLUMNS_MAX)
    group: tuple[GroupCell, ...]
    filter: Filter
    selection: SelectionFlags
    observation: Sha256
    snapshot: Sha256
    text: str


Fact = SqlFact


class Withheld(Model):
    """One cell that is not released, and why."""

    row: int = Field(ge=0, lt=ROWS_MAX)
    column: int = Field(ge=0, lt=COLUMNS_MAX)
    reasons: tuple[Reason, ...]


class Complete(Model):
    """Whether every row of the result, and of the table, is in the observation."""

    result: bool
    table: bool


class Release(Model):
    """What may be stated (specification 7).

    Attributes:
        facts: one for each claimed cell that is eligible.
        withheld: the claimed cells that are not; without claims, every other cell.
        no_answer: whether nothing is released.
        no_answer_reason: why; None where something is.
        no_answer_at: a JSON pointer into the returned preview or the claims, where one is at fault.
        origin: `verified` where the host's own digest was given and equal.
        observation: its digest; None where it was malformed.
        complete: see `Complete`.
        rows_are_table_rows: whether facts of one row describe one row of the table.
    """

    facts: tuple[Fact, ...]
    withheld: tuple[Withheld, ...]
    no_answer: bool
    no_answer_reason: Reason | None
    no_answer_at: str | None
    origin: Literal["verified", "unverified"]
    observation: Sha256 | None
    complete: Complete
    rows_are_table_rows: bool

    def answer(self) -> dict[str, Any]:
        """Give `{answer, citations, no_answer}` for hosts that want that form.

        Returns:
            `answer`: the facts' lines and nothing else; `citations`: for each line where its
            value stands (observation, snapshot, row, column).
        """
        return {
            "answer": "\n".join(fact.text for fact in self.facts),
            "citations": [_citation(fact) for fact in self.facts],
            "no_answer": self.no_answer,
        }


def _citation(fact: Fact) -> dict[str, Any]:
    match fact.domain:
        case "sql":
            return {
                "observation": fact.observation,
                "snapshot": fact.snapshot,
                "row": fact.row,
                "column": fact.column,
            }
        case _:
            assert_never(fact.domain)

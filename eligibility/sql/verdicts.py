"""What the rules say of every output of one statement: a label, or reasons (specification 2 and 3)."""

from typing import Literal

from pydantic import Field

from eligibility.reasons import Reason
from eligibility.sql.schema import TablePath
from eligibility.sql.shape import Calculation, Predicate
from eligibility.wire.model import COUNT_MAX, Model, Sha256


class Label(Model):
    """Under what description a value may be stated.

    Attributes:
        kind: a stored value, or a calculation over stored values.
        table: (schema, table).
        column: native name; None for `COUNT(*)`.
        calculation: None for a stored value.
    """

    kind: Literal["column", "aggregate"]
    table: TablePath
    column: str | None
    calculation: Calculation | None


class Verdict(Model):
    """What the rules say of one output: a label, or reasons in order of precedence."""

    position: int = Field(ge=0, le=COUNT_MAX)
    name: str
    verdict: Literal["eligible", "withheld"]
    label: Label | None
    reasons: tuple[Reason, ...]


class Filter(Model):
    """The WHERE clause as far as it can be stated.

    Attributes:
        kind: `none` where there is none; `not-stated` where it cannot be stated.
        predicate, text: the condition in normal form, where `stated`.
    """

    kind: Literal["none", "stated", "not-stated"]
    predicate: Predicate | None = None
    text: str | None = None


class SelectionFlags(Model):
    """Which clauses choose the rows that are seen."""

    having: bool
    distinct: bool
    order_by: bool
    limit: bool
    offset: bool


EngineAnswer = Literal["agrees", "disagrees", "refused", "failed", "not-asked"]


class Verdicts(Model):
    """The verdict on every output of one statement.

    Attributes:
        statement_sha256: of the statement's UTF-8 bytes.
        engine: what the engine reading says to it.
        reasons: why the whole statement is withheld; empty where it is not.
        outputs: by position; empty where the outputs are not known.
        filter, groups, selection: the scope of the rows; groups are native names.
    """

    statement_sha256: Sha256
    engine: EngineAnswer
    reasons: tuple[Reason, ...]
    outputs: tuple[Verdict, ...]
    filter: Filter
    groups: tuple[str, ...]
    selection: SelectionFlags

    @property
    def any_eligible(self) -> bool:
        """Whether any output is eligible."""
        return any(output.verdict == "eligible" for output in self.outputs)

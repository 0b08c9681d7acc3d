"""What the text reading says of a statement: names and literals as written, no schema, no tree.

Invariant
  X1  Nothing is changed after it was made. The classes are not frozen, since a frozen one takes
      three times as long to make.
"""

import typing
from dataclasses import dataclass

from eligibility.reasons import Reason
from eligibility.sql.shape import Calculation, Operator, Selection


@dataclass(slots=True)
class ColumnRef:
    """A column as written: its name, and its qualifier if it has one."""

    name: str
    qualifier: str | None = None


@dataclass(slots=True)
class Aggregate:
    """One of the five calculations; `argument` is None for `COUNT(*)`."""

    calculation: Calculation
    argument: ColumnRef | None


@dataclass(slots=True)
class Star:
    """A bare star, alone in the select list."""


@dataclass(slots=True)
class Found:
    """Anything else, as what it was found to be."""

    reason: Reason


@dataclass(slots=True)
class Position:
    """A group key written as the number of an output, counted from 1."""

    number: int


@dataclass(slots=True)
class Literal:
    """A literal as written; `form` as in `literal.exact`."""

    form: str
    text: str


@dataclass(slots=True)
class Comparison:
    """`left operator right`, as written."""

    left: "ColumnRef | Literal"
    operator: Operator
    right: "ColumnRef | Literal"


@dataclass(slots=True)
class Between:
    """`column BETWEEN low AND high`."""

    column: ColumnRef
    low: "ColumnRef | Literal"
    high: "ColumnRef | Literal"


@dataclass(slots=True)
class InList:
    """`column IN (…)`."""

    column: ColumnRef
    values: tuple[Literal, ...]


@dataclass(slots=True)
class IsNull:
    """`column IS NULL`."""

    column: ColumnRef


@dataclass(slots=True)
class Like:
    """`column LIKE pattern`; ILIKE where `fold`."""

    column: ColumnRef
    pattern: Literal
    fold: bool


@dataclass(slots=True)
class Not:
    """`NOT member`."""

    member: "Condition"


@dataclass(slots=True)
class Connective:
    """Conditions joined by AND or by OR."""

    kind: typing.Literal["and", "or"]
    members: "tuple[Condition, ...]"


Condition = ColumnRef | Comparison | Between | InList | IsNull | Like | Not | Connective | Found
OutputReading = ColumnRef | Aggregate | Star | Found
KeyReading = ColumnRef | Position | Found


@dataclass(slots=True)
class TextReading:
    """What the text says.

    Attributes:
        reasons: why the whole statement is withheld; the rest may then be empty.
        source: one to three name parts as written.
        alias: of the table, or None.
        outputs: (name, what it is made of), by position.
        filter: the WHERE clause, or None where there is none.
        keys: the group keys as written; None for GROUP BY ALL; empty for none.
        selection: the other clauses.
    """

    reasons: tuple[Reason, ...] = ()
    source: tuple[str, ...] = ()
    alias: str | None = None
    outputs: tuple[tuple[str, OutputReading], ...] = ()
    filter: Condition | None = None
    keys: tuple[KeyReading, ...] | None = ()
    selection: Selection = Selection()

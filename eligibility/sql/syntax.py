"""What the text reading says of a statement: names and literals as written, no schema, no tree.

Invariant
  X1  Nothing is changed after it was made. The classes are not frozen, since a frozen one takes
      three times as long to make.
"""

from dataclasses import dataclass
from typing import Literal

from eligibility.reasons import Reason
from eligibility.sql.shape import Calculation, Operator, Selection


@dataclass(slots=True)
class Ref:
    """A column as written: its name, and its qualifier if it has one."""

    name: str
    qualifier: str | None = None


@dataclass(slots=True)
class Calculated:
    """One of the five calculations; `argument` is None for `COUNT(*)`."""

    calculation: Calculation
    argument: Ref | None


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
class Raw:
    """A literal as written; `form` as in `literal.exact`."""

    form: str
    text: str


@dataclass(slots=True)
class Compared:
    """`left operator right`, as written."""

    left: "Ref | Raw"
    operator: Operator
    right: "Ref | Raw"


@dataclass(slots=True)
class Ranged:
    """`column BETWEEN low AND high`."""

    column: Ref
    low: "Ref | Raw"
    high: "Ref | Raw"


@dataclass(slots=True)
class Listed:
    """`column IN (…)`."""

    column: Ref
    values: tuple[Raw, ...]


@dataclass(slots=True)
class Nullness:
    """`column IS NULL`."""

    column: Ref


@dataclass(slots=True)
class Matched:
    """`column LIKE pattern`; ILIKE where `fold`."""

    column: Ref
    pattern: Raw
    fold: bool


@dataclass(slots=True)
class Negated:
    """`NOT member`."""

    member: "Condition"


@dataclass(slots=True)
class Joined:
    """Conditions joined by AND or by OR."""

    kind: Literal["and", "or"]
    members: "tuple[Condition, ...]"


Condition = Ref | Compared | Ranged | Listed | Nullness | Matched | Negated | Joined | Found
OutputReading = Ref | Calculated | Star | Found
KeyReading = Ref | Position | Found


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

"""What one reading makes of a statement: structure, no opinion (specification 3).

Both readings end in a `Shape`; the observation records the engine's.

Invariants
  S1  A path is a tuple of names, never a joined string.
  S2  Columns are known by their native name in the pinned table.
  S3  A literal is its column's base type and one canonical text of its value.
  S4  What a reading could not make out is a value here (`Other`, `Unstatable`), never an absence.

Code here and elsewhere asks for `part.kind`, and not `isinstance(part, …)`: on a pydantic model the
second takes many times as long.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, assert_never

from pydantic import Field

from eligibility.reasons import Reason
from eligibility.wire.model import COUNT_MAX, Model

Calculation = Literal["SUM", "AVG", "MIN", "MAX", "COUNT"]
Added = Literal["SUM", "AVG"]
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
FLIPPED: dict[Operator, Operator] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


def nature(calculation: Calculation) -> Literal["added", "picked", "counted"]:
    """Say what a calculation makes of its values: it adds them up, picks one, or counts them."""
    match calculation:
        case "SUM" | "AVG":
            return "added"
        case "MIN" | "MAX":
            return "picked"
        case "COUNT":
            return "counted"
        case _:
            assert_never(calculation)


def added(calculation: Calculation | None) -> Added | None:
    """Give a calculation that adds up its values; None for another one, and for a stored value."""
    match calculation:
        case "SUM" | "AVG":
            return calculation
        case "MIN" | "MAX" | "COUNT" | None:
            return None
        case _:
            assert_never(calculation)


class DirectColumn(Model):
    """An output, or a group key, that is one native column.

    Attributes:
        column: the native name.
    """

    kind: Literal["column"] = "column"
    column: str


class Aggregate(Model):
    """An output that is one of the five calculations.

    Attributes:
        calculation: which of the five.
        column: the native name of its argument; None for `COUNT(*)`.
    """

    kind: Literal["aggregate"] = "aggregate"
    calculation: Calculation
    column: str | None


class Other(Model):
    """An output, or a group key, that is neither.

    Attributes:
        reason: what was found instead.
    """

    kind: Literal["other"] = "other"
    reason: Reason


Derivation = Annotated[DirectColumn | Aggregate | Other, Field(discriminator="kind")]
GroupKey = Annotated[DirectColumn | Other, Field(discriminator="kind")]


class Value(Model):
    """A literal of a filter: one value of its column's type (S3).

    Attributes:
        type: the base name of the column's type, such as `DECIMAL(18,2)`.
        text: the canonical text of the value.
    """

    type: str
    text: str


class Comparison(Model):
    """`column operator value`."""

    kind: Literal["comparison"] = "comparison"
    column: str
    operator: Operator
    value: Value


class ColumnComparison(Model):
    """`column operator other`, both columns of exactly the same type."""

    kind: Literal["column-comparison"] = "column-comparison"
    column: str
    operator: Operator
    other: str


class InList(Model):
    """`column IN (values)`."""

    kind: Literal["in"] = "in"
    column: str
    values: tuple[Value, ...] = Field(min_length=1)


class IsNull(Model):
    """`column IS NULL`."""

    kind: Literal["is-null"] = "is-null"
    column: str


class Like(Model):
    """`column LIKE pattern`, or `ILIKE` where `fold` is true."""

    kind: Literal["like"] = "like"
    column: str
    pattern: str
    fold: bool


class Truth(Model):
    """A bare Boolean column."""

    kind: Literal["truth"] = "truth"
    column: str


class Negation(Model):
    """`NOT (member)`."""

    kind: Literal["not"] = "not"
    member: "Predicate"


class Connective(Model):
    """`AND` or `OR` of two or more members, flattened."""

    kind: Literal["and", "or"]
    members: tuple["Predicate", ...] = Field(min_length=2)


class Unstatable(Model):
    """A condition that cannot be stated.

    Attributes:
        reason: what was found.
    """

    kind: Literal["unstatable"] = "unstatable"
    reason: Reason


Predicate = Annotated[
    Comparison
    | ColumnComparison
    | InList
    | IsNull
    | Like
    | Truth
    | Negation
    | Connective
    | Unstatable,
    Field(discriminator="kind"),
]


class Selection(Model):
    """Which true rows are seen.

    Attributes:
        having, distinct, order_by: whether the clause is there.
        limit, offset: rows, or None where the clause is not there; more than `COUNT_MAX` count as
            that many, since no table has more.
    """

    having: bool = False
    distinct: bool = False
    order_by: bool = False
    limit: int | None = Field(default=None, ge=0, le=COUNT_MAX)
    offset: int | None = Field(default=None, ge=0, le=COUNT_MAX)


class Shape(Model):
    """What one reading says of a statement.

    Attributes:
        table: (schema, table) of the one pinned table that is read.
        outputs: one derivation an output, by position.
        filter: the WHERE clause in normal form; None where there is none.
        groups: the different group keys, in the order written; empty for none.
        aggregated: whether rows are combined at all, by GROUP BY or by an aggregate.
        selection: the clauses that choose which rows are seen.
    """

    table: tuple[str, str]
    outputs: tuple[Derivation, ...]
    filter: Predicate | None
    groups: tuple[GroupKey, ...]
    aggregated: bool
    selection: Selection


Negation.model_rebuild()
Connective.model_rebuild()
Shape.model_rebuild()


def conjoin(kind: Literal["and", "or"], members: Iterable[Predicate]) -> Predicate:
    """Join `members` into one flattened conjunction or disjunction (specification 3).

    Args:
        kind: "and" or "or".
        members: the operands in the order written, at least one.

    Returns:
        One predicate whose members are none of them of the same kind; the lone member where
        only one remains.
    """
    flat: list[Predicate] = []
    for member in members:
        if member.kind == kind:
            flat.extend(member.members)
        else:
            flat.append(member)
    return flat[0] if len(flat) == 1 else Connective(kind=kind, members=tuple(flat))


def measure(predicate: Predicate) -> tuple[int, int]:
    """Count how deep a predicate is nested and how many literals it holds.

    Args:
        predicate: a condition in normal form.

    Returns:
        (levels, literals): a lone comparison is one level; each AND, OR and NOT adds one.
    """
    match predicate.kind:
        case "comparison" | "like":
            return 1, 1
        case "in":
            return 1, len(predicate.values)
        case "not":
            depth, literals = measure(predicate.member)
            return depth + 1, literals
        case "and" | "or":
            measured = [measure(member) for member in predicate.members]
            return 1 + max([d for d, _ in measured]), sum([n for _, n in measured])
        case "column-comparison" | "is-null" | "truth" | "unstatable":
            return 1, 0
        case _:
            assert_never(predicate)


def unstatable_reasons(predicate: Predicate) -> tuple[Reason, ...]:
    """Give why a predicate cannot be stated: one reason for each condition that cannot."""
    match predicate.kind:
        case "unstatable":
            return (predicate.reason,)
        case "not":
            return unstatable_reasons(predicate.member)
        case "and" | "or":
            found: list[Reason] = []
            for member in predicate.members:
                found.extend(unstatable_reasons(member))
            return tuple(found)
        case "comparison" | "column-comparison" | "in" | "is-null" | "like" | "truth":
            return ()
        case _:
            assert_never(predicate)

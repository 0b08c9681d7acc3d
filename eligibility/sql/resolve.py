"""Text reading + pinned table → the text's shape: every name and literal by the schema (specification 2).

Invariants
  N1  A name becomes a native column only by the pinned schema, never by an alias.
  N2  A literal becomes a value only where its dialect says that it denotes exactly one.
  N3  What cannot be resolved is a value that says why, never an absence.
"""

from dataclasses import dataclass
from typing import assert_never

from eligibility.reasons import Reason
from eligibility.sql import syntax
from eligibility.sql.dialect import Dialect
from eligibility.sql.policy import FILTER_DEPTH_MAX, FILTER_LITERALS_MAX, Policy
from eligibility.sql.schema import Column, Table, TablePath
from eligibility.sql.shape import (
    FLIPPED,
    Aggregate,
    Calculation,
    ColumnComparison,
    Comparison,
    Derivation,
    DirectColumn,
    GroupKey,
    InList,
    IsNull,
    Like,
    Negation,
    Operator,
    Other,
    Predicate,
    Selection,
    Truth,
    Unstatable,
    Value,
    conjoin,
    measure,
    unstatable_reasons,
)
from eligibility.sql.verdicts import Label
from eligibility.wire.model import cached_property


@dataclass(slots=True)
class Output:
    """What one output is, and what that alone decides.

    Attributes:
        made: of what it is made.
        reasons: why it could not be stated, whatever rows it is about.
        label: under what description it could; None where it could not.
    """

    made: Derivation
    reasons: tuple[Reason, ...]
    label: Label | None


@dataclass(slots=True)
class Resolved:
    """The text's shape: as `shape.Shape`, in which the engine's crosses a process.

    Attributes:
        unstatable: why the filter cannot be stated; empty where it can.
    """

    table: TablePath
    outputs: tuple[Output, ...]
    filter: Predicate | None
    groups: tuple[GroupKey, ...]
    aggregated: bool
    selection: Selection
    unstatable: tuple[Reason, ...]


def resolve(
    reading: syntax.TextReading, table: Table, dialect: Dialect, policy: Policy
) -> Resolved:
    """Give the text's shape.

    Args:
        reading: what the text says.
        table: the pinned table that it reads.
        dialect: of the engine that executes it.
        policy: what may be stated of one column.

    Returns:
        The shape; total.
    """
    names = _Names(reading, table, dialect, policy)
    if is_star(reading):
        outputs = every_output(table, dialect, policy)
    else:
        outputs = tuple([names.output(made) for _, made in reading.outputs])
    groups = () if reading.keys == () else names.groups(reading, outputs)
    condition = None if reading.filter is None else names.filter(reading.filter)
    aggregated = bool(groups)
    for output in outputs:
        aggregated = aggregated or output.made.kind == "aggregate"
    return Resolved(
        table.path,
        outputs,
        condition,
        groups,
        aggregated,
        reading.selection,
        () if condition is None else unstatable_reasons(condition),
    )


def is_star(reading: syntax.TextReading) -> bool:
    """Say whether a star is all that a text selects."""
    return len(reading.outputs) == 1 and isinstance(reading.outputs[0][1], syntax.Star)


# --- outputs, made once a table -------------------------------------------------------------------


def every_output(table: Table, dialect: Dialect, policy: Policy) -> tuple[Output, ...]:
    """Give what a star shows: every column, by position."""
    found: tuple[Output, ...] | None = table.derived.get((dialect.name, policy.name))
    if found is None:
        found = tuple([_direct(table, column, dialect, policy) for column in table.columns])
        table.derived[dialect.name, policy.name] = found
    return found


def _direct(table: Table, column: Column, dialect: Dialect, policy: Policy) -> Output:
    key = dialect.name, policy.name, column.name
    output: Output | None = table.derived.get(key)
    if output is None:
        output = _known(DirectColumn(column=column.name), table, column, dialect, policy)
        table.derived[key] = output
    return output


def _calculated(
    table: Table, calculation: Calculation, column: Column | None, dialect: Dialect, policy: Policy
) -> Output:
    name = None if column is None else column.name
    key = dialect.name, policy.name, calculation, name
    output: Output | None = table.derived.get(key)
    if output is None:
        made = Aggregate(calculation=calculation, column=name)
        output = table.derived[key] = _known(made, table, column, dialect, policy)
    return output


def _known(
    made: DirectColumn | Aggregate,
    table: Table,
    column: Column | None,
    dialect: Dialect,
    policy: Policy,
) -> Output:
    calculation = made.calculation if made.kind == "aggregate" else None
    reason = None if column is None else policy.of_output(calculation, column, dialect)
    if reason is not None:
        return Output(made, (reason,), None)
    label = Label(kind=made.kind, table=table.path, column=made.column, calculation=calculation)
    return Output(made, (), label)


def _other(reason: Reason) -> Output:
    return Output(Other(reason=reason), (reason,), None)


class _Aliases:
    """What each name of an output stands for, looked at only where a key is no column's name."""

    def __init__(
        self, reading: syntax.TextReading, outputs: tuple[Output, ...], dialect: Dialect
    ) -> None:
        self._reading, self._outputs, self._casefold = reading, outputs, dialect.casefold

    @cached_property
    def _made(self) -> dict[str, set[Derivation]]:
        made: dict[str, set[Derivation]] = {}
        if not is_star(self._reading):
            for (alias, _), output in zip(self._reading.outputs, self._outputs, strict=True):
                made.setdefault(self._casefold(alias), set()).add(output.made)
        return made

    def find(self, name: str) -> Derivation | None:
        """Give what the name stands for; None where that is nothing, or not one thing only."""
        named = self._made.get(self._casefold(name), set())
        return next(iter(named)) if len(named) == 1 else None


class _Names:
    """The names of one statement, and what they stand for in one table."""

    __slots__ = ("_dialect", "_policy", "_qualifier", "_table")

    def __init__(
        self, reading: syntax.TextReading, table: Table, dialect: Dialect, policy: Policy
    ) -> None:
        self._table, self._dialect, self._policy = table, dialect, policy
        alias = reading.alias if reading.alias is not None else table.path[1]
        self._qualifier = dialect.casefold(alias)

    def _column(self, ref: syntax.ColumnRef) -> Column | Reason:
        if ref.qualifier is not None and self._dialect.casefold(ref.qualifier) != self._qualifier:
            return Reason.QUALIFIER_UNKNOWN
        return self._table.column(ref.name) or Reason.COLUMN_UNKNOWN

    def output(self, made: syntax.OutputReading) -> Output:
        match made:
            case syntax.ColumnRef():
                column = self._column(made)
                if isinstance(column, Reason):
                    return _other(column)
                return _direct(self._table, column, self._dialect, self._policy)
            case syntax.Aggregate():
                argument = None if made.argument is None else self._column(made.argument)
                if isinstance(argument, Reason):
                    return _other(argument)
                return _calculated(
                    self._table, made.calculation, argument, self._dialect, self._policy
                )
            case syntax.Star():
                return _other(Reason.STAR_NOT_ALONE)
            case syntax.Found():
                return _other(made.reason)
            case _:
                assert_never(made)

    # --- group keys ---

    def groups(
        self, reading: syntax.TextReading, outputs: tuple[Output, ...]
    ) -> tuple[GroupKey, ...]:
        if reading.keys is None:
            keys: list[GroupKey] = [o.made for o in outputs if o.made.kind == "column"]
        else:
            aliases = _Aliases(reading, outputs, self._dialect)
            keys = [self._key(key, outputs, aliases) for key in reading.keys]
        return tuple(dict.fromkeys(keys))

    def _key(
        self, key: syntax.KeyReading, outputs: tuple[Output, ...], aliases: _Aliases
    ) -> GroupKey:
        made: Derivation | None = None
        match key:
            case syntax.ColumnRef():
                column = self._column(key)
                if not isinstance(column, Reason):
                    made = _direct(self._table, column, self._dialect, self._policy).made
                elif key.qualifier is None:
                    made = aliases.find(key.name)
            case syntax.Position():
                made = outputs[key.number - 1].made if 1 <= key.number <= len(outputs) else None
            case syntax.Found():
                pass
            case _:
                assert_never(key)
        if made is not None and made.kind == "column":
            return made
        return Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN)

    # --- the filter ---

    def filter(self, condition: syntax.Condition) -> Predicate:
        predicate = self._predicate(condition)
        depth, literals = measure(predicate)
        if depth > FILTER_DEPTH_MAX or literals > FILTER_LITERALS_MAX:
            return Unstatable(reason=Reason.FILTER_TOO_LARGE)
        return predicate

    def _predicate(self, condition: syntax.Condition) -> Predicate:
        """Put a condition into normal form."""
        match condition:
            case syntax.Found():
                return Unstatable(reason=condition.reason)
            case syntax.Connective():
                members = [self._predicate(member) for member in condition.members]
                return conjoin(condition.kind, members)
            case syntax.Not():
                return Negation(member=self._predicate(condition.member))
            case syntax.Comparison():
                return self._comparison(condition)
            case syntax.Between():
                return self._range(condition)
            case syntax.ColumnRef():
                return self._truth(condition)
            case syntax.IsNull():
                column = self._column(condition.column)
                if isinstance(column, Reason):
                    return Unstatable(reason=column)
                return IsNull(column=column.name)
            case syntax.Like():
                return self._like(condition)
            case syntax.InList():
                return self._membership(condition)
            case _:
                assert_never(condition)

    def _comparison(self, condition: syntax.Comparison) -> Predicate:
        left, operator, right = condition.left, condition.operator, condition.right
        if isinstance(left, syntax.Literal):
            left, operator, right = right, FLIPPED[operator], left
        assert isinstance(left, syntax.ColumnRef)  # the reading lets no two literals through
        column = self._column(left)
        if isinstance(column, Reason):
            return Unstatable(reason=column)
        if not self._keeps(column, right):
            return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
        return self._compared(column, operator, right)

    def _range(self, condition: syntax.Between) -> Predicate:
        """Put BETWEEN into normal form: two comparisons."""
        column = self._column(condition.column)
        if isinstance(column, Reason):
            return Unstatable(reason=column)
        if not self._keeps(column, condition.low, condition.high):
            return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
        low = self._compared(column, ">=", condition.low)
        high = self._compared(column, "<=", condition.high)
        return conjoin("and", (low, high))

    def _keeps(self, column: Column, *beside: syntax.ColumnRef | syntax.Literal) -> bool:
        """Say whether the column keeps its values beside the bare numerals it is compared with."""
        raw = [one for one in beside if isinstance(one, syntax.Literal)]
        return self._dialect.keeps_column(column, [one.text for one in raw if one.form == "number"])

    def _compared(
        self, column: Column, operator: Operator, right: syntax.ColumnRef | syntax.Literal
    ) -> Predicate:
        if (reason := self._policy.of_comparison(column, operator)) is not None:
            return Unstatable(reason=reason)
        if isinstance(right, syntax.Literal):
            value = self._dialect.exact(column, right.form, right.text)
            if value is None:
                return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
            return Comparison(
                column=column.name, operator=operator, value=Value(type=column.type, text=value)
            )
        other = self._column(right)
        if isinstance(other, Reason):
            return Unstatable(reason=other)
        if (other.type, other.members) != (column.type, column.members):
            return Unstatable(reason=Reason.FILTER_TYPE)
        if (reason := self._policy.of_comparison(other, operator)) is not None:
            return Unstatable(reason=reason)
        return ColumnComparison(column=column.name, operator=operator, other=other.name)

    def _truth(self, condition: syntax.ColumnRef) -> Predicate:
        column = self._column(condition)
        if isinstance(column, Reason):
            return Unstatable(reason=column)
        if (reason := self._policy.of_condition(column)) is not None:
            return Unstatable(reason=reason)
        return Truth(column=column.name)

    def _like(self, condition: syntax.Like) -> Predicate:
        column = self._column(condition.column)
        if isinstance(column, Reason):
            return Unstatable(reason=column)
        if (reason := self._policy.of_match(column)) is not None:
            return Unstatable(reason=reason)
        pattern = self._dialect.exact(column, condition.pattern.form, condition.pattern.text)
        if pattern is None:
            return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
        return Like(column=column.name, pattern=pattern, fold=condition.fold)

    def _membership(self, condition: syntax.InList) -> Predicate:
        column = self._column(condition.column)
        if isinstance(column, Reason):
            return Unstatable(reason=column)
        if (reason := self._policy.of_comparison(column, "=")) is not None:
            return Unstatable(reason=reason)
        if not self._keeps(column, *condition.values):
            return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
        values = []
        for raw in condition.values:
            value = self._dialect.exact(column, raw.form, raw.text)
            if value is None:
                return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
            values.append(Value(type=column.type, text=value))
        return InList(column=column.name, values=tuple(values))

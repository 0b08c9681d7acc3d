"""What may be stated: text reading + schema (+ the engine's shape) → verdicts; the whole policy.

Invariants
  P1  Withheld is the default: an output is eligible only where every check below was passed.
  P2  A name becomes a native column only by the pinned schema, never by an alias.
  P3  With an engine reading, an output is eligible only where both shapes give it the same
      derivation over the same table; an aggregate needs the same filter and group keys besides.
  P4  `readings-disagree` is said only where the text alone would release.
"""

from dataclasses import dataclass
from typing import assert_never

from eligibility import text
from eligibility.evidence import (
    Column,
    EngineReading,
    Label,
    Schema,
    Table,
    TablePath,
    Verdict,
    fold,
)
from eligibility.literal import exact, keeps_column
from eligibility.reasons import Reason, in_order
from eligibility.shape import (
    FILTER_DEPTH_MAX,
    FILTER_LITERALS_MAX,
    FLIPPED,
    Aggregate,
    Calculation,
    ColumnComparison,
    Comparison,
    Derivation,
    DirectColumn,
    GroupKey,
    IsNull,
    Like,
    Membership,
    Negation,
    Operator,
    Other,
    Predicate,
    Selection,
    Shape,
    Truth,
    Unstatable,
    Value,
    cached_property,
    conjoin,
    measure,
    unstatable_reasons,
)
from eligibility.types import TypeClass, type_class

_NUMBERS: frozenset[TypeClass] = frozenset({"integer", "decimal", "float"})
_ORDERED: frozenset[TypeClass] = frozenset(
    {"integer", "decimal", "float", "date", "time", "timestamp", "timestamptz", "text"}
)
# Types whose equal values look different, so that a key does not name its group.
_VAGUE_KEYS: frozenset[TypeClass] = frozenset({"interval", "timetz"})
_ONLY_EQUALITY: frozenset[TypeClass] = frozenset({"enum", "uuid"})


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
class EveryColumn:
    """What a star shows, made once a table.

    Attributes:
        names, outputs, made: of all columns, by position.
        verdicts: where no engine reading differs.
    """

    names: tuple[str, ...]
    outputs: tuple[Output, ...]
    made: tuple[Derivation, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(slots=True)
class Resolved:
    """The text's shape: as `shape.Shape`, which the engine's crosses a process in.

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


@dataclass(slots=True)
class Decision:
    """What the rules say of one statement.

    Attributes:
        reasons: why the whole statement is withheld; empty where it is not.
        outputs: by position; empty where they are not known.
        shape: the text's shape; None where it has none.
        filter_agrees: whether the filter may be stated.
        disagrees: whether the engine reading differs where the text alone would release.
    """

    reasons: tuple[Reason, ...]
    outputs: tuple[Verdict, ...]
    shape: Resolved | None
    filter_agrees: bool
    disagrees: bool


def decide(
    reading: text.TextReading, schema: Schema, engine: EngineReading | Reason | None
) -> Decision:
    """Decide every output of a statement (specification 2 and 3).

    Args:
        reading: what the text says.
        schema: the pinned tables.
        engine: what the engine's plan says; a reason where the engine refused or failed; None
            where it was not asked.

    Returns:
        The decision.
    """
    table = schema.find(reading.source) if reading.source else None
    reasons = set(reading.reasons)
    if reading.source and table is None:
        reasons.add(Reason.TABLE_UNKNOWN)
    if isinstance(engine, Reason):
        reasons.add(engine)
    shape = None if table is None else _resolve(reading, table)
    if table is not None and shape is not None and _vague_key(shape, table):
        reasons.add(Reason.GROUP_KEY_TYPE)
    names = _names(reading, table)
    if reasons or table is None or shape is None:
        whole = in_order(reasons)
        return Decision(
            whole,
            tuple([_withheld(i, n, whole) for i, n in enumerate(names)]),
            shape,
            filter_agrees=False,
            disagrees=False,
        )
    assert not isinstance(engine, Reason)  # it would be among the reasons
    return _judge(names, shape, table, engine, all_keys=reading.keys is None)


def _judge(
    names: tuple[str, ...],
    shape: Resolved,
    table: Table,
    engine: EngineReading | None,
    *,
    all_keys: bool,
) -> Decision:
    other = engine.shape if engine is not None else None
    same_rows = other is None or _same_rows(shape, other)
    same_filter = other is None or same_predicate(shape.filter, other.filter)
    same_groups = other is None or frozenset(shape.groups) == frozenset(other.groups)
    agreed = engine is None or (other is not None and same_rows and same_filter)
    every = table.derived.get(_EVERY)
    if every is not None and shape.outputs is every.outputs:
        if engine is None or (other is not None and same_rows and every.made == other.outputs):
            return Decision((), every.verdicts, shape, filter_agrees=agreed, disagrees=False)
    scope: tuple[Reason, ...] | None = None
    verdicts, disagrees = [], False
    for position, output in enumerate(shape.outputs):
        found, aggregate = output.reasons, output.made.kind == "aggregate"
        if aggregate:
            scope = _scope_reasons(shape) if scope is None else scope
            found = (*found, *scope)
            if not found and all_keys and not same_groups:
                # GROUP BY ALL: the text assumed keys that the engine does not have (specification 2).
                found = (Reason.GROUP_KEY_NOT_A_COLUMN,)
        if not found and engine is not None:
            agrees = other is not None and same_rows and output.made == other.outputs[position]
            if aggregate:
                agrees = agrees and same_filter and same_groups
            if not agrees:
                disagrees = True
                found = (Reason.READINGS_DISAGREE, *engine.reasons)
        if found:
            verdicts.append(_withheld(position, names[position], in_order(found)))
        else:
            verdicts.append(_eligible(position, names[position], output.label))
    return Decision((), tuple(verdicts), shape, filter_agrees=agreed, disagrees=disagrees)


def _eligible(position: int, name: str, label: Label | None) -> Verdict:
    return Verdict(position=position, name=name, verdict="eligible", label=label, reasons=())


def _withheld(position: int, name: str, reasons: tuple[Reason, ...]) -> Verdict:
    return Verdict(position=position, name=name, verdict="withheld", label=None, reasons=reasons)


def _names(reading: text.TextReading, table: Table | None) -> tuple[str, ...]:
    if table is not None and _is_star(reading):
        return _every(table).names
    return tuple([name for name, _ in reading.outputs])


def _is_star(reading: text.TextReading) -> bool:
    return len(reading.outputs) == 1 and isinstance(reading.outputs[0][1], text.Star)


# --- names become native columns ----------------------------------------------------------------


def _resolve(reading: text.TextReading, table: Table) -> Resolved:
    """Give the text's shape: every name by the pinned schema (P2)."""
    qualifier = reading.alias if reading.alias is not None else table.path[1]
    if _is_star(reading):
        outputs = _every(table).outputs
    else:
        outputs = tuple([_output(made, table, qualifier) for _, made in reading.outputs])
    groups = () if reading.keys == () else _groups(reading, outputs, table, qualifier)
    condition = None if reading.filter is None else _filter(reading.filter, table, qualifier)
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


def _column(ref: text.Ref, table: Table, qualifier: str) -> Column | Reason:
    if ref.qualifier is not None and fold(ref.qualifier) != fold(qualifier):
        return Reason.QUALIFIER_UNKNOWN
    return table.column(ref.name) or Reason.COLUMN_UNKNOWN


def _output(made: text.OutputReading, table: Table, qualifier: str) -> Output:
    match made:
        case text.Ref():
            column = _column(made, table, qualifier)
            return _other(column) if isinstance(column, Reason) else _direct(table, column)
        case text.Calculated():
            if made.argument is None:
                return _calculated(table, made.calculation, None)
            column = _column(made.argument, table, qualifier)
            if isinstance(column, Reason):
                return _other(column)
            return _calculated(table, made.calculation, column)
        case text.Star():
            return _other(Reason.STAR_NOT_ALONE)
        case text.Found():
            return _other(made.reason)
        case _:
            assert_never(made)


_EVERY = ("every column",)


def _every(table: Table) -> EveryColumn:
    every: EveryColumn | None = table.derived.get(_EVERY)
    if every is None:
        names = tuple([column.name for column in table.columns])
        outputs = tuple([_direct(table, column) for column in table.columns])
        verdicts = [
            _withheld(position, name, output.reasons)
            if output.reasons
            else _eligible(position, name, output.label)
            for position, (name, output) in enumerate(zip(names, outputs, strict=True))
        ]
        made = tuple([output.made for output in outputs])
        every = table.derived[_EVERY] = EveryColumn(names, outputs, made, tuple(verdicts))
    return every


def _direct(table: Table, column: Column) -> Output:
    """Give the output that shows a native column, made once a table."""
    output: Output | None = table.derived.get(column.name)
    if output is None:
        made = DirectColumn(column=column.name)
        output = table.derived[column.name] = _known(made, table, column)
    return output


def _calculated(table: Table, calculation: Calculation, column: Column | None) -> Output:
    """Give the output that calculates over a native column, made once a table."""
    name = None if column is None else column.name
    output: Output | None = table.derived.get((calculation, name))
    if output is None:
        made = Aggregate(calculation=calculation, column=name)
        output = table.derived[calculation, name] = _known(made, table, column)
    return output


def _known(made: DirectColumn | Aggregate, table: Table, column: Column | None) -> Output:
    calculation = made.calculation if made.kind == "aggregate" else None
    reasons = () if column is None else _type_reasons(calculation, column)
    label = Label(kind=made.kind, table=table.path, column=made.column, calculation=calculation)
    return Output(made, reasons, None if reasons else label)


def _other(reason: Reason) -> Output:
    return Output(Other(reason=reason), (reason,), None)


def _groups(
    reading: text.TextReading, outputs: tuple[Output, ...], table: Table, qualifier: str
) -> tuple[GroupKey, ...]:
    if reading.keys is None:
        keys: list[GroupKey] = [o.made for o in outputs if o.made.kind == "column"]
    else:
        aliases = _Aliases(reading, outputs)
        keys = [_key(key, outputs, aliases, table, qualifier) for key in reading.keys]
    return tuple(dict.fromkeys(keys))


class _Aliases:
    """What each name of an output stands for, looked at only where a key is no column's name."""

    def __init__(self, reading: text.TextReading, outputs: tuple[Output, ...]) -> None:
        self._reading, self._outputs = reading, outputs

    @cached_property
    def _made(self) -> dict[str, set[Derivation]]:
        made: dict[str, set[Derivation]] = {}
        if not _is_star(self._reading):
            for (alias, _), output in zip(self._reading.outputs, self._outputs, strict=True):
                made.setdefault(fold(alias), set()).add(output.made)
        return made

    def find(self, name: str) -> Derivation | None:
        """Give what the name stands for; None where that is nothing, or not one thing only."""
        named = self._made.get(fold(name), set())
        return next(iter(named)) if len(named) == 1 else None


def _key(
    key: text.KeyReading,
    outputs: tuple[Output, ...],
    aliases: _Aliases,
    table: Table,
    qualifier: str,
) -> GroupKey:
    made: Derivation | None = None
    match key:
        case text.Ref():
            column = _column(key, table, qualifier)
            if not isinstance(column, Reason):
                made = _direct(table, column).made
            elif key.qualifier is None:
                made = aliases.find(key.name)
        case text.Position():
            made = outputs[key.number - 1].made if 1 <= key.number <= len(outputs) else None
        case text.Found():
            pass
        case _:
            assert_never(key)
    if made is not None and made.kind == "column":
        return made
    return Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN)


def _vague_key(shape: Resolved, table: Table) -> bool:
    for key in shape.groups:
        if key.kind == "column" and type_class(_native(table, key.column).type) in _VAGUE_KEYS:
            return True
    return False


def _native(table: Table, name: str) -> Column:
    column = table.column(name)
    assert column is not None  # every name in a resolved shape came from this table
    return column


# --- what each output needs ---------------------------------------------------------------------


def _type_reasons(calculation: Calculation | None, column: Column) -> tuple[Reason, ...]:
    """Say why a column of its type could not be shown or calculated over (specification 2)."""
    kind = type_class(column.type)
    if kind is None:
        return (Reason.TYPE_NOT_STATABLE,)
    if calculation is None or _calculable(calculation, kind, column):
        return ()
    return (Reason.AGGREGATE_TYPE,)


def _calculable(calculation: Calculation, kind: TypeClass, column: Column) -> bool:
    match calculation:
        case "SUM" | "AVG":
            return kind in _NUMBERS and column.type != "UHUGEINT"
        case "MIN" | "MAX":
            return kind in _ORDERED
        case "COUNT":
            return True
        case _:
            assert_never(calculation)


def _scope_reasons(shape: Resolved) -> tuple[Reason, ...]:
    """Say why an aggregate's group or filter could not be stated (specification 2)."""
    found: list[Reason] = []
    if shape.groups:
        shown = {o.made.column for o in shape.outputs if o.made.kind == "column" and o.label}
        for key in shape.groups:
            if key.kind == "other":
                found.append(key.reason)
            elif key.column not in shown:
                found.append(Reason.GROUP_KEY_NOT_SHOWN)
    return (*found, *shape.unstatable)


# --- the filter ---------------------------------------------------------------------------------


def _filter(condition: text.Condition, table: Table, qualifier: str) -> Predicate:
    predicate = _predicate(condition, table, qualifier)
    depth, literals = measure(predicate)
    if depth > FILTER_DEPTH_MAX or literals > FILTER_LITERALS_MAX:
        return Unstatable(reason=Reason.FILTER_TOO_LARGE)
    return predicate


def _predicate(condition: text.Condition, table: Table, qualifier: str) -> Predicate:
    """Put a condition into normal form, each name and literal by the pinned schema."""
    match condition:
        case text.Found():
            return Unstatable(reason=condition.reason)
        case text.Joined():
            members = [_predicate(member, table, qualifier) for member in condition.members]
            return conjoin(condition.kind, members)
        case text.Negated():
            return Negation(member=_predicate(condition.member, table, qualifier))
        case text.Compared():
            return _comparison(condition, table, qualifier)
        case text.Ranged():
            return _range(condition, table, qualifier)
        case text.Ref():
            column = _column(condition, table, qualifier)
            if isinstance(column, Reason):
                return Unstatable(reason=column)
            if type_class(column.type) != "boolean":
                return Unstatable(reason=Reason.FILTER_TYPE)
            return Truth(column=column.name)
        case text.Nullness():
            column = _column(condition.column, table, qualifier)
            if isinstance(column, Reason):
                return Unstatable(reason=column)
            return IsNull(column=column.name)
        case text.Matched():
            return _like(condition, table, qualifier)
        case text.Listed():
            return _membership(condition, table, qualifier)
        case _:
            assert_never(condition)


def _comparison(condition: text.Compared, table: Table, qualifier: str) -> Predicate:
    left, operator, right = condition.left, condition.operator, condition.right
    if isinstance(left, text.Raw):
        left, operator, right = right, FLIPPED[operator], left
    assert isinstance(left, text.Ref)  # the reading lets no two literals through
    column = _column(left, table, qualifier)
    if isinstance(column, Reason):
        return Unstatable(reason=column)
    if not _kept(column, right):
        return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
    return _compared(column, operator, right, table, qualifier)


def _range(condition: text.Ranged, table: Table, qualifier: str) -> Predicate:
    """Put BETWEEN into normal form: two comparisons."""
    column = _column(condition.column, table, qualifier)
    if isinstance(column, Reason):
        return Unstatable(reason=column)
    if not _kept(column, condition.low, condition.high):
        return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
    low = _compared(column, ">=", condition.low, table, qualifier)
    high = _compared(column, "<=", condition.high, table, qualifier)
    return conjoin("and", (low, high))


def _kept(column: Column, *beside: text.Ref | text.Raw) -> bool:
    """Say whether the column keeps its values beside the bare numerals it is compared with."""
    numerals = [one.text for one in beside if isinstance(one, text.Raw) and one.form == "number"]
    return keeps_column(column, numerals)


def _compared(
    column: Column, operator: Operator, right: text.Ref | text.Raw, table: Table, qualifier: str
) -> Predicate:
    if (reason := _comparable(column, operator)) is not None:
        return Unstatable(reason=reason)
    if isinstance(right, text.Raw):
        value = exact(column, right.form, right.text)
        if value is None:
            return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
        return Comparison(
            column=column.name, operator=operator, value=Value(type=column.type, text=value)
        )
    other = _column(right, table, qualifier)
    if isinstance(other, Reason):
        return Unstatable(reason=other)
    if (other.type, other.members) != (column.type, column.members):
        return Unstatable(reason=Reason.FILTER_TYPE)
    if (reason := _comparable(other, operator)) is not None:
        return Unstatable(reason=reason)
    return ColumnComparison(column=column.name, operator=operator, other=other.name)


def _comparable(column: Column, operator: Operator) -> Reason | None:
    kind = type_class(column.type)
    if kind is None or kind in _VAGUE_KEYS:
        return Reason.FILTER_TYPE
    if kind in _ONLY_EQUALITY and operator not in ("=", "<>"):
        return Reason.FILTER_TYPE
    if kind == "float" and column.nan is not False:
        return Reason.FILTER_NAN
    return None


def _like(condition: text.Matched, table: Table, qualifier: str) -> Predicate:
    column = _column(condition.column, table, qualifier)
    if isinstance(column, Reason):
        return Unstatable(reason=column)
    if type_class(column.type) != "text":
        return Unstatable(reason=Reason.FILTER_TYPE)
    pattern = exact(column, condition.pattern.form, condition.pattern.text)
    if pattern is None:
        return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
    return Like(column=column.name, pattern=pattern, fold=condition.fold)


def _membership(condition: text.Listed, table: Table, qualifier: str) -> Predicate:
    column = _column(condition.column, table, qualifier)
    if isinstance(column, Reason):
        return Unstatable(reason=column)
    if (reason := _comparable(column, "=")) is not None:
        return Unstatable(reason=reason)
    if not _kept(column, *condition.values):
        return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
    values = []
    for raw in condition.values:
        value = exact(column, raw.form, raw.text)
        if value is None:
            return Unstatable(reason=Reason.LITERAL_NOT_EXACT)
        values.append(Value(type=column.type, text=value))
    return Membership(column=column.name, values=tuple(values))


# --- the two shapes side by side ----------------------------------------------------------------


def _same_rows(one: Resolved, other: Shape) -> bool:
    """Say whether both readings see the same table, outputs and clauses (specification 3)."""
    return (
        one.table == other.table
        and len(one.outputs) == len(other.outputs)
        and one.selection == other.selection
        and one.aggregated == other.aggregated
        and (one.filter is None) == (other.filter is None)
    )


def same_predicate(one: Predicate | None, other: Predicate | None) -> bool:
    """Say whether two filters are one tree in normal form, conjunctions taken as sets."""
    return _normal(one) == _normal(other)


def _normal(predicate: Predicate | None) -> object:
    if predicate is None:
        return None
    match predicate.kind:
        case "and" | "or":
            members = frozenset(_normal(member) for member in predicate.members)
            return next(iter(members)) if len(members) == 1 else (predicate.kind, members)
        case "not":
            return ("not", _normal(predicate.member))
        case "comparison" | "column-comparison" | "in" | "is-null" | "like" | "truth":
            return predicate
        case "unstatable":
            return predicate
        case _:
            assert_never(predicate)

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

from eligibility import reading as text
from eligibility.evidence import Column, EngineReading, Label, Schema, Table, Verdict, fold
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
    Conjunction,
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
    Shape,
    Truth,
    Unstatable,
    Value,
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


@dataclass(frozen=True, slots=True)
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
    shape: Shape | None
    filter_agrees: bool
    disagrees: bool


def decide(
    reading: text.TextReading, schema: Schema, engine: EngineReading | Reason | None
) -> Decision:
    """Decide every output of a statement (contract 2 and 3).

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
            tuple(_withheld(i, n, whole) for i, n in enumerate(names)),
            shape,
            filter_agrees=False,
            disagrees=False,
        )
    return _judge(
        names,
        shape,
        table,
        engine if isinstance(engine, EngineReading) else None,
        all_keys=reading.keys is None,
    )


def _judge(
    names: tuple[str, ...],
    shape: Shape,
    table: Table,
    engine: EngineReading | None,
    *,
    all_keys: bool,
) -> Decision:
    other = engine.shape if engine is not None else None
    same_rows = other is None or _same_rows(shape, other)
    same_filter = other is None or same_predicate(shape.filter, other.filter)
    same_groups = other is None or frozenset(shape.groups) == frozenset(other.groups)
    scope: tuple[Reason, ...] | None = None
    verdicts, disagrees = [], False
    for position, derivation in enumerate(shape.outputs):
        found = _output_reasons(derivation, table)
        if isinstance(derivation, Aggregate):
            scope = _scope_reasons(shape, table) if scope is None else scope
            found = (*found, *scope)
            if not found and all_keys and not same_groups:
                # GROUP BY ALL: the text assumed keys that the engine does not have (contract 2).
                found = (Reason.GROUP_KEY_NOT_A_COLUMN,)
        if not found and engine is not None:
            agrees = other is not None and same_rows and derivation == other.outputs[position]
            if isinstance(derivation, Aggregate):
                agrees = agrees and same_filter and same_groups
            if not agrees:
                disagrees = True
                found = (Reason.READINGS_DISAGREE, *engine.reasons)
        verdicts.append(_verdict(position, names[position], derivation, found, table))
    agreed = engine is None or (other is not None and same_rows and same_filter)
    return Decision((), tuple(verdicts), shape, filter_agrees=agreed, disagrees=disagrees)


def _verdict(
    position: int, name: str, derivation: Derivation, found: tuple[Reason, ...], table: Table
) -> Verdict:
    if found:
        return _withheld(position, name, in_order(found))
    # A star shows every column in its own place: there a verdict is made once a table.
    in_place = (
        isinstance(derivation, DirectColumn)
        and position < len(table.columns)
        and name == derivation.column == table.columns[position].name
    )
    made: Verdict | None = table.derived.get(position) if in_place else None
    if made is None:
        label = _label(derivation, table)
        made = Verdict(position=position, name=name, verdict="eligible", label=label, reasons=())
        if in_place:
            table.derived[position] = made
    return made


def _withheld(position: int, name: str, reasons: tuple[Reason, ...]) -> Verdict:
    return Verdict(position=position, name=name, verdict="withheld", label=None, reasons=reasons)


def _label(derivation: Derivation, table: Table) -> Label:
    """Give the label of a derivation, made once a table."""
    label: Label | None = table.derived.get(derivation)
    if label is None:
        assert not isinstance(derivation, Other)  # `_output_reasons` withholds it
        label = table.derived[derivation] = Label(
            kind=derivation.kind,
            table=table.path,
            column=derivation.column,
            calculation=derivation.calculation if isinstance(derivation, Aggregate) else None,
        )
    return label


def _names(reading: text.TextReading, table: Table | None) -> tuple[str, ...]:
    if table is not None and _is_star(reading):
        return tuple([column.name for column in table.columns])
    return tuple([name for name, _ in reading.outputs])


def _is_star(reading: text.TextReading) -> bool:
    return len(reading.outputs) == 1 and isinstance(reading.outputs[0][1], text.Star)


# --- names become native columns ----------------------------------------------------------------


def _resolve(reading: text.TextReading, table: Table) -> Shape:
    """Give the text's shape: every name by the pinned schema (P2)."""
    qualifier = reading.alias if reading.alias is not None else table.path[1]
    if _is_star(reading):
        outputs: tuple[Derivation, ...] = tuple([_direct(table, c) for c in table.columns])
    else:
        outputs = tuple([_derivation(made, table, qualifier) for _, made in reading.outputs])
    groups = () if reading.keys == () else _groups(reading, outputs, table, qualifier)
    condition = reading.filter
    return Shape(
        table=table.path,
        outputs=outputs,
        filter=None if condition is None else _bounded(_predicate(condition, table, qualifier)),
        groups=groups,
        aggregated=bool(groups) or any(isinstance(made, Aggregate) for made in outputs),
        selection=reading.selection,
    )


def _column(ref: text.Ref, table: Table, qualifier: str) -> Column | Reason:
    if ref.qualifier is not None and fold(ref.qualifier) != fold(qualifier):
        return Reason.QUALIFIER_UNKNOWN
    return table.column(ref.name) or Reason.COLUMN_UNKNOWN


def _direct(table: Table, column: Column) -> DirectColumn:
    """Give the derivation of a native column, made once a table."""
    direct: DirectColumn | None = table.derived.get(column.name)
    if direct is None:
        direct = table.derived[column.name] = DirectColumn(column=column.name)
    return direct


def _derivation(made: text.OutputReading, table: Table, qualifier: str) -> Derivation:
    match made:
        case text.Ref():
            column = _column(made, table, qualifier)
            if isinstance(column, Reason):
                return Other(reason=column)
            return _direct(table, column)
        case text.Calculated():
            if made.argument is None:
                return Aggregate(calculation=made.calculation, column=None)
            column = _column(made.argument, table, qualifier)
            if isinstance(column, Reason):
                return Other(reason=column)
            return Aggregate(calculation=made.calculation, column=column.name)
        case text.Star():
            return Other(reason=Reason.STAR_NOT_ALONE)
        case text.Found():
            return Other(reason=made.reason)
        case _:
            assert_never(made)


def _groups(
    reading: text.TextReading, outputs: tuple[Derivation, ...], table: Table, qualifier: str
) -> tuple[GroupKey, ...]:
    if reading.keys is None:
        keys: list[GroupKey] = [made for made in outputs if isinstance(made, DirectColumn)]
    else:
        aliases = _aliases(reading, outputs)
        keys = [_key(key, outputs, aliases, table, qualifier) for key in reading.keys]
    return tuple(dict.fromkeys(keys))


def _aliases(
    reading: text.TextReading, outputs: tuple[Derivation, ...]
) -> dict[str, set[Derivation]]:
    aliases: dict[str, set[Derivation]] = {}
    if not _is_star(reading):
        for (name, _), made in zip(reading.outputs, outputs, strict=True):
            aliases.setdefault(fold(name), set()).add(made)
    return aliases


def _key(
    key: text.KeyReading,
    outputs: tuple[Derivation, ...],
    aliases: dict[str, set[Derivation]],
    table: Table,
    qualifier: str,
) -> GroupKey:
    made: Derivation | None = None
    match key:
        case text.Ref():
            column = _column(key, table, qualifier)
            if isinstance(column, Column):
                return _direct(table, column)
            named = aliases.get(fold(key.name), set()) if key.qualifier is None else set()
            made = next(iter(named)) if len(named) == 1 else None
        case text.Position():
            made = outputs[key.number - 1] if 1 <= key.number <= len(outputs) else None
        case text.Found():
            pass
        case _:
            assert_never(key)
    return made if isinstance(made, DirectColumn) else Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN)


def _vague_key(shape: Shape, table: Table) -> bool:
    return any(
        type_class(_native(table, key.column).type) in _VAGUE_KEYS
        for key in shape.groups
        if isinstance(key, DirectColumn)
    )


def _native(table: Table, name: str) -> Column:
    column = table.column(name)
    assert column is not None  # every name in a resolved shape came from this table
    return column


# --- what each output needs ---------------------------------------------------------------------


def _output_reasons(derivation: Derivation, table: Table) -> tuple[Reason, ...]:
    """Say why an output could not be stated, whatever rows it is about (contract 2)."""
    match derivation:
        case DirectColumn():
            statable = type_class(_native(table, derivation.column).type) is not None
            return () if statable else (Reason.TYPE_NOT_STATABLE,)
        case Aggregate():
            if derivation.column is None:
                return ()
            column = _native(table, derivation.column)
            kind = type_class(column.type)
            if kind is None:
                return (Reason.TYPE_NOT_STATABLE,)
            calculable = _calculable(derivation.calculation, kind, column)
            return () if calculable else (Reason.AGGREGATE_TYPE,)
        case Other():
            return (derivation.reason,)
        case _:
            assert_never(derivation)


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


def _scope_reasons(shape: Shape, table: Table) -> tuple[Reason, ...]:
    """Say why an aggregate's group or filter could not be stated (contract 2)."""
    found: list[Reason] = []
    if shape.groups:
        shown = {
            made.column
            for made in shape.outputs
            if isinstance(made, DirectColumn) and not _output_reasons(made, table)
        }
        for key in shape.groups:
            if isinstance(key, Other):
                found.append(key.reason)
            elif key.column not in shown:
                found.append(Reason.GROUP_KEY_NOT_SHOWN)
    if shape.filter is not None:
        found.extend(unstatable_reasons(shape.filter))
    return tuple(found)


# --- the filter ---------------------------------------------------------------------------------


def _bounded(predicate: Predicate) -> Predicate:
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
            members = (_predicate(member, table, qualifier) for member in condition.members)
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
    return conjoin("and", iter((low, high)))


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


def _same_rows(one: Shape, other: Shape) -> bool:
    """Say whether both readings see the same table, outputs and clauses (contract 3)."""
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
    match predicate:
        case Conjunction():
            members = frozenset(_normal(member) for member in predicate.members)
            return next(iter(members)) if len(members) == 1 else (predicate.kind, members)
        case Negation():
            return ("not", _normal(predicate.member))
        case _:
            return predicate

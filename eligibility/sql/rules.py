"""Both readings + schema → verdicts: the policy applied, in order of precedence (specification 2 and 3).

Invariants
  P1  Withheld is the default: an output is eligible only where every check below was passed.
  P2  With an engine reading, an output is eligible only where both shapes give it the same
      derivation over the same table; an aggregate needs the same filter and group keys besides.
  P3  `readings-disagree` is said only where the text alone would release.
"""

from dataclasses import dataclass
from typing import assert_never

from eligibility.reasons import Reason, in_order
from eligibility.sql import syntax
from eligibility.sql.dialect import Dialect
from eligibility.sql.observation import EngineReading
from eligibility.sql.policy import Policy
from eligibility.sql.resolve import Resolved, every_output, is_star, resolve
from eligibility.sql.schema import Schema, Table
from eligibility.sql.shape import Derivation, Predicate, Shape
from eligibility.sql.verdicts import Label, Verdict


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
    reading: syntax.TextReading,
    schema: Schema,
    engine: EngineReading | Reason | None,
    dialect: Dialect,
    policy: Policy,
) -> Decision:
    """Decide every output of a statement (specification 2 and 3).

    Args:
        reading: what the text says.
        schema: the pinned tables.
        engine: what the engine's plan says; a reason where the engine refused or failed; None
            where it was not asked.
        dialect: of that engine.
        policy: what may be stated.

    Returns:
        The decision.
    """
    table = schema.find(reading.source) if reading.source else None
    reasons = set(reading.reasons)
    if reading.source and table is None:
        reasons.add(Reason.TABLE_UNKNOWN)
    if isinstance(engine, Reason):
        reasons.add(engine)
    shape = None if table is None else resolve(reading, table, dialect, policy)
    if table is not None and shape is not None and shape.groups:
        reasons.update(_key_reasons(shape, table, policy))
    every: _Every | None = None
    if table is not None and is_star(reading):
        every = _Every.of(table, dialect, policy)
    names = every.names if every else tuple([name for name, _ in reading.outputs])
    if reasons or table is None or shape is None:
        whole = in_order(reasons)
        withheld = tuple([_withheld(place, name, whole) for place, name in enumerate(names)])
        return Decision(whole, withheld, shape, filter_agrees=False, disagrees=False)
    assert not isinstance(engine, Reason)  # it would be among the reasons
    return _judge(names, shape, every, engine, all_keys=reading.keys is None)


def _key_reasons(shape: Resolved, table: Table, policy: Policy) -> set[Reason]:
    """Say why the rows of one group could not be named (specification 2)."""
    found = set()
    for key in shape.groups:
        if key.kind == "column":
            column = table.column(key.column)
            assert column is not None  # every name in a resolved shape came from this table
            found.add(policy.of_key(column))
    return {reason for reason in found if reason is not None}


# --- each output ----------------------------------------------------------------------------------


def _judge(
    names: tuple[str, ...],
    shape: Resolved,
    every: "_Every | None",
    engine: EngineReading | None,
    *,
    all_keys: bool,
) -> Decision:
    other = engine.shape if engine is not None else None
    same_rows = other is None or _same_rows(shape, other)
    same_filter = other is None or same_predicate(shape.filter, other.filter)
    same_groups = other is None or frozenset(shape.groups) == frozenset(other.groups)
    agreed = engine is None or (other is not None and same_rows and same_filter)
    if every is not None:
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


def _eligible(position: int, name: str, label: Label | None) -> Verdict:
    return Verdict(position=position, name=name, verdict="eligible", label=label, reasons=())


def _withheld(position: int, name: str, reasons: tuple[Reason, ...]) -> Verdict:
    return Verdict(position=position, name=name, verdict="withheld", label=None, reasons=reasons)


@dataclass(slots=True)
class _Every:
    """What a star shows, made once a table.

    Attributes:
        names, made: of all columns, by position.
        verdicts: where no engine reading differs.
    """

    names: tuple[str, ...]
    made: tuple[Derivation, ...]
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, table: Table, dialect: Dialect, policy: Policy) -> "_Every":
        key = "every column", dialect.name, policy.name
        every: _Every | None = table.derived.get(key)
        if every is None:
            names = tuple([column.name for column in table.columns])
            outputs = every_output(table, dialect, policy)
            verdicts = [
                _withheld(position, name, output.reasons)
                if output.reasons
                else _eligible(position, name, output.label)
                for position, (name, output) in enumerate(zip(names, outputs, strict=True))
            ]
            made = tuple([output.made for output in outputs])
            every = table.derived[key] = cls(names, made, tuple(verdicts))
        return every


# --- the two shapes side by side ------------------------------------------------------------------


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

"""What may be stated: the tables (specification 2). `rules` applies them, `resolve` asks them.

Invariants
  P1  Withheld is the default: a type, a calculation or an operator that is in no table is withheld.
  P2  Every table lists what is allowed; what is not allowed follows, and is written nowhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from eligibility.reasons import Reason
from eligibility.sql.dialect import Dialect
from eligibility.sql.schema import Column
from eligibility.sql.shape import Calculation, Operator
from eligibility.sql.types import TypeClass, type_class

FILTER_DEPTH_MAX = 16
FILTER_LITERALS_MAX = 200

_NUMBERS: frozenset[TypeClass] = frozenset({"integer", "decimal", "float"})
_ORDERED: frozenset[TypeClass] = frozenset(
    {"integer", "decimal", "float", "date", "time", "timestamp", "timestamptz", "text"}
)
_EQUAL: frozenset[TypeClass] = _ORDERED | {"boolean", "enum", "uuid"}
# Equal intervals and equal times with zone look different, so that they name no group and no value.
_SHOWN: frozenset[TypeClass] = _EQUAL | {"interval", "timetz"}


@dataclass(frozen=True, slots=True)
class Policy:
    """One set of tables, of classes of types.

    Attributes:
        name: as a statement of what was decided names it.
        shown: which may be shown as stored values.
        calculated: over which each calculation is stated.
        keys: which may name a group.
        compared: which each operator of a filter compares; `=` stands for IN as well.
        matched: which LIKE and ILIKE match.
        conditions: which are a condition by themselves.
    """

    name: Literal["strict"]
    shown: frozenset[TypeClass]
    calculated: Mapping[Calculation, frozenset[TypeClass]]
    keys: frozenset[TypeClass]
    compared: Mapping[Operator, frozenset[TypeClass]]
    matched: frozenset[TypeClass]
    conditions: frozenset[TypeClass]

    def of_output(
        self, calculation: Calculation | None, column: Column, dialect: Dialect
    ) -> Reason | None:
        """Say why a column could not be shown or calculated over (specification 2.4).

        Args:
            calculation: which; None for a stored value.
            column: the pinned column.
            dialect: of the engine that calculates.

        Returns:
            The reason; None where it may.
        """
        kind = type_class(column.type)
        if kind not in self.shown:
            return Reason.TYPE_NOT_STATABLE
        if calculation is None:
            return None
        listed = kind in self.calculated.get(calculation, ())
        exact = (calculation, column.type) not in dialect.not_calculated
        return None if listed and exact else Reason.AGGREGATE_TYPE

    def of_key(self, column: Column) -> Reason | None:
        """Say why a column could not name a group; None where it may."""
        # What has no class cannot be shown: a group of it is not named either, and that is said.
        unknown = type_class(column.type) is None
        return None if unknown or _is_in(self.keys, column) else Reason.GROUP_KEY_TYPE

    def of_comparison(self, column: Column, operator: Operator) -> Reason | None:
        """Say why a column could not be compared in a filter (specification 2, WHERE).

        Args:
            column: the pinned column.
            operator: how; `=` for IN.

        Returns:
            The reason; None where it may.
        """
        kind = type_class(column.type)
        if kind not in self.compared.get(operator, ()):
            return Reason.FILTER_TYPE
        if kind == "float" and column.nan is not False:
            return Reason.FILTER_NAN
        return None

    def of_match(self, column: Column) -> Reason | None:
        """Say why a column could not be matched by LIKE; None where it may."""
        return None if _is_in(self.matched, column) else Reason.FILTER_TYPE

    def of_condition(self, column: Column) -> Reason | None:
        """Say why a column is no condition by itself; None where it is one."""
        return None if _is_in(self.conditions, column) else Reason.FILTER_TYPE


def _is_in(listed: frozenset[TypeClass], column: Column) -> bool:
    return type_class(column.type) in listed


STRICT = Policy(
    name="strict",
    shown=_SHOWN,
    calculated={
        "SUM": _NUMBERS,
        "AVG": _NUMBERS,
        "MIN": _ORDERED,
        "MAX": _ORDERED,
        "COUNT": _SHOWN,
    },
    keys=_EQUAL,
    compared={
        "=": _EQUAL,
        "<>": _EQUAL,
        "<": _ORDERED | {"boolean"},
        "<=": _ORDERED | {"boolean"},
        ">": _ORDERED | {"boolean"},
        ">=": _ORDERED | {"boolean"},
    },
    matched=frozenset({"text"}),
    conditions=frozenset({"boolean"}),
)

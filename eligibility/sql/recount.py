"""Statements of our own, made from a label, a group and a filter, to ask an engine what they give.

Nothing of the recorded statement's text is in them: the table's path, the places of its columns,
and values that are written as quoted text and cast to the column's own type.

Invariants
  M1  A column is known by its place in the pinned table: every name in scope is given here.
  M2  A condition or a value that cannot be written gives no statement.
  M3  Rows of one group are those whose keys are not distinct from the group's, as GROUP BY has it.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

from eligibility.sql.facts import GroupCell
from eligibility.sql.observation import Cell
from eligibility.sql.schema import Column, Table
from eligibility.sql.shape import Calculation, Predicate

# By their whole paths: nothing that a database holds stands in for them.
_NUL = "' || system.main.chr(0) || '"
_COUNT = "system.main.count({0})"
_SIZE = "CAST(system.main.sum(system.main.abs({0})) AS VARCHAR)"
_SIGNS = {"and": " AND ", "or": " OR "}
# ruff: noqa: S608 - every name is quoted or given here, every value is quoted
# What an output gives: a column and, of an aggregate, the calculation; (COUNT, None) is COUNT(*).
Asked = tuple[Calculation, str | None]


def extents(
    table: Table,
    columns: Sequence[str],
    condition: Predicate | None,
    groups: Sequence[Sequence[GroupCell]],
) -> str | None:
    """Ask how many values each group has in some columns, and how large they are in all.

    Args:
        table: the pinned table.
        columns: native names of columns of numbers, at least one.
        condition: the filter; None for none.
        groups: the keys of each group; one without keys for all rows.

    Returns:
        A statement whose rows hold the place of a group in `groups`, and for each column the
        number of its values and the sum of their magnitudes as text; no row for a group without
        rows. None where it cannot be written (M2).
    """
    scope = _Scope(table)
    asked = []
    for name in columns:
        column = scope.column(name)
        asked += [_COUNT.format(column), _SIZE.format(column)]
    where = scope.where(condition)
    if where is None:
        return None
    keys = [key.column for key in groups[0]]
    if not keys:
        return f"SELECT 0, {', '.join(asked)} FROM {scope.table}{where}"
    shown = ", ".join(
        f"({', '.join([str(place), *(scope.value(key.column, key.cell) for key in group)])})"
        for place, group in enumerate(groups)
    )
    names = ", ".join(f"k{place}" for place in range(len(keys)))
    same = " AND ".join(
        f"{scope.compared(name)} IS NOT DISTINCT FROM g.k{place}" for place, name in enumerate(keys)
    )
    return (
        f"SELECT g.place, {', '.join(asked)} FROM {scope.table} "
        f"JOIN (VALUES {shown}) AS g(place, {names}) ON {same}{where} GROUP BY g.place"
    )


def counted(
    table: Table,
    asked: Iterable[Asked],
    condition: Predicate | None,
    held: Iterable[GroupCell],
) -> str | None:
    """Ask for calculations over the rows that hold some values.

    Args:
        table: the pinned table.
        asked: the calculations.
        condition: the filter; None for none.
        held: native columns, and the cell that each of them holds.

    Returns:
        A statement of one row: the number of rows, and each of `asked`. None as for `extents`.
    """
    scope = _Scope(table)
    outputs = ["system.main.count_star()"]
    for calculation, name in asked:
        column = None if name is None else scope.column(name)
        outputs.append(outputs[0] if column is None else f"system.main.{calculation}({column})")
    where = scope.where(condition, held)
    return None if where is None else f"SELECT {', '.join(outputs)} FROM {scope.table}{where}"


def sizes(table: Table, name: str, condition: Predicate | None, held: Iterable[GroupCell]) -> str:
    """Ask for the number of a column's values and the sum of their magnitudes.

    Args:
        table: the pinned table.
        name: of a column of numbers.
        condition: a filter that can be written; None for none.
        held: as for `counted`.

    Returns:
        A statement of one row with two columns.
    """
    scope = _Scope(table)
    column, where = scope.column(name), scope.where(condition, held)
    asked = f"{_COUNT.format(column)}, {_SIZE.format(column)}"
    return f"SELECT {asked} FROM {scope.table}{where}"


def repeats(table: Table, names: Iterable[str], condition: Predicate | None) -> str | None:
    """Ask how many rows some columns do not tell apart.

    Args:
        table: the pinned table.
        names: of the columns, at least one.
        condition: the filter; None for none.

    Returns:
        A statement of one row with one number: rows, less different rows. None as for `extents`.
    """
    scope = _Scope(table)
    columns = ", ".join(map(scope.column, names))
    where = scope.where(condition)
    if where is None:
        return None
    return (
        f"SELECT system.main.sum(n - 1) FROM (SELECT system.main.count_star() AS n "
        f"FROM {scope.table}{where} GROUP BY {columns}) AS s"
    )


class _Scope:
    """One pinned table under names that are ours (M1)."""

    def __init__(self, table: Table) -> None:
        path = ".".join(_named(part) for part in table.path)
        names = ", ".join(f"c{place}" for place in range(len(table.columns)))
        self.table = f"{path} AS p({names})"
        self._columns = {
            column.name: (f"p.c{place}", column) for place, column in enumerate(table.columns)
        }

    def column(self, name: str) -> str:
        return self._columns[name][0]

    def compared(self, name: str) -> str:
        """Write a column as it is compared: an enum by its members' texts."""
        written, column = self._columns[name]
        return f"CAST({written} AS VARCHAR)" if column.type == "ENUM" else written

    def value(self, name: str, cell: Cell) -> str:
        return _value(self._columns[name][1], cell.text)

    def where(self, condition: Predicate | None, held: Iterable[GroupCell] = ()) -> str | None:
        """Write the rows that meet a condition and hold some values; None where it cannot be."""
        parts = [
            f"{self.compared(key.column)} IS NOT DISTINCT FROM {self.value(key.column, key.cell)}"
            for key in held
        ]
        if condition is not None:
            written = self._condition(condition)
            if written is None:
                return None
            parts.append(f"({written})")
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _condition(self, predicate: Predicate) -> str | None:
        match predicate.kind:
            case "unstatable":
                return None
            case "not":
                inner = self._condition(predicate.member)
                return None if inner is None else f"NOT ({inner})"
            case "and" | "or":
                parts = [self._condition(member) for member in predicate.members]
                if None in parts:
                    return None
                return _SIGNS[predicate.kind].join(f"({part})" for part in parts)
        name = predicate.column
        written, column = self._columns[name]
        match predicate.kind:
            case "comparison":
                value = _value(column, predicate.value.text)
                return f"{self.compared(name)} {predicate.operator} {value}"
            case "column-comparison":
                return f"{written} {predicate.operator} {self.column(predicate.other)}"
            case "in":
                values = ", ".join(_value(column, value.text) for value in predicate.values)
                return f"{self.compared(name)} IN ({values})"
            case "is-null":
                return f"{written} IS NULL"
            case "like":
                word = "ILIKE" if predicate.fold else "LIKE"
                return f"{written} {word} {_text(predicate.pattern)}"
            case "truth":
                return written
            case _:
                assert_never(predicate)


def _value(column: Column, text: str | None) -> str:
    kind = "VARCHAR" if column.type == "ENUM" else column.type
    return f"CAST({'NULL' if text is None else _text(text)} AS {kind})"


def _text(text: str) -> str:
    quoted = "'" + text.replace("'", "''") + "'"
    return f"({quoted.replace(chr(0), _NUL)})"


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

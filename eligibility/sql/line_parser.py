"""A line of text → the fact that it states; the grammar stands in `wording` (specification 7, `text`).

Invariant
  V1  `parse` accepts exactly what `wording.line` writes, and gives back what it was written from.
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from eligibility.sql.facts import GroupCell
from eligibility.sql.observation import Cell
from eligibility.sql.policy import FILTER_DEPTH_MAX
from eligibility.sql.schema import Column, Schema, Table
from eligibility.sql.shape import (
    Calculation,
    ColumnComparison,
    Comparison,
    Connective,
    InList,
    IsNull,
    Like,
    Negation,
    Operator,
    Predicate,
    Truth,
    Value,
    nature,
)
from eligibility.sql.verdicts import Label
from eligibility.sql.wording import BOOLEANS, LINE_MAX, NAME, NOTE, NUMBER, TEXT_ORDER, line

_ESCAPE = re.compile(r"\\(?:\\|u\{(10[0-9A-F]{4}|[0-9A-F]{1,5})\})")


@dataclass(frozen=True, slots=True)
class Line:
    """What a line says.

    Attributes:
        label: under what description.
        value: the text of the cell.
        exact: whether the value is exact.
        row: zero-based, of a stored value; None for an aggregate.
        group: the key columns and cells of an aggregate.
        predicate: the WHERE clause of an aggregate; None for none.
    """

    label: Label
    value: str
    exact: bool
    row: int | None
    group: tuple[GroupCell, ...]
    predicate: Predicate | None


def parse(text: str, schema: Schema) -> Line | None:
    """Read a line back (V1).

    Args:
        text: a line.
        schema: the pinned tables it was written with; they give the types of its values.

    Returns:
        What it says; None for everything that `line` does not write.
    """
    if len(text) > LINE_MAX:
        return None
    try:
        found, base = _Reader(text, schema).line()
    except _Unreadable:
        return None
    value = Cell(type=base, text=found.value)
    again = line(
        found.label, value, found.exact, found.row or 0, found.group, found.predicate, schema
    )
    return found if again == text else None


class _Unreadable(Exception):
    """The text is not a line."""


_TABLE = re.compile(rf"{NAME}(?:\.{NAME})?")
_COLUMN = re.compile(rf"{NAME}\.{NAME}(?:\.{NAME})?")
_PART = re.compile(NAME)
_TEXT = re.compile(r"'(?:[^']|'')*'")
_ROW = re.compile(r"[1-9][0-9]*")
_CALCULATIONS: tuple[Calculation, ...] = get_args(Calculation)
_OPERATORS: tuple[Operator, ...] = get_args(Operator)


class _Reader:
    """Reads a line from left to right; raises `_Unreadable` where it cannot go on.

    It may read more than `line` writes, such as a needless escape: `parse` writes what was read
    once more and compares.
    """

    def __init__(self, text: str, schema: Schema) -> None:
        self._text = text
        self._schema = schema
        self._place = 0

    def line(self) -> tuple[Line, str]:
        """Read a line, and the type of its value."""
        if self._take("COUNT(*) of "):
            return self._aggregate(self._table_at(_names(self._match(_TABLE))), "COUNT", None)
        for calculation in _CALCULATIONS:
            if self._take(f"{calculation}("):
                table, column = self._column()
                self._want(")")
                return self._aggregate(table, calculation, column)
        table, column = self._column()
        self._want(" = ")
        value, base = self._value(), column.type
        self._want(" in result row ")
        row = int(self._match(_ROW)) - 1
        label = Label(kind="column", table=table.path, column=column.name, calculation=None)
        return Line(label, value, True, row, (), None), base

    def _aggregate(
        self, table: Table, calculation: Calculation, column: Column | None
    ) -> tuple[Line, str]:
        exact = not self._take(" ≈ ")
        if exact:
            self._want(" = ")
        start = self._place
        value = self._value()
        if column is not None and nature(calculation) == "picked":
            base = column.type
        else:
            # The type of a sum is the engine's choice; its class shows.
            base = {"'": "VARCHAR", "T": "BOOLEAN", "F": "BOOLEAN"}.get(self._text[start], "DOUBLE")
        self._take(TEXT_ORDER)
        group: list[GroupCell] = []
        if self._take(" for "):
            group.append(self._key(table))
            while self._take(", "):
                group.append(self._key(table))
        predicate = self._filter(table, 1) if self._take(" where ") else None
        name = None if column is None else column.name
        label = Label(kind="aggregate", table=table.path, column=name, calculation=calculation)
        return Line(label, value, exact, None, tuple(group), predicate), base

    def _key(self, table: Table) -> GroupCell:
        column = self._column_of(table)
        text = None
        if not self._take(" IS NULL"):
            self._want(" = ")
            text = self._value()
        return GroupCell(column=column.name, cell=Cell(type=column.type, text=text))

    def _filter(self, table: Table, depth: int) -> Predicate:
        if depth > FILTER_DEPTH_MAX:
            raise _Unreadable
        if self._take("NOT ("):
            member = self._filter(table, depth + 1)
            self._want(")")
            return Negation(member=member)
        if not self._take("("):
            atom = self._atom(table)
            self._take(NOTE)
            return atom
        members = [self._filter(table, depth + 1)]
        self._want(")")
        joint = " AND (" if self._ahead(" AND (") else " OR ("
        self._want(joint)
        while True:
            members.append(self._filter(table, depth + 1))
            self._want(")")
            if not self._take(joint):
                kind: Literal["and", "or"] = "and" if joint == " AND (" else "or"
                return Connective(kind=kind, members=tuple(members))

    def _atom(self, table: Table) -> Predicate:
        column = self._column_of(table)
        if self._take(" IS NULL"):
            return IsNull(column=column.name)
        if self._take(" IN ("):
            values = [self._literal(column)]
            while self._take(", "):
                values.append(self._literal(column))
            self._want(")")
            return InList(column=column.name, values=tuple(values))
        for word in ("LIKE", "ILIKE"):
            if self._take(f" {word} "):
                pattern = _unquoted(self._match(_TEXT))
                return Like(column=column.name, pattern=pattern, fold=word == "ILIKE")
        for operator in _OPERATORS:
            if self._take(f" {operator} "):
                if _COLUMN.match(self._text, self._place):
                    other = self._column_of(table).name
                    return ColumnComparison(column=column.name, operator=operator, other=other)
                value = self._literal(column)
                return Comparison(column=column.name, operator=operator, value=value)
        return Truth(column=column.name)

    def _literal(self, column: Column) -> Value:
        return Value(type=column.type, text=self._value())

    def _value(self) -> str:
        for text, written in BOOLEANS.items():
            if self._take(written):
                return text
        if self._ahead("'"):
            return _unquoted(self._match(_TEXT))
        return self._match(NUMBER)

    def _column_of(self, table: Table) -> Column:
        where, column = self._column()
        if where.path != table.path:
            raise _Unreadable
        return column

    def _column(self) -> tuple[Table, Column]:
        *path, name = _names(self._match(_COLUMN))
        table = self._table_at(path)
        column = table.column(name)
        if column is None or column.name != name:
            raise _Unreadable
        return table, column

    def _table_at(self, path: list[str]) -> Table:
        for table in self._schema.tables:
            if list(table.path[-len(path) :]) == path:
                return table
        raise _Unreadable

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._place)
        if match is None:
            raise _Unreadable
        self._place = match.end()
        return match[0]

    def _ahead(self, literal: str) -> bool:
        return self._text.startswith(literal, self._place)

    def _take(self, literal: str) -> bool:
        taken = self._ahead(literal)
        if taken:
            self._place += len(literal)
        return taken

    def _want(self, literal: str) -> None:
        if not self._take(literal):
            raise _Unreadable


def _names(path: str) -> list[str]:
    return [_unquoted(part) if part[0] == '"' else part for part in _PART.findall(path)]


def _unquoted(written: str) -> str:
    quote = written[0]
    inner = written[1:-1].replace(quote * 2, quote)
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else "\\", inner)

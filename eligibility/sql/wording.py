r"""A fact as one line of text (specification 7, `text`).

The published grammar, in EBNF; a terminal's spaces are meant:

    line        = aggregate | stored ;
    stored      = column " = " value " in result row " row ;
    aggregate   = subject (" = " | " ≈ ") value [" (text order)"]
                  [" for " key {", " key}] [" where " filter] ;
    subject     = calculation "(" column ")" | "COUNT(*) of " table ;
    calculation = "SUM" | "AVG" | "MIN" | "MAX" | "COUNT" ;
    key         = column (" = " value | " IS NULL") ;
    filter      = atom
                | "NOT (" filter ")"
                | "(" filter ")" " AND (" filter ")" {" AND (" filter ")"}
                | "(" filter ")" " OR (" filter ")" {" OR (" filter ")"} ;
    atom        = (column " " operator " " (value | column)
                   | column " IN (" value {", " value} ")"
                   | column " IS NULL"
                   | column (" LIKE " | " ILIKE ") text
                   | column) [note] ;
    operator    = "=" | "<>" | "<" | "<=" | ">" | ">=" ;
    note        = " (rows where it is NULL are not counted)" ;
    column      = table "." name ;
    table       = [name "."] name ;
    name        = letter {letter | digit} | '"' {character | '""' | escape} '"' ;
    value       = number | "TRUE" | "FALSE" | text ;
    text        = "'" {character | "''" | escape} "'" ;
    number      = ["-"] (digits ["." digits] | "." digits) ["e" ("+" | "-") digits] ;
    row         = digit from 1, then digits ;
    escape      = "\\" | "\u{" hexadecimal "}" ;

A letter is one of A-Z, a-z and `_`; a character is any that is shown (escape U1), and a plain space
that is neither first, nor last, nor behind another space. ` ≈ ` stands where the value is not
exact, `(text order)` behind MIN and MAX of text, rows are counted from 1.

Invariants
  W1  A line holds no control, invisible or line-breaking character: all such are escaped.
  W2  Every line is read back as what it was written from (`eligibility.sql.line_parser`).
  W3  Whether a value is bare is decided by the class of its type.
  W4  The note stands behind an atom under `<>` or NOT exactly where it is true: no row in which
      a column of that atom is NULL can meet the whole filter, whatever its other atoms are.
  W5  Nothing is shortened: what would be longer than a line may be is not written.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import assert_never

from eligibility.sql.facts import GroupCell
from eligibility.sql.observation import Cell
from eligibility.sql.policy import FILTER_DEPTH_MAX
from eligibility.sql.schema import Schema, TablePath
from eligibility.sql.shape import (
    Predicate,
    nature,
)
from eligibility.sql.types import type_class
from eligibility.sql.verdicts import Label
from eligibility.wire.escape import is_shown

LINE_MAX = 2_000
NOTE = " (rows where it is NULL are not counted)"
TEXT_ORDER = " (text order)"

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME = r'(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"]|"")*")'
NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-][0-9]+)?")
BOOLEANS: dict[str, str] = {"true": "TRUE", "false": "FALSE"}

# The common text needs no escape: printable ASCII words with single spaces between them.
_PLAIN = re.compile(r"[!#-&(-\[\]-~]+(?: [!#-&(-\[\]-~]+)*")
_SPECIAL = re.compile(r"""\A[ ]|[ ]\Z|(?<=[ ])[ ]|[^ -~]|[\\"']""")


# --- parts --------------------------------------------------------------------------------------


def is_bare(base: str, text: str) -> bool:
    """Say whether a value is written without quotes (W3).

    Args:
        base: base name of its type.
        text: the engine's rendering.

    Returns:
        True for a number of an integer, decimal or float type, and for `true` or `false` of
        BOOLEAN; false for all else, so also for a float that is not finite.
    """
    match type_class(base):
        case "integer" | "decimal" | "float":
            return NUMBER.fullmatch(text) is not None
        case "boolean":
            return text in BOOLEANS
        case "text" | "enum" | "uuid" | "interval" | None:
            return False
        case "date" | "time" | "timetz" | "timestamp" | "timestamptz":
            return False
        case _ as other:
            assert_never(other)


def _value(base: str, text: str) -> str:
    return BOOLEANS.get(text, text) if is_bare(base, text) else _quoted(text, "'")


def _quoted(text: str, quote: str) -> str:
    if _PLAIN.fullmatch(text):
        return f"{quote}{text}{quote}"

    def escaped(match: re.Match[str]) -> str:
        character = match[0]
        if character in "\\'\"":
            return character * 2 if character in ("\\", quote) else character
        return character if is_shown(character) else f"\\u{{{ord(character):X}}}"

    return f"{quote}{_SPECIAL.sub(escaped, text)}{quote}"


@lru_cache(maxsize=4096)
def _name(name: str) -> str:
    return name if _BARE_NAME.fullmatch(name) else _quoted(name, '"')


def _table(path: TablePath, schema: Schema) -> str:
    text = schema.written.get(path)
    if text is None:
        shown = path[1:] if schema.name_is_unique(path) else path
        text = schema.written[path] = ".".join(map(_name, shown))
    return text


def subject_text(label: Label, schema: Schema) -> str:
    """Write what a value is: the label of a line.

    Args:
        label: of an eligible output.
        schema: the pinned tables, which say whether the table's bare name will do.

    Returns:
        Such as `SUM(flights.distance)`, `COUNT(*) of flights`, `flights.carrier`.
    """
    table = _table(label.table, schema)
    if label.column is None:
        return f"{label.calculation}(*) of {table}"
    column = f"{table}.{_name(label.column)}"
    return column if label.calculation is None else f"{label.calculation}({column})"


def group_text(group: Iterable[GroupCell], table: TablePath, schema: Schema) -> str:
    """Write which group of rows a value is about.

    Args:
        group: the key columns and cells, in the order of the keys.
        table: (schema, table).
        schema: as for `subject_text`.

    Returns:
        Such as ` for flights.carrier = 'UA', flights.month IS NULL`; empty for no keys.
    """
    prefix = _table(table, schema)
    keys = [
        f"{prefix}.{_name(key.column)}"
        + (" IS NULL" if key.cell.text is None else f" = {_value(key.cell.type, key.cell.text)}")
        for key in group
    ]
    return f" for {', '.join(keys)}" if keys else ""


# --- the filter ---------------------------------------------------------------------------------


def filter_text(predicate: Predicate, table: TablePath, schema: Schema) -> str | None:
    """Write a WHERE clause in normal form.

    Args:
        predicate: the condition, with native column names.
        table: (schema, table) of those columns.
        schema: as for `subject_text`.

    Returns:
        One line of any length, such as `(flights.month = 1) AND (NOT (flights.day IN (1, 2) (rows
        where it is NULL are not counted)))`; None where a part is unstatable or conditions are
        nested over 16 levels.
    """
    return _FilterWriter(predicate, _table(table, schema)).condition(predicate, False, 1)


def _can_be(predicate: Predicate, wanted: bool, column: str) -> bool:
    """Say whether a condition can have the truth value `wanted` in a row where `column` is NULL.

    Atoms that do not name the column count as independent of each other, so the answer may be
    yes where it is no, never the other way round.
    """
    match predicate.kind:
        case "not":
            return _can_be(predicate.member, not wanted, column)
        case "and" | "or":
            each = [_can_be(member, wanted, column) for member in predicate.members]
            return all(each) if (predicate.kind == "and") is wanted else any(each)
        case "unstatable":
            return True
        case "is-null":
            return predicate.column != column or wanted
        case "column-comparison":
            return column not in (predicate.column, predicate.other)
        case "comparison" | "in" | "like" | "truth":
            return predicate.column != column
        case _:
            assert_never(predicate)


class _FilterWriter:
    """Writes the parts of one filter; remembers for which columns the note is true (W4)."""

    def __init__(self, whole: Predicate, table: str) -> None:
        self._whole = whole
        self._table = table
        self._excludes: dict[str, bool] = {}

    def condition(self, predicate: Predicate, negated: bool, depth: int) -> str | None:
        if depth > FILTER_DEPTH_MAX:
            return None
        match predicate.kind:
            case "comparison":
                value, operator = predicate.value, predicate.operator
                text = f"{self._column(predicate.column)} {operator} "
                text += _value(value.type, value.text)
                return text + self._note(negated or operator == "<>", predicate.column)
            case "not":
                inner = self.condition(predicate.member, True, depth + 1)
                return None if inner is None else f"NOT ({inner})"
            case "and" | "or":
                parts: list[str] = []
                for member in predicate.members:
                    part = self.condition(member, negated, depth + 1)
                    if part is None:
                        return None
                    parts.append(f"({part})")
                return f" {predicate.kind.upper()} ".join(parts)
            case "unstatable":
                return None
            case "column-comparison":
                column, other = predicate.column, predicate.other
                text = f"{self._column(column)} {predicate.operator} {self._column(other)}"
                return text + self._note(negated or predicate.operator == "<>", column, other)
            case "in":
                inside = ", ".join([_value(value.type, value.text) for value in predicate.values])
                text = f"{self._column(predicate.column)} IN ({inside})"
            case "is-null":
                text = f"{self._column(predicate.column)} IS NULL"
            case "like":
                text = f"{self._column(predicate.column)} {'ILIKE' if predicate.fold else 'LIKE'}"
                text += f" {_quoted(predicate.pattern, chr(39))}"
            case "truth":
                text = self._column(predicate.column)
            case _:
                assert_never(predicate)
        return text + self._note(negated, predicate.column)

    def _column(self, column: str) -> str:
        return f"{self._table}.{_name(column)}"

    def _note(self, wanted: bool, *columns: str) -> str:
        return NOTE if wanted and all(map(self._excluded, columns)) else ""

    def _excluded(self, column: str) -> bool:
        if column not in self._excludes:
            self._excludes[column] = not _can_be(self._whole, True, column)
        return self._excludes[column]


# --- the whole line -----------------------------------------------------------------------------


def compose(
    label: Label, subject: str, value: Cell, exact: bool, row: int, scope: str
) -> str | None:
    """Put a line together from parts that many facts share.

    Args:
        label: of the value.
        subject: `subject_text` of the label.
        value: the cell.
        exact: whether the value is exact.
        row: where it stands in the observation, zero-based; written for a stored value only.
        scope: `group_text`, and ` where ` with `filter_text`; written for an aggregate only.

    Returns:
        The line; None for NULL, and for more than `LINE_MAX` characters (W5).
    """
    if value.text is None:
        return None
    written = _value(value.type, value.text)
    match label.kind:
        case "column":
            text = f"{subject} = {written} in result row {row + 1}"
        case "aggregate":
            picked = label.calculation is not None and nature(label.calculation) == "picked"
            order = TEXT_ORDER if picked and type_class(value.type) == "text" else ""
            text = f"{subject} {'=' if exact else '≈'} {written}{order}{scope}"
        case _:
            assert_never(label.kind)
    return text if len(text) <= LINE_MAX else None


def line(
    label: Label,
    value: Cell,
    exact: bool,
    row: int,
    group: Iterable[GroupCell],
    predicate: Predicate | None,
    schema: Schema,
) -> str | None:
    """Write one fact as one line (specification 7, `text`).

    Args:
        label: under what description.
        value: the cell.
        exact: whether the value is exact.
        row: zero-based; not written for an aggregate.
        group: the key columns and cells; not written for a stored value.
        predicate: the WHERE clause, None for none; not written for a stored value.
        schema: the pinned tables.

    Returns:
        The line; None where the value is NULL, the predicate cannot be written, or the line
        would be longer than `LINE_MAX` characters.
    """
    scope = group_text(group, label.table, schema)
    if predicate is not None and label.kind == "aggregate":
        where = filter_text(predicate, label.table, schema)
        if where is None:
            return None
        scope += f" where {where}"
    return compose(label, subject_text(label, schema), value, exact, row, scope)

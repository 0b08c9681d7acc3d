"""What every label promises, recomputed the plainest way from the pinned table.

Rows are read once as the engine's text and everything else is done here, in exact numbers, tuples
and three truth values, over the published JSON of a fact: no filter, comparison, aggregate or date
of the engine is used, and nothing of the decision but the reader of a fact's line.
"""

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import duckdb

from eligibility import Fact, Observation, Release, Schema, parse

Row = dict[str, str | None]
Truth = bool | None

_STAMP = re.compile(r"(\d+)-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?(\+00)?( \(BC\))?")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?")
_FLOATS = ("DOUBLE", "FLOAT")


@dataclass(frozen=True)
class Promise:
    """What one fact, or the line of one, says of the table.

    Attributes:
        table: (schema, table).
        column, calculation: as in a label.
        value, exact: of the fact.
        group: key columns and texts.
        predicate: the JSON of the condition; None for none.
        bound: how far the value may be off; None in a line, which names none, and where it is exact.
    """

    table: tuple[str, str]
    column: str | None
    calculation: str | None
    value: str | None
    exact: bool
    group: tuple[tuple[str, str | None], ...]
    predicate: dict[str, Any] | None
    bound: str | None = None


class Oracle:
    """Knows the rows of every pinned table, and which promises about them are true."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: Schema) -> None:
        """Read every row of every table as text; the time zone is UTC afterwards."""
        self._schema = schema
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self._types: dict[tuple[str, str], dict[str, str]] = {}
        connection.execute("SET TimeZone = 'UTC'")
        for table in schema.tables:
            path = ".".join('"' + part.replace('"', '""') + '"' for part in table.path)
            query = f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {path}"
            names = [column.name for column in table.columns]
            found = connection.execute(query).fetchall()
            self._rows[table.path] = [dict(zip(names, row, strict=True)) for row in found]
            self._types[table.path] = {column.name: column.type for column in table.columns}

    def count(self, table: tuple[str, str], predicate: dict[str, Any] | None) -> int:
        """Count the rows of a table that meet a published condition."""
        return len(self._meeting(table, predicate))

    def check(self, fact: Fact) -> None:
        """Assert that what a fact says, and what its line says, is true of the table."""
        label, predicate = fact.label, fact.filter.predicate
        said = Promise(
            label.table,
            label.column,
            label.calculation,
            fact.value.text,
            fact.exact,
            tuple((key.column, key.cell.text) for key in fact.group),
            None if predicate is None else predicate.model_dump(mode="json"),
            fact.bound,
        )
        self._check(said)
        line = parse(fact.text, self._schema)
        assert line is not None, fact.text
        written = Promise(
            line.label.table,
            line.label.column,
            line.label.calculation,
            line.value,
            line.exact,
            tuple((key.column, key.cell.text) for key in line.group),
            None if line.predicate is None else line.predicate.model_dump(mode="json"),
        )
        self._check(written)
        # A line of a stored value names no condition, and one of a calculation no row.
        stored = label.calculation is None
        said = replace(said, bound=None)
        assert written == (replace(said, predicate=None) if stored else said)
        assert (line.label, line.row) == (label, fact.row if stored else None)

    def check_release(self, release: Release, observation: Observation) -> None:
        """Assert all that a release says: its facts, their rows, and what is complete."""
        for fact in release.facts:
            self.check(fact)
            if observation.bounds is not None:
                assert (fact.bound is None) == fact.exact
            assert observation.rows[fact.row][fact.column] == fact.value
        stored = [fact for fact in release.facts if fact.label.kind == "column"]
        if release.rows_are_table_rows:
            for row in {fact.row for fact in stored}:
                self._check_row([fact for fact in stored if fact.row == row])
        if release.complete.result:
            assert observation.truncated is None
        if release.complete.table:
            for column in {fact.column for fact in stored}:
                label = next(fact.label for fact in stored if fact.column == column)
                assert label.column is not None
                seen = [row[column].text for row in observation.rows]
                assert sorted(map(repr, seen)) == sorted(
                    repr(row[label.column]) for row in self._rows[label.table]
                )

    def _check_row(self, facts: list[Fact]) -> None:
        predicate = facts[0].filter.predicate
        published = None if predicate is None else predicate.model_dump(mode="json")
        rows = self._meeting(facts[0].label.table, published)
        assert any(
            all(row[fact.label.column or ""] == fact.value.text for fact in facts) for row in rows
        )

    def _meeting(self, table: tuple[str, str], predicate: dict[str, Any] | None) -> list[Row]:
        rows = self._rows[table]
        if predicate is None:
            return rows
        types = self._types[table]
        return [row for row in rows if _truth(predicate, row, types) is True]

    def _check(self, promise: Promise) -> None:
        types = self._types[promise.table]
        rows = self._meeting(promise.table, promise.predicate)
        if promise.calculation is None:
            assert any(row[promise.column or ""] == promise.value for row in rows)
            return
        for column, text in promise.group:
            key = _key(types[column])
            rows = [row for row in rows if _same(row[column], text, key)]
        if promise.column is None:
            assert promise.value == str(len(rows))
            return
        assert not promise.group or rows
        texts = [text for row in rows if (text := row[promise.column]) is not None]
        _check_calculation(promise, texts, types[promise.column])


def _check_calculation(promise: Promise, texts: list[str], kind: str) -> None:
    key = _key(kind)
    match promise.calculation:
        case "COUNT":
            assert promise.value == str(len(texts))
        case "MIN":
            assert promise.value in texts
            assert all(key(text) >= key(str(promise.value)) for text in _finite(texts, kind))
        case "MAX":
            assert promise.value in texts
            assert all(key(text) <= key(str(promise.value)) for text in _finite(texts, kind))
        case "SUM" | "AVG":
            numbers = [Fraction(key(text)) for text in texts]
            total = sum(numbers, Fraction())
            # Adding n floats in any order errs by less than n units of the sum of their sizes.
            slack = len(numbers) * Fraction(1, 2**52) * sum(map(abs, numbers), Fraction())
            if promise.calculation == "AVG":
                total, slack = total / len(numbers), slack / len(numbers)
            said = Fraction(str(promise.value))
            inexact = promise.calculation == "AVG" or kind in _FLOATS
            assert promise.exact is not inexact
            assert abs(said - total) <= (slack + abs(total) / 2**50 if inexact else 0)
            if promise.bound is not None:
                double, bound = Fraction(float(str(promise.value))), Fraction(promise.bound)
                assert abs(double - total) <= bound <= abs(double) / 10**6
                # No wider than twice what the terms can be rounded by, written with three digits.
                assert bound <= (2 * slack + abs(total) / 2**49) * Fraction(101, 100)
                assert bound == 0 or kind not in _FLOATS or len(numbers) > 1
        case other:
            raise AssertionError(f"nothing recomputes {other}")


def _finite(texts: list[str], kind: str) -> Iterable[str]:
    """Leave NaN out, above which the engine puts nothing: it can be no smallest value."""
    return [text for text in texts if kind not in _FLOATS or text not in ("nan", "-nan")]


# --- values -------------------------------------------------------------------------------------


def _key(kind: str) -> Callable[[str], Any]:
    """Give what makes a text of a type comparable."""
    if kind == "DOUBLE":
        return float
    if kind == "FLOAT":
        return lambda text: struct.unpack("f", struct.pack("f", float(text)))[0]
    if kind.startswith("DECIMAL") or kind.endswith(("INT", "INTEGER")):
        return Fraction
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return _moment
    if kind in ("TIME", "TIME_NS"):
        return _clock
    # UTF-8 keeps the order of code points.
    return str.encode


def _moment(text: str) -> tuple[Any, ...]:
    if text.endswith("infinity"):
        return (-1,) if text.startswith("-") else (1,)
    match = _STAMP.fullmatch(text)
    assert match is not None, text
    year, month, day, hour, minute, second = (int(match[n] or 0) for n in range(1, 7))
    if match[9]:
        year = 1 - year
    return (0, year, month, day, hour, minute, second, (match[7] or "").ljust(9, "0"))


def _clock(text: str) -> tuple[Any, ...]:
    match = _CLOCK.fullmatch(text)
    assert match is not None, text
    return (*map(int, match.group(1, 2, 3)), (match[4] or "").ljust(9, "0"))


def _same(one: str | None, other: str | None, key: Callable[[str], Any]) -> bool:
    if one is None or other is None:
        return one is other
    # NaN is one group.
    return one == other or bool(key(one) == key(other))


# --- conditions ---------------------------------------------------------------------------------


def _truth(predicate: dict[str, Any], row: Row, types: dict[str, str]) -> Truth:
    """Evaluate a published condition in SQL's three truth values; None is unknown."""
    kind = predicate["kind"]
    if kind == "not":
        inner = _truth(predicate["member"], row, types)
        return None if inner is None else not inner
    if kind in ("and", "or"):
        decides = bool(kind == "or")
        found = [_truth(member, row, types) for member in predicate["members"]]
        if decides in found:
            return decides
        return None if None in found else not decides
    text = row[predicate["column"]]
    if kind == "is-null":
        return text is None
    if text is None:
        return None
    if kind == "truth":
        return bool(text == "true")
    if kind == "like":
        return _like(text, predicate["pattern"], predicate["fold"])
    key = _key(types[predicate["column"]])
    if kind == "in":
        return key(text) in [key(value["text"]) for value in predicate["values"]]
    if kind == "column-comparison":
        other = row[predicate["other"]]
        return None if other is None else _compare(key(text), predicate["operator"], key(other))
    assert kind == "comparison", kind
    return _compare(key(text), predicate["operator"], key(predicate["value"]["text"]))


def _compare(left: Any, operator: str, right: Any) -> bool:
    order = int(left > right) - int(left < right)
    return {
        "=": order == 0,
        "<>": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def _like(text: str, pattern: str, fold: bool) -> bool:
    """Match a pattern: `%` any characters, `_` one, all others themselves; none escapes."""
    if fold:
        text, pattern = ("".join(c.lower()[0] for c in s) for s in (text, pattern))
    # reached[i]: the pattern so far can match the first i characters.
    reached = [True] + [False] * len(text)
    for sign in pattern:
        if sign == "%":
            first = next((i for i, yes in enumerate(reached) if yes), len(reached))
            reached = [i >= first for i in range(len(reached))]
        else:
            reached = [False] + [
                reached[i] and sign in ("_", character) for i, character in enumerate(text)
            ]
    return reached[-1]

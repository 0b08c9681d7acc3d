"""Is a released fact true? Judged from the published JSON and from the line, over the stored cells.

Written from the specification and the published grammar of a line alone; no reading, rule,
predicate or parser of the engine is used.

Invariants
  J1  A stored value stands in the labelled column; where its text tells its cell, in no other.
  J2  Facts of one row, where the release says so, are of one row of the table, and no table row
      stands behind two result rows.
  J3  A calculation is the one over exactly the rows that the group and the filter of the fact
      select; once as its JSON says, once as its line says. Three truth values.
  J4  A line says what its fact says.
  J5  The bound of a value that is not exact holds: in exact numbers, over the doubles themselves.
"""

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from eligibility import Release
from tools.soundness.tables import FLOATS, Column, Data, Path2, Stored, owners, value_of

Truth = bool | None
Rows = Sequence[int]


class Untrue(Exception):
    """A fact is not true, or cannot be understood; says why."""


class Judge:
    """Knows the stored cells of one data set."""

    def __init__(self, tables: tuple[Data, ...], *, tainted: bool) -> None:
        """Take a data set; `tainted` where every text stands in one cell only."""
        self.tables = {table.path: table for table in tables}
        self._named: dict[str, list[Data]] = {}
        for table in tables:
            self._named.setdefault(table.path[1].lower(), []).append(table)
        self._owners = {text: cell for text, *cell in owners(tables)} if tainted else {}
        self._selected: dict[tuple[Path2, str], Rows] = {}

    def faults(self, release: Release) -> list[str]:
        """Judge every fact of a release.

        Args:
            release: what the engine publishes.

        Returns:
            One sentence for every fact that is not true; empty for a sound release.
        """
        published = release.model_dump(mode="json")
        found = []
        behind: dict[int, set[int]] = {}
        for fact in published["facts"]:
            try:
                rows = self._judge(fact)
                if published["rows_are_table_rows"]:
                    if fact["label"]["kind"] != "column":
                        raise Untrue("a calculation is no cell of a table row")
                    behind[fact["row"]] = behind.get(fact["row"], rows) & rows
            except Untrue as untrue:
                found.append(f"{untrue}: {fact['text']}")
            except (KeyError, ValueError, TypeError, IndexError) as error:
                found.append(f"not understood, {error!r}: {fact['text']}")
        found += [
            f"no one table row behind result row {row}" for row, rows in behind.items() if not rows
        ]
        found += _twice(behind)
        self._selected.clear()
        return found

    def _judge(self, fact: dict[str, Any]) -> set[int]:
        """Judge one fact; gives the table rows that a stored value may stand in."""
        table = self.tables[tuple(fact["label"]["table"])]
        if fact["filter"]["kind"] not in ("none", "stated", "not-stated"):
            raise Untrue("no filter of a known kind")
        line = _Line(fact["text"], self)
        said = line.fact()
        label, value = fact["label"], fact["value"]["text"]
        if (said.table, said.column, said.calculation) != (
            table,
            label["column"],
            label["calculation"],
        ):
            raise Untrue("the line has another label than the fact")
        if value is None or said.row != (fact["row"] + 1 if label["kind"] == "column" else None):
            raise Untrue("the line has another row, or there is no value")
        if label["kind"] == "column":
            return self._stored(fact, table, said.value)
        self._calculated(fact, table, said)
        return set()

    # --- stored values ---

    def _stored(self, fact: dict[str, Any], table: Data, said: Stored) -> set[int]:
        column, text = table.by_name[fact["label"]["column"]], fact["value"]["text"]
        base = "BOOLEAN" if column.kind == "BOOLEAN" else column.base
        if fact["value"]["type"] != base:
            raise Untrue("the value has another type than the column")
        value = value_of(base, text)
        if said != value or not fact["exact"]:
            raise Untrue("the line has another value than the fact")
        owner = self._owners.get(text)
        if self._owners and column.kind != "BOOLEAN":
            if owner is None or tuple(owner[:2]) != (table.path, column.name):
                raise Untrue(f"the value is of {owner}")
        rows = set(column.rows_of(value))
        if fact["filter"]["kind"] == "stated":
            rows &= set(self._by_json(table, fact["filter"]["predicate"]))
        if not rows:
            raise Untrue("the column holds no such value")
        return rows

    # --- calculations ---

    def _calculated(self, fact: dict[str, Any], table: Data, said: "Said") -> None:
        kind, text = fact["filter"]["kind"], fact["value"]["text"]
        if kind == "not-stated":
            raise Untrue("a calculation over rows that are not stated")
        if (kind == "stated") != (said.filter is not None):
            raise Untrue("the line has a filter, or the fact")
        if said.exact != fact["exact"]:
            raise Untrue("the line and the fact are not equally exact")
        if (
            said.value != Fraction(text)
            if isinstance(said.value, Fraction)
            else _text(said) != text
        ):
            raise Untrue("the line has another value than the fact")
        rows: Rows = range(table.rows)
        if kind == "stated":
            rows = self._by_json(table, fact["filter"]["predicate"])
        for key in fact["group"]:
            column = table.by_name[key["column"]]
            cell = key["cell"]["text"]
            rows = _of_group(column, None if cell is None else value_of(column.base, cell), rows)
        self._agrees(fact["label"], table, rows, text, fact["exact"])
        self._bounded(fact, table.by_name.get(fact["label"]["column"] or ""), rows)
        rows = range(table.rows)
        if said.filter is not None:
            rows = self._by_line(table, *said.filter)
        for column, stored in said.group:
            rows = _of_group(column, stored, rows)
        if len(said.group) != len(fact["group"]):
            raise Untrue("the line has another group than the fact")
        self._agrees(fact["label"], table, rows, text, fact["exact"])

    def _agrees(
        self, label: dict[str, Any], table: Data, rows: Rows, text: str, exact: bool
    ) -> None:
        calculation = label["calculation"]
        if label["column"] is None:
            if calculation != "COUNT" or int(text) != len(rows) or not exact:
                raise Untrue(f"there are {len(rows)} rows")
            return
        column = table.by_name[label["column"]]
        stored = [column.values[row] for row in rows if column.values[row] is not None]
        if calculation == "COUNT":
            if int(text) != len(stored) or not exact:
                raise Untrue(f"there are {len(stored)} values")
            return
        if not stored:
            raise Untrue("there is no value")
        if calculation in ("MIN", "MAX"):
            numbers = [v for v in stored if v == v]  # NaN is above every number
            if calculation == "MAX" and len(numbers) < len(stored):
                raise Untrue("the greatest is NaN")
            best = (min if calculation == "MIN" else max)(numbers)  # type: ignore[type-var]
            if not exact or value_of(column.base, text) != best:
                raise Untrue(f"it is {best}")
            return
        if calculation not in ("SUM", "AVG"):
            raise Untrue(f"nothing recomputes {calculation}")
        self._sum_agrees(
            calculation, column, [v for v in stored if not isinstance(v, str)], text, exact
        )

    @staticmethod
    def _bounded(fact: dict[str, Any], column: Column | None, rows: Rows) -> None:
        """Judge the bound of a value by the rows that made it (J5)."""
        if fact["exact"] != ("bound" not in fact):
            raise Untrue("what is exact has a bound, or what is not has none")
        if fact["exact"] or column is None:
            return
        terms = [Fraction(v) for row in rows if (v := column.values[row]) is not None]
        true = sum(terms, Fraction())
        if fact["label"]["calculation"] == "AVG":
            true /= len(terms)
        stated, bound = Fraction(float(fact["value"]["text"])), Fraction(fact["bound"])
        if abs(stated - true) > bound:
            raise Untrue(f"it is {float(true)}, further away than the bound {fact['bound']}")
        if bound > abs(stated) / 10**6:
            raise Untrue("the bound is over a millionth of the value")

    @staticmethod
    def _sum_agrees(
        calculation: str, column: Column, stored: list[Any], text: str, exact: bool
    ) -> None:
        floats = column.base in FLOATS
        if floats and not all(map(math.isfinite, stored)):
            raise Untrue("a term is not finite")
        total = sum(map(Fraction, stored), Fraction())
        size = sum((abs(Fraction(value)) for value in stored), Fraction())
        if exact != (calculation == "SUM" and not floats):
            raise Untrue("exact says something else")
        if exact:
            if Fraction(text) != total:
                raise Untrue(f"it is {total}")
            return
        # n additions, each rounded once; an average is rounded twice more.
        bound = Fraction(len(stored) + 3, 2**52) * size
        if calculation == "AVG":
            total, bound = total / len(stored), bound / len(stored)
        if abs(Fraction(text) - total) > bound:
            raise Untrue(f"it is {float(total)}")

    # --- conditions ---

    def _by_json(self, table: Data, predicate: dict[str, Any]) -> Rows:
        key = (table.path, repr(predicate))
        if key not in self._selected:
            self._selected[key] = [
                row for row in range(table.rows) if _holds(predicate, table, row) is True
            ]
        return self._selected[key]

    def _by_line(self, table: Data, text: str, condition: "Condition") -> Rows:
        key = (table.path, text)
        if key not in self._selected:
            self._selected[key] = [
                row for row in range(table.rows) if condition(table, row) is True
            ]
        return self._selected[key]

    def named(self, parts: Sequence[str]) -> Data:
        """Find the one table that a line names."""
        if len(parts) == 2:
            return self.tables[parts[0], parts[1]]
        found = self._named[parts[0].lower()]
        if len(found) != 1 or found[0].path[1] != parts[0]:
            raise Untrue("the line names several tables")
        return found[0]


def _twice(behind: dict[int, set[int]]) -> Iterable[str]:
    """Say where one table row stands behind two result rows."""
    seen: dict[int, int] = {}
    for row, rows in behind.items():
        if len(rows) == 1:
            (stored,) = rows
            if stored in seen:
                yield f"result rows {seen[stored]} and {row} are one table row"
            seen[stored] = row


def _of_group(column: Column, key: Stored | None, rows: Rows) -> Rows:
    held = column.rows_of(key)
    return [row for row in rows if row in held]


def _text(said: "Said") -> str:
    return str(said.written)


# --- three truth values -------------------------------------------------------------------------


def negated(truth: Truth) -> Truth:
    """NOT."""
    return None if truth is None else not truth


def joined(truths: list[Truth], *, every: bool) -> Truth:
    """AND where `every`, else OR."""
    if (not every) in truths:
        return not every
    return None if None in truths else every


def compared(one: Any, operator: str, other: Any) -> Truth:
    """Compare two values; NULL makes it unknown."""
    if one is None or other is None:
        return None
    if one != one or other != other:
        raise Untrue("a comparison with NaN is not stated")
    truths: dict[str, bool] = {
        "=": one == other,
        "<>": one != other,
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }
    return truths[operator]


def _lowered(text: str) -> str:
    return "".join("i" if c == "\u0130" else c.lower() for c in text)


def matched(text: Stored | None, pattern: str, *, fold: bool) -> Truth:
    """LIKE, or ILIKE where `fold`: `%` and `_` and nothing else is special."""
    if text is None:
        return None
    assert isinstance(text, str)
    if fold:
        text, pattern = _lowered(text), _lowered(pattern)
    parts = {"%": ".*", "_": "."}
    expression = "".join(parts.get(c) or re.escape(c) for c in pattern)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def _holds(predicate: dict[str, Any], table: Data, row: int) -> Truth:
    """Evaluate a condition as the JSON of a fact gives it."""
    kind = predicate["kind"]
    if kind == "not":
        return negated(_holds(predicate["member"], table, row))
    if kind in ("and", "or"):
        return joined([_holds(m, table, row) for m in predicate["members"]], every=kind == "and")
    column = table.by_name[predicate["column"]]
    stored = column.values[row]

    def value(given: dict[str, str]) -> Stored:
        return value_of(column.base, given["text"])

    if kind == "comparison":
        return compared(stored, predicate["operator"], value(predicate["value"]))
    if kind == "column-comparison":
        other = table.by_name[predicate["other"]]
        if other.kind != column.kind:
            raise Untrue("columns of two types are compared")
        return compared(stored, predicate["operator"], other.values[row])
    if kind == "in":
        return joined([compared(stored, "=", value(v)) for v in predicate["values"]], every=False)
    if kind == "is-null":
        return column.texts[row] is None
    if kind == "like":
        return matched(stored, predicate["pattern"], fold=predicate["fold"])
    if kind == "truth" and column.kind == "BOOLEAN":
        return None if stored is None else bool(stored)
    raise Untrue(f"a condition of the kind {kind}")


# --- the line -----------------------------------------------------------------------------------


class Condition:
    """One condition of a line: callable on a table's row, knows the columns it may need."""

    def __init__(self, evaluate: Any) -> None:
        """Take a function of (table, row)."""
        self._evaluate = evaluate

    def __call__(self, table: Data, row: int) -> Truth:
        """Evaluate on one row."""
        truth: Truth = self._evaluate(table, row)
        return truth


class Said:
    """What a line says.

    Attributes:
        table, column, calculation: of what; column None for COUNT(*), calculation for a cell.
        value, written, exact: the value, as it is written, and whether behind ` = `.
        row: result row, from 1; None for a calculation.
        group: key columns with their values.
        filter: its text and its condition.
        noted: per note, the condition that may not hold where one of the columns is NULL.
    """

    def __init__(self) -> None:
        """Start empty; the line fills it in."""
        self.table: Data
        self.column: str | None = None
        self.calculation: str | None = None
        self.value: Stored
        self.written = ""
        self.exact = True
        self.row: int | None = None
        self.group: list[tuple[Column, Stored | None]] = []
        self.filter: tuple[str, Condition] | None = None


_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*|"(?:[^"]|"")*"')
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+(?:e[+-][0-9]+)?")
_ESCAPED = re.compile(r"\\(?:(\\)|u\{([0-9A-F]+)\})")
_NOTE = " (rows where it is NULL are not counted)"
_UNSEEN = re.compile("[\x00-\x1f\x7f-\xa0\u2028\u2029\u200b\ufeff]")


class _Line:
    """Reads a line from left to right, by the published grammar."""

    def __init__(self, text: str, judge: Judge) -> None:
        self._text, self._judge, self._at = text, judge, 0
        if _UNSEEN.search(text) or len(text) > 2_000:
            raise Untrue("a line with a character that is not seen, or too long")
        self._said = Said()
        self._notes: list[set[str]] = []

    def fact(self) -> Said:
        said = self._said
        called = next(
            (c for c in ("SUM", "AVG", "MIN", "MAX", "COUNT") if self._has(f"{c}(")), None
        )
        if called is None:
            self._stored()
        else:
            self._calculated(called)
        if self._at != len(self._text):
            raise Untrue(f"the line goes on at {self._at}")
        return said

    def _stored(self) -> None:
        said = self._said
        said.table, said.column = self._column()
        self._must(" = ")
        said.value = self._value(said.table.by_name[said.column])
        self._must(" in result row ")
        said.row = int(self._match(re.compile("[1-9][0-9]*")))

    def _calculated(self, calculation: str) -> None:
        said = self._said
        said.calculation = calculation
        if calculation == "COUNT" and self._has("*) of "):
            said.table = self._judge.named(self._names())
        else:
            said.table, said.column = self._column()
            self._must(")")
        said.exact = not self._has(" \u2248 ")
        if said.exact:
            self._must(" = ")
        start = self._at
        if self._text.startswith("'", start):
            said.value = said.written = self._quoted(_QUOTED)
        else:
            said.written = self._match(_NUMBER)
            said.value = Fraction(said.written)
        of_text = said.column is not None and said.table.by_name[said.column].kind == "VARCHAR"
        if self._has(" (text order)") != (of_text and calculation in ("MIN", "MAX")):
            raise Untrue("text order is said, or not")
        separator = " for "
        while self._has(separator):
            separator = ", "
            column = self._own_column()
            said.group.append((column, None if self._has(" IS NULL") else self._given(column)))
        if self._has(" where "):
            start = self._at
            condition = self._condition()
            said.filter = (self._text[start : self._at], condition)
            self._check_notes(said.table, condition)

    def _given(self, column: Column) -> Stored:
        self._must(" = ")
        return self._value(column)

    def _check_notes(self, table: Data, condition: Condition) -> None:
        for columns in self._notes:
            for row in range(table.rows):
                absent = any(table.by_name[name].texts[row] is None for name in columns)
                if absent and condition(table, row) is True:
                    raise Untrue("a row is counted of which the line says it is not")

    # --- conditions ---

    def _condition(self) -> Condition:
        if self._has("NOT ("):
            inner = self._condition()
            self._must(")")
            return Condition(lambda t, r: negated(inner(t, r)))
        if not self._has("("):
            return self._atom()
        members = [self._condition()]
        self._must(")")
        word = " AND (" if self._text.startswith(" AND (", self._at) else " OR ("
        while self._has(word):
            members.append(self._condition())
            self._must(")")
        if len(members) < 2:
            raise Untrue("one condition in parentheses")
        every = word == " AND ("
        return Condition(lambda t, r: joined([m(t, r) for m in members], every=every))

    def _atom(self) -> Condition:
        column = self._own_column()
        columns = {column.name}
        name = column.name
        operator = next((o for o in ("<>", "<=", ">=", "=", "<", ">") if self._has(f" {o} ")), None)
        if operator is not None:
            condition, other = self._comparison(column, operator)
            columns |= other
        elif self._has(" IN ("):
            values = [self._value(column)]
            while self._has(", "):
                values.append(self._value(column))
            self._must(")")
            condition = Condition(
                lambda t, r: joined(
                    [compared(t.by_name[name].values[r], "=", v) for v in values], every=False
                )
            )
        elif self._has(" IS NULL"):
            condition = Condition(lambda t, r: t.by_name[name].texts[r] is None)
        elif (fold := self._has(" ILIKE ")) or self._has(" LIKE "):
            pattern = self._quoted(_QUOTED)
            condition = Condition(
                lambda t, r: matched(t.by_name[name].values[r], pattern, fold=fold)
            )
        elif column.kind == "BOOLEAN":
            condition = Condition(lambda t, r: t.by_name[name].values[r])
        else:
            raise Untrue("a column that is no truth")
        if self._has(_NOTE):
            self._notes.append(columns)
        return condition

    def _comparison(self, column: Column, operator: str) -> tuple[Condition, set[str]]:
        name = column.name
        start = self._at
        if self._text[start] in "'-.0123456789" or self._text.startswith(("TRUE", "FALSE"), start):
            value = self._value(column)
            return Condition(
                lambda t, r: compared(t.by_name[name].values[r], operator, value)
            ), set()
        other = self._own_column()
        if other.kind != column.kind:
            raise Untrue("columns of two types are compared")
        return Condition(
            lambda t, r: compared(
                t.by_name[name].values[r], operator, t.by_name[other.name].values[r]
            )
        ), {other.name}

    # --- words ---

    def _own_column(self) -> Column:
        table, name = self._column()
        if table is not self._said.table:
            raise Untrue("a column of another table")
        return table.by_name[name]

    def _column(self) -> tuple[Data, str]:
        *table, name = self._names()
        return self._judge.named(table), name

    def _names(self) -> list[str]:
        names = [self._quoted(_NAME)]
        while self._has("."):
            names.append(self._quoted(_NAME))
        return names

    def _value(self, column: Column) -> Stored:
        if self._has("TRUE"):
            text = "true"
        elif self._has("FALSE"):
            text = "false"
        elif self._text.startswith("'", self._at):
            text = self._quoted(_QUOTED)
        else:
            text = self._match(_NUMBER)
        return value_of(column.base, text)

    def _quoted(self, form: re.Pattern[str]) -> str:
        written = self._match(form)
        if written[0] not in "'\"":
            return written
        quote, inner = written[0], written[1:-1]
        plain = inner.replace(quote * 2, quote)
        return _ESCAPED.sub(lambda m: m[1] or chr(int(m[2], 16)), plain)

    def _match(self, form: re.Pattern[str]) -> str:
        found = form.match(self._text, self._at)
        if found is None:
            raise Untrue(f"the line is not understood at {self._at}")
        self._at = found.end()
        return found[0]

    def _has(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _must(self, text: str) -> None:
        if not self._has(text):
            raise Untrue(f"the line is not understood at {self._at}")

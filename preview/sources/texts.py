# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""A table of texts as a query of values: delimited text and JSON alike (specification 4.1).

Invariants
  X1  Every text is looked at before a type is found, and again by its cast.
  X2  A text that is not exactly of the type that was asked for is an error with its line and
      column, and without its text.
  X3  What was given and what was found is told by column, and so is every doubt.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from queue import Queue
from threading import Event, Thread
from typing import TypeVar

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eligibility.sql.manifest import Doubt, TextColumn
from eligibility.sql.schema import casefold
from preview.errors import SourceError
from preview.sources.casts import Cast, date_cast, found_cast, given_cast, normal
from preview.sources.classes import PLAIN, Kind, NumberMarks, matches
from preview.sources.doubles import printed_as, rounded_doubles
from preview.sources.options import Marks, ReadOptions
from preview.sources.readable import ROWS, Reading, literal, name_form, quoted
from preview.sources.shapes import Finder, Looks

DOUBT_LINES_MAX = 5
NAMED_MAX = 20
_AHEAD = 2
_FETCHED = 1_000
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TextTable:
    """Columns of texts, which can be gone through more than once.

    Attributes:
        names: of the columns, by position.
        kinds: what their values are in the source.
        missing: how many records had no such value at all, by column.
        batches: gives the columns at some positions, or all, named by their position; always in
            the same batches, in order.
        line_of: the physical line on which a record, counted from 0, begins.
        parts: how many batches there are, as far as that is known.
        nulls_with: how many values of a column would be NULL if a text stood for it besides; None
            where no text can.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    missing: tuple[int, ...]
    batches: Callable[[Sequence[int] | None], Iterator[pa.RecordBatch]]
    line_of: Callable[[int], int]
    nulls_with: Callable[[int, str], int] | None = None
    parts: int = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for of one column."""

    type: str | None = None
    date_format: str | None = None
    marks: NumberMarks = PLAIN
    trim: bool = False
    given: tuple[str, ...] = ()


def _few(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Column:
    """What one column came to: how its texts are cast, and what it looks like besides."""

    cast: Cast
    looks: Looks | None
    seen: int
    finder: Finder | None


def asked_of(
    shown: str,
    names: Sequence[str],
    kinds: Sequence[Kind],
    options: ReadOptions,
    *,
    listed: bool = True,
) -> tuple[Asked, ...]:
    """Bring the options that are by column to the columns.

    Args:
        shown: how errors name the source.
        names: of the columns.
        kinds: what their values are.
        options: of the table.
        listed: whether an error may list the names; some may be cells that are taken for names.

    Returns:
        What is asked for, by position.

    Raises:
        SourceError: an option is for a column that is not there, or of no use.
    """
    places = {casefold(name): place for place, name in enumerate(names)}

    def placed(option: str, given: Marks) -> dict[int | None, str]:
        found: dict[int | None, str] = {}
        for name, value in given:
            if name is not None and casefold(name) not in places:
                known = f"; it has {_few(names)}" if listed else ""
                raise SourceError(f"{shown}: it has no column {name}, yet {option} names it{known}")
            found[None if name is None else places[casefold(name)]] = value
        return found

    types = placed("--type", options.types)
    formats = placed("--date-format", options.date_format)
    decimal = placed("--decimal", options.decimal)
    thousands = placed("--thousands", options.thousands)
    trim = placed("--trim", tuple((name, "") for name in options.trim))
    made = []
    for place, kind in enumerate(kinds):
        point = decimal.get(place, decimal.get(None, "."))
        groups = thousands.get(place, thousands.get(None))
        for mark in (point, groups):
            if mark is not None and not re.fullmatch(r"[^0-9A-Za-z\s+-]|\s", mark):
                raise SourceError(
                    f"{shown}: --decimal and --thousands take one character, as , or ."
                )
        if point == groups:
            raise SourceError(f"{shown}: --decimal and --thousands are the same character")
        marks = NumberMarks(point, groups) if kind == "text" else NumberMarks(bare_exponent=True)
        given = [
            name
            for name, found in (
                ("type", types),
                ("decimal", decimal),
                ("thousands", thousands),
                ("trim", trim),
                ("date_format", formats),
            )
            if place in found or None in found
        ]
        made.append(
            Asked(
                types.get(place),
                formats.get(place),
                marks,
                trim=place in trim or None in trim,
                given=tuple(given),
            )
        )
    return tuple(made)


class Texts:
    """A table of texts on its way to a query.

    Made in two steps, since whether the first record holds names may hang on what is found.
    """

    def __init__(
        self, shown: str, table: TextTable, asked: Sequence[Asked], reading: Reading
    ) -> None:
        """Take a table.

        Args:
            shown: how errors name it.
            table: the texts.
            asked: what is asked for, by position.
            reading: what it is read with.
        """
        self._shown, self._table, self.asked, self._reading = shown, table, asked, reading
        self._rounded = [0] * len(table.names)
        self._faults: list[SourceError] = []
        self.columns = self._found()

    # --- finding ---

    def _found(self) -> tuple[Column, ...]:
        finders = {
            place: Finder(kind, asked.marks)
            for place, (kind, asked) in enumerate(zip(self._table.kinds, self.asked, strict=True))
            if asked.type is None and asked.date_format is None
        }
        wanted = [place for place, finder in finders.items() if finder.kind != "nested"]
        if wanted:
            done = 0
            for batch in self._ahead(wanted):
                for place, texts in zip(wanted, batch.columns, strict=True):
                    finders[place].feed(texts)
                done += batch.num_rows
                self._reading.progress(f"finding the types of {self._shown}", done, None)
        return tuple(self._column(place, finders.get(place)) for place in range(len(self.asked)))

    def _column(self, place: int, finder: Finder | None) -> Column:
        asked, name = self.asked[place], self._table.names[place]
        connection = self._reading.connection
        if asked.date_format is not None:
            given = asked.type and str(connection.sqltype(asked.type))
            return Column(date_cast(self._shown, name, asked.date_format, given), None, 0, None)
        if asked.type is not None:
            cast = given_cast(connection, self._shown, name, asked.type, asked.marks)
            return Column(cast, None, 0, None)
        assert finder is not None  # it is asked for, or found
        found = finder.found(lambda: self._is_inexact(place, asked.marks))
        return Column(found_cast(found.type, asked.marks), found.doubt, finder.seen, finder)

    def _is_inexact(self, place: int, marks: NumberMarks) -> bool:
        """Say whether some numeral of a column is not exactly a double (specification 4.1)."""
        printed = False
        for batch in self._ahead([place]):
            for text in rounded_doubles(marks.normal(batch.column(0).drop_null())).to_pylist():
                if not printed_as(text):
                    return True
                printed = True
        return printed and self._share_doubles(place, marks)

    def _share_doubles(self, place: int, marks: NumberMarks) -> bool:
        """Say whether two different numerals are one double."""
        numeral = normal("DOUBLE", marks).format('"0"')
        with self._registered([place]) as connection:
            connection.execute(
                f'SELECT list(DISTINCT {numeral}) FROM {ROWS} WHERE "0" IS NOT NULL '
                f"GROUP BY CAST({numeral} AS DOUBLE) HAVING min({numeral}) <> max({numeral})"
            )
            while rows := connection.fetchmany(_FETCHED):
                if any(len(set(map(Decimal, texts))) > 1 for (texts,) in rows):
                    return True
        return False

    @contextmanager
    def _registered(self, places: Sequence[int]) -> Iterator[duckdb.DuckDBPyConnection]:
        schema = pa.schema([(str(number), pa.string()) for number in range(len(places))])
        batches = (
            pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            for batch in self._ahead(places)
        )
        connection = self._reading.connection
        connection.register(ROWS, pa.RecordBatchReader.from_batches(schema, batches))
        try:
            yield connection
        finally:
            connection.unregister(ROWS)

    def takes(self, column: Column, text: str | None) -> bool:
        """Say whether a text is exactly of the type that was asked for of a column."""
        if text is None or column.cast.type == "VARCHAR":
            return True
        asked = f"SELECT {column.cast.fault('given')} FROM (SELECT {literal(text)} AS given)"
        return self._reading.connection.execute(asked).fetchall() == [(False,)]

    # --- reading ---

    @contextmanager
    def query(self) -> Iterator[str]:
        """Give a query for the values while the context lasts; it raises where one is not exact."""
        schema = pa.schema([(str(place), pa.string()) for place in range(len(self.asked))])
        self._reading.connection.register(
            ROWS, pa.RecordBatchReader.from_batches(schema, self._counted())
        )
        values = ", ".join(
            f"{column.cast.expression(quoted(str(place)))} AS {quoted(name)}"
            for place, (column, name) in enumerate(
                zip(self.columns, self._table.names, strict=True)
            )
        )
        try:
            yield f"SELECT {values} FROM {ROWS}"
        finally:
            self._reading.connection.unregister(ROWS)

    def _counted(self) -> Iterator[pa.RecordBatch]:
        """Give all texts; on the way, count what a float is only the nearest value of."""
        given = [
            place
            for place, (column, asked) in enumerate(zip(self.columns, self.asked, strict=True))
            if column.cast.type in ("DOUBLE", "FLOAT") and asked.type is not None
        ]
        try:
            for batch in self._ahead(None):
                for place in given:
                    self.count(place, batch.column(place))
                yield batch
        except SourceError as error:
            self._faults.append(error)

    def count(self, place: int, texts: pa.Array) -> None:
        """Count the numerals of a column that a float is only the nearest value of."""
        texts = self.asked[place].marks.normal(texts.drop_null())
        form = self.columns[place].cast.form
        if form is not None:
            texts = texts.filter(matches(texts, form))
        single = self.columns[place].cast.type == "FLOAT"
        self._rounded[place] += len(rounded_doubles(texts, single=single))

    def _ahead(self, places: Sequence[int] | None) -> Iterator[pa.RecordBatch]:
        batches = self._table.batches(places)
        return batches if self._table.parts <= 1 else ahead(batches, _AHEAD)

    def fault(self, error: duckdb.Error) -> SourceError | None:
        """Find the first text that is not exactly of its column's type (X2)."""
        if self._faults:
            return self._faults[0]
        checks = [
            (place, column.cast)
            for place, column in enumerate(self.columns)
            if column.cast.type != "VARCHAR"
        ]
        if not checks:
            return None
        record = 0
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            conditions = ", ".join(
                f"min(place) FILTER ({cast.fault(quoted(str(number)))})"
                for number, (_, cast) in enumerate(checks)
            )
            for batch in self._table.batches([place for place, _ in checks]):
                arrays = [*batch.columns, pa.array(range(batch.num_rows), pa.int64())]
                names = [*map(str, range(len(checks))), "place"]
                connection.register("texts", pa.table(arrays, names=names))
                found = connection.execute(f"SELECT {conditions} FROM texts").fetchall()[0]
                bad = [
                    (place, *check)
                    for place, check in zip(found, checks, strict=True)
                    if place is not None
                ]
                if bad:
                    place, column, cast = min(bad, key=lambda one: one[:2])
                    return self._inexact(record + place, column, cast)
                record += batch.num_rows
        return None

    def _inexact(self, record: int, place: int, cast: Cast) -> SourceError:
        name, line = self._table.names[place], self._table.line_of(record)
        asked = self.asked[place]
        wrong = "--date-format" if asked.date_format is not None else "--type"
        return SourceError(
            f"{self._shown}: line {line:,}, column {name}: the text is not exactly of the type "
            f"{cast.type}; give the column another {wrong}"
        )

    # --- telling ---

    def told(self, given_names: Sequence[bool]) -> tuple[tuple[TextColumn, ...], tuple[Doubt, ...]]:
        """Say what was decided, once the query has run to its end (X3).

        Args:
            given_names: whether the name of a column was given, by position.

        Returns:
            The columns and the doubts.

        Raises:
            SourceError: the texts could not be read to the end.
        """
        if self._faults:
            raise self._faults[0]
        columns = tuple(
            TextColumn(
                name=name,
                type=column.cast.type,
                decimal=asked.marks.decimal,
                thousands=asked.marks.thousands,
                trim=asked.trim,
                date_format=asked.date_format,
                rounded=rounded,
                missing=missing,
                given=("name", *asked.given) if named else asked.given,
            )
            for name, column, asked, rounded, missing, named in zip(
                self._table.names,
                self.columns,
                self.asked,
                self._rounded,
                self._table.missing,
                given_names,
                strict=True,
            )
        )
        doubts = tuple(
            self._doubt(place, column.looks, column)
            for place, column in enumerate(self.columns)
            if column.looks is not None
        )
        return columns, doubts

    def _doubt(self, place: int, looks: Looks, column: Column) -> Doubt:
        code: str = looks.code
        ways = (looks.options, *looks.others)
        lines: tuple[int, ...] = ()
        if looks.classes and column.finder is not None and looks.values < column.seen:
            lines, alone = self._exceptions(place, looks, column.finder)
            others = column.seen - looks.values
            if alone is not None and self._table.nulls_with is not None:
                before = self._table.nulls_with(place, "")
                if self._table.nulls_with(place, alone) - before == others:
                    code, ways = "one-text-for-null", ((("--null", ""),),)
        return Doubt(
            code=code,  # type: ignore[arg-type]
            column=self._table.names[place],
            values=looks.values,
            of=column.seen,
            type=looks.type,
            lines=lines,
            option=" or ".join(
                " ".join(self._pasted(place, *option) for option in options) for options in ways
            ),
        )

    def _pasted(self, place: int, option: str, value: str) -> str:
        if option == "--null":
            return "--null with the text of that line"
        target = f"{self._reading.table}.{name_form(self._table.names[place])}"
        return f"{option} {shlex.quote(f'{target}={value}' if value else target)}"

    def _exceptions(
        self, place: int, looks: Looks, finder: Finder
    ) -> tuple[tuple[int, ...], str | None]:
        """Give the lines of the first few values that look otherwise, and their one text."""
        records: list[int] = []
        distinct: set[str] = set()
        start = 0
        for batch in self._ahead([place]):
            texts = batch.column(0)
            other = pc.fill_null(pc.invert(finder.are(texts, looks.classes)), fill_value=False)
            if pc.any(other).as_py():
                places = pc.indices_nonzero(other).to_pylist()
                records += [start + one for one in places[: DOUBT_LINES_MAX - len(records)]]
                if len(distinct) < 2:
                    distinct |= set(pc.unique(texts.filter(other)).slice(0, 2).to_pylist())
            start += batch.num_rows
        lines = tuple(self._table.line_of(record) for record in records)
        (alone,) = distinct if len(distinct) == 1 else (None,)
        return (lines[:1] if alone is not None else lines), alone


def ahead(items: Iterator[_Item], depth: int) -> Iterator[_Item]:
    """Make items in another thread, a few ahead of who takes them.

    Args:
        items: made one after the other.
        depth: how many are made ahead.

    Yields:
        The items, in order; what making them raises is raised here.
    """
    made: Queue[tuple[bool, _Item | BaseException | None]] = Queue(depth)
    ended = Event()

    def make() -> None:
        try:
            for item in items:
                if ended.is_set():
                    return
                made.put((True, item))
            made.put((False, None))
        except BaseException as error:  # noqa: BLE001 - it is raised where items are taken
            made.put((False, error))

    thread = Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            more, item = made.get()
            if more:
                yield item  # type: ignore[misc]
            elif item is None:
                return
            else:
                raise item  # type: ignore[misc]
    finally:
        ended.set()
        while thread.is_alive():
            while not made.empty():
                made.get_nowait()
            thread.join(0.01)

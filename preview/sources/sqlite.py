# ruff: noqa: S608 - names enter SQL quoted, and in no other way
"""A table of an SQLite database (specification 9).

Its columns have no types: what is declared binds no value, and is not looked at.

Invariants
  S1  What is read is a copy of the held file, so that no log beside it and no other process has
      a say; a database with a log that is not empty is refused.
  S2  A column holds values of one kind, or its type is given. Integers are BIGINT, reals DOUBLE,
      blobs BLOB, and texts follow the rule for texts.
  S3  Rows come in the order of the table's own key, whatever indexes there are.
"""

import shlex
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from eligibility.sql.manifest import SqliteOrigin, TypedColumn, TypedDialect
from eligibility.sql.schema import casefold
from preview.errors import SourceError
from preview.sources.classes import Kind
from preview.sources.files import reading as reading_file
from preview.sources.readable import (
    ROWS,
    Readable,
    Reading,
    Told,
    check_names,
    name_form,
    quoted,
)
from preview.sources.source import Source
from preview.sources.texts import Texts, TextTable, asked_of

_BATCH_ROWS = 8_192
_COLUMNS_AT_ONCE = 100  # a row of a result has at most 2,000 columns
_BLANKS = " \t"
_KINDS = ("integer", "real", "text", "blob")
_NATIVE: dict[str, tuple[str, pa.DataType]] = {
    "integer": ("BIGINT", pa.int64()),
    "real": ("DOUBLE", pa.float64()),
    "blob": ("BLOB", pa.binary()),
}


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    copy = _copied(source, reading)
    with _reading(source.shown):
        table = _Table.found(source, copy)
        kinds = table.kinds(reading)
    asked = asked_of(source.shown, table.names, _all_texts(kinds), source.options)
    texts: list[int] = []
    for place, (name, found) in enumerate(zip(table.names, kinds, strict=True)):
        # A number that was declared as a decimal is an integer where it has no fraction.
        type_ = "DOUBLE" if found == ("integer", "real") else "VARCHAR"
        settle = f"--type {shlex.quote(f'{reading.table}.{name_form(name)}={type_}')}"
        typed = asked[place].type is not None or asked[place].date_format is not None
        if "blob" in found and (typed or len(found) > 1):
            raise SourceError(
                f"{source.shown}: column {name} holds {' and '.join(found)} values, and a blob is "
                "no text; make them of one kind in the database"
            )
        if len(found) > 1 and not typed:
            raise SourceError(
                f"{source.shown}: column {name} holds {' and '.join(found)} values; give it a "
                f"type, as in {settle}"
            )
        if typed or found in ((), ("text",)):
            texts.append(place)
    trimmed = {place for place in texts if asked[place].trim}
    made = Texts(
        source.shown,
        TextTable(
            names=tuple(table.names[place] for place in texts),
            kinds=_all_texts(texts),
            missing=(0,) * len(texts),
            batches=lambda places: table.texts(
                texts if places is None else [texts[place] for place in places], trimmed
            ),
            line_of=lambda record: record + 1,
        ),
        [asked[place] for place in texts],
        reading,
    )
    yield from _registered(table, kinds, texts, trimmed, made, reading)


def _all_texts(columns: Sequence[object]) -> tuple[Kind, ...]:
    return tuple("text" for _ in columns)


@contextmanager
def _reading(shown: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error:
        raise SourceError(f"{shown}: it is damaged, or no SQLite database") from None


def _copied(source: Source, reading: Reading) -> Path:
    (file,) = source.files
    for suffix, cure in (
        ("-wal", "close it everywhere, or run PRAGMA wal_checkpoint(TRUNCATE) in it first"),
        ("-journal", "open it once in sqlite3, which rolls back what was not finished"),
    ):
        # The log of a file lies beside the file itself, not beside a link to it.
        log = file.resolve()
        log = log.with_name(log.name + suffix)
        with reading_file(log.name):
            if log.exists() and log.stat().st_size:
                raise SourceError(f"{source.shown}: it has a log, {log.name}; {cure}")
    copy = reading.folder / "copy"
    with reading_file(source.shown):
        shutil.copyfile(reading.opened(file), copy)
    return copy


def _registered(
    table: "_Table",
    kinds: Sequence[tuple[str, ...]],
    texts: Sequence[int],
    trimmed: set[int],
    made: Texts,
    reading: Reading,
) -> Iterator[Readable]:
    faults: list[SourceError] = []
    native = {
        place: _NATIVE[found[0]] for place, found in enumerate(kinds) if place not in set(texts)
    }
    fields = [
        (str(place), native[place][1] if place in native else pa.string())
        for place in range(len(kinds))
    ]
    counted = [
        (number, place)
        for number, place in enumerate(texts)
        if made.asked[number].type is not None
        and made.columns[number].cast.type in ("DOUBLE", "FLOAT")
    ]

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in table.values(dict(fields), set(texts), trimmed):
                for number, place in counted:
                    made.count(number, batch.column(place))
                yield batch
        except SourceError as error:
            faults.append(error)
            raise

    expressions = {
        place: made.columns[number].cast.expression(quoted(str(place)))
        for number, place in enumerate(texts)
    }
    listed = ", ".join(
        f"{expressions.get(place, quoted(str(place)))} AS {quoted(name)}"
        for place, name in enumerate(table.names)
    )
    dialect_columns = tuple(
        TypedColumn(name=table.names[place], source_type=kinds[place][0], type=kind)
        for place, (kind, _) in native.items()
    )

    def told() -> Told:
        columns, doubts = made.told([False] * len(texts))
        dialect = TypedDialect(columns=dialect_columns, texts=columns)
        return Told(dialect, doubts, SqliteOrigin(sqlite=sqlite3.sqlite_version))

    reading.connection.register(
        ROWS, pa.RecordBatchReader.from_batches(pa.schema(fields), batches())
    )
    try:
        yield Readable(
            f"SELECT {listed} FROM {ROWS}",
            told,
            lambda error: faults[0] if faults else made.fault(error),
        )
    finally:
        reading.connection.unregister(ROWS)


@dataclass(frozen=True, slots=True)
class _Table:
    """A stored table of a database file that nothing else has open."""

    shown: str
    copy: Path
    name: str
    names: tuple[str, ...]
    encoding: str

    @classmethod
    def found(cls, source: Source, copy: Path) -> "_Table":
        """Find a table by its name, in which ASCII case does not count."""
        shown = source.shown
        with closing(_opened(copy)) as database:
            relations = [
                (kind, name, root)
                for kind, name, root in database.execute(
                    "SELECT type, name, rootpage FROM sqlite_master WHERE type IN ('table', 'view')"
                )
                if casefold(name) == casefold(source.table or "")
            ]
            if not relations:
                raise SourceError(f"{shown}: it has no table of the name {source.table}")
            ((kind, name, root),) = relations
            if kind == "view" or not root:
                what = "a view" if kind == "view" else "a virtual table"
                raise SourceError(f"{shown}: {name} is {what}, and only stored tables are pinned")
            names = []
            for column, hidden in database.execute(
                "SELECT name, hidden FROM pragma_table_xinfo(?) ORDER BY cid", [name]
            ):
                if hidden:
                    raise SourceError(
                        f"{shown}: column {column} of {name} is generated, not stored"
                    )
                names.append(column)
            ((encoding,),) = database.execute("PRAGMA encoding").fetchall()
        check_names(shown, names)
        return cls(shown, copy, name, tuple(names), encoding)

    def kinds(self, reading: Reading) -> list[tuple[str, ...]]:
        """Give the kinds of values that each column holds."""
        reading.progress(f"finding the types of {self.shown}", 0, None)
        found: list[tuple[str, ...]] = []
        for start in range(0, len(self.names), _COLUMNS_AT_ONCE):
            names = self.names[start : start + _COLUMNS_AT_ONCE]
            asked = ", ".join(
                f"max(typeof({quoted(name)}) = '{kind}')" for name in names for kind in _KINDS
            )
            with closing(_opened(self.copy)) as database:
                ((*held,),) = database.execute(
                    f"SELECT {asked} FROM {quoted(self.name)} NOT INDEXED"
                )
            for place in range(0, len(held), len(_KINDS)):
                here = zip(_KINDS, held[place : place + len(_KINDS)], strict=True)
                found.append(tuple(kind for kind, one in here if one))
        return found

    def _columns(self, places: Sequence[int]) -> Iterator[list[Sequence[Any]]]:
        """Give the values of some columns in batches; a text is its bytes (S3)."""
        # As bytes, or a text of a damaged or UTF-16 database would be mended silently.
        asked = ", ".join(
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in (quoted(self.names[place]) for place in places)
        )
        with _reading(self.shown), closing(_opened(self.copy)) as database:
            cursor = database.execute(f"SELECT {asked} FROM {quoted(self.name)} NOT INDEXED")
            while rows := cursor.fetchmany(_BATCH_ROWS):
                yield list(zip(*rows, strict=True))

    def texts(self, places: Sequence[int], trimmed: set[int]) -> Iterator[pa.RecordBatch]:
        """Give the values of some columns as texts."""
        for columns in self._columns(places):
            arrays = [
                self._texts(place, values, place in trimmed)
                for place, values in zip(places, columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(map(str, places)))

    def values(
        self, kinds: dict[str, pa.DataType], texts: set[int], trimmed: set[int]
    ) -> Iterator[pa.RecordBatch]:
        """Give all columns."""
        schema = pa.schema(list(kinds.items()))
        for columns in self._columns(range(len(self.names))):
            arrays = [
                self._texts(place, values, place in trimmed)
                if place in texts
                else pa.array(values, field.type)
                for place, (values, field) in enumerate(zip(columns, schema, strict=True))
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _texts(self, place: int, values: Sequence[Any], trimmed: bool) -> pa.Array:
        try:
            if self.encoding == "UTF-8" and not trimmed:
                plain = [
                    v if v is None or isinstance(v, bytes) else repr(v).encode() for v in values
                ]
                # Checked here: the engine takes its word.
                return pa.array(plain, pa.binary()).cast(pa.string())
            texts = [
                v.decode(self.encoding) if isinstance(v, bytes) else v if v is None else repr(v)
                for v in values
            ]
        except (UnicodeDecodeError, pa.ArrowInvalid):
            raise SourceError(
                f"{self.shown}: column {self.names[place]} holds a text that is not "
                f"{self.encoding}; mend it in the database, or store it as a blob"
            ) from None
        if trimmed:
            texts = [text and text.strip(_BLANKS) for text in texts]
        return pa.array(texts, pa.string())


def _opened(copy: Path) -> sqlite3.Connection:
    # A view or an index cannot make it run a function; no schema is trusted.
    database = sqlite3.connect(
        f"{copy.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
    )
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    return database

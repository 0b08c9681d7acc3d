# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""A table of a PostgreSQL server (specification 9).

Invariants
  G1  A value is taken as the binary form that Arrow has for it, or as the server's own text; the
      engine's text of what was made of it must be that text again, or it is an error.
  G2  A type that is not listed is refused by its name, unless its text is asked for.
  G3  Rows come in the order of the primary key, else in that in which they lie in the table.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from eligibility.sql.manifest import PostgresOrigin, TypedColumn, TypedDialect
from eligibility.sql.schema import casefold
from preview.errors import SourceError
from preview.sources.lake import refused
from preview.sources.postgres_server import Server, Table, connected, failed
from preview.sources.readable import (
    ROWS,
    Readable,
    Reading,
    Told,
    check_names,
    literal,
    name_form,
    quoted,
)
from preview.sources.source import Source

# Arrow carries these as they are.
_BINARY = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bytea": "BLOB",
}
# The blanks at the end of a char(n) are no part of its value: the server's text has none.
_TEXT = frozenset({"text", "varchar", "bpchar", "name"})
# These come as the server's text, which the engine reads.
_READ = {
    "date": "DATE",
    "time": "TIME",
    "timetz": "TIME WITH TIME ZONE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "uuid": "UUID",
    "json": "JSON",
    "jsonb": "JSON",
    "bit": "BIT",
    "varbit": "BIT",
}
_DIGITS_MAX = 38
_SHORT_DIGITS = 18


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    same = [
        one.table or ""
        for one in reading.together
        if one.format == "postgresql" and one.service == source.service
    ]
    server = reading.lasting.once(("postgresql", source.service), lambda: connected(source, same))
    table = server.table(source)
    columns = _columns(source, server, table, reading)
    asked = ", ".join(column.asked for column in columns)
    query = f"SELECT {asked} FROM {table.path} ORDER BY {_order(server, table)}"
    listed = ", ".join(
        f"{column.made(place)} AS {quoted(column.name)}" for place, column in enumerate(columns)
    )
    dialect = TypedDialect(
        columns=tuple(
            TypedColumn(name=column.name, source_type=column.source_type, type=column.type)
            for column in columns
        )
    )
    origin = PostgresOrigin(server=server.version, snapshot=server.snapshot)
    with server.rows(query) as (schema, batches):
        faults: list[SourceError] = []
        names = [str(place) for place in range(len(columns))]
        schema = pa.schema([(name, field.type) for name, field in zip(names, schema, strict=True)])

        def checked() -> Iterator[pa.RecordBatch]:
            try:
                for batch in batches:
                    batch.validate(full=True)
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            except pa.ArrowInvalid:
                said = "it holds a text that is not UTF-8; give the database an encoding"
                faults.append(SourceError(f"{source.shown}: {said}"))
            except Exception as error:  # noqa: BLE001 - a driver's error can quote a value
                faults.append(failed(source.shown, error))

        def fault(error: duckdb.Error) -> SourceError | None:
            place = re.search("source column ([0-9]+)", str(error))
            if faults or place is None:
                return faults[0] if faults else None
            column = columns[int(place[1])]
            return refused(
                source.shown,
                f"column {column.name} ({column.source_type}) holds a value that the type "
                f"{column.type} does not",
                f"pin its text by {_as_text(reading, column.name)}",
            )

        def told() -> Told:
            if faults:
                raise faults[0]
            return Told(dialect, origin=origin)

        reading.connection.register(ROWS, pa.RecordBatchReader.from_batches(schema, checked()))
        try:
            yield Readable(f"SELECT {listed} FROM {ROWS}", told, fault)
        finally:
            reading.connection.unregister(ROWS)


# --- the table ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """How a column is asked for, and what is made of it.

    Attributes:
        name: of it.
        source_type: as the server writes it.
        type: the DuckDB type.
        asked: the server's SQL for its values.
        text: the engine's SQL for the text that is cast; None where there is no cast.
        same: the engine's SQL that brings its own text and that one to one form.
    """

    name: str
    source_type: str
    type: str
    asked: str
    text: str | None = None
    same: str = "{}"

    def made(self, place: int) -> str:
        """Give the engine's SQL for the value of this column (G1)."""
        given = quoted(str(place))
        if self.text is None:
            return given
        text = self.text.format(given)
        value = f"TRY_CAST({text} AS {self.type})"
        back = self.same.format(f"CAST({value} AS VARCHAR)")
        return (
            f"CASE WHEN {given} IS NULL THEN NULL WHEN {back} = {self.same.format(text)} "
            f"THEN {value} ELSE error('source column {place}') END"
        )


_DAY_BC = r"regexp_replace({}, '^(\S+) BC$', '\1 (BC)')"
_MOMENT_BC = r"regexp_replace({}, '^(\S+) (.+) BC$', '\1 (BC) \2')"
# The engine says `months`, and takes no plus sign.
_SPAN = r"regexp_replace({}, '(year|mon|day)(th)?s?', '\1', 'g')"
_TRIMMED = (
    r"coalesce(nullif(regexp_replace(CASE WHEN contains({0}, '.') "
    r"THEN rtrim(rtrim({0}, '0'), '.') ELSE {0} END, '^(-?)0?\.', '\1.'), ''), '0')"
)
_TEXTS = {
    "date": _DAY_BC,
    "timestamp": _MOMENT_BC,
    "timestamptz": _MOMENT_BC,
    "interval": "replace({}, '+', '')",
}


def _columns(source: Source, server: Server, table: Table, reading: Reading) -> tuple[_Column, ...]:
    attributes = server.ask(
        "SELECT attname::text, atttypid::int8, atttypmod::int8, "
        "format_type(atttypid, atttypmod), attgenerated::text FROM pg_attribute "
        f"WHERE attrelid = {table.oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    check_names(source.shown, [name for name, *_ in attributes])
    texts = _given(source, [name for name, *_ in attributes], reading)
    columns = []
    for name, kind, modifier, shown_type, generated in attributes:
        if generated == "v":
            what = f"column {name} is generated, not stored"
            raise refused(source.shown, what, "store it, or prepare it by @FILE.sql")
        base = _base(server, kind, modifier)
        if casefold(name) in texts:
            columns.append(_Column(name, shown_type, "VARCHAR", _printed(quoted(name), base)))
        else:
            columns.append(_column(source, server, table, reading, name, shown_type, base))
    return tuple(columns)


def _given(source: Source, names: Sequence[str], reading: Reading) -> set[str]:
    """Give the columns whose texts are asked for."""
    texts = set()
    for name, kind in source.options.types:
        if casefold(name) not in map(casefold, names):
            raise refused(source.shown, f"it has no column {name}", "see --type")
        try:
            is_text = str(reading.connection.sqltype(kind)) == "VARCHAR"
        except duckdb.Error:
            is_text = False
        if not is_text:
            what = f"column {name} has a type of its own, and its text is all else there is"
            raise refused(source.shown, what, f"leave --type out, or say {_as_text(reading, name)}")
        texts.add(casefold(name))
    return texts


def _as_text(reading: Reading, name: str) -> str:
    return f"--type {shlex.quote(f'{reading.table}.{name_form(name)}=VARCHAR')}"


@dataclass(frozen=True, slots=True)
class _Base:
    """The type that a domain is made from, or a type that is no domain."""

    oid: int
    name: str
    schema: str
    is_enum: bool
    modifier: int


def _base(server: Server, oid: int, modifier: int) -> _Base:
    while True:
        ((name, form, inner, inner_modifier, schema),) = server.ask(
            "SELECT typname::text, typtype::text, typbasetype::int8, typtypmod::int8, "
            f"typnamespace::regnamespace::text FROM pg_type WHERE oid = {oid}"
        )
        if form != "d":
            return _Base(oid, name, schema, form == "e", modifier)
        oid, modifier = inner, inner_modifier if modifier < 0 else modifier


def _printed(quoted_name: str, base: _Base) -> str:
    """Give the server's SQL for the text that it prints of a value."""
    if base.name in ("bool", *_TEXT):
        return f"{quoted_name}::text"
    # A cast may add to what is printed, as the length of a network's mask.
    return f"CASE WHEN {quoted_name} IS DISTINCT FROM NULL THEN format('%s', {quoted_name}) END"


def _column(
    source: Source,
    server: Server,
    table: Table,
    reading: Reading,
    name: str,
    shown_type: str,
    base: _Base,
) -> _Column:
    quoted_name = quoted(name)
    if base.is_enum:
        members = server.ask(
            f"SELECT enumlabel::text FROM pg_enum WHERE enumtypid = {base.oid} ORDER BY enumsortorder"
        )
        if members:
            listed = ", ".join(literal(member) for (member,) in members)
            return _Column(name, shown_type, f"ENUM({listed})", f"{quoted_name}::text", "{}")
    elif base.schema == "pg_catalog":
        if base.name in _BINARY:
            return _Column(name, shown_type, _BINARY[base.name], quoted_name)
        if base.name in _TEXT:
            return _Column(name, shown_type, "VARCHAR", f"{quoted_name}::text")
        if base.name in _READ:
            same = _SPAN if base.name == "interval" else "{}"
            text = _TEXTS.get(base.name, "{}")
            return _Column(name, shown_type, _READ[base.name], f"{quoted_name}::text", text, same)
        if base.name == "numeric":
            size = _size(server, table, quoted_name, base.modifier)
            if size is not None:
                decimal = f"DECIMAL({size[0]},{size[1]})"
                return _Column(name, shown_type, decimal, f"{quoted_name}::text", "{}", _TRIMMED)
            what = (
                f"column {name} ({shown_type}) has numbers of more than {_DIGITS_MAX} digits at "
                "one scale"
            )
            raise refused(source.shown, what, f"pin its text by {_as_text(reading, name)}")
    raise refused(
        source.shown,
        f"column {name} has the type {shown_type}, which has no exact form here",
        f"pin its text by {_as_text(reading, name)}",
    )


def _size(server: Server, table: Table, quoted_name: str, modifier: int) -> tuple[int, int] | None:
    """Give precision and scale that hold all numbers of a column; None where none do."""
    if modifier >= 0:
        precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
        scale = scale - 0x800 if scale >= 0x400 else scale  # signed, in 11 bits
        digits, scale = max(precision - scale, 0), max(scale, 0)
        precision = max(precision, digits + scale, scale)
        return (precision, scale) if precision <= _DIGITS_MAX else None
    # One that is no number has no scale; its value is refused when it is read.
    ((scale, digits),) = server.ask(
        f"SELECT coalesce(max(scale({quoted_name})), 0)::int8, coalesce(max(length("
        f"trunc(abs({quoted_name}))::text)) FILTER (WHERE abs({quoted_name}) >= 1 "
        f"AND scale({quoted_name}) IS NOT NULL), 0)::int8 FROM {table.path}"
    )
    if digits + scale > _DIGITS_MAX:
        return None
    return (_SHORT_DIGITS if digits + scale <= _SHORT_DIGITS else _DIGITS_MAX), scale


def _order(server: Server, table: Table) -> str:
    """Give the order of the rows (G3)."""
    key = server.ask(
        "SELECT attname::text, attcollation <> 0 FROM pg_index, "
        "unnest(indkey::int2[]) WITH ORDINALITY AS part(number, place), pg_attribute "
        f"WHERE indrelid = {table.oid} AND indisprimary AND attrelid = {table.oid} "
        "AND attnum = part.number ORDER BY part.place"
    )
    if not key:
        return "tableoid, ctid"
    # Whatever the server's locale: the order of the texts' bytes.
    return ", ".join(quoted(name) + (' COLLATE "C"' if is_text else "") for name, is_text in key)

# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""Arrow files and tables in memory (specification 4.1).

Invariants
  B1  Each batch is looked at before the engine gets it: what the engine would make less of is an
      error that names its column.
  B2  A column of an extension type is kept as what the engine reads, and that is recorded.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eligibility.sql.manifest import TypedColumn, TypedDialect
from preview.errors import SourceError
from preview.sources.files import reading as reading_file
from preview.sources.readable import (
    ROWS,
    Readable,
    Reading,
    Told,
    check_fields,
    check_names,
    columns_of,
    extension_of,
    quoted,
    rows_of,
)
from preview.sources.source import Source


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make Arrow rows readable by SQL; see `preview.sources.kinds.readable`."""
    with _arrow(source, reading) as (schema, batches):
        yield from _registered(source, reading, schema, batches)


@contextmanager
def _arrow(
    source: Source, reading: Reading
) -> Iterator[tuple[pa.Schema, Iterable[pa.RecordBatch]]]:
    if source.data is not None:
        yield source.data.schema, source.data.to_batches()
        return
    # Read, not mapped: a mapped file that shrinks would end the process.
    with ExitStack() as stack:
        with reading_file(source.shown):
            file = stack.enter_context(pa.OSFile(str(reading.opened(source.files[0]))))
            if file.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(file)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            else:
                file.seek(0)
                batches = reader = pa.ipc.open_stream(file)
        yield reader.schema, batches


def _registered(
    source: Source,
    reading: Reading,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[Readable]:
    """Give the batches a name in SQL; each is looked at before the engine gets it (B1)."""
    connection = reading.connection
    faults: list[SourceError] = []

    def checked() -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                batch.validate(full=True)
                for name, column in zip(schema.names, batch.columns, strict=True):
                    if (what := _lost(column)) is not None:
                        faults.append(SourceError(f"{source.shown}: column {name} has {what}"))
                        return
                yield batch
        except (pa.ArrowException, OSError):
            faults.append(SourceError(f"{source.shown}: it is damaged"))

    check_names(source.shown, schema.names)
    for field in schema:
        check_fields(source.shown, field)
        try:
            _register(connection, pa.schema([field]), [])
        except duckdb.Error:
            kind = f"column {field.name} has the Arrow type {field.type}"
            raise SourceError(f"{source.shown}: {kind}, which the engine does not read") from None
    _register(connection, schema, [])
    types = {name: str(kind) for name, kind in columns_of(connection, ROWS)}
    noted = tuple(
        TypedColumn(name=field.name, source_type=extension, type=types[field.name])
        for field in schema
        if (extension := extension_of(field)) is not None
    )
    told = Told(TypedDialect(columns=noted) if noted else None)

    def fault(_: duckdb.Error) -> SourceError | None:
        return _refused_column(source, reading)

    _register(connection, schema, checked())
    try:
        yield Readable(f"SELECT * FROM {ROWS}", lambda: told, fault)
    finally:
        connection.unregister(ROWS)
    if faults:
        raise faults[0]


def _register(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    connection.register(ROWS, pa.RecordBatchReader.from_batches(schema, batches))


def _refused_column(source: Source, reading: Reading) -> SourceError | None:
    """Find the column whose values the engine does not take, by reading each alone."""
    with _arrow(source, reading) as (schema, _):
        names = schema.names
    for name in names:
        with _arrow(source, reading) as (schema, batches):
            alone = (batch.select([name]) for batch in batches)
            _register(reading.connection, pa.schema([schema.field(name)]), alone)
            try:
                rows_of(reading.connection, f"SELECT max(hash({quoted(name)})) FROM {ROWS}")
            except duckdb.Error:
                return SourceError(
                    f"{source.shown}: column {name} has values that the engine's type of it does "
                    "not hold"
                )
    return None


# How many of the engine's microseconds there are in a unit of Arrow.
_COARSE = {"s": 1_000_000, "ms": 1_000}
_INT64_MAX = 2**63 - 1
_DAY_MILLISECONDS = 86_400_000
_INT32_MAX = 2**31 - 1
_LISTS = (
    pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType
)


def _lost(array: pa.Array) -> str | None:
    """Say what the engine would lose of an array, or of one inside it; None for nothing (readable R2)."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _lost(array.storage)
    if isinstance(kind, pa.DictionaryType):
        return _lost(array.dictionary)
    if isinstance(kind, pa.StructType):
        return _first(map(_lost, array.flatten()))
    if isinstance(kind, pa.MapType):
        return _lost(array.keys) or _lost(array.items)
    if isinstance(kind, _LISTS):
        return _lost(array.flatten())
    if isinstance(kind, pa.RunEndEncodedType):
        return _lost(array.values)
    if isinstance(kind, pa.UnionType):
        return _first(_lost(array.field(place)) for place in range(kind.num_fields))
    if pa.types.is_nested(kind):
        return f"the Arrow type {kind}, which is not looked through"
    if kind == pa.duration("ns") and not _is_multiple(array.view(pa.int64()), 1000):
        return "parts of a microsecond, which INTERVAL drops"
    if kind == pa.month_day_nano_interval():
        parts = pc.binary_slice(array.view(pa.binary(16)), 8, 16).view(pa.int64())
        if not _is_multiple(parts, 1000):
            return "parts of a microsecond, which INTERVAL drops"
    # A plain time of a coarse unit keeps it, but is shown by way of microseconds.
    if isinstance(kind, pa.DurationType | pa.TimestampType) and kind.unit in _COARSE:
        if _farthest(array.view(pa.int64())) > _INT64_MAX // _COARSE[kind.unit]:
            return "times beyond what the engine holds"
    if kind == pa.date64() and _farthest(array.view(pa.int64())) > _INT32_MAX * _DAY_MILLISECONDS:
        return "dates beyond what the engine holds"
    return None


def _first(found: Iterable[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)


def _farthest(numbers: pa.Array) -> int:
    """Give the largest distance from zero."""
    ends = pc.min_max(numbers).as_py()
    return max((abs(end) for end in ends.values() if end is not None), default=0)


def _is_multiple(numbers: pa.Array, unit: int) -> bool:
    whole = pc.multiply(pc.divide(numbers, unit), unit)
    return not pc.any(pc.not_equal(numbers, whole)).as_py()

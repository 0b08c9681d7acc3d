# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""Arrow files and tables in memory (contract 4.1)."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from preview.errors import SourceError
from preview.sources.files import reading as reading_file
from preview.sources.readable import ROWS, Readable, Reading, check_names
from preview.sources.source import Source


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make Arrow rows readable by SQL; see `preview.sources.kinds.readable`."""
    with _arrow(source, reading) as (schema, batches):
        yield from _registered(reading.connection, source, schema, batches)


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
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[Readable]:
    """Give the batches a name in SQL; each is looked at before the engine gets it."""
    faults: list[SourceError] = []

    def checked() -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                batch.validate(full=True)
                for name, column in zip(schema.names, batch.columns, strict=True):
                    if _is_finer(column):
                        fault = f"column {name} has parts of a microsecond, which INTERVAL drops"
                        faults.append(SourceError(f"{source.shown}: {fault}"))
                        return
                yield batch
        except (pa.ArrowException, OSError):
            faults.append(SourceError(f"{source.shown}: it is damaged"))

    check_names(source.shown, schema.names)
    for field in schema:
        try:
            _register(connection, pa.schema([field]), [])
        except duckdb.Error:
            kind = f"column {field.name} has the Arrow type {field.type}"
            raise SourceError(f"{source.shown}: {kind}, which the engine does not read") from None
    _register(connection, schema, checked())
    try:
        yield Readable(f"SELECT * FROM {ROWS}")
    finally:
        connection.unregister(ROWS)
    if faults:
        raise faults[0]


def _register(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    connection.register(ROWS, pa.RecordBatchReader.from_batches(schema, batches))


def _is_finer(array: pa.Array) -> bool:
    """Say whether a duration, or one inside a value, has parts of a microsecond (R2)."""
    kind = array.type
    if isinstance(kind, pa.StructType):
        return any(map(_is_finer, array.flatten()))
    if isinstance(kind, pa.MapType):
        return _is_finer(array.keys) or _is_finer(array.items)
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return _is_finer(array.flatten())
    if kind == pa.duration("ns"):
        parts = array.view(pa.int64())
    elif kind == pa.month_day_nano_interval():
        parts = pc.binary_slice(array.view(pa.binary(16)), 8, 16).view(pa.int64())
    else:
        return False
    thousands = pc.multiply(pc.divide(parts, 1000), 1000)
    return bool(pc.any(pc.not_equal(parts, thousands)).as_py())

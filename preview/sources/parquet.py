# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""Parquet files: one, or several as one table (specification 4.1).

Invariants
  G1  Every value is kept: what the engine would make less of is an error that names its column.
      A decimal of more than 38 digits becomes a DOUBLE there, INT96 loses its nanoseconds, an
      INTERVAL of 2^31 months or days turns negative, and a geometry loses its reference system.
  G2  Plain types cost a look at the schema, and no second look at the values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eligibility.sql.manifest import TypedColumn, TypedDialect
from preview.errors import SourceError
from preview.sources import files
from preview.sources.partitions import partitions_of
from preview.sources.readable import (
    Readable,
    Reading,
    Told,
    check_fields,
    check_names,
    extension_of,
    literal,
    quoted,
    rows_of,
)
from preview.sources.source import Source

DECIMAL_DIGITS_MAX = 38


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make Parquet files readable by SQL; see `preview.sources.kinds.readable`."""
    connection = reading.connection
    first: list[tuple[str, str]] = []
    source_types: dict[str, str] = {}
    opened = [literal(str(reading.opened(file))) for file in source.files]
    for file, path in zip(source.files, opened, strict=True):
        source_types |= check_values(source.shown, reading.opened(file))
        described = f"DESCRIBE FROM read_parquet({path}, hive_partitioning = false)"
        columns = [(row[0], row[1]) for row in rows_of(connection, described)]
        if columns != (first := first or columns):
            raise SourceError(f"{source.shown}: {file.name} has other columns than the first file")
        for name in [name for name, kind in columns if kind.startswith("GEOMETRY")]:
            _check_geometry(source.shown, connection, path, reading.opened(file), name)
            source_types[name] = "WKB"
    rows = f"read_parquet([{', '.join(opened)}], hive_partitioning = false)"

    def fault(error: duckdb.Error) -> SourceError | None:
        return _fault(source.shown, connection, rows, [name for name, _ in first], error)

    noted = tuple(
        TypedColumn(name=name, source_type=source_types[name], type=kind)
        for name, kind in first
        if name in source_types
    )
    dialect = TypedDialect(columns=noted) if noted else None
    query = f"SELECT * FROM {rows}"
    folders = partitions_of(source)
    if folders.columns and len(opened) > 1:
        query = " UNION ALL ".join(
            f"SELECT *{folders.select(place)} FROM read_parquet({path}, hive_partitioning = false)"
            for place, path in enumerate(opened)
        )
    yield Readable(query, lambda: Told(dialect), fault)


def _fault(
    shown: str,
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    names: list[str],
    error: duckdb.Error,
) -> SourceError | None:
    """Find the column whose values the engine cannot take."""
    for name in names:
        try:
            rows_of(connection, f"SELECT max({quoted(name)}) FROM {rows}")
        except duckdb.Error as again:
            if type(again) is type(error):
                return SourceError(
                    f"{shown}: column {name} has values that the engine's type of it does not hold"
                )
    return None


def check_values(shown: str, path: Path) -> dict[str, str]:
    """See that the engine keeps every value of a Parquet file (G1).

    Args:
        shown: how errors name it.
        path: of the file.

    Returns:
        For each column that becomes a type of another name, the type it has there.

    Raises:
        SourceError: it is no Parquet file, or a column cannot be kept as it is.
    """
    with files.reading(shown):
        file = pq.ParquetFile(path)
        schema, fields = file.schema, list(file.schema.to_arrow_schema())
        check_names(shown, [field.name for field in fields])
        # What the writer had, where it was Arrow.
        noted = {field.name: str(kind) for field in file.schema_arrow if (kind := _of_arrow(field))}
        # By position: the path of a leaf does not tell a.b from the b in a.
        place = 0
        for owner in fields:
            check_fields(shown, owner)
            for leaf in range(_leaf_count(owner.type)):
                column, name = schema.column(place), owner.name
                place += 1
                kind = _source_type(column)
                if kind == "DECIMAL" and column.precision > DECIMAL_DIGITS_MAX:
                    raise SourceError(
                        f"{shown}: column {name} has decimals of {column.precision} digits, and at "
                        f"most {DECIMAL_DIGITS_MAX} are kept; write it with fewer, or as text"
                    )
                if kind == "INT96" and not _is_microseconds(path, name, leaf):
                    raise SourceError(
                        f"{shown}: column {name} has INT96 timestamps with parts of a microsecond, "
                        "which would be lost; write it as TIMESTAMP with nanoseconds"
                    )
                if kind == "INTERVAL" and not _is_signed(path, name, leaf):
                    raise SourceError(
                        f"{shown}: column {name} has intervals of more months or days than the "
                        "engine holds; write them as numbers"
                    )
                if kind in ("INT96", "FLOAT16") and owner.type.num_fields == 0:
                    noted[name] = kind
    return noted


def _source_type(column: pq.ColumnSchema) -> str:
    """Name the type of a leaf, as far as it matters here."""
    if column.physical_type == "INT96":
        return "INT96"
    if column.converted_type == "INTERVAL":
        return "INTERVAL"
    return str(column.logical_type.type)


def _of_arrow(field: pa.Field) -> str | None:
    """Name a type of Arrow that Parquet has no type for."""
    if isinstance(field.type, pa.DurationType):
        return str(field.type)
    return extension_of(field)


def _check_geometry(
    shown: str, connection: duckdb.DuckDBPyConnection, rows: str, path: Path, name: str
) -> None:
    """See that geometries keep all their bytes: the engine drops the number of their system."""
    batches = pq.ParquetFile(path).iter_batches(columns=[name])
    columns = (batch.column(batch.schema.get_field_index(name)) for batch in batches)
    there = sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in columns)
    size = f"SELECT sum(octet_length(ST_AsWKB({quoted(name)}))) FROM read_parquet({rows})"
    try:
        [(kept,)] = rows_of(connection, size)
    except duckdb.Error:
        kept = None
    if (kept or 0) != there:
        raise SourceError(
            f"{shown}: column {name} has geometries that the engine does not keep whole, as those "
            "with the number of a reference system; write them as plain WKB"
        )


def _leaf_count(kind: pa.DataType) -> int:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return sum(map(_leaf_count, inner)) if inner else 1


def _values(path: Path, name: str, leaf: int, unit: str = "ns") -> Iterator[pa.Array]:
    """Give the values of one leaf of a column."""
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit=unit)
    for batch in file.iter_batches(columns=[name]):
        # Named a.b, a column brings the b in a with it.
        column = batch.column(batch.schema.get_field_index(name))
        yield next(islice(_leaves(column), leaf, None))


def _is_microseconds(path: Path, name: str, leaf: int) -> bool:
    """Say whether no INT96 timestamp of a leaf has parts of a microsecond."""
    for fine, coarse in zip(
        _values(path, name, leaf), _values(path, name, leaf, "us"), strict=True
    ):
        # Nanoseconds wrap around beyond the year 2262, and so does the product.
        wrapped = _integers(coarse) * np.int64(1000)
        if not np.array_equal(_integers(fine), wrapped):
            return False
    return True


def _is_signed(path: Path, name: str, leaf: int) -> bool:
    """Say whether no interval of a leaf has 2^31 months or days: the engine counts them signed."""
    for array in _values(path, name, leaf):
        parts = np.frombuffer(b"".join(array.drop_null().to_pylist()), "<u4").reshape(-1, 3)
        if (parts[:, :2] > np.iinfo(np.int32).max).any():
            return False
    return True


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """Give the arrays of a column that hold no others."""
    if isinstance(array, pa.StructArray):
        inner = array.flatten()
    elif isinstance(array, pa.MapArray):
        inner = [array.keys, array.items]
    elif array.type.num_fields:
        inner = [array.flatten()]
    else:
        yield array
        return
    for one in inner:
        yield from _leaves(one)


def _integers(times: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(times.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False))

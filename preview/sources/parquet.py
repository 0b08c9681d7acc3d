# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""Parquet files: one, or several as one table (contract 4.1).

Invariants
  G1  Every value is kept: what the engine would make less of is an error that names its column.
      A decimal of more than 38 digits becomes a DOUBLE there, and INT96 loses its nanoseconds.
  G2  Plain types cost a look at the schema, and no second look at the values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eligibility.manifest import TypedColumn, TypedDialect
from preview.errors import SourceError
from preview.sources import files
from preview.sources.partitions import partitions_of
from preview.sources.readable import (
    Readable,
    Reading,
    Told,
    check_names,
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
    noted: dict[str, TypedColumn] = {}
    opened = [literal(str(reading.opened(file))) for file in source.files]
    for file, path in zip(source.files, opened, strict=True):
        found = check_values(source.shown, reading.opened(file))
        noted |= {column.name: column for column in found}
        described = f"DESCRIBE FROM read_parquet({path}, hive_partitioning = false)"
        columns = [(row[0], row[1]) for row in rows_of(connection, described)]
        if columns != (first := first or columns):
            raise SourceError(f"{source.shown}: {file.name} has other columns than the first file")
    rows = f"read_parquet([{', '.join(opened)}], hive_partitioning = false)"

    def fault(error: duckdb.Error) -> SourceError | None:
        return _fault(source.shown, connection, rows, [name for name, _ in first], error)

    dialect = TypedDialect(columns=tuple(noted.values())) if noted else None
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


def check_values(shown: str, path: Path) -> tuple[TypedColumn, ...]:
    """See that the engine keeps every value of a Parquet file (G1).

    Args:
        shown: how errors name it.
        path: of the file.

    Returns:
        The columns whose type becomes another that holds every value.

    Raises:
        SourceError: it is no Parquet file, or a column cannot be kept as it is.
    """
    with files.reading(shown):
        schema = pq.ParquetFile(path).schema
        fields = list(schema.to_arrow_schema())
        check_names(shown, [field.name for field in fields])
        # By position: the path of a leaf does not tell a.b from the b in a.
        owners = [field for field in fields for _ in range(_leaf_count(field.type))]
        noted, looked_at = [], set()
        for place, owner in zip(range(len(schema)), owners, strict=True):
            column, name = schema.column(place), owner.name
            is_whole = owner.type.num_fields == 0
            if column.logical_type.type == "DECIMAL" and column.precision > DECIMAL_DIGITS_MAX:
                raise SourceError(
                    f"{shown}: column {name} has decimals of {column.precision} digits, and at most "
                    f"{DECIMAL_DIGITS_MAX} are kept; write it with fewer, or as text"
                )
            if column.physical_type == "INT96" and name not in looked_at:
                if not _is_microseconds(path, name):
                    raise SourceError(
                        f"{shown}: column {name} has INT96 timestamps with parts of a microsecond, "
                        "which would be lost; write it as TIMESTAMP with nanoseconds"
                    )
                looked_at.add(name)
                if is_whole:
                    noted.append(TypedColumn(name=name, source_type="INT96", type="TIMESTAMP"))
            if column.logical_type.type == "FLOAT16" and is_whole:
                noted.append(TypedColumn(name=name, source_type="FLOAT16", type="FLOAT"))
    return tuple(noted)


def _leaf_count(kind: pa.DataType) -> int:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return sum(map(_leaf_count, inner)) if inner else 1


def _is_microseconds(path: Path, name: str) -> bool:
    """Say whether no INT96 timestamp in a column has parts of a microsecond."""
    readers = [
        pq.ParquetFile(path, coerce_int96_timestamp_unit=unit).iter_batches(columns=[name])
        for unit in ("ns", "us")
    ]
    for both in zip(*readers, strict=True):
        # Named a.b, a column brings the b in a with it.
        columns = [batch.column(batch.schema.get_field_index(name)) for batch in both]
        for fine, coarse in zip(*map(_leaves, columns), strict=True):
            if fine.type == coarse.type:  # no INT96: there the unit is the file's
                continue
            # Nanoseconds wrap around beyond the year 2262, and so does the product.
            wrapped = _integers(coarse) * np.int64(1000)
            if not np.array_equal(_integers(fine), wrapped):
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

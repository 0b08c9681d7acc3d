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
        top = schema.to_arrow_schema().names
        check_names(shown, top)
        noted = []
        for place in range(len(schema)):
            column = schema.column(place)
            name = column.path.split(".")[0] if column.path not in top else column.path
            kind = column.physical_type
            if column.logical_type.type == "DECIMAL" and column.precision > DECIMAL_DIGITS_MAX:
                raise SourceError(
                    f"{shown}: column {name} has decimals of {column.precision} digits, and at most "
                    f"{DECIMAL_DIGITS_MAX} are kept; write it with fewer, or as text"
                )
            if kind == "INT96":
                if column.path not in top or not _is_microseconds(path, name):
                    raise SourceError(
                        f"{shown}: column {name} has INT96 timestamps with parts of a microsecond, "
                        "which would be lost; write it as TIMESTAMP with nanoseconds"
                    )
                noted.append(TypedColumn(name=name, source_type="INT96", type="TIMESTAMP"))
            if column.logical_type.type == "FLOAT16" and column.path in top:
                noted.append(TypedColumn(name=name, source_type="FLOAT16", type="FLOAT"))
    return tuple(noted)


def _is_microseconds(path: Path, name: str) -> bool:
    """Say whether no INT96 timestamp of a column has parts of a microsecond."""
    readers = [
        pq.ParquetFile(path, coerce_int96_timestamp_unit=unit).iter_batches(columns=[name])
        for unit in ("ns", "us")
    ]
    for fine, coarse in zip(*readers, strict=True):
        # Nanoseconds wrap around beyond the year 2262, and so does the product.
        wrapped = _integers(coarse.column(0)) * np.int64(1000)
        if not np.array_equal(_integers(fine.column(0)), wrapped):
            return False
    return True


def _integers(times: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(times.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False))

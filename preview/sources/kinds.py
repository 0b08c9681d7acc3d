# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""Each kind of source, and what reads it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import assert_never

from eligibility.sql.manifest import TypedDialect
from preview.sources.options import uses
from preview.sources.partitions import doubts_of, partitions_of
from preview.sources.readable import Readable, Reading, Told, check_names, columns_of
from preview.sources.source import Source


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make a source readable by SQL while the context lasts.

    Args:
        source: what `resolve` gave.
        reading: what it is read with.

    Yields:
        The source as a query.

    Raises:
        SourceError: it cannot be read, or cannot be kept as it is.
        duckdb.Error: the engine could not read it.
    """
    if not uses(source.format, "partitions"):
        with _of_kind(source, reading) as rows:
            yield rows
        return
    found, doubts = partitions_of(source), doubts_of(source)
    with _of_kind(source, reading) as rows:
        query = rows.query
        if found.columns:
            held = [name for name, _ in columns_of(reading.connection, f"({query})")]
            keys = [column.name for column in found.columns]
            # Several files have their keys already.
            own = held if len(source.files) == 1 else held[: -len(keys)]
            check_names(source.shown, [*own, *keys])
        if found.columns and len(source.files) == 1:
            query = f"SELECT *{found.select(0)} FROM ({query})"

        def told() -> Told:
            one = rows.told()
            dialect = one.dialect
            if found.columns:
                dialect = dialect or TypedDialect()
                dialect = dialect.model_copy(update={"partitions": found.columns})
            return replace(one, dialect=dialect, doubts=(*one.doubts, *doubts))

        yield Readable(query, told, rows.fault)


def _of_kind(source: Source, reading: Reading) -> AbstractContextManager[Readable]:
    match source.format:
        case "csv":
            from preview.sources import delimited

            return delimited.readable(source, reading)
        case "json":
            from preview.sources import json_text

            return json_text.readable(source, reading)
        case "parquet":
            from preview.sources import parquet

            return parquet.readable(source, reading)
        case "arrow" | "arrow-table":
            from preview.sources import arrow

            return arrow.readable(source, reading)
        case "duckdb":
            from preview.sources import duckdb_file

            return duckdb_file.readable(source, reading)
        case "sqlite":
            from preview.sources import sqlite

            return sqlite.readable(source, reading)
        case "postgresql":
            from preview.sources import postgres

            return postgres.readable(source, reading)
        case "delta":
            from preview.sources import delta

            return delta.readable(source, reading)
        case "iceberg":
            from preview.sources import iceberg

            return iceberg.readable(source, reading)
        case "prepared":
            from preview.sources import prepared

            return prepared.readable(source, reading)
        case _:
            assert_never(source.format)

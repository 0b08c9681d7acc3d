"""Each kind of source, and what reads it."""

from contextlib import AbstractContextManager
from typing import assert_never

from preview.sources.readable import Readable, Reading
from preview.sources.source import Source


def readable(source: Source, reading: Reading) -> AbstractContextManager[Readable]:
    """Make a source readable by SQL while the context lasts.

    Args:
        source: what `resolve` gave.
        reading: what it is read with.

    Returns:
        A context that gives the source as a query.

    Raises:
        SourceError: it cannot be read, or cannot be kept as it is.
        duckdb.Error: the engine could not read it.
    """
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

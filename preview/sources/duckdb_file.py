# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""A table of a DuckDB database file (specification 4)."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from eligibility.sql.schema import casefold
from preview.errors import SourceError
from preview.sources.readable import Readable, Reading, literal, quoted, rows_of
from preview.sources.source import Source


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make a table of a database file readable by SQL; see `preview.sources.kinds.readable`."""
    connection, file = reading.connection, source.files[0]
    wal = file.with_name(file.name + ".wal")
    if wal.exists():
        raise SourceError(f"{source.shown}: it has a log, {wal.name}; checkpoint it first")
    opened = literal(str(reading.opened(file)))
    rows_of(connection, f"ATTACH {opened} AS source (READ_ONLY, TYPE duckdb)")
    try:
        yield _database_table(connection, source)
    finally:
        rows_of(connection, "DETACH source")


def _database_table(connection: duckdb.DuckDBPyConnection, source: Source) -> Readable:
    wanted = casefold(source.table or "")
    relations = [
        (schema, name, view)
        for schema, name, view in rows_of(
            connection,
            "SELECT schema_name, table_name, false FROM system.main.duckdb_tables() "
            "WHERE database_name = 'source' UNION ALL "
            "SELECT schema_name, view_name, true FROM system.main.duckdb_views() "
            "WHERE database_name = 'source' AND NOT internal",
        )
        if wanted in (casefold(f"{schema}.{name}"), casefold(name) if schema == "main" else None)
    ]
    if len(relations) != 1:
        found = "no table" if not relations else "several tables"
        raise SourceError(f"{source.shown}: it has {found} of the name {source.table}")
    schema, name, view = relations[0]
    if view:
        raise SourceError(f"{source.shown}: {name} is a view, and only tables are pinned")
    for (generated,) in rows_of(
        connection,
        "SELECT column_name FROM system.main.duckdb_columns() WHERE database_name = 'source' "
        f"AND schema_name = {literal(schema)} AND table_name = {literal(name)} AND is_generated",
    ):
        raise SourceError(f"{source.shown}: column {generated} of {name} is generated, not stored")
    return Readable(f"SELECT * FROM {quoted('source', schema, name)}")

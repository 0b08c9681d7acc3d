# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""One transaction on a PostgreSQL server, which all tables of a call are read in (specification 9).

Invariants
  V1  It sees one snapshot. It was begun once all its tables were locked, so that none is truncated
      or altered meanwhile: neither heeds a snapshot.
  V2  No password is taken as an argument, and none is recorded or shown: who connects is for the
      service file, the password file and the environment to say. Of what a driver says, its code
      alone is shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from preview.errors import SourceError
from preview.sources.lake import extra, refused
from preview.sources.readable import literal, quoted
from preview.sources.source import Source

# So that a text of a value is the same whoever asks, and rows are read in order, all of them.
_SETTINGS = {
    "search_path": "pg_catalog",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "row_security": "off",
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
}
_CODES = {
    "28000": "the server does not let this user in",
    "28P01": "the server does not take the password",
    "3D000": "the server has no such database",
    "42501": "this user may not read the table, or not all of its rows",
    "57014": "the server cancelled the query",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its quoted path and its number."""

    path: str
    oid: int


@dataclass(frozen=True, slots=True)
class Server:
    """One transaction on one server (V1)."""

    shown: str
    connection: Any
    version: str
    snapshot: str
    tables: Mapping[str, Table]

    def table(self, source: Source) -> Table:
        """Give a table that was locked when the transaction began."""
        return self.tables[source.table or ""]

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Give the rows of a short query."""
        return _ask(self.shown, self.connection, query)

    @contextmanager
    def rows(self, query: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """Give the rows of a long one, in batches."""
        with closing(self.connection.cursor()) as cursor:
            try:
                cursor.execute(query)
                reader = cursor.fetch_record_batch()
            except Exception as error:  # noqa: BLE001 - a driver's error can quote a value
                raise failed(self.shown, error) from None
            with closing(reader):
                yield reader.schema, iter(reader)


@contextmanager
def connected(source: Source, tables: Sequence[str]) -> Iterator[Server]:
    """Connect, lock all tables, and begin to read."""
    shown = source.shown
    driver = extra(shown, "adbc_driver_postgresql.dbapi", "postgresql")
    service = f"/?service={source.service}" if source.service else ""
    try:
        connection = driver.connect(f"postgresql://{service}", autocommit=True)
    except Exception as error:  # noqa: BLE001 - whatever the driver says, it is said briefly
        raise _no_connection(shown, error) from None
    with closing(connection):
        found = {}
        for name in tables:
            found[name] = _found(shown, connection, name)
        _do(shown, connection, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for name, value in _SETTINGS.items():
            _do(shown, connection, f"SET LOCAL {name} = {literal(value)}")
        for path in sorted(set(found.values())):
            _do(shown, connection, f"LOCK TABLE {path} IN ACCESS SHARE MODE")
        ((version, snapshot, isolation),) = _ask(
            shown,
            connection,
            "SELECT current_setting('server_version'), pg_current_snapshot()::text, "
            "current_setting('transaction_isolation')",
        )
        if isolation != "repeatable read":
            raise refused(shown, "the server gives no snapshot", "ask who runs it")
        numbered = {
            name: Table(
                path, _ask(shown, connection, f"SELECT {literal(path)}::regclass::int8")[0][0]
            )
            for name, path in found.items()
        }
        yield Server(shown, connection, version, snapshot, numbered)
        _do(shown, connection, "ROLLBACK")


def _found(shown: str, connection: Any, name: str) -> str:
    """Give the quoted path of a table that can be read in a snapshot."""
    wanted = name if "." in name else f"public.{name}"
    relations = _ask(
        shown,
        connection,
        "SELECT n.nspname::text, c.relname::text, c.relkind::text, EXISTS (WITH RECURSIVE tree AS ("
        "SELECT c.oid UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree "
        "ON i.inhparent = tree.oid) SELECT 1 FROM tree JOIN pg_catalog.pg_class part "
        "ON part.oid = tree.oid WHERE part.relkind = 'f') "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE n.nspname::text || '.' || c.relname::text = {literal(wanted)} "
        "AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
    )
    if len(relations) != 1:
        many = "no table" if not relations else "several tables"
        raise refused(
            shown,
            f"it has {many} of the name {wanted}",
            "write schema.table as the server lists it, in its letter case",
        )
    ((schema, table, kind, foreign),) = relations
    if kind not in ("r", "p") or foreign:
        what = {"v": "a view", "m": "a materialized view"}.get(kind, "a foreign table")
        raise refused(
            shown, f"{table} is {what}", "pin the tables, and prepare the rest by @FILE.sql"
        )
    return quoted(schema, table)


def _ask(shown: str, connection: Any, query: str) -> list[tuple[Any, ...]]:
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(query)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
    except Exception as error:  # noqa: BLE001 - a driver's error can quote a value
        raise failed(shown, error) from None
    return rows


def _do(shown: str, connection: Any, statement: str) -> None:
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
    except Exception as error:  # noqa: BLE001 - as above
        raise failed(shown, error) from None


def failed(shown: str, error: Exception) -> SourceError:
    """Say what went wrong while the server was asked, by its code alone (V2)."""
    code = str(getattr(error, "sqlstate", None) or "")
    said = _CODES.get(
        code, "the server could not be read" + (f" (SQLSTATE {code})" if code else "")
    )
    return refused(shown, said, "ask who runs the server, or try again")


def _no_connection(shown: str, error: Exception) -> SourceError:
    text = str(error)
    if "service" in text and "not found" in text:
        what = "the connection service file has no such section"
        return refused(shown, what, "name the file by PGSERVICEFILE")
    if "password" in text:
        what = "the server wants a password, or another one"
        return refused(shown, what, "put it into the password file (PGPASSFILE)")
    what = "the server cannot be reached"
    return refused(shown, what, "see whether psql with the same service connects")

"""A real DuckDB whose catalog is `snapshot`, for tests that need a plan and no child process.

It is not sealed: only statements of the tests' own are given to it, and what the recorder refuses
runs here.
"""

from collections.abc import Iterable
from typing import Literal

import duckdb

from eligibility import classify
from eligibility.evidence import Column, EngineReading, Pin, Schema, Verdicts
from preview.engine_reading import PLAN_QUERY, plan_error, read_plan

_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type
    FROM system.main.duckdb_columns() WHERE database_name = 'snapshot' AND NOT internal
    ORDER BY table_oid, column_index
"""


class Engine:
    """An in-memory database with the tables that some SQL makes.

    Attributes:
        connection: to the database.
        pins: its tables, as they would be pinned.
        schema: the same as a schema.
    """

    def __init__(self, setup: Iterable[str], then: Iterable[str] = ()) -> None:
        """Make the database.

        Args:
            setup: SQL that makes the tables.
            then: SQL that is run once the tables are known, for macros and session state.
        """
        self.connection = duckdb.connect()
        self.connection.execute("ATTACH ':memory:' AS snapshot; USE snapshot")
        for statement in setup:
            self.connection.execute(statement)
        self.pins = self._pins()
        self.schema = Schema(tables=self.pins)
        for statement in then:
            self.connection.execute(statement)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def plan(self, statement: str) -> str:
        """Give the plan's JSON text; empty where the engine gives none."""
        try:
            row = self.connection.execute(PLAN_QUERY, [statement]).fetchone()
        except duckdb.Error:
            return ""
        return str(row[0]) if row else ""

    def read(self, statement: str) -> EngineReading | Literal["failed"]:
        """Give the engine reading, or `failed` where the statement does not bind."""
        plan = self.plan(statement)
        return "failed" if plan_error(plan) else read_plan(plan, self.pins).reading

    def both(self, statement: str) -> tuple[Verdicts, Verdicts]:
        """Decide a statement by the text alone, and by both readings."""
        return (
            classify(statement, self.schema),
            classify(statement, self.schema, self.read(statement)),
        )

    def _pins(self) -> tuple[Pin, ...]:
        tables: dict[tuple[str, str], list[Column]] = {}
        for schema, table, name, kind in self.connection.execute(_COLUMNS).fetchall():
            nan, members = None, None
            if kind in ("DOUBLE", "FLOAT"):
                where = f'FROM snapshot."{schema}"."{table}" WHERE isnan("{name}")'
                nan = bool(self.connection.execute(f"SELECT 1 {where} LIMIT 1").fetchone())
            if kind.startswith("ENUM("):
                listed = f"SELECT unnest(enum_range(NULL::{kind}))"
                members = tuple(m for (m,) in self.connection.execute(listed).fetchall())
                kind = "ENUM"
            column = Column(name=name, type=kind, nan=nan, members=members)
            tables.setdefault((schema, table), []).append(column)
        return tuple(
            Pin(path=path, columns=tuple(columns), rows=0, content_sha256="0" * 64)
            for path, columns in tables.items()
        )

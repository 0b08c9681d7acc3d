"""A real DuckDB for tests: the corpora's tables pinned and recorded, or any set-up in memory."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Literal, Self

import duckdb

import preview
from eligibility import Reason, classify, release
from eligibility.sql.facts import Release
from eligibility.sql.observation import EngineReading
from eligibility.sql.schema import CATALOG, Column, Pin, Schema
from eligibility.sql.verdicts import Verdicts
from preview.duckdb.plan import PLAN_QUERY, plan_error, read_plan
from tests.corpus import TABLES, Case, complete_line, merged, released_lines, unescaped

# Functions are named with their path: what is set up may stand in for them.
_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type
    FROM system.main.duckdb_columns() WHERE database_name = 'snapshot' AND NOT internal
    ORDER BY table_oid ASC, column_index ASC
"""
_TABLES = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"


class Engine:
    """A database whose catalog is `snapshot`; nothing in it is sealed or refused.

    Attributes:
        connection: to the database.
        pins: its tables as they would be pinned, and its views as if they could be.
        schema: the same as a schema.
    """

    def __init__(self, setup: Iterable[str], database: str | Path = ":memory:") -> None:
        """Make the database with SQL, session state included, in memory or in a file."""
        self.connection = duckdb.connect()
        self.connection.execute(f"ATTACH '{database}' AS {CATALOG}; USE {CATALOG}")
        for statement in setup:
            self.connection.execute(statement)
        self._look()

    def remake(self, setup: Iterable[str]) -> None:
        """Make another database in memory, leaving out what the engine does not take."""
        again = f"USE memory; DETACH {CATALOG}; ATTACH ':memory:' AS {CATALOG}; USE {CATALOG}"
        self.connection.execute(again)
        for statement in setup:
            try:
                self.connection.execute(statement)
            except duckdb.Error:
                continue
        self._look()

    def _look(self) -> None:
        self.pins = self._pins()
        self.schema = Schema(tables=self.pins)

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
                test = f"""FROM {CATALOG}."{schema}"."{table}" WHERE system.main.isnan("{name}")"""
                nan = bool(self.connection.execute(f"SELECT 1 {test} LIMIT 1").fetchall())
            if kind.startswith("ENUM("):
                listed = f"SELECT unnest(system.main.enum_range(NULL::{kind}))"
                members = tuple(m for (m,) in self.connection.execute(listed).fetchall())
                kind = "ENUM"
            column = Column(name=name, type=kind, nan=nan, members=members)
            tables.setdefault((schema, table), []).append(column)
        return tuple(
            Pin(path=path, columns=tuple(columns), rows=0, content_sha256="0" * 64)
            for path, columns in tables.items()
        )


class Pinned(AbstractContextManager["Pinned"]):
    """The tables of the corpora as a snapshot, and a recorder over it.

    Attributes:
        snapshot: the snapshot.
        recorder: over it.
    """

    def __init__(self) -> None:
        """Pin the tables in a folder of their own, and start the recorder."""
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        source = folder / "tables.duckdb"
        with duckdb.connect(str(source)) as connection:
            connection.execute(unescaped(TABLES.read_text()))
            paths = connection.execute(_TABLES).fetchall()
        self.snapshot = preview.pin(
            {path: f"{source}::{'.'.join(path)}" for path in paths}, into=folder / "pinned"
        )
        self.recorder = preview.Recorder(self.snapshot)

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the recorder and remove the snapshot."""
        self.recorder.close()
        self._folder.cleanup()

    def read(
        self, statement: str
    ) -> tuple[EngineReading | Literal["refused", "failed"], Reason | None]:
        """Give the engine reading; or that the statement is refused, and why, or that it failed."""
        try:
            return self.recorder.read(statement), None
        except preview.StatementRefused as refused:
            return "refused", refused.reason
        except preview.StatementFailed:
            return "failed", None

    def release(self, statement: str) -> Release:
        """Capture a statement and release every cell."""
        observation = self.recorder.capture(statement)
        return release(observation, observation.preview(), digest=observation.digest)

    def lines(self, case: Case) -> list[str]:
        """Say what is decided of a case in the form of its expectation lines."""
        if case.before:
            engine = Engine([unescaped(TABLES.read_text()), *case.before])
            text, both = engine.both(case.statement)
            engine.close()
            return merged(text, both)
        schema = self.snapshot.schema
        reading, why = self.read(case.statement)
        text, both = classify(case.statement, schema), classify(case.statement, schema, reading)
        lines = merged(text, both, why)
        if not isinstance(reading, EngineReading):
            return lines
        try:
            made = self.release(case.statement)
        except preview.StatementFailed:
            return [*lines, "run failed"]
        if case.wants_facts:
            lines += released_lines(made)
        if case.wants_complete:
            lines.append(complete_line(made))
        return lines

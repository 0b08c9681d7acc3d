"""DuckDB behind the port (`preview.engine`)."""

from pathlib import Path

import duckdb

from eligibility.sql.schema import Pin
from preview.duckdb import capture
from preview.duckdb.sealed import open_sealed
from preview.engine import Broken, Captured, Failed, Measured, NotOpened, Read, Refused


class _Session:
    """A sealed connection, and a cursor for the next statement."""

    version = duckdb.__version__

    def __init__(self, database: Path, memory_bytes: int, threads: int) -> None:
        self._connection, self.settings = open_sealed(
            database, memory_bytes=memory_bytes, threads=threads
        )
        self._fresh: duckdb.DuckDBPyConnection | None = None

    def prepare(self) -> None:
        self._fresh = self._connection.cursor()

    def read(self, statement: str, pins: tuple[Pin, ...]) -> Refused | Failed | Broken | Read:
        return capture.read(self._connection, statement, pins, self._fresh)

    def capture(
        self, statement: str, pins: tuple[Pin, ...]
    ) -> Refused | Failed | Broken | Captured:
        return capture.capture(self._connection, statement, pins, self._fresh)

    def measure(self, statement: str) -> Failed | Broken | Measured:
        return capture.measure(self._connection, statement, self._fresh)


class _DuckDB:
    name = "duckdb"

    def open(self, database: Path, *, memory_bytes: int, threads: int) -> _Session:
        try:
            return _Session(database, memory_bytes, threads)
        except duckdb.Error as error:
            raise NotOpened(type(error).__name__) from None


ENGINE = _DuckDB()

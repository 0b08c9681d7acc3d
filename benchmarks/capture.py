"""How long does a warm `Recorder.capture` take beside binding, executing and fetching in process?

    python -m benchmarks.capture [--rounds N] [--long N]

The floor has the same sealed settings, on one connection: the statement is bound for its plan's
text, which the decision needs, then executed, and 51 rows are fetched. What the recorder does beyond
that is checking, reading the plan, crossing to another process and back, and sealing the observation.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb
import pyarrow as pa

import preview
from benchmarks import timing
from benchmarks.timing import Figure, Option, Result, Row
from examples.demo import TABLES, flight_data, typed
from preview.duckdb.plan import PLAN_QUERY
from preview.duckdb.sealed import open_sealed
from preview.recorder import MEMORY_BYTES

OPTIONS = {
    "rounds": Option(60, 8, "turns for each statement"),
    "long": Option(7, 2, "turns for each statement of a second or more"),
}
FETCHED = 51
ROWS = 60
LONG_S = 1.2  # how long a long statement is made to take

FLIGHTS = {
    "a few rows": "SELECT carrier, flight, distance FROM flights LIMIT 3",
    "every column": "SELECT * FROM flights",
    "count of rows": "SELECT COUNT(*) FROM flights",
    "five calculations": (
        "SELECT COUNT(arr_delay), SUM(distance), AVG(arr_delay), MIN(dep_delay), MAX(tailnum) FROM flights"
    ),
    "sum where equal": "SELECT SUM(distance) FROM flights WHERE carrier = 'UA'",
    "three groups": "SELECT origin, COUNT(*), AVG(dep_delay) FROM flights GROUP BY origin",
    "4,044 groups, in order": (
        "SELECT tailnum, COUNT(*) AS n FROM flights GROUP BY tailnum ORDER BY n DESC, tailnum"
    ),
    "three conditions": (
        "SELECT carrier, COUNT(*) FROM flights WHERE month = 1 AND origin IN ('EWR', 'JFK') "
        "AND dest <> 'ATL' GROUP BY carrier"
    ),
    "LIKE": "SELECT COUNT(*) FROM flights WHERE tailnum LIKE 'N9%'",
    "DISTINCT": "SELECT DISTINCT origin FROM flights",
    "ORDER BY, LIMIT": "SELECT carrier, flight, distance FROM flights ORDER BY distance DESC LIMIT 10",
}
SMALL = {
    "every column": "SELECT * FROM small",
    "two columns": "SELECT name, amount FROM small LIMIT 5",
    "count of rows": "SELECT COUNT(*) FROM small",
    "sum where equal": "SELECT SUM(amount) FROM small WHERE name = 'n7'",
    "groups": "SELECT name, SUM(amount) FROM small GROUP BY name",
    "ORDER BY, LIMIT": "SELECT id, amount FROM small ORDER BY amount DESC LIMIT 3",
}
# Every flight beside so many others, and a condition that no index and no hash helps with.
LONG = {
    "count of pairs": (
        "SELECT COUNT(*) FROM flights AS f, (SELECT distance FROM flights LIMIT {n}) AS g "
        "WHERE (f.distance * 3 + g.distance) % 1009 = 3"
    ),
    "groups of pairs": (
        "SELECT f.origin, COUNT(*) FROM flights AS f, (SELECT distance FROM flights LIMIT {n}) AS g "
        "WHERE (f.distance + g.distance * 3) % 503 = 1 GROUP BY f.origin"
    ),
}


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Compare all three kinds of statements."""
    snapshot = _pinned(folder)
    memory = MEMORY_BYTES // 2  # as a recorder's child has it
    with (
        preview.Recorder(snapshot, timeout_s=120) as recorder,
        open_sealed(snapshot.database, memory_bytes=memory)[0] as connection,
    ):
        floor = Floor(connection)

        def rows(statements: dict[str, str], rounds: int) -> tuple[Row, ...]:
            return tuple(
                timing.compared(name, _capturing(recorder, text), _doing(floor.whole, text), rounds)
                for name, text in statements.items()
            )

        def result(name: str, what: str, bar: float, found: tuple[Row, ...], of: str) -> Result:
            return Result(
                name=f"capture-{name}",
                question=f"How long does `capture` take beside binding, executing and fetching, {what}?",
                own="capture",
                other="bind, execute, fetch",
                bar=bar,
                measured=timing.middle(found),
                rows=found,
                figures=floor.apart(of, asked.rounds) if of else (),
                notes=(
                    "The ratio is the median of the statements' ratios.",
                    *((f"The single steps are those of `{of}`.",) if of else ()),
                ),
            )

        flights = rows(FLIGHTS, asked.rounds)
        yield result("flights", "over 336,776 flights", 1.5, flights, FLIGHTS["three groups"])
        small = rows(SMALL, asked.rounds)
        yield result("small", f"over a table of {ROWS} rows", 2.5, small, SMALL["groups"])
        long = rows({name: floor.lengthened(text) for name, text in LONG.items()}, asked.long)
        yield result("long", "for a statement of a second or more", 1.05, long, "")


class Floor:
    """What has to be done in any case, on one sealed connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Take the connection."""
        self._connection = connection

    def whole(self, statement: str) -> None:
        """Bind for the plan's text, execute, fetch."""
        self.plan(statement)
        self.fetch(statement)

    def plan(self, statement: str) -> None:
        """Bind, and give the plan's text."""
        self._connection.execute(PLAN_QUERY, [statement]).fetchone()

    def fetch(self, statement: str) -> None:
        """Execute, and fetch the first rows."""
        self._connection.execute(statement).fetchmany(FETCHED)

    def split(self, statement: str) -> None:
        """Find out that it is one statement, and of which kind."""
        self._connection.extract_statements(statement)

    def cursor(self, _: str) -> None:
        """Make a connection of its own for a statement."""
        self._connection.cursor().close()

    def apart(self, statement: str, rounds: int) -> tuple[Figure, ...]:
        """Time each step of the floor by itself."""
        steps = {
            "extract_statements": self.split,
            "json_serialize_plan": self.plan,
            "execute and fetchmany(51)": self.fetch,
            "a fresh cursor, not in the floor": self.cursor,
        }
        found = timing.turns(
            {name: timing.timed(_doing(step, statement)) for name, step in steps.items()}, rounds
        )
        return tuple(Figure(name, timing.quartiles(times)[1], "s") for name, times in found.items())

    def lengthened(self, template: str) -> str:
        """Give a statement that takes a second or more on this machine."""
        count = 50
        while True:
            statement = template.replace("{n}", str(count))
            taken = min(timing.timed(_doing(self.fetch, statement))(0) for _ in range(2))
            if taken >= LONG_S:
                return statement
            count = max(count + 1, min(count * 8, round(count * 1.2 * LONG_S / taken)))


def _capturing(recorder: preview.Recorder, statement: str) -> timing.Work:
    return lambda _: recorder.capture(statement)


def _doing(step: Callable[[str], None], statement: str) -> timing.Work:
    return lambda _: step(statement)


def _pinned(folder: Path) -> preview.Snapshot:
    place = folder / "flights"
    if place.exists():
        return preview.open_snapshot(place)
    numbers = range(ROWS)
    small = {
        "id": pa.array(numbers, pa.int32()),
        "name": pa.array([f"n{number % 12}" for number in numbers]),
        "amount": pa.array([number * 37 % 101 for number in numbers], pa.int32()),
    }
    return preview.pin(
        {"flights": flight_data("flights"), "small": pa.table(small)},
        into=place,
        options={"flights": preview.ReadOptions(null=("NA",), types=typed(TABLES["flights"]))},
    )


if __name__ == "__main__":
    sys.exit(timing.main("capture", __doc__ or "", OPTIONS, measure))

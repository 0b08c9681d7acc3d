"""How long does pinning a Parquet file take beside DuckDB's own `CREATE TABLE AS`?

    python -m benchmarks.pinning [--scale N] [--rounds N]

The line items of TPC-H, made by `tpchgen-cli`: a scale of 1.67 is ten million rows. Pinning reads
the same file into the same kind of database, and also hashes the source, every value, and the
result, puts it on disk, and opens and verifies it. Both have all processors.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import duckdb

import preview
from benchmarks import timing
from benchmarks.timing import Figure, Option, Result

OPTIONS = {
    "scale": Option(1.67, 0.05, "scale factor of TPC-H; 1 is six million line items"),
    "rounds": Option(3, 3, "turns"),
}


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Compare both."""
    source = _generated(asked.scale, folder)
    with duckdb.connect() as connection:
        (rows,) = connection.execute(f"SELECT COUNT(*) FROM '{source}'").fetchone() or (0,)
    found = timing.turns(
        {"pin": lambda _: _pin(source, folder), "create": lambda _: _create(source, folder)},
        asked.rounds,
        warm=1,
    )
    row = timing.row(f"{rows:,} line items", found["pin"], found["create"])
    yield Result(
        name="pin",
        question="How long does pinning take beside `CREATE TABLE AS` from the same Parquet file?",
        own="pin",
        other="CREATE TABLE AS",
        bar=2.0,
        measured=row.ratio,
        rows=(row,),
        figures=(
            Figure("rows", rows, ""),
            Figure("size of the Parquet file", source.stat().st_size, "bytes"),
            Figure("pinned", rows / row.own_s, "rows a second"),
        ),
        notes=("Both end when the database file is closed.",),
    )


def _pin(source: Path, folder: Path) -> float:
    place = folder / "pinned"
    started = time.perf_counter()
    preview.pin({"lineitem": source}, into=place)
    seconds = time.perf_counter() - started
    shutil.rmtree(place)
    return seconds


def _create(source: Path, folder: Path) -> float:
    place = folder / "created.duckdb"
    started = time.perf_counter()
    with duckdb.connect(str(place)) as connection:
        connection.execute(f"CREATE TABLE lineitem AS FROM read_parquet('{source}')")
    seconds = time.perf_counter() - started
    place.unlink()
    return seconds


def _generated(scale: float, folder: Path) -> Path:
    made = folder / f"tpch-{scale:g}"
    if not (made / "lineitem.parquet").exists():
        beside = Path(sys.executable).parent / "tpchgen-cli"
        program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
        if program is None:
            raise RuntimeError("tpchgen-cli is not installed; `make bench` installs it")
        options = ["-s", str(scale), "-T", "lineitem", "-o", str(made), "-q"]
        subprocess.run([program, "parquet", *options], check=True)
    return made / "lineitem.parquet"


if __name__ == "__main__":
    sys.exit(timing.main("pinning", __doc__ or "", OPTIONS, measure))

"""How long does pinning a file take beside DuckDB's own `CREATE TABLE AS`?

    python -m benchmarks.pinning [--scale N] [--rounds N]

The line items of TPC-H, made by `tpchgen-cli`: a scale of 1.67 is ten million rows. Pinning reads
the same file into the same kind of database, and also hashes the source, every value, and the
result, puts it on disk, and opens and verifies it. From CSV it looks at every byte and every text
besides; both are told the same types. Both have all processors.
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


# Columns of line items, and their types; DuckDB makes the same of the Parquet file.
TYPES = {
    "l_orderkey": "BIGINT",
    "l_partkey": "BIGINT",
    "l_suppkey": "BIGINT",
    "l_linenumber": "INTEGER",
    "l_quantity": "DECIMAL(15,2)",
    "l_extendedprice": "DECIMAL(15,2)",
    "l_discount": "DECIMAL(15,2)",
    "l_tax": "DECIMAL(15,2)",
    "l_returnflag": "VARCHAR",
    "l_linestatus": "VARCHAR",
    "l_shipdate": "DATE",
    "l_commitdate": "DATE",
    "l_receiptdate": "DATE",
    "l_shipinstruct": "VARCHAR",
    "l_shipmode": "VARCHAR",
    "l_comment": "VARCHAR",
}
_SMALL = 10  # times fewer rows
_PEAK = """
import pathlib, re, shutil, sys
import preview
from benchmarks.pinning import OF_CSV
preview.pin({"lineitem": sys.argv[1]}, into=sys.argv[2], options=OF_CSV)
shutil.rmtree(sys.argv[2])
# Of this program alone: what `getrusage` says may be the peak of the process that started it.
status = pathlib.Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+([0-9]+)", status)[1]) * 1024)
"""
OF_CSV = preview.ReadOptions.of(header=True, delimiter=",", types=TYPES)


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Compare both, from Parquet and from CSV."""
    yield from _from_parquet(asked, folder)
    yield from _from_csv(asked, folder)


def _from_csv(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    source = _as_csv(_generated(asked.scale, folder))
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in TYPES.items())
    read = f"read_csv('{source}', header = true, delim = ',', columns = {{{columns}}})"
    found = timing.turns(
        {
            "pin": lambda _: _pin(source, folder, OF_CSV),
            "create": lambda _: _create(read, folder),
            "found": lambda _: _pin(source, folder),
        },
        asked.rounds,
        warm=1,
    )
    given = timing.row("types given", found["pin"], found["create"])
    yield Result(
        name="pin-csv",
        question="How long does pinning CSV take beside `CREATE TABLE AS … read_csv`?",
        own="pin",
        other="CREATE TABLE AS",
        bar=2.5,
        measured=given.ratio,
        rows=(given, timing.row("types found", found["found"], found["create"])),
        figures=(Figure("size of the CSV file", source.stat().st_size, "bytes"),),
        notes=("The ratio is that with the same types, delimiter and header given to both.",),
    )
    small = _as_csv(_generated(asked.scale / _SMALL, folder))
    peaks = [_peak(path, folder) for path in (source, small)]
    yield Result(
        name="pin-csv-memory",
        question=f"Does pinning CSV need more memory for {_SMALL} times the rows?",
        own="the peak with the large file",
        other="that with the small one",
        bar=1.2,
        measured=peaks[0] / peaks[1],
        figures=tuple(
            Figure(f"most resident memory, {name} file", peak, "bytes")
            for name, peak in zip(("large", "small"), peaks, strict=True)
        ),
        notes=("DuckDB keeps what it writes in memory as far as there is room.",),
    )


def _peak(source: Path, folder: Path) -> int:
    command = [sys.executable, "-c", _PEAK, str(source), str(folder / "peak")]
    ran = subprocess.run(command, cwd=timing.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return int(ran.stdout)


def _as_csv(source: Path) -> Path:
    made = source.with_suffix(".csv")
    if not made.exists():
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM '{source}') TO '{made}' (HEADER)")
    return made


def _from_parquet(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    source = _generated(asked.scale, folder)
    with duckdb.connect() as connection:
        (rows,) = connection.execute(f"SELECT COUNT(*) FROM '{source}'").fetchone() or (0,)
    found = timing.turns(
        {
            "pin": lambda _: _pin(source, folder),
            "create": lambda _: _create(f"read_parquet('{source}')", folder),
        },
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


def _pin(source: Path, folder: Path, options: preview.ReadOptions | None = None) -> float:
    place = folder / "pinned"
    started = time.perf_counter()
    preview.pin({"lineitem": source}, into=place, options=options)
    seconds = time.perf_counter() - started
    shutil.rmtree(place)
    return seconds


def _create(read: str, folder: Path) -> float:
    place = folder / "created.duckdb"
    started = time.perf_counter()
    with duckdb.connect(str(place)) as connection:
        connection.execute(f"CREATE TABLE lineitem AS FROM {read}")
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

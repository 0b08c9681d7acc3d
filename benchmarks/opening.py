"""How long does opening a snapshot take beside hashing its file?

    python -m benchmarks.opening [--megabytes N] [--rounds N]

Opening verifies every byte, so it cannot be quicker than SHA-256. Each time is that of a fresh
process; the file is in the page cache.
"""

import argparse
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
    "megabytes": Option(1_000, 60, "size of the snapshot, in millions of bytes"),
    "rounds": Option(9, 3, "turns"),
}
_COLUMNS, _BYTES = 4, 8
_OPEN = """
import sys, time
import preview.snapshot
started = time.perf_counter()
preview.snapshot.open_snapshot(sys.argv[1])
print(time.perf_counter() - started)
"""
_HASH = """
import hashlib, sys, time
started = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    hashlib.file_digest(file, "sha256").hexdigest()
print(time.perf_counter() - started)
"""


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Compare both."""
    snapshot = _pinned(asked.megabytes, folder)
    whole: timing.Times = {"open": [], "hash": []}

    def run(name: str, code: str, path: Path) -> float:
        started = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            cwd=timing.ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        whole[name].append(time.perf_counter() - started)
        return float(ran.stdout)

    found = timing.turns(
        {
            "open": lambda _: run("open", _OPEN, snapshot.folder),
            "hash": lambda _: run("hash", _HASH, snapshot.database),
        },
        asked.rounds,
        warm=1,
    )
    call = timing.row("the call", found["open"], found["hash"])
    size = snapshot.database.stat().st_size
    yield Result(
        name="open",
        question="How long does opening a snapshot take beside SHA-256 of its file?",
        own="open_snapshot",
        other="hashlib.file_digest",
        bar=1.15,
        measured=call.ratio,
        rows=(call, timing.row("whole processes", whole["open"][1:], whole["hash"][1:])),
        figures=(
            Figure("size of the file", size, "bytes"),
            Figure("hashing", size / call.other_s / 2**20, "MiB a second"),
        ),
        notes=("The ratio is that of the calls; the processes also start and import.",),
    )


def _pinned(megabytes: int, folder: Path) -> preview.Snapshot:
    """Pin so many bytes that do not compress."""
    place = folder / f"open-{megabytes}"
    if place.exists():
        return preview.open_snapshot(place)
    source = folder / "random.parquet"
    rows = megabytes * 1_000_000 // (_COLUMNS * _BYTES)
    columns = ", ".join(f"hash(range + {at} * {rows}) AS c{at}" for at in range(_COLUMNS))
    try:
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT {columns} FROM range({rows})) TO '{source}' "
                "(FORMAT parquet, COMPRESSION uncompressed)"
            )
        return preview.pin({"random": source}, into=place)
    finally:
        source.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(timing.main("opening", __doc__ or "", OPTIONS, measure))

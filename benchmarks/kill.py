"""Kill the process that appends to a ledger, at random points, and see what is left.

    python -m benchmarks.kill [KILLS]     (`make kill`: 2,000)

A child opens the ledger, appends observations as fast as it can, and writes each digest to a pipe
once the appending call has returned. It is killed with SIGKILL at a random moment. Then every digest
that came through the pipe must be in the ledger, and the chain must be whole: from the last good
entry each time, from the first every 100th time. Every 10th child makes a ledger of its own, so
that the making is killed too.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from eligibility.evidence import Cell, Column, Engine, EngineReading, Observation, OutputColumn, Pin
from preview.audit import audit
from preview.errors import LedgerMissing
from preview.ledger import Ledger

KILLS = 2_000
LONGEST_S = 0.06
_DIGEST_BYTES = 64


def observation(number: int, rows: int = 1) -> Observation:
    """Make a small observation, another one for every number."""
    statement = f"SELECT a FROM t LIMIT {number}"
    pin = Pin(
        path=("main", "t"),
        columns=(Column(name="a", type="INTEGER"),),
        rows=rows,
        content_sha256="0" * 64,
    )
    return Observation.sealed(
        statement=statement,
        statement_sha256="0" * 64,
        snapshot="0" * 64,
        manifest_sha256="0" * 64,
        pins=(pin,),
        engine=Engine(name="duckdb", version="0", settings=()),
        reading=EngineReading(shape=None, reasons=(), plan_sha256="0" * 64),
        columns=(OutputColumn(position=0, name="a", type="INTEGER"),),
        rows=tuple((Cell(type="INTEGER", text=str(row)),) for row in range(rows)),
        truncated=None,
        captured_at=f"2026-01-01T00:00:00.{number % 1_000_000:06}Z",
    )


def kills(count: int, folder: Path, seed: int = 0) -> dict[str, int]:
    """Kill `count` writers.

    Args:
        count: how many.
        folder: for the ledgers.
        seed: of the moments.

    Returns:
        How many kills there were, acknowledged observations, lost ones, entries, whole checks, and
        broken chains.
    """
    moments = random.Random(seed)  # noqa: S311 - no secret
    told = dict.fromkeys(("kills", "acknowledged", "lost", "entries", "whole", "broken"), 0)
    main = folder / "main.ledger"
    good: tuple[int, str] | None = None
    for number in range(count):
        fresh = number % 10 == 9
        path = folder / f"{number}.ledger" if fresh else main
        acknowledged = _killed_writer(path, number, moments.random() * LONGEST_S)
        told["kills"] += 1
        told["acknowledged"] += len(acknowledged)
        whole = fresh or number % 100 == 0
        with Ledger(path) as ledger:
            found = audit(ledger, after=None if whole else good)
            told["whole"] += whole
            told["broken"] += not found.whole
            told["entries"] += found.entries if not whole or fresh else 0
            for digest in acknowledged:
                try:
                    ledger.stored(digest)
                except LedgerMissing:
                    told["lost"] += 1
        if not fresh:
            good = found.head if found.head[0] else None
    return told


def _killed_writer(path: Path, number: int, after_s: float) -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _write(path, number, writing)
    os.close(writing)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    whole = len(data) - len(data) % _DIGEST_BYTES
    return [data[at : at + _DIGEST_BYTES].decode() for at in range(0, whole, _DIGEST_BYTES)]


def _write(path: Path, number: int, pipe: int) -> NoReturn:
    try:
        with Ledger(path) as ledger:
            for more in range(1_000_000):
                made = observation(number * 1_000_000 + more, rows=50 if more % 5 == 0 else 1)
                ledger.record(made)
                os.write(pipe, made.digest.encode())
    finally:
        os._exit(1)


def main() -> int:
    """Run the campaign and print what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=os.environ.get("LEDGER_DISK")) as folder:
        told = kills(count, Path(folder), seed=int(time.time()))
    told_in = ", ".join(f"{value:,} {name}" for name, value in told.items())
    print(f"{told_in} in {time.perf_counter() - started:.0f} s")
    return int(told["lost"] + told["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main())

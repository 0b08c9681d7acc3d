"""Kill the process that appends to a ledger, at random points, and see what is left.

    python -m benchmarks.kill [KILLS]     (`make kill`: 2,000)

A child opens the ledger, appends observations as fast as it can, and writes each digest and entry
to a pipe once the appending call has returned. Half of the children fork two more that do the same.
They are killed with SIGKILL at a random moment. Then every entry that came through the pipe must be
in the ledger, and the chain must be whole: from the last good entry each time, from the first every
100th time. Every 10th child makes a ledger of its own, so that the making is killed too.

Before half of the kills something is done to the ledger's files: they are copied, by another process
or by the writer itself, or the log or its index is removed or replaced; or the log is removed after
the kill. Entries that are gone then must be told by the audit, asked with the last entry that came
through the pipe; entries that are gone and not told are lost.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from eligibility.sql.observation import Cell, Engine, EngineReading, Observation, OutputColumn
from eligibility.sql.schema import Column, Pin
from preview.audit import Audit, audit
from preview.errors import LedgerError
from preview.ledger import Ledger

KILLS = 2_000
LONGEST_S = 0.2
HARMS = ("copied", "copied by itself", "log removed", "index removed", "log replaced", "log gone")
_LINE_BYTES = 64 + 1 + 16 + 1 + 64
Kept = list[tuple[str, int, str]]


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
        How many kills there were, harmed ledgers, acknowledged entries, those that are gone and
        told, lost ones, entries, whole checks, and broken chains of ledgers that nobody harmed.
    """
    moments = random.Random(seed)  # noqa: S311 - no secret
    names = ("kills", "harmed", "acknowledged", "told", "lost", "entries", "whole", "broken")
    told = dict.fromkeys(names, 0)
    main = folder / "main.ledger"
    good: tuple[int, str] | None = None
    for number in range(count):
        fresh = number % 10 == 9
        path = folder / f"{number}.ledger" if fresh else main
        harm = moments.choice(HARMS) if number % 2 else None
        after_s = moments.random() * LONGEST_S
        acknowledged = _killed_writer(path, number, after_s, harm, forks=number % 4 < 2)
        told["kills"] += 1
        told["harmed"] += harm is not None
        told["acknowledged"] += len(acknowledged)
        whole = fresh or number % 100 == 0
        gone, found = _gone(path, acknowledged, None if whole else good)
        told["whole"] += whole
        told["entries"] += found.entries if found and (not whole or fresh) else 0
        if found is None or not found.whole or gone:
            told["broken"] += harm is None
            is_told = found is None or not _with_head(path, acknowledged)
            told["told" if is_told else "lost"] += gone
        if fresh or harm not in (None, "copied", "copied by itself"):
            # What was harmed is used no more, as its owner would not.
            for file in folder.glob(f"{path.name}*"):
                file.unlink()
            good = good if fresh else None
        elif found is not None:
            good = found.head if found.head[0] else None
    return told


def _gone(
    path: Path, acknowledged: Kept, after: tuple[int, str] | None
) -> tuple[int, Audit | None]:
    """Count the entries that are gone; no audit where the ledger cannot be read."""
    try:
        with Ledger(path) as ledger:
            found = audit(ledger, after=after)
            there = {
                (entry.subject, entry.sequence, entry.hash)
                for entry in ledger.entries(newest_first=True, limit=len(acknowledged) + 50)
            }
    except LedgerError:
        return len(acknowledged), None
    return len(set(acknowledged) - there), found


def _with_head(path: Path, acknowledged: Kept) -> bool:
    """Say whether the ledger is whole, asked with the last entry that was acknowledged."""
    head = max((sequence, own) for _, sequence, own in acknowledged) if acknowledged else None
    with Ledger(path, readonly=True) as ledger:
        return audit(ledger, after=head).whole


def _killed_writer(
    path: Path, number: int, after_s: float, harm: str | None, *, forks: bool
) -> Kept:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        _write(path, number, writing, by_itself=harm == "copied by itself", forks=forks)
    os.close(writing)
    with suppress(OSError):  # whoever is first: the child does it too
        os.setpgid(child, child)
    time.sleep(after_s / 2)
    _harm(path, harm)
    time.sleep(after_s / 2)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()  # to its end: then all of them are gone
    if harm == "log gone":
        Path(f"{path}-wal").unlink(missing_ok=True)
    kept = []
    for at in range(0, len(data) - len(data) % _LINE_BYTES, _LINE_BYTES):
        digest, sequence, own = data[at : at + _LINE_BYTES].decode().split()
        kept.append((digest, int(sequence), own))
    return kept


def _harm(path: Path, harm: str | None) -> None:
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    with suppress(OSError):  # it may not be there yet
        match harm:
            case "copied":
                for file in (path, log, index):
                    shutil.copy(file, f"{file}.copy")
            case "log removed":
                log.unlink()
            case "index removed":
                index.unlink()
            case "log replaced":
                shutil.copy(log, f"{log}.new")
                Path(f"{log}.new").replace(log)


def _write(path: Path, number: int, pipe: int, *, by_itself: bool, forks: bool) -> NoReturn:
    try:
        with Ledger(path, busy_s=60) as ledger:
            which = 0
            for more in range(1_000_000):
                made = observation(
                    (number * 3 + which) * 1_000_000 + more, rows=50 if more % 5 == 0 else 1
                )
                entry = ledger.record(made)
                os.write(pipe, f"{made.digest} {entry.sequence:016} {entry.hash}".encode())
                if more == 2 and by_itself:
                    path.read_bytes()  # lets go of this process's locks
                if more < 2 and forks and which == 0 and os.fork() == 0:
                    which = more + 1
    except LedgerError:
        signal.pause()  # until it is killed, the connection open
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

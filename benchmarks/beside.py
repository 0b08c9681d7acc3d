"""Verify a ledger while eight processes append to it: it is whole every time.

    python -m benchmarks.beside [RUNS]     (`make beside`: 500)

Each writer appends, and opens the ledger anew from time to time. Every tenth run is of the program,
`eligibility ledger verify`, and every 50 runs have a ledger of their own, so that it stays small.
Counted are the runs that say anything but whole.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.kill import observation
from preview.audit import audit
from preview.ledger import Ledger

RUNS = 500
_OF_ONE = 50
WRITERS = 8
# So that the ledger does not grow without bound: each writer waits this long between entries.
PAUSE_S = 0.01


def runs(count: int, path: Path) -> Counter[str]:
    """Verify a ledger again and again.

    Args:
        count: how often.
        path: of the ledger, which is made.

    Returns:
        How many runs there were, those not whole, and entries at the end.
    """
    Ledger(path).close()
    writers = [_writer(path, number) for number in range(WRITERS)]
    told = Counter({"runs": 0, "not whole": 0, "entries": 0})
    try:
        for number in range(count):
            told["runs"] += 1
            if number % 10 == 9:
                command = [sys.executable, "-m", "evidence_adapters", "ledger", "verify", str(path)]
                run = subprocess.run(command, capture_output=True, text=True, check=False)
                if run.returncode != 0:
                    told["not whole"] += 1
                    print(run.stdout, run.stderr, file=sys.stderr)
            else:
                with Ledger(path, readonly=True) as ledger:
                    found = audit(ledger)
                told["entries"] = max(told["entries"], found.entries)
                if not found.whole:
                    told["not whole"] += 1
                    print(found.faults, file=sys.stderr)
    finally:
        for pid in writers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return told


def _writer(path: Path, number: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            for again in range(1_000_000):
                with Ledger(path, busy_s=60) as ledger:
                    for each in range(20):
                        ledger.record(observation(number * 10**9 + again * 100 + each))
                        time.sleep(PAUSE_S)
        finally:
            os._exit(1)
    return child


def main() -> int:
    """Run the campaign and print what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    started = time.perf_counter()
    told: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=os.environ.get("LEDGER_DISK")) as folder:
        for first in range(0, count, _OF_ONE):
            told.update(runs(min(_OF_ONE, count - first), Path(folder) / f"{first}.ledger"))
    told_in = ", ".join(f"{value:,} {name}" for name, value in told.items())
    print(f"{told_in} in {time.perf_counter() - started:.0f} s")
    return int(told["not whole"] > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Fork processes that append to a ledger, in every way we know, and see what is left.

    python -m benchmarks.forks [ROUNDS]     (`make forks`: 1,000)

In each round a host opens a ledger and appends from four threads, while it forks four children,
from its main thread or from one of those that append. Children append, from several threads too,
fork in their turn, exec, close, or only end; they end at once or in the middle of an append. The
host closes the ledger, or ends, before its children have ended. Half of the rounds are in memory
(`/dev/shm`), half on a disk. Counted are:

lost        entries that were acknowledged and are not there
damaged     ledgers that are not whole, or whose database is not
hung        rounds that did not end
refused     appends that raised an error
"""

import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from benchmarks.kill import observation
from preview.audit import audit
from preview.errors import LedgerError
from preview.ledger import Ledger

ROUNDS = 1_000
THREADS = CHILDREN = 4
EACH = 6
# Only to end a round that hangs.
ROUND_S_MAX = 60.0
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system, not a file
CHILD_WAYS = ("append", "threads", "forks", "exec", "close", "exit", "leave", "run", "again")
HOST_WAYS = ("closes", "ends", "stays")


class Writer:
    """One process of a round: appends, and tells what was acknowledged."""

    def __init__(self, path: Path, told: int, seed: int) -> None:
        """Open the ledger."""
        self.ledger, self._path = Ledger(path, busy_s=ROUND_S_MAX), path
        self._told, self._random = told, random.Random(seed)  # noqa: S311 - no secret
        self._number = seed * 10**8

    def append(self, count: int = EACH) -> None:
        """Append some observations, each told once it is acknowledged."""
        for _ in range(count):
            self._number += 1
            number = self._number * 10**6 + os.getpid() * 100 + threading.get_ident() % 97
            made = observation(number)
            try:
                entry = self.ledger.record(made)
            except LedgerError as error:
                os.write(self._told, f"! {error}\n".encode())
            else:
                os.write(self._told, f"{made.digest} {entry.sequence}:{entry.hash}\n".encode())

    def be_host(self) -> NoReturn:
        """Append from threads, fork children, and end in one of the ways."""
        way = self._random.choice(HOST_WAYS)
        forking = self._random.random() < 0.5
        plans = [self._random.choice(CHILD_WAYS) for _ in range(CHILDREN)]
        workers = [
            threading.Thread(target=self._work, args=(plans[number] if forking else None,))
            for number in range(THREADS)
        ]
        for worker in workers:
            worker.start()
        if not forking:
            for plan in plans:
                self.fork(plan)
                self.append(1)
        if way == "ends":
            os._exit(0)
        for worker in workers:
            worker.join()
        if way == "closes":
            self.ledger.close()
        else:
            self.append(1)
        os._exit(0)

    def _work(self, plan: str | None) -> None:
        self.append(EACH // 2)
        if plan is not None:
            self.fork(plan)
        self.append(EACH - EACH // 2)

    def fork(self, way: str) -> None:
        """Fork a child that appends, or does not, in one of the ways."""
        if os.fork() > 0:
            return
        try:
            self._be_child(way)
        finally:
            os._exit(0)

    def _be_child(self, way: str) -> None:
        match way:
            case "append":
                self.append()
            case "threads":
                self._threads(self.append)
            case "forks":
                self._threads(lambda: self.fork("append"))
                self.append()
            case "exec":
                self.append(1)
                os.execv("/bin/true", ["true"])  # noqa: S606 - as a host would
            case "close":
                self.append()
                self.ledger.close()
            case "leave":  # in the middle of what the other thread does
                threading.Thread(target=self.append, daemon=True).start()
                self.append(2)
            case "run":
                threading.Thread(target=self.append).start()
                subprocess.run(["/bin/true"], check=False)
                self.append(1)
            case "again":
                with Ledger(self._path, busy_s=ROUND_S_MAX) as other:
                    other.check()
                    self.append(2)
                self.append(2)

    def _threads(self, work: Callable[[], None]) -> None:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def rounds(count: int, folders: list[Path], seed: int = 0) -> Counter[str]:
    """Run some rounds.

    Args:
        count: how many.
        folders: for the ledgers, taken in turn.
        seed: of what the processes do.

    Returns:
        How many rounds there were, entries acknowledged, and what the module says.
    """
    tally: Counter[str] = Counter(dict.fromkeys(("lost", "damaged", "hung", "refused"), 0))
    for number in range(count):
        path = folders[number % len(folders)] / f"{number}.ledger"
        told = path.with_suffix(".told")
        tally["rounds"] += 1
        tally["hung"] += not _ended(path, told, seed + number)
        lines = told.read_text().splitlines() if told.exists() else []
        kept = [line.split() for line in lines if not line.startswith("!")]
        tally["acknowledged"] += len(kept)
        tally["refused"] += len(lines) - len(kept)
        for line in lines:
            if line.startswith("!"):
                print(line, file=sys.stderr)
        missing, whole = judged(path, kept)
        tally["lost"] += missing
        tally["damaged"] += not whole
        for file in path.parent.glob(f"{path.stem}.*"):
            file.unlink()
    return tally


def judged(path: Path, kept: list[list[str]]) -> tuple[int, bool]:
    """See how many entries are gone, and whether the ledger and its database are whole."""
    with Ledger(path) as ledger:
        there = {entry.subject: f"{entry.sequence}:{entry.hash}" for entry in ledger.entries()}
        whole = audit(ledger).whole
    with sqlite3.connect(path) as db:
        whole &= db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    return sum(there.get(digest) != head for digest, head in kept), whole


def _ended(path: Path, told: Path, seed: int) -> bool:
    """Run one round; say whether all of its processes ended."""
    reading, writing = os.pipe()
    host = os.fork()
    if host == 0:
        try:
            os.setpgid(0, 0)
            os.close(reading)
            file = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            Writer(path, file, seed).be_host()
        finally:
            os._exit(1)
    os.close(writing)
    # Every process of the round holds the other end for as long as it lives.
    ended = bool(select.select([reading], [], [], ROUND_S_MAX)[0])
    os.close(reading)
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(host, signal.SIGKILL)
    return os.waitpid(host, 0)[1] == 0 and ended


def main() -> int:
    """Run the campaign and print what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    started = time.perf_counter()
    disk, memory = os.environ.get("LEDGER_DISK"), MEMORY if MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=disk) as on_disk,
        tempfile.TemporaryDirectory(dir=memory) as in_memory,
    ):
        told = rounds(count, [Path(on_disk), Path(in_memory)], seed=int(time.time()))
    told_in = ", ".join(f"{value:,} {name}" for name, value in told.items())
    print(f"{told_in} in {time.perf_counter() - started:.0f} s")
    return int(sum(told[what] for what in ("lost", "damaged", "hung", "refused")) > 0)


if __name__ == "__main__":
    sys.exit(main())

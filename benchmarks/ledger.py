"""Measure the ledger: many writers beside plain durable commits, growth, and verification.

    python -m benchmarks.ledger [writers|growth]

The disk is that of the temporary folder, or of LEDGER_DISK. What is compared is measured in the same
run, in turns, since a disk is never equally fast for long.
"""

import hashlib
import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from benchmarks.kill import observation
from eligibility.evidence.entry import ObservationRecord, Programs
from eligibility.sql.observation import Observation
from eligibility.wire.canonical import canonical_bytes
from preview.audit import audit
from preview.ledger import Ledger
from preview.signing import make_key, read_private

WRITERS = 8
EACH = 40
ROUNDS = 12
SMALL, LARGE = 1_000, 100_000
APPENDED = 40
GROWTH_ROUNDS = 20
LOOKED_UP = 200


def main() -> None:
    """Run the parts that are asked for, or all."""
    parts = sys.argv[1:] or ["writers", "growth"]
    with tempfile.TemporaryDirectory(dir=os.environ.get("LEDGER_DISK")) as folder:
        if "writers" in parts:
            writers(Path(folder))
        if "growth" in parts:
            growth(Path(folder))


# --- many writers ---------------------------------------------------------------------------------


def writers(folder: Path) -> None:
    """Compare 8 processes that append with 8 that commit the same bytes to a plain table."""
    works: dict[str, Callable[[Path, list[Observation], list[bytes]], None]] = {
        "plain": _plain,
        "ledger": _append,
    }
    rates: dict[str, list[float]] = {name: [] for name in works}
    for number in range(ROUNDS):
        for name in sorted(works, reverse=number % 2 == 1):
            path = folder / f"{name}{number}"
            rates[name].append(_rate(works[name], path, number))
            if name == "ledger":
                with Ledger(path) as ledger:
                    sequence = [entry.sequence for entry in ledger.entries()]
                    assert sequence == list(range(1, WRITERS * EACH + 1))  # none lost, none doubled
                    assert audit(ledger).whole  # and all linked
    middle = {name: statistics.median(found) for name, found in rates.items()}
    ratios = [own / plain for own, plain in zip(rates["ledger"], rates["plain"], strict=True)]
    print(
        f"{WRITERS} writers: ledger {middle['ledger']:,.0f} a second, plain durable commits "
        f"{middle['plain']:,.0f} a second (medians of {ROUNDS} rounds in turns); ratio "
        f"{middle['ledger'] / middle['plain']:.2f}, median of the rounds' ratios "
        f"{statistics.median(ratios):.2f}, all rounds together "
        f"{sum(1 / r for r in rates['plain']) / sum(1 / r for r in rates['ledger']):.2f}"
    )


def _rate(
    work: Callable[[Path, list[Observation], list[bytes]], None], path: Path, number: int
) -> float:
    context = multiprocessing.get_context("fork")
    ready, go = context.Barrier(WRITERS + 1), context.Event()

    def run(writer: int) -> None:
        first = (number * WRITERS + writer) * EACH
        made = [observation(first + each, rows=50) for each in range(EACH)]
        payloads = [_payload(each) for each in made]
        ready.wait()
        go.wait()
        work(path, made, payloads)

    _prepare(work, path)
    processes = [context.Process(target=run, args=(writer,)) for writer in range(WRITERS)]
    for process in processes:
        process.start()
    ready.wait()
    started = time.perf_counter()
    go.set()
    for process in processes:
        process.join()
    assert not any(process.exitcode for process in processes)  # none gave up
    return WRITERS * EACH / (time.perf_counter() - started)


def _payload(made: Observation) -> bytes:
    programs = Programs(eligibility="0", python="0")
    return canonical_bytes(ObservationRecord(observation=made, programs=programs))


def _prepare(work: object, path: Path) -> None:
    if work is _append:
        Ledger(path).close()
        return
    db = _connected(path)
    db.execute("CREATE TABLE entry (sequence INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT")
    db.close()


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=60)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    return db


def _plain(path: Path, _: list[Observation], payloads: list[bytes]) -> None:
    db = _connected(path)
    for payload in payloads:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO entry (payload) VALUES (?)", (payload,))
        db.execute("COMMIT")


def _append(path: Path, made: list[Observation], _: list[bytes]) -> None:
    with Ledger(path, busy_s=60) as ledger:
        for each in made:
            ledger.record(each)


# --- growth and verification ----------------------------------------------------------------------


@cache
def _recorded() -> Observation:
    """Record an observation of the size of an everyday one."""
    import pyarrow as pa

    import preview

    numbers = list(range(1_000))
    columns = {f"column_{each}": numbers for each in range(12)}
    names = ", ".join([*columns][:4])
    with tempfile.TemporaryDirectory() as folder:
        snapshot = preview.pin({"t": pa.table(columns)}, into=Path(folder) / "snapshot")
        with preview.Recorder(snapshot) as recorder:
            return recorder.capture(f"SELECT {names} FROM t ORDER BY column_0 LIMIT 20")


def _observation(number: int) -> Observation:
    """Give that observation as if captured at another time for every number."""
    day, second = divmod(number, 86_400)
    when = f"2026-01-01T00:00:00.{day:06}Z".replace(
        "00:00:00", f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    )
    fields = dict(_recorded()) | {"captured_at": when}
    return Observation.sealed(**{k: v for k, v in fields.items() if k not in ("format", "digest")})


def growth(folder: Path) -> None:
    """Compare a ledger of 100,000 entries with one of 1,000, and verify the large one."""
    small, large = folder / "small", folder / "large"
    for path, count in ((small, SMALL), (large, LARGE)):
        _fill(path, count)
    os.sync()  # what was only written must not slow down what is measured
    print(f"a record is {len(_payload(_observation(0))):,} bytes")
    for name, measured in (("append", _appending), ("look-up", _looking_up)):
        taken: dict[int, list[float]] = {SMALL: [], LARGE: []}
        for at in range(GROWTH_ROUNDS):
            for path, count in sorted([(small, SMALL), (large, LARGE)], reverse=at % 2 == 1):
                taken[count] += measured(path, count, at)
        few, many = statistics.median(taken[SMALL]), statistics.median(taken[LARGE])
        print(
            f"{name}: {few * 1e6:,.0f} µs at {SMALL:,} entries, {many * 1e6:,.0f} µs at "
            f"{LARGE:,}: {many / few:.2f} times"
        )
    _verifying(large)
    _signed(folder)


def _fill(path: Path, count: int, first: int = 0) -> None:
    with Ledger(path) as ledger:
        ledger._db.execute("PRAGMA synchronous=OFF")  # only to be quick: nothing is measured here
        for number in range(count):
            ledger.record(_observation(first + number))


def _appending(path: Path, count: int, number: int) -> list[float]:
    made = [_observation(1_000_000 * (number + 1) + count + each) for each in range(APPENDED)]
    with Ledger(path) as ledger:
        ledger.record(made[0])
        taken = []
        for each in made[1:]:
            started = time.perf_counter()
            ledger.record(each)
            taken.append(time.perf_counter() - started)
    return taken


def _looking_up(path: Path, count: int, number: int) -> list[float]:
    digests = [
        _observation((number * 7919 + each * 104_729) % count).digest for each in range(LOOKED_UP)
    ]
    with Ledger(path) as ledger:
        started = time.perf_counter()
        for digest in digests:
            ledger.stored(digest)
        return [(time.perf_counter() - started) / LOOKED_UP]


def _verifying(path: Path) -> None:
    checked, hashed, entries = [], [], 0
    for _ in range(5):
        started = time.perf_counter()
        with Ledger(path, readonly=True) as ledger:
            found = audit(ledger)
        checked.append(time.perf_counter() - started)
        assert found.whole  # or there is nothing to measure
        entries = found.entries
        started = time.perf_counter()
        with path.open("rb") as file:
            hashlib.file_digest(file, "sha256")
        hashed.append(time.perf_counter() - started)
    size = path.stat().st_size
    own, plain = size / statistics.median(checked), size / statistics.median(hashed)
    print(
        f"verify: {entries:,} entries, {size / 1e6:,.0f} MB: {own / 1e6:,.0f} MB a second, "
        f"hashing the file's bytes {plain / 1e6:,.0f} MB a second: {own / plain:.2f} times"
    )


def _signed(folder: Path) -> None:
    make_key(folder / "private.pem", folder / "public.pem")
    key = read_private(folder / "private.pem")
    with Ledger(folder / "signed", key=key) as ledger:
        ledger._db.execute("PRAGMA synchronous=OFF")  # only to be quick: nothing is measured here
        for number in range(2_000):
            ledger.record(_observation(number))
        started = time.perf_counter()
        found = audit(ledger, keys=[key.public])
        taken = time.perf_counter() - started
    assert found.signed == 2_000  # or they were not verified
    print(f"signed entries verified: {found.signed / taken:,.0f} a second")


if __name__ == "__main__":
    main()

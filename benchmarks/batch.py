"""How much quicker are two processes than one at checking many statements, and is memory flat?

    python -m benchmarks.batch [--statements N] [--rounds N]

The statements of `../shared/corpora` again and again, through `eligibility check --batch`. They are
judged over the tables of all their schemas together; of two tables of one name the first is there.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks import timing
from benchmarks.real import SHARED, SHARED_COUNT, TYPES
from benchmarks.timing import Figure, Option, Result

OPTIONS = {
    "statements": Option(100_000, 4_000, "how many statements"),
    "rounds": Option(2, 2, "turns"),
}
FLAT = 1.1
_FEWER = 10  # memory is compared with that of a tenth of the statements
_LOOKS_S = 0.5  # seldom, so that looking takes nothing from those who work


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Answer both."""
    result = Result(
        name="batch-jobs",
        question="How much quicker do two processes check a batch than one?",
        own="time of one",
        other="time of two",
        bar=1.8,
        least=True,
        measured=None,
    )
    if not (SHARED / "statements.jsonl").exists():
        note = f"`../shared` is absent: {SHARED_COUNT} statements are skipped."
        yield timing.filled(result, notes=(note,))
        return
    schema, many, few = folder / "schema.json", folder / "many.jsonl", folder / "few.jsonl"
    schema.write_text(json.dumps(_tables()))
    for file, count in ((many, asked.statements), (few, max(asked.statements // _FEWER, 1))):
        _write(file, count)
    try:
        yield from _compared(asked, result, schema, many, few)
    finally:
        for file in (schema, many, few):
            file.unlink()


def _compared(
    asked: argparse.Namespace, result: Result, schema: Path, many: Path, few: Path
) -> Iterable[Result]:
    _run(few, schema, 2)  # so that all is in the page cache
    peaks: dict[int, int] = {}

    def run(jobs: int) -> float:
        seconds, peaks[jobs] = _run(many, schema, jobs)
        return seconds

    found = timing.turns({"one": lambda _: run(1), "two": lambda _: run(2)}, asked.rounds, warm=0)
    row = timing.row(f"{asked.statements:,} statements", found["one"], found["two"])
    yield timing.filled(
        result,
        measured=row.ratio,
        rows=(row,),
        figures=(
            Figure("one process", asked.statements / row.own_s, "statements a second"),
            Figure("two processes", asked.statements / row.other_s, "statements a second"),
        ),
        notes=("Whole runs of the program, its start included.",),
    )
    _, least = _run(few, schema, 2)
    yield Result(
        name="batch-memory",
        question="Does a batch need more memory when it has ten times the statements?",
        own="most memory for all statements",
        other="for a tenth of them",
        bar=FLAT,
        measured=peaks[2] / least,
        figures=(
            Figure("all statements, program and its two processes", peaks[2], "bytes"),
            Figure("a tenth of them", least, "bytes"),
        ),
        notes=(
            f"Flat is taken to mean: at most {FLAT} times. The sum of the peaks in /proc, at the end.",
        ),
    )


def _run(file: Path, schema: Path, jobs: int) -> tuple[float, int]:
    """Check a batch; give the seconds, and the sum of the peaks of its processes, in bytes."""
    program = [sys.executable, "-m", "evidence_adapters", "check", "--batch", str(file)]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*program, "--schema", str(schema), "--jobs", str(jobs)],
        cwd=timing.ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    peaks: dict[int, int] = {}
    watch = threading.Thread(target=_watch, args=(process, peaks))
    watch.start()
    _, said = process.communicate()
    seconds = time.perf_counter() - started
    watch.join()
    if process.returncode not in (0, 1):  # something, or nothing, is eligible
        sys.stderr.write(said.decode(errors="replace")[-2000:])
        raise RuntimeError("the batch could not be checked")
    return seconds, sum(peaks.values())


def _watch(process: "subprocess.Popen[bytes]", peaks: dict[int, int]) -> None:
    while process.poll() is None:
        for pid in (process.pid, *timing.descendants(process.pid)):
            peak = timing.peak_bytes(pid)
            if peak:
                peaks[pid] = peak
        time.sleep(_LOOKS_S)


def _tables() -> dict[str, dict[str, str]]:
    schemas: dict[str, Any] = json.loads((SHARED / "schemas.json").read_text())
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for schema in schemas.values():
        for table, columns in schema["schema"].items():
            typed = {name: TYPES.get(kind, kind) for name, kind in columns.items()}
            found.setdefault(table.casefold(), (table, typed))
    return dict(found.values())


def _write(file: Path, count: int) -> None:
    lines = (SHARED / "statements.jsonl").read_text().splitlines()
    statements = [json.loads(line)["sql"] for line in lines]
    with file.open("w") as into:
        for number, statement in enumerate(islice(cycle(statements), count)):
            into.write(json.dumps({"id": str(number), "statement": statement}) + "\n")


if __name__ == "__main__":
    sys.exit(timing.main("batch", __doc__ or "", OPTIONS, measure))

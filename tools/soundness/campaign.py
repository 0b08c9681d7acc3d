"""The long search: two processes write, read, execute and judge until the time or the number is reached.

    python -m tools.soundness.campaign [--seconds N] [--statements N] [--workers N] [--seed N] [--write]

What the text reading leaves eligible, and one statement in a hundred of the rest, is executed,
released and judged. `--write` keeps the counts for the page.

Invariants
  P1  Every worker is watched: one that stays with a statement for longer than `STUCK_S` is killed,
      and another takes its place. At the end the statement is tried once more by itself, since a
      busy machine stops workers too. Where it stays again, that is a fault in the text, in release
      and in the judges; in the engine it is what the recorder's own time limit is for.
  P2  Counts are flushed every two seconds; what a killed worker did since is not counted.
  P3  Statements are counted once, over all workers.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from multiprocessing.sharedctypes import RawArray, RawValue
from pathlib import Path
from typing import Any

import duckdb

import preview
from eligibility import Observation
from tools.soundness.generator import Writer, corpus_words
from tools.soundness.trial import Trial

KEPT = Path(__file__).with_name("campaign.json")
STUCK_S = 5.0
ALONE_S = 30.0
FLUSH_S = 2.0
SAMPLED_OF = 100  # of the statements of which nothing is eligible by the text
NOT_REPEATABLE = ("random", "now", "sample")  # words of statements whose rows differ each time
RECORDED_OF = 50  # of the executed statements, through the recorder too
WHOLE_OF = 10  # of the executed statements, every cell is released; of others those of a few rows
MEMORY_BYTES = 6 * 2**30
EXAMPLES_MAX = 40
TEXT_BYTES = 2**15
# (data set, in a session that shadows the calls), and how often.
MIX = (("tainted", False),) * 5 + (("recomputed", False),) * 5 + (("recomputed", True),)


class Slot:
    """Where a worker says what it does, for the watch."""

    def __init__(self) -> None:
        """Make it in memory that processes share."""
        self.since = RawValue("d", 0.0)
        self.stage = RawArray("c", 16)
        self.length = RawValue("i", 0)
        self.text = RawArray("c", TEXT_BYTES)

    def begin(self, stage: str, statement: str | None = None) -> None:
        """Say what begins, and with which statement where it is another."""
        if statement is not None:
            raw = statement.encode(errors="surrogatepass")[:TEXT_BYTES]
            self.text[: len(raw)] = raw
            self.length.value = len(raw)
        self.stage.value = stage.encode()
        self.since.value = time.monotonic()

    def statement(self) -> str:
        """Give the statement that was begun."""
        return bytes(self.text[: self.length.value]).decode(errors="replace")


class Worker:
    """Writes and judges statements in a process of its own."""

    def __init__(self, folder: Path, number: int, seed: int, slot: Slot) -> None:
        """Take where counts go, a number among all workers, a seed and the watch's slot."""
        self._out, self._slot = folder / f"{number}", slot
        self._random = random.Random(seed)
        self._seen: set[int] = set()
        self._new = array("Q")
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[list[str]]] = {}
        self._flushed = 0.0

    def run(self, until: float) -> None:
        """Go on until a time of the monotonic clock."""
        draw = self._random.random
        with ExitStack() as stack:
            self._slot.begin("start")
            trials = {key: stack.enter_context(Trial(key[0], shadowed=key[1])) for key in set(MIX)}
            recorders = {
                key: stack.enter_context(preview.Recorder(trial.snapshot, threads=1))
                for key, trial in trials.items()
                if not key[1]
            }
            words = corpus_words()
            writers = {
                key: Writer(trial.tables, lambda n: int(draw() * n), words)
                for key, trial in trials.items()
            }
            parent = os.getppid()
            while time.monotonic() < until and os.getppid() == parent:
                key = MIX[int(draw() * len(MIX))]
                statement = writers[key].statement()
                name = hashlib.blake2b(f"{key}{statement}".encode(errors="replace"), digest_size=8)
                digest = int.from_bytes(name.digest(), "little")
                if digest not in self._seen:
                    self._seen.add(digest)
                    self._new.append(digest)
                    self._one(statement, trials[key], recorders.get(key), key)
                    self._flush(FLUSH_S)
        self._flush(0.0)
        self._slot.begin("end")

    def _one(
        self,
        statement: str,
        trial: Trial,
        recorder: preview.Recorder | None,
        key: tuple[str, bool],
    ) -> None:
        counts = self._counts
        counts["statements"] += 1
        self._slot.begin("text", statement)
        try:
            verdicts = trial.classify(statement)
        except Exception as error:  # noqa: BLE001  whatever it is, it is a fault
            self._keep("fault", statement, f"classify raised {type(error).__name__}: {error}"[:300])
            return
        eligible = verdicts.any_eligible
        counts["eligible by the text"] += eligible
        if not eligible and self._random.random() * SAMPLED_OF >= 1:
            return
        counts["sampled of the rest"] += not eligible
        whole = self._random.random() * WHOLE_OF < 1
        outcome = trial.run(statement, verdicts, self._slot.begin, whole=whole)
        counts["executed"] += outcome.ran
        counts["facts: stored values"] += outcome.facts[0]
        counts["facts: calculations"] += outcome.facts[1]
        counts[f"SQLite: {outcome.sqlite}"] += 1
        for fault in outcome.faults[:3]:
            self._keep("fault", statement, f"{key[0]}{' shadowed' * key[1]}: {fault}")
        if outcome.disagrees:
            counts["readings disagree, shadowed" if key[1] else "readings disagree"] += 1
            if not key[1]:
                self._keep("disagreement", statement, key[0])
        if outcome.ran and recorder is not None and self._random.random() * RECORDED_OF < 1:
            self._recorded(statement, trial, recorder)

    def _recorded(self, statement: str, trial: Trial, recorder: preview.Recorder) -> None:
        """Hold an observation beside the recorder's own; rows that have no order aside."""
        self._slot.begin("recorder")
        try:
            theirs = recorder.capture(statement)
        except preview.PreviewError as error:
            self._keep("fault", statement, f"only the recorder: {type(error).__name__}")
            return
        self._slot.begin("compare")
        self._counts["recorded as well"] += 1
        ours = trial.observe(statement)
        if theirs.recomputed_digest() != theirs.digest:
            self._keep("fault", statement, "the recorder's digest is another")
        if ours is None or _comparable(ours) != _comparable(theirs):
            if not any(word in statement.lower() for word in NOT_REPEATABLE):
                self._keep("fault", statement, "the recorder's observation is another")

    def _keep(self, kind: str, statement: str, what: str) -> None:
        self._counts[f"{kind}s"] += 1
        kept = self._examples.setdefault(kind, [])
        if len(kept) < EXAMPLES_MAX:
            kept.append([what, statement])

    def _flush(self, after: float) -> None:
        if time.monotonic() - self._flushed < after:
            return
        with self._out.with_suffix(".digests").open("ab") as file:
            self._new.tofile(file)
        self._new = array("Q")
        self._counts["seconds of a core"] = round(time.process_time())
        # A lone surrogate is written escaped: JSON text here is ASCII.
        document = json.dumps({"counts": self._counts, "examples": self._examples})
        part = self._out.with_suffix(".part")
        part.write_text(document)
        part.replace(self._out.with_suffix(".json"))
        self._flushed = time.monotonic()


def _comparable(observation: Observation) -> Any:
    tree = observation.model_dump(mode="json")
    return [
        tree[k] for k in ("statement", "snapshot", "pins", "reading", "columns", "truncated")
    ], sorted(map(str, tree["rows"]))


def _confined(folder: Path) -> None:
    """Bound what a worker takes, and let it leave nothing outside of the campaign's own folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    tempfile.tempdir = str(folder)


def _work(folder: Path, number: int, seed: int, slot: Slot, until: float) -> None:
    _confined(folder)
    Worker(folder, number, seed, slot).run(until)


def _alone(folder: Path, statement: str, slot: Slot) -> None:
    _confined(folder)
    for name, shadowed in sorted(set(MIX)):
        with Trial(name, shadowed=shadowed) as trial:
            slot.begin("text")
            trial.run(statement, trial.classify(statement), slot.begin)


class Campaign:
    """Starts workers, watches them, replaces those that are stuck or gone, and adds up."""

    def __init__(self, folder: Path, workers: int, seed: int) -> None:
        """Take a folder for the counts, how many workers, and the first seed."""
        self._folder, self._seed = folder, seed
        self._context = multiprocessing.get_context("spawn")
        self._slots = [Slot() for _ in range(workers)]
        self._started = 0
        self._lost: list[str] = []
        self._again: Counter[str] = Counter()
        self._stuck: list[list[str]] = []

    def run(self, seconds: float, statements: int) -> dict[str, Any]:
        """Search until the time is over or so many statements were tried; gives the report."""
        begun = time.monotonic()
        until = begun + seconds
        processes = [self._start(slot, until) for slot in self._slots]
        try:
            while (
                any(process.is_alive() for process in processes) and time.monotonic() < until + 10
            ):
                time.sleep(0.25)
                for place, slot in enumerate(self._slots):
                    if self._is_lost(processes[place], slot) and time.monotonic() < until:
                        processes[place] = self._start(slot, until)
                if self._tried() >= statements:
                    break
        except KeyboardInterrupt:
            sys.stderr.write("stopped\n")
        for process in processes:
            process.kill()
            process.join()
        seconds = time.monotonic() - begun
        for statement in self._lost:
            self._confirm(statement)
        return self._report(seconds)

    def _start(self, slot: Slot, until: float) -> Any:
        slot.begin("start", "")
        self._started += 1
        process = self._context.Process(
            target=_work,
            args=(self._folder, self._started, self._seed + self._started, slot, until),
            daemon=False,
        )
        process.start()
        return process

    def _is_lost(self, process: Any, slot: Slot) -> bool:
        """Say whether a worker ended before its time or is stuck; then it is killed (P1)."""
        stage = slot.stage.value.decode()
        if process.is_alive():
            patience = STUCK_S if stage not in ("start", "recorder") else 60.0
            if time.monotonic() - slot.since.value < patience or stage == "end":
                return False
            process.kill()
            process.join()
            what = f"stuck in {stage}"
        elif process.exitcode == 0:
            return False
        else:
            what = f"gone with {process.exitcode} in {stage}"
        self._lost.append(slot.statement())
        sys.stderr.write(f"{what}: {slot.statement()!a}\n")
        return True

    def _confirm(self, statement: str) -> None:
        """Try a statement that a worker was lost with once more, by itself (P1)."""
        slot = self._slots[0]
        slot.begin("start", statement)
        process = self._context.Process(target=_alone, args=(self._folder, statement, slot))
        process.start()
        while process.is_alive() and time.monotonic() - slot.since.value < ALONE_S:
            time.sleep(0.1)
        if process.is_alive() or process.exitcode != 0:
            process.kill()
            stage = slot.stage.value.decode()
            self._again["in the engine" if stage == "engine" else "elsewhere"] += 1
            self._stuck.append([f"stuck in {stage}, alone", statement])
        process.join()

    def _tried(self) -> int:
        return sum(file.stat().st_size for file in self._folder.glob("*.digests")) // 8

    def _report(self, seconds: float) -> dict[str, Any]:
        counts: Counter[str] = Counter()
        examples: dict[str, list[list[str]]] = {}
        digests: set[int] = set()
        for file in sorted(self._folder.glob("*.json")):
            part = json.loads(file.read_text())
            counts.update(part["counts"])
            for kind, kept in part["examples"].items():
                examples.setdefault(kind, []).extend(kept)
        for file in self._folder.glob("*.digests"):
            read = array("Q")
            with file.open("rb") as raw:
                read.fromfile(raw, file.stat().st_size // 8)
            digests.update(read)
        return {
            "seconds": round(seconds),
            "workers": len(self._slots),
            "cores": os.cpu_count(),
            "distinct": len(digests),
            "per_second": round(len(digests) / seconds),
            "facts": counts["facts: stored values"] + counts["facts: calculations"],
            "faults": counts["faults"],
            "workers lost": len(self._lost),
            "stuck in the engine": self._again["in the engine"],
            "stuck or gone elsewhere": self._again["elsewhere"],
            "counts": dict(sorted(counts.items())),
            "versions": {"duckdb": duckdb.__version__, "sqlglot": version("sqlglot")},
            "examples": {**examples, "stuck": self._stuck},
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign; 0 where nothing was found, else 1."""
    parser = argparse.ArgumentParser(prog="tools.soundness.campaign")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--statements", type=int, default=sys.maxsize)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    parser.add_argument("--write", action="store_true", help="keep the counts for the page")
    parser.add_argument("--report", type=Path, help="write the whole report here")
    given = parser.parse_args(arguments)
    # Also where it was started in the background: what was counted is reported.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        report = Campaign(Path(folder), given.workers, given.seed).run(
            given.seconds, given.statements
        )
    report["seed"] = given.seed
    if given.report:
        given.report.write_text(json.dumps(report, indent=1))
    examples = report.pop("examples")
    for kind, kept in examples.items():
        for what, statement in kept[:10]:
            sys.stdout.write(f"{kind}: {what}\n    {statement!a}\n")
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    if given.write:
        KEPT.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    return int(report["faults"] + report["stuck or gone elsewhere"] > 0)


if __name__ == "__main__":
    sys.exit(main())

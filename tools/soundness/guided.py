"""The search led by coverage: atheris chooses the generator's answers by what they reach.

    python -m tools.soundness.guided SECONDS FOLDER

The bytes that atheris varies are the answers of the generator's driver, so every input is a
statement of the grammar; the decision and the plan's reader are instrumented. What it finds stops
it and is left in FOLDER, with the inputs that reached something new.
"""

import random
import sys
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

# It has no wheel for every system, and is needed here alone.
atheris: Any = import_module("atheris")

with atheris.instrument_imports(include=["eligibility", "preview.duckdb.plan"]):
    from tools.soundness.generator import Writer, corpus_words
    from tools.soundness.trial import Trial


SEEDS = 200
BYTES_MAX = 256


class Bytes:
    """Answers from bytes, one each or two; the plainest answer when they are used up."""

    def __init__(self) -> None:
        """Start without bytes."""
        self._left = iter(b"")

    def refill(self, data: bytes) -> None:
        """Take the bytes of another input."""
        self._left = iter(data)

    def below(self, limit: int) -> int:
        """Give an integer from 0 to limit - 1."""
        answer = next(self._left, 0)
        if limit > 256:
            answer = answer * 256 + next(self._left, 0)
        return answer % limit


def main() -> None:
    """Search until the time is over."""
    seconds, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(SEEDS):
        first = random.Random(seed).randbytes(BYTES_MAX)
        (folder / f"seed{seed}").write_bytes(first)
    source, words, seen = Bytes(), corpus_words(), set[int]()
    trials = [Trial("tainted"), Trial("recomputed")]
    pairs = cycle([(trial, Writer(trial.tables, source.below, words)) for trial in trials])

    def one(data: bytes) -> None:
        for trial, writer in (next(pairs), next(pairs)):
            source.refill(data)
            statement = writer.statement()
            if hash(statement) in seen:
                continue
            seen.add(hash(statement))
            verdicts = trial.classify(statement)
            if verdicts.any_eligible and (faults := trial.run(statement, verdicts).faults):
                raise RuntimeError(f"{faults[0]}\n{statement!a}")

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={BYTES_MAX}",
        "-len_control=0",
        "-timeout=5",
        "-rss_limit_mb=6144",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(folder)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

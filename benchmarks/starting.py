"""How long does it take until the package is imported, and until the program has said its help?

    python -m benchmarks.starting [--rounds N]

All are whole fresh processes, in turns, with what is compiled to bytecode already there. `import
eligibility` alone loads nothing until a name is asked for; so what is called imported here has
loaded `classify` and `release`, and what the bare import costs is told beside it.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import timing
from benchmarks.timing import Option, Result

OPTIONS = {"rounds": Option(40, 6, "turns")}
_PROGRAM = (
    "import sys; from evidence_adapters.cli import main; sys.exit(main())"  # as it is installed
)
_NAMED = (
    "The ratio is that beside the import that has loaded `classify` and `release`. The bare import "
    "loads nothing, and the program has to load what it is made with: beside that it takes longer."
)
PROCESSES = {
    "bare": ("pass",),
    "loaded": ("from eligibility import classify, release",),
    "named": ("import eligibility",),
    "needed": ("from pydantic import BaseModel; import sqlglot.dialects.duckdb",),
    "help": (_PROGRAM, "--help"),
}


def measure(asked: argparse.Namespace, _: Path) -> Iterable[Result]:
    """Answer both."""
    found = timing.turns({name: _running(*code) for name, code in PROCESSES.items()}, asked.rounds)
    less = {
        name: [max(own - bare, 1e-6) for own, bare in zip(times, found["bare"], strict=True)]
        for name, times in found.items()
    }
    beyond = timing.row("beyond the interpreter's start", less["loaded"], less["needed"])
    bare = timing.quartiles(found["bare"])[1]
    interpreter = timing.Figure("the interpreter alone", bare, "s")
    yield Result(
        name="start-import",
        question="How long does importing `eligibility` take beside what it needs, pydantic and sqlglot?",
        own="eligibility",
        other="pydantic.BaseModel, sqlglot with DuckDB's dialect",
        bar=1.35,
        measured=beyond.ratio,
        rows=(
            beyond,
            timing.row("whole processes", found["loaded"], found["needed"]),
            timing.row("whole, `import eligibility` alone", found["named"], found["needed"]),
        ),
        figures=(interpreter,),
        notes=("The ratio is that of the times less the interpreter's own start.",),
    )
    helped = timing.row("loaded: whole processes", found["help"], found["loaded"])
    yield Result(
        name="start-help",
        question="How long does `eligibility --help` take beside importing `eligibility`?",
        own="the program with --help",
        other="eligibility",
        bar=1.6,
        measured=helped.ratio,
        rows=(
            helped,
            timing.row("`import eligibility` alone", found["help"], found["named"]),
        ),
        figures=(interpreter,),
        notes=(_NAMED,),
    )


def _running(*code: str) -> Callable[[int], float]:
    def run(_: int) -> float:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", *code],
            cwd=timing.ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - started

    return run


if __name__ == "__main__":
    sys.exit(timing.main("starting", __doc__ or "", OPTIONS, measure))

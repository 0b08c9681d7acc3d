"""How long does `classify` take beside sqlglot's `parse_one`, compiled and in plain Python?

    python -m benchmarks.parse [--rounds N] [--pure N] [--each N]

A statement cannot be judged without being parsed, so parsing it is the floor. Every statement is
another text in every turn, so that nothing that is kept of a statement helps. For plain Python the
package sqlglot is copied without its compiled files, and another interpreter imports the copy.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import sqlglot
import sqlglot.parser
import sqlglot.tokenizer_core

from benchmarks import timing
from benchmarks.statements import SIMPLE, schema, varied
from benchmarks.timing import Option, Result, Row, Work
from eligibility import Schema, classify

OPTIONS = {
    "rounds": Option(100, 10, "turns for each statement, compiled"),
    "pure": Option(50, 7, "turns for each statement, in plain Python"),
    "each": Option(10, 10, "statements that each side takes in one turn"),
}
_COMPILED = (sqlglot.parser, sqlglot.tokenizer_core)
_NOTE = (
    "The ratio is the median of the statements' ratios. In every turn each side takes texts that "
    "it has never seen, with another literal or alias: nothing kept of a statement can help."
)


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Compare both ways of running sqlglot."""
    compiled = not any(str(module.__file__).endswith(".py") for module in _COMPILED)
    yield _result(
        "classify-compiled",
        "How long does `classify` take beside compiled `parse_one`?",
        1.6,
        rows(asked.rounds, asked.each) if compiled else (),
        () if compiled else ("sqlglotc is not installed here.",),
    )
    yield _result(
        "classify-pure",
        "How long does `classify` take beside `parse_one` in plain Python?",
        1.3,
        pure(asked.pure, asked.each, folder),
    )


def _result(
    name: str, question: str, bar: float, found: tuple[Row, ...], notes: tuple[str, ...] = ()
) -> Result:
    return Result(
        name=name,
        question=question,
        own="classify",
        other="parse_one",
        bar=bar,
        measured=timing.middle(found),
        rows=found,
        notes=(_NOTE, *notes),
    )


def rows(rounds: int, each: int) -> tuple[Row, ...]:
    """Time every simple statement with the sqlglot that is imported here."""
    tables = schema()
    found = []
    for name, template in SIMPLE.items():
        texts = [varied(template, number) for number in range((rounds + timing.WARM) * each)]
        assert all(o.label for o in classify(texts[0], tables).outputs)  # or less would be judged
        found.append(
            timing.compared(
                name,
                _classifying(texts, tables),
                _parsing(texts),
                rounds,
                own_each=each,
                other_each=each,
            )
        )
    return tuple(found)


def _classifying(texts: list[str], tables: Schema) -> Work:
    return lambda number: classify(texts[number], tables)


def _parsing(texts: list[str]) -> Work:
    return lambda number: sqlglot.parse_one(texts[number], dialect="duckdb")


def pure(rounds: int, each: int, folder: Path) -> tuple[Row, ...]:
    """Time them in another interpreter that imports a copy of sqlglot without compiled files."""
    place = folder / "pure"
    shutil.rmtree(place, ignore_errors=True)
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(sqlglot.__file__).parent, place / "sqlglot", ignore=compiled)
    path = os.pathsep.join([str(place), str(timing.ROOT)])
    try:
        ran = subprocess.run(
            [
                *(sys.executable, "-c", "from benchmarks import parse; parse.print_pure()"),
                *(str(rounds), str(each)),
            ],
            cwd=timing.ROOT,
            env={**os.environ, "PYTHONPATH": path},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    finally:
        shutil.rmtree(place)
    return tuple(Row(**each) for each in json.loads(ran.stdout))


def print_pure() -> None:
    """Print the rows as JSON; run by `pure` where nothing of sqlglot is compiled."""
    found = rows(*map(int, sys.argv[1:]))
    files = [
        str(module.__file__)
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "sqlglot" or name.endswith("__mypyc")
    ]
    assert all(file.endswith(".py") for file in files)  # or something was not plain Python
    print(json.dumps([asdict(each) for each in found]))


if __name__ == "__main__":
    sys.exit(timing.main("parse", __doc__ or "", OPTIONS, measure))

"""How long do programs that trace columns take beside `classify`?

    python -m benchmarks.lineage [--rounds N] [--sqllineage N]

sqlglot parses, qualifies, and follows one output after the other, as its pages show it; and, beside
that, all outputs in one call, which is quicker. sqllineage tells columns only of a statement that
makes a table, so it gets `CREATE TABLE made AS` before each. All know the tables beforehand, as
`classify` does.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import peers, timing
from benchmarks.statements import FLIGHTS, SIMPLE, schema, varied
from benchmarks.timing import Option, Result, Row
from eligibility import classify

OPTIONS = {
    "rounds": Option(60, 6, "turns for each statement beside sqlglot"),
    "sqllineage": Option(9, 3, "turns for each statement beside sqllineage"),
}
EACH = 10  # statements in one turn
_TRACED = ("every column", "three columns", "sum where equal", "one key", "two keys", "LIKE")
_MEDIAN = "The ratio is the median of the statements' ratios."


def measure(asked: argparse.Namespace, _: Path) -> Iterable[Result]:
    """Compare both."""
    tables = peers.for_sqlglot({"flights": FLIGHTS})
    yield Result(
        name="lineage-sqlglot",
        question="How long do sqlglot's `qualify` and `lineage` of each output take beside `classify`?",
        own="qualify and lineage",
        other="classify",
        bar=6,
        least=True,
        **_rows(lambda text: peers.each_output(text, tables), asked.rounds),
        notes=(f"{_MEDIAN} Parsing is part of both sides.",),
    )
    yield Result(
        name="lineage-sqlglot-at-once",
        question="And where sqlglot qualifies once, and follows all outputs in one call?",
        own="qualify and lineage",
        other="classify",
        bar=None,
        **_rows(lambda text: peers.all_outputs(text, tables), asked.rounds),
        notes=(f"{_MEDIAN} This is the quickest way that sqlglot has.",),
    )
    yield _sqllineage(asked.sqllineage)


def _rows(peer: Callable[[str], int], rounds: int) -> timing.Measured:
    found = [_compared(name, name, peer, rounds, EACH) for name in SIMPLE]
    return {"measured": timing.middle(found), "rows": tuple(found)}


def _sqllineage(rounds: int) -> Result:
    by_dialect = {
        dialect: [
            _compared(f"{name}, {dialect}", name, _traced(dialect), rounds, 1) for name in _TRACED
        ]
        for dialect in (*peers.VALIDATING, peers.NOT_VALIDATING)
    }
    ratios = {dialect: timing.middle(rows) or 0.0 for dialect, rows in by_dialect.items()}
    quickest = min(peers.VALIDATING, key=ratios.__getitem__)
    chosen = (
        f"{_MEDIAN} It is that of the dialect `{quickest}`, the quicker of the two that check what "
        "they parse."
    )
    beside = (
        f"`{peers.NOT_VALIDATING}`, which is deprecated and takes what is no SQL, takes "
        f"{ratios[peers.NOT_VALIDATING]:.0f} times as long as `classify`."
    )
    return Result(
        name="lineage-sqllineage",
        question="How long does sqllineage take beside `classify`?",
        own="sqllineage",
        other="classify",
        bar=100,
        least=True,
        measured=ratios[quickest],
        rows=tuple(each for rows in by_dialect.values() for each in rows),
        notes=(chosen, beside),
    )


def _traced(dialect: str) -> Callable[[str], int]:
    known = peers.for_sqllineage({"flights": FLIGHTS})

    def peer(text: str) -> int:
        # It knows a table by its schema and name alone.
        text = text.replace("FROM flights", "FROM main.flights")
        return peers.sqllineage_columns(text, known, dialect)

    return peer


def _compared(
    title: str, statement: str, peer: Callable[[str], int], rounds: int, each: int
) -> Row:
    tables = schema()
    texts = [varied(SIMPLE[statement], n) for n in range((rounds + timing.WARM) * EACH)]
    return timing.compared(
        title,
        lambda number: peer(texts[number]),
        lambda number: classify(texts[number], tables),
        rounds,
        own_each=each,
        other_each=EACH,
    )


if __name__ == "__main__":
    sys.exit(timing.main("lineage", __doc__ or "", OPTIONS, measure))

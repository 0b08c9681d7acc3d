"""How long do programs that trace columns take beside `classify`?

    python -m benchmarks.lineage [--rounds N] [--sqllineage N]

sqlglot parses, qualifies once, and follows all outputs in one call. sqllineage tells columns only of
a statement that makes a table, so it gets `CREATE TABLE made AS` before each. Both know the tables
beforehand, as `classify` does.
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
    "rounds": Option(100, 10, "turns for each statement beside sqlglot"),
    "sqllineage": Option(9, 3, "turns for each statement beside sqllineage"),
}
# sqllineage knows a table by its schema and name alone.
_TRACED = ("every column", "three columns", "sum where equal", "one key", "two keys", "LIKE")


def measure(asked: argparse.Namespace, _: Path) -> Iterable[Result]:
    """Compare both."""
    tables = {"flights": FLIGHTS}
    for_sqlglot = peers.for_sqlglot(tables)
    found = [
        _compared(name, lambda text: peers.sqlglot_lineage(text, for_sqlglot), asked.rounds)
        for name in SIMPLE
    ]
    yield Result(
        name="lineage-sqlglot",
        question="How long do sqlglot's `qualify` and `lineage` of all outputs take beside `classify`?",
        own="qualify and lineage",
        other="classify",
        bar=6,
        least=True,
        measured=timing.middle(found),
        rows=tuple(found),
        notes=(
            "The ratio is the median of the statements' ratios. Parsing is part of both sides; a "
            "statement is qualified once, not once for each output.",
        ),
    )
    yield _sqllineage(asked.sqllineage)


def _sqllineage(rounds: int) -> Result:
    known = peers.for_sqllineage({"flights": FLIGHTS})
    by_dialect = {}
    for dialect in (*peers.VALIDATING, peers.NOT_VALIDATING):

        def peer(text: str, dialect: str = dialect) -> int:
            text = text.replace("FROM flights", "FROM main.flights")
            return peers.sqllineage_columns(text, known, dialect)

        by_dialect[dialect] = [_compared(name, peer, rounds, dialect) for name in _TRACED]
    ratios = {dialect: timing.middle(rows) or 0.0 for dialect, rows in by_dialect.items()}
    quickest = min(peers.VALIDATING, key=ratios.__getitem__)
    return Result(
        name="lineage-sqllineage",
        question="How long does sqllineage take beside `classify`?",
        own="sqllineage",
        other="classify",
        bar=100,
        least=True,
        measured=ratios[quickest],
        rows=tuple(each for rows in by_dialect.values() for each in rows),
        notes=(
            f"The ratio is the median over the statements with the dialect `{quickest}`, the "
            "quicker of those that check what they parse.",
            f"`{peers.NOT_VALIDATING}`, which is deprecated and takes what is no SQL, is "
            f"{ratios[peers.NOT_VALIDATING]:.0f} times `classify`.",
        ),
    )


def _compared(name: str, peer: Callable[[str], int], rounds: int, with_: str = "") -> Row:
    tables = schema()
    texts = [varied(SIMPLE[name], number) for number in range(rounds + timing.WARM)]
    return timing.compared(
        f"{name}, {with_}" if with_ else name,
        lambda number: peer(texts[number]),
        lambda number: classify(texts[number], tables),
        rounds,
    )


if __name__ == "__main__":
    sys.exit(timing.main("lineage", __doc__ or "", OPTIONS, measure))

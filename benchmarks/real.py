"""How long do `classify` and its peers take on statements that people and tools wrote?

    python -m benchmarks.real [--statements N] [--rounds N] [--traced N]

Every set of `../shared/corpora`, and the written cases of `corpora/`, gives as many statements as is
asked for, evenly spread. What a peer does not take is counted and left out of its ratio. A comment
with a number ends each statement in place of its semicolon, another one in every turn: nothing kept
of a statement can help.
"""

import argparse
import json
import logging
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot.schema import MappingSchema
from sqllineage.core.metadata.dummy import DummyMetaDataProvider

from benchmarks import peers, timing
from benchmarks.timing import Option, Result, Row
from eligibility import Schema, classify
from tests.corpus import TABLES, cases, unescaped
from tests.engine import Engine

OPTIONS = {
    "statements": Option(60, 10, "statements of each set"),
    "rounds": Option(15, 3, "turns for each statement"),
    "traced": Option(8, 2, "statements of each set beside sqllineage, which is slow"),
}
SHARED = timing.ROOT.parent / "shared" / "corpora"
SHARED_COUNT = 941
TYPES = {"serial": "INTEGER", "array": "VARCHAR[]"}  # those of other systems


@dataclass(frozen=True)
class Tables:
    """What a statement is over, in the form that each program wants it."""

    own: Schema
    sqlglot: MappingSchema
    sqllineage: DummyMetaDataProvider


@dataclass(frozen=True)
class Statement:
    """A statement with its tables and the set it belongs to."""

    set: str
    text: str
    tables: Tables

    def turn(self, number: int) -> str:
        """Give its text as it is in one turn."""
        return f"{self.text.rstrip().removesuffix(';')}\n-- {number}"


Peer = Callable[[str, Tables], object]


def measure(asked: argparse.Namespace, _: Path) -> Iterable[Result]:
    """Compare with all three."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what it half understands
    sets, absent = _sets()
    where = () if not absent else (f"`../shared` is absent: {absent} statements are skipped.",)
    chosen = {name: spread(found, asked.statements) for name, found in sets.items()}
    traced = {name: spread(found, asked.traced) for name, found in sets.items()}
    yield _result(
        Result(
            name="real-parse",
            question="On real statements, how long does `classify` take beside `parse_one`?",
            own="classify",
            other="parse_one",
            bar=1.6,
            measured=None,
            notes=where,
        ),
        chosen,
        lambda text, _: sqlglot.parse_one(text, dialect="duckdb"),
        asked.rounds,
        own_over=True,
    )
    yield _result(
        Result(
            name="real-sqlglot",
            question="On real statements, how long do `qualify` and `lineage` take beside `classify`?",
            own="qualify and lineage",
            other="classify",
            bar=6,
            least=True,
            measured=None,
            notes=where,
        ),
        chosen,
        lambda text, tables: peers.each_output(text, tables.sqlglot),
        asked.rounds,
    )
    yield _result(
        Result(
            name="real-sqllineage",
            question="On real statements, how long does sqllineage take beside `classify`?",
            own="sqllineage",
            other="classify",
            bar=100,
            least=True,
            measured=None,
            notes=("With the dialect `duckdb`.", *where),
        ),
        traced,
        lambda text, tables: peers.sqllineage_columns(text, tables.sqllineage, "duckdb"),
        min(asked.rounds, 3),
    )


def spread(found: list[Statement], count: int) -> list[Statement]:
    """Choose so many of a list, evenly spread."""
    step = max(len(found) / count, 1)
    return [found[int(at * step)] for at in range(min(count, len(found)))]


def _result(
    empty: Result,
    sets: dict[str, list[Statement]],
    peer: Peer,
    rounds: int,
    *,
    own_over: bool = False,
) -> Result:
    """Time a peer on every set, and fill in the result."""
    rows, all_ratios, left = [], [], 0
    for name, chosen in sets.items():
        found = [_timed(each, peer, rounds, own_over=own_over) for each in chosen]
        taken = [each for each in found if each is not None]
        left += len(found) - len(taken)
        if not taken:
            continue
        ratios = [each.ratio for each in taken]
        all_ratios += ratios
        low, half, high = timing.quartiles(ratios)
        rows.append(
            Row(
                name=name,
                own_s=statistics.median(each.own_s for each in taken),
                other_s=statistics.median(each.other_s for each in taken),
                ratio=half,
                paired=statistics.median(each.paired for each in taken),
                low=low,
                high=high,
                rounds=len(taken),
                over="statements",
            )
        )
    note = (
        f"The ratio is the median of the ratios of {len(all_ratios)} statements; "
        f"{left} more are not taken by {empty.other if own_over else empty.own}."
    )
    return timing.filled(
        empty,
        measured=statistics.median(all_ratios) if all_ratios else None,
        rows=tuple(rows),
        notes=(note, *empty.notes),
    )


def _timed(each: Statement, peer: Peer, rounds: int, *, own_over: bool) -> Row | None:
    try:
        peer(each.turn(0), each.tables)
    except Exception:  # noqa: BLE001 - whatever it raises, it does not take the statement
        return None

    def theirs(number: int) -> object:
        return peer(each.turn(number), each.tables)

    def ours(number: int) -> object:
        return classify(each.turn(number), each.tables.own)

    if own_over:
        return timing.compared("", ours, theirs, rounds, own_each=3, other_each=3, warm=1)
    return timing.compared("", theirs, ours, rounds, other_each=5, warm=1)


# --- the sets -------------------------------------------------------------------------------------


def _sets() -> tuple[dict[str, list[Statement]], int]:
    """Give the statements by set, and how many are absent."""
    engine = Engine([unescaped(TABLES.read_text())])
    engine.close()
    tables = _tables(engine.schema)
    own = [Statement("written cases", case.statement, tables) for case in cases()]
    if not (SHARED / "statements.jsonl").exists():
        return {"written cases": own}, SHARED_COUNT
    sets: dict[str, list[Statement]] = {}
    for each in _shared():
        sets.setdefault(each.set, []).append(each)
    return {**sets, "written cases": own}, 0


def _shared() -> Iterable[Statement]:
    schemas = json.loads((SHARED / "schemas.json").read_text())
    known: dict[str, Tables] = {}
    for line in (SHARED / "statements.jsonl").read_text().splitlines():
        one = json.loads(line)
        key = one["schema"]
        if key not in known:
            known[key] = _tables(
                Schema.of(
                    {
                        table: {name: TYPES.get(kind, kind) for name, kind in columns.items()}
                        for table, columns in schemas[key]["schema"].items()
                    }
                )
            )
        yield Statement(key.partition("/")[0], one["sql"], known[key])


def _tables(schema: Schema) -> Tables:
    columns = peers.columns(schema)
    return Tables(schema, peers.for_sqlglot(columns), peers.for_sqllineage(columns))


if __name__ == "__main__":
    sys.exit(timing.main("real", __doc__ or "", OPTIONS, measure))

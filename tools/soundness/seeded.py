"""Eight known faults, put into the engine on purpose: a search that finds none must show that it can.

    python -m tools.soundness.seeded [--seconds N] [--seed N] [--write]

Each fault is a change of the engine's own functions. Two readings stand in the way of most: what
one of them misreads, the other withholds. `patches` says how many places had to be changed before
anything untrue was released: the fault itself, then what else; `one reading` among them stands for an engine without the second.
"""

import argparse
import json
import random
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlglot import exp

import eligibility.sql.rules  # noqa: F401  `patch` looks it up by name
from eligibility.sql import classify, literal, parse, rules
from eligibility.sql.schema import Column, Schema, Table
from eligibility.sql.syntax import TextReading
from eligibility.sql.verdicts import Label, Verdict
from preview.duckdb import plan as engine_reading
from tools.soundness.campaign import MIX
from tools.soundness.generator import Writer, corpus_words
from tools.soundness.trial import Trial

KEPT = Path(__file__).with_name("seeded.json")
Change = tuple[Any, str, Any]
_READ_BY_ENGINE = rules._judge


def _one_reading(*given: Any, **named: Any) -> Any:
    """Decide as if the engine had not been asked."""
    names, shape, every, _ = given
    return _READ_BY_ENGINE(names, shape, every, None, **named)


ONE_READING: Change = (rules, "_judge", _one_reading)


def _without_alias_list() -> list[Change]:
    true_source = parse._source

    def source(clause: Any, reasons: Any) -> Any:
        for alias in clause.find_all(exp.TableAlias) if clause else ():
            alias.set("columns", None)
        return true_source(clause, reasons)

    return [(parse, "_source", source), ONE_READING]


def _unicode_folding() -> list[Change]:
    def folded(name: str) -> str:
        return unicodedata.normalize("NFKC", name).casefold()

    def column(table: Table, name: str) -> Column | None:
        return next((c for c in table.columns if folded(c.name) == folded(name)), None)

    return [(Table, "column", column), ONE_READING]


def _filters_not_compared() -> list[Change]:
    true_condition = parse._condition

    def condition(node: exp.Expr, *given: Any) -> Any:
        for like in (*node.find_all(exp.Like), *node.find_all(exp.ILike)):
            like.set("negate", None)  # a slip that the comparison is there to catch
        return true_condition(node, *given)

    return [(rules, "same_predicate", lambda *_: True), (parse, "_condition", condition)]


def _unary_plus() -> list[Change]:
    return [(parse, "_has_unreadable_token", lambda _: False), ONE_READING]


def _label_by_name() -> list[Change]:
    def renamed(given: Verdict, table: Table) -> Verdict:
        named = table.column(given.name)
        if given.label is None or given.label.column is None or named is None:
            return given
        label = Label(**{**given.label.model_dump(), "column": named.name})
        return Verdict(**{**dict(given), "label": label})

    true_decide = rules.decide

    def decided(reading: TextReading, schema: Schema, *given: Any) -> Any:
        made, table = true_decide(reading, schema, *given), schema.find(reading.source)
        if table is None:
            return made
        return replace(made, outputs=tuple(renamed(one, table) for one in made.outputs))

    return [(classify, "decide", decided)]


def _rounded_literals() -> list[Change]:
    return [
        (literal, "fits", lambda *_: True),
        (engine_reading, "_number", lambda text, to: engine_reading._Constant(to, text)),
    ]


def _trusted_macro() -> list[Change]:
    return [ONE_READING]


def _without_rollup() -> list[Change]:
    true_keys = parse._keys

    def keys(group: Any, reasons: Any) -> Any:
        for rollup in list(group.find_all(exp.Rollup)) if group else ():
            rollup.parent.set("rollup", None)
            group.set("expressions", [k for k in group.expressions if k is not rollup])
            group.set("expressions", [*group.expressions, *rollup.expressions])
        return true_keys(group, reasons)

    return [(parse, "_keys", keys), ONE_READING]


@dataclass(frozen=True)
class Seeded:
    """One fault: its name, what is changed, and whether it shows in a shadowed session alone."""

    name: str
    changes: Callable[[], list[Change]]
    shadowed: bool = False

    @contextmanager
    def planted(self, *, without_fault: bool = False) -> Iterator[None]:
        """Put the fault into this process for a while, or only what else has to be changed."""
        with ExitStack() as stack:
            for where, name, other in self.changes()[1 if without_fault else 0 :]:
                stack.enter_context(patch.object(where, name, other))
            yield


FAULTS = (
    Seeded("a column alias list is ignored", _without_alias_list),
    Seeded("names are folded as Unicode", _unicode_folding),
    Seeded("the filters of both readings are not compared", _filters_not_compared),
    Seeded("unary plus is accepted", _unary_plus),
    Seeded("outputs are labelled by their name", _label_by_name),
    Seeded("a = '1.4' is accepted", _rounded_literals),
    Seeded("a macro named sum is trusted", _trusted_macro, shadowed=True),
    Seeded("ROLLUP is forgotten", _without_rollup),
)


@dataclass(frozen=True)
class Hit:
    """What gave a fault away: after how many statements and seconds, where, and how."""

    statements: int
    seconds: float
    statement: str
    fault: str


Trials = Mapping[tuple[str, bool], Trial]


def find(
    seeded: Seeded, trials: Trials, seed: int, seconds: float, *, calm: bool = False
) -> Hit | None:
    """Search as the campaign does until the fault is found.

    Args:
        seeded: which.
        trials: by data set and whether the session is shadowed.
        seed: of the generator.
        seconds: how long to search.
        calm: with fewer mutations than a campaign has, to find faster.

    Returns:
        What gave it away, or None where nothing did.
    """
    chosen = random.Random(seed)
    draw = chosen.random
    words = [] if calm else corpus_words()
    writers = {
        key: Writer(trial.tables, lambda n: int(draw() * n), words, calm=calm)
        for key, trial in trials.items()
    }
    mix = [key for key in MIX if key[1] == seeded.shadowed]
    begun = time.monotonic()
    count = 0
    while time.monotonic() - begun < seconds:
        key = mix[int(draw() * len(mix))]
        statement = writers[key].statement()
        count += 1
        fault = _fault(seeded, trials[key], statement)
        # What shows without the fault as well does not show the fault.
        if fault and not _fault(seeded, trials[key], statement, without_fault=True):
            return Hit(count, time.monotonic() - begun, statement, fault)
    return None


def _fault(
    seeded: Seeded, trial: Trial, statement: str, *, without_fault: bool = False
) -> str | None:
    with seeded.planted(without_fault=without_fault):
        verdicts = trial.classify(statement)
        if not verdicts.any_eligible:
            return None
        return next(iter(trial.run(statement, verdicts).faults), None)


def main() -> int:
    """Find all eight, and say how fast; 0 where each was found."""
    parser = argparse.ArgumentParser(prog="tools.soundness.seeded")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="keep the times for the page")
    given = parser.parse_args()
    kept = []
    with ExitStack() as stack:
        trials = {key: stack.enter_context(Trial(key[0], shadowed=key[1])) for key in set(MIX)}
        for seeded in FAULTS:
            hit = find(seeded, trials, given.seed, given.seconds)
            sys.stdout.write(f"{seeded.name}: {hit}\n")
            if hit is None:
                continue
            kept.append(
                {
                    "name": seeded.name,
                    "places": len(seeded.changes()),
                    "statements": hit.statements,
                    "seconds": round(hit.seconds, 1),
                }
            )
    if given.write:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return int(len(kept) < len(FAULTS))


if __name__ == "__main__":
    sys.exit(main())

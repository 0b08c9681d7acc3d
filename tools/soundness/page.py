"""Writes `docs/soundness.md` from the counts that were kept of the last campaigns.

python -m tools.soundness.page
"""

import json
from pathlib import Path
from typing import Any

from tools.soundness import campaign as _campaign
from tools.soundness import seeded as _seeded

MUTATION = Path(__file__).with_name("mutation.json")
HARM = Path(__file__).with_name("faults.json")
BUSY = frozenset({"binding", "long binding", "executing", "endless"})
PAGE = Path(__file__).resolve().parents[2] / "docs" / "soundness.md"

_PAGE = """\
# What was tried against the promise

Written by a command from the counts of the last campaign; `make fuzz` starts another one.

**{distinct:,} different statements, {facts:,} released facts judged, {faults} untrue.**

## The judges

None of them reads the engine's own code: they were written from the rules and from the grammar of
a line, before its readings were looked at.

| judge | what it asks of a fact |
|---|---|
| tainted tables | every cell of ten tables tells its own table, column and row: is the value one of the labelled column? Are the values of one row from one row, and no two result rows from the same? |
| recomputation | is the number the one over exactly the rows that the filter and the group select, in plain Python over what was stored, in exact numbers and three truth values? Asked twice: of the fact's JSON, and of its line, by an own reader of lines |
| bounds | is a sum or average of floats no further from the exact one, in exact numbers over the stored doubles, than its bound, and is that at most a millionth of it? |
| the engine's syntax tree | is the output, before any name is bound, a plain column or one of the five calls of one, over one base table, and are the clauses those that are told? |
| column origins of SQLite | where SQLite takes the statement, does it know the same origin? |
| the recorder | is the observation the same in the process that can be killed? |
| the watch | does every statement come to an end within {stuck:g} seconds, and does nothing raise? |

The tables hold every type that can be stated, NaN, negative zero, infinities, NULL in groups,
ends of ranges, values that would round, ties, look-alike letters, and names such as `sum`, `*`,
`true` and `rowid`. One statement in eleven runs in a session where the five calls mean something else.

## The last campaign

| | |
|---|---:|
| different statements | {distinct:,} |
| seconds, on {workers} processes | {seconds:,} |
| statements a second | {per_second:,} |
| seconds of a core that the processes had | {core:,} |
| eligible in part, by the text alone | {eligible:,} |
| of the rest, executed all the same | {sampled:,} |
| executed and released | {executed:,} |
| facts judged: stored values | {stored:,} |
| facts judged: calculations | {calculated:,} |
| **untrue or disputed** | **{faults:,}** |
| workers replaced, since they stayed or were gone | {lost:,} |
| of their statements, tried alone: stuck or gone in the text, release or a judge | {elsewhere:,} |
| tried alone: stuck or gone in the database engine, where the recorder kills it | {engine:,} |
| the two readings disagree, nothing released of it | {disagree:,} |
| the same, in a session with shadowed calls | {shadowed:,} |
| SQLite and a release, the same origins | {same:,} |
| dialect: SQLite does not take the statement | {dialect:,} |
| SQLite knows no origin of a released column | {untold:,} |
| ours or SQLite's is wrong: another origin | {differs:,} |
| recorded by the recorder as well, and equal | {recorded:,} |
| seed | {seed} |

Versions: DuckDB {duckdb}, sqlglot {sqlglot}.

## Can the search find anything?

Eight faults are put into the engine on purpose, one at a time, and searched for with the same
generator and judges. Two readings must agree, so most had to be put into both, or the second
reading taken away, before anything untrue was released.

| fault | places changed | statements until it was found | seconds |
|---|---:|---:|---:|
{seeded}

## Do the tests notice a change?

The files that decide are changed in every small way: an operator, a constant, a condition, a
default, an entry of a table. Each change is tried alone, with the tests that reach it (`make
mutants`: {tests:,} tests, {mutation_seconds:,} seconds). One that no test notices has to be argued
about, one by one, in [argued.txt](../tools/mutation/argued.txt): why it changes nothing.

| file | changes | noticed | argued about | neither | score |
|---|---:|---:|---:|---:|---:|
{mutants}

## What if the recorder is harmed?

Children, their fork server, hosts and channels are killed at random moments, memory and disk run out,
files are deleted and replaced under a running recorder, and eight threads ask at once (`make faults`:
{harm_seconds:,} seconds).

| | |
|---|---:|
| kills | {kills:,} |
| of these, of a statement that was being bound or executed, or was endless | {busy:,} |
| hosts killed in the middle of a capture | {hosts:,} |
| pins killed, and pins without room on the disk | {pins:,} |
| files deleted or replaced under a recorder | {files:,} |
| statements from eight threads | {threads:,} |
| answers that were an observation, each compared with what is true | {observations:,} |
| **hangs** | **{hangs:,}** |
| **processes left behind** | **{orphans:,}** |
| **observations of a statement that failed** | **{failed:,}** |
| wrong, missing or left-over files or answers | {wrong:,} |

## What is not shown

- A bug of the database engine itself: it executes the statement and makes the plan that is read.
- That a statement answers the question that was asked: a fact says what a number is, no more.
- Anything over data sets or statements that the generator does not write. It writes around the
  border on purpose, and finds only what it comes near.
- Release against a hostile host: see `SECURITY.md`.
"""


def campaign() -> dict[str, Any]:
    """Give the counts that were kept of the last campaign."""
    kept: dict[str, Any] = json.loads(_campaign.KEPT.read_text())
    return kept


def _mutants(kept: dict[str, Any]) -> str:
    return "\n".join(
        f"| `{one['module'].replace('.', '/')}.py` | {one['mutants']:,} | {one['noticed']:,} "
        f"| {one['argued']} | {one['unargued']} | {one['noticed'] / one['mutants']:.1%} |"
        for one in kept["modules"]
    )


def page() -> str:
    """Give the text of the page."""
    kept = campaign()
    mutation, harm = json.loads(MUTATION.read_text()), json.loads(HARM.read_text())
    done = harm["done"]
    counts = kept["counts"].get
    rows = [
        f"| {row['name']} | {row['places']} | {row['statements']:,} | {row['seconds']:.1f} |"
        for row in json.loads(_seeded.KEPT.read_text())
    ]
    return _PAGE.format(
        **{key: kept[key] for key in ("distinct", "seconds", "workers", "per_second", "facts")},
        faults=kept["faults"],
        seed=kept["seed"],
        core=counts("seconds of a core", 0),
        stuck=_campaign.STUCK_S,
        eligible=counts("eligible by the text", 0),
        sampled=counts("sampled of the rest", 0),
        executed=counts("executed", 0),
        stored=counts("facts: stored values", 0),
        calculated=counts("facts: calculations", 0),
        lost=kept["workers lost"],
        elsewhere=kept["stuck or gone elsewhere"],
        engine=kept["stuck in the engine"],
        disagree=counts("readings disagree", 0),
        shadowed=counts("readings disagree, shadowed", 0),
        same=counts("SQLite: same", 0),
        dialect=counts("SQLite: not taken", 0),
        untold=counts("SQLite: not told", 0),
        differs=counts("SQLite: differs", 0),
        recorded=counts("recorded as well", 0),
        duckdb=kept["versions"]["duckdb"],
        sqlglot=kept["versions"]["sqlglot"],
        seeded="\n".join(rows),
        tests=mutation["tests"],
        mutation_seconds=mutation["seconds"],
        mutants=_mutants(mutation),
        harm_seconds=harm["seconds"],
        kills=harm["kills"],
        busy=sum(n for what, n in done.items() if what.partition(", ")[2] in BUSY),
        hosts=done["hosts killed"],
        pins=done["pins killed"] + done["pins without room"],
        files=done["files harmed"],
        threads=done["statements from threads"],
        observations=harm["answers"]["observation"],
        hangs=harm["hangs"],
        orphans=harm["orphans"],
        failed=harm["from failures"],
        wrong=harm["wrong"] + harm["unanswered"] + harm["left behind"],
    )


if __name__ == "__main__":
    PAGE.write_text(page())

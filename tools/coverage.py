"""Writes `docs/coverage.md`: what is refused of statements that people and tools write, and why.

python -m tools.coverage FOLDER  counts another set of statements, laid out as below

A set of statements is a folder with `statements.jsonl` (`id`, `schema` and `sql` on each line) and
`schemas.json` (to each such schema, under `schema`: table, column, type). The tables are made
empty, so no float column of theirs holds NaN. Statements are read as `eligibility check` reads
them, over a sealed connection, and nothing is executed.

Whether an output was refused that could be stated is asked of a reader that is no part of the
engine: DuckDB's syntax tree. What it takes for a plain column, or for one of the five calculations
of one, and is withheld all the same, has to be explained from that tree too.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any, cast

import duckdb

from eligibility import Reason, classify
from eligibility.reasons import in_order
from eligibility.sql.limits import refusal
from eligibility.sql.schema import CATALOG, Pin, Schema, casefold
from eligibility.sql.verdicts import Verdicts
from preview import engine
from preview.duckdb import capture
from preview.duckdb.sealed import open_sealed
from preview.sources.readable import quoted
from tests.corpus import Case, cases, decided_lines
from tests.engine import Engine
from tools.soundness.third_reader import TREE_QUERY, read_tree

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
SHARED = ROOT.parent / "shared" / "corpora"
SHARED_BEGINS = "<!-- What follows is counted where the shared statements are, and else kept. -->"

HEAD = """\
# What is refused

A withheld output is no error, but one that could have been stated is a defect too. This page counts
both kinds; it is written by `python -m tools.pages`. What every reason means stands in
[reasons.md](reasons.md).
"""
OWN_HEAD = """\
## The written cases

The cases of [corpora](../corpora) stand on the border on purpose: most are one edit away from
something that may be stated. So these numbers say what is decided there, and nothing of what people
ask.
"""
SHARED_HEAD = """\
## Statements that people and tools wrote

Public sets of questions in SQL with their tables, not part of the project: `defog` and `wikisql` in
SQLite's dialect, `duckdb_nsql` in DuckDB's. What DuckDB itself does not take, for its dialect or
its types, is counted and left.
"""
LISTED_HEAD = """\
## Withheld, though the output alone would do

DuckDB's own syntax tree, which the engine does not look at, shows a plain column or one of the five
calculations of one, over one table, and yet the output is withheld. Each of these has to be
explained by something that stands in the same tree. Behind each statement stands which outputs.
"""

# The types of other systems, and one slip of the pen.
_TYPES = {
    "serial": "INTEGER",
    "array": "VARCHAR[]",
    "struct(id int, name: text)": "STRUCT(id INTEGER, name VARCHAR)",
}
_MEMORY_BYTES = 2**30

FAILED = "failed"

Columns = tuple[tuple[str, str], ...]


# --- reading the statements ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """What was made of one statement.

    Attributes:
        id, set: of the statement, and the set it belongs to.
        outcome: `read`, `failed` where DuckDB does not take it, or why it is not run here.
        verdicts: of both readings; None where it has no plan.
        shown: positions at which the tree shows what could be stated; of a statement withheld as
            a whole too.
        explained: reasons that the tree gives cause for.
    """

    id: str
    set: str
    outcome: str
    verdicts: Verdicts | None
    shown: tuple[int, ...] = ()
    explained: frozenset[Reason] = frozenset()

    @property
    def listed(self) -> Iterator[tuple[int, Reason]]:
        """Give (position, reason) of what is shown and yet withheld."""
        if self.verdicts is not None:
            for position in self.shown:
                yield (
                    position,
                    (self.verdicts.reasons or self.verdicts.outputs[position].reasons)[0],
                )


def read_all(folder: Path) -> tuple[Read, ...]:
    """Read every statement of a folder (see the module's docstring), in the order written."""
    schemas: dict[str, Any] = json.loads((folder / "schemas.json").read_text())
    lines = (folder / "statements.jsonl").read_text().splitlines()
    statements = [json.loads(line) for line in lines]
    tables = {key: _tables(schemas[key]["schema"]) for key in {s["schema"] for s in statements}}
    found: dict[str, Read] = {}
    for together in _databases(tables):
        made = {name: columns for key in together for name, columns in tables[key].items()}
        with TemporaryDirectory() as scratch:
            here = [one for one in statements if one["schema"] in together]
            found |= {one.id: one for one in _read(here, made, Path(scratch))}
    return tuple(found[one["id"]] for one in statements)


def _tables(schema: Mapping[str, Mapping[str, str]]) -> dict[str, Columns]:
    return {
        name: tuple((column, _TYPES.get(kind.lower(), kind)) for column, kind in columns.items())
        for name, columns in schema.items()
    }


def _databases(tables: Mapping[str, Mapping[str, Columns]]) -> list[set[str]]:
    """Put the schemas of a set into few databases, none with two tables of one name."""
    made: list[tuple[str, dict[str, tuple[str, Columns]], set[str]]] = []
    for key, schema in sorted(tables.items()):
        named = {casefold(name): (name, columns) for name, columns in schema.items()}
        for set_, there, keys in made:
            if set_ == _set(key) and all(there.get(n, t) == t for n, t in named.items()):
                there.update(named)
                keys.add(key)
                break
        else:
            made.append((_set(key), named, {key}))
    return [keys for _, _, keys in made]


def _set(key: str) -> str:
    return key.split("/")[0]


def _read(
    statements: Iterable[Mapping[str, str]], tables: Mapping[str, Columns], scratch: Path
) -> Iterator[Read]:
    database = scratch / f"{CATALOG}.duckdb"
    setup = [
        f"CREATE TABLE {quoted(name)} ({', '.join(f'{quoted(c)} {kind}' for c, kind in columns)})"
        for name, columns in tables.items()
    ]
    engine = Engine(setup, database)
    engine.close()
    with open_sealed(database, memory_bytes=_MEMORY_BYTES)[0] as connection:
        for one in statements:
            yield _one(one, connection, engine.pins, engine.schema)


def _one(
    one: Mapping[str, str],
    connection: duckdb.DuckDBPyConnection,
    pins: tuple[Pin, ...],
    schema: Schema,
) -> Read:
    statement, set_ = one["sql"], _set(one["schema"])
    outcome = None if refusal(statement) else capture.read(connection, statement, pins)
    if not isinstance(outcome, engine.Read):
        return Read(one["id"], set_, _not_read(outcome, connection, statement), None)
    verdicts = classify(statement, schema, outcome.reading)
    tree = read_tree(connection, statement, cast(Any, pins))
    shown = tuple(
        position
        for position, made in enumerate(tree.outputs)
        if made is not None and not _is_eligible(verdicts, position)
    )
    explained = explanations(connection, statement, pins) if shown else frozenset()
    return Read(one["id"], set_, "read", verdicts, shown, explained)


def _not_read(outcome: object, connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    """Give the reason why a statement is not run here; `failed` where DuckDB does not take it."""
    if not isinstance(outcome, engine.Refused) or outcome.reason is Reason.NOT_SQL:
        return FAILED
    if outcome.reason is Reason.PLAN_UNREADABLE and not _binds(connection, statement):
        return FAILED
    return str(outcome.reason.value)


def _binds(connection: duckdb.DuckDBPyConnection, statement: str) -> bool:
    try:
        connection.cursor().execute(f"EXPLAIN {statement}")
    except duckdb.Error:
        return False
    return True


def _is_eligible(verdicts: Verdicts, position: int) -> bool:
    return not verdicts.reasons and verdicts.outputs[position].verdict == "eligible"


# --- what the tree explains ---------------------------------------------------------------------

Node = Mapping[str, Any]
_FLOATS = frozenset({"FLOAT", "DOUBLE"})


def explanations(
    connection: duckdb.DuckDBPyConnection, statement: str, pins: tuple[Pin, ...]
) -> frozenset[Reason]:
    """Say which reasons DuckDB's syntax tree gives cause for in a plain SELECT over one table."""
    row = connection.execute(TREE_QUERY, [statement]).fetchone()
    node = json.loads(row[0])["statements"][0]["node"] if row else {}
    types = _types(node["from_table"]["qualified_name"]["path"], pins)
    return frozenset(reason for reason, (_, gives) in EXPLAINED.items() if gives(node, types))


def _types(path: Sequence[str], pins: tuple[Pin, ...]) -> dict[str, str]:
    """Give the types of the columns of a table, by folded name."""
    (pin,) = (pin for pin in pins if casefold(pin.path[1]) == casefold(path[-1]))
    return {casefold(column.name): column.type for column in pin.columns}


def _nodes(tree: object) -> Iterator[Node]:
    if isinstance(tree, dict):
        yield tree
    if isinstance(tree, dict | list):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(part)


def _text_against_number(node: Node, types: Mapping[str, str]) -> bool:
    return any(
        _unlike(types[_last(column)], other["literal"])
        for one in _nodes(node["where_clause"])
        for column, other in permutations(_operands(one), 2)
        if column["class"] == "COLUMN_REF" and other["class"] == "CONSTANT"
    )


def _operands(one: Node) -> list[Node]:
    named = [one[part] for part in ("left", "right", "input", "lower", "upper") if part in one]
    return [*named, *one["children"]] if one.get("type") == "COMPARE_IN" else named


def _unlike(kind: str, literal: Node) -> bool:
    if literal["kind"] == "STRING":
        return kind in _FLOATS
    return kind == "VARCHAR" and literal["kind"] in ("INTEGER", "NUMERIC")


def _call_in_where(node: Node, _: Mapping[str, str]) -> bool:
    return any(
        one.get("class") == "CASE" or (one.get("class") == "FUNCTION" and not one["is_operator"])
        for one in _nodes(node["where_clause"])
    )


def _key_is_made(node: Node, types: Mapping[str, str]) -> bool:
    return any(
        key["class"] != "COLUMN_REF" or casefold(key["column_names"][-1]) not in types
        for key in node["group_expressions"]
    )


def _key_is_missing(node: Node, _: Mapping[str, str]) -> bool:
    shown = {_last(one) for one in node["select_list"] if one["class"] == "COLUMN_REF"}
    return any(
        key["class"] == "COLUMN_REF" and _last(key) not in shown
        for key in node["group_expressions"]
    )


def _last(column: Node) -> str:
    return casefold(column["column_names"][-1])


def _star_beside(node: Node, _: Mapping[str, str]) -> bool:
    written = node["select_list"]
    return len(written) > 1 and any(one["class"] == "STAR" for one in written)


EXPLAINED: dict[Reason, tuple[str, Callable[[Node, Mapping[str, str]], bool]]] = {
    Reason.STAR_NOT_ALONE: (
        "A star beside something else: which output is which column depends on the table's width.",
        _star_beside,
    ),
    Reason.GROUP_KEY_NOT_A_COLUMN: (
        "A calculation for each value of an expression: its group has no name in the table.",
        _key_is_made,
    ),
    Reason.GROUP_KEY_NOT_SHOWN: (
        "A calculation whose group is not in the result: its line could not name it.",
        _key_is_missing,
    ),
    Reason.FILTER_NOT_STATABLE: (
        "A calculation over the rows that a call in WHERE lets through.",
        _call_in_where,
    ),
    Reason.LITERAL_NOT_EXACT: (
        "A calculation over rows where a text meets a number: DuckDB converts one of the two first.",
        _text_against_number,
    ),
}


# --- the page -----------------------------------------------------------------------------------


def _counted(counts: Counter[str]) -> list[tuple[str, int]]:
    """Sort by how many, then by name."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


@cache
def shared() -> tuple[Read, ...]:
    """Read the shared statements."""
    return read_all(SHARED)


def is_there() -> bool:
    """Say whether the shared statements are there to be counted."""
    return (SHARED / "statements.jsonl").exists()


def page() -> str:
    """Write `docs/coverage.md`; the shared part is the one that stands there where it must be."""
    if is_there():
        rest = shared_part(shared())
    else:
        rest = PAGE.read_text().split(SHARED_BEGINS)[1].lstrip("\n")
    return "\n".join((HEAD, own_part(cases()), SHARED_BEGINS, "", rest))


def kept_count() -> int:
    """Say how many shared statements were counted when the page was written."""
    (line,) = re.findall(r"(?m)^\| statements \|(.*)\|$", PAGE.read_text())
    return sum(int(count.replace(",", "")) for count in line.split("|"))


def own_part(written: Sequence[Case]) -> str:
    """Count the written cases by what they expect, and tell each disagreement."""
    planned = [case for case in written if not case.engine]
    lines = [line for case in planned for line in decided_lines(case.expected)]
    outputs = [fields for line in lines if len(fields := line.split("  ")) > 1]
    withheld = Counter(
        fields[1].removeprefix("withheld ").split(", ")[0]
        for fields in outputs
        if fields[1].startswith("withheld ")
    )
    whole = Counter(
        line.removeprefix("withheld ").split(", ")[0]
        for line in lines
        if line.startswith("withheld ") and "  " not in line
    )
    counts = [
        ("cases", len(written)),
        ("of these with an eligible output", sum(case.has_eligible for case in written)),
        ("not run, or not bound, by DuckDB", len(written) - len(planned)),
        ("withheld as a whole", whole.total()),
        ("outputs of the rest", len(outputs)),
        ("of these eligible", len(outputs) - withheld.total()),
        ("of these withheld", withheld.total()),
    ]
    disagreeing = [case for case in planned if Reason.READINGS_DISAGREE in case.reasons]
    told = [
        f"- `{case.name}`: {case.prose.removeprefix('One edit away: ')}" for case in disagreeing
    ]
    return "\n".join(
        (
            OWN_HEAD,
            _table(("", "cases"), counts),
            _by_reason({"statements": whole, "outputs": withheld}),
            f"### The readings disagree: {len(told)}\n",
            "\n".join(told),
            "",
        )
    )


def _by_reason(columns: Mapping[str, Counter[str]]) -> str:
    there = {code for counts in columns.values() for code in counts}
    listed = [reason for reason in Reason if reason.value in there]
    rows = [
        [f"[{reason.value}](reasons.md#{reason.value})"]
        + [str(counts[reason.value] or "") for counts in columns.values()]
        for reason in listed
    ]
    return _table(("first reason", *columns), rows)


def shared_part(read: Sequence[Read]) -> str:
    """Count the shared statements set by set, and list what is withheld and shown."""
    sets = {
        name: [one for one in read if one.set == name] for name in sorted({o.set for o in read})
    }
    rows: dict[str, list[str]] = {}
    for counts in (_counts(of_set) for of_set in sets.values()):
        for what, count in counts.items():
            rows.setdefault(what, []).append(f"{count:,}")
    withheld = {
        f"{name}: {what}": counts
        for name, of_set in sets.items()
        for what, counts in zip(("statements", "outputs"), _withheld(of_set), strict=True)
        if counts
    }
    return "\n".join(
        (
            SHARED_HEAD,
            _table(("", *sets), ([what, *counts] for what, counts in rows.items())),
            "Why they are withheld, each statement and each output by its first reason:\n",
            _by_reason(withheld),
            LISTED_HEAD,
            _listed_part(read),
        )
    )


def _counts(read: Sequence[Read]) -> dict[str, int]:
    planned = [one.verdicts for one in read if one.verdicts is not None]
    rest = [verdicts for verdicts in planned if not verdicts.reasons]
    outputs = [output for verdicts in rest for output in verdicts.outputs]
    outcomes = Counter(one.outcome for one in read)
    eligible = sum(output.verdict == "eligible" for output in outputs)
    return {
        "statements": len(read),
        "DuckDB does not take": outcomes[FAILED],
        "not run here": len(read) - outcomes[FAILED] - len(planned),
        "**taken by DuckDB**": len(planned),
        "of these every output eligible": sum(
            all(output.verdict == "eligible" for output in verdicts.outputs) for verdicts in rest
        ),
        "of these some output eligible": sum(verdicts.any_eligible for verdicts in rest),
        "of these withheld as a whole": len(planned) - len(rest),
        "outputs of those not withheld as a whole": len(outputs),
        "of these **eligible**": eligible,
        "of these withheld": len(outputs) - eligible,
        "**the readings disagree**": sum(v.engine == "disagrees" for v in planned),
        "**withheld and unexplained**": len(unexplained(read)),
    }


def _withheld(read: Sequence[Read]) -> tuple[Counter[str], Counter[str]]:
    """Count first reasons: of whole statements, and of outputs of the others."""
    planned = [one.verdicts for one in read if one.verdicts is not None]
    whole = Counter(str(v.reasons[0].value) for v in planned if v.reasons)
    outputs = Counter(
        str(output.reasons[0].value)
        for v in planned
        if not v.reasons
        for output in v.outputs
        if output.reasons
    )
    whole.update(o.outcome for o in read if o.verdicts is None and o.outcome != FAILED)
    return whole, outputs


def unexplained(read: Iterable[Read]) -> list[tuple[str, int, Reason]]:
    """Give (statement, position, reason) of what is withheld, shown, and not explained."""
    return [
        (one.id, position, reason)
        for one in read
        for position, reason in one.listed
        if reason not in one.explained
    ]


def _listed_part(read: Sequence[Read]) -> str:
    listed = [(one.id, *each) for one in read for each in one.listed]
    left = unexplained(read)
    parts = [f"{len(listed)} outputs, {len(left)} of them unexplained.\n"]
    for reason in in_order(reason for *_, reason in listed):
        here = [one for one in listed if one[2] is reason]
        said = EXPLAINED[reason][0] if reason in EXPLAINED else reason.sentence
        parts.append(f"### {reason.value}: {len(here)}\n\n{said}\n\n{_places(here)}\n")
    return "\n".join([*parts, f"### Unexplained: {len(left)}\n", _places(left) or "None.", ""])


def _places(listed: Iterable[tuple[str, int, Reason]]) -> str:
    outputs: dict[str, list[str]] = {}
    for name, position, _ in listed:
        outputs.setdefault(name, []).append(str(position + 1))
    told = (f"`{name}` ({', '.join(numbers)})" for name, numbers in outputs.items())
    return fill(", ".join(told), 100, break_on_hyphens=False, break_long_words=False)


def main(arguments: list[str]) -> int:
    """Count the statements of a folder, and print what the page would say of them."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage")
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED)
    read = read_all(parser.parse_args(arguments).folder)
    sys.stdout.write(shared_part(read))
    return 1 if unexplained(read) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

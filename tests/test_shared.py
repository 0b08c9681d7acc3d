"""Cases that stand beside the project: statements on which a reader is likely to be wrong.

They are read from `../shared`; where that is absent the tests are skipped, and say so.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from eligibility import Reason, Verdicts
from eligibility.sql.verdicts import Label
from evidence_adapters.cli.program import run
from evidence_adapters.cli.verbs import app
from tests.engine import Engine

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
TRAPS_EXPECTED, REPORTS_EXPECTED, STATEMENTS_EXPECTED, FILES_EXPECTED = 120, 19, 941, 26


def lines(path: str) -> list[dict[str, Any]]:
    file = SHARED / path
    return (
        [json.loads(line) for line in file.read_text().split("\n") if line] if file.exists() else []
    )


TRAPS = lines("cases/traps.jsonl")
REPORTS = lines("cases/field_reports.jsonl")
STATEMENTS = lines("corpora/statements.jsonl")
FILES = lines("cases/ingest.jsonl")
needed = pytest.mark.skipif(
    not (TRAPS and REPORTS and STATEMENTS and FILES),
    reason=f"../shared is absent: {TRAPS_EXPECTED} + {REPORTS_EXPECTED} + {STATEMENTS_EXPECTED} cases"
    f" and {FILES_EXPECTED} files",
)
# Kinds of which nothing may be stated, whatever the text looks like, but for four cases that the
# rules make eligible.
NOTHING = {
    "join", "subquery", "cte", "cte_dml", "setop", "window", "sample", "pivot", "multi", "meta", "table_fn",
    "values", "macro", "struct", "whole_row", "virtual", "column_alias_list", "qualify",
}  # fmt: skip
ELIGIBLE_ANYWAY = {"T055", "T079", "T102", "T204"}
CALCULATIONS = {"sum", "avg", "mean", "min", "max", "count"}


def truth(label: Label) -> str:
    """Write a label as the cases write what the engine gives."""
    name = ".".join(label.table if label.table[0] != "main" else label.table[1:])
    if label.column is None:
        return "count_star()"
    column = f"{name}.{label.column}"
    return column if label.calculation is None else f"{label.calculation.lower()}({column})"


def given(text: str) -> str:
    """Leave out of a truth that the column is a key, and the catalog of an in-memory database."""
    return text.removeprefix("GRP:").removeprefix("memory.")


DECIDED: dict[str, tuple[Verdicts, Verdicts]] = {}


def decide(case: dict[str, Any]) -> tuple[Verdicts, Verdicts]:
    """Decide a case once, by the text alone and by both readings."""
    if case["id"] not in DECIDED:
        engine = Engine(case["setup_sql"])
        DECIDED[case["id"]] = engine.both(case["sql"])
        engine.close()
    return DECIDED[case["id"]]


@needed
def test_every_case_is_there():
    assert len(TRAPS) == TRAPS_EXPECTED
    assert len(REPORTS) == REPORTS_EXPECTED
    assert len(STATEMENTS) == STATEMENTS_EXPECTED
    assert len(FILES) == FILES_EXPECTED
    assert {case["id"] for case in TRAPS} >= ELIGIBLE_ANYWAY


@needed
@pytest.mark.parametrize("case", TRAPS, ids=[case["id"] for case in TRAPS])
def test_no_label_differs_from_what_the_engine_gives(case):
    text, both = decide(case)
    released = [output for output in both.outputs if output.label is not None]
    if case["engine_truth"] is None:
        assert not released
    for output in released:
        assert output.label is not None
        assert truth(output.label) == given(case["engine_truth"][output.position])
        assert text.outputs[output.position].label == output.label
    if case["kind"] in NOTHING:
        assert bool(released) == (case["id"] in ELIGIBLE_ANYWAY)


@needed
def test_the_kinds_are_known_and_some_cases_are_eligible():
    kinds = Counter(case["kind"] for case in TRAPS)
    assert set(kinds) >= NOTHING - {"subquery"}
    eligible = [case["id"] for case in TRAPS if decide(case)[1].any_eligible]
    assert set(eligible) >= ELIGIBLE_ANYWAY
    assert len(eligible) > 30


# The reports' own words for reasons, where they are not the enum's.
WORDS = {"not_a_pinned_table": "table-unknown"}


@needed
@pytest.mark.parametrize("case", REPORTS, ids=[case["id"] for case in REPORTS])
def test_what_a_field_report_must_say(case):
    text, both = decide(case)
    # A statement that does not bind is withheld, and the reasons of its text stand.
    made = text if both.engine == "failed" else both
    if made.reasons:
        wanted = {
            WORDS.get(say["reason"], say["reason"].replace("_", "-")) for say in case["must_say"]
        }
        assert not any(say["eligible"] for say in case["must_say"])
        assert wanted <= set(made.reasons)
        return
    assert len(made.outputs) == len(case["must_say"])
    for output, say in zip(made.outputs, case["must_say"], strict=True):
        assert (output.label is not None) == say["eligible"]
        if output.label is None:
            reason = WORDS.get(say["reason"], say["reason"].replace("_", "-"))
            assert Reason(reason) in output.reasons  # type: ignore[call-arg]
        else:
            assert output.label.table == ("main", say["table"])
            assert output.label.column == say["column"]
            assert output.label.calculation == say.get("agg")
            assert made.groups == tuple(say.get("group", made.groups))


# --- statements that people and tools wrote -----------------------------------------------------


def tables(schema: dict[str, Any]) -> list[str]:
    """Give the SQL that makes the tables of a schema; a type unknown to the engine becomes text."""
    if schema.get("setup_sql"):
        made: list[str] = schema["setup_sql"]
        return made
    statements = []
    for table, columns in schema["schema"].items():
        *path, name = table.split(".")
        quoted = ".".join(f'"{part}"' for part in (*path, name))
        statements += [f'CREATE SCHEMA IF NOT EXISTS "{part}"' for part in path]
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        statements.append(f"CREATE TABLE {quoted} ({listed})")
    return statements


@needed
@pytest.mark.parametrize("case", FILES, ids=lambda case: case["id"])
def test_what_a_file_is_pinned_as(case, tmp_path, capsys):
    """Through the program, and read back by a plain connection."""
    file, into = tmp_path / case["file"], tmp_path / "pinned"
    file.write_bytes(case["text"].encode(case.get("encoding", "utf-8")))
    status = run(app, ["pin", f"t={file}", *case["args"], "--into", str(into)])
    said = capsys.readouterr().err
    if case["must"] == "error" or (case["must"] == "either" and status):
        assert status == 2
        assert re.fullmatch(r"eligibility: .+\n", said)
        assert not into.exists()
    else:
        assert status == 0, said
        with duckdb.connect(str(into / "snapshot.duckdb"), read_only=True) as connection:
            names = [name for name, *_ in connection.execute("DESCRIBE t").fetchall()]
            rows = connection.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t").fetchall()
        assert case["columns"] in (None, names)
        assert [list(row) for row in rows] == case["rows"]

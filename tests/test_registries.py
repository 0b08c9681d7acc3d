"""Whatever the code can name is known everywhere: a new member of a union stops here."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import preview
from eligibility import Reason, Schema, classify, parse
from eligibility.evidence.bundle import verify
from eligibility.evidence.entry import PAYLOADS, Kind
from eligibility.sql import parse as text_reading
from eligibility.sql import wording
from eligibility.sql.manifest import Format, Origin
from eligibility.sql.policy import STRICT
from eligibility.sql.recount import counted
from eligibility.sql.shape import FLIPPED, Calculation, Operator, Predicate
from preview.audit import audit
from preview.duckdb import plan as engine_reading
from preview.sources.options import _USED, GivenFormat
from tests.corpus import ROOT, TABLES, cases
from tests.engine import Engine
from tests.oracle import Promise, _check_calculation, _truth
from tools import forgeries, pages
from tools.soundness import generator, third_reader
from tools.soundness.judges import Judge, Untrue, _holds, _Line
from tools.soundness.tables import Column, Data

CALCULATIONS = get_args(Calculation)
KINDS = [
    kind
    for member in get_args(get_args(Predicate)[0])
    for kind in get_args(member.model_fields["kind"].annotation)
]
SCHEMA = Schema.of({"t": {"n": "INTEGER", "m": "INTEGER", "s": "VARCHAR", "b": "BOOLEAN"}})
# One line of each kind that has one; no line says what cannot be stated.
LINES = {
    "comparison": "t.n = 1",
    "column-comparison": "t.n = t.m",
    "in": "t.n IN (1, 2)",
    "is-null": "t.n IS NULL",
    "like": "t.s LIKE 'a'",
    "truth": "t.b",
    "not": "NOT (t.n = 1 (rows where it is NULL are not counted))",
    "and": "(t.n = 1) AND (t.m = 2)",
    "or": "(t.n = 1) OR (t.m = 2)",
}


@pytest.mark.parametrize("calculation", CALCULATIONS)
def test_a_calculation_is_read_by_both_readings_written_and_decided(calculation):
    assert calculation in text_reading._CALCULATIONS.values()
    assert calculation in engine_reading._AGGREGATES.values()
    found = parse(f"{calculation}(t.n) = 1", SCHEMA)
    assert found is not None
    assert found.label.calculation == calculation
    text = "\n".join(path.read_text() for path in ROOT.glob("*.sql"))
    assert f"  {calculation}(" in text
    assert f'"{calculation}"' in (wording.__doc__ or "").split("calculation = ")[1].split(";")[0]
    assert f"`{calculation}`" in (ROOT.parent / "docs" / "specification.md").read_text()


def test_every_calculation_is_searched_for_what_is_untrue():
    """What is generated and judged is listed by hand there, since judges share no code."""
    listed = set(CALCULATIONS)
    assert set(generator.CALLS) == listed
    assert set(forgeries.CALCULATIONS) == listed
    assert set(third_reader._FIVE.values()) == listed


@pytest.mark.parametrize("calculation", CALCULATIONS)
def test_a_calculation_is_recomputed_by_the_oracle_and_by_the_judge(calculation):
    """Of one value, each of them is that value, or the number of values."""
    table = Data(("main", "t"), (Column("n", "INTEGER", ("1",)),))
    judge, label = Judge((table,), tainted=False), {"calculation": calculation, "column": "n"}
    assert _Line(f"{calculation}(t.n) = 1", judge).fact().calculation == calculation
    for value, is_true in (("1", True), ("2", False)):
        with nullcontext() if is_true else pytest.raises(Untrue):
            judge._agrees(label, table, [0], value, calculation != "AVG")
        promise = Promise(("main", "t"), "n", calculation, value, calculation != "AVG", (), None)
        with nullcontext() if is_true else pytest.raises(AssertionError):
            _check_calculation(promise, ["1"], "INTEGER")


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_written_read_back_and_known_to_the_oracle(kind):
    if kind == "unstatable":
        return
    found = parse(f"COUNT(*) of t = 1 where {LINES[kind]}", SCHEMA)
    assert found is not None
    assert found.predicate is not None
    published: dict[str, Any] = found.predicate.model_dump(mode="json")
    assert published["kind"] == kind
    types = {column.name: column.type for column in SCHEMA.tables[0].columns}
    row: dict[str, str | None] = {"n": "1", "m": "2", "s": "a", "b": "true"}
    assert _truth(published, row, types) in (True, False)
    columns = [Column(name, kind, (row[name],)) for name, kind in types.items()]
    assert _holds(published, Data(("main", "t"), tuple(columns)), 0) in (True, False)


# How each kind of condition is written in a statement, and in which words the specification has it.
WRITTEN = {
    "comparison": ("n = 1", "`=`, `<>`"),
    "column-comparison": ("n = m", "another column of exactly the same type"),
    "in": ("n IN (1, 2)", "`IN (…)`"),
    "is-null": ("n IS NULL", "`IS NULL`"),
    "like": ("s LIKE 'a'", "`LIKE`"),
    "truth": ("b", "the column alone"),
    "not": ("NOT n = 1", "`NOT`"),
    "and": ("n = 1 AND m = 2", "`AND`"),
    "or": ("n = 1 OR m = 2", "`OR`"),
    "unstatable": ("n + 1 = 1", "not statable"),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine(["CREATE TABLE t (n INTEGER, m INTEGER, s VARCHAR, b BOOLEAN)"])
    yield made
    made.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_made_by_both_readings_and_written_down(kind, engine):
    condition, words = WRITTEN[kind]
    statement = f"SELECT COUNT(*) FROM t WHERE {condition}"
    reading = engine.read(statement)
    assert reading != "failed"
    assert reading.shape is not None
    assert reading.shape.filter is not None
    assert reading.shape.filter.kind == kind
    (output,) = classify(statement, engine.schema, reading).outputs
    assert output.verdict == ("withheld" if kind == "unstatable" else "eligible")
    section = (ROOT.parent / "docs" / "specification.md").read_text().split("### 2.7 WHERE")[1]
    assert words in section.split("###")[0]


def test_every_condition_stands_in_a_line_of_the_corpora():
    made = Engine([TABLES.read_text()])
    found: set[str] = set()
    for case in cases():
        for line in case.expected:
            fact = parse(line.removeprefix("fact "), made.schema)
            if fact is not None and fact.predicate is not None:
                found |= _kinds(fact.predicate.model_dump(mode="json"))
    made.close()
    assert found == set(KINDS) - {"unstatable"}


def _kinds(predicate: dict[str, Any]) -> set[str]:
    inner = [*predicate.get("members", ()), *filter(None, [predicate.get("member")])]
    return {predicate["kind"]}.union(*map(_kinds, inner))


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.value)
def test_a_reason_has_its_part_of_the_page(reason):
    page = (ROOT.parent / "docs" / "reasons.md").read_text()
    assert f"\n## {reason.value}\n" in page


# --- policy and readings --------------------------------------------------------------------------

OPERATORS = get_args(Operator)


def test_the_policy_has_a_line_for_every_calculation_and_operator():
    assert set(STRICT.calculated) == set(CALCULATIONS)
    assert set(STRICT.compared) == set(OPERATORS)


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_read_by_both_readings_turned_round_and_recounted(operator):
    assert operator in text_reading._OPERATORS.values()
    assert operator in engine_reading._OPERATORS.values()
    assert FLIPPED[FLIPPED[operator]] == operator
    note = " (rows where it is NULL are not counted)" if operator == "<>" else ""
    found = parse(f"COUNT(*) of t = 1 where t.n {operator} 2{note}", SCHEMA)
    assert found is not None
    assert found.predicate is not None
    assert f" {operator} " in (counted(SCHEMA.tables[0], [], found.predicate, ()) or "")
    row: dict[str, str | None] = {"n": "1"}
    truth = _truth(found.predicate.model_dump(mode="json"), row, {"n": "INTEGER"})
    assert isinstance(truth, bool)


# --- sources --------------------------------------------------------------------------------------

ROWS = pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", "y"]})
TEXT = "a,b\n1,x\n2,y\n"
ObjectOf = Callable[[Path], object]


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _parquet(folder: Path) -> object:
    pq.write_table(ROWS, folder / "t.parquet")
    return folder / "t.parquet"


def _arrow(folder: Path) -> object:
    feather.write_feather(ROWS, folder / "t.arrow", compression="uncompressed")
    return folder / "t.arrow"


def _duckdb(folder: Path) -> object:
    with duckdb.connect(str(folder / "t.duckdb")) as db:
        db.register("rows", ROWS)
        db.execute("CREATE TABLE t AS FROM rows")
    return f"{folder / 't.duckdb'}::t"


def _sqlite(folder: Path) -> object:
    db = sqlite3.connect(folder / "t.sqlite")
    with db:
        db.execute("CREATE TABLE t (a, b)")
        db.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, "y")])
    db.close()
    return f"{folder / 't.sqlite'}::t"


def _delta(folder: Path) -> object:
    deltalake.write_deltalake(str(folder / "lake"), ROWS)
    return f"delta:{folder / 'lake'}"


# Each kind of source: how a real one is made here, or the test that pins a real one; where it is
# written down; and how `pin --help` spells it.
SOURCES: dict[str, tuple[ObjectOf | tuple[str, str], str, str]] = {
    "parquet": (_parquet, "pinning.md", "Parquet"),
    "csv": (lambda folder: written(folder / "t.csv", TEXT), "pinning.md", "CSV"),
    "json": (
        lambda folder: written(folder / "t.json", '[{"a":1,"b":"x"},{"a":2,"b":"y"}]'),
        "pinning.md",
        "JSON",
    ),
    "arrow": (_arrow, "pinning.md", "Arrow"),
    "arrow-table": (lambda _: ROWS, "specification.md", ""),
    "duckdb": (_duckdb, "sources.md", "FILE.duckdb::TABLE"),
    "sqlite": (_sqlite, "sources.md", ".sqlite"),
    "delta": (_delta, "sources.md", "delta:DIR"),
    "iceberg": (("sources/test_lakes.py", "test_every_type_of_a_lake"), "sources.md", "iceberg:"),
    "postgresql": (("services/test_postgres.py", "test_every_type"), "sources.md", "postgresql:"),
    "prepared": (
        lambda folder: f"@{written(folder / 't.sql', 'FROM u')}",
        "sources.md",
        "@FILE.sql",
    ),
}


@pytest.mark.parametrize("kind", get_args(Format))
def test_a_kind_of_source_is_pinned_recorded_and_written_down(kind, tmp_path):
    made, page, spelled = SOURCES[kind]
    written_down = (ROOT.parent / "docs" / page).read_text().lower()
    assert (spelled or "an arrow table").lower() in " ".join(written_down.split())
    assert spelled in _help("pin")
    if isinstance(made, tuple):
        file, test = made
        assert f"def {test}" in (Path(__file__).parent / file).read_text()
        return
    tables: dict[str | tuple[str, ...], Any] = {"t": made(tmp_path)}
    if kind == "prepared":
        tables["u"] = ROWS
    snapshot = preview.pin(tables, into=tmp_path / "snapshot")
    (source,) = [one for one in snapshot.manifest.sources if one.path == ("main", "t")]
    assert source.format == kind
    with preview.Recorder(snapshot) as recorder:
        seen = recorder.capture("SELECT a, b FROM t ORDER BY a")
    assert [[cell.text for cell in row] for row in seen.rows] == [["1", "x"], ["2", "y"]]


def test_every_kind_of_source_says_which_options_it_uses():
    assert set(_USED) == set(get_args(Format))
    # Files alone have a format that can be given; tabs are one way to delimit.
    files = {kind for kind, options in _USED.items() if "format" in options}
    assert files == set(get_args(GivenFormat)) - {"tsv"}
    kinds = {
        kind
        for member in get_args(get_args(Origin)[0])
        for kind in get_args(member.model_fields["kind"].annotation)
    }
    assert kinds <= set(get_args(Format))


def _help(verb: str) -> str:
    return (ROOT.parent / "docs" / "cli.md").read_text().split(f"Usage: eligibility {verb} ")[1]


# --- entries of a ledger --------------------------------------------------------------------------

# Each kind of entry: whether a bundle can be about it.
ENTRIES = {"snapshot": False, "observation": True, "release": True}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_kind_of_entry_is_appended_shown_exported_and_written_down(kind, tmp_path):
    snapshot = preview.pin({"t": ROWS}, into=tmp_path / "snapshot")
    with preview.Ledger(tmp_path / "a.ledger") as ledger:
        with preview.Recorder(snapshot, ledger=ledger) as recorder:
            seen = recorder.capture("SELECT a FROM t")
        ledger.release(seen.digest, seen.preview())
        entries = {entry.kind: entry for entry in ledger.entries()}
        assert set(entries) == set(get_args(Kind)) == set(PAYLOADS) == set(ENTRIES)
        assert audit(ledger).whole
        entry = entries[kind]
        assert isinstance(ledger.payload(entry, PAYLOADS[kind]), PAYLOADS[kind])
        if ENTRIES[kind]:
            assert verify(ledger.export(entry)).structural_status != "failed"
        else:
            with pytest.raises(preview.LedgerMissing):
                ledger.export(entry)
    command = ["ledger", "show", str(tmp_path / "a.ledger"), str(entry.sequence), "--json"]
    shown = subprocess.run(
        [sys.executable, "-m", "evidence_adapters", *command],
        cwd=ROOT.parent,
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(shown.stdout)["entry"]["kind"] == kind
    assert kind in (ROOT.parent / "docs" / "ledger.md").read_text()


# --- verbs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", pages.verbs())
def test_a_verb_gives_a_document_and_is_written_down(verb):
    page = "ledger.md" if verb.startswith("ledger ") else "specification.md"
    spelled = verb if verb.startswith("ledger ") else f"`{verb} "
    assert spelled in (ROOT.parent / "docs" / page).read_text()
    assert verb == "ledger" or "--json" in pages.help_of(verb)

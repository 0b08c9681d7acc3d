"""Every written case, by the text alone, by both readings, and through recorder and release."""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from eligibility import Fact, Observation, Reason, Release, classify, release
from eligibility.sql.dialect import DUCKDB
from eligibility.sql.facts import GroupCell
from eligibility.sql.limits import problems
from eligibility.sql.observation import Cell, OutputColumn
from eligibility.sql.parse import read
from eligibility.sql.policy import STRICT
from eligibility.sql.rules import decide
from eligibility.sql.shape import Negation
from eligibility.sql.verdicts import Filter, Label
from preview.bounds import question
from preview.duckdb import sealed
from preview.duckdb.capture import capture, measure
from preview.engine import Captured, Measured
from tests.corpus import (
    CELL_REASONS,
    ROOT,
    TABLES,
    Case,
    cases,
    decided,
    edits,
    example,
    parse,
    refilled,
    text_lines,
    unescaped,
)
from tests.engine import Engine as InMemory
from tests.engine import Pinned
from tests.oracle import Oracle

CASES = cases()
PINNED = [case for case in CASES if not case.before]
RUN = [case for case in CASES if case.runs]
FILES = sorted(path for path in ROOT.rglob("*.sql") if path != TABLES)


def named(wanted: list[Case] | tuple[Case, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", wanted, ids=[case.name for case in wanted])


@pytest.fixture(scope="module")
def pinned() -> Iterator[Pinned]:
    with Pinned() as made:
        yield made


@pytest.fixture(scope="module")
def oracle(pinned: Pinned) -> Oracle:
    with duckdb.connect(str(pinned.snapshot.database), read_only=True) as connection:
        return Oracle(connection, pinned.snapshot.schema)


@pytest.fixture(scope="module")
def recorded(pinned: Pinned) -> dict[str, tuple[Observation, Release]]:
    """Give what the recorder makes of every case that runs, and what is released of it."""
    made = {}
    for case in RUN:
        observation = pinned.recorder.capture(case.statement)
        made[case.name] = (
            observation,
            release(observation, observation.preview(), digest=observation.digest),
        )
    return made


# --- the cases themselves -----------------------------------------------------------------------

# Codes whose smallest case is too large to read, or is about what comes back from outside.
ELSEWHERE = {
    Reason.STATEMENT_TOO_LONG: ("test_limits.py", "test_the_limit_is_in_bytes"),
    Reason.OBSERVATION_MALFORMED: ("test_release.py", "OBSERVATION_MALFORMED"),
    Reason.DIGEST_MISMATCH: ("test_release.py", "DIGEST_MISMATCH"),
    Reason.ORIGIN_MISMATCH: ("test_release.py", "ORIGIN_MISMATCH"),
    Reason.PREVIEW_MALFORMED: ("test_release.py", "PREVIEW_MALFORMED"),
    Reason.PREVIEW_DIFFERS: ("test_release.py", "PREVIEW_DIFFERS"),
    Reason.CLAIMS_MALFORMED: ("test_release.py", "CLAIMS_MALFORMED"),
    Reason.CLAIM_UNKNOWN: ("test_release.py", "CLAIM_UNKNOWN"),
    Reason.CLAIM_DIFFERS: ("test_release.py", "CLAIM_DIFFERS"),
    Reason.NO_CLAIMS: ("test_release.py", "NO_CLAIMS"),
    Reason.TOO_MANY_COLUMNS: ("test_sealed.py", "TOO_MANY_COLUMNS"),
}


def test_there_are_cases():
    assert len(CASES) > 450
    assert sum(case.twin_of is not None for case in CASES) > 250
    assert sum(case.wants_facts for case in CASES) > 60


@pytest.mark.parametrize("code", Reason)
def test_every_reason_has_a_case(code):
    if code in ELSEWHERE:
        file, test = ELSEWHERE[code]
        assert test in (Path(__file__).parent / file).read_text()
    else:
        assert example(code, CASES) is not None


def test_no_case_is_said_to_be_elsewhere_and_is_here():
    assert not [code for code in ELSEWHERE if example(code, CASES)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_says_what_it_is_about_and_shows_both_sides(file):
    first, second = file.read_text().splitlines()[:2]
    assert first == f"-- {file.stem}"
    assert second.startswith("-- ")
    assert re.fullmatch("[a-z]+(-[a-z]+)*", file.stem)
    here = [case for case in CASES if ROOT / f"{case.file}.sql" == file]
    assert here
    if file.parent == ROOT:
        assert any(case.has_eligible for case in here)
        assert any(case.twin_of for case in here) or file.stem == "complete"


@named([case for case in CASES if case.twin_of])
def test_a_twin_is_one_edit_away_and_withheld(case):
    assert case.twin_of.has_eligible
    assert case.reasons
    # An edit may put something around, or stand where a key is repeated.
    assert edits(case.written, case.twin_of.written) <= 3


@named(CASES)
def test_a_case_says_something_and_nothing_invisible(case):
    assert case.expected
    assert "\n-->" not in case.statement
    assert all(character.isprintable() or character == "\n" for character in case.written)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_filled_file_stays_as_it_is(file):
    text, name = file.read_text(), file.relative_to(ROOT).with_suffix("").as_posix()
    assert refilled(text, name, lambda case: list(case.expected)) == text


@pytest.mark.parametrize(
    "text",
    [
        "-- a\nSELECT 1;\n",
        "-- One edit away: of nothing.\nSELECT 1;\n--> withheld no-source\n",
        "-- a\nSELECT 1;\n--> withheld no-source\n\nSELECT 2;\n",
    ],
)
def test_half_a_case_is_an_error(text):
    with pytest.raises(ValueError, match="no expectation, or a twin of nothing"):
        parse(text, "a")


# --- what is decided ----------------------------------------------------------------------------


@named(PINNED)
def test_the_text_alone(case, pinned):
    assert decided(classify(case.statement, pinned.snapshot.schema)) == text_lines(case.expected)


@named(CASES)
def test_both_readings_and_what_is_released(case, pinned):
    assert pinned.lines(case) == list(case.expected)


def test_session_state_is_read_and_never_pinned(pinned):
    before = [case for case in CASES if case.before]
    assert len(before) > 10
    assert not pinned.snapshot.schema.find(("swapped",))


# --- what is released is true -------------------------------------------------------------------


def test_every_fact_of_every_case_is_true(recorded, oracle):
    kinds: Counter[str] = Counter()
    for case in RUN:
        observation, made = recorded[case.name]
        oracle.check_release(made, observation)
        kinds.update(fact.label.calculation or "stored" for fact in made.facts)
        # A case of which something may be stated states something, or says why no cell can be.
        held = [reason for cell in made.withheld for reason in cell.reasons]
        assert bool(made.facts) >= (case.has_eligible and not CELL_REASONS & set(held)) or (
            not observation.rows
        ), case.name
    assert min(kinds[kind] for kind in ("SUM", "AVG", "MIN", "MAX", "COUNT", "stored")) > 5, kinds
    assert kinds.total() > 900


def wrong(fact: Fact) -> Iterator[Fact]:
    """Give facts that differ from a true one, and are not true."""
    label, value = dict(fact.label), dict(fact.value)

    def other(**changes: object) -> Fact:
        return Fact(**{**dict(fact), **changes})

    yield other(value=Cell(**value | {"text": "98765"}))
    if fact.label.calculation in ("SUM", "AVG", "COUNT"):
        yield other(value=Cell(**value | {"text": f"{value['text']}1"}))
    if fact.label.calculation == "SUM":
        yield other(exact=not fact.exact)
        yield other(label=Label(**label | {"calculation": "AVG"}), exact=fact.exact)
    if fact.group and fact.label.calculation == "COUNT":
        key = fact.group[0]
        named = GroupCell(column=key.column, cell=Cell(type=key.cell.type, text="no such key"))
        yield (
            other(group=(named, *fact.group[1:]))
            if key.cell.type == "VARCHAR"
            else other(text="no line")
        )
    if fact.filter.predicate and fact.label.column is None:
        turned = Filter(
            kind="stated",
            predicate=Negation(member=fact.filter.predicate),
            text=fact.filter.text,
        )
        # Where as many rows meet the opposite, only the line tells them apart.
        yield other(filter=turned, text=fact.text.replace(" where ", " where NOT "))
    yield other(text=fact.text + " ")


def test_the_oracle_sees_what_is_not_true(recorded, oracle):
    seen = 0
    for _, made in recorded.values():
        for fact in made.facts[:3]:
            for changed in wrong(fact):
                with pytest.raises((AssertionError, ValueError)):
                    oracle.check(changed)
                seen += 1
    assert seen > 300


def said(fact: Fact) -> tuple[object, ...]:
    """Give what a fact says, but for its place in the result, and digits that may differ."""
    value = fact.value.text if fact.exact else None
    return (fact.label, fact.value.type, value, fact.exact, fact.group, fact.filter, fact.selection)


def observed(
    like: Observation, captured: Captured, connection: duckdb.DuckDBPyConnection
) -> Observation:
    """Make the observation that differs from another in what was captured alone."""
    asked = question(captured, like.pins)
    measured = None if asked is None else measure(connection, asked.statement)
    types = captured.types
    fields = dict(like) | {
        "reading": captured.reading,
        "columns": tuple(
            OutputColumn(position=place, name=name, type=types[place])
            for place, name in enumerate(captured.names)
        ),
        "rows": tuple(
            tuple(Cell(type=kind, text=text) for kind, text in zip(types, row, strict=True))
            for row in captured.rows
        ),
        "truncated": captured.truncated,
        "bounds": asked.bounds(measured) if asked and isinstance(measured, Measured) else (),
    }
    return Observation.sealed(**{k: v for k, v in fields.items() if k not in ("format", "digest")})


@pytest.mark.parametrize(
    ("optimizer", "threads"), [(True, 1), (True, 2), (False, 1), (False, 2)], ids=str
)
def test_the_facts_are_the_same_with_any_plan(
    pinned, recorded, oracle, monkeypatch, optimizer, threads
):
    monkeypatch.setitem(sealed._OPENED_WITH, "enable_optimizer", optimizer)
    connection, settings = sealed.open_sealed(
        pinned.snapshot.database, memory_bytes=2**29, threads=threads
    )
    assert ("enable_optimizer", str(optimizer).lower()) in settings
    with connection:
        for case in RUN:
            captured = capture(connection, case.statement, pinned.snapshot.pins)
            assert isinstance(captured, Captured), case.name
            first, facts = recorded[case.name]
            rows = tuple(tuple(cell.text for cell in row) for row in first.rows)
            if (captured.rows, captured.reading) == (rows, first.reading):
                continue  # the same observation; so the same release
            again = observed(first, captured, connection)
            made = release(again, again.preview())
            oracle.check_release(made, again)
            assert Counter(map(said, made.facts)) == Counter(map(said, facts.facts)), case.name
    assert len(RUN) > 350


# --- the rows are what the files say ------------------------------------------------------------


def test_the_tables_have_every_scalar_type_and_the_odd_names():
    engine = InMemory([unescaped(TABLES.read_text())])
    kinds = {column.type.split("(")[0] for pin in engine.pins for column in pin.columns}
    names = {column.name for pin in engine.pins for column in pin.columns}
    engine.close()
    assert kinds >= {
        "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
        "UINTEGER", "UBIGINT", "UHUGEINT", "DECIMAL", "FLOAT", "DOUBLE", "VARCHAR", "ENUM", "DATE",
        "TIME", "TIME_NS", "TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS",
        "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL", "UUID", "BLOB", "BIT", "JSON",
    }  # fmt: skip
    assert names >= {"k", "\u212a", "e\u0301", "*", "true", 'quo"te'}


def test_the_rules_change_nothing_of_what_they_are_given(pinned):
    schema = pinned.snapshot.schema
    for case in cases():
        if not problems(case.statement):
            made = read(case.statement)
            before = copy.deepcopy(made)
            decide(made, schema, None, DUCKDB, STRICT)
            assert made == before

"""Whatever the code can name is known everywhere: a new member of a union stops here."""

from typing import Any, get_args

import pytest

from eligibility import Reason, Schema, parse
from eligibility.sql import parse as text_reading
from eligibility.sql.shape import Calculation, Predicate
from preview.duckdb import plan as engine_reading
from tests.corpus import ROOT
from tests.oracle import _truth

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


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.value)
def test_a_reason_has_its_part_of_the_page(reason):
    page = (ROOT.parent / "docs" / "reasons.md").read_text()
    assert f"\n## {reason.value}\n" in page

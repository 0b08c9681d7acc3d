"""Observations made of what the child returned: their digest is that of every other way (observing B1, B2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import preview
from eligibility.reasons import Reason
from eligibility.sql.observation import Engine, EngineReading, Observation
from preview.engine import Captured
from preview.observing import Observer
from tests.pinned import csv, pin_one

READING = EngineReading(shape=None, reasons=(Reason.EXPRESSION,), plan_sha256="0" * 64)
ENGINE = Engine(name="duckdb", version="2.0.1", settings=(("threads", "2"),))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory) -> preview.Snapshot:
    folder = tmp_path_factory.mktemp("observing")
    return pin_one(csv(folder / "t.csv", 'a,"b ""é"\n1,x\n'), folder)


def captured(**changes: object) -> Captured:
    fields = {
        "reading": READING,
        "names": ("a", "a"),
        "types": ("INTEGER", "VARCHAR"),
        "rows": (("1", "x"), (None, "x"), ("1", None)),
        "truncated": None,
    }
    return Captured.model_validate(fields | changes)


def observe(snapshot: preview.Snapshot, made: Captured, statement: str = "SELECT 1") -> Observation:
    return Observer(snapshot).observation(statement, made, ENGINE)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def results(draw: st.DrawFn) -> Captured:
    width = draw(st.integers(1, 4))
    names = draw(st.tuples(*[TEXTS] * width))
    types = draw(st.tuples(*[TEXTS] * width))
    rows = draw(st.lists(st.tuples(*[st.none() | TEXTS] * width), max_size=4))
    truncated = draw(st.sampled_from([None, "rows", "bytes"]))
    return captured(names=names, types=types, rows=tuple(rows), truncated=truncated)


@settings(max_examples=200)
@given(results(), TEXTS)
def test_the_digest_is_the_one_that_is_recomputed(snapshot, made, statement):
    seen = observe(snapshot, made, statement)
    assert seen.digest == seen.recomputed_digest()
    assert seen == Observation.model_validate_json(seen.to_json())
    fields = {name: getattr(seen, name) for name in Observation.model_fields}
    assert seen == Observation.sealed(
        **{name: value for name, value in fields.items() if name not in ("format", "digest")}
    )


@given(results())
def test_every_text_stands_where_it_was(snapshot, made):
    seen = observe(snapshot, made)
    assert tuple(tuple(cell.text for cell in row) for row in seen.rows) == made.rows
    assert all(tuple(cell.type for cell in row) == made.types for row in seen.rows)
    assert [(column.position, column.name, column.type) for column in seen.columns] == [
        (place, *pair) for place, pair in enumerate(zip(made.names, made.types, strict=True))
    ]


def test_another_engine_is_written_anew(snapshot):
    observer, other = Observer(snapshot), Engine(name="duckdb", version="2.0.2", settings=())
    for engine in (ENGINE, other, ENGINE):
        seen = observer.observation("SELECT 1", captured(), engine)
        assert (seen.engine, seen.digest) == (engine, seen.recomputed_digest())


def test_what_is_no_observation_is_none(snapshot):
    unchecked = captured().model_copy(update={"truncated": "no reason"})
    with pytest.raises(ValidationError):
        observe(snapshot, unchecked)
    unchecked = captured().model_copy(update={"rows": ((1, "x"),)})
    with pytest.raises((ValidationError, TypeError)):
        observe(snapshot, unchecked)
    for rows in ((("1",),), (("1", "x"), ("1",))):
        with pytest.raises(ValueError, match="zip"):
            observe(snapshot, captured(rows=rows))

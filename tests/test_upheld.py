"""What is asked of a table again: what cannot be asked is said, and never taken for an answer."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

import preview
from eligibility import release
from eligibility.evidence import upheld
from eligibility.evidence.verification import Code
from eligibility.sql.manifest import Manifest
from eligibility.sql.observation import Cell, Observation
from eligibility.wire.untrusted import from_json

FORMAT_1 = Path(__file__).parent / "data" / "format-1"


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upheld")
    table = pa.table({"c": ["a", "a", "b"], "x": [0.5, 0.25, 1.5], "i": [1, 2, 3]})
    made = preview.pin({"t": table}, into=folder / "snapshot")
    with preview.Recorder(made, timeout_s=600) as recorder:
        yield recorder.capture, {}


def seen(observed, statement: str) -> Observation:
    capture, held = observed
    if statement not in held:
        held[statement] = capture(statement)
    found: Observation = held[statement]
    return found


SUMS = "SELECT c, SUM(x), AVG(i) FROM t GROUP BY c ORDER BY c"


def table_of(observation: Observation, execute: Any) -> upheld.Table:
    shape = observation.reading.shape
    assert shape is not None
    answer = release(observation, observation.preview())
    labels = {(fact.row, fact.column): fact.label for fact in answer.facts}
    columns = [
        upheld.column(labels.get((0, place)), output, observation.pins)
        for place, output in enumerate(observation.columns)
    ]
    return upheld.Table(observation, shape, columns, execute)


def failing(*_: object) -> Code:
    return Code.EXECUTION_FAILED


def test_what_cannot_be_asked_is_said(observed):
    observation = seen(observed, SUMS)
    table = table_of(observation, failing)
    assert table.is_order(["c"]) is Code.EXECUTION_FAILED
    assert {code for code, _ in table.refuted()} == {Code.EXECUTION_FAILED}
    assert table.bound_of(observation.rows[0], 1, "0.75") is Code.EXECUTION_FAILED
    assert table.ask(None) is None
    assert table.ask(f"SELECT {'1, ' * 10_000} 1") is None


def test_a_row_of_which_nothing_may_be_stated_is_not_asked_about(observed):
    observation = seen(observed, "SELECT i + 1 AS j FROM t ORDER BY i")
    assert list(table_of(observation, failing).refuted()) == []


def test_a_question_that_is_too_long_is_none(observed, monkeypatch):
    table = table_of(seen(observed, SUMS), observed[0])
    monkeypatch.setattr(upheld.Table, "ask", lambda *_: None)
    assert list(table.refuted()) == []
    assert table.bound_of(seen(observed, SUMS).rows[0], 1, "0.75") is Code.BOUND_UNKNOWN


def test_a_bound_that_cannot_be_found_or_is_not_kept_is_unknown(observed, monkeypatch):
    observation = seen(observed, SUMS)
    capture = observed[0]
    table = table_of(observation, lambda _, statement: capture(statement))
    assert list(table.refuted()) == []
    monkeypatch.setattr(upheld.Table, "bound_of", lambda *_: Code.EXECUTION_TOO_SLOW)
    assert {code for code, _ in table.refuted()} == {Code.EXECUTION_TOO_SLOW}
    monkeypatch.undo()
    monkeypatch.setattr(Observation, "bounds", None, raising=False)
    older = observation.model_copy(update={"bounds": None})
    found = table_of(older, lambda _, statement: capture(statement))
    found._columns = table._columns
    assert {code for code, _ in found.refuted()} == {Code.BOUND_UNKNOWN}


def test_averages_without_a_value_are_compared_as_they_are():
    nothing, one = Cell(type="DOUBLE", text=None), Cell(type="DOUBLE", text="1.0")
    assert upheld.same_average(nothing, nothing)
    assert not upheld.same_average(nothing, one)


# --- what later formats hold ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (lambda _: {"characters": "1.0.0"}, "/characters"),
        (lambda one: {"bounds": (*one.bounds, *one.bounds)}, "/bounds/"),
    ],
    ids=["characters", "bounds"],
)
def test_what_only_later_formats_hold_has_to_be_as_it_is(observed, change, at):
    observation = seen(observed, SUMS)
    fields = {name: getattr(observation, name) for name in Observation.model_fields}
    del fields["digest"]
    odd = Observation.sealed(**(fields | change(observation)))
    answer = release(odd, odd.preview())
    assert answer.no_answer
    assert (answer.no_answer_at or "").startswith(at)


def test_an_observation_of_format_1_is_sealed_as_one():
    (kept, *_) = json.loads((FORMAT_1 / "observations.json").read_text())
    observation = from_json(Observation, json.dumps(kept["observation"]).encode())
    fields = {name: getattr(observation, name) for name in observation.model_fields_set}
    del fields["digest"]
    assert Observation.sealed(**fields).digest == observation.digest


def test_a_source_has_the_form_of_its_format():
    tree = json.loads((FORMAT_1 / "snapshot" / "manifest.json").read_text())
    tree["format"] = "eligibility-snapshot/2"
    with pytest.raises(ValidationError, match="another format"):
        Manifest.model_validate_json(json.dumps(tree))

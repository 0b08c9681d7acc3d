"""A statement checked by both readings, from Python."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import preview
from eligibility import Reason, Verdicts, classify
from evidence_adapters.cli.program import run
from evidence_adapters.cli.verbs import app
from preview import Checked, Recorder, Snapshot, check, checking

FLIGHTS = {"carrier": ["AA", "UA"], "distance": [5, 4]}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("checking")
    return preview.pin({"flights": pa.table(FLIGHTS)}, into=folder / "snapshot")


@pytest.fixture(scope="module")
def recorder(snapshot: Snapshot) -> Iterator[Recorder]:
    with Recorder(snapshot) as made:
        yield made


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SECONDS_MAX", 3600.0)  # however slow the machine is


def verdicts_of(checked: Checked) -> Verdicts:
    return Verdicts(**{name: getattr(checked, name) for name in Verdicts.model_fields})


def test_both_readings_are_asked_and_nothing_else_is_decided(snapshot, recorder):
    statement = "SELECT carrier, upper(carrier) AS u FROM flights"
    found = check(statement, recorder)
    assert (found.engine, found.agreed, found.note) == ("agrees", True, "")
    assert verdicts_of(found) == classify(statement, snapshot.schema, recorder.read(statement))
    assert [(mark.output, mark.reason, mark.words) for mark in found.marks] == [
        (1, Reason.FUNCTION, "upper(carrier) AS u")
    ]
    (edit,) = found.edits
    assert (edit.output, edit.statement) == (1, "SELECT carrier, carrier AS u FROM flights")
    assert check(edit.statement, recorder).outputs[1].label is not None


def test_a_snapshot_will_do(snapshot):
    assert check("SELECT carrier FROM flights", snapshot).agreed


@pytest.mark.parametrize(
    ("statement", "engine", "reason", "marked"),
    [
        ("DELETE FROM flights", "refused", Reason.ENGINE_REFUSED, ["DELETE"]),
        ("SELECT carrier FROM flight", "failed", Reason.ENGINE_FAILED, ["flight"]),
        ("SELECT carrier FROM flights; SELECT 1", "refused", Reason.ENGINE_REFUSED, ["SELECT 1"]),
        ("", "refused", Reason.NO_STATEMENT, []),
        ("SELECT '\udcff'", "refused", Reason.NOT_TEXT, ["\\udcff"]),
        ("SELECT 1 -- " + "x" * 20_000, "refused", Reason.STATEMENT_TOO_LONG, []),
    ],
)
def test_what_the_engine_does_not_run_is_withheld_and_marked(
    recorder, statement, engine, reason, marked
):
    found = check(statement, recorder)
    assert (found.engine, found.agreed, found.any_eligible) == (engine, False, False)
    assert reason in found.reasons
    assert found.note
    assert [mark.words for mark in found.marks] == marked
    assert Checked.model_validate_json(found.model_dump_json()) == found


def test_an_edit_is_tried_on_the_engine_too(recorder):
    (edit,) = check("SELECT carrier FROM flihgts", recorder).edits
    assert (edit.output, edit.text, edit.title) == (None, "gh", "name a pinned table: flights")
    assert check(edit.statement, recorder).agreed


def test_an_engine_that_was_ended_is_asked_no_more(snapshot):
    doubling = ", ".join(f"c{i} + c{i} AS c{i + 1}" for i in range(24))
    with Recorder(snapshot, timeout_s=1) as recorder:
        found = check(f"SELECT distance AS c0, {doubling} FROM flights", recorder)
    assert (found.engine, found.edits) == ("failed", ())
    assert found.marks


def test_a_recorder_that_fails_raises_whatever_the_statement(snapshot):
    recorder = Recorder(snapshot)
    recorder.close()
    with pytest.raises(preview.RecorderClosed):
        check("SELECT carrier FROM flights", recorder)


def test_looking_for_edits_ends_when_the_time_is_over(recorder, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS_MAX", -1.0)
    found = check("SELECT upper(carrier) FROM flights", recorder)
    assert (found.agreed, len(found.marks), found.edits) == (True, 1, ())


def test_what_was_decided_stands_when_the_recorder_fails_meanwhile(snapshot):
    statement = "SELECT upper(carrier) FROM flights"
    recorder = Recorder(snapshot)
    found = checking.decided(statement, snapshot.schema, recorder)
    recorder.close()
    told = checking.explained(statement, snapshot.schema, found, recorder)
    assert (told.agreed, len(told.marks), told.edits) == (True, 1, ())


def test_the_text_alone_will_do(snapshot):
    found = checking.decided("SELECT carrier FROM flights", snapshot.schema, None)
    assert found.verdicts == classify("SELECT carrier FROM flights", snapshot.schema)


def test_what_is_no_snapshot_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a recorder takes a snapshot"):
        check("SELECT 1", tmp_path)


def test_the_program_prints_the_same(
    snapshot: Snapshot, recorder: Recorder, capfd: pytest.CaptureFixture[str]
):
    statement = "SELECT CAST(distance AS VARCHAR) AS d, 1 FROM flights"
    assert run(app, ["check", statement, "--snapshot", str(snapshot.folder), "--json"]) == 1
    printed = json.loads(capfd.readouterr().out)
    assert printed == check(statement, recorder).model_dump(mode="json")
    published = Path(__file__).parent.parent / "docs" / "schemas" / "checked.json"
    assert set(json.loads(published.read_text())["required"]) == set(printed)

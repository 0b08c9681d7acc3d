"""What is refused: the page is what is counted, and an output refused without cause is found."""

import json
from pathlib import Path

import pytest

from eligibility import Reason, classify
from tests.corpus import cases
from tools import coverage
from tools.coverage import PAGE, SHARED_BEGINS, Read, own_part, read_all, unexplained

TABLES = {"t": {"a": "text", "n": "int", "x": "real", "when": "timestamp", "id": "serial"}}
SET = {
    "eligible": "SELECT a, COUNT(*) FROM t WHERE n > 1 GROUP BY a",
    "in-part": "SELECT a, n + 1 FROM t",
    "text-as-number": "SELECT n, COUNT(*) FROM t WHERE a = 1 GROUP BY n",
    "in-a-list": "SELECT COUNT(*) FROM t WHERE a IN (1, 2)",
    "between": "SELECT COUNT(*) FROM t WHERE x BETWEEN '1' AND '2'",
    "key-made": "SELECT n % 2 AS odd, COUNT(*) FROM t GROUP BY odd",
    "key-missing": "SELECT COUNT(*) FROM t GROUP BY a",
    "call": "SELECT SUM(n) FROM t WHERE lower(a) = 'x'",
    "star": "SELECT *, 1 FROM t",
    "join": "SELECT t.a FROM t, t AS s",
    "day-with-a-time": "SELECT COUNT(*) FROM t WHERE CAST(\"when\" AS DATE) = '2020-01-01'",
    "other-dialect": "SELECT julianday(a) FROM t",
    "no-such-format": "SELECT strftime('%s', \"when\") FROM t",
    "no-select": "CREATE TABLE s (a INTEGER)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schemas.json").write_text(json.dumps({"own/t": {"schema": TABLES}}))
    lines = [json.dumps({"id": n, "schema": "own/t", "sql": sql}) for n, sql in SET.items()]
    (tmp_path / "statements.jsonl").write_text("\n".join(lines))
    return tmp_path


def places(read: tuple[Read, ...]) -> dict[str, list[Reason]]:
    return {one.id: [reason for _, reason in one.listed] for one in read if one.shown}


def test_every_withheld_output_is_explained_by_the_tree(folder):
    read = read_all(folder)
    assert [one.id for one in read] == list(SET)
    assert {one.id: one.outcome for one in read if one.verdicts is None} == {
        "other-dialect": "failed",
        "no-such-format": "failed",
        "no-select": "not-a-select",
    }
    assert places(read) == {
        "text-as-number": [Reason.LITERAL_NOT_EXACT],
        "in-a-list": [Reason.LITERAL_NOT_EXACT],
        "between": [Reason.LITERAL_NOT_EXACT],
        "key-made": [Reason.GROUP_KEY_NOT_A_COLUMN],
        "key-missing": [Reason.GROUP_KEY_NOT_SHOWN],
        "call": [Reason.FILTER_NOT_STATABLE],
        "star": [Reason.STAR_NOT_ALONE] * len(TABLES["t"]),
        "day-with-a-time": [Reason.FILTER_NOT_STATABLE],
    }
    # A cast is not one of the causes that the tree is asked for.
    assert [name for name, *_ in unexplained(read)] == ["day-with-a-time"]


@pytest.mark.parametrize("reason", [Reason.JOIN, Reason.LITERAL_NOT_EXACT])
def test_an_output_refused_without_cause_is_found(folder, monkeypatch, reason):
    def refusing(*given: object) -> object:
        verdicts = classify(*given)  # type: ignore[arg-type]
        withheld = {"verdict": "withheld", "label": None, "reasons": (reason,)}
        outputs = tuple(type(o)(**o.model_dump() | withheld) for o in verdicts.outputs)
        return (
            verdicts
            if verdicts.reasons
            else type(verdicts)(**dict(verdicts) | {"outputs": outputs})
        )

    monkeypatch.setattr(coverage, "classify", refusing)
    found = {name for name, *_ in unexplained(read_all(folder))}
    assert {"eligible", "in-part"} <= found
    assert ("text-as-number" in found) is (reason is Reason.JOIN)


def test_the_program_prints_the_counts_and_says_whether_all_is_explained(folder, capsys):
    assert coverage.main([str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "| statements | 14 |" in printed
    assert "| **withheld and unexplained** | 1 |" in printed
    assert "### Unexplained: 1\n\n`day-with-a-time` (1)" in printed


def test_the_part_on_the_written_cases_is_fresh():
    assert own_part(cases()) in PAGE.read_text()


def test_without_the_shared_statements_their_part_is_kept(monkeypatch):
    monkeypatch.setattr(coverage, "SHARED", Path("nowhere"))
    assert not coverage.is_there()
    assert coverage.page().split(SHARED_BEGINS)[1] == PAGE.read_text().split(SHARED_BEGINS)[1]
    assert coverage.kept_count() > 900


@pytest.mark.long
def test_the_shared_statements_are_as_the_page_says_and_nothing_is_refused_without_cause():
    if not coverage.is_there():
        pytest.skip(f"{coverage.kept_count()} shared statements are not there to be counted")
    read = coverage.shared()
    assert len(read) == coverage.kept_count()
    assert coverage.shared_part(read) == PAGE.read_text().split(SHARED_BEGINS)[1].lstrip("\n")
    assert unexplained(read) == []
    verdicts = [one.verdicts for one in read if one.verdicts]
    assert not [made for made in verdicts if made.engine == "disagrees"]
    reasons = {reason for made in verdicts for one in made.outputs for reason in one.reasons}
    assert Reason.READINGS_DISAGREE not in reasons

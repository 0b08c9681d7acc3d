"""Marks, edits and explanations: as data, without the terminal."""

from typing import Any

import pytest

from eligibility import Explanation, Reason, Schema, classify, edits, explain, marks
from eligibility.explaining.edits import JUDGED_MAX, Enough
from eligibility.explaining.layout import lay_out
from eligibility.explaining.lessons import examples
from eligibility.explaining.proposals import Case, proposals
from tests.corpus import cases
from tools import pages

SCHEMA: dict[str | tuple[str, ...], Any] = {
    "flights": {"carrier": "VARCHAR", "month": "INTEGER", "distance": "BIGINT"},
    "airlines": {"carrier": "VARCHAR", "name": "VARCHAR"},
}

# Reasons that are about the whole text, or about something that is not there.
NO_PLACE = {
    *(Reason.STATEMENT_TOO_LONG, Reason.BRACKETS_TOO_DEEP, Reason.NO_STATEMENT, Reason.NOT_SQL),
    *(Reason.NO_SOURCE, Reason.CONSTRUCT_UNKNOWN, Reason.TOO_NESTED),
}


def test_the_parts_at_fault_are_marked():
    engine = pages.engine()
    marked = 0
    for case in cases():
        if case.before:
            continue
        text = classify(case.statement, engine.schema)
        reasons = set(text.reasons).union(*(output.reasons for output in text.outputs))
        found = marks(case.statement, text, engine.schema)
        assert {mark.reason for mark in found} <= reasons
        for mark in found:
            assert 0 <= mark.start < mark.stop <= len(case.statement)
        assert found or reasons <= NO_PLACE, case.name
        marked += bool(found)
    assert marked > 150


@pytest.mark.parametrize(
    ("statement", "marked"),
    [
        ("SELECT carrier, distance / 2 AS half FROM flights", ["distance / 2 AS half"]),
        (
            "SELECT COUNT(*) FROM flights WHERE month = '01' AND NOT (carrier = 'UA')",
            ["month = '01'"],
        ),
        ("SELECT COUNT(*) FROM flights GROUP BY carrier, month", ["carrier", "month"]),
        ("SELECT carrier FROM flights, airlines", ["airlines"]),
        ("SELECT a FROM flights f JOIN airlines a ON true", ["airlines a ON true"]),
        ("SELECT carrier FROM flights WHERE month IN (SELECT 1)", ["(SELECT 1)"]),
        ("SELECT *, 1 FROM flights", ["*"]),
        ("SELECT carrier\u200b FROM flights", ["\u200b"]),
        ("SELECT carrier FROM flights WHERE carrier = 'x", ["'x"]),
        ("SELECT carrier FROM flights WHERE (month = 1", ["("]),
        ("SELECT carrier FROM flights /* ; */; /* x */ SELECT 2", ["SELECT 2"]),
        ("SELECT x: 1, carrier FROM flights", ["x: 1"]),
        ("SELECT carrier FROM flights LIMIT 2.5", ["LIMIT 2.5"]),
        ("SELECT carrier IS DISTINCT FROM 'x' FROM flights", ["carrier IS DISTINCT FROM 'x'"]),
    ],
)
def test_what_is_marked(statement, marked):
    schema = Schema.of(SCHEMA)
    text = classify(statement, schema)
    found = marks(statement, text, schema)
    assert list(dict.fromkeys(mark.words for mark in found)) == marked
    assert all(statement[mark.start : mark.stop] == mark.words for mark in found)


@pytest.mark.long
def test_every_edit_is_true():
    engine = pages.engine()
    given = 0
    for case in cases():
        if case.before:
            continue
        text = classify(case.statement, engine.schema)
        found = edits(case.statement, text, engine.schema, lambda other: engine.both(other)[1])
        for edit in found:
            given += 1
            _, both = engine.both(edit.statement)
            assert both.engine == "agrees"
            if edit.output is None:
                assert both.any_eligible
            else:
                assert both.outputs[edit.output].label is not None
    assert given > 120


@pytest.mark.parametrize(
    ("statement", "title"),
    [
        ("SELECT CAST(distance AS VARCHAR) AS d FROM flights", "drop the cast: distance"),
        ("SELECT distance::VARCHAR FROM flights", "drop the cast: distance"),
        ("SELECT COUNT(*) FROM flights GROUP BY carrier", "show the group key: carrier"),
        (
            "SELECT COUNT(*) FROM flights GROUP BY carrier, month",
            "show the group keys: carrier, month",
        ),
        ("SELECT COUNT(*) FROM flights WHERE month = '01'", "write month = 1"),
        ("SELECT COUNT(*) FROM flights WHERE month = 1e0 AND carrier = 'UA'", "write month = 1"),
        ("SELECT COUNT(*) FROM flights WHERE (month) = 1", "write month = 1"),
        ("SELECT COUNT(*) FROM flights WHERE carrier = 5", "write carrier = '5'"),
        (
            "SELECT COUNT(*) FROM flights WHERE month % 2 = 0",
            "leave out WHERE month % 2 = 0, which cannot be stated",
        ),
        (
            "SELECT COUNT(*) FROM flights WHERE month = '01' AND month % 2 = 0 AND carrier = 'UA'",
            "leave out month % 2 = 0, which cannot be stated",
        ),
        ("SELECT mean(distance) FROM flights", "write AVG(distance)"),
        (
            "SELECT SUM(distance) FILTER (WHERE month = 1) FROM flights",
            "move the condition to WHERE month = 1",
        ),
        ("SELECT carier FROM flights", "name a column of the table: carrier"),
        ("SELECT carrier FROM flihgts", "name a pinned table: flights"),
        ("SELECT main.flights.carrier FROM flights", "name the column alone: carrier"),
        (
            "SELECT left(carrier, 1) AS c, COUNT(*) FROM flights GROUP BY c",
            "group by the column itself, and show it: carrier",
        ),
        ("SELECT carrier FROM flights LIMIT '5'", "write LIMIT 5"),
        ("SELECT carrier FROM flights LIMIT 50%", "leave out LIMIT 50%"),
        ("SELECT carrier FROM flights WHERE carrier = E'x'", "write the text in single quotes"),
        ("SELECT carrier\u00a0FROM flights", "write plain spaces"),
        ("SELECT +distance + 1, carrier FROM flights", "drop the plus sign"),
        ("(SELECT carrier FROM flights)", "drop the parentheses"),
        (
            "SELECT mean(distance) FROM flights WHERE month = '01' GROUP BY carrier",
            "write AVG(distance); show the group key: carrier; write month = 1",
        ),
        ("SELECT SUM(DISTINCT nothing) FROM flights GROUP BY upper(nothing)", None),
        ("SELECT a FROM flights JOIN airlines USING (carrier)", None),
        ("SELECT 1 FROM flights", None),
        (
            f"SELECT upper(carrier) FROM flights GROUP BY {'1' * 5000}",
            "select the column itself: carrier",
        ),
    ],
)
def test_what_an_edit_says(statement, title):
    schema = Schema.of(SCHEMA)

    found = edits(statement, classify(statement, schema), schema)
    assert next((edit.title for edit in found), None) == title


def test_looking_for_edits_ends():
    schema = Schema.of({"t": {f"c{i}": "INTEGER" for i in range(400)}})
    statement = f"SELECT {', '.join(f'c{i} + 1' for i in range(400))} FROM t"
    asked: list[str] = []

    def judge(other: str) -> Any:
        asked.append(other)
        return classify(other, schema)

    assert edits(statement, classify(statement, schema), schema, judge)
    assert len(asked) <= JUDGED_MAX


# --- any verdicts -------------------------------------------------------------------------------

FLIGHTS = Schema.of(SCHEMA)
AMISS = [
    "",
    "SELECT",
    "SELECT *",
    "SELECT DISTINCT ON (carrier, month",
    "SELECT carrier FROM flights",
    "SELECT carrier, month FROM flights GROUP BY carrier",
    "SELECT carrier, month",
    "SELECT DISTINCT ON",
    "SELECT 1 $ 2 ? #",
    "FROM flights OFFSET 2",
    "SELECT carrier FROM flights WHERE NOT",
    "SELECT x IN [1], y[1] FROM flights",
    "SELECT COUNT(*) FROM flights WHERE",
    "SELECT ALL , carrier, FROM flights",
    "SELECT {# carrier #} {% FROM flights",
    "(SELECT CAST(carrier AS VARCHAR)) ; ",
    "carrier",
    "SELECT 'x' FROM flights",
]


@pytest.mark.parametrize("statement", AMISS)
def test_any_verdicts_have_marks_and_proposals(statement):
    own = classify(statement, FLIGHTS)
    other = classify("SELECT carrier FROM flights", FLIGHTS)
    for reason in Reason:
        whole = own.model_copy(update={"reasons": (reason,)})
        outputs = [
            each.model_copy(update={"reasons": (reason,), "label": None, "verdict": "withheld"})
            for each in own.outputs or other.outputs
        ]
        single = own.model_copy(update={"reasons": (), "outputs": tuple(outputs)})
        for verdicts in (whole, single):
            for mark in marks(statement, verdicts, FLIGHTS):
                assert mark.reason is reason
                assert statement[mark.start : mark.stop] == mark.words
        layout = lay_out(statement)
        if layout.items:
            case = Case(layout, single, FLIGHTS, lambda text: classify(text, FLIGHTS), 0)
            assert all(each.said for each in proposals(case, (reason,)))


def test_no_star_is_proposed_where_nothing_is_selected():
    verdicts = classify("FROM flights", FLIGHTS)
    case = Case(lay_out("FROM flights"), verdicts, FLIGHTS, lambda _: verdicts)
    assert list(proposals(case, (Reason.STAR_NOT_ALONE,))) == []


def test_a_proposal_is_about_its_own_reason_alone():
    statement = "SELECT carrier\u00a0FROM flights; SELECT 2"
    reasons = (Reason.CHARACTER_UNREADABLE, Reason.SEVERAL_STATEMENTS)
    verdicts = classify(statement, FLIGHTS).model_copy(update={"reasons": reasons})
    case = Case(lay_out(statement), verdicts, FLIGHTS, lambda text: classify(text, FLIGHTS))
    assert [each.statement for each in proposals(case, reasons[1:])] == [
        "SELECT carrier\u00a0FROM flights;"
    ]


def test_a_statement_over_the_limit_has_neither():
    statement = "SELECT 1 -- " + "x" * 20_000
    verdicts = classify(statement, FLIGHTS)
    assert marks(statement, verdicts, FLIGHTS) == ()
    assert edits(statement, verdicts, FLIGHTS) == ()


def test_a_mark_names_its_output_or_none():
    statement = "SELECT COUNT(*), 1 AS one, upper(carrier) FROM flights WHERE month % 2 = 0"
    found = marks(statement, classify(statement, FLIGHTS), FLIGHTS)
    assert [(mark.output, mark.reason, mark.words) for mark in found] == [
        (1, Reason.CONSTANT, "1 AS one"),
        (2, Reason.FUNCTION, "upper(carrier)"),
        (None, Reason.FILTER_NOT_STATABLE, "month % 2 = 0"),
    ]


def test_a_star_is_marked_once():
    lists = Schema.of({"t": {"a": "INTEGER[]", "b": "INTEGER[]"}})
    found = marks("SELECT * FROM t", classify("SELECT * FROM t", lists), lists)
    assert [(mark.output, mark.words) for mark in found] == [(None, "*")]


def test_more_edits_than_three_are_none():
    statement = (
        "SELECT mean(distance) FROM flights WHERE month = '01' GROUP BY upper(carrier), month"
    )
    assert edits(statement, classify(statement, FLIGHTS), FLIGHTS) == ()
    (found,) = edits(fewer := statement.removesuffix(", month"), classify(fewer, FLIGHTS), FLIGHTS)
    assert found.title.count("; ") == 2


def test_verdicts_of_another_statement_have_no_edits():
    statement = "SELECT CAST(distance AS VARCHAR) FROM flights"
    verdicts = classify(statement, FLIGHTS)
    assert edits(statement, verdicts, FLIGHTS)
    assert edits(f"{statement} ", verdicts, FLIGHTS) == ()


def test_a_judge_that_says_nothing_of_an_output_ends_in_no_edit():
    statement = "SELECT upper(carrier) FROM flights WHERE month % 2 = 0"
    nothing = classify("SELECT", FLIGHTS)
    assert nothing.outputs == ()
    assert edits(statement, classify(statement, FLIGHTS), FLIGHTS, lambda _: nothing) == ()


def test_a_surrogate_is_written_as_its_escape():
    statement = "SELECT '\udcff'"
    (found,) = marks(statement, classify(statement, FLIGHTS), FLIGHTS)
    assert (found.reason, found.start, found.stop) == (Reason.NOT_TEXT, 8, 9)
    assert found.words == "\\udcff"


def test_an_edit_says_what_it_changes():
    statement = "SELECT carrier, CAST(distance AS VARCHAR) AS d FROM flights"
    (found,) = edits(statement, classify(statement, FLIGHTS), FLIGHTS)
    assert (found.output, found.title) == (1, "drop the cast: distance")
    assert found.statement == "SELECT carrier, distance AS d FROM flights"
    assert statement[: found.start] + found.text + statement[found.stop :] == found.statement


def test_a_judge_ends_the_search():
    statement = "SELECT upper(carrier), CAST(distance AS VARCHAR) FROM flights"
    asked: list[str] = []

    def once(other: str) -> Any:
        if asked:
            raise Enough
        asked.append(other)
        return classify(other, FLIGHTS)

    found = edits(statement, classify(statement, FLIGHTS), FLIGHTS, once)
    assert [edit.output for edit in found] == [0]


# --- explanations -------------------------------------------------------------------------------


def test_every_reason_is_explained():
    advised = 0
    for reason in Reason:
        made = explain(reason)
        assert (made.code, made.sentence) == (reason, reason.sentence)
        assert Explanation.model_validate_json(made.model_dump_json()) == made
        if made.example is None:
            assert (reason in examples(), made.advice) == (False, None)
            continue
        for mark in made.example.marks:
            assert made.example.statement[mark.start : mark.stop] == mark.words
        advised += made.advice is not None
        assert (made.advice is None) == (made.example.edit is None)
    assert advised > 25


def test_no_other_code_is_explained():
    with pytest.raises(ValueError, match="no reason nothing-of-the-kind"):
        explain("nothing-of-the-kind")  # type: ignore[arg-type]

"""What is released from an observation, what is withheld, and what releases nothing (specification 7)."""

import hashlib
import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eligibility.reasons import Reason
from eligibility.sql.facts import CLAIMS_MAX, Claim, Fact, Release
from eligibility.sql.line_parser import parse
from eligibility.sql.manifest import LogicalPart, logical_id
from eligibility.sql.observation import (
    CELL_TEXT_BYTES_MAX,
    Cell,
    CellBound,
    Engine,
    EngineReading,
    Observation,
    OutputColumn,
)
from eligibility.sql.release import CELL_CHARACTERS_MAX, _outputs, release
from eligibility.sql.schema import Column, Pin, Schema
from eligibility.sql.shape import (
    Aggregate,
    Calculation,
    Comparison,
    Derivation,
    DirectColumn,
    Negation,
    Other,
    Predicate,
    Selection,
    Shape,
    Value,
)
from eligibility.sql.verdicts import Filter, Label, SelectionFlags, Verdict, Verdicts
from eligibility.wire.untrusted import from_json

NO_HASH = "0" * 64
TYPES = {
    "carrier": "VARCHAR",
    "tailnum": "VARCHAR",
    "distance": "BIGINT",
    "month": "INTEGER",
    "delay": "DOUBLE",
    "share": "DECIMAL(4,2)",
    "cancelled": "BOOLEAN",
    "day": "DATE",
    "hour": "TIMESTAMP",
    "picture": "BLOB",
}
FLIGHTS = Pin(
    path=("main", "flights"),
    columns=tuple(Column(name=name, type=kind) for name, kind in TYPES.items()),
    rows=3,
    content_sha256=NO_HASH,
)
SCHEMA = Schema(tables=(FLIGHTS,))
SNAPSHOT = logical_id(LogicalPart(tables=(FLIGHTS,)))
JANUARY = Comparison(column="month", operator="=", value=Value(type="INTEGER", text="1"))
NOT_JANUARY = Negation(member=JANUARY)
CONSTANT = Other(reason=Reason.CONSTANT)
Rows = list[list[str | None]]


def of(column: str) -> DirectColumn:
    return DirectColumn(column=column)


def calc(calculation: Calculation, column: str | None) -> Aggregate:
    return Aggregate(calculation=calculation, column=column)


def shape(
    *outputs: Derivation,
    where: Predicate | None = None,
    groups: tuple[str, ...] = (),
    selection: Selection | None = None,
) -> Shape:
    return Shape(
        table=FLIGHTS.path,
        outputs=outputs,
        filter=where,
        groups=tuple(of(name) for name in groups),
        aggregated=bool(groups) or any(isinstance(made, Aggregate) for made in outputs),
        selection=selection or Selection(),
    )


def type_of(made: Derivation) -> str:
    match made:
        case DirectColumn():
            return TYPES[made.column]
        case Aggregate(calculation="COUNT"):
            return "BIGINT"
        case Aggregate(calculation="AVG"):
            return "DOUBLE"
        case Aggregate(calculation="SUM"):
            return "DOUBLE" if made.column == "delay" else "HUGEINT"
        case Aggregate():
            return TYPES[made.column or ""]
        case _:
            return "INTEGER"


def observe(statement: str, read: Shape | None, rows: Rows, **changes: Any) -> Observation:
    types = changes.pop("types", [type_of(made) for made in read.outputs] if read else [])
    fields: dict[str, Any] = {
        "statement": statement,
        "statement_sha256": hashlib.sha256(statement.encode()).hexdigest(),
        "snapshot": SNAPSHOT,
        "manifest_sha256": NO_HASH,
        "pins": (FLIGHTS,),
        "engine": Engine(name="duckdb", version="2.0.1", settings=()),
        "reading": EngineReading(
            shape=read,
            reasons=() if read else (Reason.PLAN_UNREADABLE,),
            plan_sha256=NO_HASH,
        ),
        "columns": tuple(
            OutputColumn(position=place, name=f"c{place}", type=kind)
            for place, kind in enumerate(types)
        ),
        "rows": tuple(
            tuple(Cell(type=kind, text=text) for kind, text in zip(types, row, strict=True))
            for row in rows
        ),
        "truncated": None,
        "captured_at": "2026-01-02T03:04:05.000000Z",
        "bounds": bounds_of(read, rows),
    }
    return Observation.sealed(**(fields | changes))


def bounds_of(read: Shape | None, rows: Rows) -> tuple[CellBound, ...]:
    """Give every sum or average of a float column the bound of one value."""
    made = read.outputs if read else ()
    summed = [
        place
        for place, one in enumerate(made)
        if one in (calc("SUM", "delay"), calc("AVG", "delay"))
    ]
    return tuple(
        CellBound(row=row, column=place, bound="0") for row in range(len(rows)) for place in summed
    )


def resealed(observation: Observation, **changes: Any) -> Observation:
    """The same observation with other fields, under a digest that fits."""
    names = set(Observation.model_fields) - {"format", "digest"}
    return Observation.sealed(**({name: getattr(observation, name) for name in names} | changes))


def lines(released: Release) -> list[str]:
    return [fact.text for fact in released.facts]


def reasons(released: Release) -> dict[tuple[int, int], tuple[Reason, ...]]:
    return {(cell.row, cell.column): cell.reasons for cell in released.withheld}


def is_nothing(released: Release, reason: Reason, at: str | None = None) -> bool:
    return (
        released.no_answer
        and not released.facts
        and not released.withheld
        and (released.no_answer_reason, released.no_answer_at) == (reason, at)
        and not (released.complete.result or released.complete.table)
        and not released.rows_are_table_rows
    )


# --- statements ---------------------------------------------------------------------------------

DIRECT = observe(
    "SELECT carrier, 1 AS one, distance AS profit FROM flights",
    shape(of("carrier"), CONSTANT, of("distance")),
    [["UA", "1", "1400"], [None, "1", "1416"], ["B6", "1", None]],
)
TOTALS = observe(
    "SELECT SUM(distance), AVG(delay), SUM(delay), MIN(carrier), MAX(day), COUNT(*), "
    "COUNT(tailnum), SUM(share) FROM flights WHERE month = 1",
    shape(
        calc("SUM", "distance"),
        calc("AVG", "delay"),
        calc("SUM", "delay"),
        calc("MIN", "carrier"),
        calc("MAX", "day"),
        calc("COUNT", None),
        calc("COUNT", "tailnum"),
        calc("SUM", "share"),
        where=JANUARY,
    ),
    [["27188805", "6.129", "12345.5", "9E", "2013-01-31", "27004", "26849", ".75"]],
)
GROUPED = observe(
    "SELECT carrier, AVG(delay), month, COUNT(*) FROM flights "
    "WHERE NOT month = 1 GROUP BY month, carrier",
    shape(
        of("carrier"),
        calc("AVG", "delay"),
        of("month"),
        calc("COUNT", None),
        where=NOT_JANUARY,
        groups=("month", "carrier"),
    ),
    [
        ["UA", "3.5", "2", "10"],
        [None, "nan", "3", "4"],
        ["x" * (CELL_CHARACTERS_MAX + 1), "1.0", None, "1"],
    ],
)
NAN_KEYS = observe(
    "SELECT delay, COUNT(*), day FROM flights GROUP BY delay, day",
    shape(of("delay"), calc("COUNT", None), of("day"), groups=("delay", "day")),
    [["nan", "1", "2013-01-01"], ["0.5", "2", "infinity"], ["-0.0", "3", "2013-01-01"]],
)
CELLS = observe(
    "SELECT delay, day, hour, carrier, cancelled, share FROM flights",
    shape(*map(of, ("delay", "day", "hour", "carrier", "cancelled", "share"))),
    [
        ["nan", "infinity", "-infinity", "nan", "true", "1.50"],
        ["-nan", "-infinity", "infinity", "infinity", "false", "-.05"],
        ["inf", "5877642-06-25 (BC)", "2013-01-01 05:00:00", "", None, "0.00"],
        ["-inf", None, None, "x" * CELL_CHARACTERS_MAX, "true", None],
        ["1e+20", "2013-01-01", None, "x" * (CELL_CHARACTERS_MAX + 1), "true", "1.00"],
        ["-0.0", "2013-01-01", None, "\u200b" * 300, "true", "1.00"],
    ],
)
STAR = observe(
    "SELECT * FROM flights",
    shape(*map(of, TYPES)),
    [["UA", "N1", "1", "2", "0.5", "1.00", "true", "2013-01-01", "2013-01-01 05:00:00", "\\x00"]],
)
JOIN = observe(
    "SELECT carrier FROM flights, flights AS other",
    None,
    [["UA"]],
    types=["VARCHAR"],
)
MISREAD = observe(
    "SELECT carrier, distance FROM flights",
    shape(of("tailnum"), of("distance")),
    [["UA", "5"]],
)
SHORT = observe("SELECT carrier, distance FROM flights", shape(of("carrier")), [["UA"]])
EMPTY = observe("SELECT carrier FROM flights", shape(of("carrier")), [])
ALL = {
    "direct": DIRECT,
    "totals": TOTALS,
    "grouped": GROUPED,
    "nan keys": NAN_KEYS,
    "cells": CELLS,
    "star": STAR,
    "join": JOIN,
    "misread": MISREAD,
    "short": SHORT,
    "empty": EMPTY,
}
LONG = "x" * CELL_CHARACTERS_MAX
WHERE_NOT = "where NOT (flights.month = 1 (rows where it is NULL are not counted))"

EXPECTED: dict[str, tuple[list[str], dict[tuple[int, int], tuple[Reason, ...]]]] = {
    "direct": (
        [
            "flights.carrier = 'UA' in result row 1",
            "flights.distance = 1400 in result row 1",
            "flights.distance = 1416 in result row 2",
            "flights.carrier = 'B6' in result row 3",
        ],
        {
            (0, 1): (Reason.CONSTANT,),
            (1, 0): (Reason.CELL_NULL,),
            (1, 1): (Reason.CONSTANT,),
            (2, 1): (Reason.CONSTANT,),
            (2, 2): (Reason.CELL_NULL,),
        },
    ),
    "totals": (
        [
            "SUM(flights.distance) = 27188805 where flights.month = 1",
            "AVG(flights.delay) ≈ 6.129 where flights.month = 1",
            "SUM(flights.delay) ≈ 12345.5 where flights.month = 1",
            "MIN(flights.carrier) = '9E' (text order) where flights.month = 1",
            "MAX(flights.day) = '2013-01-31' where flights.month = 1",
            "COUNT(*) of flights = 27004 where flights.month = 1",
            "COUNT(flights.tailnum) = 26849 where flights.month = 1",
            "SUM(flights.share) = .75 where flights.month = 1",
        ],
        {},
    ),
    "grouped": (
        [
            "flights.carrier = 'UA' in result row 1",
            f"AVG(flights.delay) ≈ 3.5 for flights.month = 2, flights.carrier = 'UA' {WHERE_NOT}",
            "flights.month = 2 in result row 1",
            f"COUNT(*) of flights = 10 for flights.month = 2, flights.carrier = 'UA' {WHERE_NOT}",
            "flights.month = 3 in result row 2",
            f"COUNT(*) of flights = 4 for flights.month = 3, flights.carrier IS NULL {WHERE_NOT}",
        ],
        {
            (1, 0): (Reason.CELL_NULL,),
            (1, 1): (Reason.CELL_NOT_FINITE,),
            (2, 0): (Reason.CELL_TOO_LONG,),
            (2, 1): (Reason.GROUP_CELL_TOO_LONG,),
            (2, 2): (Reason.CELL_NULL,),
            (2, 3): (Reason.GROUP_CELL_TOO_LONG,),
        },
    ),
    "nan keys": (
        [
            "flights.day = '2013-01-01' in result row 1",
            "flights.delay = 0.5 in result row 2",
            "flights.delay = -0.0 in result row 3",
            "COUNT(*) of flights = 3 for flights.delay = -0.0, flights.day = '2013-01-01'",
            "flights.day = '2013-01-01' in result row 3",
        ],
        {
            (0, 0): (Reason.CELL_NOT_FINITE,),
            (0, 1): (Reason.GROUP_CELL_NOT_FINITE,),
            (1, 1): (Reason.GROUP_CELL_NOT_FINITE,),
            (1, 2): (Reason.CELL_NOT_FINITE,),
        },
    ),
    "cells": (
        [
            "flights.carrier = 'nan' in result row 1",
            "flights.cancelled = TRUE in result row 1",
            "flights.share = 1.50 in result row 1",
            "flights.carrier = 'infinity' in result row 2",
            "flights.cancelled = FALSE in result row 2",
            "flights.share = -.05 in result row 2",
            "flights.day = '5877642-06-25 (BC)' in result row 3",
            "flights.hour = '2013-01-01 05:00:00' in result row 3",
            "flights.carrier = '' in result row 3",
            "flights.share = 0.00 in result row 3",
            f"flights.carrier = '{LONG}' in result row 4",
            "flights.cancelled = TRUE in result row 4",
            "flights.delay = 1e+20 in result row 5",
            "flights.day = '2013-01-01' in result row 5",
            "flights.cancelled = TRUE in result row 5",
            "flights.share = 1.00 in result row 5",
            "flights.delay = -0.0 in result row 6",
            "flights.day = '2013-01-01' in result row 6",
            "flights.cancelled = TRUE in result row 6",
            "flights.share = 1.00 in result row 6",
        ],
        {
            **dict.fromkeys(
                [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (0, 2), (1, 2)],
                (Reason.CELL_NOT_FINITE,),
            ),
            **dict.fromkeys([(2, 4), (3, 1), (3, 2), (3, 5), (4, 2), (5, 2)], (Reason.CELL_NULL,)),
            (4, 3): (Reason.CELL_TOO_LONG,),
            (5, 3): (Reason.LINE_TOO_LONG,),
        },
    ),
    "star": (
        [
            "flights.carrier = 'UA' in result row 1",
            "flights.tailnum = 'N1' in result row 1",
            "flights.distance = 1 in result row 1",
            "flights.month = 2 in result row 1",
            "flights.delay = 0.5 in result row 1",
            "flights.share = 1.00 in result row 1",
            "flights.cancelled = TRUE in result row 1",
            "flights.day = '2013-01-01' in result row 1",
            "flights.hour = '2013-01-01 05:00:00' in result row 1",
        ],
        {(0, 9): (Reason.TYPE_NOT_STATABLE,)},
    ),
    "join": ([], {(0, 0): (Reason.JOIN,)}),
    "misread": (
        ["flights.distance = 5 in result row 1"],
        {(0, 0): (Reason.READINGS_DISAGREE,)},
    ),
    "short": ([], {(0, 0): (Reason.READINGS_DISAGREE,)}),
    "empty": ([], {}),
}


@pytest.mark.parametrize("name", ALL)
def test_every_cell_becomes_a_fact_or_is_withheld_with_its_reasons(name: str) -> None:
    observation = ALL[name]
    released = release(observation, observation.preview(), digest=observation.digest)
    expected_lines, expected_reasons = EXPECTED[name]
    assert lines(released) == expected_lines
    assert reasons(released) == expected_reasons
    assert len(released.facts) + len(released.withheld) == sum(map(len, observation.rows))
    assert released.no_answer is (not expected_lines)
    assert released.origin == "verified"
    assert released.observation == observation.digest
    assert released.no_answer_at is None
    if not expected_lines:
        reason = Reason.NOTHING_ELIGIBLE if observation.rows else Reason.NO_ROWS
        assert released.no_answer_reason is reason
    places = [(fact.row, fact.column) for fact in released.facts]
    assert places == sorted(places)
    assert list(expected_reasons) == [] or list(reasons(released)) == sorted(expected_reasons)


def test_a_fact_holds_its_label_value_scope_and_source() -> None:
    facts = {
        fact.column: fact for fact in release(GROUPED, GROUPED.preview()).facts if not fact.row
    }
    average, carrier = facts[1], facts[0]
    assert average.label == Label(
        kind="aggregate", table=("main", "flights"), column="delay", calculation="AVG"
    )
    assert (average.value, average.exact) == (Cell(type="DOUBLE", text="3.5"), False)
    assert [(key.column, key.cell.text) for key in average.group] == [
        ("month", "2"),
        ("carrier", "UA"),
    ]
    assert average.filter == Filter(
        kind="stated", predicate=NOT_JANUARY, text=WHERE_NOT.removeprefix("where ")
    )
    assert (average.observation, average.snapshot) == (GROUPED.digest, SNAPSHOT)
    assert (carrier.exact, carrier.group) == (True, ())
    assert facts[3].exact


@pytest.mark.parametrize("name", ALL)
def test_a_fact_is_what_validation_would_make(name: str) -> None:
    for fact in release(ALL[name], ALL[name].preview()).facts:
        made = Fact(**vars(fact))
        assert fact == made == fact.model_copy()
        assert list(vars(fact).items()) == list(vars(made).items())
        assert fact.model_fields_set == made.model_fields_set
        assert (fact.__pydantic_extra__, fact.__pydantic_private__) == (None, None)
        assert from_json(Fact, fact.model_dump_json()) == fact


def test_only_sums_and_averages_that_yield_floats_are_not_exact() -> None:
    released = release(TOTALS, TOTALS.preview())
    assert [fact.exact for fact in released.facts] == [True, False, False, *[True] * 5]


def test_a_direct_column_keeps_its_fact_where_the_filter_cannot_be_stated() -> None:
    observation = observe(
        "SELECT carrier FROM flights WHERE month + 1 = 2 LIMIT 9",
        shape(of("carrier"), where=JANUARY, selection=Selection(limit=9)),
        [["UA"]],
    )
    (fact,) = release(observation, observation.preview()).facts
    assert fact.filter == Filter(kind="not-stated")
    assert fact.selection == SelectionFlags(
        having=False, distinct=False, order_by=False, limit=True, offset=False
    )
    assert fact.text == "flights.carrier = 'UA' in result row 1"


def test_the_answer_is_made_of_lines_and_nothing_else() -> None:
    answer = release(DIRECT, DIRECT.preview()).answer()
    assert answer["answer"].split("\n") == EXPECTED["direct"][0]
    assert answer["citations"][1] == {
        "observation": DIRECT.digest,
        "snapshot": SNAPSHOT,
        "row": 0,
        "column": 2,
    }
    assert answer["no_answer"] is False
    assert release(EMPTY, EMPTY.preview()).answer() == {
        "answer": "",
        "citations": [],
        "no_answer": True,
    }


THREE: Rows = [["UA"], ["B6"], ["AA"]]


@pytest.mark.parametrize(
    ("statement", "read", "truncated", "result", "table", "table_rows"),
    [
        ("SELECT carrier FROM flights", {}, None, True, True, True),
        ("SELECT carrier FROM flights", {}, "rows", False, False, True),
        ("SELECT carrier FROM flights", {}, "bytes", False, False, True),
        (
            "SELECT carrier FROM flights ORDER BY 1",
            {"selection": Selection(order_by=True)},
            None,
            True,
            True,
            True,
        ),
        (
            "SELECT carrier FROM flights LIMIT 3",
            {"selection": Selection(limit=3)},
            None,
            True,
            False,
            True,
        ),
        (
            "SELECT carrier FROM flights OFFSET 0",
            {"selection": Selection(offset=0)},
            None,
            True,
            False,
            True,
        ),
        (
            "SELECT DISTINCT carrier FROM flights",
            {"selection": Selection(distinct=True)},
            None,
            True,
            False,
            False,
        ),
        (
            "SELECT carrier FROM flights WHERE month = 1",
            {"where": JANUARY},
            None,
            True,
            False,
            True,
        ),
        (
            "SELECT carrier FROM flights GROUP BY carrier",
            {"groups": ("carrier",)},
            None,
            True,
            False,
            False,
        ),
        (
            "SELECT carrier FROM flights GROUP BY carrier HAVING carrier > 'A'",
            {"groups": ("carrier",), "selection": Selection(having=True)},
            None,
            True,
            False,
            False,
        ),
    ],
)
def test_what_is_complete(
    statement: str,
    read: dict[str, Any],
    truncated: str | None,
    result: bool,
    table: bool,
    table_rows: bool,
) -> None:
    observation = observe(statement, shape(of("carrier"), **read), THREE, truncated=truncated)
    released = release(observation, observation.preview())
    assert len(released.facts) == 3
    assert (released.complete.result, released.complete.table) == (result, table)
    assert released.rows_are_table_rows is table_rows


def test_a_table_is_complete_only_if_all_its_rows_are_there() -> None:
    observation = observe("SELECT carrier FROM flights", shape(of("carrier")), THREE[:2])
    assert not release(observation, observation.preview()).complete.table


def test_what_is_not_read_by_both_is_not_complete() -> None:
    for observation in (JOIN, SHORT):
        released = release(observation, observation.preview())
        assert released.complete.result
        assert not released.complete.table
        assert not released.rows_are_table_rows


# --- the observation ----------------------------------------------------------------------------


def edited(observation: Observation, edit: Callable[[dict[str, Any]], object]) -> str:
    """The observation's JSON text after an edit, under its old digest."""
    tree = json.loads(observation.to_json())
    edit(tree)
    return json.dumps(tree)


def deep(levels: int) -> Predicate:
    predicate: Predicate = JANUARY
    for _ in range(levels):
        predicate = Negation(member=predicate)
    return predicate


def made_without_validation(kind: Any, **fields: Any) -> Any:
    return kind.model_construct(**fields)


def unchecked(**changes: Any) -> Observation:
    made: Observation = made_without_validation(Observation, **(DIRECT.__dict__ | changes))
    return made


MALFORMED: dict[str, tuple[object, str]] = {
    "nothing": (None, ""),
    "a number": (1, ""),
    "no JSON": ("{", ""),
    "a list": ([], ""),
    "empty": ("", ""),
    "bytes that are no text": (b"\xff", ""),
    "bytes in another form": (bytearray(b"{}"), ""),
    "a set": ({1}, ""),
    "not a number": ({"rows": float("nan")}, ""),
    "another model": (DIRECT.preview(), ""),
    "unknown field": (edited(DIRECT, lambda tree: tree.update(note="")), ""),
    "missing field": (edited(DIRECT, lambda tree: tree.pop("rows")), "/rows"),
    "cell of another form": (
        edited(DIRECT, lambda tree: tree["rows"][1].__setitem__(2, {"type": "BIGINT", "text": 5})),
        "/rows/1/2/text",
    ),
    "position that is a truth value": (
        edited(DIRECT, lambda tree: tree["columns"][0].update(position=False)),
        "/columns/0/position",
    ),
    "repeated key": (DIRECT.to_json()[:-1] + ',"digest":"' + NO_HASH + '"}', ""),
    "too large": (" " * (5 * 1024 * 1024) + DIRECT.to_json(), ""),
    "nested too deeply": ("[" * 100 + "]" * 100, ""),
    "made without validation": (unchecked(rows="UA"), ""),
    "made without a field": (made_without_validation(Observation), ""),
    "made with a cell of another class": (unchecked(rows=(("UA",),)), ""),
    "a surrogate": (unchecked(captured_at="\ud800"), ""),
    "a filter without end": (
        unchecked(
            reading=EngineReading(
                shape=shape(of("carrier"), where=deep(5_000)), reasons=(), plan_sha256=NO_HASH
            )
        ),
        "",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_observation_releases_nothing(name: str) -> None:
    observation, at = MALFORMED[name]
    released = release(observation, DIRECT.preview())  # type: ignore[arg-type]
    assert is_nothing(released, Reason.OBSERVATION_MALFORMED, at)
    assert (released.observation, released.origin) == (None, "unverified")


INCONSISTENT: dict[str, tuple[Observation, str]] = {
    "hash of another statement": (
        resealed(DIRECT, statement_sha256=NO_HASH),
        "/statement_sha256",
    ),
    "one table pinned twice": (
        resealed(
            DIRECT,
            pins=(FLIGHTS, FLIGHTS),
            snapshot=logical_id(LogicalPart(tables=(FLIGHTS, FLIGHTS))),
        ),
        "/pins",
    ),
    "an engine of no dialect": (
        resealed(DIRECT, engine=DIRECT.engine.model_copy(update={"name": "other"})),
        "/engine/name",
    ),
    "pins of another snapshot": (resealed(DIRECT, snapshot=NO_HASH), "/snapshot"),
    "no pins": (resealed(DIRECT, pins=()), "/snapshot"),
    "fewer columns than the plan": (resealed(DIRECT, columns=DIRECT.columns[:2]), "/columns"),
    "columns out of order": (resealed(DIRECT, columns=DIRECT.columns[::-1]), "/columns/0/position"),
    "row too short": (
        resealed(DIRECT, rows=(*DIRECT.rows[:2], DIRECT.rows[2][:2])),
        "/rows/2",
    ),
    "cell of another type": (
        resealed(DIRECT, rows=((*DIRECT.rows[0][:2], Cell(type="HUGEINT", text="1400")),)),
        "/rows/0/2/type",
    ),
    "too much text": (
        observe(
            "SELECT carrier FROM flights",
            shape(of("carrier")),
            [["é" * (CELL_TEXT_BYTES_MAX // 2)], ["x"]],
        ),
        "/rows",
    ),
    "column of another type than the pinned one": (
        observe("SELECT distance FROM flights", shape(of("distance")), [["14"]], types=["VARCHAR"]),
        "/columns/0/type",
    ),
    "least value of another type than the pinned column": (
        observe(
            "SELECT COUNT(*), MIN(day) FROM flights",
            shape(calc("COUNT", None), calc("MIN", "day")),
            [["1", "2013"]],
            types=["BIGINT", "INTEGER"],
        ),
        "/columns/1/type",
    ),
    "count that is a text": (
        observe(
            "SELECT COUNT(*) FROM flights",
            shape(calc("COUNT", None)),
            [["many"]],
            types=["VARCHAR"],
        ),
        "/columns/0/type",
    ),
    "integer that is none": (
        observe(
            "SELECT distance, carrier FROM flights",
            shape(of("distance"), of("carrier")),
            [["14", "UA"], ["1 where x", "UA"]],
        ),
        "/rows/1/0/text",
    ),
    "truth value that is none": (
        observe("SELECT cancelled FROM flights", shape(of("cancelled")), [["TRUE"]]),
        "/rows/0/0/text",
    ),
}


@pytest.mark.parametrize("name", INCONSISTENT)
def test_an_observation_that_contradicts_itself_is_malformed_whatever_its_digest(name: str) -> None:
    observation, at = INCONSISTENT[name]
    released = release(observation, observation.preview())
    assert is_nothing(released, Reason.OBSERVATION_MALFORMED, at)
    assert released.observation == observation.digest


@pytest.mark.parametrize(
    "edit",
    [
        lambda tree: tree["rows"][0][0].update(text="UB"),
        lambda tree: tree.update(statement=tree["statement"] + " "),
        lambda tree: tree.update(snapshot="b" * 64),
        lambda tree: tree.update(truncated="rows"),
        lambda tree: tree["pins"][0].update(rows=4),
        lambda tree: tree.update(captured_at=""),
        lambda tree: tree.update(digest=NO_HASH),
    ],
)
def test_an_edited_observation_releases_nothing(edit: Callable[[dict[str, Any]], object]) -> None:
    text = edited(DIRECT, edit)
    assert is_nothing(release(text, DIRECT.preview()), Reason.DIGEST_MISMATCH)
    assert is_nothing(release(json.loads(text), DIRECT.preview()), Reason.DIGEST_MISMATCH)


def test_an_observation_with_one_other_byte_releases_nothing() -> None:
    original = DIRECT.to_json().encode()
    found = set()
    for place in range(0, len(original), 17):
        raw = bytearray(original)
        raw[place] ^= 1
        released = release(bytes(raw), DIRECT.preview(), digest=DIRECT.digest)
        assert not released.facts
        found.add(released.no_answer_reason)
    assert found == {Reason.OBSERVATION_MALFORMED, Reason.DIGEST_MISMATCH}


@pytest.mark.parametrize(
    "digest",
    ["", "0" * 64, DIRECT.digest.upper(), DIRECT.digest + "\n", DIRECT.digest[:-1], b"", 0, False],
)
def test_another_digest_than_the_hosts_releases_nothing(digest: Any) -> None:
    released = release(DIRECT, DIRECT.preview(), digest=digest)
    assert is_nothing(released, Reason.ORIGIN_MISMATCH)
    assert released.origin == "unverified"


def test_without_the_hosts_digest_the_origin_is_unverified() -> None:
    assert release(DIRECT, DIRECT.preview()).origin == "unverified"
    assert release(DIRECT, DIRECT.preview(), digest=DIRECT.digest).origin == "verified"
    assert release(DIRECT, "", digest=DIRECT.digest).origin == "verified"


def test_every_form_of_the_same_evidence_gives_the_same_release() -> None:
    expected = release(DIRECT, DIRECT.preview(), [Claim(row=0, column=0)])
    text, shown = DIRECT.to_json(), DIRECT.preview().model_dump_json()
    claim = {"row": 0, "column": 0}
    for observation in (text, text.encode(), json.loads(text), MappingProxyType(json.loads(text))):
        for returned in (shown, shown.encode(), json.loads(shown), DIRECT.preview().model_dump()):
            for claims in ([claim], (claim,), json.dumps([claim]), [Claim(row=0, column=0)]):
                assert release(observation, returned, claims) == expected


# --- the returned preview -----------------------------------------------------------------------

DIFFERENT: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "cell": (lambda tree: tree["rows"][1][2].update(text="1417"), "/rows/1/2/text"),
    "cell now NULL": (lambda tree: tree["rows"][0][0].update(text=None), "/rows/0/0/text"),
    "cell no more NULL": (lambda tree: tree["rows"][1][0].update(text=""), "/rows/1/0/text"),
    "type of a cell": (lambda tree: tree["rows"][0][2].update(type="INTEGER"), "/rows/0/2/type"),
    "look-alike": (lambda tree: tree["rows"][0][0].update(text="U\u0410"), "/rows/0/0/text"),
    "space": (lambda tree: tree["rows"][0][0].update(text="UA "), "/rows/0/0/text"),
    "first row gone": (lambda tree: tree["rows"].pop(0), "/rows/0/0/text"),
    "last row gone": (lambda tree: tree["rows"].pop(), "/rows/2"),
    "row added": (lambda tree: tree["rows"].append(tree["rows"][0]), "/rows/3"),
    "rows in another order": (lambda tree: tree["rows"].reverse(), "/rows/0/0/text"),
    "cell gone": (lambda tree: tree["rows"][2].pop(), "/rows/2/2"),
    "cell added": (lambda tree: tree["rows"][2].append(tree["rows"][0][0]), "/rows/2/3"),
    "no rows": (lambda tree: tree["rows"].clear(), "/rows/0"),
    "name of a column": (lambda tree: tree["columns"][1].update(name="two"), "/columns/1/name"),
    "type of a column": (lambda tree: tree["columns"][1].update(type="X"), "/columns/1/type"),
    "position of a column": (
        lambda tree: tree["columns"][1].update(position=2),
        "/columns/1/position",
    ),
    "columns in another order": (lambda tree: tree["columns"].reverse(), "/columns/0/position"),
    "column gone": (lambda tree: tree["columns"].pop(), "/columns/2"),
    "column added": (lambda tree: tree["columns"].append(tree["columns"][0]), "/columns/3"),
    "truncated": (lambda tree: tree.update(truncated="rows"), "/truncated"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_different_preview_releases_nothing_and_says_where(name: str) -> None:
    edit, at = DIFFERENT[name]
    tree = json.loads(DIRECT.preview().model_dump_json())
    edit(tree)
    released = release(DIRECT, tree, digest=DIRECT.digest)
    assert is_nothing(released, Reason.PREVIEW_DIFFERS, at)
    assert released.origin == "verified"
    assert not any(text in released.model_dump_json() for text in ("1417", "1416", "UA", "B6"))


@pytest.mark.parametrize(
    ("returned", "at"),
    [
        (None, ""),
        ("", ""),
        ("null", ""),
        ([], ""),
        ({}, "/columns"),
        (DIRECT, ""),
        (DIRECT.to_json(), ""),
        ({"columns": [], "rows": [], "truncated": "yes"}, "/truncated"),
        ({"columns": [], "rows": [[]] * 51, "truncated": None}, "/rows"),
        (
            {"columns": [], "rows": [[{"type": "X", "text": 1}]], "truncated": None},
            "/rows/0/0/text",
        ),
        ({"columns": [], "rows": [], "truncated": None, "secret": 1}, ""),
        ({1: 2}, "/columns"),
    ],
)
def test_a_malformed_preview_releases_nothing(returned: Any, at: str) -> None:
    released = release(DIRECT, returned)
    assert is_nothing(released, Reason.PREVIEW_MALFORMED, at)


# --- claims -------------------------------------------------------------------------------------

UNRELEASABLE: dict[str, tuple[Any, Reason, str | None]] = {
    "empty": ([], Reason.NO_CLAIMS, None),
    "empty text": ("[]", Reason.NO_CLAIMS, None),
    "JSON null": ("null", Reason.CLAIMS_MALFORMED, ""),
    "one claim without a list": ({"row": 0, "column": 0}, Reason.CLAIMS_MALFORMED, ""),
    "a number": (5, Reason.CLAIMS_MALFORMED, ""),
    "a generator": (iter([]), Reason.CLAIMS_MALFORMED, ""),
    "too many": ([{"row": 0, "column": 0}] * (CLAIMS_MAX + 1), Reason.CLAIMS_MALFORMED, ""),
    "truth value as row": (
        [{"row": 0, "column": 0}, {"row": True, "column": 0}],
        Reason.CLAIMS_MALFORMED,
        "/1/row",
    ),
    "fraction as column": ([{"row": 0, "column": 0.5}], Reason.CLAIMS_MALFORMED, "/0/column"),
    "text as row": ([{"row": "0", "column": 0}], Reason.CLAIMS_MALFORMED, "/0/row"),
    "missing column": ([{"row": 0}], Reason.CLAIMS_MALFORMED, "/0/column"),
    "unknown field": ([{"row": 0, "column": 0, "UA": 1}], Reason.CLAIMS_MALFORMED, "/0"),
    "made without validation": (
        [made_without_validation(Claim, row="0", column=0)],
        Reason.CLAIMS_MALFORMED,
        "/0/row",
    ),
    "row outside": (
        [{"row": 0, "column": 0}, {"row": 3, "column": 0}],
        Reason.CLAIM_UNKNOWN,
        "/1",
    ),
    "column outside": ([{"row": 0, "column": 3}], Reason.CLAIM_UNKNOWN, "/0"),
    "negative row": ([{"row": -1, "column": 0}], Reason.CLAIM_UNKNOWN, "/0"),
    "negative column": ([{"row": 0, "column": -1}], Reason.CLAIM_UNKNOWN, "/0"),
    "huge row": ([{"row": 10**30, "column": 0}], Reason.CLAIM_UNKNOWN, "/0"),
    "another text": ([{"row": 0, "column": 0, "text": "ua"}], Reason.CLAIM_DIFFERS, "/0"),
    "text with a space": ([{"row": 0, "column": 0, "text": "UA "}], Reason.CLAIM_DIFFERS, "/0"),
    "another type": ([{"row": 0, "column": 2, "type": "INTEGER"}], Reason.CLAIM_DIFFERS, "/0"),
    "text where there is NULL": ([{"row": 1, "column": 0, "text": ""}], Reason.CLAIM_DIFFERS, "/0"),
    "the first of two faults": (
        [{"row": 0, "column": 0, "text": "x"}, {"row": 9, "column": 0}],
        Reason.CLAIM_DIFFERS,
        "/0",
    ),
    "a withheld cell that differs": (
        [{"row": 0, "column": 0}, {"row": 0, "column": 1, "text": "2"}],
        Reason.CLAIM_DIFFERS,
        "/1",
    ),
}


@pytest.mark.parametrize("name", UNRELEASABLE)
def test_an_invented_claim_releases_nothing_and_is_named(name: str) -> None:
    claims, reason, at = UNRELEASABLE[name]
    released = release(DIRECT, DIRECT.preview(), claims)
    assert is_nothing(released, reason, at)
    assert "UA" not in released.model_dump_json()
    assert lines(release(DIRECT, DIRECT.preview())) == EXPECTED["direct"][0]


def test_a_claim_yields_its_fact_once_and_in_order() -> None:
    claims = [
        Claim(row=2, column=0, type="VARCHAR", text="B6"),
        Claim(row=0, column=2),
        Claim(row=0, column=2, text="1400"),
        Claim(row=0, column=1),
        Claim(row=0, column=1, text="1"),
        Claim(row=1, column=0),
    ]
    released = release(DIRECT, DIRECT.preview(), claims)
    assert lines(released) == [
        "flights.distance = 1400 in result row 1",
        "flights.carrier = 'B6' in result row 3",
    ]
    assert reasons(released) == {(0, 1): (Reason.CONSTANT,), (1, 0): (Reason.CELL_NULL,)}
    assert len(released.withheld) == 2


def test_claims_on_withheld_cells_alone_are_a_no_answer_with_their_reasons() -> None:
    released = release(DIRECT, DIRECT.preview(), [Claim(row=0, column=1)])
    assert released.no_answer
    assert released.no_answer_reason is Reason.NOTHING_ELIGIBLE
    assert reasons(released) == {(0, 1): (Reason.CONSTANT,)}


def test_as_many_claims_as_allowed() -> None:
    released = release(DIRECT, DIRECT.preview(), [{"row": 0, "column": 0}] * CLAIMS_MAX)
    assert len(released.facts) == 1


# --- verdicts that contradict themselves --------------------------------------------------------


def verdicts(condition: Filter, groups: tuple[str, ...]) -> Verdicts:
    label = Label(kind="aggregate", table=FLIGHTS.path, column=None, calculation="COUNT")
    return Verdicts(
        statement_sha256=NO_HASH,
        engine="agrees",
        reasons=(),
        outputs=(Verdict(position=0, name="n", verdict="eligible", label=label, reasons=()),),
        filter=condition,
        groups=groups,
        selection=SelectionFlags(
            having=False, distinct=False, order_by=False, limit=False, offset=False
        ),
    )


@pytest.mark.parametrize(
    ("condition", "groups", "expected"),
    [
        (Filter(kind="none"), (), ()),
        (Filter(kind="not-stated"), (), (Reason.FILTER_NOT_STATABLE,)),
        (Filter(kind="stated", predicate=JANUARY), (), (Reason.FILTER_NOT_STATABLE,)),
        (Filter(kind="none"), ("month",), (Reason.GROUP_KEY_NOT_SHOWN,)),
    ],
)
def test_an_aggregate_whose_scope_has_no_words_is_withheld(
    condition: Filter, groups: tuple[str, ...], expected: tuple[Reason, ...]
) -> None:
    (output,) = _outputs(verdicts(condition, groups), SCHEMA, 1)
    assert output.reasons == expected


# --- any input ----------------------------------------------------------------------------------

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("rows", "row", "column", "text", "x")), inner, max_size=4
        )
        | st.tuples(inner)
    ),
    max_leaves=12,
)
CELL_TEXTS = {
    "VARCHAR": st.text(max_size=8) | st.sampled_from(("nan", "it's", "x" * 600, "\u202e" * 400)),
    "BIGINT": st.integers(-(2**63), 2**63 - 1).map(str),
    "INTEGER": st.integers(-(2**31), 2**31 - 1).map(str),
    "HUGEINT": st.integers(-(2**127), 2**127 - 1).map(str),
    "DOUBLE": st.sampled_from(("0.5", "-0.0", "1e+20", "5e-324", "nan", "-nan", "inf", "-inf")),
    "DATE": st.sampled_from(("2013-01-01", "infinity", "-infinity", "0044-03-15 (BC)")),
}
CLAUSES = {
    "direct": DIRECT,
    "grouped": GROUPED,
    "nan keys": NAN_KEYS,
    "misread": MISREAD,
}


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    base = CLAUSES[draw(st.sampled_from(sorted(CLAUSES)))]
    types = [column.type for column in base.columns]
    row = st.tuples(
        *(st.builds(Cell, type=st.just(kind), text=st.none() | CELL_TEXTS[kind]) for kind in types)
    )
    rows = draw(st.lists(row, max_size=5))
    return resealed(
        base, rows=tuple(rows), truncated=draw(st.sampled_from((None, "rows", "bytes")))
    )


@st.composite
def claimed(draw: st.DrawFn) -> tuple[Observation, list[Claim]]:
    observation = draw(observations().filter(lambda made: bool(made.rows)))
    place = st.tuples(
        st.integers(0, len(observation.rows) - 1), st.integers(0, len(observation.columns) - 1)
    )
    places = draw(st.lists(place, min_size=1, max_size=8))
    return observation, [Claim(row=row, column=column) for row, column in places]


def places(released: Release) -> set[tuple[int, int, str]]:
    return {(fact.row, fact.column, fact.text) for fact in released.facts}


@given(junk | observations(), junk, st.none() | junk, st.none() | st.text())
@settings(max_examples=100, deadline=None)
def test_any_input_gives_a_release(
    observation: Any, returned: Any, claims: Any, digest: str | None
) -> None:
    released = release(observation, returned, claims, digest=digest)
    assert released.no_answer
    assert not released.facts
    assert released.no_answer_reason is not None


def are_claims(drawn: Any) -> bool:
    """Say whether what was drawn happens to look like claims."""
    if isinstance(drawn, str | bytes):
        try:
            drawn = json.loads(drawn)
        except (ValueError, RecursionError):
            return False
    fields = {"row", "column", "type", "text"}
    return (
        isinstance(drawn, list | tuple)
        and len(drawn) > 0
        and all(isinstance(one, dict) and one.keys() <= fields for one in drawn)
    )


@given(observations(), junk)
@settings(max_examples=50, deadline=None)
def test_any_claims_give_a_release(observation: Observation, claims: Any) -> None:
    assume(claims is not None)
    assume(not are_claims(claims))
    released = release(observation, observation.preview(), claims)
    assert released.no_answer
    assert released.no_answer_reason in (Reason.CLAIMS_MALFORMED, Reason.NO_CLAIMS)


@given(observations())
@settings(max_examples=50, deadline=None)
def test_facts_survive_json_are_deterministic_and_read_back(observation: Observation) -> None:
    released = release(observation, observation.preview(), digest=observation.digest)
    assert from_json(Release, released.model_dump_json()) == released
    assert released == release(
        observation.to_json(), observation.preview().model_dump_json(), digest=observation.digest
    )
    assert released.no_answer is (not released.facts)
    assert (released.no_answer_reason is None) is bool(released.facts)
    for fact in released.facts:
        said = parse(fact.text, SCHEMA)
        assert said is not None
        assert (said.label, said.value, said.exact) == (fact.label, fact.value.text, fact.exact)
        assert said.group == fact.group
        if fact.label.kind == "column":
            assert (said.row, said.predicate) == (fact.row, None)
        else:
            assert (said.row, said.predicate) == (None, fact.filter.predicate)


@given(observations(), st.data())
@settings(max_examples=50, deadline=None)
def test_a_broken_preview_never_releases_more(
    observation: Observation, data: st.DataObject
) -> None:
    assume(observation.rows)
    tree = json.loads(observation.preview().model_dump_json())
    row = data.draw(st.integers(0, len(tree["rows"]) - 1))
    if data.draw(st.booleans()):
        del tree["rows"][row]
    else:
        cell = data.draw(st.sampled_from(tree["rows"][row]))
        cell["text"] = data.draw((st.none() | st.text()).filter(lambda new: new != cell["text"]))
    assert is_nothing(
        release(observation, tree), Reason.PREVIEW_DIFFERS, release(observation, tree).no_answer_at
    )


@given(observations(), st.data())
@settings(max_examples=50, deadline=None)
def test_an_observation_of_fewer_rows_never_releases_more(
    observation: Observation, data: st.DataObject
) -> None:
    kept = data.draw(st.integers(0, len(observation.rows)))
    fewer = resealed(observation, rows=observation.rows[:kept])
    all_places = places(release(observation, observation.preview()))
    assert places(release(fewer, fewer.preview())) == {p for p in all_places if p[0] < kept}


@given(claimed(), st.data())
@settings(max_examples=50, deadline=None)
def test_claims_choose_among_what_is_eligible(
    made: tuple[Observation, list[Claim]], data: st.DataObject
) -> None:
    observation, claims = made
    everything = release(observation, observation.preview())
    some = release(observation, observation.preview(), claims)
    wanted = {(claim.row, claim.column) for claim in claims}
    assert places(some) == {place for place in places(everything) if place[:2] in wanted}
    assert reasons(some) == {at: why for at, why in reasons(everything).items() if at in wanted}

    invented = Claim(row=len(observation.rows), column=0)
    at = data.draw(st.integers(0, len(claims)))
    claims.insert(at, invented)
    assert is_nothing(
        release(observation, observation.preview(), claims), Reason.CLAIM_UNKNOWN, f"/{at}"
    )

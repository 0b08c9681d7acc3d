"""Statements of our own select the rows that the filter selects, whatever its parts."""

import pytest

from eligibility.reasons import Reason
from eligibility.sql import recount
from eligibility.sql.facts import GroupCell
from eligibility.sql.observation import Cell
from eligibility.sql.shape import Unstatable
from tests.engine import Engine

SETUP = [
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    """CREATE TABLE "odd t" ("a""b" INTEGER, c INTEGER, s VARCHAR, e mood, x DOUBLE, ok BOOLEAN)""",
    """INSERT INTO "odd t" VALUES (1, 1, 'it''s', 'sad', 0.5, true), (2, 1, 'B%', 'ok', 1.5, false),
       (3, 4, NULL, 'ok', NULL, NULL), (4, 4, 'a' || chr(0), 'sad', -0.0, true)""",
]
FILTERS = [
    'c = 1', '"a""b" <> c', "c IN (1, 7)", "s IS NULL", "s IS NOT NULL", "s LIKE '%s'",
    "s ILIKE 'b%'", "ok", "NOT ok", "e = 'ok'", "c = 4 AND (x = 0 OR ok)", "s = 'it''s'",
    '"a""b" BETWEEN 2 AND 3', "x >= 0.5", "e IN ('sad')",
]  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(SETUP)


@pytest.mark.parametrize("condition", FILTERS)
def test_a_filter_selects_the_same_rows(engine: Engine, condition: str):
    written = f'SELECT COUNT(*), SUM(x) FROM "odd t" WHERE {condition}'
    reading = engine.read(written)
    assert not isinstance(reading, str)
    assert reading.shape is not None
    (pin,) = engine.pins
    ours = recount.counted(pin, [("SUM", "x"), ("COUNT", None)], reading.shape.filter, ())
    assert ours is not None
    count, total = engine.connection.execute(written).fetchall()[0]
    assert engine.connection.execute(ours).fetchall() == [(count, total, count)]


@pytest.mark.parametrize(
    ("column", "kind", "text"),
    [("s", "VARCHAR", "a\0"), ("s", "VARCHAR", None), ("e", "ENUM", "ok"), ("x", "DOUBLE", "0.0")],
)
def test_a_group_has_its_rows(engine: Engine, column: str, kind: str, text: str | None):
    (pin,) = engine.pins
    key = GroupCell(column=column, cell=Cell(type=kind, text=text))
    ours = recount.extents(pin, ["c"], None, [(key,)])
    assert ours is not None
    rows = 2 if column == "e" else 1
    assert engine.connection.execute(ours).fetchall()[0][:2] == (0, rows)
    held = recount.sizes(pin, "c", None, [key])
    assert engine.connection.execute(held).fetchall()[0][0] == rows


def test_what_cannot_be_written_gives_no_statement(engine: Engine):
    (pin,) = engine.pins
    bad = Unstatable(reason=Reason.FILTER_TYPE)
    assert recount.extents(pin, ["c"], bad, [()]) is None
    assert recount.counted(pin, [], bad, ()) is None
    assert recount.repeats(pin, ["c"], bad) is None
    whole = recount.repeats(pin, ["c"], None)
    assert whole is not None
    assert engine.connection.execute(whole).fetchall() == [(2,)]

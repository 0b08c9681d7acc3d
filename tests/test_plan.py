"""What the bound plan says, of every construct, of plans that were damaged, and of no plan at all."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eligibility.reasons import Reason
from eligibility.sql.schema import Pin
from eligibility.sql.shape import (
    Aggregate,
    ColumnComparison,
    Comparison,
    Connective,
    DirectColumn,
    InList,
    IsNull,
    Like,
    Negation,
    Other,
    Predicate,
    Selection,
    Shape,
    Truth,
    Unstatable,
    Value,
    unstatable_reasons,
)
from preview.duckdb.plan import parse_plan, plan_error, read_plan
from tests.engine import Engine

COLUMNS = {
    "a": "INTEGER", "b": "VARCHAR", "c": "DOUBLE", "f": "BOOLEAN", "d": "DECIMAL(4,1)",
    "e": "ENUM('x', 'y')", "e2": "ENUM('x', 'y')", "ti": "TINYINT", "big": "BIGINT", "hu": "HUGEINT",
    "uh": "UHUGEINT", "ub": "UBIGINT", "fl": "FLOAT", "da": "DATE", "tm": "TIME", "tns": "TIME_NS",
    "ts": "TIMESTAMP", "tss": "TIMESTAMP_S", "tms": "TIMESTAMP_MS", "tsn": "TIMESTAMP_NS",
    "tz": "TIMESTAMPTZ", "tzn": "TIMESTAMPTZ_NS", "ttz": "TIMETZ", "iv": "INTERVAL", "u": "UUID",
    "bl": "BLOB", "s": "STRUCT(a INTEGER)", "li": "INTEGER[]", "d38": "DECIMAL(38,10)",
    "b2": "VARCHAR", "c2": "DOUBLE", "a2": "INTEGER", "da2": "DATE",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    made = Engine(
        [
            f"CREATE TABLE t ({columns})",
            "CREATE TABLE u (a INTEGER)",
            "CREATE SCHEMA s; CREATE TABLE s.t (z INTEGER)",
            "CREATE MACRO twice(x) AS x + x; CREATE MACRO same(x) AS x",
            "CREATE VIEW v AS SELECT b AS a, a AS b FROM t",
        ]
    )
    yield made
    made.close()


def read(engine: Engine, statement: str) -> Shape:
    reading = engine.read(statement)
    assert reading != "failed", plan_error(engine.plan(statement))
    assert reading.shape is not None, reading.reasons
    return reading.shape


# --- outputs ------------------------------------------------------------------------------------


def of(column: str) -> DirectColumn:
    return DirectColumn(column=column)


def other(reason: Reason) -> Other:
    return Other(reason=reason)


OUTPUTS: dict[str, DirectColumn | Aggregate | Other] = {
    "a": of("a"),
    "t.B": of("b"),
    "(a)": of("a"),
    "a::INTEGER": of("a"),
    "same(a)": of("a"),
    "COLUMNS('^a$')": of("a"),
    "#2": of("b"),
    "s": of("s"),
    "1": other(Reason.CONSTANT),
    "NULL": other(Reason.CONSTANT),
    "'x'": other(Reason.CONSTANT),
    "a + 1": other(Reason.EXPRESSION),
    "+a": other(Reason.EXPRESSION),
    "a::BIGINT": other(Reason.EXPRESSION),
    "s.a": other(Reason.EXPRESSION),
    "t": other(Reason.EXPRESSION),
    "twice(a)": other(Reason.EXPRESSION),
    "f AND f": other(Reason.EXPRESSION),
    "a IS NULL": other(Reason.EXPRESSION),
    "CASE WHEN f THEN 1 END": other(Reason.EXPRESSION),
    "rowid": other(Reason.COLUMN_UNKNOWN),
    "random()": other(Reason.EXPRESSION),
    "sum(a)": Aggregate(calculation="SUM", column="a"),
    "sum(ti)": Aggregate(calculation="SUM", column="ti"),
    "sum(ub)": Aggregate(calculation="SUM", column="ub"),
    "sum(fl)": Aggregate(calculation="SUM", column="fl"),
    "sum(d38)": Aggregate(calculation="SUM", column="d38"),
    "avg(big)": Aggregate(calculation="AVG", column="big"),
    "mean(a)": Aggregate(calculation="AVG", column="a"),
    "system.main.avg(a)": Aggregate(calculation="AVG", column="a"),
    "min(b)": Aggregate(calculation="MIN", column="b"),
    "max(tz)": Aggregate(calculation="MAX", column="tz"),
    "count(s)": Aggregate(calculation="COUNT", column="s"),
    "count(*)": Aggregate(calculation="COUNT", column=None),
    "count()": Aggregate(calculation="COUNT", column=None),
    "count_star()": Aggregate(calculation="COUNT", column=None),
    "sum((a))": Aggregate(calculation="SUM", column="a"),
    "sum(DISTINCT a)": other(Reason.AGGREGATE_MODIFIED),
    "sum(a) FILTER (WHERE f)": other(Reason.AGGREGATE_MODIFIED),
    "sum(a ORDER BY b)": other(Reason.AGGREGATE_MODIFIED),
    "count(DISTINCT a)": other(Reason.AGGREGATE_MODIFIED),
    "min(a, 2)": other(Reason.AGGREGATE_MODIFIED),
    "sum(uh)": other(Reason.AGGREGATE_TYPE),
    "avg(uh)": other(Reason.AGGREGATE_TYPE),
    "sum(1)": other(Reason.AGGREGATE_ARGUMENT),
    "sum(a + 1)": other(Reason.AGGREGATE_ARGUMENT),
    "sum(TRY_CAST(a AS BIGINT))": other(Reason.AGGREGATE_ARGUMENT),
    "sum(a::BIGINT)": Aggregate(calculation="SUM", column="a"),
    "sum(a::DOUBLE)": other(Reason.AGGREGATE_TYPE),
    "min(a::BIGINT)": other(Reason.AGGREGATE_TYPE),
    "min(rowid)": other(Reason.AGGREGATE_ARGUMENT),
    "first(a)": other(Reason.AGGREGATE_SPELLING),
    "median(a)": other(Reason.AGGREGATE_SPELLING),
    "sum(a) + 1": other(Reason.EXPRESSION),
}


@pytest.mark.parametrize(("text", "output"), OUTPUTS.items())
def test_output(engine, text, output):
    shape = read(engine, f"SELECT {text} AS x FROM t")
    assert shape.outputs == (output,)
    assert shape.table == ("main", "t")
    assert shape.filter is None
    assert shape.groups == ()
    assert shape.selection == Selection()


def test_star(engine):
    shape = read(engine, "SELECT * FROM t")
    assert shape.outputs == tuple(map(of, COLUMNS))
    swapped = read(engine, "SELECT a, b FROM v")
    assert swapped == read(engine, "SELECT b, a FROM t")
    renamed = read(engine, "SELECT y, x FROM t AS r(x, y)")
    assert renamed.outputs == (of("b"), of("a"))


# --- clauses ------------------------------------------------------------------------------------

A, B = of("a"), of("b")
NO_KEY = other(Reason.GROUP_KEY_NOT_A_COLUMN)
CLAUSES: dict[str, dict[str, Any]] = {
    "SELECT a FROM t GROUP BY a": {"groups": (A,)},
    "SELECT a, count(*) FROM t GROUP BY a, b, a": {"groups": (A, B)},
    "SELECT b, sum(a) FROM t GROUP BY ALL": {"groups": (B,)},
    "SELECT b, sum(a) FROM t GROUP BY GROUPING SETS ((b))": {"groups": (B,)},
    "SELECT sum(a) FROM t GROUP BY a + 1": {"groups": (NO_KEY,)},
    "SELECT a FROM t LIMIT 3": {"selection": Selection(limit=3)},
    "SELECT a FROM t LIMIT 0 OFFSET 2": {"selection": Selection(limit=0, offset=2)},
    "SELECT a FROM t OFFSET 2": {"selection": Selection(offset=2)},
    "SELECT a FROM t ORDER BY b": {"selection": Selection(order_by=True), "outputs": (A,)},
    "SELECT a FROM t ORDER BY f, a DESC LIMIT 1": {"selection": Selection(order_by=True, limit=1)},
    "SELECT DISTINCT a FROM t": {"selection": Selection(distinct=True)},
    "SELECT DISTINCT a FROM t ORDER BY a LIMIT 2": {
        "selection": Selection(distinct=True, order_by=True, limit=2)
    },
    "SELECT sum(a) FROM t HAVING sum(a) > 1": {"selection": Selection(having=True)},
    "SELECT a FROM t GROUP BY a HAVING max(c) > 1 ORDER BY sum(a)": {
        "selection": Selection(having=True, order_by=True), "groups": (A,), "outputs": (A,),
    },
    "SELECT sum(a) FROM t WHERE f HAVING count(*) > 1": {
        "selection": Selection(having=True), "filter": Truth(column="f"),
    },
    "SELECT z FROM s.t": {"table": ("s", "t")},
}  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), CLAUSES.items())
def test_clause(engine, statement, expected):
    shape = read(engine, statement)
    assert {name: getattr(shape, name) for name in expected} == expected


WHOLE = {
    "SELECT t.a FROM t, u": {Reason.JOIN},
    "SELECT t.a FROM t JOIN u USING (a)": {Reason.JOIN},
    "SELECT t.a FROM t POSITIONAL JOIN u": {Reason.JOIN},
    "SELECT a FROM t WHERE a = ANY ([1])": {Reason.JOIN, Reason.TABLE_FUNCTION},
    "SELECT a FROM t WHERE EXISTS (FROM u)": {Reason.JOIN},
    "SELECT a FROM t WHERE a IN (SELECT a FROM u)": {Reason.JOIN},
    "SELECT a FROM t UNION SELECT a FROM u": {Reason.SET_OPERATION},
    "SELECT a FROM t EXCEPT SELECT a FROM u": {Reason.SET_OPERATION},
    "SELECT sum(a) OVER () FROM t": {Reason.WINDOW},
    "SELECT a FROM t QUALIFY row_number() OVER () = 1": {Reason.WINDOW},
    "WITH x AS (SELECT 1 AS z) SELECT x.z FROM x, x AS y": {Reason.CTE},
    "WITH t AS (SELECT b AS a FROM main.t) SELECT a FROM t": {Reason.CTE},
    "SELECT unnest([1]) FROM t": {Reason.TABLE_FUNCTION},
    "SELECT a FROM t TABLESAMPLE 50%": {Reason.SAMPLE},
    "SELECT a FROM t USING SAMPLE reservoir(1 ROWS)": {Reason.SAMPLE},
    "VALUES (1)": {Reason.VALUES},
    "SELECT 1": {Reason.NO_SOURCE},
    "FROM range(3)": {Reason.TABLE_FUNCTION},
    "SELECT DISTINCT ON (a) a, b FROM t": {Reason.DISTINCT_ON},
    "SELECT a FROM t GROUP BY ROLLUP (a)": {Reason.GROUPING_SETS},
    "SELECT a FROM t GROUP BY GROUPING SETS ((a), ())": {Reason.GROUPING_SETS},
    "SELECT sum(a) FROM t GROUP BY ()": {Reason.GROUPING_SETS},
    "SELECT a, GROUPING(a) FROM t GROUP BY CUBE (a)": {Reason.GROUPING_SETS},
    "SELECT a FROM t LIMIT 50%": {Reason.LIMIT_NOT_A_NUMBER},
    "SELECT a FROM t LIMIT (SELECT 1)": {Reason.JOIN},
    "SELECT a FROM (SELECT a FROM t LIMIT 2) LIMIT 1": {Reason.PLAN_UNREADABLE},
    "SELECT sum(a) FROM (SELECT a FROM t ORDER BY a)": {Reason.PLAN_UNREADABLE},
    "SELECT max(x) FROM (SELECT sum(a) AS x FROM t)": {Reason.PLAN_UNREADABLE},
    "DESCRIBE t": {Reason.PLAN_UNREADABLE},
}


@pytest.mark.parametrize(("statement", "reasons"), WHOLE.items())
def test_no_shape(engine, statement, reasons):
    reading = engine.read(statement)
    assert reading.shape is None
    assert reasons & set(reading.reasons) or reading.reasons == (Reason.PLAN_UNREADABLE,)
    assert reading.reasons


def test_a_query_that_the_engine_flattens_is_left_to_the_text(engine):
    assert read(engine, "SELECT x FROM (SELECT a AS x FROM t)").outputs == (A,)


def test_a_table_that_is_not_pinned(engine):
    pins = tuple(pin for pin in engine.pins if pin.path != ("main", "u"))
    reading = read_plan(engine.plan("SELECT a FROM u"), pins).reading
    assert reading.reasons == (Reason.TABLE_UNKNOWN,)
    engine.connection.execute("CREATE OR REPLACE TEMP TABLE x AS SELECT 1 AS a")
    assert read_plan(engine.plan("SELECT a FROM x"), engine.pins).reading.reasons == (
        Reason.TABLE_UNKNOWN,
    )


def test_a_pin_with_other_columns(engine):
    (pin,) = (pin for pin in engine.pins if pin.path == ("main", "u"))
    changed = Pin(**dict(pin) | {"columns": pin.columns * 0 + engine.pins[0].columns[:2]})
    assert read_plan(engine.plan("SELECT a FROM u"), (changed,)).reading.shape is None


# --- conditions ---------------------------------------------------------------------------------


def value(kind: str, text: str) -> Value:
    return Value(type=kind, text=text)


def compared(column: str, operator: Any, kind: str, text: str) -> Comparison:
    return Comparison(column=column, operator=operator, value=value(kind, text))


F = Truth(column="f")
ONE = compared("a", "=", "INTEGER", "1")
STAMP = "2024-01-01 00:00:00"
CONDITIONS: dict[str, Predicate] = {
    "f": F,
    "NOT f": Negation(member=F),
    "a = 1": ONE,
    "1 < a": compared("a", ">", "INTEGER", "1"),
    "a = 1.0": ONE,
    "a = '1'": ONE,
    "ti = 1": compared("ti", "=", "TINYINT", "1"),
    "hu = 170141183460469231731687303715884105727": compared(
        "hu", "=", "HUGEINT", "170141183460469231731687303715884105727"
    ),
    "hu = -5": compared("hu", "=", "HUGEINT", "-5"),
    "uh = '340282366920938463463374607431768211455'": compared(
        "uh", "=", "UHUGEINT", "340282366920938463463374607431768211455"
    ),
    "d = 1.5": compared("d", "=", "DECIMAL(4,1)", "1.5"),
    "d > 5": compared("d", ">", "DECIMAL(4,1)", "5"),
    "d = '1.50'": compared("d", "=", "DECIMAL(4,1)", "1.5"),
    "d = -0.1": compared("d", "=", "DECIMAL(4,1)", "-0.1"),
    "c = 0.1": compared("c", "=", "DOUBLE", "0.1"),
    "c = 1e3": compared("c", "=", "DOUBLE", "1000"),
    "fl = 0.5": compared("fl", "=", "FLOAT", "0.5"),
    "f = TRUE": compared("f", "=", "BOOLEAN", "true"),
    "f <> FALSE": compared("f", "<>", "BOOLEAN", "false"),
    "b >= 'it''s'": compared("b", ">=", "VARCHAR", "it's"),
    "e = 'x'": compared("e", "=", "ENUM", "x"),
    "e <> 'y'": compared("e", "<>", "ENUM", "y"),
    "da = '2024-01-01'": compared("da", "=", "DATE", "2024-01-01"),
    "da = DATE '2024-01-01'": compared("da", "=", "DATE", "2024-01-01"),
    "ts >= DATE '2024-01-01'": compared("ts", ">=", "TIMESTAMP", STAMP),
    "ts = '2024-01-01'": compared("ts", "=", "TIMESTAMP", STAMP),
    "tss = '2024-01-01 00:00:00'": compared("tss", "=", "TIMESTAMP_S", STAMP),
    "tss = TIMESTAMP '2024-01-01'": compared("tss", "=", "TIMESTAMP_S", STAMP),
    "tsn = '2024-01-01 00:00:00.000000001'": compared("tsn", "=", "TIMESTAMP_NS", STAMP + ".000000001"),
    "tz = '2024-01-01 01:00:00+01'": compared("tz", "=", "TIMESTAMP WITH TIME ZONE", STAMP + "+00"),
    "tz = '2024-01-01 00:00:00Z'": compared("tz", "=", "TIMESTAMP WITH TIME ZONE", STAMP + "+00"),
    "tz = '2024-01-01 00:30:00+00:30'": compared("tz", "=", "TIMESTAMP WITH TIME ZONE", STAMP + "+00"),
    "tm = '12:30:00.50'": compared("tm", "=", "TIME", "12:30:00.5"),
    "u = '550e8400-e29b-41d4-a716-446655440000'": compared(
        "u", "=", "UUID", "550e8400-e29b-41d4-a716-446655440000"
    ),
    "a = a2": ColumnComparison(column="a", operator="=", other="a2"),
    "e = e2": ColumnComparison(column="e", operator="=", other="e2"),
    "b IS NULL": IsNull(column="b"),
    "s IS NOT NULL": Negation(member=IsNull(column="s")),
    "a IN (1, 2)": InList(column="a", values=(value("INTEGER", "1"), value("INTEGER", "2"))),
    "a IN (1)": InList(column="a", values=(value("INTEGER", "1"),)),
    "a NOT IN (1, 2)": Negation(
        member=InList(column="a", values=(value("INTEGER", "1"), value("INTEGER", "2")))
    ),
    "e IN ('x')": InList(column="e", values=(value("ENUM", "x"),)),
    "b LIKE 'x%'": Like(column="b", pattern="x%", fold=False),
    "b NOT LIKE 'x'": Negation(member=Like(column="b", pattern="x", fold=False)),
    "b ILIKE 'x'": Like(column="b", pattern="x", fold=True),
    "b NOT ILIKE 'x'": Negation(member=Like(column="b", pattern="x", fold=True)),
    "f AND a = 1 AND f": Connective(kind="and", members=(F, ONE, F)),
    "f OR (a = 1 OR f)": Connective(kind="or", members=(F, ONE, F)),
    "a BETWEEN 1 AND 2": Connective(
        kind="and", members=(compared("a", ">=", "INTEGER", "1"), compared("a", "<=", "INTEGER", "2"))
    ),
    "d BETWEEN 1 AND 2": Connective(
        kind="and",
        members=(compared("d", ">=", "DECIMAL(4,1)", "1"), compared("d", "<=", "DECIMAL(4,1)", "2")),
    ),
}  # fmt: skip


def flat(predicate: Predicate) -> Predicate | tuple[str, frozenset[Predicate]]:
    """Let the order of a conjunction's members be any."""
    if isinstance(predicate, Connective):
        return predicate.kind, frozenset(predicate.members)
    return predicate


@pytest.mark.parametrize(("text", "predicate"), CONDITIONS.items())
def test_condition(engine, text, predicate):
    found = read(engine, f"SELECT count(*) FROM t WHERE {text}").filter
    # The engine writes a list of one literal as a comparison.
    if isinstance(predicate, InList) and len(predicate.values) == 1:
        alone = Comparison(column=predicate.column, operator="=", value=predicate.values[0])
        assert found in (predicate, alone)
    else:
        assert found is not None
        assert flat(found) == flat(predicate)


NOT_STATABLE = [
    "a + 1 = 2", "a = 1 + 1", "abs(a) = 1", "a = big", "a = c", "a = 1.5", "a = '1.4'", "d = 1.27", "d = '1.27'",
    "a > 9999999999", "a = NULL", "c = 1234567890123456", "c = 'nan'", "fl = 0.1000001", "fl = 1e-3",
    "b COLLATE NOCASE = 'x'", "lower(b) = 'x'", "b LIKE b2", "b LIKE 'x' ESCAPE '!'",
    "b GLOB 'x'", "b SIMILAR TO 'x'", "contains(b, 'x')", "f IS TRUE", "f = 1", "a IS DISTINCT FROM 1", "a IN (1, a2)",
    "a IN (1, 1.5)", "a IN (1, NULL)", "(a, b) = (1, 'x')", "da = '2024-1-1'", "da = TRY_CAST('2024-01-01' AS DATE)",
    "da = DATE '2024-01-01 10:00:00'", "da > ts", "ts = '2024-01-01 00:00:00+01'", "tz = '2024-01-01'",
    "tz = TIMESTAMP '2024-01-01'", "tz = DATE '2024-01-01'", "ts = '2024-01-01T00:00:00'", "ts = 'infinity'",
    "ts = '2024-01-01 24:00:00'", "tms = '2024-01-01 00:00:00.1234'", "tz = '0001-01-01 00:00:00+02'",
    "tz = '2024-01-01 00:00:00 UTC'", "tm = '1:00:00'", "u = '550E8400-E29B-41D4-A716-446655440000'", "e > 'x'",
    "e = b", "e LIKE 'x'", "iv = INTERVAL 1 DAY", "ttz = '12:00:00+00'", "bl = 'x'", "li = [1]", "s.a = 1", "a = rowid",
    "rowid = 1", "rowid IS NULL", "(a + 1) IS NULL", "CASE WHEN f THEN f END", "a = (CASE WHEN f THEN 1 END)",
    "a BETWEEN 1 AND a + 1", "a::VARCHAR = '1'", "hu = 1.5", "d38 = 0.1000000000000000000000000000001", "1 = 1", "true",
    "c BETWEEN 0.1 AND c2 + 1", "a = random()", "da = current_date", "a = '0x10'", "a = ' 1'", "c = 1e400", "ub = -1",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_STATABLE)
def test_condition_is_not_statable_or_says_something_else(engine, text):
    if plan_error(engine.plan(f"SELECT count(*) FROM t WHERE {text}")):
        return
    for around in ("{}", "NOT ({})", "f AND ({})"):
        reading = engine.read(f"SELECT count(*) FROM t WHERE {around.format(text)}")
        found = reading.shape and reading.shape.filter
        assert found is None or list(unstatable_reasons(found)), found


def test_a_cast_that_changes_nothing_is_left_to_the_text(engine):
    for text in ("a = 1::SMALLINT", "a = CAST('1' AS INTEGER)", "b = 'x'::VARCHAR"):
        found = read(engine, f"SELECT count(*) FROM t WHERE {text}").filter
        assert isinstance(found, Comparison)


def test_the_size_of_a_condition(engine):
    most = ", ".join(map(str, range(200)))
    assert not isinstance(read(engine, f"SELECT a FROM t WHERE a IN ({most})").filter, Unstatable)
    large = Unstatable(reason=Reason.FILTER_TOO_LARGE)
    assert read(engine, f"SELECT a FROM t WHERE a IN ({most}, 200)").filter == large
    deep = "NOT (a = 1 AND " * 9 + "f" + ")" * 9
    assert read(engine, f"SELECT a FROM t WHERE {deep}").filter == large


# --- types of the outputs -----------------------------------------------------------------------


def test_types(engine):
    plan = engine.plan("SELECT a, d, e, s, 1, 'x', f AND f, sum(a) FROM t GROUP BY ALL LIMIT 1")
    assert read_plan(plan, engine.pins).types == (
        "INTEGER", "DECIMAL(4,1)", "ENUM", "STRUCT", "INTEGER", "VARCHAR", "BOOLEAN", "HUGEINT",
    )  # fmt: skip
    assert read_plan(engine.plan("SELECT DISTINCT a FROM t ORDER BY a"), engine.pins).types == (
        "INTEGER",
    )
    union = engine.plan("SELECT a FROM t UNION SELECT a FROM u")
    assert read_plan(union, engine.pins).types == ()


# --- no plan, and damaged plans -----------------------------------------------------------------

NO_PLANS = [
    "", " ", "null", "1", "true", '"x"', "[]", "{}", "{", "NaN", "\x00", "\ud800", "[" * 100_000,
    '{"error": false}', '{"error": false, "plans": []}', '{"error": false, "plans": null}',
    '{"error": false, "plans": {}}', '{"error": false, "plans": true}', '{"error": false, "plans": 7}',
    '{"error": false, "plans": [{}, {}]}', '{"error": false, "plans": [null]}',
    '{"error": false, "plans": [{}]}', '{"error": false, "plans": [[]]}', '{"error": true}',
    '{"error": 0, "plans": [{"type": "LOGICAL_GET"}]}', '{"error": false, "plans": [{"type": []}]}',
    '{"error": false, "plans": [{"type": "LOGICAL_GET"}]}',
    '{"error": false, "plans": [{"type": "LOGICAL_INSERT", "children": []}]}',
]  # fmt: skip


@pytest.mark.parametrize("text", NO_PLANS, ids=lambda text: text[:40])
def test_no_plan(engine, text):
    made = read_plan(text, engine.pins)
    assert made.reading.shape is None
    assert made.reading.reasons
    assert made.types == ()


def test_plan_error():
    assert plan_error("") is None
    assert plan_error('{"error": false}') is None
    assert plan_error('{"error": true}') == ("", "")
    said = '{"error": true, "error_type": "binder", "error_message": "x"}'
    assert plan_error(said) == ("binder", "x")


@given(st.text() | st.text(alphabet='{}[]":,ertypalnsfu 01'))
def test_total(engine, text):
    made = read_plan(text, engine.pins)
    assert made.reading.shape is None
    assert made.reading.reasons


def test_a_plan_nested_beyond_the_stack_is_unreadable(engine):
    plan: dict[str, Any] = {"type": "LOGICAL_LIMIT", "children": []}
    inner: dict[str, Any] = {"expression_class": "BOUND_REF", "type": "BOUND_REF", "index": 0}
    for _ in range(5_000):
        inner = {
            "expression_class": "BOUND_OPERATOR",
            "type": "OPERATOR_NOT",
            "children": [inner],
        }
    tree = parse_plan(engine.plan("SELECT count(*) FROM t WHERE f"))
    assert tree is not None
    filters = [node for node in objects(tree) if node.get("type") == "LOGICAL_FILTER"]
    filters[0]["expressions"] = [inner]
    assert read_plan("", engine.pins, tree).reading.reasons == (Reason.PLAN_UNREADABLE,)
    assert plan


def objects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for inner in tree.values():
            yield from objects(inner)
    elif isinstance(tree, list):
        for inner in tree:
            yield from objects(inner)


# Statements without anything opaque, so that every part of their plans has a meaning.
DAMAGED = [
    "SELECT b, sum(a) AS n, count(*) FROM x WHERE a = 1 AND f GROUP BY b LIMIT 3 OFFSET 1",
    "SELECT * FROM x",
    "SELECT DISTINCT b FROM x",
    "SELECT min(b), avg(a) FROM x WHERE (a IN (1, 2) OR NOT f) AND b NOT LIKE 'x' AND d IS NOT NULL",
    "SELECT max(d) FROM x WHERE b <> b OR d BETWEEN 1 AND 2 OR b IS NULL",
]
# What is not looked at: it says where and how, or says once more what something else says.
HARMLESS = {
    "LOGICAL": {
        "table_index", "aggregate_index", "group_index", "groupings_index", "distinct_validity",
        "distinct_targets", "unpruned_offset", "orders", "grouping_functions",
    },
    "LOGICAL_GET": {
        "arguments", "has_serialize", "positional_arguments", "named_arguments", "input_table_types",
        "input_table_names", "table_index", "ordinality_idx", "row_group_order_options",
        "scan_partition_indices", "source_ordinality", "table_filters_by_projection",
        "has_pushed_projection", "column_indexes.field", "column_indexes.has_index",
        "column_indexes.type", "extra_info.file_filters", "extra_info.total_files",
        "extra_info.filtered_files", "extra_info.file_filter_expressions", "function_data.catalog",
        "function_data.schema", "function_data.table", "function_data.is_index_scan",
        "function_data.is_create_index", "function_data.result_ids", "returned_types",
    },
    "BOUND": {
        "alias", "query_location", "query_location_length", "return_type", "arguments",
        "has_serialize", "positional_arguments", "is_operator", "named_arguments",
        "function_data.is_default_cast", "type", "value.type", "value.is_null", "value.value",
        "function_data.lower_inclusive", "function_data.upper_inclusive", "function_data",
    },
    "CONSTANT_VALUE": {"constant_percentage", "expression"},
    "UNSET": {"constant_percentage", "expression", "constant_integer"},
    "DECIMAL_TYPE_INFO": {"alias", "extension_info", "type", "width", "scale"},
}  # fmt: skip
# What says which column, and how many rows: another number is another plan.
MEANING = {"index", "constant_integer", "value", "scale", "width", "id", "path"}
DROPPED = object()
DAMAGE = [DROPPED, None, True, -1, 2, "x", [], {}]


def places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Give the path of every value in a JSON tree."""
    if path:
        yield path
    for key, inner in (
        list(tree.items())
        if isinstance(tree, dict)
        else list(enumerate(tree))
        if isinstance(tree, list)
        else []
    ):
        yield from places(inner, (*path, key))


def field(tree: Any, path: tuple[str | int, ...]) -> tuple[str, str]:
    """Give the class of the node that a place belongs to, and the names that lead there."""
    kind, start, here = "", 0, tree
    for step, key in enumerate(path[:-1], start=1):
        here = here[key]
        if isinstance(here, dict) and isinstance(here.get("type"), str):
            kind, start = ("BOUND" if "expression_class" in here else here["type"]), step
    kind = "LOGICAL" if kind.startswith("LOGICAL") and kind != "LOGICAL_GET" else kind
    return kind, ".".join(key for key in path[start:] if isinstance(key, str))


def ignored(kind: str, name: str) -> bool:
    return any(name == known or name.startswith(f"{known}.") for known in HARMLESS.get(kind, ()))


def weaker(after: Shape, before: Shape) -> bool:
    """Say whether nothing in a shape says more than, or else than, in another."""
    return len(after.outputs) != len(before.outputs) or all(
        isinstance(a, Other) or a == b for a, b in zip(after.outputs, before.outputs, strict=True)
    )


@pytest.mark.parametrize("statement", DAMAGED)
def test_damage_is_seen_or_harmless(statement):
    engine = Engine(["CREATE TABLE x (a INTEGER, b VARCHAR, f BOOLEAN, d DECIMAL(4,1))"])
    tree = parse_plan(engine.plan(statement))
    assert tree is not None
    before = read_plan("", engine.pins, tree).reading.shape
    assert before is not None
    seen = 0
    for path in list(places(tree)):
        parent: Any = tree
        for key in path[:-1]:
            parent = parent[key]
        was, where = parent[path[-1]], field(tree, path)
        for damage in DAMAGE:
            if damage is DROPPED and isinstance(parent, list):
                continue
            if damage == was and isinstance(damage, bool) is isinstance(was, bool):
                continue
            if was == [] and damage == {}:
                continue
            if damage is DROPPED:
                del parent[path[-1]]
            else:
                parent[path[-1]] = damage
            reading = read_plan("", engine.pins, tree).reading
            after = reading.shape
            seen += 1
            if after is None:
                assert reading.reasons
            elif after == before:
                assert ignored(*where) or "distinct_targets" in path, (where, damage)
            elif not weaker(after, before):
                assert path[-1] in MEANING or where[1].split(".")[-1] in MEANING, (where, damage)
            if damage is DROPPED:
                parent[path[-1]] = was
            parent[path[-1]] = was
    engine.close()
    assert seen > 500


def test_an_index_is_a_whole_number(engine):
    none: tuple[object, ...] = (-1, True, "0", 0.0, None)
    for statement, name, damages in (
        ("SELECT b FROM t", "index", (*none, 2**60)),
        ("SELECT b FROM t LIMIT 3", "constant_integer", none),
    ):
        for bad in damages:
            tree = parse_plan(engine.plan(statement))
            for node in objects(tree):
                if name in node:
                    node[name] = bad
            reading = read_plan("", engine.pins, tree).reading
            assert reading.shape is None or reading.shape.outputs == (other(Reason.COLUMN_UNKNOWN),)


# Every field of every node that a plan of the corpora's kind has: a new version of the engine that
# says more, or says it elsewhere, has to be read anew.
FIELDS = {
    "BOUND_REF": "alias expression_class index query_location query_location_length return_type type",
    "BOUND_CONSTANT": "alias expression_class query_location query_location_length type value",
    "BOUND_CONJUNCTION": "alias children expression_class query_location query_location_length type",
    "BOUND_OPERATOR": """alias children expression_class query_location query_location_length
        return_type type""",
    "BOUND_FUNCTION": """alias arguments children expression_class function_data has_serialize
        is_operator named_arguments positional_arguments qname query_location query_location_length
        return_type type""",
    "BOUND_AGGREGATE": """aggregate_type alias arguments children expression_class filter
        has_serialize named_arguments order_bys positional_arguments qname query_location
        query_location_length return_type state_export type""",
    "LOGICAL_PROJECTION": "children expressions table_index type",
    "LOGICAL_FILTER": "children expressions projection_map type",
    "LOGICAL_AGGREGATE_AND_GROUP_BY": """aggregate_index children distinct_validity expressions
        group_index grouping_functions grouping_sets groupings_index groups type""",
    "LOGICAL_DISTINCT": "children distinct_targets distinct_type order_by type",
    "LOGICAL_ORDER_BY": "children orders projections type",
    "LOGICAL_LIMIT": "children limit_val offset_val type unpruned_offset",
    "LOGICAL_GET": """arguments at_clause children column_indexes extra_info function_data
        has_pushed_projection has_serialize input_table_names input_table_types named_arguments
        named_parameters names ordinality_idx parameters positional_arguments projected_input
        projection_ids qname returned_types row_group_order_options scan_partition_indices
        source_ordinality table_filters table_filters_by_projection table_index type""",
}


def test_the_fields_of_a_plan_are_these(engine):
    found: dict[str, set[str]] = {}
    statements = [
        *[f"SELECT {text} AS x FROM t" for text, o in OUTPUTS.items() if not isinstance(o, Other)],
        *CLAUSES,
        *[f"SELECT count(*) FROM t WHERE {text}" for text in CONDITIONS],
    ]
    for statement in statements:
        for node in objects(json.loads(engine.plan(statement))):
            kind = node.get("expression_class", node.get("type"))
            if isinstance(kind, str) and kind in FIELDS:
                found.setdefault(kind, set()).update(node)
    assert found == {kind: set(names.split()) for kind, names in FIELDS.items()}


# --- both readings over literals ----------------------------------------------------------------

LITERALS = [
    "5", "-5", "0", "-0", "1.0", "1.5", "1.27", "300", "9999999999", "1e5", "-1.5e-3", "0.1", ".5", "5.",
    "123456789012345", "1234567890123456", "1e400", "9" * 38, "'5'", "'1.0'", "'1.4'", "' 5'", "'1e5'", "'05'",
    "'x'", "'y'", "''", "'a b'", "'a  b'", "'it''s'", "TRUE", "FALSE", "'true'", "NULL", "'2020-01-01'",
    "'2020-1-1'", "'2020-02-30'", "'2020-01-01 12:30:00.5'", "'2020-01-01 12:30:00.1234567'",
    "'2020-01-01T12:30:00'", "'2020-01-01 24:00:00'", "'2020-01-01 00:00:00+02:30'", "'2020-01-01 00:00:00Z'",
    "'0001-01-01 00:00:00+02'", "DATE '2020-01-01'", "DATE '2020-01-01 23:59:59'", "'2020-01-01'::DATE",
    "TRY_CAST('2020-01-01' AS DATE)", "TIMESTAMP '2020-01-01'", "TIMESTAMP '2020-01-01 00:00:00.123'",
    "TIMESTAMPTZ '2020-01-01 00:00:00+01'", "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'",
    "TIMESTAMP_S '2020-01-01 00:00:00'", "'10:00:00.5'", "'10:00:00.123456789'", "TIME '10:00:00'", "'infinity'",
    "'nan'", "'550e8400-e29b-41d4-a716-446655440000'", "INTERVAL 1 DAY", "(5)", "a", "a2", "c", "b", "e", "e2",
    "da2", "5::BIGINT", "'x'::VARCHAR", "1_000", "- 5", "current_date",
]  # fmt: skip


def test_both_readings_agree_on_every_literal(engine):
    rng = random.Random(7)
    forms = [
        "{} = {}",
        "{} <> {}",
        "{} > {}",
        "{} IN ({})",
        "{} BETWEEN {} AND 7",
        "{1} <= {0}",
        "{} LIKE {}",
    ]
    everything = [(c, text, form) for c in COLUMNS for text in LITERALS for form in forms]
    stated = 0
    for column, text, form in rng.sample(everything, 600):
        _, made = engine.both(f"SELECT count(*) FROM t WHERE {form.format(column, text)}")
        assert made.engine in ("agrees", "failed"), (column, text, form)
        stated += made.any_eligible
    assert stated > 30

"""Small changes of the decision that no other test noticed (`make mutants`), noticed."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eligibility.reasons import Reason
from eligibility.sql.classify import classify
from eligibility.sql.facts import Claim
from eligibility.sql.observation import CELL_TEXT_BYTES_MAX, Cell, EngineReading, Observation
from eligibility.sql.release import given, release
from eligibility.sql.rules import same_predicate
from eligibility.sql.schema import Schema
from eligibility.sql.shape import (
    Aggregate,
    Comparison,
    Connective,
    DirectColumn,
    IsNull,
    Negation,
    Other,
    Selection,
    Shape,
    Truth,
    Unstatable,
)
from eligibility.wire.model import COUNT_MAX
from preview.duckdb.plan import (
    PLAN_QUERY,
    _cast,
    _condition,
    _Constant,
    _constant,
    _Native,
    _widens,
    parse_plan,
    read_plan,
)
from tests.engine import Engine
from tests.test_release import DIRECT, calc, observe, of, resealed, shape

SCHEMA = Schema.of({"t": {"a": "INTEGER", "b": "VARCHAR"}, "u": {"a": "INTEGER"}})


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine(
        ["CREATE TABLE t (a INTEGER, b VARCHAR, f BOOLEAN, c DOUBLE)", "CREATE TABLE u (a INTEGER)"]
    )
    yield made
    made.close()


def objects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for inner in (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    ):
        yield from objects(inner)


def damaged(
    engine: Engine, statement: str, harm: Callable[[dict[str, Any]], object]
) -> EngineReading:
    """Read a plan of which every JSON object went through a function."""
    tree = parse_plan(engine.plan(statement))
    assert tree is not None
    for node in list(objects(tree)):
        harm(node)
    return read_plan("", engine.pins, tree).reading


# --- rules --------------------------------------------------------------------------------------


def test_a_statement_that_is_withheld_states_no_filter_and_disagrees_with_nothing():
    statement = "SELECT DISTINCT ON (a) a FROM t WHERE a = 1"
    none = EngineReading(shape=None, reasons=(Reason.DISTINCT_ON,), plan_sha256="0" * 64)
    for engine in (None, none):
        made = classify(statement, SCHEMA, engine)
        assert made.reasons == (Reason.DISTINCT_ON,)
        assert made.filter.kind == "not-stated"
        assert made.engine == ("not-asked" if engine is None else "agrees")


def test_a_name_is_the_one_of_this_statement():
    for name in ("x", "y", "a", "z"):
        (output,) = classify(f"SELECT a AS {name} FROM t", SCHEMA).outputs
        assert output.name == name


def test_a_star_beside_something_stays_one_output():
    made = classify("SELECT *, a FROM t", SCHEMA)
    assert made.reasons == (Reason.STAR_NOT_ALONE,)
    assert [output.name for output in made.outputs][1:] == ["a"]


def test_positions_start_at_one():
    made = classify("SELECT COUNT(*), a FROM t GROUP BY 0", SCHEMA)
    assert made.outputs[0].reasons == (Reason.GROUP_KEY_NOT_A_COLUMN,)


def test_a_condition_said_twice_is_said_once():
    truth, null = Truth(column="f"), IsNull(column="a")
    twice = Connective(kind="and", members=(truth, truth))
    assert same_predicate(twice, truth)
    assert same_predicate(Negation(member=twice), Negation(member=truth))
    assert not same_predicate(twice, null)


def test_both_readings_see_whether_rows_are_combined():
    statement = "SELECT a FROM t"
    for aggregated in (False, True):
        told = Shape(
            table=("main", "t"),
            outputs=(DirectColumn(column="a"),),
            filter=None,
            groups=(),
            aggregated=aggregated,
            selection=Selection(),
        )
        engine = EngineReading(shape=told, reasons=(), plan_sha256="0" * 64)
        made = classify(statement, SCHEMA, engine)
        assert made.outputs[0].reasons == ((Reason.READINGS_DISAGREE,) if aggregated else ())


def test_only_bare_numerals_move_a_column():
    numeral = f"1.{'0' * 29}"
    for literal, kind in ((f"'{numeral}'", "stated"), (numeral, "not-stated")):
        made = classify(f"SELECT COUNT(*) FROM t WHERE a = {literal}", SCHEMA)
        assert made.filter.kind == kind


def test_a_key_under_a_calculation_is_not_shown():
    for shown in ("min(a)", "COUNT(a)", "a + 0"):
        made = classify(f"SELECT {shown}, COUNT(*) FROM t GROUP BY a", SCHEMA)
        assert made.outputs[1].reasons == (Reason.GROUP_KEY_NOT_SHOWN,)


# --- release ------------------------------------------------------------------------------------


def test_another_digest_is_told_of_its_observation():
    assert release(DIRECT, DIRECT.preview(), digest="0" * 64).observation == DIRECT.digest


def test_what_was_given_is_read_as_release_reads_it():
    preview = DIRECT.preview()
    claims: list[dict[str, Any]] = [{"row": 0, "column": 0}, {"row": -1, "column": 7, "text": "x"}]
    made = tuple(Claim(**claim) for claim in claims)
    for returned in (preview, preview.model_dump(mode="json"), preview.model_dump_json()):
        assert given(returned, claims) == (preview, made)
        assert given(returned, list(made)) == (preview, made)
        assert given(returned, None) == (preview, None)
        assert given(returned, [{"row": 0}]) == (preview, None)
    assert given({}, []) == (None, ())


@pytest.mark.parametrize("field", ["row", "column"])
def test_a_claim_that_has_no_canonical_form_is_not_kept(field):
    for number, is_kept in ((COUNT_MAX, True), (-COUNT_MAX, True), (COUNT_MAX + 1, False)):
        for sign in (1, -1):
            claim = Claim.model_validate({"row": 0, "column": 0, field: sign * number})
            assert given("", [claim]) == (None, (claim,) if is_kept else None)
            assert given("", [claim, Claim(row=0, column=0)])[1] is None or is_kept


def test_a_model_that_no_one_checked_is_malformed():
    made = Observation.model_construct(**dict(DIRECT) | {"rows": list(DIRECT.rows)})
    assert made.digest == DIRECT.digest
    released = release(made, DIRECT.preview())
    assert released.no_answer_reason is Reason.OBSERVATION_MALFORMED


def test_text_of_just_the_largest_size_is_taken():
    for more, at in ((0, None), (1, "/rows")):
        texts = ("x" * (CELL_TEXT_BYTES_MAX - 1 + more), "1", None)
        row = tuple(
            Cell(type=column.type, text=text)
            for column, text in zip(DIRECT.columns, texts, strict=True)
        )
        observation = resealed(DIRECT, rows=(row,))
        released = release(observation, observation.preview())
        assert released.no_answer_at == at


def test_a_result_of_other_width_has_the_reasons_of_its_statement():
    statement = "SELECT carrier FROM flights UNION SELECT carrier FROM flights"
    union = observe(statement, None, [["UA", "AA"]], types=["VARCHAR", "VARCHAR"])
    released = release(union, union.preview())
    assert {cell.reasons for cell in released.withheld} == {(Reason.SET_OPERATION,)}
    direct = observe("SELECT carrier FROM flights", None, [["UA", "AA"]], types=["VARCHAR"] * 2)
    released = release(direct, direct.preview())
    assert {cell.reasons for cell in released.withheld} == {(Reason.READINGS_DISAGREE,)}


@pytest.mark.parametrize("column", ["share", "distance", "cancelled"])
def test_a_cell_that_its_type_cannot_hold_is_malformed(column):
    observation = observe(f"SELECT {column} FROM flights", shape(of(column)), [[None], ["x"]])
    released = release(observation, observation.preview())
    assert released.no_answer_reason is Reason.OBSERVATION_MALFORMED
    assert released.no_answer_at == "/rows/1/0/text"


def test_a_group_is_named_by_its_key_not_by_a_sum_of_it():
    read = shape(calc("SUM", "distance"), of("distance"), groups=("distance",))
    statement = "SELECT SUM(distance), distance FROM flights GROUP BY distance"
    observation = observe(statement, read, [["2800", "1400"]])
    (total, key) = release(observation, observation.preview()).facts
    assert [(cell.column, cell.cell.text) for cell in total.group] == [("distance", "1400")]
    assert key.group == ()


# --- the plan -----------------------------------------------------------------------------------


def test_the_query_gives_a_plan(engine):
    assert PLAN_QUERY == "SELECT json_serialize_plan(?::VARCHAR)"
    assert engine.plan("SELECT a FROM t").startswith('{"error":false')


def test_the_hash_is_of_the_text(engine):
    for text in ("", "{}", "é\ud800"):
        wanted = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        assert read_plan(text, engine.pins).reading.plan_sha256 == wanted


NO_PLANS = [
    "", "{}", '{"error": false, "plans": []}', '{"error": false, "plans": {}}', "[" * 100_000,
    '{"error": false, "plans": [{}]}', '{"error": false, "plans": [{"type": "LOGICAL_GET"}]}',
]  # fmt: skip


@pytest.mark.parametrize("text", NO_PLANS, ids=lambda text: text[:40])
def test_what_is_no_plan_is_unreadable(engine, text):
    assert read_plan(text, engine.pins).reading.reasons == (Reason.PLAN_UNREADABLE,)


def test_plans_that_are_no_list_are_searched_all_the_same(engine):
    text = '{"error": false, "plans": {"a": {"type": "LOGICAL_WINDOW"}}}'
    assert read_plan(text, engine.pins).reading.reasons == (Reason.WINDOW,)


def test_two_plans_are_none(engine):
    tree = parse_plan(engine.plan("SELECT a FROM t"))
    assert tree is not None
    tree["plans"] *= 2
    reading = read_plan("", engine.pins, tree).reading
    assert (reading.shape, reading.reasons) == (None, (Reason.PLAN_UNREADABLE,))


def test_the_largest_count(engine):
    assert COUNT_MAX == 2**53 - 1
    most = engine.read(f"SELECT a FROM t LIMIT {COUNT_MAX} OFFSET {COUNT_MAX}")
    assert most != "failed"
    assert most.shape is not None
    assert most.shape.selection == Selection(limit=COUNT_MAX, offset=COUNT_MAX)
    for count in (COUNT_MAX + 1, 2**63 - 1):
        more = engine.read(f"SELECT a FROM t LIMIT {count} OFFSET {count}")
        assert more != "failed"
        assert more.shape == most.shape
    # The engine writes a large number for no number; the text tells them apart.
    none = engine.read("SELECT a FROM t LIMIT NULL")
    assert none != "failed"
    assert none.shape is not None
    assert none.shape.selection == Selection(limit=COUNT_MAX)


def test_a_condition_on_no_column_cannot_be_stated(engine):
    def harm(node: dict[str, Any]) -> None:
        if node.get("index_type") == "FULL_READ" and node["index"] == 2:
            node["index"] = 2**64 - 1

    reading = damaged(engine, "SELECT count(*) FROM t WHERE f", harm)
    assert reading.shape is not None
    assert reading.shape.filter == Unstatable(reason=Reason.FILTER_NOT_STATABLE)


def test_types_of_what_has_none_of_its_own(engine):
    tree = parse_plan(
        engine.plan("SELECT f AND f, f OR f, CASE WHEN f THEN 1 END, NOT f, 1 FROM t")
    )
    assert tree is not None
    for node in objects(tree):
        if node.get("expression_class") == "BOUND_CASE":
            del node["return_type"]
    types = ("BOOLEAN", "BOOLEAN", None, "BOOLEAN", "INTEGER")
    assert read_plan("", engine.pins, tree).types == types


NODES = {
    Reason.JOIN: "COMPARISON_JOIN ANY_JOIN CROSS_PRODUCT POSITIONAL_JOIN ASOF_JOIN DELIM_JOIN DEPENDENT_JOIN",
    Reason.CTE: "MATERIALIZED_CTE RECURSIVE_CTE CTE_REF",
    Reason.SET_OPERATION: "UNION EXCEPT INTERSECT",
    Reason.WINDOW: "WINDOW",
    Reason.TABLE_FUNCTION: "UNNEST",
    Reason.SAMPLE: "SAMPLE",
    Reason.VALUES: "EXPRESSION_GET",
    Reason.NO_SOURCE: "DUMMY_SCAN",
    Reason.PLAN_UNREADABLE: "SOMETHING_NEW",
}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(kind, reason) for reason, kinds in NODES.items() for kind in kinds.split()],
)
def test_a_node_that_withholds_the_statement_is_named(engine, kind, reason):
    def harm(node: dict[str, Any]) -> None:
        if node.get("type") == "LOGICAL_FILTER":
            node["type"] = f"LOGICAL_{kind}"

    reading = damaged(engine, "SELECT a FROM t WHERE f", harm)
    assert (reading.shape, reading.reasons) == (None, (reason,))


def test_another_scan_is_none(engine):
    def harm(node: dict[str, Any]) -> None:
        if node.get("type") == "LOGICAL_GET":
            node["qname"] = {"path": ["other_scan"]}

    reading = damaged(engine, "SELECT a FROM t", harm)
    assert (reading.shape, reading.reasons) == (None, (Reason.TABLE_FUNCTION,))


CLAUSES = "SELECT DISTINCT a FROM t WHERE f ORDER BY a LIMIT 3"
OTHER_PATH = {"qualified_name": {"path": ["elsewhere", "main", "t"]}}
SHORT_PATH = {"qualified_name": {"path": ["snapshot", "t"]}}
LONG_PATH = {"qualified_name": {"path": ["snapshot", "main", "t", "t"]}}
PLACE = {"index": 0, "child_indexes": [], "index_type": "FULL_READ", "field": ""}
FIELDS: list[tuple[str, str, Any, Reason]] = [
    ("GET", "at_clause", {}, Reason.TIME_TRAVEL),
    ("GET", "extra_info", {"sample_options": {}}, Reason.SAMPLE),
    ("GET", "table_filters", {"filters": [1], "multi_column_filters": []}, Reason.PLAN_UNREADABLE),
    ("GET", "table_filters", {"filters": [], "multi_column_filters": [1]}, Reason.PLAN_UNREADABLE),
    ("GET", "projection_ids", [0], Reason.PLAN_UNREADABLE),
    ("GET", "parameters", [0], Reason.PLAN_UNREADABLE),
    ("GET", "named_parameters", [0], Reason.PLAN_UNREADABLE),
    ("GET", "projected_input", [0], Reason.PLAN_UNREADABLE),
    ("GET", "function_data", OTHER_PATH, Reason.TABLE_UNKNOWN),
    ("GET", "function_data", SHORT_PATH, Reason.TABLE_UNKNOWN),
    ("GET", "function_data", LONG_PATH, Reason.TABLE_UNKNOWN),
    ("GET", "names", ["a", "b", "f", "d"], Reason.PLAN_UNREADABLE),
    ("GET", "column_indexes", [PLACE | {"child_indexes": [PLACE]}] * 3, Reason.PLAN_UNREADABLE),
    ("GET", "column_indexes", [PLACE | {"index_type": "OTHER"}] * 3, Reason.PLAN_UNREADABLE),
    ("GET", "column_indexes", [PLACE | {"index": -1}] * 3, Reason.PLAN_UNREADABLE),
    ("GET", "children", [{}], Reason.PLAN_UNREADABLE),
    ("FILTER", "projection_map", [0], Reason.PLAN_UNREADABLE),
    ("DISTINCT", "distinct_type", "DISTINCT_ON", Reason.DISTINCT_ON),
    ("DISTINCT", "order_by", {}, Reason.PLAN_UNREADABLE),
    ("ORDER_BY", "projections", [0], Reason.PLAN_UNREADABLE),
    ("ORDER_BY", "children", [], Reason.PLAN_UNREADABLE),
    ("LIMIT", "limit_val", {"type": "EXPRESSION_VALUE"}, Reason.LIMIT_NOT_A_NUMBER),
    ("LIMIT", "offset_val", {"type": "EXPRESSION_VALUE"}, Reason.LIMIT_NOT_A_NUMBER),
]


@pytest.mark.parametrize(("kind", "name", "bad", "reason"), FIELDS)
def test_a_field_of_another_value_has_its_reason(engine, kind, name, bad, reason):
    found = []

    def harm(node: dict[str, Any]) -> None:
        if node.get("type") == f"LOGICAL_{kind}":
            assert name in node
            node[name] = bad
            found.append(node)

    reading = damaged(engine, CLAUSES, harm)
    assert found
    assert (reading.shape, reading.reasons) == (None, (reason,))


# What the plan alone says of a statement that has no shape, exactly.
WHOLE = {
    "SELECT t.a FROM t JOIN u USING (a)": {Reason.JOIN},
    "SELECT a FROM t WHERE a = ANY ([1])": {Reason.JOIN, Reason.TABLE_FUNCTION},
    "SELECT unnest([1])": {Reason.TABLE_FUNCTION},
    "SELECT 1": {Reason.NO_SOURCE},
    "FROM range(3)": {Reason.TABLE_FUNCTION},
    "SELECT a FROM t TABLESAMPLE 50%": {Reason.SAMPLE},
    "SELECT DISTINCT ON (a) a, b FROM t": {Reason.DISTINCT_ON},
    "SELECT a FROM t GROUP BY ROLLUP (a)": {Reason.GROUPING_SETS},
    "SELECT sum(a) FROM t GROUP BY ()": {Reason.GROUPING_SETS},
    "SELECT a FROM t LIMIT 50%": {Reason.LIMIT_NOT_A_NUMBER},
    "SELECT a FROM (SELECT a FROM t LIMIT 2) LIMIT 1": {Reason.PLAN_UNREADABLE},
    "SELECT x FROM (SELECT a + 1 AS x FROM t) WHERE x > 1": {Reason.PLAN_UNREADABLE},
    "SELECT x FROM (SELECT sum(a) AS x FROM t) WHERE x > 1": {Reason.PLAN_UNREADABLE},
}


@pytest.mark.parametrize(("statement", "reasons"), WHOLE.items())
def test_why_there_is_no_shape(engine, statement, reasons):
    reading = engine.read(statement)
    assert reading.shape is None
    assert set(reading.reasons) == reasons


SHAPES = {
    "SELECT count(*) FROM t GROUP BY ALL HAVING a > 1": (
        (Aggregate(calculation="COUNT", column=None),),
        (DirectColumn(column="a"), Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN)),
    ),
    "SELECT a + 1 AS x, count(*) FROM t GROUP BY a + 1": (
        (Other(reason=Reason.EXPRESSION), Aggregate(calculation="COUNT", column=None)),
        (Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN),),
    ),
    "SELECT a, GROUPING(a) FROM t GROUP BY a": (
        (DirectColumn(column="a"), Other(reason=Reason.FUNCTION)),
        (DirectColumn(column="a"),),
    ),
}


@pytest.mark.parametrize(("statement", "made"), SHAPES.items())
def test_what_is_above_an_aggregate(engine, statement, made):
    reading = engine.read(statement)
    assert reading != "failed"
    assert reading.shape is not None
    assert (reading.shape.outputs, reading.shape.groups) == made


@pytest.mark.parametrize("index", [4, 5, 2**64 - 1])
def test_an_index_beyond_the_columns_is_no_column(engine, index):
    def harm(node: dict[str, Any]) -> None:
        if node.get("index_type") == "FULL_READ":
            node["index"] = index

    reading = damaged(engine, "SELECT a FROM t", harm)
    assert reading.shape is not None
    assert reading.shape.outputs == (Other(reason=Reason.COLUMN_UNKNOWN),)


WIDENS = [
    ("TIMESTAMP_S", "TIMESTAMP", True), ("TIMESTAMP_MS", "TIMESTAMP", True),
    ("TIMESTAMP_S", "TIMESTAMP_NS", False), ("TIMESTAMP_NS", "TIMESTAMP", False),
    ("TINYINT", "SMALLINT", True), ("SMALLINT", "TINYINT", False),
    ("TINYINT", "UTINYINT", False), ("UTINYINT", "TINYINT", False),
    ("UTINYINT", "SMALLINT", True), ("TINYINT", "TINYINT", True),
    ("UTINYINT", "USMALLINT", True), ("USMALLINT", "UTINYINT", False),
    ("UBIGINT", "HUGEINT", True), ("HUGEINT", "UHUGEINT", False), ("UHUGEINT", "HUGEINT", False),
    ("TINYINT", "DECIMAL(3,0)", True), ("TINYINT", "DECIMAL(2,0)", False),
    ("TINYINT", "DECIMAL(4,1)", True), ("TINYINT", "DECIMAL(4,2)", False),
    ("TINYINT", "DOUBLE", False), ("TINYINT", "VARCHAR", False),
    ("DECIMAL(4,1)", "DECIMAL(4,1)", True), ("DECIMAL(4,1)", "DECIMAL(5,2)", True),
    ("DECIMAL(4,1)", "DECIMAL(5,1)", True), ("DECIMAL(4,1)", "DECIMAL(4,2)", False),
    ("DECIMAL(4,1)", "DECIMAL(4,0)", False), ("DECIMAL(4,1)", "DECIMAL(9,0)", False),
    ("DECIMAL(4,1)", "INTEGER", False), ("DECIMAL(4,1)", "DOUBLE", False),
    ("DECIMAL(9,4)", "DECIMAL(9,5)", False), ("DECIMAL(9,4)", "DECIMAL(8,3)", False),
    ("DOUBLE", "DECIMAL(4,1)", False), ("FLOAT", "DOUBLE", False), ("VARCHAR", "VARCHAR", False),
]  # fmt: skip


@pytest.mark.parametrize(("base", "becomes", "keeps"), WIDENS)
def test_a_cast_that_keeps_every_value(base, becomes, keeps):
    assert _widens(base, becomes) is keeps


CASTS: list[tuple[str, str, str, str | None]] = [
    ("VARCHAR", "1", "INTEGER", "1"), ("VARCHAR", "-0", "INTEGER", "0"),
    ("VARCHAR", "1.50", "DECIMAL(4,1)", "1.5"), ("VARCHAR", "100", "DECIMAL(4,1)", "100"),
    ("VARCHAR", "1x", "INTEGER", None), ("VARCHAR", "01", "INTEGER", None),
    ("VARCHAR", "1e1", "INTEGER", None), ("VARCHAR", "1", "DOUBLE", None),
    ("DOUBLE", "1", "INTEGER", None), ("DOUBLE", "1.5", "DECIMAL(4,1)", None),
    ("BOOLEAN", "true", "INTEGER", None), ("INTEGER", "1", "VARCHAR", None),
    ("INTEGER", "-128", "TINYINT", "-128"), ("INTEGER", "-129", "TINYINT", None),
    ("INTEGER", "127", "TINYINT", "127"), ("INTEGER", "128", "TINYINT", None),
    ("DECIMAL(4,1)", "1.5", "INTEGER", None), ("DECIMAL(4,1)", "1", "INTEGER", "1"),
    ("INTEGER", "999", "DECIMAL(4,1)", "999"), ("INTEGER", "1000", "DECIMAL(4,1)", None),
    ("INTEGER", "-1000", "DECIMAL(4,1)", None), ("DECIMAL(5,1)", "999.9", "DECIMAL(4,1)", "999.9"),
    ("DECIMAL(5,2)", "1.25", "DECIMAL(4,2)", "1.25"), ("DECIMAL(5,2)", "1.25", "DECIMAL(4,1)", None),
    ("DECIMAL(5,3)", "1.125", "DECIMAL(4,2)", None), ("INTEGER", "5", "DOUBLE", "5"),
    ("INTEGER", "1000000", "FLOAT", "1000000"), ("INTEGER", "1234567", "FLOAT", None),
    ("INTEGER", "123456", "FLOAT", "123456"), ("DOUBLE", "1.5", "DOUBLE", "1.5"),
    ("DECIMAL(9,8)", "0.00123456", "FLOAT", "0.00123456"),
    ("VARCHAR", "2020-02-29", "DATE", "2020-02-29"), ("VARCHAR", "2021-02-29", "DATE", None),
    ("VARCHAR", "20200229", "DATE", None), ("VARCHAR", "2020-W01-1", "DATE", None),
    ("VARCHAR", "2020-02-29", "TIMESTAMP", "2020-02-29 00:00:00"),
    ("VARCHAR", "2020-02-29 1:02:03", "TIMESTAMP", None), ("VARCHAR", "x", "TIMESTAMP", None),
    ("VARCHAR", "2020-02-29 01:02:03.500", "TIMESTAMP", "2020-02-29 01:02:03.5"),
    ("VARCHAR", "2020-02-29 01:02:03.1234567", "TIMESTAMP", None),
    ("VARCHAR", "2020-02-29 01:02:03.1234567", "TIMESTAMP_NS", "2020-02-29 01:02:03.1234567"),
    ("VARCHAR", "2020-02-29 01:02:03x", "TIMESTAMP", None),
    ("VARCHAR", "2020-02-29 01:02:03+01", "TIMESTAMP", None),
    ("VARCHAR", "2020-02-29 01:02:03", "TIMESTAMP WITH TIME ZONE", None),
    ("VARCHAR", "2020-02-29 01:02:03", "TIMESTAMPTZ_NS", None),
    ("VARCHAR", "2020-02-29 01:02:03.5Z", "TIMESTAMPTZ_NS", "2020-02-29 01:02:03.5+00"),
    ("VARCHAR", "2020-02-29 01:02:03.5+02", "TIMESTAMP WITH TIME ZONE", "2020-02-28 23:02:03.5+00"),
    ("VARCHAR", "2020-02-29 01:02:03-02:30", "TIMESTAMP WITH TIME ZONE", "2020-02-29 03:32:03+00"),
    ("VARCHAR", "0001-01-01 00:00:00+01", "TIMESTAMP WITH TIME ZONE", None),
    ("VARCHAR", "01:02:03.5", "TIME", "01:02:03.5"), ("VARCHAR", "25:00:00", "TIME", None),
    ("VARCHAR", "x", "TIME", None), ("VARCHAR", "x", "INTERVAL", None),
    ("DATE", "2020-02-29", "TIMESTAMP", "2020-02-29 00:00:00"),
    ("DATE", "2020-02-29", "TIMESTAMP WITH TIME ZONE", None),
    ("DATE", "2020-02-29", "TIMESTAMPTZ_NS", None), ("DATE", "2020-02-29", "TIME", None),
    ("TIMESTAMP", "2020-02-29 01:02:03", "TIMESTAMP_S", "2020-02-29 01:02:03"),
    ("TIMESTAMP", "2020-02-29 01:02:03.5", "TIMESTAMP_S", None),
    ("TIMESTAMP", "2020-02-29 01:02:03", "DATE", None),
    ("TIMESTAMP", "2020-02-29 01:02:03", "TIMESTAMP_OTHER", None),
    ("TIME", "01:02:03", "TIMESTAMP", None), ("TIMESTAMP_NS", "x", "TIMESTAMP", None),
    ("VARCHAR", "0" * 36, "UUID", "0" * 36), ("VARCHAR", "0" * 37, "UUID", None),
    ("VARCHAR", "A" * 36, "UUID", None),
]  # fmt: skip


@pytest.mark.parametrize(("base", "text", "to", "becomes"), CASTS)
def test_a_constant_under_a_cast(base, text, to, becomes):
    wanted = None if becomes is None else _Constant(to, becomes)
    assert _cast(_Constant(base, text), to) == wanted


def constant(kind: dict[str, Any], value: Any) -> dict[str, Any]:
    told = {"type": kind, "is_null": value is None, "value": value}
    return {"expression_class": "BOUND_CONSTANT", "value": told}


def decimal(width: int, scale: int) -> dict[str, Any]:
    info = {"type": "DECIMAL_TYPE_INFO", "width": width, "scale": scale, "alias": ""}
    return {"id": "DECIMAL", "type_info": info}


CONSTANTS: list[tuple[dict[str, Any], Any, str | None]] = [
    ({"id": "INTEGER", "type_info": None}, 5, "5"),
    ({"id": "INTEGER", "type_info": None}, 0, "0"),
    ({"id": "INTEGER", "type_info": None}, -10, "-10"),
    ({"id": "INTEGER", "type_info": None}, None, None),
    ({"id": "HUGEINT", "type_info": None}, {"upper": -1, "lower": 0}, str(-(2**64))),
    ({"id": "HUGEINT", "type_info": None}, {"upper": 1, "lower": 1}, str(2**64 + 1)),
    (decimal(4, 1), 5, "0.5"),
    (decimal(4, 1), -15, "-1.5"),
    (decimal(4, 1), 100, "10"),
    (decimal(38, 38), 10**38 - 1, "0." + "9" * 38),
    (decimal(38, 0), 10**38 - 1, "9" * 38),
    ({"id": "DOUBLE", "type_info": None}, "-0.0", "0"),
    ({"id": "DOUBLE", "type_info": None}, "1e30", "1" + "0" * 30),
    ({"id": "DOUBLE", "type_info": None}, "0.1234567890123456", None),
    ({"id": "DOUBLE", "type_info": None}, "inf", None),
    ({"id": "BOOLEAN", "type_info": None}, True, "true"),
    ({"id": "VARCHAR", "type_info": None}, "", ""),
    ({"id": "BLOB", "type_info": None}, "x", None),
]


@pytest.mark.parametrize(("kind", "value", "text"), CONSTANTS)
def test_a_constant_of_the_plan(kind, value, text):
    made = _constant(constant(kind, value))
    assert (None if made is None else made.text) == text


@pytest.mark.parametrize("bad", ["x", "", {}, [], None, True, "1/0", "nan", "1_0", "Infinity"])
def test_a_constant_that_is_no_number_states_nothing(engine, bad):
    def harm(node: dict[str, Any]) -> None:
        if node.get("expression_class") == "BOUND_CONSTANT":
            node["value"]["value"] = bad

    for literal in ("1e0", "1.5", "7", "'x'"):
        statement = f"SELECT count(*) FROM t WHERE c = {literal}"
        reading = damaged(engine, statement, harm)
        told = reading.shape is not None and reading.shape.filter
        assert not isinstance(told, Comparison) or bad in (True, "1_0"), (literal, told)


def ref(index: int) -> dict[str, Any]:
    return {"expression_class": "BOUND_REF", "type": "BOUND_REF", "index": index}


def call(kind: str, *children: dict[str, Any], path: tuple[str, ...] = ("x",)) -> dict[str, Any]:
    return {
        "expression_class": "BOUND_FUNCTION",
        "type": kind,
        "children": [*children],
        "qname": {"path": list(path)},
        "function_data": {"lower_inclusive": True, "upper_inclusive": True},
    }


def operator(kind: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"expression_class": "BOUND_OPERATOR", "type": kind, "children": [*children]}


def joint(kind: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"expression_class": "BOUND_CONJUNCTION", "type": kind, "children": [*children]}


COLUMNS: list[Any] = [
    _Native("a", "INTEGER"), _Native("b", "VARCHAR"), _Native("f", "BOOLEAN"),
    Other(reason=Reason.COLUMN_UNKNOWN),
]  # fmt: skip
A, B, F, NONE = (ref(index) for index in range(4))
ONE = constant({"id": "INTEGER", "type_info": None}, 1)
LONG = constant({"id": "BIGINT", "type_info": None}, 1)
TEXT = constant({"id": "VARCHAR", "type_info": None}, "x")
LIKE = ("system", "main", "~~")
NOT_STATABLE: list[dict[str, Any]] = [
    joint("CONJUNCTION_XOR", F, F),
    operator("OPERATOR_NOT", F, F),
    operator("OPERATOR_IS_NULL", A, A),
    operator("OPERATOR_IS_NULL", NONE),
    operator("OPERATOR_IS_NOT_NULL", ONE),
    operator("OPERATOR_COALESCE", A, ONE),
    operator("COMPARE_IN", A),
    operator("COMPARE_IN", A, ONE, A),
    operator("COMPARE_IN", NONE, ONE),
    A,
    NONE,
    call("COMPARE_EQUAL", A, ONE, ONE),
    call("COMPARE_OTHER", A, ONE),
    call("COMPARE_BETWEEN", A, ONE, ONE, ONE, path=("__between",)),
    call("COMPARE_OTHER", A, ONE, ONE, path=("__between",)),
    call("FUNCTION", B, TEXT, path=("other", "main", "~~")),
    call("FUNCTION", B, TEXT, path=("~~",)),
    call("FUNCTION", B, TEXT, path=("system", "main", "=~")),
    call("FUNCTION", B, TEXT, TEXT, path=LIKE),
    call("FUNCTION", NONE, TEXT, path=LIKE),
    call("FUNCTION", A, TEXT, path=LIKE),
    call("FUNCTION", B, B, path=LIKE),
    call("FUNCTION", B, ONE, path=LIKE),
]
NOT_EXACT = [
    operator("COMPARE_IN", A, ONE, LONG),
    call("COMPARE_EQUAL", A, LONG, path=("=",)),
    call("COMPARE_EQUAL", B, ONE, path=("=",)),
]


def test_a_range_without_its_ends():
    between = call("COMPARE_BETWEEN", A, ONE, ONE, path=("__between",))
    between["function_data"] = {"lower_inclusive": False, "upper_inclusive": False}
    made = _condition(between, COLUMNS)
    assert isinstance(made, Connective)
    assert [one.operator for one in made.members if isinstance(one, Comparison)] == [">", "<"]


@pytest.mark.parametrize("expression", NOT_STATABLE)
def test_a_condition_that_cannot_be_stated(expression):
    assert _condition(expression, COLUMNS) == Unstatable(reason=Reason.FILTER_NOT_STATABLE)


@pytest.mark.parametrize("expression", NOT_EXACT)
def test_a_literal_that_is_not_exact(expression):
    assert _condition(expression, COLUMNS) == Unstatable(reason=Reason.LITERAL_NOT_EXACT)

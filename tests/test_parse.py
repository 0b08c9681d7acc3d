"""What the text reading makes of a statement: structure as written, or what was found instead."""

import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from eligibility.reasons import Reason
from eligibility.sql import parse
from eligibility.sql.limits import problems
from eligibility.sql.parse import PARSED_MAX, read
from eligibility.sql.shape import Selection
from eligibility.sql.syntax import (
    Aggregate,
    Between,
    ColumnRef,
    Comparison,
    Connective,
    Found,
    InList,
    IsNull,
    Like,
    Literal,
    Not,
    Position,
    Star,
    TextReading,
)
from tests.corpus import cases

STATEMENTS = [case.statement for case in cases() if not problems(case.statement)]


def only(made: TextReading) -> object:
    """Give the one output of a reading that is not withheld whole."""
    assert made.reasons == ()
    ((_, output),) = made.outputs
    return output


# --- the whole statement ------------------------------------------------------------------------

WHOLE = {
    Reason.NOT_SQL: ["x y z", "SELECT a b c FROM t", "SELECT sum() FROM t", "(", "SELECT a FROM"],
    Reason.NO_STATEMENT: ["", " ", ";", ";;", "-- nothing", "/* nothing */", ";-- nothing\n;"],
    Reason.SEVERAL_STATEMENTS: ["SELECT a FROM t; SELECT a FROM t", "SELECT 1;;SELECT 2", "x; y"],
    Reason.NOT_A_SELECT: [
        "x", "DESCRIBE t", "SUMMARIZE t", "SHOW TABLES", "EXPLAIN SELECT a FROM t", "SET x = 1",
        "PRAGMA x", "CHECKPOINT", "CREATE TABLE t AS SELECT 1", "INSERT INTO t VALUES (1)",
        "COPY t TO 'x'", "ATTACH 'x'", "CALL f()", "USE x", "BEGIN", "VACUUM", "LOAD json",
        "INSTALL json", "PREPARE p AS SELECT 1", "EXECUTE p", "DROP TABLE t", "UPDATE t SET a = 1",
        "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM t",
        "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT a FROM t",
    ],
    Reason.STATEMENT_PARENTHESISED: ["(SELECT a FROM t)", "((FROM t))", "(VALUES (1))"],
    Reason.CTE: ["WITH x AS (SELECT 1) SELECT a FROM t", "WITH RECURSIVE x AS (SELECT 1) FROM t"],
    Reason.SET_OPERATION: [
        "SELECT a FROM t UNION SELECT a FROM t", "SELECT a FROM t EXCEPT ALL SELECT a FROM t",
        "SELECT a FROM t INTERSECT SELECT a FROM t", "SELECT a FROM t UNION BY NAME SELECT a FROM t",
    ],
    Reason.PIVOT: ["PIVOT t ON a USING SUM(b)", "UNPIVOT t ON a INTO NAME n VALUE v",
                   "SELECT * FROM t PIVOT (SUM(a) FOR b IN ('x'))"],
    Reason.JOIN: [
        "SELECT a FROM t, u", "SELECT a FROM t JOIN u USING (a)", "SELECT a FROM t CROSS JOIN u",
        "SELECT a FROM t LEFT JOIN u ON true", "SELECT a FROM t ASOF JOIN u ON t.a >= u.a",
        "SELECT a FROM t ANTI JOIN u USING (a)", "SELECT a FROM t" + " JOIN u" * 40,
    ],
    Reason.SUBQUERY: [
        "SELECT a FROM (SELECT a FROM t)", "SELECT (SELECT 1) FROM t", "SELECT a FROM (t)",
        "SELECT a FROM t WHERE EXISTS (FROM t)", "SELECT a FROM t WHERE a = ANY ([1])",
        "SELECT a FROM t WHERE a <> ALL (SELECT 1)", "SELECT a FROM t LIMIT (SELECT 1)",
        "SELECT ARRAY(SELECT 1) FROM t", "SELECT a FROM t GROUP BY (SELECT 1)",
        "SELECT a FROM t HAVING (SELECT true)", "SELECT sum((SELECT 1)) FROM t",
        "SELECT a FROM t ORDER BY a WITH FILL FROM (SELECT 1) TO 2",
        "SELECT a FROM t WHERE x IN (" + "SELECT " * 20 + ")",
    ],
    Reason.WINDOW: [
        "SELECT sum(a) OVER () FROM t", "SELECT a FROM t ORDER BY rank() OVER (ORDER BY a)",
        "SELECT sum(a) FILTER (WHERE a > 1) OVER () FROM t", "SELECT a FROM t WINDOW w AS ()",
        "SELECT a + sum(a) OVER () FROM t",
    ],
    Reason.QUALIFY: ["SELECT a FROM t QUALIFY a = 1"],
    Reason.SAMPLE: ["SELECT a FROM t TABLESAMPLE 1%", "SELECT a FROM t USING SAMPLE 5",
                    "SELECT a FROM t TABLESAMPLE reservoir(5 ROWS)"],
    Reason.VALUES: ["VALUES (1)", "SELECT a FROM (VALUES (1)) t(a)"],
    Reason.TABLE_FUNCTION: [
        "SELECT a FROM range(3)", "SELECT a FROM main.f(3)", "SELECT a FROM UNNEST([1])",
        "SELECT unnest([1]) FROM t", "SELECT a FROM query_table('t')", "SELECT a FROM t WITH ORDINALITY",
    ],
    Reason.TIME_TRAVEL: ["SELECT a FROM t AT (VERSION => 1)", "SELECT a FROM t AT (TIMESTAMP => now())"],
    Reason.COLUMN_ALIAS_LIST: ["SELECT a FROM t AS s(b)", "SELECT a FROM t s(b)", "SELECT a FROM t FORCE (b)",
                               "SELECT a FROM t AS (b)", "SELECT a FROM t OPTION (b)"],
    Reason.NO_SOURCE: ["SELECT 1", "SELECT a"],
    Reason.PARAMETER: [
        "SELECT a FROM t WHERE a = ?", "SELECT a FROM t LIMIT ?", "SELECT a FROM t ORDER BY $1",
        "SELECT a, ? FROM t WHERE b", "SELECT a FROM t WHERE a = :x", "SELECT a FROM t HAVING $x = a",
    ],
    Reason.POSITIONAL_REFERENCE: ["SELECT a FROM t WHERE #1 = 1", "SELECT a FROM t ORDER BY #1"],
    Reason.COLUMNS_EXPRESSION: ["SELECT COLUMNS('a') FROM t", "SELECT min(COLUMNS(*)) FROM t",
                                "SELECT a FROM t WHERE COLUMNS(*) = 1", "SELECT *COLUMNS(*) FROM t"],
    Reason.STAR_NOT_ALONE: [
        "SELECT *, a FROM t", "SELECT t.* FROM t", "SELECT * EXCLUDE (a) FROM t", "SELECT *, * FROM t",
        "SELECT * REPLACE (1 AS a) FROM t", "SELECT * RENAME (a AS b) FROM t", "SELECT count(t.*) FROM t",
        "SELECT * ILIKE 'a' FROM t", "SELECT sum(*) FROM t", "SELECT a FROM t GROUP BY *",
        "SELECT a FROM t ORDER BY f(*)", "SELECT count(DISTINCT *) FROM t", "SELECT a.* FROM t",
    ],
    Reason.DISTINCT_ON: ["SELECT DISTINCT ON (a) a FROM t"],
    Reason.GROUPING_SETS: [
        "SELECT a FROM t GROUP BY ROLLUP (a)", "SELECT a FROM t GROUP BY CUBE (a)",
        "SELECT a FROM t GROUP BY GROUPING SETS ((a))", "SELECT a FROM t GROUP BY ()",
        "SELECT a FROM t GROUP BY a, ROLLUP (b)", "SELECT a FROM t GROUP BY a WITH ROLLUP",
    ],
    Reason.LIMIT_NOT_A_NUMBER: [
        f"SELECT a FROM t {clause}" for clause in (
            "LIMIT 1.0", "LIMIT 1e2", "LIMIT -1", "LIMIT NULL", "LIMIT ALL", "LIMIT 50%", "LIMIT (1)",
            "LIMIT '1'", "LIMIT 1 + 1", "LIMIT a", "LIMIT 9223372036854775808", "LIMIT 99999999999999999999",
            "OFFSET -1", "OFFSET 1.5", "OFFSET a", "LIMIT 1 BY a", "FETCH FIRST 2 PERCENT ROWS ONLY",
            "FETCH FIRST 2 ROWS WITH TIES", "FETCH FIRST ROW ONLY",
        )
    ],
    Reason.CONSTRUCT_UNKNOWN: [
        "SELECT a FROM t FOR UPDATE", "SELECT a INTO x FROM t", "SELECT a FROM a.b.c.d", "SELECT FROM t", "SELECT",
        "SELECT a FROM t GROUP BY ALL, a", "SELECT AS STRUCT a FROM t", "SELECT a FROM ONLY t",
    ],
    Reason.TOKEN_UNREADABLE: [
        "SELECT +a FROM t", "SELECT a, +1 FROM t", "SELECT a + +1 FROM t", "SELECT (+a) FROM t",
        "SELECT a FROM t WHERE +a = 1", "SELECT a FROM t WHERE a = 1 AND +b", "+", "SELECT a FROM t LIMIT +1",
        "SELECT a FROM t WHERE a IN [1, 2]", "SELECT a FROM t WHERE a NOT IN [1]", "SELECT - +a FROM t",
        "SELECT CASE WHEN +a THEN +b ELSE +c END FROM t", "SELECT a BETWEEN +1 AND +2 FROM t",
    ],
    Reason.TOO_NESTED: ["SELECT CAST(a AS " + "STRUCT(x " * 12 + "INT" + ")" * 12 + ") FROM t"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "text"), [(reason, text) for reason, texts in WHOLE.items() for text in texts]
)
def test_the_whole_statement_is_withheld(reason, text):
    found = read(text).reasons
    assert reason in found, found


def test_a_plus_between_two_operands_is_read():
    for text in (
        "SELECT a + 1 FROM t", "SELECT a+b FROM t", "SELECT (a) + 1 FROM t", "SELECT 'x' + 1 FROM t",
        'SELECT "a" + 1 FROM t', "SELECT l[1] + 1 FROM t", "SELECT NULL + 1 FROM t",
        "SELECT first + 1 FROM t", "SELECT CASE WHEN a THEN 1 END + 1 FROM t",
        "SELECT a IN (1) + 1 FROM t", "SELECT l[+1 - 1] FROM t",
    )[:-1]:  # fmt: skip
        assert Reason.TOKEN_UNREADABLE not in read(text).reasons, text


def test_a_few_of_what_is_counted_is_parsed():
    assert read("SELECT a FROM t JOIN u USING (a)").outputs
    for words, most, _ in PARSED_MAX:
        assert words
        assert most > 1


# --- the source ---------------------------------------------------------------------------------

SOURCES = {
    "SELECT a FROM t": (("t",), None),
    "SELECT a FROM main.t": (("main", "t"), None),
    "SELECT a FROM x.main.t": (("x", "main", "t"), None),
    "SELECT a FROM t AS s": (("t",), "s"),
    "SELECT a FROM t s": (("t",), "s"),
    "SELECT a FROM s: t": (("t",), "s"),
    'SELECT a FROM "T t" AS "S""s"': (("T t",), 'S"s'),
    "SELECT a FROM `T``t` AS s": (("T`t",), "s"),
    "FROM t SELECT a": (("t",), None),
    "FROM t": (("t",), None),
    "TABLE t": (("t",), None),
    "SELECT a FROM 't'": (("t",), None),
}


@pytest.mark.parametrize(("text", "source"), SOURCES.items())
def test_source(text, source):
    made = read(text)
    assert made.reasons == ()
    assert (made.source, made.alias) == source


# --- outputs ------------------------------------------------------------------------------------

OUTPUTS = {
    "a": ColumnRef("a"),
    "A": ColumnRef("A"),
    '"a b"': ColumnRef("a b"),
    "t.a": ColumnRef("a", "t"),
    '"*"': ColumnRef("*"),
    "*": Star(),
    "sum(a)": Aggregate("SUM", ColumnRef("a")),
    "AVG(t.a)": Aggregate("AVG", ColumnRef("a", "t")),
    "(a)": ColumnRef("a"),
    "((t.a))": ColumnRef("a", "t"),
    '"min"(a)': Aggregate("MIN", ColumnRef("a")),
    "Max(a)": Aggregate("MAX", ColumnRef("a")),
    "count(a)": Aggregate("COUNT", ColumnRef("a")),
    "count(*)": Aggregate("COUNT", None),
    'count("*")': Aggregate("COUNT", ColumnRef("*")),
    "1": Reason.CONSTANT,
    "-1.5": Reason.CONSTANT,
    "'x'": Reason.CONSTANT,
    "NULL": Reason.CONSTANT,
    "true": Reason.CONSTANT,
    "DATE '2020-01-01'": Reason.CONSTANT,
    "1::VARCHAR": Reason.CONSTANT,
    "a + 1": Reason.ARITHMETIC,
    "-a": Reason.ARITHMETIC,
    "a // 2": Reason.ARITHMETIC,
    "a % 2": Reason.ARITHMETIC,
    "a ** 2": Reason.ARITHMETIC,
    "a::VARCHAR": Reason.CAST,
    "CAST(a AS DATE)": Reason.CAST,
    "TRY_CAST(a AS DATE)": Reason.CAST,
    "a COLLATE NOCASE": Reason.COLLATION,
    "count()": Reason.AGGREGATE_SPELLING,
    "count(1)": Reason.AGGREGATE_SPELLING,
    "count_star()": Reason.AGGREGATE_SPELLING,
    "mean(a)": Reason.AGGREGATE_SPELLING,
    "main.sum(a)": Reason.AGGREGATE_SPELLING,
    "a.sum()": Reason.AGGREGATE_SPELLING,
    "count(DISTINCT a)": Reason.COUNT_DISTINCT,
    "count(DISTINCT a, b)": Reason.COUNT_DISTINCT,
    "sum(DISTINCT a)": Reason.AGGREGATE_MODIFIED,
    "sum(a) FILTER (WHERE b)": Reason.AGGREGATE_MODIFIED,
    "sum(a ORDER BY b)": Reason.AGGREGATE_MODIFIED,
    "count(a ORDER BY b)": Reason.AGGREGATE_MODIFIED,
    "min(a, 2)": Reason.AGGREGATE_MODIFIED,
    "count(a, b)": Reason.AGGREGATE_MODIFIED,
    "max(a IGNORE NULLS)": Reason.AGGREGATE_MODIFIED,
    "sum(a) WITHIN GROUP (ORDER BY b)": Reason.AGGREGATE_MODIFIED,
    "sum((a))": Reason.AGGREGATE_ARGUMENT,
    "sum(1)": Reason.AGGREGATE_ARGUMENT,
    "sum(a + 1)": Reason.AGGREGATE_ARGUMENT,
    "sum(x := a)": Reason.AGGREGATE_ARGUMENT,
    "count(a IS NULL)": Reason.AGGREGATE_ARGUMENT,
    "count(* EXCLUDE a)": Reason.STAR_NOT_ALONE,
    "sum(s.t.a)": Reason.AGGREGATE_ARGUMENT,
    "upper(a)": Reason.FUNCTION,
    "any_value(a)": Reason.FUNCTION,
    "nonsense(a)": Reason.FUNCTION,
    "main.nonsense(a)": Reason.FUNCTION,
    "CASE WHEN a THEN 1 END": Reason.FUNCTION,
    "(a, b)": Reason.EXPRESSION,
    "((a) + 1)": Reason.EXPRESSION,
    "a AND b": Reason.EXPRESSION,
    "a = 1": Reason.EXPRESSION,
    "a || b": Reason.EXPRESSION,
    "a IS NULL": Reason.EXPRESSION,
    "a[1]": Reason.EXPRESSION,
    "a.b.c.d.e": Reason.EXPRESSION,
    "s.t.a": Reason.QUALIFIER_UNKNOWN,
    "?": Reason.PARAMETER,
    "$1": Reason.PARAMETER,
    "#1": Reason.POSITIONAL_REFERENCE,
}


@pytest.mark.parametrize(("text", "output"), OUTPUTS.items())
@pytest.mark.parametrize("alias", ["{}", "{} AS x", "x: {}", '{} "x"'])
def test_output(text, output, alias):
    if alias != "{}" and text == "*":
        return
    expected = Found(output) if isinstance(output, Reason) else output
    made = read(f"SELECT {alias.format(text)} FROM t")
    assert only(made) == expected
    assert made.outputs[0][0] == (
        "x" if alias != "{}" else expected.name if isinstance(expected, ColumnRef) else ""
    )


def test_an_alias_of_several_names_is_none():
    assert read("SELECT a AS (x, y) FROM t").outputs == (("", Found(Reason.EXPRESSION)),)


# --- keys and the other clauses -----------------------------------------------------------------

KEYS = {
    "": (),
    "GROUP BY a": (ColumnRef("a"),),
    "GROUP BY t.a, 2, b": (ColumnRef("a", "t"), Position(2), ColumnRef("b")),
    "GROUP BY ALL": None,
    "GROUP BY 0": (Position(0),),
    **{
        f"GROUP BY {key}": (Found(Reason.GROUP_KEY_NOT_A_COLUMN),)
        for key in ("(a)", "(a, b)", "a + 1", "1.5", "'a'", "-1", "9" * 19, "f(a)", "NULL", "s.t.a")
    },
}


@pytest.mark.parametrize(("clause", "keys"), KEYS.items())
def test_keys(clause, keys):
    made = read(f"SELECT a FROM t {clause}")
    assert made.reasons == ()
    assert made.keys == keys


SELECTIONS = {
    "": Selection(),
    "HAVING a > 1": Selection(having=True),
    "ORDER BY a DESC NULLS LAST, f(b)": Selection(order_by=True),
    "ORDER BY ALL": Selection(order_by=True),
    "LIMIT 0": Selection(limit=0),
    "LIMIT 9007199254740991": Selection(limit=9007199254740991),
    "LIMIT 9007199254740992": Selection(limit=9007199254740991),
    "LIMIT 9223372036854775807 OFFSET 7": Selection(limit=9007199254740991, offset=7),
    "LIMIT 010": Selection(limit=10),
    "OFFSET 3": Selection(offset=3),
    "OFFSET 3 ROWS": Selection(offset=3),
    "LIMIT 2 OFFSET 3": Selection(limit=2, offset=3),
    "OFFSET 3 LIMIT 2": Selection(limit=2, offset=3),
    "FETCH FIRST 2 ROWS ONLY": Selection(limit=2),
    "FETCH NEXT 2 ROW ONLY": Selection(limit=2),
}


@pytest.mark.parametrize(("clause", "selection"), SELECTIONS.items())
def test_selection(clause, selection):
    made = read(f"SELECT a FROM t {clause}")
    assert made.reasons == ()
    assert made.selection == selection


def test_distinct_and_all():
    assert read("SELECT DISTINCT a FROM t").selection == Selection(distinct=True)
    assert read("SELECT ALL a FROM t").selection == Selection()


# --- the filter ---------------------------------------------------------------------------------

A, B = ColumnRef("a"), ColumnRef("b")
ONE, X = Literal("number", "1"), Literal("text", "x")
CONDITIONS = {
    "a": A,
    "t.a": ColumnRef("a", "t"),
    "(a)": A,
    "a = 1": Comparison(A, "=", ONE),
    "a == 1": Comparison(A, "=", ONE),
    "a != 1": Comparison(A, "<>", ONE),
    "1 >= a": Comparison(ONE, ">=", A),
    "a < b": Comparison(A, "<", B),
    "a = -1.5": Comparison(A, "=", Literal("number", "-1.5")),
    "a = 1e3": Comparison(A, "=", Literal("number", "1e3")),
    "a = 'it''s'": Comparison(A, "=", Literal("text", "it's")),
    "a = TRUE": Comparison(A, "=", Literal("boolean", "true")),
    "a = false": Comparison(A, "=", Literal("boolean", "false")),
    "a = DATE 'x'": Comparison(A, "=", Literal("DATE", "x")),
    "a = 'x'::DATE": Comparison(A, "=", Literal("DATE", "x")),
    "a = CAST('x' AS TIME)": Comparison(A, "=", Literal("TIME", "x")),
    "a = TIMESTAMP 'x'": Comparison(A, "=", Literal("TIMESTAMP", "x")),
    "a = TIMESTAMPTZ 'x'": Comparison(A, "=", Literal("TIMESTAMP WITH TIME ZONE", "x")),
    "a = 'x'::TIMESTAMP_S": Comparison(A, "=", Literal("TIMESTAMP_S", "x")),
    "a = 'x'::TIMESTAMP_MS": Comparison(A, "=", Literal("TIMESTAMP_MS", "x")),
    "a = 'x'::TIMESTAMP_NS": Comparison(A, "=", Literal("TIMESTAMP_NS", "x")),
    "a = UUID 'x'": Comparison(A, "=", Literal("UUID", "x")),
    "a BETWEEN 1 AND b": Between(A, ONE, B),
    "a NOT BETWEEN 1 AND 1": Not(Between(A, ONE, ONE)),
    "a IN (1, 'x')": InList(A, (ONE, X)),
    "a NOT IN (1)": Not(InList(A, (ONE,))),
    "a IS NULL": IsNull(A),
    "a ISNULL": IsNull(A),
    "a IS NOT NULL": Not(IsNull(A)),
    "a NOTNULL": Not(IsNull(A)),
    "NOT a IS NULL": Not(IsNull(A)),
    "a LIKE 'x'": Like(A, X, fold=False),
    "a ~~ 'x'": Like(A, X, fold=False),
    "a ILIKE 'x'": Like(A, X, fold=True),
    "a NOT LIKE 'x'": Not(Like(A, X, fold=False)),
    "a NOT ILIKE 'x'": Not(Like(A, X, fold=True)),
    "NOT a LIKE 'x'": Not(Like(A, X, fold=False)),
    "NOT a": Not(A),
    "a AND b AND a": Connective("and", (A, B, A)),
    "a OR (b AND a)": Connective("or", (A, Connective("and", (B, A)))),
    "((a OR b))": Connective("or", (A, B)),
}
NOT_STATABLE = [
    "1 = 1", "1", "true", "NULL", "a = NULL", "a = (1)", "(a) = 1", "a + 1 = 2", "a = 1 + 1", "f(a)",
    "f(a) = 1", "a = f(1)", "a = 'x'::VARCHAR", "a = 1::INTEGER", "a = TRY_CAST('x' AS DATE)",
    "a = CAST('x' AS DECIMAL(4,1))", "a = CAST('x' AS DATE FORMAT 'y')", "a = -'5'", "a = - -5", "a = -b",
    "a = INTERVAL 1 DAY", "a = [1]", "a = current_date", "a IS DISTINCT FROM 1", "a IS TRUE", "a IS NOT TRUE",
    "a IS 1", "a IN ()", "a IN (b)", "a IN (1, NULL)", "a IN ((1))", "a IN (1) IS TRUE", "(a, b) IN ((1, 2))",
    "1 IN (1)", "1 BETWEEN a AND b", "a BETWEEN 1 AND f(2)", "a BETWEEN SYMMETRIC 1 AND 2", "(a) IS NULL",
    "a LIKE b", "a LIKE 1", "a LIKE 'x' ESCAPE 'y'", "a NOT LIKE 'x' ESCAPE 'y'", "'x' LIKE a",
    "a LIKE ANY ('x', 'y')", "a GLOB 'x'", "a SIMILAR TO 'x'", "a ~ 'x'", "a COLLATE NOCASE = 'x'",
    "a.b.c = 1", "a = 1 = true", "a <=> 1", "a ^@ 'x'", "CASE WHEN a THEN b END", "s.t.a IS NULL",
    "a = X", "xor(a, b)",
]  # fmt: skip


@pytest.mark.parametrize(("text", "condition"), CONDITIONS.items())
def test_condition(text, condition):
    assert read(f"SELECT count(*) FROM t WHERE {text}").filter == condition


@pytest.mark.parametrize("text", [text for text in NOT_STATABLE if text != "a = X"])
def test_condition_is_not_statable(text):
    for around in ("{}", "({})", "NOT ({})", "a AND ({})", "({}) OR b"):
        made = read(f"SELECT count(*) FROM t WHERE {around.format(text)}")
        assert made.reasons or Reason.FILTER_NOT_STATABLE in list(found_in(made.filter)), around


def found_in(condition: object) -> Iterator[Reason]:
    """Give the reasons in a condition as read."""
    match condition:
        case Found():
            yield condition.reason
        case Not():
            yield from found_in(condition.member)
        case Connective():
            for member in condition.members:
                yield from found_in(member)


# --- every argument of every node ---------------------------------------------------------------

# Statements in which everything is read whole, so that a strange argument must be seen anywhere.
READ_WHOLE = [
    "SELECT a, t.b AS x, y: a FROM t",
    "SELECT * FROM t",
    "SELECT sum(a), count(*), count(t.b) AS n FROM main.t AS t GROUP BY a, 2, t.b",
    "SELECT sum(a) FROM x.main.t GROUP BY ALL",
    "SELECT DISTINCT a FROM t LIMIT 2 OFFSET 3",
    "SELECT a FROM t FETCH FIRST 2 ROWS ONLY",
    *[f"SELECT count(*) FROM t WHERE {text}" for text in CONDITIONS],
]


def is_withheld(made: TextReading) -> bool:
    found = [output for _, output in made.outputs] + list(made.keys or ())
    return bool(
        made.reasons
        or any(isinstance(part, Found) for part in found)
        or list(found_in(made.filter))
    )


@pytest.mark.parametrize("text", READ_WHOLE)
def test_an_argument_that_is_not_listed_is_seen_in_every_node(text):
    (plain,) = parse._DIALECT.parse(text)
    assert isinstance(plain, exp.Select)
    assert not is_withheld(parse._select(plain))
    for place in range(len(list(plain.walk()))):
        strange = plain.copy()
        node = list(strange.walk())[place]
        node.set("strange", exp.true())
        assert is_withheld(parse._select(strange)), repr(node)


# --- always -------------------------------------------------------------------------------------

WORDS = """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT ALL AS WITH UNION JOIN ON
USING VALUES TABLE EXISTS ANY IN BETWEEN AND OR NOT LIKE ILIKE IS NULL TRUE CASE WHEN THEN ELSE END
CAST DATE TIMESTAMP INTERVAL OVER PARTITION QUALIFY WINDOW FILTER SAMPLE PIVOT FOR EXCLUDE REPLACE
COLUMNS sum count min max avg mean a b t main rowid user 1 2.5 'x' 'it''s' "a" `b` * . , ( ) [ ] { }
; : = <> < >= + - / % || :: := -> ? $1 #1 -- /* */""".split()
SOUP = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


@given(SOUP | st.sampled_from(STATEMENTS))
def test_total(text):
    made = read(text)
    assert made == read(text)
    assert made.reasons or made.outputs


@given(SOUP | st.sampled_from(STATEMENTS))
def test_a_search_of_the_whole_tree_finds_nothing_more(text):
    made = read(text)
    if made.reasons in ((Reason.NOT_SQL,), (Reason.TOKEN_UNREADABLE,)) or not made.outputs:
        return
    tokens = parse._DIALECT.tokenize(text)
    (root,) = [
        tree
        for tree in parse._DIALECT.parser().parse(tokens, text)
        if tree is not None and not isinstance(tree, exp.Semicolon)
    ]
    assert set(parse._anywhere(root)) <= set(made.reasons)


def test_no_statement_text_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        for text in ("EXPLAIN SELECT secret", "CALL secret()", "SELECT secret FROM t; x secret y"):
            read(text)
    assert "secret" not in caplog.text
    # Only while a statement is read here.
    with caplog.at_level(logging.WARNING):
        logging.getLogger("sqlglot").warning("of somebody else")
    assert "of somebody else" in caplog.text


def test_what_the_parser_raises_is_no_reading(monkeypatch):
    def broken(*_: object) -> None:
        raise KeyError("of the parser")

    monkeypatch.setattr(parse._PARSING, "parser", SimpleNamespace(parse=broken))
    assert read("SELECT a FROM t").reasons == (Reason.NOT_SQL,)


def test_the_end_of_the_stack_is_for_the_caller(monkeypatch):
    def deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(parse._PARSING, "parser", SimpleNamespace(parse=deep))
    with pytest.raises(RecursionError):
        read("SELECT a FROM t")


def test_a_text_leaves_nothing_behind_for_the_next(monkeypatch):
    texts = [case.statement for case in cases()]
    texts += [text[: len(text) // 2] for text in texts]
    texts = [text for text in texts if not problems(text)]
    texts.sort(key=lambda text: text[::-1])  # any other order than that of the files
    assert len(texts) > 500
    one_after_the_other = [read(text) for text in texts]
    for text, made in zip(texts, one_after_the_other, strict=True):
        monkeypatch.setattr(parse, "_PARSING", parse._Parsing())
        assert read(text) == made

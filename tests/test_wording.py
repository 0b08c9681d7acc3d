"""A fact's line: what it looks like, that it is clean, and that it reads back (specification 7)."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eligibility.reasons import Reason
from eligibility.sql.facts import GroupCell
from eligibility.sql.line_parser import Line, parse
from eligibility.sql.literal import EXACT_TEXT_MAX, exact_text
from eligibility.sql.observation import Cell
from eligibility.sql.policy import FILTER_DEPTH_MAX
from eligibility.sql.schema import Schema
from eligibility.sql.shape import (
    ColumnComparison,
    Comparison,
    Connective,
    InList,
    IsNull,
    Like,
    Negation,
    Operator,
    Predicate,
    Truth,
    Unstatable,
    Value,
)
from eligibility.sql.types import type_class
from eligibility.sql.verdicts import Label
from eligibility.sql.wording import LINE_MAX, NOTE, TEXT_ORDER, filter_text, is_bare, line
from eligibility.wire.escape import is_shown

FLIGHTS = Schema.of(
    {
        "flights": {
            "carrier": "VARCHAR",
            "tailnum": "VARCHAR",
            "distance": "BIGINT",
            "month": "INTEGER",
            "day": "INTEGER",
            "arr_delay": "DOUBLE",
            "share": "DECIMAL(2,2)",
            "cancelled": "BOOLEAN",
            "hour": "TIMESTAMP",
        },
        "airlines": {"carrier": "VARCHAR"},
    }
)
TABLE = ("main", "flights")


def stored(column: str, table: tuple[str, str] = TABLE) -> Label:
    return Label(kind="column", table=table, column=column, calculation=None)


def calculated(text: str, table: tuple[str, str] = TABLE) -> Label:
    calculation, column = text.rstrip(")").split("(")
    return Label.model_validate(
        {
            "kind": "aggregate",
            "table": table,
            "column": None if column == "*" else column,
            "calculation": calculation,
        }
    )


def number(column: str, operator: Operator, text: str, kind: str = "INTEGER") -> Comparison:
    return Comparison(column=column, operator=operator, value=Value(type=kind, text=text))


def key(column: str, kind: str, text: str | None) -> GroupCell:
    return GroupCell(column=column, cell=Cell(type=kind, text=text))


def neither(*members: Predicate) -> Negation:
    return Negation(member=Connective(kind="or", members=members))


def both(*members: Predicate) -> Connective:
    return Connective(kind="and", members=members)


def one_of(*members: Predicate) -> Connective:
    return Connective(kind="or", members=members)


# --- lines --------------------------------------------------------------------------------------

UA = key("carrier", "VARCHAR", "UA")
JANUARY = number("month", "=", "1")

Parts = tuple[Label, Cell, bool, int, tuple[GroupCell, ...], Predicate | None]
LINES: dict[str, tuple[str | None, Parts]] = {
    "sum": (
        "SUM(flights.distance) = 350217607",
        (calculated("SUM(distance)"), Cell(type="HUGEINT", text="350217607"), True, 0, (), None),
    ),
    "count of rows": (
        "COUNT(*) of flights = 336776",
        (calculated("COUNT(*)"), Cell(type="BIGINT", text="336776"), True, 0, (), None),
    ),
    "count of a column": (
        "COUNT(flights.tailnum) = 12",
        (calculated("COUNT(tailnum)"), Cell(type="BIGINT", text="12"), True, 7, (), None),
    ),
    "not exact, grouped, filtered": (
        (
            "AVG(flights.arr_delay) ≈ 3.175599128540305 for flights.carrier = 'UA'"
            " where flights.month = 1"
        ),
        (
            calculated("AVG(arr_delay)"),
            Cell(type="DOUBLE", text="3.175599128540305"),
            False,
            0,
            (UA,),
            JANUARY,
        ),
    ),
    "text order": (
        "MAX(flights.tailnum) = 'N9EAMQ' (text order)",
        (calculated("MAX(tailnum)"), Cell(type="VARCHAR", text="N9EAMQ"), True, 0, (), None),
    ),
    "text order, grouped, filtered": (
        (
            "MIN(flights.tailnum) = 'D942DN' (text order) for flights.carrier = 'UA',"
            " flights.month IS NULL where flights.month = 1"
        ),
        (
            calculated("MIN(tailnum)"),
            Cell(type="VARCHAR", text="D942DN"),
            True,
            3,
            (UA, key("month", "INTEGER", None)),
            JANUARY,
        ),
    ),
    "smallest timestamp": (
        "MIN(flights.hour) = '2013-01-01 05:00:00'",
        (
            calculated("MIN(hour)"),
            Cell(type="TIMESTAMP", text="2013-01-01 05:00:00"),
            True,
            0,
            (),
            None,
        ),
    ),
    "stored value": (
        "flights.carrier = 'AA' in result row 3",
        (stored("carrier"), Cell(type="VARCHAR", text="AA"), True, 2, (), None),
    ),
    "stored value under a filter and in a group": (
        "flights.carrier = 'AA' in result row 50",
        (stored("carrier"), Cell(type="VARCHAR", text="AA"), True, 49, (UA,), JANUARY),
    ),
    "stored Boolean": (
        "flights.cancelled = TRUE in result row 1",
        (stored("cancelled"), Cell(type="BOOLEAN", text="true"), True, 0, (), None),
    ),
    "decimal without a digit before the point": (
        "flights.share = -.05 in result row 1",
        (stored("share"), Cell(type="DECIMAL(2,2)", text="-.05"), True, 0, (), None),
    ),
    "negative zero": (
        "flights.arr_delay = -0.0 in result row 1",
        (stored("arr_delay"), Cell(type="DOUBLE", text="-0.0"), True, 0, (), None),
    ),
    "large float": (
        "flights.arr_delay = 1e+20 in result row 1",
        (stored("arr_delay"), Cell(type="DOUBLE", text="1e+20"), True, 0, (), None),
    ),
    "numeral in a text column": (
        "flights.carrier = '1e+20' in result row 1",
        (stored("carrier"), Cell(type="VARCHAR", text="1e+20"), True, 0, (), None),
    ),
    "TRUE in a text column": (
        "flights.carrier = 'TRUE' in result row 1",
        (stored("carrier"), Cell(type="VARCHAR", text="TRUE"), True, 0, (), None),
    ),
    "what only looks like more of the line": (
        "flights.carrier = 'x'' in result row 9 where ''' in result row 1",
        (
            stored("carrier"),
            Cell(type="VARCHAR", text="x' in result row 9 where '"),
            True,
            0,
            (),
            None,
        ),
    ),
    "forged numeral": (
        "flights.month = '5 where flights.day = 1' in result row 1",
        (stored("month"), Cell(type="INTEGER", text="5 where flights.day = 1"), True, 0, (), None),
    ),
    "NULL": (None, (stored("carrier"), Cell(type="VARCHAR", text=None), True, 0, (), None)),
    "unstatable filter": (
        None,
        (
            calculated("COUNT(*)"),
            Cell(type="BIGINT", text="1"),
            True,
            0,
            (),
            both(JANUARY, Unstatable(reason=Reason.FILTER_NOT_STATABLE)),
        ),
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_a_line_looks_as_published_and_reads_back(case: str) -> None:
    expected, fact = LINES[case]
    label, value, exact, row, group, predicate = fact
    text = line(*fact, FLIGHTS)
    assert text == expected
    if text is not None:
        direct = label.kind == "column"
        assert parse(text, FLIGHTS) == Line(
            label=label,
            value=value.text or "",
            exact=exact,
            row=row if direct else None,
            group=() if direct else group,
            predicate=None if direct else predicate,
        )


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("carrier", "carrier"),
        ("_9", "_9"),
        ("TRUE", "TRUE"),
        ("where", "where"),
        ("9a", '"9a"'),
        ("a b", '"a b"'),
        ("a.b", '"a.b"'),
        ('a"b', '"a""b"'),
        ("a'b", '"a\'b"'),
        ("a\\b", '"a\\\\b"'),
        ("\\u{41}", '"\\\\u{41}"'),
        (" a", '"\\u{20}a"'),
        ("a ", '"a\\u{20}"'),
        ("a  b", '"a \\u{20}b"'),
        ("", '""'),
        (" ", '"\\u{20}"'),
        ("größe", '"größe"'),
        ("a\nb", '"a\\u{A}b"'),
        ("a\u200bb", '"a\\u{200B}b"'),
        ("a\u00a0b", '"a\\u{A0}b"'),
        ("\x00", '"\\u{0}"'),
        ("\u202eab", '"\\u{202E}ab"'),
        ("a\u00adb", '"a\\u{AD}b"'),
        ("\u2028", '"\\u{2028}"'),
        ("\u2170", '"\\u{2170}"'),  # a letter number is not listed
        ("😀", '"😀"'),
        ("👩\u200d🚀", '"👩\\u{200D}🚀"'),
        ("\U0010ffff", '"\\u{10FFFF}"'),
    ],
)
def test_names(name: str, written: str) -> None:
    schema = Schema.of({name: {name: "VARCHAR"}})
    text = line(
        stored(name, ("main", name)), Cell(type="VARCHAR", text=name), True, 0, (), None, schema
    )
    assert text is not None
    start = f"{written}.{written} = '"
    assert text.startswith(start)
    read = parse(text, schema)
    assert read is not None
    assert (read.label.table, read.label.column, read.value) == (("main", name), name, name)


def test_a_table_is_written_with_its_schema_where_its_name_is_not_unique() -> None:
    schema = Schema.of(
        {"t": {"a": "INTEGER"}, ("other", "T"): {"a": "VARCHAR"}, "u": {"a": "DATE"}}
    )
    cell = Cell(type="INTEGER", text="1")
    assert line(stored("a", ("main", "t")), cell, True, 0, (), None, schema) == (
        "main.t.a = 1 in result row 1"
    )
    one = line(
        calculated("COUNT(*)", ("other", "T")),
        cell,
        True,
        0,
        (key("a", "VARCHAR", "x"),),
        None,
        schema,
    )
    assert one == "COUNT(*) of other.T = 1 for other.T.a = 'x'"
    read = parse(one, schema)
    assert read is not None
    assert read.label.table == ("other", "T")
    assert line(calculated("COUNT(*)", ("main", "u")), cell, True, 0, (), None, schema) == (
        "COUNT(*) of u = 1"
    )


# --- filters ------------------------------------------------------------------------------------

FILTERS: dict[str, Predicate] = {
    "flights.month = 1": JANUARY,
    f"flights.month <> 1{NOTE}": number("month", "<>", "1"),
    "flights.share >= -.05": number("share", ">=", "-.05", "DECIMAL(2,2)"),
    "flights.cancelled = FALSE": number("cancelled", "=", "false", "BOOLEAN"),
    "flights.carrier = 'it''s'": number("carrier", "=", "it's", "VARCHAR"),
    "flights.hour < '2013-01-02 00:00:00'": number("hour", "<", "2013-01-02 00:00:00", "TIMESTAMP"),
    "flights.month < flights.day": ColumnComparison(column="month", operator="<", other="day"),
    f"flights.month <> flights.day{NOTE}": ColumnComparison(
        column="month", operator="<>", other="day"
    ),
    "flights.carrier IN ('AA', 'B6')": InList(
        column="carrier",
        values=(Value(type="VARCHAR", text="AA"), Value(type="VARCHAR", text="B6")),
    ),
    f"NOT (flights.month IN (1){NOTE})": Negation(
        member=InList(column="month", values=(Value(type="INTEGER", text="1"),))
    ),
    "flights.tailnum IS NULL": IsNull(column="tailnum"),
    f"NOT (flights.tailnum IS NULL{NOTE})": Negation(member=IsNull(column="tailnum")),
    "flights.carrier LIKE 'x%'": Like(column="carrier", pattern="x%", fold=False),
    f"NOT (flights.carrier ILIKE '_\\\\'{NOTE})": Negation(
        member=Like(column="carrier", pattern="_\\", fold=True)
    ),
    "flights.cancelled": Truth(column="cancelled"),
    f"NOT (flights.cancelled{NOTE})": Negation(member=Truth(column="cancelled")),
    "(flights.month = 1) AND (flights.day = 2)": both(JANUARY, number("day", "=", "2")),
    "(flights.month = 1) OR (flights.day = 2)": one_of(JANUARY, number("day", "=", "2")),
    "((flights.month = 1) OR (flights.day = 2)) AND (flights.cancelled)": both(
        one_of(JANUARY, number("day", "=", "2")), Truth(column="cancelled")
    ),
    # The note would be false: a row with day = 2 counts, whatever its month.
    "(flights.month <> 1) OR (flights.day = 2)": one_of(
        number("month", "<>", "1"), number("day", "=", "2")
    ),
    f"(flights.month <> 1{NOTE}) OR (flights.month = 2)": one_of(
        number("month", "<>", "1"), number("month", "=", "2")
    ),
    "(flights.month <> 1) OR (flights.month IS NULL)": one_of(
        number("month", "<>", "1"), IsNull(column="month")
    ),
    f"(flights.month <> 1{NOTE}) AND (flights.day = 2)": both(
        number("month", "<>", "1"), number("day", "=", "2")
    ),
    f"NOT ((flights.month = 1{NOTE}) OR (flights.day = 2{NOTE}))": neither(
        JANUARY, number("day", "=", "2")
    ),
    "NOT ((flights.month = 1) AND (flights.day = 2))": Negation(
        member=both(JANUARY, number("day", "=", "2"))
    ),
    f"NOT (NOT (flights.month = 1{NOTE}))": Negation(member=Negation(member=JANUARY)),
    # Only one of the two columns is excluded when NULL, so `it` would be wrong.
    "((flights.month <> flights.day) OR (flights.day = 1)) AND (flights.distance = 1)": both(
        one_of(
            ColumnComparison(column="month", operator="<>", other="day"), number("day", "=", "1")
        ),
        number("distance", "=", "1", "BIGINT"),
    ),
}


@pytest.mark.parametrize("written", FILTERS)
def test_a_filter_looks_as_published_and_reads_back(written: str) -> None:
    predicate = FILTERS[written]
    assert filter_text(predicate, TABLE, FLIGHTS) == written
    read = parse(f"COUNT(*) of flights = 1 where {written}", FLIGHTS)
    assert read is not None
    assert read.predicate == predicate


def nested(depth: int) -> Predicate:
    predicate: Predicate = JANUARY
    for _ in range(depth):
        predicate = Negation(member=predicate)
    return predicate


def test_a_filter_that_is_too_deep_or_not_statable_is_not_written() -> None:
    assert filter_text(nested(FILTER_DEPTH_MAX - 1), TABLE, FLIGHTS) is not None
    assert filter_text(nested(FILTER_DEPTH_MAX), TABLE, FLIGHTS) is None
    assert filter_text(nested(20_000), TABLE, FLIGHTS) is None
    unknown = Unstatable(reason=Reason.FILTER_NOT_STATABLE)
    assert filter_text(unknown, TABLE, FLIGHTS) is None
    assert filter_text(neither(number("month", "<>", "1"), unknown), TABLE, FLIGHTS) is None


def test_nothing_is_shortened() -> None:
    prefix = len("flights.carrier = '' in result row 1")
    for length, there in ((LINE_MAX - prefix, True), (LINE_MAX - prefix + 1, False)):
        cell = Cell(type="VARCHAR", text="x" * length)
        text = line(stored("carrier"), cell, True, 0, (), None, FLIGHTS)
        assert (text is not None) is there
        if text is not None:
            assert len(text) == LINE_MAX


# --- what is not a line -------------------------------------------------------------------------

DEEP = "NOT (" * FILTER_DEPTH_MAX + f"flights.month = 1{NOTE}" + ")" * FILTER_DEPTH_MAX


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flights",
        "flights.carrier",
        "flights.carrier = 'AA'",
        "flights.carrier = AA in result row 3",
        "flights.carrier = 3 in result row 3",
        "flights.carrier = TRUE in result row 3",
        "flights.month = '3' in result row 3",
        "flights.carrier ≈ 'AA' in result row 3",
        "flights.carrier = 'AA' in result row 0",
        "flights.carrier = 'AA' in result row 03",
        "flights.carrier = 'AA' in result row 3 ",
        "flights.carrier = 'AA' in result row 3 where flights.month = 1",
        " flights.carrier = 'AA' in result row 3",
        "Flights.carrier = 'AA' in result row 3",
        "flights.Carrier = 'AA' in result row 3",
        "main.flights.carrier = 'AA' in result row 3",
        "\"flights\".carrier = 'AA' in result row 3",
        "flights.profit = 'AA' in result row 3",
        "planes.carrier = 'AA' in result row 3",
        "flights.carrier = '\\u{41}' in result row 3",
        "flights.carrier = '\\u{0a}' in result row 3",
        "flights.carrier = '\\u{110000}' in result row 3",
        "flights.carrier = '\\x' in result row 3",
        "flights.carrier = 'a\nb' in result row 3",
        "flights.carrier = 'a  b' in result row 3",
        "flights.carrier = 'a''' b' in result row 3",
        "sum(flights.distance) = 1",
        "SUM(flights.distance = 1",
        "SUM(flights.distance) == 1",
        "SUM(flights.distance) =",
        "SUM(flights.distance) = 1 (text order)",
        "MAX(flights.tailnum) = 'N9EAMQ'",
        "COUNT(*) of flights.month = 1",
        "COUNT(*) of planes = 1",
        "COUNT(*) of flights = 1 for flights.carrier",
        "COUNT(*) of flights = 1 for planes.carrier = 'UA'",
        "COUNT(*) of flights = 1 for airlines.carrier = 'UA'",
        "COUNT(*) of flights = 1 for flights.carrier = 'UA' and flights.month = 1",
        "COUNT(*) of flights = 1 where",
        "COUNT(*) of flights = 1 where (flights.month = 1)",
        "COUNT(*) of flights = 1 where (flights.month = 1) AND flights.day = 1",
        "COUNT(*) of flights = 1 where (flights.month = 1) AND (flights.day = 1",
        "COUNT(*) of flights = 1 where (flights.month = 1) AND (flights.day = 1) OR (flights.day = 2)",
        "COUNT(*) of flights = 1 where flights.month IN ()",
        "COUNT(*) of flights = 1 where flights.month IN (1,2)",
        "COUNT(*) of flights = 1 where flights.month <> 1",
        f"COUNT(*) of flights = 1 where flights.month = 1{NOTE}",
        "COUNT(*) of flights = 1 where flights.carrier LIKE 1",
        "COUNT(*) of flights = 1 where flights.month is null",
        f"COUNT(*) of flights = 1 where {DEEP}",
        "COUNT(*) of flights = 1 where " + "(" * 1_900,
        "COUNT(*) of flights = " + "1" * LINE_MAX,
    ],
)
def test_what_line_does_not_write_is_not_read(text: str) -> None:
    assert parse(text, FLIGHTS) is None


def test_every_one_character_edit_of_a_line_is_another_line_or_none() -> None:
    text, fact = LINES["text order, grouped, filtered"]
    assert text is not None
    original = parse(text, FLIGHTS)
    for place in range(len(text)):
        for edited in (text[:place] + text[place + 1 :], text[:place] + "'" + text[place:]):
            assert edited == text or parse(edited, FLIGHTS) != original
    assert fact[0] == calculated("MIN(tailnum)")


# --- characters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("", True),
        ("UA", True),
        (" a b ", True),
        ("ä" * EXACT_TEXT_MAX, True),
        ("a" * (EXACT_TEXT_MAX + 1), False),
        ("a  b", False),
        ("a\tb", False),
        ("ä\u00a0", False),
        ("a\u200b", False),
        ("a\u0301", True),
        ("½", False),
        ("٣", True),
        ("\ue000", False),
    ],
)
def test_exact_texts(text: str, exact: bool) -> None:
    assert exact_text(text) is exact


@pytest.mark.parametrize(
    ("base", "text", "bare"),
    [
        ("BIGINT", "-9223372036854775808", True),
        ("UHUGEINT", "1", True),
        ("DECIMAL(38,10)", "1.5000000000", True),
        ("DECIMAL(1,1)", ".5", True),
        ("DOUBLE", "5e-324", True),
        ("FLOAT", "1e+30", True),
        ("DOUBLE", "nan", False),
        ("DOUBLE", "-nan", False),
        ("FLOAT", "-inf", False),
        ("DOUBLE", "1.", False),
        ("INTEGER", "١", False),
        ("INTEGER", "1\n", False),
        ("INTEGER", "", False),
        ("BOOLEAN", "true", True),
        ("BOOLEAN", "TRUE", False),
        ("VARCHAR", "1", False),
        ("UUID", "1", False),
        ("BLOB", "1", False),
    ],
)
def test_bare_values(base: str, text: str, bare: bool) -> None:
    assert is_bare(base, text) is bare


# --- any names, any values ----------------------------------------------------------------------

KINDS = ("INTEGER", "DECIMAL(9,2)", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "UUID", "ENUM")
WORDS = ("TRUE", "NULL", "in", "result", "for", "where", "NOT", "SUM", "COUNT", "of", "row", "IS")
names = st.one_of(
    st.sampled_from(WORDS), st.text(max_size=6), st.text("ab .'\"\\u{20}", max_size=8)
)
texts = st.one_of(
    st.text(max_size=10),
    st.text("ab .'\"\\u{20}\n", max_size=12),
    st.sampled_from(("1", "-1.5", ".5", "1e+20", "true", "false", "TRUE", "nan", "infinity", "")),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    paths = draw(
        st.lists(
            st.tuples(st.one_of(st.just("main"), names), names),
            min_size=1,
            max_size=3,
            unique_by=lambda path: (path[0].lower(), path[1].lower()),
        )
    )
    columns = st.lists(names, min_size=1, max_size=4, unique_by=str.lower)
    return Schema.of(
        {path: {name: draw(st.sampled_from(KINDS)) for name in draw(columns)} for path in paths}
    )


@st.composite
def facts(draw: st.DrawFn) -> tuple[Schema, Line, str]:
    schema = draw(schemas())
    table = draw(st.sampled_from(schema.tables))
    column = draw(st.sampled_from(table.columns))
    calculation = draw(st.sampled_from((None, "SUM", "AVG", "MIN", "MAX", "COUNT", "COUNT(*)")))
    native = calculation in (None, "MIN", "MAX")
    base = column.type if native else draw(st.sampled_from(("HUGEINT", "DOUBLE", "DECIMAL(38,2)")))
    cells = st.sampled_from(table.columns).flatmap(
        lambda c: st.builds(lambda text: key(c.name, c.type, text), st.one_of(st.none(), texts))
    )
    label = Label.model_validate(
        {
            "kind": "column" if calculation is None else "aggregate",
            "table": table.path,
            "column": None if calculation == "COUNT(*)" else column.name,
            "calculation": "COUNT" if calculation == "COUNT(*)" else calculation,
        }
    )
    if calculation is None:
        row = draw(st.integers(0, 60))
        return schema, Line(label, draw(texts), True, row, (), None), base
    group = tuple(draw(st.lists(cells, max_size=3)))
    predicate = draw(st.one_of(st.none(), predicates([(c.name, c.type) for c in table.columns])))
    return schema, Line(label, draw(texts), draw(st.booleans()), None, group, predicate), base


def atoms(columns: list[tuple[str, str]]) -> st.SearchStrategy[Predicate]:
    def of(column: tuple[str, str]) -> st.SearchStrategy[Predicate]:
        name, kind = column
        values = st.builds(lambda text: Value(type=kind, text=text), texts)
        operators: st.SearchStrategy[Operator] = st.sampled_from(("=", "<>", "<", "<=", ">", ">="))
        return st.one_of(
            st.builds(lambda o, v: Comparison(column=name, operator=o, value=v), operators, values),
            st.builds(
                lambda o, other: ColumnComparison(column=name, operator=o, other=other),
                operators,
                st.sampled_from([c for c, _ in columns]),
            ),
            st.builds(
                lambda v: InList(column=name, values=tuple(v)),
                st.lists(values, min_size=1, max_size=3),
            ),
            st.just(IsNull(column=name)),
            st.builds(lambda p, f: Like(column=name, pattern=p, fold=f), texts, st.booleans()),
            st.just(Truth(column=name)),
        )

    return st.sampled_from(columns).flatmap(of)


def predicates(columns: list[tuple[str, str]]) -> st.SearchStrategy[Predicate]:
    return st.recursive(
        atoms(columns),
        lambda inner: st.one_of(
            st.builds(lambda member: Negation(member=member), inner),
            st.builds(
                lambda kind, members: Connective(kind=kind, members=tuple(members)),
                st.sampled_from(("and", "or")),
                st.lists(inner, min_size=2, max_size=3),
            ),
        ),
        max_leaves=6,
    )


@given(facts())
@settings(max_examples=200, deadline=None)
def test_whatever_the_names_and_values_a_line_is_clean_and_reads_back(
    fact: tuple[Schema, Line, str],
) -> None:
    schema, expected, base = fact
    text = line(
        expected.label,
        Cell(type=base, text=expected.value),
        expected.exact,
        expected.row or 0,
        expected.group,
        expected.predicate,
        schema,
    )
    if text is None:
        return
    assert len(text) <= LINE_MAX
    assert all(character == " " or is_shown(character) for character in text)
    assert text == " ".join(text.split(" "))
    assert "  " not in text
    assert not text.startswith(" ")
    assert not text.endswith(" ")
    assert parse(text, schema) == expected
    in_order = expected.label.calculation in ("MIN", "MAX") and type_class(base) == "text"
    assert (TEXT_ORDER in text) or not in_order


@given(st.text(max_size=200), schemas())
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_without_an_error(text: str, schema: Schema) -> None:
    parse(text, schema)
    parse(f"COUNT(*) of t = 1 where {text}", Schema.of({"t": {"a": "INTEGER"}}))


# --- the note, by brute force -------------------------------------------------------------------

COLUMNS = [("month", "INTEGER"), ("day", "INTEGER"), ("distance", "BIGINT")]
Truth3 = bool | None


def leaves(predicate: Predicate, negated: bool = False) -> Iterator[tuple[Predicate, bool]]:
    if isinstance(predicate, Negation):
        yield from leaves(predicate.member, True)
    elif isinstance(predicate, Connective):
        for member in predicate.members:
            yield from leaves(member, negated)
    else:
        yield predicate, negated


def named(atom: Predicate) -> set[str]:
    return {getattr(atom, "column", ""), getattr(atom, "other", "")} - {""}


def evaluate(predicate: Predicate, values: Iterator[Truth3]) -> Truth3:
    """SQL's three-valued logic; the atoms' values come in order of writing."""
    if isinstance(predicate, Negation):
        inner = evaluate(predicate.member, values)
        return None if inner is None else not inner
    if isinstance(predicate, Connective):
        each = [evaluate(member, values) for member in predicate.members]
        decisive = predicate.kind == "or"
        return decisive if decisive in each else None if None in each else not decisive
    return next(values)


def note_is_true(whole: Predicate, column: str) -> bool:
    choices: list[tuple[Truth3, ...]] = []
    for atom, _ in leaves(whole):
        if column in named(atom):
            choices.append((True,) if isinstance(atom, IsNull) else (None,))
        else:
            choices.append((True, False) if isinstance(atom, IsNull) else (True, False, None))
    return all(evaluate(whole, iter(values)) is not True for values in itertools.product(*choices))


@pytest.mark.long
@given(predicates(COLUMNS))
@settings(max_examples=150, deadline=None)
def test_the_note_stands_exactly_where_it_is_true(whole: Predicate) -> None:
    text = filter_text(whole, TABLE, FLIGHTS)
    assert text is not None
    place = 0
    for atom, negated in leaves(whole):
        bare = filter_text(atom, TABLE, FLIGHTS)
        assert bare is not None
        bare = bare.removesuffix(NOTE)
        place = text.index(bare, place) + len(bare)
        wanted = negated or getattr(atom, "operator", "") == "<>"
        true = all(note_is_true(whole, column) for column in named(atom))
        assert text.startswith(NOTE, place) is (wanted and true)

"""Which literals denote exactly one value of a column's type (specification 2, the table under WHERE)."""

from decimal import Decimal

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eligibility.sql.literal import DECIMAL_DIGITS_MAX, canonical_number, exact, fits, keeps_column
from eligibility.sql.schema import Column
from eligibility.sql.types import FLOAT_DIGITS, INTEGER_RANGES, decimal_size

INTEGERS = tuple(INTEGER_RANGES)
STAMPS = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS")
ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
UUID = "550e8400-e29b-41d4-a716-446655440000"


def column(kind: str) -> Column:
    members = ("sad", "ok", "") if kind == "ENUM" else None
    return Column(name="c", type=kind, members=members)


# (type, form, text, canonical text)
EXACT = [
    ("VARCHAR", "text", "", ""),
    ("VARCHAR", "text", "it's \\ \" é 中 😀 a\u0301", "it's \\ \" é 中 😀 a\u0301"),
    ("VARCHAR", "text", " a b ", " a b "),
    ("VARCHAR", "text", "x" * 64, "x" * 64),
    ("VARCHAR", "text", "1.0", "1.0"),
    ("BOOLEAN", "boolean", "true", "true"),
    ("BOOLEAN", "boolean", "false", "false"),
    ("TINYINT", "number", "-128", "-128"),
    ("TINYINT", "text", "127", "127"),
    ("TINYINT", "number", "1.000", "1"),
    ("TINYINT", "number", "-0", "0"),
    ("INTEGER", "text", "-0.0", "0"),
    ("HUGEINT", "number", str(-(2**127)), str(-(2**127))),
    ("UHUGEINT", "text", str(2**128 - 1), str(2**128 - 1)),
    ("UBIGINT", "number", "0", "0"),
    ("UBIGINT", "number", "-0.0", "0"),
    ("UBIGINT", "text", "-0", "0"),
    ("DECIMAL(4,1)", "number", "999.9", "999.9"),
    ("DECIMAL(4,1)", "text", "-1.50", "-1.5"),
    ("DECIMAL(4,1)", "number", "7", "7"),
    ("DECIMAL(2,2)", "number", "0.25", "0.25"),
    ("DECIMAL(38,0)", "number", "9" * 38, "9" * 38),
    ("DECIMAL(38,38)", "text", "0." + "1" * 38, "0." + "1" * 38),
    ("DOUBLE", "number", "0.1", "0.1"),
    ("DOUBLE", "number", "-123456789012345", "-123456789012345"),
    ("DOUBLE", "number", "0.000123456789012345", "0.000123456789012345"),
    ("DOUBLE", "number", "123456789012345000", "123456789012345000"),
    ("DOUBLE", "number", "1e3", "1000"),
    ("DOUBLE", "number", "-2.50E-2", "-0.025"),
    ("DOUBLE", "number", "-0.0", "0"),
    ("DOUBLE", "number", "0e999", "0"),
    ("FLOAT", "number", "16777.2", "16777.2"),
    ("FLOAT", "number", "0.100000", "0.1"),
    ("DATE", "text", "0001-01-01", "0001-01-01"),
    ("DATE", "DATE", "2024-02-29", "2024-02-29"),
    *[(kind, "text", "2024-02-29", "2024-02-29 00:00:00") for kind in STAMPS],
    *[(kind, "DATE", "2024-02-29", "2024-02-29 00:00:00") for kind in STAMPS],
    *[(kind, "TIMESTAMP", "2024-02-29 23:59:59.0", "2024-02-29 23:59:59") for kind in STAMPS],
    ("TIMESTAMP_MS", "TIMESTAMP_MS", "2024-02-29 00:00:00.125", "2024-02-29 00:00:00.125"),
    ("TIMESTAMP", "text", "9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"),
    ("TIMESTAMP_NS", "text", "2024-02-29 00:00:00.123456789", "2024-02-29 00:00:00.123456789"),
    ("TIMESTAMP_NS", "TIMESTAMP_NS", "1678-01-01", "1678-01-01 00:00:00"),
    (ZONED[0], "text", "2024-02-29 23:30:00.50-01", "2024-03-01 00:30:00.5+00"),
    (ZONED[0], "text", "2024-01-01 00:00:00+05:30", "2023-12-31 18:30:00+00"),
    (ZONED[0], "text", "2024-01-01 00:00:00-1530", "2024-01-01 15:30:00+00"),
    (ZONED[0], ZONED[0], "2024-01-01 00:00:00Z", "2024-01-01 00:00:00+00"),
    (ZONED[1], "text", "2024-01-01 00:00:00.123456789+00", "2024-01-01 00:00:00.123456789+00"),
    ("TIME", "text", "00:00:00", "00:00:00"),
    ("TIME", "TIME", "23:59:59.999990", "23:59:59.99999"),
    ("TIME_NS", "text", "01:02:03.123456789", "01:02:03.123456789"),
    ("ENUM", "text", "ok", "ok"),
    ("ENUM", "text", "", ""),
    ("UUID", "text", UUID, UUID),
    ("UUID", "UUID", UUID, UUID),
]
# type: (form, text) …
NOT_EXACT = {
    "VARCHAR": [
        ("text", "x" * 65), ("text", "a  b"), ("text", "a\nb"), ("text", "a\tb"),
        ("text", "a\u00a0b"), ("text", "\u200b"), ("text", "\u202e"), ("text", "\u00ad"),
        ("text", "\u3164"), ("text", "\ufe0f"), ("text", "\U000e0041"), ("text", "\x7f"),
        ("text", "\ue000"), ("text", "\u0378"), ("text", "²"), ("text", "Ⅷ"), ("text", "\u2028"),
        ("number", "1"), ("boolean", "true"), ("DATE", "2024-01-01"), ("VARCHAR", "a"),
    ],
    "BOOLEAN": [("text", "true"), ("number", "1"), ("text", "t")],
    "TINYINT": [
        ("number", "128"), ("number", "-129"), ("number", "1.5"), ("text", "1.4"), ("number", "1e0"),
        ("text", " 1"), ("text", "1 "), ("text", "+1"), ("text", "01"), ("text", "0x1"),
        ("text", "1_0"), ("text", ""), ("text", "-"), ("text", "."), ("number", "1."),
        ("number", ".5"), ("text", "١"), ("text", "²"), ("boolean", "true"), ("number", "9" * 50),
        ("text", "1\n"), ("DATE", "1"),
    ],
    "UTINYINT": [("number", "-1"), ("number", "256"), ("text", "-0.0")],
    "UHUGEINT": [("number", str(2**128)), ("number", "-1")],
    "HUGEINT": [("number", str(2**127)), ("number", str(-(2**127) - 1))],
    "DECIMAL(4,1)": [
        ("number", "1.27"), ("text", "1.27"), ("number", "1000"), ("number", "-1000.0"),
        ("number", "1e1"), ("text", "nan"), ("number", "9" * 39),
    ],
    "DECIMAL(2,2)": [("number", "1"), ("number", "0.255")],
    "DOUBLE": [
        ("text", "0.1"), ("number", "1234567890123456"), ("number", "0.1000000000000001"),
        ("number", "1e308"), ("number", "1e-308"), ("number", "1e9999"), ("number", "1" + "0" * 38),
        ("number", "0." + "0" * 38 + "1"), ("text", "nan"), ("number", ".5"), ("number", "01"),
        ("boolean", "true"),
    ],
    "FLOAT": [
        ("number", "1234567"), ("number", "0.1000001"), ("number", "1e3"), ("text", "1"),
        ("number", "1" + "0" * 38), ("number", "0." + "0" * 37 + "1"),
    ],
    "DATE": [
        ("text", "2023-02-29"), ("text", "2024-1-1"), ("text", "0000-01-01"), ("text", "10000-01-01"),
        ("text", "2024-01-01 "), ("text", "2024-01-01 00:00:00"), ("text", "infinity"),
        ("text", "2024/01/01"), ("text", "20240101"), ("text", "2024-13-01"), ("text", "2024-01-32"),
        ("text", "٢٠٢٤-01-01"), ("DATE", "2024-01-01 23:59:59"), ("TIMESTAMP", "2024-01-01"),
        ("number", "20240101"), ("text", "-001-01-01"), ("text", "2024-01-01\n"),
    ],
    "TIMESTAMP": [
        ("text", "2024-01-01 24:00:00"), ("text", "2024-01-01 00:00:60"), ("text", "2024-01-01 0:00:00"),
        ("text", "2024-01-01T00:00:00"), ("text", "2024-01-01 00:00"), ("text", "2024-01-01 00:00:00."),
        ("text", "2024-01-01 00:00:00.1234567"), ("text", "2024-01-01 00:00:00+00"),
        ("text", "2024-01-01 00:00:00Z"), ("text", "2024-01-01  00:00:00"), ("text", "2024-02-30"),
        ("text", "infinity"), ("DATE", "2024-01-01 00:00:00"), (ZONED[0], "2024-01-01 00:00:00+00"),
        ("TIMESTAMP_NS", "2024-01-01"), ("text", "2024-01-01 00:00:00\n"), ("text", "2024-01-01 "),
    ],
    "TIMESTAMP_S": [("text", "2024-01-01 00:00:00.5"), ("TIMESTAMP", "2024-01-01 00:00:00.5")],
    "TIMESTAMP_NS": [
        ("TIMESTAMP", "2024-01-01 00:00:00.1234567"), ("text", "1677-12-31"), ("text", "2262-01-01"),
        ("text", "2024-01-01 00:00:00.1234567891"),
    ],
    ZONED[0]: [
        ("text", "2024-01-01"), ("text", "2024-01-01 00:00:00"), ("DATE", "2024-01-01"),
        ("TIMESTAMP", "2024-01-01 00:00:00+00"), ("text", "2024-01-01 00:00:00 +00"),
        ("text", "2024-01-01 00:00:00+16"), ("text", "2024-01-01 00:00:00+5"),
        ("text", "2024-01-01 00:00:00+05:60"), ("text", "2024-01-01 00:00:00 UTC"),
        ("text", "0001-01-01 00:00:00+01"), ("text", "9999-12-31 23:59:59-00:01"),
        ("text", "2024-01-01 00:00:00z"), ("text", "2024-01-01 00:00:00+00:00:00"),
    ],
    ZONED[1]: [("text", "1677-12-31 00:00:00+00"), ("TIMESTAMP_NS", "2024-01-01 00:00:00+00")],
    "TIME": [
        ("text", "24:00:00"), ("text", "1:00:00"), ("text", "12:30"), ("text", "12:30:00.1234567"),
        ("text", "12:30:00+00"), ("TIMESTAMP", "12:30:00"), ("text", "12:60:00"), ("text", "12:30:61"),
    ],
    "TIME_NS": [("TIME", "12:30:00"), ("text", "12:30:00.1234567891")],
    "ENUM": [("text", "okay"), ("text", "OK"), ("number", "1"), ("ENUM", "ok")],
    "UUID": [
        ("text", UUID.upper()), ("text", "{" + UUID + "}"), ("text", UUID.replace("-", "")),
        ("text", UUID[:-1]), ("VARCHAR", UUID),
    ],
    "INTERVAL": [("text", "1 day")],
    "TIME WITH TIME ZONE": [("text", "12:30:00+00")],
    "BLOB": [("text", "a")],
    "JSON": [("text", "1")],
    "INTEGER[]": [("text", "[1]")],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "form", "text", "canonical"), EXACT)
def test_exact(kind, form, text, canonical):
    assert exact(column(kind), form, text) == canonical


@pytest.mark.parametrize(
    ("kind", "form", "text"),
    [(kind, form, text) for kind, literals in NOT_EXACT.items() for form, text in literals],
)
def test_not_exact(kind, form, text):
    assert exact(column(kind), form, text) is None


def test_an_enum_without_members_has_none():
    assert exact(Column(name="c", type="ENUM"), "text", "ok") is None


FORMS = ["text", "number", "boolean", "DATE", "TIME", "UUID", *STAMPS, *ZONED]
TYPES = [
    "VARCHAR", "BOOLEAN", *INTEGERS, "DECIMAL(4,1)", "DECIMAL(38,10)", "DOUBLE", "FLOAT", "DATE",
    "TIME", "TIME_NS", *STAMPS, *ZONED, "ENUM", "UUID", "INTERVAL", "BLOB", "NONSENSE",
]  # fmt: skip


@given(
    st.sampled_from(TYPES),
    st.sampled_from(FORMS),
    st.text() | st.text(alphabet="0123456789-+:. eE'Zx", max_size=40),
)
def test_total_and_a_canonical_text_is_its_own(kind, form, text):
    found = exact(column(kind), form, text)
    if found is not None:
        # What is printed in a line is exact again, and stands for itself (literal L2).
        again = "boolean" if kind == "BOOLEAN" else "number" if kind in FLOAT_DIGITS else "text"
        if kind not in FLOAT_DIGITS or len(found.strip("-0.")) <= 38:
            assert exact(column(kind), again, found) in (found, None)
            assert exact(column(kind), again, found) == found or kind in FLOAT_DIGITS


# --- what the engine makes of them --------------------------------------------------------------


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as made:
        made.execute("SET TimeZone = 'UTC'; CREATE TYPE mood AS ENUM ('sad', 'ok', '')")
        yield made


def sql(form: str, text: str) -> str:
    quoted = "'" + text.replace("'", "''") + "'"
    if form in ("number", "boolean"):
        return text
    return quoted if form == "text" else f"CAST({quoted} AS {form})"


@pytest.mark.parametrize(("kind", "form", "text", "canonical"), EXACT)
def test_the_engine_casts_it_to_that_very_value(connection, kind, form, text, canonical):
    kind = "mood" if kind == "ENUM" else kind
    literal = sql(form, text)
    found, same, value = connection.execute(
        f"""SELECT typeof(a), a = b, CAST(a AS VARCHAR)
            FROM (SELECT CAST({literal} AS {kind}) AS a, CAST(? AS {kind}) AS b)""",
        [canonical],
    ).fetchone()
    assert same, (found, value)
    if kind not in FLOAT_DIGITS and not kind.startswith("DECIMAL"):
        assert value == canonical


@given(
    st.sampled_from([*INTEGERS, "DECIMAL(4,1)", "DECIMAL(18,0)", "DECIMAL(38,37)"]),
    st.from_regex(r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,39})?", fullmatch=True),
)
def test_what_fits_needs_no_rounding(connection, kind, numeral):
    value = Decimal(numeral)
    query = f"SELECT CAST(TRY_CAST(? AS {kind}) AS VARCHAR)"
    (text,) = connection.execute(query, [numeral]).fetchone()
    # The engine gives NULL where the number is out of range, and another one where it rounds.
    kept = text is not None and Decimal(text) == value
    assert (exact(column(kind), "text", numeral) is not None) is kept
    assert fits(kind, value) or not kept


def test_a_type_that_holds_no_numbers_fits_none():
    assert not fits("VARCHAR", Decimal(1))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("-0.00", "0"), ("1E+3", "1000"), ("1.50", "1.5"), ("100", "100"), ("1E-3", "0.001")],
)
def test_canonical_number(text, canonical):
    assert canonical_number(Decimal(text)) == canonical


# --- what a bare numeral does to the column -----------------------------------------------------

KEEPS = [
    ("VARCHAR", ["1e5"], True),
    ("DOUBLE", ["1" * 50], True),
    ("INTEGER", [], True),
    ("INTEGER", ["1", "-5", "9" * 38], True),
    ("INTEGER", ["1.5"], True),
    ("INTEGER", ["1." + "0" * 27], True),
    ("INTEGER", ["1." + "0" * 29], False),
    ("BIGINT", ["5." + "0" * 19], True),
    ("BIGINT", ["5." + "0" * 20], False),
    ("HUGEINT", ["1.0"], False),
    ("UHUGEINT", ["1"], True),
    ("TINYINT", ["1e0"], False),
    ("TINYINT", ["1."], False),
    ("DECIMAL(38,0)", ["1"], True),
    ("DECIMAL(38,0)", ["0.5"], False),
    ("DECIMAL(18,3)", ["1", "0." + "0" * 23], True),
    ("DECIMAL(18,3)", ["1", "0." + "0" * 24], False),
    ("DECIMAL(4,1)", ["2147483648"], True),
    ("DECIMAL(20,19)", ["9223372036854775807"], True),
    ("DECIMAL(21,20)", ["9223372036854775807"], False),
    ("DECIMAL(10,1)", ["9223372036854775808"], False),
    ("DECIMAL(38,38)", ["0." + "1" * 38], False),
    ("DECIMAL(38,38)", ["0." + "1" * 39], False),
    ("DECIMAL(10,2)", ["1.5", "1" * 5000], False),
]


@pytest.mark.parametrize(("kind", "numerals", "kept"), KEEPS)
def test_keeps_column(kind, numerals, kept):
    assert keeps_column(column(kind), numerals) is kept


@given(
    st.sampled_from(
        [*INTEGERS, "DECIMAL(4,1)", "DECIMAL(18,0)", "DECIMAL(38,10)", "DECIMAL(38,37)"]
    ),
    st.from_regex(r"(0|[1-9][0-9]{0,30})(\.[0-9]{1,38})?", fullmatch=True),
)
def test_where_it_says_so_the_engine_keeps_the_column(connection, kind, numeral):
    if keeps_column(column(kind), [numeral]):
        (common,) = connection.execute(
            f"SELECT typeof(coalesce(CAST(NULL AS {kind}), {numeral}))"
        ).fetchone()
        for end in ends(kind):
            (kept,) = connection.execute(
                f"SELECT CAST(CAST(CAST(? AS {kind}) AS {common}) AS VARCHAR)", [end]
            ).fetchone()
            assert Decimal(kept) == Decimal(end), common


def ends(kind: str) -> tuple[str, str]:
    """Give the smallest and the largest value of an integer or decimal type."""
    if kind in INTEGER_RANGES:
        low, high = INTEGER_RANGES[kind]
        return str(low), str(high)
    size = decimal_size(kind)
    assert size is not None
    nines = "9" * (size[0] - size[1]) + "." + "9" * size[1]
    return f"-{nines}", nines


def test_a_decimal_of_the_engine_has_38_digits():
    assert DECIMAL_DIGITS_MAX == 38

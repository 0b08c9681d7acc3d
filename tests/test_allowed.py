"""What the specification allows is released: grids of allowed statements, none of them refused.

The counterpart of the soundness campaign. Every statement here is put together from parts that
section 2 of the specification lists, read by both readings over a real engine, and has to be eligible in
every output.
"""

from collections.abc import Iterator
from itertools import product

import pytest

from eligibility import classify
from tests.engine import Engine

_WHOLE = ("0", "1", "-1", "100", "'1'", "'-1'", "1.0", "'1.0'")
_DAY = ("'2020-01-01'", "DATE '2020-01-01'", "CAST('2020-01-01' AS DATE)", "'2020-01-01'::DATE")
_SECOND = ("'2020-01-01 10:00:00'", "TIMESTAMP '2020-01-01 10:00:00'", "DATE '2020-01-01'")
# Exact literals for each type, by specification 2.
LITERALS: dict[str, tuple[str, ...]] = {
    "TINYINT": (*_WHOLE, "127", "-128"),
    "SMALLINT": (*_WHOLE, "32767"),
    "INTEGER": (*_WHOLE, "2147483647", "-2147483648"),
    "BIGINT": (*_WHOLE, "9223372036854775807", "'-9223372036854775808'"),
    "HUGEINT": ("0", "-1", "'1'", "170141183460469231731687303715884105727"),
    "UTINYINT": ("0", "255", "'1'"),
    "USMALLINT": ("0", "65535"),
    "UINTEGER": ("0", "4294967295"),
    "UBIGINT": ("0", "18446744073709551615"),
    "UHUGEINT": ("0", "18446744073709551616", "'340282366920938463463374607431768211455'"),
    "DECIMAL(4,1)": ("0", "-1", "1.5", "1.50", "'-1.5'", "999.9", "999"),
    "DECIMAL(18,2)": ("0", "19.99", "'19.99'", "9999999999999999.99", "1000000"),
    "DECIMAL(38,10)": ("0", "0.0000000001", "1234567890.0123456789"),
    "FLOAT": ("0", "-1", "0.1", "123456", "0.000001", "1000000"),
    "DOUBLE": ("0", "-1.25", "0.1", "3.0", "123456789012345", "0.000001", "100000000000000000000"),
    "VARCHAR": (
        "''",
        "'x'",
        "'a b'",
        "'it''s'",
        "'ä'",
        "'日本'",
        "'50%'",
        "'a_b'",
        f"'{'x' * 64}'",
    ),
    "BOOLEAN": ("TRUE", "FALSE", "true"),
    "DATE": (*_DAY, "'0001-01-01'", "'9999-12-31'"),
    "TIME": ("'12:00:00'", "'12:00:00.5'", "TIME '23:59:59.999999'"),
    "TIMESTAMP": (*_SECOND, *_DAY, "'2020-01-01 10:00:00.123456'", "'2020-01-01'::TIMESTAMP"),
    "TIMESTAMP_S": _SECOND,
    "TIMESTAMP_MS": (*_SECOND, "'2020-01-01 10:00:00.123'"),
    "TIMESTAMP_NS": (*_SECOND, "'2020-01-01 10:00:00.123456789'"),
    "TIMESTAMPTZ": (
        *("'2020-01-01 10:00:00+00'", "'2020-01-01 10:00:00.5-05:30'"),
        *("TIMESTAMPTZ '2020-01-01 10:00:00+02'", "'2020-01-01 10:00:00+02'::TIMESTAMPTZ"),
    ),
    "ENUM('a', 'b c', 'it''s')": ("'a'", "'b c'", "'it''s'"),
    "UUID": tuple(f"{form}'00000000-0000-4000-8000-000000000001'" for form in ("", "UUID ")),
}
ONLY_EQUAL = ("ENUM", "UUID")
EQUAL = (
    "{c} = {l}",
    "{l} <> {c}",
    "{c} IN ({l})",
    "{c} NOT IN ({l}, {m})",
    "NOT ({c} == {l} OR b)",
)
ORDERED = (
    *("{c} < {l}", "{l} <= {c}", "{c} BETWEEN {m} AND {l}", "{c} NOT BETWEEN {l} AND {m}"),
    *("({c} >= {l}) AND n = 1 AND (b OR {c} > {m})", "{c} BETWEEN {m} AND {l} AND s LIKE 'a%'"),
)
OTHERS = (
    *("c0 IS NULL", "NOT (iv IS NOT NULL)", "b", "NOT b AND b", "n = n2"),
    *("n BETWEEN n2 AND 5", "s < s2", "s LIKE '%it''s_'", "s NOT ILIKE 'a%'", "NOT s ILIKE ''"),
)
TABLE = ", ".join(f"c{place} {kind}" for place, kind in enumerate(LITERALS))
BESIDE = "b BOOLEAN, n INTEGER, n2 INTEGER, s VARCHAR, s2 VARCHAR, x DOUBLE, iv INTERVAL"


def conditions() -> Iterator[str]:
    for place, (kind, literals) in enumerate(LITERALS.items()):
        forms = EQUAL if kind.startswith(ONLY_EQUAL) else (*EQUAL, *ORDERED)
        for literal, form in product(literals, forms):
            yield form.format(c=f"c{place}", l=literal, m=literals[0])
    yield from OTHERS


SOURCES = ("t", "main.t", "snapshot.main.t", "T", '"t"', "`t`", "t AS x", 'main.t "X y"')
WHERES = ("", "WHERE n > 5", "WHERE s IN ('a', 'b') AND NOT b")
# Opaque, so that only direct columns may stand beside it.
OPAQUE = (
    *("lower(s) = 'a'", "n % 2 = 0 OR x::INTEGER = 3", "CASE WHEN b THEN n ELSE 0 END = 1", "TRUE"),
    *(
        "s SIMILAR TO 'a'",
        "b IS TRUE",
        "(n, x) = (1, 2)",
        "COALESCE(n, 0) = 0",
        "s LIKE 'a' ESCAPE '!'",
    ),
    *("n IS DISTINCT FROM 2", "list_contains([1, 2], n)", "s[1:2] = 'ab'", "n // 2 + 1 > n2 - 1"),
    *(
        "c17 > current_date - INTERVAL 1 DAY",
        "EXTRACT(year FROM c17) = 2020",
        "c19::DATE = '2020-01-01'",
    ),
)
GROUPED = ("s, COUNT(*)", "COUNT(n) AS s2, s AS k", "s, SUM(n), AVG(x) a, MIN(c17), MAX(s2), s")
KEYS = ("s", "ALL", "t.s", '"S", s')
TAILS = (
    *("", "ORDER BY COUNT(*) DESC NULLS LAST, s", "HAVING SUM(n) > 10 AND s LIKE 'a%' LIMIT 5"),
    *("ORDER BY SUM(n) / COUNT(*) OFFSET 2", "ORDER BY ALL -- end"),
    *("FETCH FIRST 5 ROWS ONLY", "LIMIT 5 OFFSET 2;", "ORDER BY 2 /* two */ ;;"),
)
PLAIN = (
    *("SELECT * FROM {}", "FROM {}", "FROM {} SELECT s", "SELECT n: s, n AS s, s FROM {}"),
    *(
        "SELECT DISTINCT s, n FROM {} ORDER BY s",
        "SELECT s, FROM {} ORDER BY n + x, random() LIMIT 3",
    ),
    *("SELECT COUNT(*), COUNT(s) FROM {}", "SELECT MAX(n) FROM {} HAVING COUNT(*) > 1"),
)


def statements() -> Iterator[str]:
    yield from (form.format(source) for source, form in product(SOURCES, PLAIN))
    yield from (
        f"SELECT s, n FROM t WHERE {where} ORDER BY CASE WHEN b THEN 0 ELSE n END"
        for where in OPAQUE
    )
    for outputs, where, key, tail in product(GROUPED, WHERES, KEYS, TAILS):
        yield f"SELECT {outputs} FROM t {where} GROUP BY {key} {tail}"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine([f"CREATE TABLE t ({TABLE}, {BESIDE})"])
    yield made
    made.close()


def refused(engine: Engine, written: list[str]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for statement in written:
        reading = engine.read(statement)
        assert reading != "failed", statement
        verdicts = classify(statement, engine.schema, reading)
        why = verdicts.reasons or [output.reasons for output in verdicts.outputs]
        if {output.label is None for output in verdicts.outputs} != {False}:
            found.append((statement, why))
    return found


@pytest.mark.long
def test_no_aggregate_over_a_stated_filter_is_refused(engine):
    written = [f"SELECT COUNT(*) FROM t WHERE {condition}" for condition in conditions()]
    assert len(written) > 1_000
    assert refused(engine, written) == []


def test_no_allowed_form_of_a_statement_is_refused(engine):
    written = list(statements())
    assert len(written) > 350
    assert refused(engine, written) == []

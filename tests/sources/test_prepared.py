"""A prepared table: over tables of the same call, sealed, steady, recorded."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import preview
from eligibility.sql.manifest import Prepared
from tests.pinned import csv, refused, rows_of, source_of

ORDERS = pa.table({"id": [1, 2, 3], "customer": [1, 1, 2], "amount": [1.5, 2.5, 3.5]})
CUSTOMERS = pa.table({"customer": [1, 2], "name": ["Ann", "Bo"]})
WIDE = """
SELECT o.id, c.name, o.amount -- the wide table
FROM orders o JOIN customers c USING (customer) ORDER BY o.id DESC;
"""


def pinned(
    tmp_path: Path, statement: str | bytes, folder: str = "out", **more: Any
) -> preview.Snapshot:
    (tmp_path / "wide.sql").write_bytes(
        statement if isinstance(statement, bytes) else statement.encode()
    )
    sources: dict[Any, Any] = {
        "orders": ORDERS,
        "customers": CUSTOMERS,
        ("s", "deep"): ORDERS,
        "wide": f"@{tmp_path / 'wide.sql'}",
        **more,
    }
    return preview.pin(sources, into=tmp_path / folder)


def test_its_rows_text_and_what_it_read_are_recorded(tmp_path):
    made = pinned(tmp_path, WIDE)
    assert rows_of(made, "FROM wide") == [(3, "Bo", 3.5), (2, "Ann", 2.5), (1, "Ann", 1.5)]
    source = source_of(made, "wide")
    pins = {pin.path: pin for pin in made.pins}
    assert source.format == "prepared"
    assert source.origin.statement == WIDE
    assert source.origin.statement_sha256 == hashlib.sha256(WIDE.encode()).hexdigest()
    assert source.files[0].sha256 == source.origin.statement_sha256
    assert source.origin.reads == tuple(
        Prepared(path=path, content_sha256=pins[path].content_sha256)
        for path in (("main", "customers"), ("main", "orders"))
    )


def test_it_is_the_same_again_and_is_a_table_like_any_other(tmp_path):
    query = "SELECT customer, sum(amount) AS total, count(*) AS n FROM s.deep GROUP BY customer"
    first, second = pinned(tmp_path, query), pinned(tmp_path, query, "again")
    assert first.id == second.id
    with preview.Recorder(first) as recorder:
        observation = recorder.capture("SELECT SUM(total) AS x FROM wide")
    assert [cell.text for cell in observation.rows[0]] == ["7.5"]


def test_schemas_named_as_the_engines_own_do_not_lead_elsewhere(tmp_path):
    more: Any = {(schema, "t"): ORDERS for schema in ("memory", "snapshot", "system", "temp")}
    made = preview.pin(
        {**more, "orders": ORDERS, "wide": f"@{csv(tmp_path / 'w.sql', 'FROM orders LIMIT 1')}"},
        into=tmp_path / "out",
    )
    assert rows_of(made, "FROM main.wide") == [(1, 1, 1.5)]


def test_its_rows_keep_the_order_of_many(tmp_path):
    many = pa.table({"n": pa.array(range(400_000), pa.int64())})
    query = "SELECT n, n % 7 AS m FROM many WHERE n % 3 = 0"
    made = pinned(tmp_path, query, many=many)
    assert rows_of(made, "SELECT count(*) FROM wide WHERE n <> rowid * 3") == [(0,)]


REFUSED = {
    "SELECT now() AS n FROM orders": "now",
    "SELECT current_date AS d": "current_date",
    "SELECT random() AS r FROM orders": "random",
    "SELECT * FROM orders ORDER BY uuid()": "uuid",
    "SELECT age(TIMESTAMP '2020-01-01') AS a": "age",
    "FROM orders USING SAMPLE 1": "sample",
    "FROM orders TABLESAMPLE 10%": "sample",
    "FROM read_csv('{}')": "engine-refused",
    "FROM '{}'": "engine-refused",
    "SELECT * FROM duckdb_tables()": "engine-refused",
    "SELECT * FROM information_schema.tables": "engine-refused",
    "SELECT getenv('HOME') AS h": "engine-refused",
    "SELECT 1 AS a; SELECT 2 AS a": "several-statements",
    "CREATE TABLE x (a INTEGER)": "not-a-select",
    "COPY orders TO '{}'": "not-a-select",
    "DESCRIBE orders": "not-a-select",
    "PIVOT orders ON customer USING sum(amount)": "not-a-select",
    "SELECT 1 AS a, 2 AS A": "columns 1 and 2",
    "FROM nowhere": "does not exist",
    "FROM wide": "does not exist",
    "selec": "not-sql",
    "": "no-statement",
    "SELECT 'x'::INTEGER AS i FROM orders": "ConversionException",
    "SELECT error(name) AS e FROM customers": "InvalidInputException",
    b"SELECT '\xff' AS a": "UTF-8",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_not_one_steady_query_of_these_tables_is_refused(statement, tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text("a\n1\n")
    made = statement
    if isinstance(statement, str):
        made = statement.replace("{}", str(outside))
    with pytest.raises(preview.SourceError, match=REFUSED[statement]) as caught:
        pinned(tmp_path, made)
    assert "Ann" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", ["another", "zebra"])
def test_one_reads_no_other(other, tmp_path):
    (tmp_path / "other.sql").write_text("FROM orders")
    with pytest.raises(preview.SourceError, match=other):
        pinned(tmp_path, f"FROM {other}", **{other: f"@{tmp_path / 'other.sql'}"})


def test_a_missing_file_is_an_error(tmp_path):
    assert "there is no such file" in refused(f"@{tmp_path / 'none.sql'}", tmp_path)

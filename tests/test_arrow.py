"""An observation as a typed table: every value comes back as the engine's own text."""

import random
import struct
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import preview
from eligibility.sql.observation import Cell, Engine, EngineReading, Observation, OutputColumn
from preview.duckdb import capture as captures

Texts = list[str | None]


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def observed(columns: list[tuple[str, str, Texts]]) -> Observation:
    """Make an observation of columns, each (name, type, texts)."""
    rows = zip(*(texts for _, _, texts in columns), strict=True)
    kinds = [kind for _, kind, _ in columns]
    return Observation.sealed(
        statement="SELECT 1",
        statement_sha256="0" * 64,
        snapshot="0" * 64,
        manifest_sha256="0" * 64,
        pins=(),
        engine=Engine(name="duckdb", version=duckdb.__version__, settings=()),
        reading=EngineReading(shape=None, reasons=(), plan_sha256="0" * 64),
        columns=tuple(
            OutputColumn(position=place, name=name, type=kind)
            for place, (name, kind, _) in enumerate(columns)
        ),
        rows=tuple(
            tuple(Cell(type=kind, text=text) for kind, text in zip(kinds, row, strict=True))
            for row in rows
        ),
        truncated=None,
        captured_at="2026-01-01T00:00:00.000000Z",
    )


def written(engine: duckdb.DuckDBPyConnection, array: Any) -> Texts:
    """Let the engine write an Arrow array as text."""
    if pa.types.is_decimal256(array.type):  # which the engine does not read
        return list(array.cast(pa.string()).to_pylist())
    engine.register("given", pa.table({"x": array}))
    return [row[0] for row in engine.execute("SELECT x::VARCHAR FROM given").fetchall()]


def kinds(engine: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, Texts]]:
    described = engine.execute("SELECT * FROM test_all_types()").description
    rows = engine.execute("SELECT COLUMNS(*)::VARCHAR FROM test_all_types()").fetchall()
    for place, column in enumerate(described):
        yield column[0], captures._base(column[1]), [row[place] for row in rows]


def test_every_type_of_the_engine_comes_back(engine):
    seen = set()
    for name, kind, texts in kinds(engine):
        for kept in (texts, texts[:1], texts[1:2], texts[2:]):
            table = preview.to_arrow(observed([(name, kind, kept)]))
            assert written(engine, table[name]) == kept, name
        seen.add(kind)
    assert len(seen) > 40


@pytest.mark.parametrize(
    ("kind", "text", "to"),
    [
        ("BOOLEAN", "true", pa.bool_()),
        ("TINYINT", "-128", pa.int8()),
        ("UBIGINT", str(2**64 - 1), pa.uint64()),
        ("HUGEINT", str(-(2**127)), pa.decimal256(39, 0)),
        ("UHUGEINT", str(2**128 - 1), pa.decimal256(39, 0)),
        ("DECIMAL(38,0)", "9" * 38, pa.decimal128(38, 0)),
        ("DECIMAL(38,38)", "-." + "1" * 38, pa.decimal128(38, 38)),
        ("DECIMAL(4,1)", "-0.5", pa.decimal128(4, 1)),
        ("FLOAT", "0.1", pa.float32()),
        ("DOUBLE", "-0.0", pa.float64()),
        ("DOUBLE", "nan", pa.float64()),
        ("DOUBLE", "-inf", pa.float64()),
        ("DATE", "2020-02-29", pa.date32()),
        ("TIME", "12:34:56.000001", pa.time64("us")),
        ("TIME_NS", "12:34:56.000000001", pa.time64("ns")),
        ("TIMESTAMP", "2020-02-29 12:34:56.789", pa.timestamp("us")),
        ("TIMESTAMP_S", "2020-02-29 12:34:56", pa.timestamp("s")),
        ("TIMESTAMP_NS", "2020-02-29 12:34:56.000000001", pa.timestamp("ns")),
        ("TIMESTAMP WITH TIME ZONE", "2020-02-29 12:34:56+00", pa.timestamp("us", "UTC")),
        ("UUID", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", pa.uuid()),
        ("BLOB", "\\xAA\\x00b\\x5C", pa.binary()),
        ("VARCHAR", "a\0é👩‍👩‍👧", pa.string()),
    ],
)
def test_a_value_keeps_its_type_and_every_digit(engine, kind, text, to):
    column = preview.to_arrow(observed([("v", kind, [text, None])]))["v"]
    assert column.type == to
    assert written(engine, column.combine_chunks()) == [text, None]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("DATE", "infinity"),
        ("DATE", "0044-03-15 (BC)"),
        ("DATE", "12345-01-01"),
        ("TIME", "24:00:00"),
        ("TIMESTAMP", "-infinity"),
        ("TIMESTAMP", "20000-01-01 00:00:00"),
        ("INTERVAL", "1 month 00:00:00.5"),
        ("TIME WITH TIME ZONE", "12:00:00+05:30"),
        ("BIT", "0101"),
        ("LIST", "[1, NULL]"),
        ("TYPE OF TOMORROW", "?"),
        ("INTEGER", "not a number"),
        ("NULL", "not null"),
        ("UUID", "not an identifier"),
    ],
)
def test_what_arrow_cannot_hold_stays_text(kind, text):
    column = preview.to_arrow(observed([("v", kind, [None, text])]))["v"]
    assert column.type == pa.string()
    assert column.to_pylist() == [None, text]


@pytest.mark.parametrize(("kind", "form"), [("DOUBLE", "d"), ("FLOAT", "f")])
def test_floats_come_back_to_the_last_digit(engine, kind, form):
    drawn = random.Random(11)
    values = [struct.unpack(form, drawn.randbytes(struct.calcsize(form)))[0] for _ in range(20_000)]
    rows = engine.execute(f"SELECT unnest(?::{kind}[])::VARCHAR", [values]).fetchall()
    texts = [row[0] for row in rows]
    for start in range(0, len(texts), 50):
        kept = texts[start : start + 50]
        column = preview.to_arrow(observed([("v", kind, kept)]))["v"]
        assert pa.types.is_floating(column.type)
        assert written(engine, column.combine_chunks()) == kept


def test_names_repeat_and_types_are_told():
    table = preview.to_arrow(observed([("a", "INTEGER", ["1"]), ("a", "BIT", ["01"])]))
    assert table.column_names == ["a", "a"]
    assert [field.metadata[b"type"] for field in table.schema] == [b"INTEGER", b"BIT"]


def test_no_rows_are_a_typed_table():
    table = preview.to_arrow(observed([("a", "INTEGER", []), ("b", "NULL", [])]))
    assert (table.num_rows, table.schema.types) == (0, [pa.int32(), pa.null()])

"""The content hash: different for different values, and for nothing else."""

import hashlib
import struct
import threading

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from preview import content_hash
from tests.pinned import (
    VALUES,
    split,
)

# Every type that DuckDB 2.0.1 lists, less TYPE, which no table can hold.
SPELLED = {"ARRAY", "LIST", "DECIMAL", "ENUM", "MAP", "NULL", "STRUCT", "TUPLE", "UNION"}


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect(config=content_hash.ARROW_SETTINGS) as connection:
        connection.execute("SET TimeZone = 'UTC'").fetchall()
        yield connection


def content(connection: duckdb.DuckDBPyConnection, kind: str, values: list[str]) -> str:
    """Make a table of some values, and hash it."""
    connection.execute(f"CREATE OR REPLACE TABLE hashed (x {kind})").fetchall()
    for value in values:
        connection.execute(f"INSERT INTO hashed VALUES ({value})").fetchall()
    return hashed(connection)


def hashed(
    connection: duckdb.DuckDBPyConnection,
    *,
    table: str = "hashed",
    name: str = '"x"',
    workers: int = 1,
) -> str:
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    types = connection.sql(f"FROM {table}").types
    return content_hash.content_sha256(
        connection, table, [(name, types[0])], rows, workers=workers, progress=lambda _: None
    )


def test_every_type_of_the_engine_has_values_here(engine):
    listed = engine.execute(
        "SELECT DISTINCT logical_type FROM system.main.duckdb_types() WHERE logical_type <> 'TYPE'"
    ).fetchall()
    assert {kind for (kind,) in listed} - SPELLED <= VALUES.keys()
    assert len(VALUES) > 45


@pytest.mark.parametrize("kind", VALUES)
def test_different_values_have_different_hashes(kind, engine):
    values = [*split(VALUES[kind]), "NULL"]
    cast = [f"CAST({value} AS {kind})" if kind != '"NULL"' else value for value in values]
    digests = [content(engine, kind, [value]) for value in cast]
    assert len(set(digests)) == len(cast)
    # The same values again, over a file and other chunks, and with NULL in the way.
    whole = content(engine, kind, cast)
    engine.execute("CREATE OR REPLACE TABLE copy AS FROM hashed").fetchall()
    engine.execute("CREATE OR REPLACE TABLE hashed AS FROM copy").fetchall()
    assert hashed(engine) == whole
    assert content(engine, kind, cast[::-1]) != whole or len(cast) == 1


def test_what_arrow_leaves_open_does_not_count(engine):
    """Slots under NULL, padding bits and offsets are brought to one form."""

    def digest(array: pa.Array) -> bytes:
        made = hashlib.sha256()
        content_hash._feed(made, array)
        return made.digest()

    valid = pa.py_buffer(b"\x05")
    dirty = pa.py_buffer(b"\xf5")  # the same three bits, and others after them
    for width, kind in ((1, pa.int8()), (8, pa.float64()), (16, pa.decimal128(20, 2))):
        clean = b"\x01" * width + bytes(width) + b"\x02" * width
        filth = b"\x01" * width + b"\xee" * width + b"\x02" * width + b"\x07" * 64
        one = pa.Array.from_buffers(kind, 3, [valid, pa.py_buffer(clean)])
        other = pa.Array.from_buffers(kind, 3, [dirty, pa.py_buffer(filth)])
        assert digest(one) == digest(other)
    one = pa.Array.from_buffers(
        pa.large_string(),
        3,
        [valid, pa.py_buffer(struct.pack("<4q", 0, 1, 1, 2)), pa.py_buffer(b"ab")],
    )
    other = pa.Array.from_buffers(
        pa.large_string(),
        3,
        [dirty, pa.py_buffer(struct.pack("<4q", 2, 3, 6, 7)), pa.py_buffer(b"__azzzb__")],
    )
    assert digest(one) == digest(other) == digest(other.slice(0, 3))
    assert digest(one) != digest(one.slice(1))
    lists = pa.LargeListArray.from_arrays(
        pa.array([0, 1, 3, 4], pa.int64()),
        pa.array([1, 8, 9, 2], pa.int32()),
        mask=pa.array([False, True, False]),
    )
    assert digest(lists) == digest(pa.array([[1], None, [2]], pa.large_list(pa.int32())))
    structs = pa.StructArray.from_arrays(
        [pa.array([1, 7, 2])], ["a"], mask=pa.array([False, True, False])
    )
    assert digest(structs) == digest(
        pa.array([{"a": 1}, None, {"a": 2}], pa.struct({"a": pa.int64()}))
    )


def test_slices_threads_and_reads_do_not_count(engine, monkeypatch):
    rows = 2 * content_hash.READ_ROWS + content_hash.SLICE_ROWS + 7
    engine.execute(
        "CREATE OR REPLACE TABLE hashed AS SELECT CASE WHEN range % 5 > 0 THEN 'v' || range END "
        f"AS x FROM range({rows})"
    ).fetchall()
    digests = {hashed(engine, workers=workers) for workers in (1, 2, 3)}
    monkeypatch.setattr(content_hash, "READ_BYTES_MAX", 1)
    digests.add(hashed(engine))
    # A column that hides the row number is read in another way.
    engine.execute("ALTER TABLE hashed RENAME x TO RowId").fetchall()
    digests.add(hashed(engine, name='"RowId"'))
    assert len(digests) == 1
    for change in ("x = 'z' WHERE rowid = 0", f"x = NULL WHERE rowid = {rows - 1}"):
        engine.execute("ALTER TABLE hashed RENAME RowId TO x").fetchall()
        engine.execute(f"UPDATE hashed SET {change}").fetchall()
        digests.add(hashed(engine))
        engine.execute("ALTER TABLE hashed RENAME x TO RowId").fetchall()
    assert len(digests) == 3


def test_types_are_content(engine):
    same_bits = {
        "INTEGER": "1",
        "DATE": "'1970-01-02'",
        "FLOAT": "1.401298464324817e-45",
        "UINTEGER": "1",
    }
    digests = {content(engine, kind, [f"{value}::{kind}"]) for kind, value in same_bits.items()}
    digests |= {content(engine, f"ENUM('a', '{name}')", [f"'{name}'"]) for name in "xy"}
    digests |= {content(engine, kind, []) for kind in ("VARCHAR", "BLOB", "JSON")}
    assert len(digests) == 9


def test_a_fault_while_hashing_ends_every_worker(engine):
    engine.execute(
        "CREATE OR REPLACE TABLE hashed AS SELECT range AS x FROM range(1000)"
    ).fetchall()
    kind = engine.sql("FROM hashed").types[0]
    with pytest.raises(duckdb.Error):
        content_hash.content_sha256(
            engine, "hashed", [('"gone"', kind)], 1000, workers=2, progress=lambda _: None
        )
    with pytest.raises(duckdb.Error):
        content_hash.content_sha256(
            engine, "hashed", [('"x"', kind)], 1001, workers=2, progress=lambda _: None
        )


def test_neither_the_time_zone_nor_the_storage_counts(engine, tmp_path):
    rows = """
        SELECT {'i': INTERVAL 1 DAY, 't': TIMESTAMPTZ '2020-01-01 00:00:00+00'} AS x FROM range(10)
    """
    engine.execute(f"CREATE OR REPLACE TABLE hashed AS {rows}").fetchall()
    here = hashed(engine)
    engine.execute("SET GLOBAL TimeZone = 'America/New_York'").fetchall()
    assert hashed(engine) == here
    engine.execute("RESET GLOBAL TimeZone").fetchall()
    # A VARIANT of many rows is stored in shreds.
    rows = "SELECT {'b': range, 'a': 'v' || range % 7}::VARIANT AS x FROM range(31_000)"
    engine.execute(f"CREATE OR REPLACE TABLE hashed AS {rows}").fetchall()
    here = hashed(engine)
    engine.execute(f"ATTACH '{tmp_path / 'v.duckdb'}' AS v").fetchall()
    engine.execute("CREATE TABLE v.hashed AS FROM hashed; CHECKPOINT v; DETACH v").fetchall()
    engine.execute(f"ATTACH '{tmp_path / 'v.duckdb'}' AS v (READ_ONLY)").fetchall()
    assert hashed(engine, table="v.hashed") == here
    engine.execute("DETACH v").fetchall()


def test_a_variant_counts_as_what_it_holds(engine, tmp_path):
    """Its keys may be stored in any order, and beside what it was taken from."""
    value = "{'b': 1, 'a': 'x', 'c': [1, 2]}"
    one = content(engine, "VARIANT", [f"{value}::VARIANT"])
    inner = f"variant_extract({{'z': {value}, 'y': 5}}::VARIANT, 'z')"
    assert content(engine, "VARIANT", [inner]) == one
    engine.execute(f"COPY hashed TO '{tmp_path / 'v.parquet'}'").fetchall()
    engine.execute(f"CREATE OR REPLACE TABLE hashed AS FROM '{tmp_path / 'v.parquet'}'").fetchall()
    assert hashed(engine) == one
    assert content(engine, "VARIANT", [f"{value.replace('1', '3')}::VARIANT"]) != one


def test_the_other_workers_end_soon_after_a_fault(engine, monkeypatch):
    parts = []
    interrupted = threading.Event()

    def slow(part: pa.Table, plain: int) -> list[bytes]:
        parts.append(part)
        interrupted.wait()
        return [b""]

    def end(done: int) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(content_hash, "READ_BYTES_MAX", 1)
    monkeypatch.setattr(content_hash, "_digests", slow)
    rows = 20 * content_hash.SLICE_ROWS
    engine.execute(f"CREATE OR REPLACE TABLE hashed AS SELECT range AS x FROM range({rows})")
    engine.complete()
    with pytest.raises(KeyboardInterrupt):
        content_hash.content_sha256(
            engine,
            "hashed",
            [("x", engine.sql("FROM hashed").types[0])],
            rows,
            workers=2,
            progress=end,
        )
    assert len(parts) <= 4


HOLDING = {
    "struct": "{'i': INTERVAL 1 DAY, 'a': d}",
    "tuple": "row(INTERVAL 1 DAY, d)",
    "list": "[{'i': INTERVAL 1 DAY, 'a': 1.5}, {'i': INTERVAL 1 DAY, 'a': d}]",
    "array": "array_value({'i': INTERVAL 1 DAY, 'a': d})",
    "map": "map {INTERVAL 1 DAY: d}",
    "key": "map {d: INTERVAL 1 DAY}",
    "union": "union_value(k := {'i': INTERVAL 1 DAY, 'a': [[d]]})",
    "quoted": """{'i': INTERVAL 1 DAY, 'it''s "so"': union_value("it's" := d)}""",
    "variant": "d::VARIANT",
    "variant in a struct": "{'v': d::VARIANT}",
}
NANS = {
    "DOUBLE": (
        np.uint64,
        np.float64,
        (0x7FF8 << 48, 0xFFF8 << 48, 0x7FF8 << 48 | 1, 0x7FF0 << 48 | 1),
    ),
    "FLOAT": (np.uint32, np.float32, (0x7FC00000, 0xFFC00000, 0x7FC00001, 0x7F800001)),
}

KEPT_SHA256 = "728d77f4bbaa56e00a891c78c277b6bce65ab5e599944bebff3bd66c0fed3549"


@pytest.mark.parametrize("kind", NANS)
@pytest.mark.parametrize("holding", HOLDING)
def test_a_nan_keeps_its_payload_beside_what_arrow_does_not_carry(engine, kind, holding):
    bits, floats, nans = NANS[kind]
    found = set()
    for nan in nans:
        values = pa.table({"d": np.array([nan, nan], bits).view(floats), "n": [0, 1]})
        engine.register("given", values)
        engine.execute(
            f"CREATE OR REPLACE TABLE hashed AS SELECT CASE n WHEN 0 THEN {HOLDING[holding]} END AS x "
            "FROM given ORDER BY n"
        ).fetchall()
        found.add(hashed(engine))
    engine.unregister("given")
    assert len(found) == len(nans)


def test_what_has_a_text_is_hashed_as_before(engine):
    """Snapshots keep their ids: only a NaN that no text denotes adds something."""
    kind = "STRUCT(i INTERVAL, a DOUBLE)"
    rows = ["{'i': INTERVAL 1 DAY, 'a': 'nan'}", "{'i': INTERVAL 2 DAY, 'a': '-nan'}", "NULL"]
    assert content(engine, kind, [f"{row}::{kind}" for row in rows]) == KEPT_SHA256

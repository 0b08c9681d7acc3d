"""Sources: what they are, that nothing in them is altered, and that a bad one is named."""

import gzip
import json
import os
import struct
import zipfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import preview
from preview.sources import files as sources
from tests.pinned import (
    csv,
    database,
    pin_one,
    refused,
    rows_of,
    types_of,
)

# --- CSV and JSON -------------------------------------------------------------------------------


LATE = {
    "1.5": ("1", "DECIMAL(18,1)"),
    "007": ("1", "VARCHAR"),
    "123456789012345678901": ("1", "HUGEINT"),
    "2020-01-02 03:04:05": ("2020-01-01", "VARCHAR"),
    "x": ("true", "VARCHAR"),
    '"quoted, text"': ("plain", "VARCHAR"),
}


@pytest.mark.parametrize("late", LATE)
def test_types_are_found_from_every_row(late, tmp_path):
    """A sample would end before the last row, and DuckDB would round it to the sample's type."""
    early, kind = LATE[late]
    path = csv(tmp_path / "late.csv", "a,b\n" + f"{early},2\n" * 30_000 + f"{late},3\n")
    made = pin_one(path, tmp_path)
    assert types_of(made)["a"] == kind
    text = rows_of(made, "SELECT CAST(a AS VARCHAR) FROM t WHERE b = 3")[0][0]
    assert text == late.strip('"')


def test_json_types_are_found_from_every_row(tmp_path):
    path = tmp_path / "late.ndjson"
    path.write_text('{"a": 1}\n' * 30_000 + '{"a": 1.5, "b": "late"}\n')
    made = pin_one(path, tmp_path)
    assert types_of(made) == {"a": "DECIMAL(18,1)", "b": "VARCHAR"}
    assert rows_of(made, "SELECT max(a) FROM t") == [(Decimal("1.5"),)]


ALTERED = [
    ("INTEGER", "1.5"),
    ("INTEGER", "1e3"),
    ("INTEGER", "0x1F"),
    ("BIGNUM", "1.5"),
    ("DECIMAL(5,2)", "1.005"),
    ("DATE", "2020-01-02 23:59:00"),
    ("DATE", "2020-01-02 junk"),
    ("DATE", "2020-01-02 BC"),
    ("TIMESTAMP", "2020-01-02 03:04:05.1234567"),
    ("TIMESTAMP", "2020-01-02 03:04:05+02"),
    ("TIMESTAMP", "2020-01-02 03:04:05 PM"),
    ("TIMESTAMP", "2020-01-02 03:04:05 America/New_York"),
    ("TIMESTAMP_S", "2020-01-02 03:04:05.9"),
    ("TIMESTAMP_NS", "2020-01-02 03:04:05.1234567891"),
    ("TIMESTAMP WITH TIME ZONE", "2020-01-02 03:04:05.1234567+02"),
    ("TIME", "03:04:05.1234567"),
    ("TIME", "2020-01-02 03:04:05"),
    ("TIME", "03:04:05Z"),
    ("TIME WITH TIME ZONE", "03:04:05.1234567+02"),
    ("INTERVAL", "0.0000001 seconds"),
    ("INTERVAL", "00:00:00.1234567"),
]
KEPT = [
    ("INTEGER", "-12", None),
    ("INTEGER", "12.00", "12"),
    ("INTEGER", "+007", "7"),
    ("BIGNUM", "123456789012345678901234567890123456789012345678901", None),
    ("DECIMAL(5,2)", "-1.2300", "-1.23"),
    ("DECIMAL(38,0)", "99999999999999999999999999999999999999", None),
    ("DATE", "2020-01-02", None),
    ("DATE", "0044-03-15 (BC)", None),
    ("DATE", "infinity", None),
    ("TIMESTAMP", "2020-01-02 03:04:05.123456000", "2020-01-02 03:04:05.123456"),
    ("TIMESTAMP", "2020-01-02", "2020-01-02 00:00:00"),
    ("TIMESTAMP_NS", "2020-01-02 03:04:05.123456789", None),
    ("TIMESTAMP WITH TIME ZONE", "2020-01-02 03:04:05.5+02", "2020-01-02 01:04:05.5+00"),
    ("TIMESTAMP WITH TIME ZONE", "2020-01-02T03:04:05Z", "2020-01-02 03:04:05+00"),
    ("TIMESTAMP WITH TIME ZONE", "2020-01-02 03:04 America/New_York", "2020-01-02 08:04:00+00"),
    ("TIMESTAMP WITH TIME ZONE", "2020-01-02 03:04:05", "2020-01-02 03:04:05+00"),
    ("TIME", "03:04", "03:04:00"),
    ("TIME WITH TIME ZONE", "03:04:05-02:30", None),
    ("INTERVAL", "1 year 2 months -3 days 04:05:06.789", None),
    ("INTERVAL", "-2562047788:00:54.775808", None),
    ("VARCHAR", "007", None),
    ("DOUBLE", "0.1", None),
    ("ENUM('a', 'it''s')", "it's", None),
    ("UUID", "00000000-0000-0000-0000-00000000000a", None),
]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_text_that_its_type_would_alter_is_refused(form, tmp_path):
    for kind, text in ALTERED:
        if form == "json" and (kind in (None, "BIGNUM") or text in ("1e3", "0x1F")):
            continue  # found to be a text there, not read, exactly 1000, no number
        if form == "csv":
            path = csv(tmp_path / "a.csv", f"a,b\n{text},1\n")
        else:
            number = kind in ("INTEGER", "DECIMAL(5,2)")
            path = tmp_path / "a.json"
            path.write_text(f'[{{"a": {text if number else json.dumps(text)}, "b": 1}}]')
        types = {"a": kind} if kind else {}
        message = refused(path, tmp_path, options=preview.ReadOptions.of(types=types))
        assert "column a" in message or form == "json", (kind, text)
        assert text not in message


@pytest.mark.parametrize(("kind", "text", "kept"), KEPT)
def test_a_text_that_is_exactly_of_its_type_is_kept(kind, text, kept, tmp_path):
    path = csv(tmp_path / "k.csv", f'a,b\n"{text}",1\n')
    made = pin_one(path, tmp_path, options=preview.ReadOptions.of(types={"a": kind}))
    assert rows_of(made, "SELECT CAST(a AS VARCHAR) FROM t") == [(kept or text,)]


# --- bad sources --------------------------------------------------------------------------------

BAD = {
    "absent.csv": (None, "no such file"),
    "absent-*.parquet": (None, "no file"),
    "absent.duckdb::t": (None, "no such file"),
    "unknown.xyz": (b"x", "kind is not known"),
    "lonely.duckdb": (b"x", "::table"),
    "no.parquet": (b"PAR1 and then something else", "damaged"),
    "no.arrow": (b"ARROW1 and then something else", "damaged"),
    "no.feather": (b"", "damaged"),
    "no.db::t": (b"SQLite format 3\0", "SQLite"),
    "no.csv.gz": (b"\x1f\x8b and then something else", "damaged"),
    "cut.csv.gz": (gzip.compress(b"a,b\n1,2\n")[:-9], "damaged"),
    "crc.csv.gz": (gzip.compress(b"a,b\n1,2\n")[:-8] + bytes(8), "damaged"),
    "no.csv.zst": (b"(\xb5/\xfd and then something else", "damaged"),
    "no.csv.zip": (b"PK and then something else", "damaged"),
    "t.parquet.gz": (gzip.compress(b"x"), "only CSV and JSON"),
    "empty.csv": (b"", "it is empty"),
    "twice.csv": (b"a,b,A\n1,2,3\n", "columns 1 and 3"),
    "latin.csv": (b"a,b\n1,\xe9\xe9\n", "not UTF-8"),
    "ragged.csv": (b"a,b\n1,2\n3,4,5\n6\n", "delimiter"),
    "twice.json": (b'[{"a": 1, "A": 2}]', "letter case"),
    "scalars.json": (b"[1, 2]", "an object should be here"),
    "cut.json": (b'[{"a": 1}, {"a": secret', "line 1, position 18"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_source_is_named_and_nothing_is_left(name, tmp_path):
    data, expected = BAD[name]
    if data is not None:
        (tmp_path / name.partition("::")[0]).write_bytes(data)
    message = refused(str(tmp_path / name), tmp_path)
    assert expected in message
    assert message.startswith(name.partition("::")[0][:6])
    assert "secret" not in message


def test_a_bad_cell_is_located_and_not_shown(tmp_path):
    path = csv(tmp_path / "cell.csv", "a,b\n1,2\nsecret,3\n")
    message = refused(path, tmp_path, options=preview.ReadOptions.of(types={"a": "INTEGER"}))
    assert "cell.csv" in message
    assert "line 3" in message
    assert "column a" in message
    assert "secret" not in message
    path = tmp_path / "cell.ndjson"
    path.write_text('{"a": 1}\n{"a": "secret"}\n')
    message = refused(path, tmp_path, options=preview.ReadOptions.of(types={"a": "INTEGER"}))
    assert "line 2" in message
    assert "secret" not in message


def test_options_that_mean_nothing_are_refused(tmp_path):
    path = csv(tmp_path / "o.csv", "a,b\n1,2\n")
    options = preview.ReadOptions.of
    assert "no column" in refused(path, tmp_path, options=options(types={"c": "INTEGER"}))
    assert "no type" in refused(path, tmp_path, options=options(types={"a": "INTEGERR"}))
    for nested in ("INTEGER[]", "STRUCT(a INTEGER)", "VARIANT"):
        assert "no text is read as" in refused(path, tmp_path, options=options(types={"a": nested}))
    table = pa.table({"a": [1]})
    assert "types of its own" in refused(table, tmp_path, options=options(types={"a": "INTEGER"}))
    assert "not pinned" in refused(path, tmp_path, options={"u": options()})
    bad_database = database(
        tmp_path / "d.duckdb",
        "CREATE TABLE t (a INTEGER, g AS (a + 1))",
        "CREATE VIEW v AS SELECT 1 AS a",
    )
    assert "g of t is generated" in refused(f"{bad_database}::t", tmp_path)
    assert "v is a view" in refused(f"{bad_database}::V", tmp_path)
    assert "no table" in refused(f"{bad_database}::w", tmp_path)
    assert "folder" in refused(tmp_path, tmp_path)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    assert "2 files" in refused(tmp_path / "two.zip", tmp_path)
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    assert "regular file" in refused(fifo, tmp_path)


ARROW = {
    "columns 1 and 2": pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]),
    "no columns": pa.table({}),
    "holds a NUL": pa.table({"a\0b": [1]}),
    "is empty": pa.table({"": [1]}),
    "decimal256": pa.table({"x": pa.array([Decimal(1)], pa.decimal256(50, 0))}),
    "damaged": pa.table(
        {
            "x": pa.Array.from_buffers(
                pa.string(),
                1,
                [None, pa.py_buffer(struct.pack("<2i", 0, 1)), pa.py_buffer(b"\xff")],
            )
        }
    ),
}


FINER = pa.array([1_000, None, 1_001], pa.duration("ns"))
FINE = pa.array([1_000, None, 2_000], pa.duration("ns"))
SPANS = pa.array([(1, 2, 3_000), None, (0, 0, -1)], pa.month_day_nano_interval())


def test_parts_of_a_microsecond_are_not_dropped(tmp_path):
    lists = [0, 1, 2, 3]
    for array in (
        FINER,
        SPANS,
        pa.StructArray.from_arrays([FINER], ["x"]),
        pa.ListArray.from_arrays(lists, FINER),
        pa.MapArray.from_arrays(lists, pa.array(["a", "b", "c"]), SPANS),
    ):
        assert "parts of a microsecond" in refused(pa.table({"x": array}), tmp_path)
    table = pa.table({"a": FINE, "b": SPANS.slice(0, 2).take(pa.array([0, 1, 0]))})
    made = pin_one(table, tmp_path)
    assert rows_of(made, "SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR) FROM t LIMIT 1") == [
        ("00:00:00.000001", "1 month 2 days 00:00:00.000003")
    ]


@pytest.mark.parametrize("expected", ARROW)
def test_a_table_in_memory_can_be_bad_too(expected, tmp_path):
    assert expected in refused(ARROW[expected], tmp_path)


def test_a_damaged_arrow_file_is_an_error(tmp_path):
    table = ARROW["damaged"]
    with pa.ipc.new_file(str(tmp_path / "bad.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert "damaged" in refused(tmp_path / "bad.arrow", tmp_path)


def test_parquet_files_read_together_have_the_same_columns(tmp_path):
    write = pa.parquet.write_table
    write(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    write(pa.table({"a": [1], "b": ["x"], "c": [2]}), tmp_path / "2.parquet")
    assert "2.parquet has other columns" in refused(f"{tmp_path}/*.parquet", tmp_path)
    csv(tmp_path / "3.csv", "a\n1\n")
    assert ".parquet" in refused(f"{tmp_path}/[13].*", tmp_path)
    nested = pa.table({"a": [{"x": 1, "y": [1]}], "x": [{"a": 1}]})
    write(nested, tmp_path / "4.parquet")
    assert list(types_of(pin_one(tmp_path / "4.parquet", tmp_path))) == ["a", "x"]


def test_a_live_database_is_refused(tmp_path):
    path = database(tmp_path / "live.duckdb", "CREATE TABLE t (a INTEGER)")
    (tmp_path / "live.duckdb.wal").write_bytes(b"x")
    assert "log" in refused(f"{path}::t", tmp_path)


def test_a_file_that_grows_while_it_is_hashed_is_an_error(tmp_path):
    path = tmp_path / "grows.csv"
    path.write_bytes(bytes(3 * 1024 * 1024))

    def grow(name: str, done: int, total: int) -> None:
        with path.open("ab") as file:
            file.write(b"x")

    with pytest.raises(preview.SourceError, match="changed"):
        sources.fingerprint(path, grow)

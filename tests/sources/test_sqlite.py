"""SQLite tables: every kind of value, by the rule or by the type that was asked for."""

import sqlite3
from pathlib import Path

import apsw
import pytest

from preview.sources.options import ReadOptions
from tests.pinned import pin_one, refused, rows_of, source_of, types_of


def made(path: Path, *statements: str, rows=(), encoding="UTF-8") -> str:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA encoding = '{encoding}'")
    for statement in statements:
        database.execute(statement)
    for row in rows:
        database.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
    database.commit()
    database.close()
    return f"{path}::t"


ROWS = [
    (1, 1.5, "x", b"\0\xff", "2020-01-01", 2, None, 1, "1"),
    (-(2**63), float("inf"), "y\0z é😀", b"", "0001-12-31", 3, None, 0, "2.50"),
    (2**63 - 1, -1e-300, "", b"'", "9999-12-31", -7, None, 1, "-3"),
    (None, None, None, None, None, None, None, None, None),
]
TYPES = {
    "a": "BIGINT",
    "b": "DOUBLE",
    "c": "VARCHAR",
    "d": "BLOB",
    "e": "DATE",
    "f": "BIGINT",
    "g": "VARCHAR",
    "h": "BIGINT",
    "i": "DECIMAL(18,2)",
}


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_every_kind_of_value_is_what_another_reader_reads(encoding, tmp_path):
    # What is declared binds no value: a DECIMAL holds integers, a DATE texts, a BOOLEAN 1 and 0.
    columns = "a INTEGER, b REAL, c TEXT, d BLOB, e DATE, f DECIMAL(10,2), g, h BOOLEAN, i TEXT"
    source = made(tmp_path / "x.db", f"CREATE TABLE t ({columns})", rows=ROWS, encoding=encoding)
    snapshot = pin_one(source, tmp_path)
    assert types_of(snapshot) == TYPES
    read = list(apsw.Connection(source.removesuffix("::t")).execute("SELECT * FROM t"))
    written = rows_of(snapshot, "FROM t")
    text = [[None if one is None else str(one) for one in row[4::4]] for row in written]
    assert [row[:4] + row[5:8] for row in written] == [row[:4] + row[5:8] for row in read]
    assert [row[0] for row in text] == [row[4] for row in read]
    assert [row[1] for row in text] == ["1.00", "2.50", "-3.00", None]
    recorded = source_of(snapshot)
    assert (recorded.format, recorded.table) == ("sqlite", "t")
    assert recorded.origin.sqlite == sqlite3.sqlite_version
    assert [(one.name, one.source_type) for one in recorded.dialect.columns] == [
        ("a", "integer"),
        ("b", "real"),
        ("d", "blob"),
        ("f", "integer"),
        ("h", "integer"),
    ]
    assert [one.name for one in recorded.dialect.texts] == ["c", "e", "g", "i"]


@pytest.mark.parametrize(
    ("values", "kinds", "option"),
    [
        ((1, "x"), "integer and text", "--type t.v=VARCHAR"),
        ((1, 1.5), "integer and real", "--type t.v=DOUBLE"),
        ((1.5, "x"), "real and text", "--type t.v=VARCHAR"),
        ((1, b"x"), "integer and blob", "a blob is no text"),
        (("x", b"x", 1), "integer and text and blob", "a blob is no text"),
    ],
)
def test_two_kinds_of_values_are_an_error_that_names_them(values, kinds, option, tmp_path):
    source = made(tmp_path / "x.sqlite", "CREATE TABLE t (v)", rows=[(one,) for one in values])
    said = refused(source, tmp_path)
    assert "column v" in said
    assert kinds in said
    assert option in said


@pytest.mark.parametrize(
    ("values", "type_", "texts", "rounded"),
    [
        ((1, "x", None, -2.5), "VARCHAR", ["1", "x", None, "-2.5"], 0),
        ((1, 1.5), "DOUBLE", ["1.0", "1.5"], 0),
        ((2**56 + 1, "0.1"), "DOUBLE", ["7.205759403792794e+16", "0.1"], 1),
        ((2, 1.25, "3.50"), "DECIMAL(10,2)", ["2.00", "1.25", "3.50"], 0),
        ((1, 0), "BOOLEAN", ["true", "false"], 0),
    ],
)
def test_a_type_that_is_asked_for_is_exact(values, type_, texts, rounded, tmp_path):
    source = made(tmp_path / "x.sqlite", "CREATE TABLE t (v)", rows=[(one,) for one in values])
    snapshot = pin_one(source, tmp_path, options=ReadOptions.of(types={"v": type_}))
    assert types_of(snapshot) == {"v": type_}
    assert rows_of(snapshot, "SELECT CAST(v AS VARCHAR) FROM t") == [(text,) for text in texts]
    (column,) = source_of(snapshot).dialect.texts
    assert column.given == ("type",)
    assert column.rounded == rounded


def test_what_is_not_exactly_of_the_type_is_an_error(tmp_path):
    source = made(tmp_path / "x.sqlite", "CREATE TABLE t (v)", rows=[(1,), ("s3cret",)])
    said = refused(source, tmp_path, options=ReadOptions.of(types={"v": "BIGINT"}))
    assert "column v" in said
    assert "s3cret" not in said
    assert "no column w" in refused(source, tmp_path, options=ReadOptions.of(types={"w": "BIGINT"}))


def test_rows_come_in_the_order_of_the_key_whatever_the_indexes(tmp_path):
    by_number = made(
        tmp_path / "a.db",
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)",
        "CREATE INDEX i ON t (v, k)",
        rows=[(3, "a"), (1, "c"), (2, "b")],
    )
    assert rows_of(pin_one(by_number, tmp_path), "SELECT k FROM t") == [(1,), (2,), (3,)]
    by_text = made(
        tmp_path / "b.db",
        "CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID",
        rows=[("b", "x"), ("a", "y")],
    )
    assert rows_of(pin_one(by_text, tmp_path), "SELECT k FROM t") == [("a",), ("b",)]


def test_a_table_of_many_batches_is_whole(tmp_path):
    rows = [(n, f"text {n}", n / 4) for n in range(8_193)]
    source = made(tmp_path / "x.db", "CREATE TABLE t (a, b, c)", rows=rows)
    assert rows_of(pin_one(source, tmp_path), "FROM t") == rows


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (("CREATE VIEW t AS SELECT 1 AS a",), "a view"),
        (("CREATE VIRTUAL TABLE t USING fts5 (a)",), "a virtual table"),
        (("CREATE TABLE t (a, b AS (a + 1))",), "column b of t is generated"),
        (("CREATE TABLE other (a)",), "no table of the name t"),
        (("CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'ff' AS TEXT))"), "not UTF-8"),
    ],
)
def test_what_is_no_stored_table_of_good_texts_is_refused(statements, said, tmp_path):
    assert said in refused(made(tmp_path / "x.sqlite", *statements), tmp_path)


def test_a_log_that_is_not_empty_is_refused(tmp_path):
    source = made(tmp_path / "x.sqlite", "CREATE TABLE t (a)", rows=[(1,)])
    writer = sqlite3.connect(tmp_path / "x.sqlite")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO t VALUES (2)")
    writer.commit()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "y.sqlite").symlink_to(tmp_path / "x.sqlite")
    for path in (source, f"{linked / 'y.sqlite'}::t"):
        assert "wal_checkpoint" in refused(path, tmp_path)
    writer.close()
    assert rows_of(pin_one(source, tmp_path), "FROM t") == [(1,), (2,)]


def test_a_damaged_database_is_an_error(tmp_path):
    source = made(tmp_path / "x.sqlite", "CREATE TABLE t (a)", rows=[("x" * 3000,)] * 20)
    file = tmp_path / "x.sqlite"
    data = file.read_bytes()
    file.write_bytes(data[:4096] + b"\x07" * 4096 + data[8192:])
    assert "damaged" in refused(source, tmp_path)


def test_many_columns_are_each_of_their_kind(tmp_path):
    columns = ", ".join(f"c{place}" for place in range(230))
    row = [(place, place / 4, f"x{place}")[place % 3] for place in range(230)]
    snapshot = pin_one(made(tmp_path / "x.db", f"CREATE TABLE t ({columns})", rows=[row]), tmp_path)
    assert list(types_of(snapshot).values())[:3] == ["BIGINT", "DOUBLE", "VARCHAR"]
    assert rows_of(snapshot, "FROM t") == [tuple(row)]


def test_what_is_no_database_is_an_error(tmp_path):
    (tmp_path / "x.sqlite").write_text("id,name\n1,Ann\n")
    said = refused(f"{tmp_path / 'x.sqlite'}::t", tmp_path)
    assert "no SQLite database" in said
    assert "x.sqlite::table" in refused(tmp_path / "x.sqlite", tmp_path)


def test_an_empty_table_is_all_text(tmp_path):
    snapshot = pin_one(made(tmp_path / "x.sqlite", "CREATE TABLE t (a INTEGER, b)"), tmp_path)
    assert types_of(snapshot) == {"a": "VARCHAR", "b": "VARCHAR"}

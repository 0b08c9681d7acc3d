"""Sources: what they are, that they are there, and that a bad one is named."""

import gzip
import os
import zipfile
from typing import Any

import pyarrow as pa
import pytest

import preview
from preview.sources import files
from tests.pinned import csv, database, refused, rows_of

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


def test_options_of_a_source_that_has_no_use_for_them_are_refused(tmp_path):
    options = preview.ReadOptions.of
    table = pa.table({"a": [1]})
    assert "types of its own" in refused(table, tmp_path, options=options(types={"a": "INTEGER"}))
    path = csv(tmp_path / "o.csv", "a,b\n1,2\n")
    assert "not pinned" in refused(path, tmp_path, options={"u": options()})
    useless = "o.csv: --records means nothing there; leave it out"
    assert refused(path, tmp_path, options=options(records="/a")) == useless
    objects = tmp_path / "o.json"
    objects.write_text('[{"a": 1}]')
    for given, flag in (
        (options(skip=1), "--skip"),
        (options(header=False), "--no-header"),
        (options(header=True), "--header"),
        (options(null="NA"), "--null"),
    ):
        assert f"{flag} means nothing there" in refused(objects, tmp_path, options=given)
    assert "--null means nothing" in refused(table, tmp_path, options=options(null="NA"))


def test_an_option_for_all_tables_needs_one_that_has_a_use_for_it(tmp_path):
    sources: dict[str | tuple[str, ...], Any] = {
        "t": csv(tmp_path / "o.csv", "a\nNA\n"),
        "u": pa.table({"a": [1]}),
    }
    given = preview.ReadOptions.of(null="NA")
    made = preview.pin(sources, into=tmp_path / "s", options=given)
    assert rows_of(made, "SELECT a FROM t") == [(None,)]
    by_table: dict[str | tuple[str, ...], preview.ReadOptions] = {
        "t": given,
        "u": preview.ReadOptions.of(skip=1),
    }
    with pytest.raises(preview.SourceError, match="--skip means nothing there"):
        preview.pin(sources, into=tmp_path / "s2", options=by_table)


def test_only_stored_tables_of_a_database_are_pinned(tmp_path):
    path = database(
        tmp_path / "d.duckdb",
        "CREATE TABLE t (a INTEGER, g AS (a + 1))",
        "CREATE VIEW v AS SELECT 1 AS a",
    )
    assert "g of t is generated" in refused(f"{path}::t", tmp_path)
    assert "v is a view" in refused(f"{path}::V", tmp_path)
    assert "no table" in refused(f"{path}::w", tmp_path)


def test_what_is_not_one_regular_file_is_refused(tmp_path):
    assert "folder" in refused(tmp_path, tmp_path)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    assert "2 files" in refused(tmp_path / "two.zip", tmp_path)
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    assert "regular file" in refused(fifo, tmp_path)


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
        files.fingerprint(path, grow)

"""Pinning: one id for one content, rows and nothing else, whole or not at all."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import preview
from preview import pinning
from preview.snapshot import CONFIG
from tests.pinned import (
    VALUES,
    csv,
    database,
    flip,
    pin_one,
    refused,
    rows_of,
    split,
    types_of,
)

ROWS = 3_000


@pytest.fixture(scope="module")
def trades():
    """A table that every format can hold: NULL, unusual text, -0.0, dates, several row groups."""
    count = range(ROWS)
    return pa.table(
        {
            "id": pa.array(count, pa.int64()),
            "name": pa.array([None if n % 7 == 0 else f'é "{n % 50}", x' for n in count]),
            "amount": pa.array([n / 8 if n else -0.0 for n in count]),
            "open": pa.array([n % 3 == 0 for n in count]),
            "day": pa.array([n % 9000 for n in count], pa.int32()).cast(pa.date32()),
            "at": pa.array([n * 1_000_003 for n in count], pa.timestamp("us")),
        }
    )


# --- one content, one id ------------------------------------------------------------------------


def test_one_id_whatever_the_format(trades, tmp_path):
    parquet = pa.parquet.write_table
    parquet(trades, tmp_path / "snappy.parquet", compression="snappy", row_group_size=500)
    parquet(trades, tmp_path / "zstd.parquet", compression="zstd", row_group_size=2_000)
    for part in range(3):
        parquet(trades.slice(part * 1_000, 1_000), tmp_path / f"part-{part}.parquet")
    pa.feather.write_feather(trades, tmp_path / "t.feather", compression="zstd", chunksize=700)
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), trades.schema) as writer:
        writer.write_table(trades, max_chunksize=900)
    db = tmp_path / "t.duckdb"
    with duckdb.connect(str(db)) as connection:
        connection.register("trades", trades)
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS FROM trades").fetchall()
        for target, form in (
            ("t.csv", "csv"),
            ("t.ndjson", "json"),
            ("t.json", "json, array true"),
        ):
            connection.execute(
                f"COPY (FROM trades) TO '{tmp_path / target}' (FORMAT {form})"
            ).fetchall()
    with (tmp_path / "t.csv").open("rb") as plain, gzip.open(tmp_path / "t.csv.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.write(tmp_path / "t.csv", "inner/t.csv")
    with pa.output_stream(str(tmp_path / "t.ndjson.zst"), compression="zstd") as packed:
        packed.write((tmp_path / "t.ndjson").read_bytes())

    chunked = pa.concat_tables([trades.slice(0, 1_300), trades.slice(1_300)])
    given = [
        "snappy.parquet",
        "zstd.parquet",
        "part-*.parquet",
        "t.feather",
        "stream.arrow",
        "t.duckdb::s.t",
        "t.csv",
        "t.csv.gz",
        "t.zip",
        "t.ndjson",
        "t.json",
        "t.ndjson.zst",
    ]
    # The engine takes a time with a fraction in JSON for text, until it is told otherwise.
    told = preview.ReadOptions.of(types={"at": "TIMESTAMP"})
    made = [
        pin_one(str(tmp_path / source), tmp_path, options=told if "json" in source else None)
        for source in given
    ]
    made += [pin_one(table, tmp_path) for table in (trades, chunked)]
    assert {one.id for one in made} == {made[0].id}
    assert made[0].pins[0].rows == ROWS
    assert types_of(made[0]) == {
        "id": "BIGINT",
        "name": "VARCHAR",
        "amount": "DOUBLE",
        "open": "BOOLEAN",
        "day": "DATE",
        "at": "TIMESTAMP",
    }
    formats = [one.manifest.sources[0].format for one in made]
    assert len(set(formats)) == 6
    assert [file.name for file in made[2].manifest.sources[0].files] == [
        "part-0.parquet",
        "part-1.parquet",
        "part-2.parquet",
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.set_column(0, "id", pa.array([*range(ROWS - 1), -1], pa.int64())),
        lambda table: table.take(pa.array([*range(1, ROWS), 0])),
        lambda table: table.slice(0, ROWS - 1),
        lambda table: table.set_column(0, "id", pa.array(range(ROWS), pa.int32())),
        lambda table: table.rename_columns(["Id", *table.column_names[1:]]),
        lambda table: table.set_column(2, "amount", pa.array([n / 8 for n in range(ROWS)])),
    ],
    ids=["value", "order", "rows", "type", "name", "minus-zero"],
)
def test_another_content_another_id(change, trades, tmp_path):
    one, other = pin_one(trades, tmp_path), pin_one(change(trades), tmp_path)
    assert one.id != other.id
    # A name is no content, but it is part of the id.
    same_content = one.pins[0].content_sha256 == other.pins[0].content_sha256
    assert same_content == ("Id" in types_of(other))


def test_the_order_of_tables_is_no_part_of_the_id(tmp_path):
    a, b = pa.table({"x": [1]}), pa.table({"y": [2]})
    one = preview.pin({"a": a, ("s", "b"): b}, into=tmp_path / "one")
    other = preview.pin({("s", "b"): b, ("main", "a"): a}, into=tmp_path / "other")
    assert one.id == other.id
    assert [pin.path for pin in one.pins] == [("main", "a"), ("s", "b")]
    found = one.schema.find(("s", "b"))
    assert found is not None
    assert found.columns == one.pins[1].columns


# --- what is pinned -----------------------------------------------------------------------------


def test_every_type_survives_pinning(tmp_path):
    columns = ", ".join(f'"{place}" {kind}' for place, kind in enumerate(VALUES))
    filled = ", ".join(
        f"CAST({split(values)[-1]} AS {kind})" if values else "NULL"
        for kind, values in VALUES.items()
    )
    path = database(
        tmp_path / "all.duckdb",
        f"CREATE TABLE t ({columns})",
        f"INSERT INTO t VALUES ({filled}), ({', '.join(['NULL'] * len(VALUES))})",
    )
    made = pin_one(f"{path}::t", tmp_path)
    assert list(types_of(made).values()) == [
        "ENUM" if kind.startswith("ENUM") else kind for kind in VALUES
    ]
    texts = ", ".join(f'CAST("{place}" AS VARCHAR)' for place in range(len(VALUES)))
    with duckdb.connect(str(path), read_only=True) as source:
        expected = source.execute(f"SELECT {texts} FROM t").fetchall()
    assert rows_of(made, f"SELECT {texts} FROM t") == expected
    assert preview.open_snapshot(made.folder) == preview.open_snapshot(str(made.folder))


def test_a_large_enum_is_recorded_once(tmp_path):
    members = [f"member {place:05}" for place in range(50_000)]
    path = database(
        tmp_path / "enum.duckdb",
        "CREATE TYPE big AS ENUM (SELECT printf('member %05d', range) FROM range(50_000))",
        "CREATE TABLE t AS SELECT printf('member %05d', range)::big AS e FROM range(50_000)",
    )
    made = pin_one(f"{path}::t", tmp_path)
    (column,) = made.pins[0].columns
    assert (column.type, column.members) == ("ENUM", tuple(members))
    assert preview.open_snapshot(made.folder).id == made.id


def test_nan_is_known_exactly(tmp_path):
    made = pin_one(
        pa.table(
            {
                "f": pa.array([1.0, float("nan")], pa.float32()),
                "d": pa.array([1.0, float("inf")]),
                "none": pa.array([None, None], pa.float64()),
                "i": [1, 2],
            }
        ),
        tmp_path,
    )
    assert [column.nan for column in made.pins[0].columns] == [True, False, False, None]


def test_a_collation_does_not_come_along(tmp_path):
    path = database(
        tmp_path / "c.duckdb",
        "CREATE TABLE base (x VARCHAR COLLATE nocase)",
        "INSERT INTO base VALUES ('a'), ('A')",
        "CREATE TABLE t AS SELECT x, {'x': x} AS s, [x] AS l FROM base",
    )
    with duckdb.connect(str(path), read_only=True) as source:
        for column in "xsl":  # where it would merge groups
            assert len(source.execute(f"SELECT {column} FROM t GROUP BY {column}").fetchall()) == 1
    made = pin_one(f"{path}::t", tmp_path)
    for column in "xsl":
        assert len(rows_of(made, f"SELECT {column} FROM t GROUP BY {column}")) == 2
    assert made.id == pin_one(f"{path}::t", tmp_path).id


def test_only_rows_come_along(tmp_path):
    path = database(
        tmp_path / "more.duckdb",
        "CREATE SEQUENCE s",
        "CREATE TABLE t (a INTEGER DEFAULT 7 NOT NULL CHECK (a > 0) PRIMARY KEY, b VARCHAR)",
        "CREATE INDEX i ON t (b)",
        "CREATE VIEW v AS FROM t",
        "CREATE MACRO count_star() AS 42",
        "CREATE MACRO isnan(x) AS true",
        "CREATE MACRO create_sort_key(x, y) AS 1",
        "CREATE MACRO duckdb_tables() AS TABLE SELECT 'source' AS database_name",
        "CREATE TABLE f (d DOUBLE, i INTERVAL)",
        "INSERT INTO t VALUES (1, 'x')",
        "INSERT INTO f VALUES (1.5, INTERVAL 1 DAY)",
    )
    made = preview.pin({"t": f"{path}::t", "f": f"{path}::main.f"}, into=tmp_path / "made")
    assert made.pins[0].columns[0].nan is False
    assert rows_of(made, "SELECT count(*) FROM t") == [(1,)]
    clean = database(
        tmp_path / "clean.duckdb",
        "CREATE TABLE t (a INTEGER, b VARCHAR)",
        "CREATE TABLE f (d DOUBLE, i INTERVAL)",
        "INSERT INTO t VALUES (1, 'x')",
        "INSERT INTO f VALUES (1.5, INTERVAL 1 DAY)",
    )
    again = preview.pin({"t": f"{clean}::t", "f": f"{clean}::f"}, into=tmp_path / "again")
    assert again.id == made.id


NAMES = [
    "x",
    "X y",
    'q"q',
    "it's",
    "sélect",
    "select",
    "rowid",
    "{0}",
    "%s",
    "🦆",
    "a.b",
    "-- c",
    "\n",
]


def test_any_name_is_a_name(tmp_path):
    table = pa.table({name: [place] for place, name in enumerate(NAMES)})
    keys = [("s " + name, name) for name in NAMES]
    made = preview.pin(dict.fromkeys(keys, table), into=tmp_path / "made")
    assert [pin.path for pin in made.pins] == sorted(keys)
    assert {tuple(column.name for column in pin.columns) for pin in made.pins} == {tuple(NAMES)}
    assert len({pin.content_sha256 for pin in made.pins}) == 1
    # And as names inside a database file, in a folder with a name like a pattern.
    odd = tmp_path / "o[d]d '*;"
    odd.mkdir()
    path = database(odd / "d.duckdb", 'CREATE TABLE "a.b" ("x""y" INT)', "CREATE SCHEMA a")
    assert preview.pin({"t": f"{path}::a.b"}, into=odd / "made").pins[0].columns[0].name == 'x"y'
    database(path, 'CREATE TABLE a.b ("z" INT)')
    assert "several tables" in refused(f"{path}::a.b", tmp_path)
    csv(tmp_path / "w1.csv", "n\n0\n")
    for path in (tmp_path / "w[1].csv", tmp_path / "w*.csv", tmp_path / "w?.csv", odd / "w.csv"):
        csv(path, f"n\n{len(path.name)}\n")
        assert rows_of(pin_one(path, tmp_path), "FROM t") == [(len(path.name),)]
    part = odd / "year=2020"
    part.mkdir()
    pa.parquet.write_table(pa.table({"a": [1]}), part / "p.parquet")
    csv(part / "p.csv", "a\n1\n")
    (part / "p.json").write_text('[{"a": 1}]')
    for name in ("p.parquet", "p.csv", "p.json"):
        assert types_of(pin_one(part / name, odd)) == {"a": "BIGINT"}


def test_an_empty_table_is_a_table(tmp_path):
    made = pin_one(pa.table({"a": pa.array([], pa.int64())}), tmp_path)
    assert made.pins[0].rows == 0
    assert (
        made.id
        == pin_one(
            csv(tmp_path / "e.csv", "a\n"),
            tmp_path,
            options=preview.ReadOptions.of(header=True, types={"a": "BIGINT"}),
        ).id
    )


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("a", "A"), "repeats"),
        ((("s", "a"), ("S", "b")), "two ways"),
        ((("MAIN", "a"),), "two ways"),
        ((("a", "b", "c"),), "named by"),
        (("",), "empty"),
        (("a\0b",), "NUL"),
        (("\ud800",), "no text"),
        ((("pg_catalog", "a"),), "makes no such table"),
        ((), "no table"),
    ],
)
def test_table_names_that_cannot_be(keys, expected, tmp_path):
    table = pa.table({"a": [1]})
    with pytest.raises(preview.SourceError, match=expected):
        preview.pin(dict.fromkeys(keys, table), into=tmp_path / "refused")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("when", ["before", "after", "meanwhile"])
def test_a_source_that_changes_is_an_error(when, tmp_path, monkeypatch):
    path = csv(tmp_path / "s.csv", "a,b\n1,2\n")
    status = path.stat()
    load = pinning._load

    def write(text: str) -> None:
        csv(path, text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def load_and_change(*arguments):
        if when == "after":
            load(*arguments)
        write("a,b\n1,3\n")
        if when != "after":
            load(*arguments)
        if when == "meanwhile":
            write("a,b\n1,2\n")

    monkeypatch.setattr(pinning, "_load", load_and_change)
    assert "changed" in refused(path, tmp_path)


@pytest.fixture
def made(tmp_path):
    return preview.pin(
        {"t": pa.table({"a": [1, 2], "s": ["x", None]})}, into=tmp_path / "snapshots" / "made"
    )


# --- atomic -------------------------------------------------------------------------------------


def test_the_same_rows_again_are_what_is_there(made, tmp_path):
    again = preview.pin({"t": pa.table({"a": [1, 2], "s": ["x", None]})}, into=made.folder)
    assert not again.created
    assert (again.id, again.manifest_sha256) == (made.id, made.manifest_sha256)
    with pytest.raises(preview.TargetError, match="other rows"):
        preview.pin({"t": pa.table({"a": [1]})}, into=made.folder)
    assert preview.open_snapshot(made.folder).id == made.id
    flip(made.database, 5000)
    with pytest.raises(preview.TargetError, match="intact"):
        preview.pin({"t": pa.table({"a": [1]})}, into=made.folder)
    assert [path.name for path in made.folder.parent.iterdir()] == ["made"]


def test_a_folder_that_is_taken_is_left_alone(tmp_path):
    table = pa.table({"a": [1]})
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "file", "link", "file/below", "a\0b", "a?b", "\udcff"):
        with pytest.raises(preview.TargetError):
            preview.pin({"t": table}, into=tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link"]


def test_a_folder_made_meanwhile_is_left_alone(tmp_path, monkeypatch):
    build = pinning._build

    def build_and_be_late(*arguments):
        made = build(*arguments)
        (tmp_path / "made").mkdir()
        return made

    monkeypatch.setattr(pinning, "_build", build_and_be_late)
    with pytest.raises(preview.TargetError):
        preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert not list((tmp_path / "made").iterdir())


@pytest.mark.parametrize("rows", [[1], [2]])
def test_who_is_second_gets_what_the_first_made(rows, tmp_path, monkeypatch):
    build = pinning._build

    def build_and_be_late(*arguments):
        late = build(*arguments)
        monkeypatch.setattr(pinning, "_build", build)
        preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "made")
        return late

    monkeypatch.setattr(pinning, "_build", build_and_be_late)
    if rows == [1]:
        assert not preview.pin({"t": pa.table({"a": rows})}, into=tmp_path / "made").created
    else:
        with pytest.raises(preview.TargetError):
            preview.pin({"t": pa.table({"a": rows})}, into=tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


CHILD = """
import resource, sys, time
import pyarrow as pa
import preview
from preview import pinning
from preview.snapshot import CONFIG
where, how = sys.argv[1:]
if how == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
else:
    original = getattr(pinning, how)
    def stop(*arguments):
        original(*arguments)
        print("there", flush=True)
        time.sleep(100_000)
    setattr(pinning, how, stop)
table = pa.table({"a": pa.array(range(200_000)), "s": [str(n * n) for n in range(200_000)]})
try:
    preview.pin({"t": table}, into=where)
except preview.PreviewError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("how", ["_load", "_load_all", "_build"])
def test_a_killed_pin_leaves_nothing_under_the_name(how, tmp_path):
    command = [sys.executable, "-c", CHILD, str(tmp_path / "made"), how]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"there\n"
        (leftover,) = tmp_path.iterdir()
        assert leftover.name.startswith(".pinning")
        old = time.time() - 1_000
        os.utime(leftover, (old, old))
        pin_one(pa.table({"a": [1]}), tmp_path)
        assert leftover.exists()  # its owner lives
        os.utime(leftover, (old, old))
        child.send_signal(signal.SIGKILL)
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "made")
    assert made.created
    assert not leftover.exists()


def test_a_full_disk_is_a_clear_error_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", CHILD, str(tmp_path / "made"), "full"]
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=True
    )
    assert run.stdout.startswith("TargetError")
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_a_clear_error_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(CONFIG, "memory_limit", "2MB")
    table = pa.table({"a": range(300_000), "s": [str(n * n) for n in range(300_000)]})
    with pytest.raises(preview.TargetError, match="memory"):
        preview.pin({"t": table}, into=tmp_path / "made")
    assert not list(tmp_path.iterdir())


def test_progress_is_told_and_can_end_it(trades, tmp_path):
    pa.parquet.write_table(trades, tmp_path / "t.parquet")
    told = []
    pin_one(tmp_path / "t.parquet", tmp_path, progress=lambda *said: told.append(said))
    assert ("hashing t.parquet", (tmp_path / "t.parquet").stat().st_size) in {
        (what, done) for what, done, _ in told
    }
    assert ("hashing the rows of t", ROWS, ROWS) in told

    def end(what: str, done: int, total: int | None) -> None:
        if what.startswith("hashing the rows"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        preview.pin({"t": tmp_path / "t.parquet"}, into=tmp_path / "ended", progress=end)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".", "ended"))]

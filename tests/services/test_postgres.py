"""PostgreSQL: every type it has is pinned as the server prints it, or refused by its name."""

import datetime as dt
import decimal
import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import preview
from preview.sources.options import ReadOptions
from tests.pinned import pin_one, refused, rows_of, source_of, types_of

TABLE = "postgresql:::x.t"


def filled(server: Any, kind: str, values: list[str], *before: str) -> Any:
    """Make a table of one type, and give what psql prints of it, in order."""
    rows = ", ".join(
        f"({place}, {'NULL' if value is None else _quoted(value)})"
        for place, value in enumerate([*values, None])
    )
    server.ask(
        "; ".join([*before, f"CREATE TABLE x.t (id int PRIMARY KEY, v {kind})"])
        + f"; INSERT INTO x.t VALUES {rows}"
    )
    return list(server.ask("SELECT v FROM x.t WHERE v IS DISTINCT FROM NULL ORDER BY id"))


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def texts(snapshot) -> list[str]:
    found = rows_of(snapshot, "SELECT CAST(v AS VARCHAR) FROM t ORDER BY id")
    assert found[-1] == (None,)
    return [text for (text,) in found[:-1]]


# --- exact --------------------------------------------------------------------------------------

SPAN = re.compile(r"\b(year|mon|day)(?:th)?s?\b")


def _moment(text: str) -> str:
    day, _, rest = text.removesuffix(" BC").partition(" ")
    return " ".join(filter(None, [day, "(BC)" if text.endswith(" BC") else "", rest]))


def _number(text: str) -> str:
    whole, _, part = text.partition(".")
    part = part.rstrip("0")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{whole or '0'}" + (f".{part}" if part else "")


# PostgreSQL's words to the engine's, and nothing else: independent of what the reader does.
WORDS = {
    "boolean": {"t": "true", "f": "false"}.__getitem__,
    "float": lambda t: {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(t, t),
    "moment": _moment,
    "span": lambda t: SPAN.sub(r"\1", t.replace("+", "")),
    "number": _number,
    "same": lambda t: t,
}
EXACT = [
    ("boolean", "boolean", "BOOLEAN", ["true", "false"]),
    ("smallint", "same", "SMALLINT", ["-32768", "32767"]),
    ("integer", "same", "INTEGER", ["-2147483648", "2147483647"]),
    ("bigint", "same", "BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    ("real", "float", "FLOAT", ["0.1", "NaN", "Infinity", "-Infinity", "3.4028235e+38"]),
    ("double precision", "float", "DOUBLE", ["0.1", "NaN", "-Infinity", "1e+308", "5e-324"]),
    ("numeric", "number", "DECIMAL(18,2)", ["1.5", "-2.25", "100"]),
    ("numeric", "number", "DECIMAL(38,1)", ["12345678901234567890.5", "-0.1"]),
    ("numeric", "number", "DECIMAL(18,18)", ["0.000000000000000001", "0"]),
    ("numeric(10,2)", "number", "DECIMAL(10,2)", ["1.5", "-99999999.99"]),
    ("numeric(38,0)", "number", "DECIMAL(38,0)", ["9" * 38]),
    ("numeric(3,-2)", "number", "DECIMAL(5,0)", ["12300", "-99900"]),
    ("numeric(3,5)", "number", "DECIMAL(5,5)", ["0.00123", "-0.00999"]),
    ("text", "same", "VARCHAR", ["a  ", "", "é😀", "it's"]),
    ("varchar(5)", "same", "VARCHAR", ["ab", "ab   "]),
    ("char(5)", lambda text: text.rstrip(" "), "VARCHAR", ["ab", "", " a"]),
    ("name", "same", "VARCHAR", ["pg_class"]),
    (
        "date",
        "moment",
        "DATE",
        ["2020-02-29", "infinity", "-infinity", "0044-03-15 BC", "5874897-12-31", "10000-01-01"],
    ),
    ("time", "same", "TIME", ["24:00:00", "01:02:03.000001"]),
    ("timetz", "same", "TIME WITH TIME ZONE", ["12:00:00+02", "12:00:00-05:30", "0:0+15:59:59"]),
    (
        "timestamp",
        "moment",
        "TIMESTAMP",
        ["2020-01-01 01:02:03.000004", "infinity", "0044-03-15 12:00:00 BC", "294246-12-31"],
    ),
    (
        "timestamptz",
        "moment",
        "TIMESTAMP WITH TIME ZONE",
        ["2020-01-01 01:02:03.5+05:30", "-infinity", "0044-03-15 12:00:00+00 BC"],
    ),
    (
        "interval",
        "span",
        "INTERVAL",
        [
            "1 year 2 mons 3 days 04:05:06.7",
            "-1 years -2 mons +3 days -04:05:06",
            "0",
            "100:00:00",
            "-00:00:00.000001",
            "1 mon -1 day",
            "178000000 years",
            "1000000:00:00",
        ],
    ),
    ("uuid", "same", "UUID", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("json", "same", "JSON", ['{"a": 1,  "b":[1.10,2e5]}', "null", '"x"']),
    ("jsonb", "same", "JSON", ['{"b":1,"a":1.10}']),
    ("bit(3)", "same", "BIT", ["101", "000"]),
    ("varbit", "same", "BIT", ["1", "0101"]),
    ("x.mood", "same", "ENUM", ["sad", "ok"]),
    ("x.price", "number", "DECIMAL(5,2)", ["1.5"]),
    ("x.inner", "number", "DECIMAL(5,2)", ["-1.5"]),
]
TYPES = (
    "CREATE TYPE x.mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE DOMAIN x.price AS numeric(5,2)",
    "CREATE DOMAIN x.inner AS x.price CHECK (VALUE < 0)",
    "CREATE TYPE x.pair AS (a int, b text)",
)


@pytest.mark.parametrize(("kind", "words", "becomes", "values"), EXACT)
def test_a_type_is_what_the_server_prints(kind, words, becomes, values, server):
    printed = filled(server, kind, values, *TYPES)
    snapshot = pin_one(TABLE, server_folder(server))
    assert types_of(snapshot)["v"] == becomes
    spoken = WORDS[words] if isinstance(words, str) else words
    found = texts(snapshot)
    if words == "number":
        found = [_number(text) for text in found]
    if words == "span":
        found = [SPAN.sub(r"\1", text.replace("month", "mon")) for text in found]
    assert found == [spoken(text) for text in printed]
    assert len(found) == len(values)


def server_folder(server: Any) -> Path:
    """Where snapshots of these tests go, which the next test may empty."""
    folder: Path = server.folder / "snapshots"
    folder.mkdir(exist_ok=True)
    return folder


def test_bytes_and_negative_zero_are_exact(server, tmp_path):
    server.ask(
        "CREATE TABLE x.t (id int PRIMARY KEY, b bytea, f float8, g float4); "
        r"INSERT INTO x.t VALUES (1, '\x00ff27', '-0', '-0'), (2, '\x', '0', '0')"
    )
    snapshot = pin_one(TABLE, tmp_path)
    assert rows_of(snapshot, "SELECT b, CAST(f AS VARCHAR), CAST(g AS VARCHAR) FROM t") == [
        (b"\0\xff'", "-0.0", "-0.0"),
        (b"", "0.0", "0.0"),
    ]


def test_members_of_an_enum_are_in_the_servers_order(server, tmp_path):
    filled(server, "x.mood", ["ok"], *TYPES, "ALTER TYPE x.mood ADD VALUE 'so' BEFORE 'ok'")
    (pin,) = pin_one(TABLE, tmp_path).pins
    assert pin.columns[1].members == ("sad", "so", "ok", "happy")


# --- refused --------------------------------------------------------------------------------------

REFUSED = [
    ("numeric", ["NaN"]),
    ("numeric", ["Infinity"]),
    ("numeric", ["1e30", "1e-20"]),
    ("numeric(10,2)", ["1.5", "NaN"]),
    ("numeric(40,2)", ["1"]),
    ("timestamp", ["294276-12-31"]),
    ("varbit", ["1", ""]),
    ("integer[]", ["{1,2}"]),
    ("text[][]", ['{{a,NULL},{"b c",d}}']),
    ("money", ["1.50"]),
    ("x.pair", ["(1,a)", "(,)"]),
    ("int4range", ["[1,2)", "empty"]),
    ("int4multirange", ["{[1,2)}"]),
    ("inet", ["10.0.0.1", "10.0.0.0/8"]),
    ("cidr", ["10.0.0.0/8"]),
    ("macaddr", ["08:00:2b:01:02:03"]),
    ("xml", ["<a/>"]),
    ("oid", ["4294967295"]),
    ("xid8", ["1"]),
    ("regclass", ["pg_class"]),
    ('"char"', ["c"]),
    ("point", ["(1,2.5)"]),
    ("polygon", ["((0,0),(1,1),(2,0))"]),
    ("tsvector", ["a b"]),
    ("tsquery", ["a & b"]),
    ("pg_lsn", ["0/1"]),
    ("jsonpath", ["$.a"]),
]


@pytest.mark.parametrize(("kind", "values"), REFUSED)
def test_what_has_no_exact_form_is_refused_and_its_text_can_be_asked_for(
    kind, values, server, tmp_path
):
    printed = filled(server, kind, values, *TYPES)
    said = refused(TABLE, tmp_path)
    assert "column v" in said
    assert said.endswith("by --type t.v=VARCHAR")
    assert not any(value in said for value in values if len(value) > 5)
    snapshot = pin_one(TABLE, tmp_path, options=ReadOptions.of(types={"v": "VARCHAR"}))
    assert texts(snapshot) == printed
    assert source_of(snapshot).dialect.columns[1].type == "VARCHAR"


def test_every_type_of_the_server_was_looked_at(server):
    """No base type of the server is pinned that these tables do not name."""
    from preview.sources import postgres

    exact = {*postgres._BINARY, *postgres._TEXT, *postgres._READ, "numeric"}
    known = set(
        server.ask(
            "SELECT typname FROM pg_type WHERE typtype IN ('b', 'r', 'm') "
            "AND typnamespace = 'pg_catalog'::regnamespace"
        )
    )
    assert exact <= known
    named = {kind for kind, *_ in EXACT}
    spelled = server.ask(
        "SELECT typname FROM pg_type WHERE oid IN ("
        + ", ".join(f"'{kind}'::regtype" for kind in sorted(named) if "x." not in kind)
        + ")"
    )
    assert exact - {"bytea"} == set(spelled)


def test_only_text_can_be_asked_for(server, tmp_path):
    filled(server, "integer", ["1"])
    assert "a type of its own" in refused(
        TABLE, tmp_path, options=ReadOptions.of(types={"v": "DOUBLE"})
    )
    assert "no column w" in refused(TABLE, tmp_path, options=ReadOptions.of(types={"w": "VARCHAR"}))


# --- one snapshot -------------------------------------------------------------------------------


def test_all_tables_are_read_in_one_snapshot(server, tmp_path):
    server.ask(
        "CREATE TABLE x.a (n int PRIMARY KEY); CREATE TABLE x.b (n int PRIMARY KEY); "
        "INSERT INTO x.a VALUES (1); INSERT INTO x.b VALUES (1)"
    )
    written: list[str] = []

    def between(what, *_):
        # Tables are loaded in order of their names: b has not been asked for when a is.
        if not written and what.startswith("loading"):
            written.append(what)
            server.ask("INSERT INTO x.a VALUES (2); INSERT INTO x.b VALUES (2)")

    slow = pa.table({"n": range(3)})
    made = preview.pin(
        {"a": "postgresql:::x.a", "a2": slow, "b": "postgresql:::x.b"},
        into=tmp_path / "out",
        progress=_always(between),
    )
    assert written
    assert rows_of(made, "FROM a") == rows_of(made, "FROM b") == [(1,)]
    a, b = source_of(made, "a"), source_of(made, "b")
    assert a.origin == b.origin
    assert a.origin.server.startswith(server.ask("SHOW server_version")[0])


def _always(called: Any) -> Any:
    """Call back at least once: a short load ends before progress is told."""

    def progress(what, done, total):
        called("loading" if what.startswith("hashing") else what, done, total)

    return progress


def test_locks_come_before_the_snapshot(server, tmp_path):
    """TRUNCATE heeds no snapshot: one that was taken before it would see an empty table."""
    server.ask("CREATE TABLE x.t (n int); INSERT INTO x.t VALUES (1), (2)")
    writer = subprocess.Popen(
        ["psql", "-qAtX"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **server.environment},
        text=True,
    )
    assert writer.stdin
    assert writer.stdout
    writer.stdin.write("BEGIN; TRUNCATE x.t; INSERT INTO x.t VALUES (3); SELECT 'truncated';\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == "truncated\n"
    made = []
    pinning = threading.Thread(target=lambda: made.append(pin_one(TABLE, tmp_path)))
    pinning.start()
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    while server.ask(waiting) == ["0"]:
        assert pinning.is_alive()
    writer.communicate("COMMIT;\n")
    pinning.join()
    assert rows_of(made[0], "FROM t") == [(3,)]


# --- order --------------------------------------------------------------------------------------


def test_rows_come_by_primary_key_else_as_they_lie(server, tmp_path):
    server.ask(
        'CREATE TABLE x.t (k text PRIMARY KEY, "We ird""n" int); '
        "INSERT INTO x.t VALUES ('b', 1), ('B', 2), ('a', 3); "
        "CREATE TABLE x.heap (n int); INSERT INTO x.heap VALUES (3), (1), (2)"
    )
    keyed = pin_one(TABLE, tmp_path)
    assert rows_of(keyed, "FROM t") == [("B", 2), ("a", 3), ("b", 1)]
    assert list(types_of(keyed)) == ["k", 'We ird"n']
    assert rows_of(pin_one("postgresql:::x.heap", tmp_path), "FROM t") == [(3,), (1,), (2,)]


def test_many_rows_of_a_partitioned_table_are_one_table(server, tmp_path):
    server.ask(
        "CREATE TABLE x.t (n int, part int, PRIMARY KEY (n, part)) PARTITION BY LIST (part); "
        "CREATE TABLE x.t0 PARTITION OF x.t FOR VALUES IN (0); "
        "CREATE TABLE x.t1 PARTITION OF x.t FOR VALUES IN (1); "
        "INSERT INTO x.t SELECT n, n % 2 FROM generate_series(1, 50000) AS n"
    )
    snapshot = pin_one(TABLE, tmp_path)
    assert rows_of(snapshot, "SELECT count(*) FROM t WHERE n <> rowid + 1") == [(0,)]
    assert snapshot.pins[0].rows == 50_000


def test_the_same_rows_from_elsewhere_are_one_content(server, tmp_path):
    server.ask(
        "CREATE TABLE x.t (id bigint PRIMARY KEY, price numeric(18,2), name text, day date); "
        "INSERT INTO x.t VALUES (1, 1.5, 'a', '2020-01-01'), (2, NULL, '', NULL)"
    )
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "price": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(18, 2)),
            "name": ["a", ""],
            "day": [dt.date(2020, 1, 1), None],
        }
    )
    assert pin_one(TABLE, tmp_path).id == pin_one(table, tmp_path).id


# --- what is no table that can be read whole ----------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("CREATE VIEW x.t AS SELECT 1 AS a", "a view"),
        ("CREATE MATERIALIZED VIEW x.t AS SELECT 1 AS a", "a materialized view"),
        ("CREATE TABLE x.t ()", "no columns"),
        ("CREATE SEQUENCE x.t", "no table"),
        ("SELECT 1", "no table of the name x.t"),
        ('CREATE TABLE x.t (a int, "A" int)', "have one name"),
        (
            """CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
            CREATE TABLE x.t (a int); CREATE FOREIGN TABLE x.f () INHERITS (x.t) SERVER s""",
            "a foreign table",
        ),
    ],
)
def test_what_is_no_stored_table_is_refused(script, said, server, tmp_path):
    server.ask(script)
    assert said in refused(TABLE, tmp_path)
    server.ask("DROP FOREIGN DATA WRAPPER IF EXISTS w CASCADE")


def test_rows_that_a_policy_hides_are_not_missed(server, tmp_path, monkeypatch):
    server.ask(
        "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA x TO reader; "
        "CREATE TABLE x.t (a int); INSERT INTO x.t VALUES (1), (2); "
        "CREATE TABLE x.closed (a int); ALTER TABLE x.t ENABLE ROW LEVEL SECURITY; "
        "CREATE POLICY p ON x.t USING (a = 1); GRANT SELECT ON x.t TO reader"
    )
    assert pin_one(TABLE, tmp_path).pins[0].rows == 2
    monkeypatch.setenv("PGUSER", "reader")
    assert "not all of its rows" in refused(TABLE, tmp_path)
    assert "may not read" in refused("postgresql:::x.closed", tmp_path)


def test_the_servers_settings_change_nothing(server, tmp_path, monkeypatch):
    filled(server, "timestamptz", ["2020-03-04 05:06:07+00"])
    first = pin_one(TABLE, tmp_path)
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    monkeypatch.setenv("PGDATESTYLE", "German")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_isolation=serializable")
    assert pin_one(TABLE, tmp_path).id == first.id


# --- who connects -------------------------------------------------------------------------------


def test_a_service_file_says_where(server, tmp_path, monkeypatch):
    filled(server, "integer", ["1"])
    file = tmp_path / "services"
    file.write_text(f"[shop]\nhost={server.folder}\nuser=owner\ndbname=postgres\npassword=s3cret\n")
    for name in server.environment:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    made = pin_one("postgresql:shop::x.t", tmp_path)
    source = source_of(made)
    assert (source.name, source.table) == ("shop", "x.t")
    assert b"s3cret" not in (made.folder / "manifest.json").read_bytes()
    assert "no such section" in refused("postgresql:other::x.t", tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://owner:s3cret@host/postgres::x.t",
        "postgresql:password=s3cret::x.t",
        "postgres:owner:s3cret@host::x.t",
        "postgresql:s3cret",
        "postgresql:shop?password=s3cret::x.t",
    ],
)
def test_a_password_in_an_argument_is_refused_and_not_repeated(source, tmp_path):
    said = refused(source, tmp_path)
    assert "s3cret" not in said
    assert "password file" in said


def test_a_wrong_password_is_not_shown(server, tmp_path, monkeypatch):
    server.ask("ALTER ROLE owner PASSWORD 'right'")
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("local all all scram-sha-256\n")
    try:
        server.ask("SELECT pg_reload_conf()")
        monkeypatch.setenv("PGPASSWORD", "wr0ng")
        said = ""
        while "password" not in said:  # the server takes its rules when it comes to it
            with pytest.raises(preview.SourceError) as caught:
                preview.pin({"t": "postgresql:::x.none"}, into=tmp_path / "out")
            said = str(caught.value)
        assert "wr0ng" not in said
        assert "PGPASSFILE" in said
    finally:
        rules.write_text(before)
        server.ask("SELECT pg_reload_conf()", PGPASSWORD="right")


def test_a_server_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PGHOST", str(tmp_path))
    assert "cannot be reached" in refused(TABLE, tmp_path)

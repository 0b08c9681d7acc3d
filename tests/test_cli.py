"""The program: what it prints, with which status, and what it says to bad input."""

import errno
import io
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
import tomllib
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from typer.main import get_command

import preview
from eligibility import Schema, classify, edits, marks
from eligibility.explaining import lessons
from eligibility.explaining.layout import lay_out, unaliased
from eligibility.reasons import Reason
from eligibility.wire.escape import is_shown
from evidence_adapters.cli import inputs, limits, trouble, verbs
from evidence_adapters.cli.program import _shown, run
from evidence_adapters.cli.source import statement_lines
from evidence_adapters.cli.visible import one_line, visible
from preview import recorder
from tests.corpus import cases
from tools import pages

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "evidence_adapters"]
SCHEMA: dict[str | tuple[str, ...], Any] = {
    "flights": {"carrier": "VARCHAR", "month": "INTEGER", "distance": "BIGINT"},
    "airlines": {"carrier": "VARCHAR", "name": "VARCHAR"},
}
COUNT = "SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier ORDER BY carrier"


@dataclass(frozen=True)
class Outcome:
    """What one call of the program did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Give what it printed, which has to be one document."""
        return json.loads(self.out)


class Stream(io.TextIOWrapper):
    """A standard stream in memory."""

    def __init__(self, *, terminal: bool = False, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        self._terminal = terminal
        super().__init__(self.bytes, encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode(self.encoding)


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def call(
    *arguments: str | Path,
    stdin: bytes = b"",
    terminal: bool = False,
    encoding: str = "utf-8",
) -> Outcome:
    out, err = Stream(terminal=terminal, encoding=encoding), Stream(terminal=terminal)
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = run(verbs.app, [os.fspath(argument) for argument in arguments])
    finally:
        sys.stdin = given
    return Outcome(status, out.text(), err.text())


def program(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the real program."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [*PROGRAM, *arguments], env=env, capture_output=True, text=True, check=False, **options
    )


ODD_ROWS = {
    "name": [
        "שלום",
        "a\x1b[31m\u202eb",
        "[bold]x[/bold] :smile:",
        "👩\u200d💻 東京",
        "C:\\t ",
        None,
    ],
    "n": [1, 2, 3, 4, 5, 6],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a snapshot `pinned`, and the schema of its tables in `schema.json`."""
    place = tmp_path_factory.mktemp("cli")
    carriers = ["UA", "AA", "UA", "DL"]
    tables: dict[str | tuple[str, ...], Any] = {
        "flights": pyarrow.table(
            {"carrier": carriers, "month": [1, 1, 2, 2], "distance": [1400, 1089, 1416, None]},
            pyarrow.schema(
                [("carrier", "string"), ("month", pyarrow.int32()), ("distance", "int64")]
            ),
        ),
        "airlines": pyarrow.table({"carrier": ["AA", "UA"], "name": ["American", "United"]}),
        "odd": pyarrow.table(ODD_ROWS),
        "many": pyarrow.table({"id": range(60), "t": ["x" * 100] * 60}),
        "wide": pyarrow.table({f"column_{i}": [i, 10 * i] for i in range(40)}),
        ("sales", "orders"): pyarrow.table({"id": [1]}),
    }
    preview.pin(tables, into=place / "pinned")
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    return place


@pytest.fixture
def pinned(folder: Path) -> Path:
    return folder / "pinned"


# --- check: a stable interface ------------------------------------------------------------------

CHECKED = {
    "statement_sha256": "9bea6ae82c1ab7e8dcd9e2c20bd98dbc0d6a56bd4e0f2b2a3e5e4ba9b4ae1d9c",
    "engine": "agrees",
    "reasons": [],
    "outputs": [
        {
            "position": 0,
            "name": "c",
            "verdict": "eligible",
            "label": {
                "kind": "column",
                "table": ["main", "flights"],
                "column": "carrier",
                "calculation": None,
            },
            "reasons": [],
        },
        {
            "position": 1,
            "name": "n",
            "verdict": "eligible",
            "label": {
                "kind": "aggregate",
                "table": ["main", "flights"],
                "column": None,
                "calculation": "COUNT",
            },
            "reasons": [],
        },
        {
            "position": 2,
            "name": "one",
            "verdict": "withheld",
            "label": None,
            "reasons": ["constant"],
        },
    ],
    "filter": {
        "kind": "stated",
        "predicate": {
            "kind": "comparison",
            "column": "month",
            "operator": "=",
            "value": {"type": "INTEGER", "text": "1"},
        },
        "text": "flights.month = 1",
    },
    "groups": ["carrier"],
    "selection": {
        "having": False,
        "distinct": False,
        "order_by": False,
        "limit": True,
        "offset": False,
    },
    "note": "",
    "marks": [{"reason": "constant", "output": 2, "start": 36, "stop": 44, "words": "1 AS one"}],
    "edits": [],
}
CHECKED_STATEMENT = (
    "SELECT carrier AS c, COUNT(*) AS n, 1 AS one FROM flights WHERE month = 1 "
    "GROUP BY carrier LIMIT 5"
)


def test_check_prints_exactly_this_document(pinned):
    found = call("check", CHECKED_STATEMENT, "--snapshot", pinned, "--json")
    assert (found.status, found.err) == (0, "")
    assert found.out.count("\n") == 1
    made = found.json
    assert list(made) == list(CHECKED)
    assert made | {"statement_sha256": ""} == CHECKED | {"statement_sha256": ""}
    assert re.fullmatch("[0-9a-f]{64}", made["statement_sha256"])


@pytest.mark.parametrize(
    ("statement", "status", "engine", "reasons"),
    [
        ("SELECT carrier FROM flights", 0, "agrees", []),
        ("SELECT upper(carrier) FROM flights", 1, "agrees", []),
        ("DELETE FROM flights", 1, "refused", ["not-a-select", "engine-refused"]),
        ("SELECT carrier FROM flight", 1, "failed", ["table-unknown", "engine-failed"]),
        (
            "SELECT carrier FROM flights; SELECT 1",
            1,
            "refused",
            ["several-statements", "engine-refused"],
        ),
        ("", 1, "refused", ["no-statement", "engine-refused"]),
        ("(" * 60 + "1" + ")" * 60, 1, "refused", ["brackets-too-deep", "engine-refused"]),
        ("SELECT 1 -- " + "x" * 20_000, 1, "refused", ["statement-too-long", "engine-refused"]),
        ("SELECT '\udcff'", 1, "refused", ["not-text", "engine-refused"]),
    ],
)
def test_check_with_the_engine(pinned, statement, status, engine, reasons):
    found = call("check", statement, "--snapshot", pinned, "--json")
    assert (found.status, found.json["engine"], found.json["reasons"]) == (status, engine, reasons)
    assert bool(found.json["note"]) == (engine != "agrees")


def test_check_prints_the_edits_that_it_tried(pinned, monkeypatch):
    monkeypatch.setattr("preview.checking.SECONDS_MAX", 3600.0)  # however slow the machine is
    statement = "SELECT CAST(distance AS VARCHAR) AS d FROM flights"
    found = call("check", statement, "--snapshot", pinned, "--json")
    assert found.json["edits"] == [
        {
            "output": 0,
            "title": "drop the cast: distance",
            "start": 7,
            "stop": 32,
            "text": "distance",
            "statement": "SELECT distance AS d FROM flights",
        }
    ]


def test_check_of_a_statement_that_does_not_bind_in_time_is_withheld(pinned):
    doubling = ", ".join(f"c{i} + c{i} AS c{i + 1}" for i in range(24))
    statement = f"SELECT distance AS c0, {doubling} FROM flights"
    found = call("check", statement, "--snapshot", pinned, "--timeout", "1")
    assert found.status == 1
    assert "killed after" in found.out


def test_check_with_a_schema_reads_the_text_alone_and_says_so(folder):
    schema = folder / "schema.json"
    found = call("check", "SELECT carrier FROM flights", "--schema", schema, "--json")
    assert (found.status, found.json["engine"]) == (0, "not-asked")
    assert "no engine was asked" in call("check", "SELECT 1", "--schema", schema).out


def test_a_statement_comes_from_standard_input(folder):
    schema = folder / "schema.json"
    statement = b"SELECT carrier\r\nFROM flights -- \xc3\xa9\n"
    found = call("check", "-", "--schema", schema, "--json", stdin=statement)
    expected = classify(statement.decode(), Schema.of(SCHEMA))
    beside = {"note": "", "marks": [], "edits": []}
    assert found.json == expected.model_dump(mode="json") | beside
    broken = call("check", "-", "--schema", schema, "--json", stdin=b"SELECT '\xff'")
    assert (broken.status, broken.json["reasons"]) == (1, ["not-text"])


# --- run, capture and release -------------------------------------------------------------------


def test_run_prints_observation_and_release(pinned):
    found = call("run", COUNT, "--snapshot", pinned, "--json")
    assert (found.status, found.err) == (0, "")
    made = found.json
    assert list(made) == ["observation", "release"]
    assert list(made["observation"]) == [
        *("format", "statement", "statement_sha256", "snapshot", "manifest_sha256", "pins"),
        *("engine", "reading", "columns", "rows", "truncated", "captured_at"),
        *("characters", "bounds", "digest"),
    ]
    assert list(made["release"]) == [
        *("facts", "withheld", "no_answer", "no_answer_reason", "no_answer_at", "origin"),
        *("observation", "complete", "rows_are_table_rows"),
    ]
    assert [fact["text"] for fact in made["release"]["facts"]][1] == (
        "COUNT(*) of flights = 1 for flights.carrier = 'AA'"
    )
    assert made["release"]["origin"] == "verified"


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("SELECT carrier FROM flights", 0),
        ("SELECT 1 AS one FROM flights", 1),
        ("SELECT carrier FROM flights WHERE month = 9", 1),
        ("SELECT nothing FROM flights", 2),
        ("DROP TABLE flights", 2),
    ],
)
def test_run_ends_as_grep_does(pinned, statement, status):
    found = call("run", statement, "--snapshot", pinned)
    assert found.status == status
    assert found.err.count("\n") == (1 if status == 2 else 0)
    assert bool(found.out) is (status != 2)


@pytest.fixture(scope="module")
def counted(folder: Path) -> "Outcome":
    """Give what a capture printed."""
    return call("capture", COUNT, "--snapshot", folder / "pinned", "--json")


@pytest.fixture
def observed(counted: "Outcome", tmp_path: Path) -> Path:
    """Give a folder with an observation and the preview that came back."""
    made = counted
    assert made.status == 0
    (tmp_path / "observation.json").write_text(made.out)
    shown = {name: made.json[name] for name in ("columns", "rows", "truncated")}
    (tmp_path / "returned.json").write_text(json.dumps(shown))
    return tmp_path


def release(folder: Path, *arguments: str, **options: Any) -> Outcome:
    return call(
        *("release", folder / "observation.json", "--returned", folder / "returned.json"),
        *arguments,
        **options,
    )


def test_release_of_what_was_captured(observed):
    kept = json.loads((observed / "observation.json").read_text())["digest"]
    assert release(observed, "--json").json["origin"] == "unverified"
    made = release(observed, "--json", "--digest", kept.upper())
    assert (made.status, made.json["origin"]) == (0, "verified")
    assert len(made.json["facts"]) == 6
    shown = release(observed, "--digest", kept)
    assert "flights.carrier = 'AA' in result row 1" in shown.out


def test_release_reads_one_file_from_standard_input(observed):
    returned = (observed / "returned.json").read_bytes()
    arguments = ("release", observed / "observation.json", "--returned", "-", "--json")
    assert call(*arguments, stdin=returned).status == 0
    both = call("release", "-", "--returned", "-", stdin=returned)
    assert both.status == 2


@pytest.mark.parametrize(
    ("claims", "status", "reason"),
    [
        ([{"row": 0, "column": 1}], 0, None),
        ([{"row": 0, "column": 1, "type": "BIGINT", "text": "1"}], 0, None),
        ([{"row": 0, "column": 1, "text": "2"}], 1, "claim-differs"),
        ([{"row": 9, "column": 1}], 1, "claim-unknown"),
        ([], 1, "no-claims"),
    ],
)
def test_release_of_claims(observed, claims, status, reason):
    (observed / "claims.json").write_text(json.dumps(claims))
    made = release(observed, "--claims", str(observed / "claims.json"), "--json")
    assert (made.status, made.json["no_answer_reason"]) == (status, reason)
    assert release(observed, "--claims", str(observed / "claims.json")).status == status


def edited(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("file", "old", "new", "status", "reason"),
    [
        ("returned", '"AA"', '"AB"', 1, "preview-differs"),
        ("observation", '"AA"', '"AB"', 1, "digest-mismatch"),
        ("returned", '{"columns"', '{"more": 1, "columns"', 2, "preview-malformed"),
        ("returned", '"truncated": null', '"truncated": NaN', 2, "preview-malformed"),
        ("returned", '"position": 0', '"position": 0, "position": 1', 2, "preview-malformed"),
        ("observation", '"rows": [', '"rows": [5, ', 2, "observation-malformed"),
        ("observation", '{"format"', '[{"format"', 2, "observation-malformed"),
    ],
)
def test_release_of_what_was_changed(observed, file, old, new, status, reason):
    path = observed / f"{file}.json"
    path.write_text(edited(path.read_text(), old, new))
    made = release(observed, "--json")
    assert made.status == status
    told = made.json["error"]["code"] if status == 2 else made.json["no_answer_reason"]
    assert told == reason
    assert "AB" not in made.err + json.dumps(made.json.get("error", ""))
    assert release(observed).status == status


def test_release_says_where_an_observation_contradicts_itself(observed):
    path = observed / "observation.json"
    observation = json.loads(path.read_text())
    observation["rows"][0] = observation["rows"][0][:1]
    again = preview_digest(observation)
    path.write_text(json.dumps(observation | {"digest": again}))
    made = release(observed, "--json")
    assert (made.status, made.json["error"]["code"]) == (2, "observation-malformed")
    assert "/rows/0" in made.json["error"]["message"]


def preview_digest(observation: dict[str, Any]) -> str:
    from eligibility import Observation, from_json

    return from_json(Observation, json.dumps(observation)).recomputed_digest()


def test_more_claims_than_are_taken(observed):
    (observed / "claims.json").write_text(json.dumps([{"row": 0, "column": 0}] * 1001))
    made = release(observed, "--claims", str(observed / "claims.json"), "--json")
    assert (made.status, made.json["error"]["code"]) == (2, "claims-malformed")


def test_capture_prints_the_digest_to_keep(pinned):
    found = call("capture", COUNT, "--snapshot", pinned)
    assert re.search(r"digest +[0-9a-f]{64}\n", found.out)


# --- bad input ----------------------------------------------------------------------------------

BAD_INPUT: dict[str, tuple[list[str], str]] = {
    "no such verb": (["chekc"], "usage"),
    "no verb": ([], "usage"),
    "no such option": (["check", "SELECT 1", "--snapshto", "x"], "usage"),
    "an argument is missing": (["run"], "usage"),
    "an argument too many": (["reasons", "cast", "join"], "usage"),
    "neither schema nor snapshot": (["check", "SELECT 1"], "usage"),
    "both": (["check", "SELECT 1", "--snapshot", "x", "--schema", "y"], "usage"),
    "a time limit of zero": (["run", "SELECT 1", "--snapshot", "x", "--timeout", "0"], "usage"),
    "a time limit that is none": (
        ["run", "SELECT 1", "--snapshot", "x", "--timeout", "a"],
        "usage",
    ),
    "a time limit that is not a number": (
        ["run", "SELECT 1", "--snapshot", "x", "--timeout", "nan"],
        "usage",
    ),
    "an endless time limit": (["run", "SELECT 1", "--snapshot", "x", "--timeout", "inf"], "usage"),
    "too much memory": (["run", "SELECT 1", "--snapshot", "x", "--memory", "9" * 30], "usage"),
    "too little memory": (["run", "SELECT 1", "--snapshot", "x", "--memory", "1"], "usage"),
    "no such snapshot": (["check", "SELECT 1", "--snapshot", "absent"], "pin-mismatch"),
    "a file as snapshot": (["run", "SELECT 1", "--snapshot", "text"], "pin-mismatch"),
    "tables of no snapshot": (["tables", "absent"], "pin-mismatch"),
    "no such schema": (["check", "SELECT 1", "--schema", "absent"], "file"),
    "a folder as schema": (["check", "SELECT 1", "--schema", "folder"], "file"),
    "a path of surrogates": (["check", "SELECT 1", "--schema", "\udcff"], "file"),
    "a path with a NUL": (["check", "SELECT 1", "--schema", "a\0b"], "file"),
    "an endless file": (["check", "SELECT 1", "--schema", "/dev/zero"], "file"),
    "text as schema": (["check", "SELECT 1", "--schema", "text"], "schema-malformed"),
    "bytes as schema": (["check", "SELECT 1", "--schema", "bytes"], "schema-malformed"),
    "no such observation": (["release", "absent", "--returned", "text"], "file"),
    "text as observation": (["release", "text", "--returned", "text"], "observation-malformed"),
    "a digest that is none": (["release", "text", "--returned", "x", "--digest", "12"], "usage"),
    "a source without name": (["pin", "text.csv", "--into", "new"], "usage"),
    "a source without path": (["pin", "t=", "--into", "new"], "usage"),
    "a name of three parts": (["pin", "a.b.c=text.csv", "--into", "new"], "usage"),
    "a table twice": (["pin", "t=text.csv", '"t"=text.csv', "--into", "new"], "usage"),
    "no such source": (["pin", "t=absent.csv", "--into", "new"], "source-error"),
    "a type of no table": (
        ["pin", "t=text.csv", "--into", "new", "--type", "u.a=INTEGER"],
        "usage",
    ),
    "a type of no column": (["pin", "t=text.csv", "--into", "new", "--type", "a=INTEGER"], "usage"),
    "a folder that is taken": (["pin", "t=text.csv", "--into", "folder"], "target-error"),
    "no such reason": (["reasons", "casts"], "usage"),
}


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no JSON")
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    (tmp_path / "text.csv").write_text("a\n1\n")
    return tmp_path


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_line_and_status_2(bad, name):
    arguments, code = BAD_INPUT[name]
    found = call(*arguments)
    assert found.status == 2
    assert re.fullmatch(r"eligibility: .+\n", found.err)
    again = call(*arguments, "--json")
    assert again.status == 2
    assert again.err == found.err or name == "no verb"
    assert list(again.json) == ["error"]
    assert again.json["error"]["code"] == code
    assert f"eligibility: {again.json['error']['message']}\n" == again.err


SCHEMAS: dict[str, tuple[str, str | None]] = {
    "tables in schemas": ('[{"path": ["s", "t"], "columns": {"a": "INTEGER"}}]', None),
    "a column with all": ('{"t": {"a": {"type": "ENUM", "nan": null, "members": ["x"]}}}', None),
    "no table": ("{}", None),
    "a number": ("5", "neither"),
    "a table of texts": ('{"t": "a"}', "t: "),
    "a table of nothing": ('{"t": {}}', "t: "),
    "a type that is a number": ('{"t": {"a": 5}}', "t.a: "),
    "a column of more": ('{"t": {"a": {"type": "INTEGER", "more": 1}}}', "t.a: "),
    "a column without type": ('{"t": {"a": {"nan": true}}}', "t.a: "),
    "members that are a text": ('{"t": {"a": {"type": "ENUM", "members": "xy"}}}', "t.a: "),
    "an enum that never closes": ('{"t": {"a": "ENUM(\'x)"}}', "ENUM"),
    "a repeated key": ('{"t": {"a": "INTEGER", "a": "INTEGER"}}', "repeated"),
    "names that differ by case": ('{"t": {"a": "INTEGER", "A": "INTEGER"}}', "repeat"),
    "tables that differ by case": ('{"t": {"a": "INTEGER"}, "T": {"a": "INTEGER"}}', "repeat"),
    "an entry without path": ('[{"columns": {"a": "INTEGER"}}]', "/0"),
    "a path that is a text": ('[{"path": "t", "columns": {"a": "INTEGER"}}]', "/0/path"),
    "a path twice": (
        '[{"path": ["t"], "columns": {"a": "INTEGER"}}, {"path": ["t"], "columns": {"a": "DATE"}}]',
        "/1/path",
    ),
    "a path of three": ('[{"path": ["a", "b", "c"], "columns": {"a": "INTEGER"}}]', "named by"),
    "deep": ("[" * 60 + "]" * 60, "nested"),
    "NaN": ('{"t": {"a": NaN}}', "NaN"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas(name):
    text, said = SCHEMAS[name]
    found = call("check", "SELECT 1", "--schema", "-", "--json", stdin=text.encode())
    if said is None:
        assert found.status == 1
    else:
        assert (found.status, found.json["error"]["code"]) == (2, "schema-malformed")
        assert said in found.json["error"]["message"]


def test_what_the_engine_says_is_one_line(pinned):
    found = call("run", "SELECT\n  nothing\nFROM flights", "--snapshot", pinned, "--json")
    assert found.json["error"]["code"] == "statement-failed"
    assert "nothing" in found.json["error"]["message"]
    assert "LINE" not in found.err
    refused = call("capture", "CHECKPOINT", "--snapshot", pinned, "--json")
    assert (refused.status, refused.json["error"]["code"]) == (2, "not-a-select")


def test_a_changed_snapshot_is_not_read(folder, tmp_path):
    preview.pin({"t": pyarrow.table({"a": [1]})}, into=tmp_path / "s")
    database = tmp_path / "s" / "snapshot.duckdb"
    database.chmod(0o600)
    data = bytearray(database.read_bytes())
    data[len(data) // 2] ^= 1
    database.write_bytes(data)
    for arguments in (["run", "SELECT a FROM t", "--snapshot"], ["tables"]):
        found = call(*arguments, tmp_path / "s", "--json")
        assert (found.status, found.json["error"]["code"]) == (2, "pin-mismatch")


def test_a_bug_is_not_hidden(monkeypatch, folder):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("eligibility.classify", broken)
    monkeypatch.setattr("preview.checking.classify", broken)
    with pytest.raises(ZeroDivisionError):
        call("check", "SELECT 1", "--schema", folder / "schema.json")


# --- pinning ------------------------------------------------------------------------------------


def test_pin_with_options_and_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("orders.csv").write_text("1;NA;2020-01-02\n2;x;-\n")
    arguments = [
        *("pin", '"my.orders"=orders.csv', 'sales."a=b"=orders.csv', "--into", "pinned"),
        *("--null", "NA", "--null", "-", "--delimiter", ";", "--no-header"),
        *("--type", '"my.orders".column1=DECIMAL(9,2)', "--type", 'sales."a=b".column1=VARCHAR'),
    ]
    made = call(*arguments, "--json")
    assert (made.status, made.err, made.json["created"]) == (0, "", True)
    assert [table["path"] for table in made.json["tables"]] == [
        ["main", "my.orders"],
        ["sales", "a=b"],
    ]
    first = made.json["tables"][0]
    assert [column["type"] for column in first["columns"]] == ["DECIMAL(9,2)", "VARCHAR", "DATE"]

    again = call(*arguments)
    assert again.status == 0
    assert "already" in again.out
    assert made.json["snapshot"] in again.out
    assert call(*arguments, "--json").json == made.json | {"created": False}


def test_tables_lists_pins(pinned):
    made = call("tables", pinned, "--json")
    assert made.status == 0
    assert list(made.json) == ["snapshot", "manifest_sha256", "tables", "sources"]
    assert len(made.json["tables"]) == 6
    shown = call("tables", pinned).out
    assert made.json["snapshot"] in shown
    for table in made.json["tables"]:
        assert table["content_sha256"] in shown
    assert "sales.orders  1 row" in shown


def test_a_long_list_of_columns_is_cut_unless_all_is_asked_for(tmp_path):
    table = pyarrow.table({f"c{i}": [i] for i in range(70)})
    preview.pin({"t": table}, into=tmp_path / "s")
    assert "and 10 more columns" in call("tables", tmp_path / "s").out
    assert "c69 BIGINT" in " ".join(call("tables", tmp_path / "s", "--all").out.split())


def test_progress_is_for_terminals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a\n1\n")
    assert call("pin", "t=a.csv", "--into", "one").err == ""
    assert "\x1b" in call("pin", "t=a.csv", "--into", "two", terminal=True).err


# --- teaching -----------------------------------------------------------------------------------


def test_reasons_are_all_listed_in_order():
    made = call("reasons", "--json")
    assert made.status == 0
    assert [(r["code"], r["sentence"]) for r in made.json["reasons"]] == [
        (reason.value, reason.sentence) for reason in Reason
    ]
    shown = call("reasons").out
    places = [re.search(rf"(?m)^ +{reason.value} ", shown) for reason in Reason]
    assert [place.start() for place in places if place] == sorted(
        place.start() for place in places if place
    )
    assert all(places)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_lesson(reason):
    made = call("reasons", reason.value.upper(), "--json")
    assert made.status == 0
    assert made.json["sentence"] == reason.sentence
    shown = " ".join(call("reasons", reason.value).out.split())
    assert reason.sentence in shown
    example = made.json["example"]
    if example is None:
        assert reason not in lessons.examples()
    else:
        told = " ".join(example["verdicts"])
        assert reason.value in told.replace("engine ", "engine-")
        assert example["edit"] is None or example["edit"]["title"] in visible(shown)


def test_most_reasons_have_an_example_from_the_corpora_and_many_an_edit():
    made = lessons.examples()
    statements = {case.statement for case in cases()}
    assert len(made) > 55
    assert {example.statement for example in made.values()} <= statements
    assert sum(example.twin is not None for example in made.values()) > 45
    assert sum(example.edit is not None for example in made.values()) > 25


def test_an_unknown_reason_has_neighbours():
    assert "group-key-not-shown" in call("reasons", "group-key").err


@pytest.mark.long
def test_pages_are_fresh():
    assert pages.stale() == [], "run python -m tools.pages"


# --- marks and edits ----------------------------------------------------------------------------

FRAGMENTS = st.sampled_from(
    [
        *(
            "SELECT ",
            " FROM flights",
            " WHERE ",
            " GROUP BY ",
            " AND ",
            " OR ",
            " NOT ",
            " BETWEEN ",
        ),
        *(
            "carrier",
            "month",
            "distance",
            " AS x",
            "COUNT(*)",
            "SUM(distance)",
            "CAST(",
            "::",
            ", ",
        ),
        *(
            "(",
            ")",
            "[",
            "]",
            "'",
            '"',
            "`",
            "'UA'",
            "01",
            "1e3",
            "/*",
            "*/",
            "--",
            "\n",
            "\t",
            ";",
        ),
        *(
            "*",
            "+",
            "$",
            "$$",
            "?",
            "#1",
            " LIMIT ",
            " JOIN airlines",
            " OVER (",
            "COLUMNS(",
            "שלום",
        ),
        *(
            "\u202e",
            "\x1b",
            "東京",
            "\ud800",
            "e\u0301",
            "IN (",
            "= ",
            " UNION ",
            "WITH ",
            ":",
            ".",
        ),
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(FRAGMENTS, max_size=25).map("".join), st.sampled_from([20, 41, 80]))
def test_any_text_is_marked_mended_and_shown(statement, width):
    schema = Schema.of(SCHEMA)

    def judge(other: str) -> Any:
        return classify(other, schema)

    verdicts = judge(statement)
    found = marks(statement, verdicts, schema)
    for mark in found:
        assert 0 <= mark.start < mark.stop <= len(statement)
        assert mark.words.isascii() or mark.words == statement[mark.start : mark.stop]
    for edit in edits(statement, verdicts, schema):
        assert statement[: edit.start] + edit.text + statement[edit.stop :] == edit.statement
        assert judge(edit.statement).any_eligible
    for line in statement_lines(statement, found, width, isolate=True):
        assert line.cell_len <= width
        assert wrong_characters(line.plain) <= {"\u2068", "\u2069"}


@pytest.mark.parametrize(
    ("item", "bare"),
    [
        ("a", "a"),
        ("a AS b", "a"),
        ("a b", "a"),
        ('a "b c"', "a"),
        ("x: a + 1", "a + 1"),
        ("CASE WHEN a THEN b END", "CASE WHEN a THEN b END"),
        ("a IS NOT NULL", "a IS NOT NULL"),
        ("a COLLATE nocase", "a COLLATE nocase"),
        ("a::INTEGER", "a::INTEGER"),
        ("sum(a) OVER w", "sum(a) OVER w"),
        ("COUNT(*) n", "COUNT(*)"),
    ],
)
def test_an_alias_is_no_part_of_what_is_made(item, bare):
    layout = lay_out(f"SELECT {item} FROM t")
    assert layout.written(unaliased(layout.items[0])) == bare


# --- on the screen ------------------------------------------------------------------------------


def wrong_characters(text: str) -> set[str]:
    # What this interpreter does not know, the package's table may.
    kinds = {c: unicodedata.category(c) for c in text if c != "\n"}
    return {c for c, kind in kinds.items() if kind[0] == "C" and not (kind == "Cn" and is_shown(c))}


@pytest.mark.parametrize("verb", ["run", "capture"])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM odd",
        "SELECT * FROM wide",
        "SELECT * FROM many",
        "SELECT name AS \"\u202e\x1b[0m\", '\u2066' AS x, upper(name) || 'שלום' FROM odd -- \x07",
        "SELECT name, n,\n\tn + 1 AS more,\n upper(name) AS up, n * 2 AS twice\nFROM odd",
    ],
)
def test_what_is_shown_is_safe_and_fits(pinned, monkeypatch, statement, verb):
    answer = get_command(verbs.app).main(
        [verb, statement, "--snapshot", str(pinned)], standalone_mode=False
    )
    for columns in (40, 80, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = Stream()
        with redirect_stdout(out):
            shown = _shown(answer).decode()
        assert not wrong_characters(shown)
        assert max(map(cell_len, shown.split("\n"))) <= columns


def test_nothing_of_the_data_is_markup(pinned):
    found = call("run", "SELECT name FROM odd WHERE n = 3", "--snapshot", pinned)
    assert found.out.count("[bold]x[/bold] :smile:") == 2
    assert "\\u{1B}[31m\\u{202E}b" in call("run", "SELECT name FROM odd", "--snapshot", pinned).out


def test_colour_is_for_terminals(pinned, monkeypatch):
    arguments = ("check", "SELECT carrier, 1 AS one FROM flights", "--snapshot", pinned)
    assert "\x1b" not in call(*arguments).out
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[32m" in call(*arguments, terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", call(*arguments, terminal=True).out)


def test_text_from_right_to_left_is_isolated_on_terminals_only(pinned, monkeypatch):
    arguments = ("run", "SELECT name FROM odd WHERE name = 'שלום'", "--snapshot", pinned)
    assert "\u2068" not in call(*arguments).out
    monkeypatch.setenv("TERM", "dumb")
    found = call(*arguments, terminal=True).out
    assert found.count("\u2068") == found.count("\u2069") > 2
    assert "\u2068'שלום'\u2069" in found


def test_a_terminal_without_unicode(pinned):
    statement = "SELECT name FROM odd ORDER BY n LIMIT 1"
    found = call("run", statement, "--snapshot", pinned, encoding="ascii")
    assert found.status == 0
    assert "+ name odd.name" in found.out
    assert found.out.isascii()


def test_the_marks_stand_under_what_they_mark(pinned):
    statement = "SELECT carrier, upper('東京'), distance / 2 AS half\nFROM flights"
    found = call("check", statement, "--snapshot", pinned).out.split("\n")
    assert found[1:5] == [
        "  SELECT carrier, upper('東京'), distance / 2 AS half",
        "                  ^^^^^^^^^^^^^  ^^^^^^^^^^^^^^^^^^^^ arithmetic",
        "                  function",
        "  FROM flights",
    ]


def test_a_long_statement_is_shown_at_its_ends_and_where_it_is_marked(pinned):
    lines = [f"  -- line {i}" for i in range(200)]
    lines[100] = "  , upper(carrier)"
    statement = "\n".join(["SELECT distance", *lines, "FROM flights"])
    found = call("check", statement, "--snapshot", pinned).out
    assert "upper(carrier)" in found
    assert "line 50" not in found
    assert "\n  ...\n" in found
    too_long = call("check", "SELECT 1 -- " + "x" * 30_000, "--snapshot", pinned).out
    assert "characters" in too_long


@pytest.mark.long
def test_how_far_a_preview_reaches(pinned):
    def said(statement: str) -> str:
        return call("run", statement, "--snapshot", pinned).out

    assert "4 rows: the whole result, and the whole table." in said("SELECT * FROM flights")
    assert "chosen by WHERE, LIMIT." in said("SELECT * FROM flights WHERE month = 1 LIMIT 9")
    assert "The first 50 rows of a longer result." in said("SELECT id FROM many")
    assert "GROUP BY, DISTINCT" in said("SELECT DISTINCT carrier FROM flights GROUP BY carrier")
    assert "64 KiB" in said("SELECT repeat(t, 200) AS r, id FROM many")
    assert "30 more rows" in said("SELECT id FROM many")
    assert "more rows" not in call("run", "SELECT id FROM many", "--snapshot", pinned, "--all").out
    assert "1 cell withheld: The cell is NULL." in said("SELECT distance FROM flights")


def test_wide_results_are_shown_by_column(pinned):
    found = call("run", "SELECT * FROM wide", "--snapshot", pinned).out
    assert re.search(r"row 1 +row 2\n", found)
    assert re.search(r"(?m)^ +40 +column_39 +39 ✓ +390 ✓$", found)
    assert "30 more eligible outputs" in found
    everything = call("run", "SELECT * FROM wide", "--snapshot", pinned, "--all").out
    assert "39 ✓ column_38" in everything
    assert "more" not in everything


# --- the world ----------------------------------------------------------------------------------


def test_a_closed_pipe_is_quiet(folder):
    arguments = ["check", "SELECT carrier FROM flights", "--schema", str(folder / "schema.json")]
    for verb in (arguments, ["--help"], ["reasons", "--json"]):
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run(
            [*PROGRAM, *verb],
            stdout=writer,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        os.close(writer)
        assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_trouble(folder):
    for arguments in (["reasons"], ["reasons", "--json"], ["--help"], ["reasons", "x", "--json"]):
        with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
            ended = subprocess.run(
                [*PROGRAM, *arguments],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                check=False,
            )
        assert ended.returncode == 2
        assert re.fullmatch(r"eligibility: .+\n", ended.stderr)
        if "x" not in arguments:
            assert os.strerror(errno.ENOSPC) in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "closed", "status"),
    [
        (["reasons"], 1, 2),
        (["reasons", "--json"], 1, 2),
        (["--help"], 1, 2),
        (["reasons", "x"], 2, 2),
        (["check", "-", "--schema", "-"], 0, 2),
    ],
)
def test_a_standard_stream_that_is_not_there(arguments, closed, status):
    ended = subprocess.run(
        [*PROGRAM, *arguments],
        preexec_fn=lambda: os.close(closed),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ended.returncode == status
    assert ended.stderr.count("\n") == (0 if closed == 2 else 1)
    assert "Traceback" not in ended.stderr


def heed_interrupts() -> None:
    """Undo what a shell does to what it runs in the background: there, interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    "arguments", [("check", "--help"), ("ledger", "list", "--help"), ("run", "-h")]
)
def test_help_with_json_is_one_document_or_a_usage_error(arguments):
    for written in (("--json", *arguments), (*arguments, "--json")):
        found = call(*written)
        assert ("help" in found.json, found.status) in ((True, 0), (False, 2))
        assert found.json["help"].lstrip().startswith("Usage:") if found.status == 0 else found.err
    found = call("check", "--help", "--json")
    assert (found.status, list(found.json), found.err) == (0, ["help"], "")


def test_a_first_row_that_is_too_long_is_not_called_no_rows(tmp_path):
    long = pyarrow.table({"a": ["x" * 70_000, "y"]})
    preview.pin({"t": long}, into=tmp_path / "pinned")
    for verb in ("run", "capture"):
        found = call(verb, "SELECT a FROM t", "--snapshot", tmp_path / "pinned")
        assert "the first one is over the limit of 64 KiB" in " ".join(found.out.split())
        assert "0 rows" not in found.out


def has_worked_child_of_child(pid: int) -> bool:
    """Say whether the process that runs a program's statement is at work on it."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,times="], stdout=subprocess.PIPE, text=True, check=True
    )
    rows = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    children = {one for one, parent, _ in rows if parent == pid}
    return any(parent in children and seconds > 1 for _, parent, seconds in rows)


def test_an_interrupt_ends_the_program_and_the_engine(pinned):
    statement = "SELECT sum(a.range * b.range) FROM range(100000) a, range(1000000) b"
    process = subprocess.Popen(
        [*PROGRAM, "run", statement, "--snapshot", str(pinned), "--timeout", "1000"],
        preexec_fn=heed_interrupts,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    while not has_worked_child_of_child(process.pid):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_bytes_that_are_not_text(folder):
    ended = program("check", b"SELECT '\xff\x80'", "--schema", str(folder / "schema.json"))
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "\\u{DCFF}" in ended.stdout
    absent = program("tables", b"/tmp/\xff\x1b[31m")
    assert absent.returncode == 2
    assert "\\u{DCFF}\\u{1B}" in absent.stderr


def test_the_program_without_and_with_a_version(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    nothing = call()
    assert (nothing.status, nothing.err) == (2, "eligibility: no verb was given\n")
    assert nothing.out == pages.help_of("")
    version = call("--version")
    assert version.status == 0
    assert "\nduckdb 2.0.1\nsqlglot 30.30.0\n" in version.out


@pytest.mark.parametrize("verb", ["", *pages.verbs()])
def test_help_loads_no_engine(verb):
    code = (
        "import sys; from evidence_adapters.cli import main\n"
        f"sys.argv = ['eligibility', *{verb.split()!r}, '--help']\n"
        "try: main()\n"
        "finally: print('\\nloaded', *sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    shown, _, loaded = ended.stdout.rpartition("\nloaded")
    assert not set(loaded.split()) & {"duckdb", "pyarrow", "sqlglot", "rich"}
    assert shown.startswith("Usage: eligibility")


def test_the_verbs_are_those_of_the_specification():
    specified = ["pin", "check", "run", "capture", "release", "tables", "reasons"]
    assert pages.verbs()[: len(specified)] == specified


def test_defaults_are_those_of_the_recorder():
    assert limits.TIMEOUT_S == recorder.TIMEOUT_S
    assert limits.MEMORY_MIB * 2**20 == recorder.MEMORY_BYTES
    assert limits.MEMORY_MIB_MIN * 2**20 == recorder.MEMORY_BYTES_MIN


def test_messages_are_one_visible_line():
    assert one_line("Binder Error: no\ncolumn \x1b\n\nLINE 1: SELECT x\n       ^") == (
        "Binder Error: no column \\u{1B}"
    )
    name = ("a", 'b"c', "d=e")
    assert inputs.name_before('a."b""c"."d=e"=f=g') == (name, "f=g")
    assert inputs.written(name) == 'a."b""c"."d=e"'


def test_the_page_lists_every_code_of_trouble():
    page = pages.CLI.read_text().split("On status 2")[1].split("## On a terminal")[0]
    listed = set(re.findall(r"(?m)^\| `([a-z-]+)` \|", page))
    kinds = [preview.PreviewError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    raised = {kind.code for kind in kinds[1:]}
    # The reason's own code stands for the one, and the program closes its recorder last.
    raised -= {preview.StatementRefused.code, preview.RecorderClosed.code}
    own = {trouble.USAGE, trouble.FILE, trouble.SCHEMA, trouble.LINE, trouble.WORKER}
    assert listed == raised | own


def test_the_program_starts_in_both_ways(monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["eligibility", "reasons", "cast", "--json"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("evidence_adapters", run_name="__main__")
    assert ended.value.code == 0
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert script == {"eligibility": "evidence_adapters.cli:main"}
    assert json.loads(capfd.readouterr().out)["code"] == "cast"

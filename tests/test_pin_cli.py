"""`pin` at the command line: its options, what it says of how a source was read, and its progress."""

import gzip
import json
import os
import pty
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

import preview
from eligibility.sql.manifest import (
    DelimitedDialect,
    DeltaOrigin,
    Doubt,
    IcebergOrigin,
    JsonDialect,
    Origin,
    PostgresOrigin,
    Prepared,
    PreparedOrigin,
    ReadOptions1,
    SourceFile,
    SqliteOrigin,
    TableSource,
    TableSource1,
    TextColumn,
    TypedColumn,
    TypedDialect,
)
from evidence_adapters.cli import dialects, inputs
from evidence_adapters.cli.options import Given, byte_size, read_options
from evidence_adapters.cli.program import run
from evidence_adapters.cli.trouble import Trouble
from evidence_adapters.cli.verbs import app
from preview import ReadOptions
from preview.pinning import UNPACKED_BYTES_MAX
from preview.sources.doubts import in_words
from tools import pages

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "pinning.md"
HELP = " ".join(pages.help_of("pin").split())


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


Call = Callable[..., Outcome]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Call:
    """Give a way to call the program in a new folder, on a screen of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*arguments: str) -> Outcome:
        capfd.readouterr()
        status = run(app, arguments)
        return Outcome(status, *capfd.readouterr())

    return called


# --- options --------------------------------------------------------------------------------------

TEXT = "1;NA;01/02/2020;1.234,50; x \n2;b;03/04/2020;2;y\n"
READ: dict[str, tuple[list[str], dict[str, Any]]] = {
    "nothing": ([], {"header": False, "delimiter": ";", "given": ["header"]}),
    "a delimiter for all": (["--delimiter", ";"], {"delimiter": ";"}),
    "a delimiter for one": (["--delimiter", "t=;", "--delimiter", ","], {"delimiter": ";"}),
    "a header for one": (["--header", "main.u"], {"header": False, "given": ["header"]}),
    "lines": (["--skip", "t=1", "--skip", "0"], {"skip": 1}),
    "an encoding": (["--encoding=t=latin-1"], {"encoding": "iso8859-1"}),
    "a comment": (["--comment", "2", "--delimiter", ";"], {"comment": "2"}),
    "texts for NULL": (
        ["--null", "NA", "--null", "t=a=b", "--null", "NA"],
        {"null": ["NA", "a=b"]},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_an_option_of_a_table_is_recorded(call, name):
    arguments, expected = READ[name]
    Path("a.csv").write_text(TEXT)
    preview.pin({"u": pyarrow.table({"a": [1]})}, into="other")
    sources = ["t=a.csv", "u=other/snapshot.duckdb::u"]
    found = call("pin", *sources, "--no-header", "t", *arguments, "--into", "x", "--json")

    assert (found.status, found.err) == (0, "")
    dialect = found.json["sources"][0]["dialect"]
    assert {key: dialect[key] for key in expected} == expected


def test_options_of_columns_are_recorded(call):
    Path("a.csv").write_text(TEXT)
    found = call(
        *("pin", "t=a.csv", "--into", "x", "--json", "--no-header"),
        *("--names", 't=id,"a,b",day,sum,note'),
        *("--date-format", "t.day=%d/%m/%Y", "--decimal", ",", "--thousands", "t.sum=."),
        *("--type", "t.id=DOUBLE", "--trim", "main.t.note"),
    )
    assert (found.status, found.err) == (0, "")
    columns = {column["name"]: column for column in found.json["sources"][0]["dialect"]["columns"]}
    assert list(columns) == ["id", "a,b", "day", "sum", "note"]
    assert columns["id"]["given"] == ["name", "type", "decimal"]
    assert columns["day"]["date_format"] == "%d/%m/%Y"
    assert (columns["sum"]["decimal"], columns["sum"]["thousands"]) == (",", ".")
    assert [column["trim"] for column in columns.values()] == [False] * 4 + [True]
    types = [column["type"] for column in found.json["tables"][0]["columns"]]
    assert types == ["DOUBLE", "VARCHAR", "DATE", "DECIMAL(18,2)", "VARCHAR"]


SWITCHED: dict[str, tuple[list[str], tuple[str | None, ...]]] = {
    "alone, before an option": (["t=a.csv", "--trim", "--into", "x"], (None,)),
    "alone, before a source": (["--trim", "t=a.csv", "--into", "x"], (None,)),
    "alone, at the end": (["t=a.csv", "--into", "x", "--trim"], (None,)),
    "of a table": (["--trim", "t", "t=a.csv", "--into", "x"], (None,)),
    "of a column": (["--trim", "t.column5", "t=a.csv", "--into", "x"], ("column5",)),
    "of a column, with an equals sign": (
        ["--trim=t.column5", "t=a.csv", "--into", "x"],
        ("column5",),
    ),
    "of a column in quotes": (
        ['"a=b"=a.csv', "--trim", '"a=b"."column5"', "--into", "x"],
        ("column5",),
    ),
    "as the text of another option": (["t=a.csv", "--null", "--trim", "--into", "x"], ()),
    "of two columns": (
        ["--trim", "t.column5", "--trim", "t.column1", "--into", "x", "--", "t=a.csv"],
        ("column5", "column1"),
    ),
}


@pytest.mark.parametrize("name", SWITCHED)
def test_a_value_of_a_switch_may_be_left_out(call, name):
    arguments, expected = SWITCHED[name]
    Path("a.csv").write_text(TEXT)
    found = call("pin", "--json", "--no-header", *arguments)

    assert (found.status, found.err) == (0, "")
    columns = found.json["sources"][0]["dialect"]["columns"]
    trimmed = {column["name"] for column in columns if column["trim"]}
    assert trimmed == ({c["name"] for c in columns} if expected == (None,) else set(expected))


def test_options_that_no_file_here_has():
    tables: list[inputs.TableName] = [("t",), ("s", "u")]
    given = Given(
        format=["json", "s.u=parquet"],
        records=["main.t=/a=b", "/c"],
        partitions=["s.u"],
        name=["t.1=id", "t.12=a=b"],
        decimal=["s.u=,", "s.u.a=."],
        trim=["s.u", "t.a"],
        header=["t"],
        no_header=[""],
    )
    assert read_options(given, tables) == {
        ("t",): ReadOptions.of(
            format="json", records="/a=b", name={1: "id", 12: "a=b"}, trim=["a"], header=True
        ),
        ("s", "u"): ReadOptions(
            format="parquet",
            records="/c",
            partitions=True,
            decimal=((None, ","), ("a", ".")),
            trim=(None,),
            header=False,
        ),
    }
    assert read_options(Given(), tables) == dict.fromkeys(tables, ReadOptions())
    # A column of one table stands before a table of the same name.
    both = read_options(Given(decimal=["t.u=,"]), [("t",), ("t", "u")])
    assert both["t",].decimal == (("u", ","),)
    assert both["t", "u"].decimal == ()


WRONG: dict[str, tuple[dict[str, list[str]], str]] = {
    "no such table": ({"types": ["x.a=INTEGER"]}, "--type is given for x, .* pinned: t, s.u$"),
    "no such table for all": ({"delimiter": ["x=;"]}, "--delimiter is given for x, which"),
    "no such column's table": ({"trim": ["x.a"]}, "--trim is given for x.a, which is not pinned"),
    "no such table of a switch": ({"header": ["x"]}, "given for x, which is not pinned; pinned: t"),
    "a switch with odd names": ({"partitions": ['"']}, "not the name of a table"),
    "a text with an equals sign": ({"null": ["a=b"]}, "write --null t=a=… if"),
    "four parts": ({"trim": ["a.b.c.d"]}, "not pinned"),
    "a column without type": ({"types": ["t.a="]}, "not of the form T.COLUMN=TYPE"),
    "a table without column": ({"types": ["t=INTEGER"]}, "not of the form T.COLUMN=TYPE"),
    "no format": ({"date_format": ["t.a"]}, "not of the form T.COLUMN=FORMAT"),
    "a type twice": (
        {"types": ["t.a=DATE", "main.t.a=DATE"]},
        "--type is given twice for main.t.a",
    ),
    "a delimiter twice": ({"delimiter": [";", ","]}, "--delimiter is given twice$"),
    "a delimiter of a table twice": ({"delimiter": ["t=;", "t=,"]}, "given twice for t$"),
    "a header and none": ({"header": [""], "no_header": [""]}, "--header or --no-header is given"),
    "a header and none of one": ({"header": ["t"], "no_header": ["t"]}, "given twice for t$"),
    "a mark twice": ({"decimal": [",", "."]}, "--decimal is given twice$"),
    "a mark of a column twice": ({"trim": ["t.a", "t.a"]}, "--trim is given twice for t.a$"),
    "no mark": ({"thousands": ["t.a="]}, "there is nothing behind it"),
    "a mark that is no name": ({"trim": ["a..b"]}, "not of the form TABLE.COLUMN"),
    "no delimiter": ({"delimiter": [""]}, "there is nothing behind it"),
    "no comment": ({"comment": ["t="]}, "there is nothing behind it"),
    "no number of lines": ({"skip": ["-1"]}, "--skip takes a whole number"),
    "lines in other digits": ({"skip": ["٣"]}, "--skip takes a whole number"),
    "endless lines": ({"skip": ["9" * 16]}, "--skip takes a whole number"),
    "position zero": ({"name": ["t.0=a"]}, "counted from 1"),
    "a position that is none": ({"name": ["t.a=a"]}, "counted from 1"),
    "no names": ({"names": ["a,,b"]}, "--names takes names with commas between"),
    "names that do not close": ({"names": ['a,"b']}, "--names takes names with commas between"),
    "names behind a quote": ({"names": ['"a"b']}, "--names takes names with commas between"),
    "a format that is none": ({"format": ["xlsx"]}, "one of csv, tsv, json, parquet, arrow$"),
    "no Unicode": ({"null": ["\udcff"]}, "--null: what is behind it is not Unicode"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_says_what_to_do(name):
    written, said = WRONG[name]
    with pytest.raises(Trouble, match=said) as raised:
        read_options(Given(**written), [("t",), ("s", "u")])
    assert raised.value.code == "usage"
    assert "\n" not in raised.value.message


def test_a_column_that_is_not_there_is_told_with_those_that_are(call):
    Path("a.csv").write_text(
        ",".join(f"c{number}" for number in range(30)) + "\n" + "1," * 29 + "1\n"
    )
    for option in (["--type", "t.x=DATE"], ["--trim", "t.x"], ["--decimal", "t.x=,"]):
        found = call("pin", "t=a.csv", "--header", "--into", "x", *option)
        assert found.status == 2
        assert f"no column x, yet {option[0]} names it; it has c0, c1, " in found.err
        assert found.err.endswith("c19 and 10 more\n")


def test_no_more_tables_are_named_than_can_be_read():
    tables = [(f"t{number:02}",) for number in range(30)]
    with pytest.raises(Trouble, match=r"t09 and 20 more$"):
        read_options(Given(types=["x.a=DATE"]), tables)


def test_sizes():
    assert byte_size("1") == 1
    assert byte_size("2k") == byte_size("2KiB") == 2048
    assert byte_size("3M") == byte_size("3mib") == 3 * 2**20
    assert byte_size("16GiB") == UNPACKED_BYTES_MAX
    for wrong in ("", "0", "-1", "1.5G", "1T", "1iB", "1 G", "٣", "9" * 19 + "G"):
        with pytest.raises(Trouble, match="--max-bytes takes a whole number"):
            byte_size(wrong)


def test_max_bytes_and_strict_are_heeded(call):
    Path("a.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * 2000))
    large = call("pin", "t=a.csv.gz", "--into", "x", "--max-bytes", "2K")
    assert large.status == 2
    assert "--max-bytes" in large.err
    assert call("pin", "t=a.csv.gz", "--into", "x", "--max-bytes", "4K").status == 0

    Path("b.csv").write_text("a\n1\n2\nx\n")
    strict = call("pin", "t=b.csv", "--into", "y", "--strict")
    assert strict.status == 2
    assert "--type t.a=VARCHAR" in strict.err or "--null" in strict.err
    assert not Path("y").exists()


def test_a_format_may_be_given_where_the_name_does_not_tell(call):
    rows = pyarrow.table({"a": [1, 2]})
    parquet.write_table(rows, "data.bin")
    Path("data.txt").write_text("a,b\n1,2\n")
    Path("tabs.txt.gz").write_bytes(gzip.compress(b"a,b\tc\n1,2\t3\n"))

    unknown = call("pin", "t=data.txt", "--into", "x")
    assert unknown.status == 2
    assert "data.txt: its kind is not known from its name; say which it is, as in --format csv" in (
        unknown.err
    )
    made = call(
        *("pin", "t=data.txt", "u=tabs.txt.gz", "v=data.bin", "w=*.bin", "--into", "x", "--json"),
        *("--format", "csv", "--format", "u=tsv", "--format", "v=parquet", "--format", "w=parquet"),
    )
    assert (made.status, made.err) == (0, "")
    assert [source["format"] for source in made.json["sources"]] == ["csv", "csv"] + ["parquet"] * 2
    assert [column["name"] for column in made.json["tables"][1]["columns"]] == ["a,b", "c"]
    for wrong in (
        ["t=*.bin"],
        ["t=*.bin", "--format", "csv"],
        ["t=tabs.txt.gz", "--format", "arrow"],
    ):
        assert call("pin", *wrong, "--into", "y").status == 2


def test_a_source_may_hold_anything_behind_its_name():
    spelled = [
        "a=delta:folder/orders@3",
        "b=iceberg:metadata/v2.metadata.json@123",
        "c=postgresql:service::public.orders",
        "d=@orders_wide.sql",
        "e=file.sqlite::a=b",
        "f=folder/year=2020/*.parquet",
    ]
    found = inputs.sources(spelled)
    assert [f"{name[0]}={source}" for name, source in found.items()] == spelled


def test_no_argument_that_may_hold_a_password_is_printed(call):
    for argument in ("postgresql://me:secret@host/db", "=secret", "a.b.c=secret", "t="):
        found = call("pin", argument, "--into", "x")
        assert found.status == 2
        assert "secret" not in found.err
        assert "NAME=SOURCE, as in t=file.csv" in found.err


# --- help -----------------------------------------------------------------------------------------


def test_every_option_of_reading_stands_in_the_help_with_an_example():
    options = set(re.findall(r" (--[a-z-]+) ", HELP)) - {"--into", "--json", "--help"}
    fields = {name.replace("_", "-") for name in ReadOptions.model_fields} - {"types"}
    assert options == {f"--{name}" for name in fields} | {
        *("--no-header", "--type", "--strict", "--max-bytes")
    }
    for option in options:
        assert len(re.findall(rf"{option}(?= |$)", HELP)) >= 2, option


def test_the_help_fits_a_screen_of_80_columns():
    assert max(map(len, pages.help_of("pin").splitlines())) < 80


# --- what is said ---------------------------------------------------------------------------------


def _pinned(call: Call, *arguments: str) -> Outcome:
    found = call("pin", *arguments, "--into", "x")
    assert (found.status, found.err) == (0, "")
    return found


def test_pin_prints_exactly_this_document(call):
    Path("a.csv").write_text("id,day\n1,01/02/2020\n2,13/04/2020\n")
    made = call("pin", "t=a.csv", "--into", "x", "--null", "NA", "--json").json

    assert list(made) == ["snapshot", "manifest_sha256", "tables", "sources", "created"]
    (source,) = made["sources"]
    plain: dict[str, Any] = {
        "decimal": ".",
        "thousands": None,
        "trim": False,
        "date_format": None,
        "rounded": 0,
        "missing": 0,
        "given": [],
    }
    assert source == {
        "path": ["main", "t"],
        "format": "csv",
        "name": "a.csv",
        "table": None,
        "files": source["files"],
        "dialect": {
            "kind": "delimited",
            "encoding": "utf-8",
            "mark": False,
            "skip": 0,
            "comment": None,
            "delimiter": ",",
            "header": True,
            "null": ["NA"],
            "columns": [
                {"name": "id", "type": "BIGINT", **plain},
                {"name": "day", "type": "VARCHAR", **plain},
            ],
            "partitions": [],
            "given": ["null"],
        },
        "doubts": [
            {
                "code": "other-format",
                "column": "day",
                "values": 2,
                "of": 2,
                "type": "DATE",
                "lines": [],
                "option": "--date-format t.day=%d/%m/%Y",
            }
        ],
        "origin": None,
    }
    assert call("tables", "x", "--json").json == {k: v for k, v in made.items() if k != "created"}


def test_pin_and_tables_say_how_a_file_was_read(call):
    Path("a.csv").write_text("# made\nid;day;sum\n#x\n1;01/02/2020;0,1\n2;13/04/2020;NA\n")
    arguments = ("t=a.csv", "--skip", "1", "--comment", "#", "--null", "NA", "--decimal", "t.sum=,")
    shown = _pinned(call, *arguments, "--type", "t.sum=DOUBLE", "--header").out

    told = " ".join(shown.split())
    assert "t 2 rows from a.csv, 54 bytes" in told
    assert (
        "read as utf-8 (found) · semicolon between fields (found) · header (given) · 1 line skipped (given) · "
        "no records that begin with '#' (given) · NULL also as 'NA' (given)"
    ) in told
    assert "id BIGINT, day VARCHAR, sum DOUBLE (type given, decimal comma)" in told
    assert "1 doubt: what looks like more than it was read as" in told
    assert "column day: it is text, though all 2 values look like DATE in another format" in told
    assert "→ --date-format t.day=%d/%m/%Y\n" in shown
    later = call("tables", "x").out
    assert later.split("manifest", 1)[1] == shown.split("manifest", 1)[1]


def test_the_option_of_a_doubt_can_be_pasted(call):
    column = 'the day\'s "date" of a name that is longer than a line of a narrow screen has room'
    Path("a.csv").write_text('n,"' + column.replace('"', '""') + '"\n1,01/02/2020\n2,13/04/2020\n')
    arguments = ["""my "o'clock".t=a.csv""".replace('my "o\'clock"', '"my ""o\'clock"""')]
    shown = _pinned(call, *arguments).out
    option = next(line for line in shown.splitlines() if "→" in line).split("→ ")[1]

    settled = call("pin", *arguments, *shlex.split(option), "--into", "y", "--json")
    assert settled.status == 0
    assert settled.json["sources"][0]["doubts"] == []
    assert settled.json["tables"][0]["columns"][1]["type"] == "DATE"


def test_what_could_be_read_in_two_ways_is_told_with_both(call):
    Path("a.csv").write_text('id,day,n,m\n1,01/02/2020,"1,234","1,234.5"\n2,03/04/2020,"5,678",7\n')
    options = [
        line.split("→ ")[1] for line in _pinned(call, "t=a.csv").out.splitlines() if "→" in line
    ]
    assert options == [
        "--date-format t.day=%d/%m/%Y or --date-format t.day=%m/%d/%Y",
        "--thousands t.n=, or --decimal t.n=,",
        "--thousands t.m=,",
    ]


def test_a_header_over_texts_alone_is_told(call):
    Path("a.csv").write_text("a,b\nx,y\n")
    assert "assumed over text alone; say --no-header if" in " ".join(
        _pinned(call, "t=a.csv").out.split()
    )


def test_nothing_of_a_cell_is_said(call):
    cell = "zebra"
    Path("a.csv").write_text(f"a,b\n1,{cell}1\n2,{cell}2\n{cell},{cell}3\n")
    shown = _pinned(call, "t=a.csv").out
    assert "in line 4" in shown
    assert cell not in shown
    for arguments in (["--type", "t.a=BIGINT"], ["--strict"]):
        failed = call("pin", "t=a.csv", "--into", "y", *arguments)
        assert failed.status == 2
        assert cell not in failed.err


def test_long_lists_are_cut_and_say_what_shows_them(call):
    names = [f"c{number}" for number in range(70)]
    days = ",".join(["01/02/2020"] * 70)
    Path("a.csv").write_text(f"{','.join(names)}\n{days}\n{days}\n")
    shown = _pinned(call, "t=a.csv").out

    assert "and 10 more columns (eligibility tables x --all shows them)" in shown
    assert "and 60 more doubts (eligibility tables x --all shows them)" in shown
    assert shown.count("→") == 10
    assert "60 more doubts (--all shows them)" in call("tables", "x").out
    assert call("tables", "x", "--all").out.count("→") == 70


def test_a_doubt_in_words():
    def words(code: Any, values: int, lines: tuple[int, ...] = (), column: str | None = "c") -> str:
        doubt = Doubt(
            code=code, column=column, values=values, of=2000, type="DATE", lines=lines, option="--x"
        )
        return in_words(doubt)

    some, all_ = "1,999 of 2,000 values look like DATE", "all 2,000 values look like DATE"
    begun = "column c: it is text, though"
    assert (
        words("mostly-typed", 1999, (7,)) == f"{begun} {some} (not so in line 7); settle it by --x"
    )
    assert words("mostly-typed", 1999, (7, 1000)) == (
        f"{begun} {some} (not so in lines 7, 1,000); settle it by --x"
    )
    assert words("one-text-for-null", 1999, (7,)) == (
        f"{begun} {some} (all others are one text, as in line 7); settle it by --x"
    )
    assert words("other-format", 2000) == f"{begun} {all_} in another format; settle it by --x"
    assert words("several-offsets", 2000) == (
        f"{begun} {all_}: more than one offset from UTC; settle it by --x"
    )
    assert words("folder-names", 0, column=None) == (
        "the names of its folders look like columns; settle it by --x"
    )


def _source(**fields: Any) -> TableSource:
    whole: dict[str, Any] = {
        "path": ("main", "t"),
        "format": "csv",
        "name": "a.csv",
        "table": None,
        "files": (),
        "dialect": None,
        "doubts": (),
        "origin": None,
    }
    return TableSource(**(whole | fields))


def test_where_rows_came_from_in_words():
    def file(size: int) -> SourceFile:
        return SourceFile(name="a", size=size, sha256="0" * 64)

    assert dialects.origin(_source(name=None)) == "memory"
    assert dialects.origin(_source(files=(file(1),))) == "a.csv, 1 byte"
    assert dialects.origin(_source(table="t", files=(file(1536),) * 2)) == (
        "a.csv::t, 2 files, 3.0 KiB"
    )
    assert [dialects.size(size) for size in (0, 1023, 1024, 2**20, 5 * 2**40, 2**62)] == [
        *("0 bytes", "1023 bytes", "1.0 KiB", "1.0 MiB", "5.0 TiB", "4,096.0 PiB")
    ]


VERSIONS: list[tuple[Origin, str]] = [
    (
        DeltaOrigin(table_id="ab-1", version=1234, log_sha256="0" * 64),
        "version 1,234 of the Delta Lake table ab-1",
    ),
    (
        IcebergOrigin(
            table_uuid="cd-2",
            snapshot_id="77",
            schema_id=0,
            manifest_list="x.avro",
            metadata_sha256="0" * 64,
        ),
        "snapshot 77 of the Iceberg table cd-2",
    ),
    (SqliteOrigin(sqlite="3.45.1"), "read by SQLite 3.45.1"),
    (PostgresOrigin(server="16.1", snapshot="3-1"), "PostgreSQL 16.1, snapshot 3-1"),
    (
        PreparedOrigin(
            statement="SELECT 1",
            statement_sha256="1" * 64,
            reads=(Prepared(path=("main", "t"), content_sha256="2" * 64),),
        ),
        f"a query over main.t, SHA-256 {'1' * 64}",
    ),
]


@pytest.mark.parametrize(("origin", "said"), VERSIONS)
def test_which_version_was_read_in_words(origin, said):
    assert dialects.version(origin) == said


def test_decisions_in_words():
    def delimited(**fields: Any) -> tuple[str, ...]:
        whole: dict[str, Any] = {
            "encoding": "utf-16-le",
            "mark": True,
            "skip": 0,
            "comment": None,
            "delimiter": "^",
            "header": False,
            "null": (),
            "columns": (),
            "given": ("encoding", "delimiter", "header"),
        }
        return dialects.decisions(DelimitedDialect(**(whole | fields)))

    assert delimited() == (
        "utf-16-le with a mark (given)",
        "'^' between fields (given)",
        "no header (given)",
    )
    assert delimited(delimiter=None, skip=2000, given=("skip", "header"))[1:] == (
        *("one field a record (found)", "no header (given)", "2,000 lines skipped (given)"),
    )
    assert delimited(delimiter="\t", header=True)[1:] == (
        "tab between fields (given)",
        "header (given)",
    )
    assert delimited(header=True, given=())[2] == "header (assumed)"
    assert delimited(null=("o'k",))[-1] == "NULL also as 'o''k' (given)"
    json_dialect = JsonDialect(
        encoding="utf-8", mark=False, layout="array", records="/a", columns=(), given=("records",)
    )
    assert dialects.decisions(json_dialect) == (
        *("utf-8 (found)", "one list of objects", "the list at '/a' (given)"),
    )
    lines = json_dialect.model_copy(update={"layout": "lines", "records": None})
    assert dialects.decisions(lines) == ("utf-8 (found)", "objects one after the other")
    assert dialects.decisions(TypedDialect()) == dialects.decisions(None) == ()


def test_columns_in_words():
    plain = TextColumn(name="a", type="BIGINT")
    full = TextColumn(
        name="b",
        type="DOUBLE",
        decimal=",",
        thousands=".",
        trim=True,
        date_format="%d",
        rounded=1234,
        missing=2,
        given=("name", "type"),
    )
    notes = (
        "name given, type given, as %d, decimal comma, groups by point, trimmed, "
        "1,234 rounded to the nearest, no key in 2 records"
    )
    dialect = JsonDialect(
        encoding="utf-8", mark=False, layout="lines", records=None, columns=(plain, full)
    )
    assert dialects.column_notes(dialect) == {"b": notes}
    typed = TypedDialect(
        columns=(TypedColumn(name="t", source_type="float16", type="FLOAT"),),
        partitions=(plain, full),
        texts=(TextColumn(name="x", type="DATE", given=("type",)),),
    )
    assert dialects.column_notes(typed) == {
        "t": "from float16",
        "x": "type given",
        "a": "from folder names",
        "b": f"from folder names; {notes}",
    }
    assert dialects.column_notes(None) == {}


def test_of_format_1_is_said_what_was_given():
    source = TableSource1(
        path=("main", "t"), format="csv", name="a.csv", table=None, options=None, files=()
    )
    assert dialects.decisions_1(source) == ()
    options = ReadOptions1(null=("NA",), delimiter=";", header=False, types=(("a", "DATE"),))
    assert dialects.decisions_1(source.model_copy(update={"options": options})) == (
        *("semicolon between fields (given)", "no header (given)", "NULL also as 'NA' (given)"),
        *("a DATE (given)", "what was found is not recorded"),
    )
    found = ReadOptions1(null=(), delimiter=None, header=None, types=())
    assert dialects.decisions_1(source.model_copy(update={"options": found})) == (
        "what was found is not recorded",
    )


# --- progress -------------------------------------------------------------------------------------


def _on_a_terminal(*arguments: str) -> tuple[int, str]:
    """Run the real program on a terminal of its own, and give all that it wrote."""
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - another process
        os.execve(  # noqa: S606
            sys.executable,
            [sys.executable, "-m", "evidence_adapters", *arguments],
            {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "80"},
        )
    written = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        written += block
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), written.decode()


def _said_before(written: str, answer: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    return plain.partition(answer)[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    parquet.write_table(pyarrow.table({"a": list(range(1000))}), "a.parquet")
    return tmp_path


def test_what_is_done_is_shown_from_the_start_and_gone_at_the_end(folder):
    status, written = _on_a_terminal("pin", "t=a.parquet", "--into", "x")
    assert status == 0
    assert _said_before(written, "Pinned.").lstrip("\r\n").startswith("pinning")
    # The line is wiped and the cursor is back.
    assert "\x1b[2K" in written.partition("Pinned.")[0]
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l") >= 0

    status, written = _on_a_terminal("check", "SELECT a FROM t", "--snapshot", "x")
    assert status == 0
    assert "opening the snapshot" in _said_before(written, "SELECT a FROM t")


def test_every_verb_that_opens_a_snapshot_shows_it(folder):
    preview.pin({"t": "a.parquet"}, into="x")
    for verb in (["tables", "x"], ["run", "SELECT count(*) FROM t", "--snapshot", "x", "--json"]):
        _, written = _on_a_terminal(*verb)
        assert "opening the snapshot" in written


def test_opening_tells_how_far_it_is(folder):
    preview.pin({"t": "a.parquet"}, into="x")
    told: list[tuple[str, int, int | None]] = []
    opened = preview.open_snapshot("x", progress=lambda *far: told.append(far))
    size = opened.manifest.database.size
    assert told[-1] == ("verifying snapshot.duckdb", size, size)

    pinned: list[str] = []
    preview.pin({"t": "a.parquet"}, into="y", progress=lambda what, *_: pinned.append(what))
    assert pinned[0] == "hashing a.parquet"
    assert pinned[-1] == "verifying snapshot.duckdb"


# --- the page -------------------------------------------------------------------------------------

SESSIONS = re.findall(r"(?ms)^```console\n(.*?)^```$", PAGE.read_text())


def _matches(printed: list[str], shown: list[str]) -> bool:
    """Say whether lines are as a page shows them; `…` stands for any lines, or none."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(_matches(printed[at:], shown[1:]) for at in range(len(printed) + 1))
    return printed[:1] == shown[:1] and _matches(printed[1:], shown[1:])


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_the_page_shows_what_is_printed(call, number):
    steps = re.split(r"(?m)^\$ ", SESSIONS[number])[1:]
    assert len(steps) >= 2
    for step in steps:
        command, _, shown = step.partition("\n")
        if command.startswith("cat "):
            Path(command.removeprefix("cat ")).write_text(shown)
            continue
        program, *arguments = shlex.split(command)
        assert program == "eligibility"
        done = call(*arguments)
        assert _matches((done.out + done.err).splitlines(), shown.splitlines()), done


def test_the_page_has_an_example_of_every_part():
    assert len(SESSIONS) >= 7
    assert not _matches(["a", "b"], ["a"])
    assert _matches(["a", "b", "c"], ["…", "b", "…"])

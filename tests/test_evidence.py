"""What crosses a process or a file: closed models, schemas by hand, JSON from outside."""

import itertools
import json
import re
import sys
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from eligibility.reasons import Reason
from eligibility.sql import facts, schema, shape, verdicts
from eligibility.sql import observation as observed
from eligibility.sql.facts import CLAIMS_MAX, Claim, Complete, Fact, Release
from eligibility.sql.literal import EXACT_TEXT_MAX, exact_text
from eligibility.sql.observation import (
    Cell,
    Engine,
    EngineReading,
    Observation,
    OutputColumn,
    ReturnedPreview,
)
from eligibility.sql.schema import Column, Pin, Schema, Table, casefold
from eligibility.sql.shape import (
    Comparison,
    Connective,
    InList,
    IsNull,
    Like,
    Negation,
    Predicate,
    Truth,
    Unstatable,
    Value,
    conjoin,
    measure,
    unstatable_reasons,
)
from eligibility.sql.types import base_name, decimal_size, type_class
from eligibility.sql.verdicts import Filter, Label, SelectionFlags, Verdict, Verdicts
from eligibility.wire import untrusted
from eligibility.wire.canonical import canonical_bytes
from eligibility.wire.escape import is_shown
from eligibility.wire.model import Model
from eligibility.wire.untrusted import JSON_BYTES_MAX, JSON_NESTING_MAX, EvidenceError, from_json

NO_HASH = "0" * 64
CELL = {"type": "INTEGER", "text": "1"}
PREVIEW: dict[str, Any] = {
    "columns": [{"position": 0, "name": "a", "type": "INTEGER"}],
    "rows": [[CELL]],
    "truncated": None,
}
CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(tuple[Claim, ...])


def observation(**changes: Any) -> Observation:
    fields: dict[str, Any] = {
        "statement": "SELECT a FROM t",
        "statement_sha256": NO_HASH,
        "snapshot": NO_HASH,
        "manifest_sha256": NO_HASH,
        "pins": (
            Pin(
                path=("main", "t"),
                columns=(Column(name="a", type="INTEGER"),),
                rows=1,
                content_sha256=NO_HASH,
            ),
        ),
        "engine": Engine(name="duckdb", version="2.0.1", settings=(("threads", "2"),)),
        "reading": EngineReading(shape=None, reasons=(Reason.JOIN,), plan_sha256=NO_HASH),
        "columns": (OutputColumn(position=0, name="a", type="INTEGER"),),
        "rows": ((Cell(**CELL),),),
        "truncated": None,
        "captured_at": "2026-01-01T00:00:00.000000Z",
    }
    return Observation.sealed(**(fields | changes))


# --- models -------------------------------------------------------------------------------------

MODELS = [
    made
    for module in (schema, shape, observed, verdicts, facts)
    for made in vars(module).values()
    if isinstance(made, type) and issubclass(made, Model) and made is not Model
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_is_frozen_strict_closed_and_documented(model):
    assert len(MODELS) > 25
    config = model.model_config
    assert (config["frozen"], config["strict"], config["extra"]) == (True, True, "forbid")
    assert model.__doc__
    for field in model.model_fields.values():
        assert not re.search(r"\b(list|dict|set)\b", str(field.annotation))


def test_a_model_does_not_change():
    made = observation()
    with pytest.raises(ValidationError):
        made.statement = "SELECT b FROM t"  # type: ignore[misc]


def test_an_observation_is_sealed_over_all_of_it():
    made = observation()
    assert made.digest == made.recomputed_digest()
    assert observation() == made
    changed = observation(statement="SELECT b FROM t")
    assert changed.digest != made.digest
    assert made.schema_ == Schema(tables=made.pins)
    assert made.preview() == ReturnedPreview(
        columns=made.columns, rows=made.rows, truncated=made.truncated
    )
    assert from_json(Observation, made.to_json()) == made
    with pytest.raises(ValidationError):
        Observation.sealed(statement="x")


@pytest.mark.parametrize(
    "value", ["a", "é\u2028\U0001f600", "\x00\x1f\x7f", '"\\', "\ufffe", "\u202e", ""]
)
def test_canonical_bytes_keep_every_text(value):
    made = Cell(type="VARCHAR", text=value)
    assert from_json(Cell, canonical_bytes(made)) == made
    assert json.loads(canonical_bytes(made, without="type")) == {"text": value}


def test_a_release_answers_with_its_lines_and_nothing_else():
    fact = Fact(
        label=Label(kind="column", table=("main", "t"), column="a", calculation=None),
        value=Cell(**CELL),
        exact=True,
        row=0,
        column=0,
        group=(),
        filter=Filter(kind="none"),
        selection=SelectionFlags(
            having=False, distinct=False, order_by=False, limit=False, offset=False
        ),
        observation="1" * 64,
        snapshot="2" * 64,
        text="t.a = 1 in result row 1",
    )
    fields: dict[str, Any] = {
        "withheld": (),
        "no_answer_at": None,
        "origin": "unverified",
        "observation": None,
        "complete": Complete(result=True, table=True),
        "rows_are_table_rows": True,
    }
    made = Release(facts=(fact, fact), no_answer=False, no_answer_reason=None, **fields)
    assert made.answer() == {
        "answer": "t.a = 1 in result row 1\nt.a = 1 in result row 1",
        "citations": [{"observation": "1" * 64, "snapshot": "2" * 64, "row": 0, "column": 0}] * 2,
        "no_answer": False,
    }
    empty = Release(facts=(), no_answer=True, no_answer_reason=Reason.NO_ROWS, **fields)
    assert empty.answer() == {"answer": "", "citations": [], "no_answer": True}


def test_any_eligible():
    withheld = Verdict(
        position=0, name="a", verdict="withheld", label=None, reasons=(Reason.CONSTANT,)
    )
    label = Label(kind="column", table=("main", "t"), column="a", calculation=None)
    eligible = Verdict(position=1, name="a", verdict="eligible", label=label, reasons=())
    fields: dict[str, Any] = {
        "statement_sha256": NO_HASH,
        "engine": "not-asked",
        "reasons": (),
        "filter": Filter(kind="none"),
        "groups": (),
        "selection": SelectionFlags(
            having=False, distinct=False, order_by=False, limit=False, offset=False
        ),
    }
    assert not Verdicts(outputs=(withheld,), **fields).any_eligible
    assert Verdicts(outputs=(withheld, eligible), **fields).any_eligible


# --- schemas ------------------------------------------------------------------------------------


def test_a_schema_by_hand():
    made = Schema.of(
        {
            "t": {
                "a": "bigint",
                "f": {"type": "double", "nan": False},
                "g": "real",
                "e": "enum ('x', 'it''s', '')",
                "h": {"type": "ENUM", "members": ["x", "y"]},
                "d": "numeric(10, 2)",
            },
            ("s", "t"): {"a": "varchar(10)"},
            ("u",): {"a": "text"},
        }
    )
    assert [table.path for table in made.tables] == [("main", "t"), ("s", "t"), ("main", "u")]
    assert made.tables[0].columns == (
        Column(name="a", type="BIGINT"),
        Column(name="f", type="DOUBLE", nan=False),
        Column(name="g", type="FLOAT"),
        Column(name="e", type="ENUM", members=("x", "it's", "")),
        Column(name="h", type="ENUM", members=("x", "y")),
        Column(name="d", type="DECIMAL(10,2)"),
    )
    assert made.tables[1].columns[0].type == made.tables[2].columns[0].type == "VARCHAR"


BAD_SCHEMAS: list[Any] = [
    None,
    [],
    {"t": []},
    {"t": {}},
    {"t": None},
    {"t": {"a": None}},
    {"t": {"a": 1}},
    {"t": {1: "INTEGER"}},
    {"t": {"a": {"type": None}}},
    {"t": {"a": {}}},
    {"t": {"a": {"type": "DOUBLE", "NaN": False}}},
    {"t": {"a": {"type": "DOUBLE", "nan": 0}}},
    {"t": {"a": "ENUM(x)"}},
    {"t": {"a": "ENUM('x' 'y')"}},
    {"t": {"a": "ENUM('x'y)"}},
    {"t": {"a": {"type": "ENUM", "members": [1]}}},
    {"t": {"a": "INTEGER", "A": "INTEGER"}},
    {"t": {"a": "INTEGER"}, "T": {"a": "INTEGER"}},
    {"t": {"a": "INTEGER"}, ("main", "t"): {"a": "INTEGER"}},
    {(): {"a": "INTEGER"}},
    {("a", "b", "c"): {"a": "INTEGER"}},
    {("a", 1): {"a": "INTEGER"}},
]


@pytest.mark.parametrize("tables", BAD_SCHEMAS, ids=repr)
def test_a_bad_schema_is_a_value_error(tables):
    with pytest.raises(ValueError, match=r"."):
        Schema.of(tables)


def test_names_differ_beyond_ascii_case_only():
    names = ("k", "\u212a", "é", "É", "e\u0301", "ı", "İ", "ß", "ss", "a", "a ", "a\u200b")
    made = Table(path=("main", "t"), columns=tuple(Column(name=n, type="INTEGER") for n in names))
    for name in names:
        found = made.column(name)
        assert found is not None
        assert found.name == name
    assert made.column("K") == made.column("k")
    assert made.column("I") is None
    with pytest.raises(ValidationError):
        Table(path=("main", "t"), columns=(made.columns[0], Column(name="K", type="DATE")))


def test_fold_is_for_ascii_letters():
    for code in (*range(0x3000), sys.maxunicode):
        character = chr(code)
        assert casefold(character) == (character.lower() if character.isascii() else character)


def test_the_engine_folds_the_same_letters():
    with duckdb.connect() as connection:
        for name, other in (("a", "A"), ("é", "É"), ("k", "\u212a"), ("i", "İ"), ("ß", "ẞ")):
            connection.execute(f'CREATE OR REPLACE TABLE t ("{name}" INTEGER)')
            query = f"SELECT json_serialize_plan('SELECT \"{other}\" FROM t')"
            (plan,) = connection.execute(query).fetchone() or ("",)
            assert ('"error":false' in plan) is (casefold(name) == casefold(other))


def test_find_takes_a_suffix_of_one_path():
    made = Schema.of({"t": {"a": "DATE"}, ("s", "t"): {"a": "DATE"}, ("main", "s"): {"a": "DATE"}})
    main, other, named_s = made.tables
    assert made.find(("t",)) == main
    assert made.find(("T",)) == main
    assert made.find(("main", "t")) == main
    assert made.find(("snapshot", "main", "t")) == main
    assert made.find(("s", "t")) == made.find(("Snapshot", "S", "T")) == other
    assert made.find(("s",)) == named_s
    for parts in (
        (),
        ("u",),
        ("snapshot", "t"),
        ("main.t",),
        ("x", "main", "t"),
        ("a", "b", "c", "d"),
    ):
        assert made.find(parts) is None
    assert not made.name_is_unique(("main", "t"))
    assert not made.name_is_unique(("s", "T"))
    assert made.name_is_unique(("main", "s"))
    assert made.name_is_unique(("main", "nope"))


# --- JSON from outside --------------------------------------------------------------------------

GOOD = json.dumps(PREVIEW)


def changed(**changes: Any) -> str:
    return json.dumps(PREVIEW | changes)


BAD_JSON = {
    "not JSON": ("{", "", "not valid JSON"),
    "nothing": ("", "", "not valid JSON"),
    "text behind it": (GOOD + "x", "", "not valid JSON"),
    "NaN": (GOOD.replace("null", "NaN"), "", "NaN and Infinity"),
    "infinity": (GOOD.replace("null", "-Infinity"), "", "NaN and Infinity"),
    "not UTF-8": (b"\xff", "", "not UTF-8"),
    "half a character": ('{"rows": "\ud800"}', "", "not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), "", "not UTF-8"),
    "too nested": ("[" * (JSON_NESTING_MAX + 1), "", "nested deeper than 48"),
    "a list": ("[]", "", "right form"),
    "null": ("null", "", "right form"),
    "a repeated key": (GOOD[:-1] + ', "rows": []}', "", "repeated"),
    "a repeated key below": (
        GOOD.replace('"text": "1"', '"text": "1", "text": "1"'),
        "/rows/0/0",
        "repeated",
    ),
    "a repeated key by escape": (
        GOOD.replace('"text": "1"', '"text": "1", "\\u0074ext": "1"'),
        "/rows/0/0",
        "repeated",
    ),
    "an unknown field": (json.dumps(PREVIEW | {"secret": "x"}), "", "unknown field"),
    "an unknown field below": (
        changed(rows=[[CELL | {"secret": 1}]]),
        "/rows/0/0",
        "unknown field",
    ),
    "a missing field": ('{"columns": [], "rows": []}', "/truncated", "missing"),
    "a missing field below": (changed(rows=[[{"type": "DATE"}]]), "/rows/0/0/text", "missing"),
    "a number for a text": (changed(rows=[[CELL | {"text": 1}]]), "/rows/0/0/text", "right form"),
    "a text for a number": (
        changed(columns=[{"position": "0", "name": "a", "type": "DATE"}]),
        "/columns/0/position",
        "right form",
    ),
    "a float for a number": (
        changed(columns=[{"position": 0.0, "name": "a", "type": "DATE"}]),
        "/columns/0/position",
        "right form",
    ),
    "an object for a list": (changed(rows={}), "/rows", "right form"),
    "another word": (changed(truncated="columns"), "/truncated", "right form"),
    "too many rows": (changed(rows=[[CELL]] * 51), "/rows", "right form"),
    "too many columns": (
        changed(columns=[PREVIEW["columns"][0]] * 1001, rows=[]),
        "/columns",
        "right form",
    ),
}


@pytest.mark.parametrize(("text", "pointer", "problem"), BAD_JSON.values(), ids=BAD_JSON)
def test_bad_json_names_a_pointer_and_no_value(text, pointer, problem):
    with pytest.raises(EvidenceError) as raised:
        from_json(ReturnedPreview, text)
    assert raised.value.pointer == pointer
    assert problem in raised.value.problem
    assert str(raised.value) == f"{pointer or '/'}: {raised.value.problem}"
    assert "secret" not in str(raised.value)


def test_a_key_that_is_no_field_is_not_named():
    text = changed(rows={"secret": {"x": 1, "x ": 2}})
    with pytest.raises(EvidenceError) as raised:
        from_json(ReturnedPreview, text)
    assert raised.value.pointer == "/rows"
    with pytest.raises(EvidenceError) as raised:
        from_json(ReturnedPreview, GOOD[:-1] + ', "secret": {"a": {"b": 1, "b": 2}}}')
    assert raised.value.pointer == ""


def test_good_json_in_every_spelling():
    expected = ReturnedPreview.model_validate_json(GOOD)
    for text in (GOOD, GOOD.encode(), f" {GOOD}\n"):
        assert from_json(ReturnedPreview, text) == expected
    assert from_json(CLAIMS, '[{"row": 0, "column": 1}]') == (Claim(row=0, column=1),)
    # Brackets in texts are not nesting.
    deep = changed(rows=[[CELL | {"text": "[" * 100 + '"\\'}]])
    assert from_json(ReturnedPreview, deep).rows[0][0].text == "[" * 100 + '"\\'


def test_size_is_looked_at_before_anything_else():
    with pytest.raises(EvidenceError, match="larger than"):
        from_json(ReturnedPreview, b" " * (JSON_BYTES_MAX + 1))
    with pytest.raises(EvidenceError, match="larger than 4 bytes"):
        from_json(ReturnedPreview, "éé ", bytes_max=4)
    from_json(ReturnedPreview, GOOD, bytes_max=len(GOOD))


@pytest.mark.parametrize(
    "raw",
    [
        b'"' + b'\\"' * 2_000_000,  # a text that never ends
        b'"' * 4_000_001,
        b'"\\' * 2_000_000,
        b"[]" * 2_000_000,
        b"[" * 4_000_000,
        b"]" * 4_000_000,
    ],
    ids=["escaped quotes", "quotes", "backslashes", "pairs", "opened", "closed"],
)
def test_large_nonsense_comes_to_an_end(raw):
    with pytest.raises(EvidenceError):
        from_json(ReturnedPreview, raw)


@given(
    st.text(alphabet="[]{}", max_size=130) | st.integers(40, 60).map(lambda n: "[" * n + "]" * n)
)
def test_depth_is_that_of_the_deepest_bracket(brackets):
    depths = itertools.accumulate(1 if bracket in "[{" else -1 for bracket in brackets)
    assert untrusted._is_too_deep(brackets.encode()) == (max(depths, default=0) > JSON_NESTING_MAX)


UNIONS = {
    # The tag of a union stands in an error's place, and not in the data.
    '{"kind": "comparison"}': "/column",
    '{"kind": "and", "members": [{"kind": "truth"}, {"kind": "is-null", "column": 1}]}': "/members/0/column",
    '{"kind": "and", "members": [{"kind": "truth", "column": "x"}]}': "/members",
    '{"kind": "secret"}': "",
    "{}": "",
    '{"kind": "not", "member": {"kind": "truth", "column": "a", "secret": 1}}': "/member",
}


@pytest.mark.parametrize(("text", "pointer"), UNIONS.items())
def test_a_pointer_into_a_union(text, pointer):
    adapter: TypeAdapter[Predicate] = TypeAdapter(Predicate)
    with pytest.raises(EvidenceError) as raised:
        from_json(adapter, text)
    assert raised.value.pointer == pointer
    assert "secret" not in str(raised.value)


@given(st.text(alphabet='{}[]":,\\ 01nulltrefas\u00e9') | st.binary())
def test_total(data):
    try:
        made = from_json(ReturnedPreview, data)
    except EvidenceError:
        return
    assert made == from_json(ReturnedPreview, canonical_bytes(made))


@given(st.integers(0, len(GOOD)), st.integers(0, 3), st.sampled_from(list('{}[]",:01x \\')))
def test_a_damaged_text_gives_another_preview_or_none(place, length, part):
    text = GOOD[:place] + part + GOOD[place + length :]
    try:
        made = from_json(ReturnedPreview, text)
    except EvidenceError:
        return
    assert json.loads(text) == json.loads(canonical_bytes(made))


def test_claims_have_a_limit_of_their_own():
    assert CLAIMS_MAX == 1_000


# --- shapes -------------------------------------------------------------------------------------

ONE = Comparison(column="a", operator="=", value=Value(type="INTEGER", text="1"))
FLAG = Truth(column="f")
BAD = Unstatable(reason=Reason.FILTER_TYPE)
WORSE = Unstatable(reason=Reason.FILTER_NAN)


def test_conjoin_flattens_its_own_kind():
    inner = conjoin("and", iter((ONE, FLAG)))
    assert inner == Connective(kind="and", members=(ONE, FLAG))
    assert conjoin("and", iter((inner, ONE, inner))) == Connective(
        kind="and", members=(ONE, FLAG, ONE, ONE, FLAG)
    )
    assert conjoin("or", iter((inner, ONE))) == Connective(kind="or", members=(inner, ONE))
    assert conjoin("or", iter((ONE,))) == ONE
    assert conjoin("or", iter((inner,))) == inner


def test_measure():
    like = Like(column="b", pattern="x", fold=False)
    listed = InList(column="a", values=(ONE.value,) * 5)
    assert measure(FLAG) == (1, 0)
    assert measure(IsNull(column="a")) == (1, 0)
    assert measure(ONE) == measure(like) == (1, 1)
    assert measure(listed) == (1, 5)
    assert measure(Negation(member=Negation(member=ONE))) == (3, 1)
    both = Connective(kind="or", members=(listed, Negation(member=like), FLAG))
    assert measure(both) == (3, 6)
    assert measure(BAD) == (1, 0)


def test_unstatable_reasons():
    assert list(unstatable_reasons(ONE)) == []
    tree = Connective(
        kind="or",
        members=(BAD, Negation(member=Connective(kind="and", members=(ONE, WORSE))), BAD),
    )
    assert list(unstatable_reasons(tree)) == [BAD.reason, WORSE.reason, BAD.reason]


# --- types --------------------------------------------------------------------------------------

SPELLINGS = {
    "integer": "INTEGER",
    " Int4 ": "INTEGER",
    "int2": "SMALLINT",
    "long": "BIGINT",
    "hugeint": "HUGEINT",
    "bool": "BOOLEAN",
    "double  precision": "DOUBLE",
    "float4": "FLOAT",
    "text": "VARCHAR",
    "character varying(20)": "VARCHAR",
    "nvarchar( 5 )": "VARCHAR",
    "dec": "DECIMAL(18,3)",
    "numeric(5)": "DECIMAL(5,0)",
    "DECIMAL( 05 , 02 )": "DECIMAL(5,2)",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "datetime": "TIMESTAMP",
    "timetz": "TIME WITH TIME ZONE",
    "guid": "UUID",
    "nonsense": "NONSENSE",
    "integer[]": "INTEGER[]",
}


@pytest.mark.parametrize(("written", "base"), SPELLINGS.items())
def test_base_name(written, base):
    assert base_name(written) == base


def test_every_spelling_is_the_engines():
    with duckdb.connect() as connection:
        for written, base in SPELLINGS.items():
            if base != "NONSENSE":
                query = f"SELECT typeof(CAST(NULL AS {written}))"
                assert connection.execute(query).fetchone() == (base,)


def test_every_type_of_the_engine_has_a_class_or_is_withheld():
    withheld = {
        "ARRAY", "BIGNUM", "BIT", "BLOB", "GEOMETRY", "LIST", "MAP", "NULL", "STRUCT", "TUPLE", "TYPE",
        "UNION", "VARIANT", "INVALID", "UNKNOWN", "JSON", "AGGREGATE_STATE",
    }  # fmt: skip
    with duckdb.connect() as connection:
        found = connection.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    names = {name for (name,) in found}
    assert len(names) > 30
    for name in names - withheld:
        assert type_class("DECIMAL(18,3)" if name == "DECIMAL" else name), name
    for name in withheld | {
        "INTEGER[]",
        "STRUCT(a INTEGER)",
        "",
        "integer",
        "DECIMAL",
        "ENUM('x')",
    }:
        assert type_class(name) is None, name


def test_decimal_size():
    assert decimal_size("DECIMAL(38,10)") == (38, 10)
    assert decimal_size("DECIMAL(5)") == (5, 0)
    for other in ("DECIMAL", "INTEGER", "DECIMAL(5,2)[]", "DECIMAL(٥,٢)", "DECIMAL(100,1)"):
        assert decimal_size(other) is None


# --- characters ---------------------------------------------------------------------------------


def test_no_invisible_character_is_shown():
    for (
        character
    ) in " \t\n\r\x00\x7f\x85\xa0\xad\u034f\u061c\u115f\u180e\u2000\u200b\u200f\u2028\u202e":
        assert not is_shown(character)
    for (
        character
    ) in "\u2060\u2066\u3000\u3164\ufe0f\ufeff\uffa0\ufff9\U000e0001\U000e0100\ue000\ud800²Ⅷ":
        assert not is_shown(character)
    for character in "aZ09!~é中😀\u0301\u0661_":
        assert is_shown(character)


@given(st.text(max_size=70))
def test_exact_text(text):
    expected = (
        len(text) <= EXACT_TEXT_MAX
        and "  " not in text
        and all(character == " " or is_shown(character) for character in text)
    )
    assert exact_text(text) is expected


def test_exact_text_of_letters_beyond_ascii():
    assert exact_text("é中 😀")
    assert exact_text("")
    assert not exact_text("é  ")
    assert not exact_text("a\u00a0b")

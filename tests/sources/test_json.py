"""JSON as a source: nothing altered, nothing guessed, and each fault has its place.

The judge is Python's own `json`, told to keep the text of numbers and the order of keys; it shares
nothing with the parser it judges.
"""

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preview
from eligibility.sql.manifest import JsonDialect, TableSource
from preview.sources import json_aside, json_tokens
from preview.sources.encoding import Decoded
from preview.sources.json_parser import JsonText, Run
from tests.pinned import pin_one, refused, rows_of, types_of

options = preview.ReadOptions.of


# --- the judge ------------------------------------------------------------------------------------


class Refused(Exception):
    """The judge takes a text for no list of records."""


class Number(str):
    """A number as it is written."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """An object: its keys and values, in order."""


def folded(text: str) -> str:
    return "".join(chr(ord(one) + 32) if "A" <= one <= "Z" else one for one in text)


def no_constant(_: str) -> None:
    raise Refused


def no_key_twice(pairs: list[tuple[str, Any]]) -> Pairs:
    if len({key for key, _ in pairs}) != len(pairs):
        raise Refused
    return Pairs(pairs)


DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=no_constant, object_pairs_hook=no_key_twice
)


def depth(value: Any) -> int:
    inner = [one for _, one in value] if isinstance(value, Pairs) else value
    return 1 + max(map(depth, inner), default=0) if isinstance(value, list) else 0


def written(value: Any) -> str:
    """Write a value compactly, with numbers as they were."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Pairs):
        members = (f"{json.dumps(key, ensure_ascii=False)}:{written(one)}" for key, one in value)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def cell_of(value: Any) -> str:
    """Write a value as the parser gives it: a text is its characters in quotes."""
    if isinstance(value, str) and not isinstance(value, Number):
        return f'"{value}"'
    return written(value)


def lines_before(text: str, at: int) -> int:
    return len(re.findall("\r\n|\r|\n", text[:at]))


Judged = list[tuple[tuple[str, ...], list[str], int]]


def judged(data: bytes) -> Judged:
    """Give the records of a text: keys, cells, line; or refuse it."""
    try:
        text = data.decode()
        text.encode()
        at = skipped(text, 0)
        found = []
        if text[at : at + 1] == "[":
            whole, end = DECODER.raw_decode(text, at)
            if skipped(text, end) != len(text):
                raise Refused
            at = skipped(text, at + 1)
            for one in whole:
                _, end = DECODER.raw_decode(text, at)
                found.append((one, at))
                at = skipped(text, end)
                at = skipped(text, at + 1)
        else:
            while at < len(text):
                one, end = DECODER.raw_decode(text, at)
                found.append((one, at))
                at = skipped(text, end)
        made = []
        for one, at in found:
            if not isinstance(one, Pairs) or len({folded(key) for key, _ in one}) != len(one):
                raise Refused
            cells = [cell_of(value) for _, value in one]
            written(one).encode()  # half of a surrogate pair cannot be
            made.append((tuple(key for key, _ in one), cells, lines_before(text, at) + 1))
    except (ValueError, RecursionError):
        raise Refused from None
    if any(depth(value) > json_tokens.NESTING_MAX for one, _ in found for _, value in one):
        raise Refused
    return made


def skipped(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


def parsed(data: bytes) -> Judged:
    """Give the same by the parser."""
    text = Decoded(Path("x"), 0, "utf-8", mark=False, checked=False)
    parser = JsonText("x", text, io.BytesIO(data), lambda *_: None)
    return list(flat(parser.records()))


def flat(runs: Iterator[Run]) -> Iterator[tuple[tuple[str, ...], list[str], int]]:
    for run in runs:
        for row, line in zip(run.rows, run.lines, strict=True):
            yield run.keys, [cell.decode() for cell in row], line


PLACE = re.compile(r"x: (line [0-9,]+, position [0-9,]+: |the byte at offset [0-9,]+ )")


def check(data: bytes) -> bool:
    """See that parser and judge agree, and say whether the text is a list of records."""
    try:
        expected: Judged | None = judged(data)
    except Refused:
        expected = None
    said = ""
    try:
        got: Judged | None = parsed(data)
    except preview.SourceError as error:
        got, said = None, str(error)
    assert got is not None or PLACE.match(said), said
    assert got == expected, data
    return expected is not None


# --- parser and judge -----------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['"', "\\", "a\nb", "😀", "{", "]", "null", "\0", " ", "é,", 'x":1']
)
numbers = st.sampled_from(
    ["0", "-0", "1", "-12", "9007199254740993.0", "1e5", "1E+5", "0.10", "-0.0e-7", "9" * 45]
).map(Number)
scalars = numbers | texts | st.booleans() | st.none()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3).map(lambda made: Pairs(made.items()))
    ),
    max_leaves=8,
)
keys = st.sampled_from(["a", "b", "c", "é", "k k", '"', "", "😀", "A1"])
records = st.dictionaries(keys, values, max_size=4).map(lambda made: Pairs(made.items()))
spaces = st.sampled_from(["", "", "", " ", "\n", "\r\n", "\r", "\t", "  \n\n "])


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> str:
    """Write a value in one of the many ways JSON has for it."""

    def space() -> str:
        return draw(spaces)

    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=draw(st.booleans())).replace(
            "/", draw(st.sampled_from(["/", "\\/"]))
        )
    if isinstance(value, Pairs):
        members = (
            f"{space()}{draw(spelled(key))}{space()}:{space()}{draw(spelled(one))}{space()}"
            for key, one in value
        )
        return "{" + (",".join(members) or space()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(space() + draw(spelled(one)) + space() for one in value)) + "]"
    return json.dumps(value)


@st.composite
def documents(draw: st.DrawFn) -> str:
    rows = draw(st.lists(records, max_size=5))
    # Records that repeat one form, as those of files do.
    rows += draw(st.lists(records, max_size=1)) * draw(st.integers(0, 3))
    made = [draw(spelled(row)) for row in rows]
    if draw(st.booleans()):
        return draw(spaces) + "[" + ",".join(draw(spaces) + one for one in made) + "]"
    return "".join(draw(spaces) + one for one in made) + draw(spaces)


@pytest.fixture(params=[1, 7, 64, 1024 * 1024], ids=lambda size: f"blocks-of-{size}")
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(json_tokens, "BLOCK_BYTES", request.param)
    return int(request.param)


@given(document=documents(), size=st.sampled_from([1, 3, 17, 64, 1024 * 1024]))
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read(document, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_tokens, "BLOCK_BYTES", size)
        assert check(document.encode())


SPLICES = st.sampled_from(
    '" \\ { } [ ] , : 0 1 - + . e E t null true NaN Infinity -Infinity \\u \\ud800 \\udc00 \n \r '
    '\t \0 \x1f \x7f \ufeff // # \' 01 1. .5 {} [] {"a":1} "a": \\x'.split(" ")
)


@pytest.mark.long
@given(
    document=documents(),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), SPLICES), min_size=1, max_size=3),
    size=st.sampled_from([5, 64, 1024 * 1024]),
)
@settings(max_examples=150, deadline=None)
def test_a_mutated_text_is_taken_or_refused_as_the_judge_says(document, edits, size):
    for place, dropped, put in edits:
        at = int(place * len(document))
        document = document[:at] + put + document[at + dropped :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_tokens, "BLOCK_BYTES", size)
        check(document.encode())


@given(document=documents(), place=st.floats(0, 1), byte=st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_byte_put_in_is_taken_or_refused_as_the_judge_says(document, place, byte):
    data = document.encode()
    at = int(place * len(data))
    check(data[:at] + bytes([byte]) + data[at:])


def test_each_cut_of_a_text_is_refused(blocks):
    data = '[{"a": "x\\u00e9é", "b": [1, {"c": null}]},\n{"a": -1.5e+3, "b": true}]'.encode()
    assert check(data)
    for end in range(len(data)):
        assert check(data[:end]) is (not data[:end])


def test_deep_values_are_read_like_others(blocks):
    for levels in (*range(1, 8), json_tokens.NESTING_MAX, json_tokens.NESTING_MAX + 1):
        for left, right in (("[", "]"), ('{"k": ', "}")):
            value = left * levels + "1" + right * levels
            fits = check(b'[{"a": %s, "b": 2}, {"a": 1, "b": 2}]' % value.encode())
            assert fits is (levels <= json_tokens.NESTING_MAX)


KEYS = {
    '{"a": {"k": 1, "k": 2}}': False,
    '{"a": {"k": 1, "\\u006b": 2}}': False,
    '{"a": [{"k": 1}, {"k": 1, "x": {"k": 3}}]}': True,
    '{"a": [{"k": 1}, {"k": 1, "\\u006b": {"k": 3}}]}': False,
    '{"a": {"{k}": {"x": 1}, "{l}": {"x": 1}}}': True,
    '{"a": {"[": [{"x": "}"}, {"x": 1}], "]": {"x": "\\"", "x": 1}}}': False,
    '{"a": {"K": 1, "k": 2}}': True,
    '{"\\u0061": 1, "a": 2}': False,
    '{"a": 1, "b": 2, "A": 3}': False,
    '{"é": 1, "É": 2}': True,
    '{"a": [[[[[{"k": 1, "k": 2}]]]]]}': False,
    '{"a": [[[[[{"k": 1}, {"k": 2}]]]]]}': True,
}


@pytest.mark.parametrize("text", KEYS)
def test_a_key_twice_is_found_wherever_it_is(text, blocks):
    assert check(f"[{text}, {{}}]".encode()) is KEYS[text]


# --- what is pinned -------------------------------------------------------------------------------


def put(folder: Path, text: str | bytes, called: str = "j.json") -> Path:
    path = folder / called
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pinned(
    folder: Path, text: str | bytes, called: str = "j.json", **given: Any
) -> preview.Snapshot:
    return pin_one(put(folder, text, called), folder, options=options(**given))


def dialect_of(made: preview.Snapshot) -> JsonDialect:
    source = made.manifest.sources[0]
    assert isinstance(source, TableSource)
    assert source.format == "json"
    assert isinstance(source.dialect, JsonDialect)
    return source.dialect


PINNED = {
    "numbers-are-their-text": (
        '[{"x":9007199254740993.0},{"x":9007199254740992.0}]',
        {"x": "DECIMAL(18,1)"},
        [("9007199254740993.0",), ("9007199254740992.0",)],
    ),
    "no-date-of-two-digits": ('[{"d":"20-04-12"}]', {"d": "VARCHAR"}, [("20-04-12",)]),
    "types-of-texts": (
        '[{"d":"2020-04-12","n":"7","z":"007","b":"true"}]',
        {"d": "DATE", "n": "BIGINT", "z": "VARCHAR", "b": "BOOLEAN"},
        [("2020-04-12", "7", "007", "true")],
    ),
    "booleans": ('[{"b":true},{"b":null},{"b":false}]', {"b": "BOOLEAN"}, [("true",), (None,), ("false",)]),
    "exponents": ('[{"x":1e5},{"x":2E-1}]', {"x": "DOUBLE"}, [("100000.0",), ("0.2",)]),
    "long-numbers": (f'[{{"x":{"9" * 60}}}]', {"x": "VARCHAR"}, [("9" * 60,)]),
    "nulls-alone": ('[{"x":null},{"x":null}]', {"x": "VARCHAR"}, [(None,), (None,)]),
    "an-empty-text": ('[{"x":""},{"x":null}]', {"x": "VARCHAR"}, [("",), (None,)]),
    "the-text-null": ('[{"x":"null"},{"x":null}]', {"x": "VARCHAR"}, [("null",), (None,)]),
    "union-of-keys": (
        '{"b":1}{"a":"x","b":2}\n{"c":"y","a":"z"}',
        {"b": "BIGINT", "a": "VARCHAR", "c": "VARCHAR"},
        [("1", None, None), ("2", "x", None), (None, "z", "y")],
    ),
    "no-key-in-one": ('[{"a":1},{}]', {"a": "BIGINT"}, [("1",), (None,)]),
    "nested": (
        '[{"n": {"x" : [1, 2.50, "\\u00e9\\n\\/\\u0001"] , "\\"" : {} }}, {"n":[]}]',
        {"n": "JSON"},
        [('{"x":[1,2.50,"é\\n/\\u0001"],"\\"":{}}',), ("[]",)],
    ),
    "escapes": (
        '[{"\\u0061\\t":"\\ud83d\\ude00\\b\\f\\u0000\\\\n"}]',
        {"a\t": "VARCHAR"},
        [("😀\b\f\0\\n",)],
    ),
    "names-as-written": ('[{" a ":1,"é.b=c":2}]', {" a ": "BIGINT", "é.b=c": "BIGINT"}, [("1", "2")]),
}  # fmt: skip


@pytest.mark.parametrize("name", PINNED)
def test_a_file_is_pinned_as_it_is(name, tmp_path):
    text, types, rows = PINNED[name]
    made = pinned(tmp_path, text)
    assert types_of(made) == types
    assert rows_of(made, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t") == rows


def test_what_was_decided_is_recorded(tmp_path):
    made = pinned(tmp_path, '\ufeff{"b":1}\r\n{"a":"x","b":2.5}\n{"b":1,"a":null}')
    dialect = dialect_of(made)
    assert (dialect.encoding, dialect.mark, dialect.layout) == ("utf-8", True, "lines")
    assert (dialect.records, dialect.given) == (None, ())
    assert [(one.name, one.type, one.missing, one.given) for one in dialect.columns] == [
        ("b", "DECIMAL(18,1)", 0, ()),
        ("a", "VARCHAR", 1, ()),
    ]
    text = '{"x": {"y~/": [[], [{"a": "1"}]]}}'
    made = pinned(tmp_path, text, records="/x/y~0~1/1", encoding="utf-8", types={"A": "DOUBLE"})
    dialect = dialect_of(made)
    assert (dialect.records, dialect.given) == ("/x/y~0~1/1", ("encoding", "records"))
    assert [(one.name, one.type, one.given) for one in dialect.columns] == [
        ("a", "DOUBLE", ("type",))
    ]
    assert dialect.layout == "array"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_encodings(encoding, tmp_path):
    given = {} if encoding in ("utf-8", "utf-8-sig", "utf-16") else {"encoding": encoding}
    made = pinned(tmp_path, '[{"é":"ü\\u00e9"}]'.encode(encoding), **given)
    assert rows_of(made, "FROM t") == [("üé",)]
    assert types_of(made) == {"é": "VARCHAR"}
    assert dialect_of(made).mark is (encoding in ("utf-8-sig", "utf-16"))


def test_compressed_files(tmp_path):
    text = b'{"a":1}\n{"a":2}\n'
    put(tmp_path, gzip.compress(text), "j.json.gz")
    with pa.output_stream(str(tmp_path / "j.jsonl.zst"), compression="zstd") as packed:
        packed.write(text)
    for name, inner in (("j.json.zip", "x"), ("j.zip", "j.ndjson")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(inner, text)
    ids = {
        pin_one(tmp_path / name, tmp_path).id
        for name in ("j.json.gz", "j.jsonl.zst", "j.json.zip", "j.zip")
    }
    assert ids == {pinned(tmp_path, '[{"a":1},{"a":2}]').id}


def test_one_object_is_a_record_where_the_name_says_lines(tmp_path):
    for name in ("o.jsonl", "o.NDJSON"):
        made = pinned(tmp_path, '{"a":1,"b":[{"c":1}]}', name)
        assert rows_of(made, "FROM t") == [(1, '[{"c":1}]')]
        assert dialect_of(made).layout == "lines"
    put(tmp_path, gzip.compress(b'{"a":1}'), "o.ndjson.gz")
    assert rows_of(pin_one(tmp_path / "o.ndjson.gz", tmp_path), "FROM t") == [(1,)]
    with zipfile.ZipFile(tmp_path / "o.zip", "w") as archive:
        archive.writestr("o.jsonl", '{"a":1}')
    assert rows_of(pin_one(tmp_path / "o.zip", tmp_path), "FROM t") == [(1,)]


def test_texts_of_several_kinds_are_text_where_asked(tmp_path):
    text = '[{"a":1.50},{"a":"x"},{"a":true},{"a":null},{"a":[1, 2]},{}]'
    made = pinned(tmp_path, text, types={"a": "TEXT"})
    assert rows_of(made, "FROM t") == [("1.50",), ("x",), ("true",), (None,), ("[1,2]",), (None,)]
    for one, kept in (('{"x":1.0}', '{"x":1.0}'), ("12E3", "12E3"), ("false", "false")):
        made = pinned(tmp_path, f'[{{"a":{one}}}]', types={"a": "VARCHAR"})
        assert rows_of(made, "FROM t") == [(kept,)]


def test_names_can_be_given(tmp_path):
    made = pinned(tmp_path, '[{"":1,"a":2},{"A":3}]', name={1: "n", 3: "b"}, types={"B": "TEXT"})
    assert rows_of(made, "FROM t") == [(1, 2, None), (None, None, "3")]
    assert [one.given for one in dialect_of(made).columns] == [("name",), (), ("name", "type")]
    made = pinned(tmp_path, '[{"":1,"a":2}]', names=("x", "y"))
    assert types_of(made) == {"x": "BIGINT", "y": "BIGINT"}
    assert "1 names" in refused(tmp_path / "j.json", tmp_path, options=options(names=("x",)))
    assert "position 9" in refused(tmp_path / "j.json", tmp_path, options=options(name={9: "x"}))


def test_batches_make_no_difference(tmp_path, monkeypatch):
    """Columns that come late, rows that are cut, files that change: the same table."""
    lines = [
        {"a": n, **({"b": f"t{n}"} if n > 40 else {}), **({"c": [n]} if n % 9 == 5 else {})}
        for n in range(100)
    ]
    text = "\n".join(map(json.dumps, lines))
    plain = pinned(tmp_path, text)
    assert types_of(plain) == {"a": "BIGINT", "c": "JSON", "b": "VARCHAR"}
    assert [one.missing for one in dialect_of(plain).columns] == [0, 89, 41]
    for rows, cells, block in ((1, 1000, 64), (7, 1000, 100), (30, 20, 1000), (30, 1, 10**6)):
        monkeypatch.setattr(json_aside, "BATCH_ROWS", rows)
        monkeypatch.setattr(json_aside, "BATCH_CELLS", cells)
        monkeypatch.setattr(json_tokens, "BLOCK_BYTES", block)
        assert pinned(tmp_path, text).id == plain.id
    monkeypatch.setattr(json_aside, "BATCH_ROWS", 7)
    text = text.replace('"t77"', '"secret"').replace("\n", "\r\n\n")
    path = put(tmp_path, text)
    message = refused(path, tmp_path, options=options(types={"b": "DATE"}))
    assert "line 83, column b" in message
    text = re.sub('"t[0-9]+"', '"2020-01-02"', text)
    message = refused(put(tmp_path, text), tmp_path, options=options(types={"b": "DATE"}))
    assert "line 155, column b" in message
    assert "secret" not in message


# --- what is not ----------------------------------------------------------------------------------

BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "it is empty"),
    "blank": (" \n\t", "it is empty"),
    "a-mark-alone": (b"\xef\xbb\xbf", "it is empty"),
    "no-records": ("[]", "no columns"),
    "no-keys": ("[{},{}]", "no columns"),
    "a-number": ("5", "begins with no object"),
    "a-text": ('"secret"', "begins with no object"),
    "no-json": ("secret", "line 1, position 1: no value of JSON begins so"),
    "scalars": ('[\n{"a":1},\n 2]', "line 3, position 2: an object should be here, and a number is"),
    "lists": ("[[1]]", "position 2: an object should be here, and a list is"),
    "nulls": ('{"a":1}\nnull', "line 2, position 1: an object should be here, and null is"),
    "nan": ('[{"a":\nNaN}]', "line 2, position 1: NaN and Infinity"),
    "infinity": ('[{"a":-Infinity}]', "NaN and Infinity"),
    "twice": ('[{"a":1},\n{"b":1,"a":"secret","a":2}]', "line 2, position 21: a key stands twice"),
    "twice-in-a-value": ('[{"a":{"b":1,"b":2}}]', "position 14: a key stands twice"),
    "case": ('[{"a":1,"b":2,"A":3}]', "letter case alone"),
    "case-across": ('[{"a":1},\n{"b":1},\n{"A":1}]', "columns 1 (line 1) and 3 (line 3)"),
    "half-pair": ('[{"a":"é\\ud800"}]', "position 9: half of a surrogate pair"),
    "other-half": ('{"a":1}\n{"b":["\\udc00"]}', "line 2, position 8: half of a surrogate pair"),
    "half-pair-in-key": ('[{"\\ud800":1}]', "half of a surrogate pair"),
    "comma-before-bracket": ('[{"a":1},\n]', "line 2, position 1: a comma stands before ]"),
    "comma-before-brace": ('[{"a":1,}]', "position 9: a comma stands before }"),
    "comma-in-a-value": ('[{"a":[1,]}]', "a comma stands before ]"),
    "after-the-end": ('[{"a":1}]\n\nsecret', "line 3, position 1: more follows"),
    "two-lists": ('[{"a":1}]\n[{"a":2}]', "line 2, position 1: more follows"),
    "commas-between": ('{"a":1},\n{"a":2}', "position 8: an object should be here"),
    "cut": ('[{"a":1},{"a":"secret', "a text begins here that does not end"),
    "cut-between": ('[{"a":1}\n', "line 2, position 1: the file ends where a comma or ]"),
    "cut-in-a-record": ('{"a":1}\n{"a"', "the file ends where a colon"),
    "single-quotes": ("[{'a':1}]", "double quotes"),
    "bare-key": ("[{secret:1}]", "no value of JSON begins so"),
    "number-as-key": ("[{1:1}]", "a key in double quotes"),
    "zeros": ('[{"a":012}]', "a comma or } should be here"),
    "plus": ('[{"a":+1}]', "no number as JSON writes one"),
    "point": ('[{"a":.5}]', "no number as JSON writes one"),
    "capitals": ('[{"a":True}]', "small letters"),
    "comment": ('[{"a":1} // secret\n]', "no comments"),
    "line-end-in-text": ('[{"a":"x\ny"}]', "position 9: a control character"),
    "bad-escape": ('[{"a":"x\\q"}]', "position 9: a backslash"),
    "no-comma": ('[{"a":1 "b":2}]', "a comma or } should be here"),
    "no-comma-between": ('[{"a":1} {"b":2}]', "position 10: a comma or ] should be here"),
    "no-colon": ('[{"a" 1}]', "a colon should be here"),
    "no-value": ('[{"a":}]', "a value should be here"),
    "wrong-bracket": ('[{"a":[1}]', "a comma or ] should be here"),
    "not-utf-8": (b'[{"a":"\xe9"}]', "the byte at offset 7 is not UTF-8; give its encoding"),
    "utf-16-without-mark": ('[{"a":1}]'.encode("utf-16-le"), "--encoding"),
    "empty-key": ('[{"a":1},\n{"":1}]', "column 2 (line 2) is empty or holds a NUL; name it, as in --name t.2=column2"),
    "nul-in-key": ('[{"\\u0000":1}]', "--name t.1=column1"),
    "kinds": ('[{"a":1},\n{"a":null},\n{"a":"secret"}]', "column a: line 1 holds a number, and line 3 a text; mend the file, or take all as text by --type t.a=VARCHAR"),
    "kinds-nested": ('[{"b c":true},\n{"b c":{}}]', "line 1 holds a Boolean, and line 2 a list or an object; mend the file, or take all as text by --type 't.b c=VARCHAR'"),
    "deep": ('[{"a":' + "[" * 101 + "]" * 101 + "}]", "nested over 100 levels"),
    "one-object": ('{"d":{"items":[{"a":1}],"n":[1]},"z z":[{"b":2}]}', "it is one object; say which list in it holds the records: --records /d/items or --records '/z z'"),
    "one-object-alone": ('{"a":1,"b":[1,2],"c":{"d":[]}}', "put it in [ ] to pin it as one record"),
    "one-object-deep": ('{"a":[{"b":[{"c":1}]}]}', "--records /a"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_and_has_a_line(name, tmp_path):
    text, expected = BAD[name]
    message = refused(put(tmp_path, text), tmp_path)
    assert expected in message
    assert message.startswith("j.json: ")
    assert "secret" not in message
    assert "\n" not in message


@pytest.mark.parametrize("name", BAD)
def test_a_place_does_not_hang_on_the_size_of_a_block(name, monkeypatch):
    text, _ = BAD[name]
    data = text if isinstance(text, bytes) else text.encode()
    said = set()
    for size in (1, 3, 20, 1024 * 1024):
        monkeypatch.setattr(json_tokens, "BLOCK_BYTES", size)
        try:
            said.add(str(parsed(data)))
        except preview.SourceError as error:
            said.add(str(error))
    assert len(said) == 1


def test_an_error_behind_much_has_its_place(tmp_path):
    good = '{"a": "é", "b": [1, {"c": 2}]}'
    for ends in ("\n", "\r\n", "\r", " "):
        text = (good + ends) * 10_000 + ' {"a": secret}'
        line, position = (10_001, 8) if ends != " " else (1, 10_000 * 31 + 8)
        message = refused(put(tmp_path, text), tmp_path)
        assert f"line {line:,}, position {position:,}: no value" in message


RECORDS = (
    '{"m": {"n": 1, "l": [1], "e": []}, "list": [[{"a": 1}], {"b": [{"a": 2}]}], "": [{"a": 3}]}'
)


def test_the_list_that_is_pointed_at_is_read(tmp_path):
    for pointer, rows in (("/list/0", [(1,)]), ("/list/1/b", [(2,)]), ("/", [(3,)])):
        assert rows_of(pinned(tmp_path, RECORDS, records=pointer), "FROM t") == rows
    assert rows_of(pinned(tmp_path, '[{"a":1}]', records=""), "FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("m", "JSON pointer"),
        ("/m~2", "JSON pointer"),
        ("/x", "say --records /"),
        ("/m", "no list where"),
        ("/m/n/x", "no list where"),
        ("/m/e/0", "no list where"),
        ("/list/2", "no list where"),
        ("/list/01", "no list where"),
        ("/list/-", "no list where"),
        ("/list/" + "9" * 5000, "no list where"),
        ("/\ud800", "no list where"),
        ("/m/l", "an object should be here, and a number is"),
        ("/m/e", "no columns"),
        ("", "no list where"),
    ],
)
def test_a_pointer_to_no_list_is_an_error(pointer, expected, tmp_path):
    path = put(tmp_path, RECORDS)
    assert expected in refused(path, tmp_path, options=options(records=pointer))


def test_what_is_around_the_records_is_read_too(tmp_path):
    for text, expected in (
        ('{"a":[{"x":1}],"a":[{"x":2}]}', "a key stands twice"),
        ('{"b":{"c":1,"c":2},"a":[{"x":1}]}', "a key stands twice"),
        ('{"a":[{"x":1}],"b":NaN}', "NaN"),
        ('{"a":[{"x":1}],"b":"\\ud800"}', "surrogate"),
        ('{"a":[{"x":1}]', "the file ends"),
        ('{"a":[{"x":1}]}{}', "more follows"),
        ('{"a":[{"x":1},]}', "a comma stands before ]"),
        ('{"a":[{"x":1}],}', "a comma stands before }"),
    ):
        assert expected in refused(put(tmp_path, text), tmp_path, options=options(records="/a"))
    message = refused(put(tmp_path, '{"a":{},"b":[2]}'), tmp_path, options=options(records="/c"))
    assert "it holds no list of objects" in message


def test_the_lists_that_are_named_are_few(tmp_path):
    many = {f"k{n}": [{"a": 1}] for n in range(30)} | {"x\n": [{"a": 1}]}
    message = refused(put(tmp_path, json.dumps(many)), tmp_path)
    assert message.count("--records") == json_tokens.LISTS_SHOWN
    assert message.endswith("--records /k9 (there are 21 more)")
    message = refused(put(tmp_path, '{"x\\n":[{"a":1}],"b":[{"a":1}]}'), tmp_path)
    assert message.endswith("--records /b (there are 1 more)")


def test_limits_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(json_tokens, "BLOCK_BYTES", 256)
    monkeypatch.setattr(json_tokens, "ELEMENT_BYTES_MAX", 1_000)
    for text in (
        '{"a":1}\n' + json.dumps({"b": "x" * 1_001}),
        '{"a":1}\n' + json.dumps({"b": ["x"] * 1_001}),
        '{"a":1}\n' + json.dumps({"b": [[[[[["x"]]]]]] * 300}),
    ):
        message = refused(put(tmp_path, text), tmp_path)
        assert "line 2, position" in message
        assert "larger than 1,000 bytes" in message
    assert pinned(tmp_path, json.dumps([{"a": "x" * 980}] * 20)).pins[0].rows == 20
    # One object that holds more than is held at once still names its lists, and they are read.
    text = json.dumps({"m": {str(n): n for n in range(500)}, "r": [{"a": "x" * 200}] * 50})
    assert "--records /r" in refused(put(tmp_path, text), tmp_path)
    assert pinned(tmp_path, text, records="/r").pins[0].rows == 50
    monkeypatch.setattr(json_tokens, "KEYS_MAX", 400)
    assert "400 keys" in refused(put(tmp_path, text), tmp_path, options=options(records="/r"))
    monkeypatch.setattr(json_aside, "COLUMNS_MAX", 3)
    message = refused(put(tmp_path, '{"a":1,"b":1}\n{"c":1}\n{"d":1}'), tmp_path)
    assert "line 3" in message
    assert "more than 3 different keys" in message


# --- memory ---------------------------------------------------------------------------------------

CHILD = """
import resource, sys
from pathlib import Path
from preview.sources.encoding import Decoded
from preview.sources.json_parser import JsonText
from preview.sources.json_aside import Aside

path, folder, pointer = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
with path.open("rb") as file, Aside("x", folder) as aside:
    parser = JsonText("x", Decoded(path, 0, "utf-8", False, False), file, lambda *_: None)
    for run in parser.listed((pointer,)) if pointer else parser.records():
        aside.add(run)
    aside.end()
for _ in range(2):
    rows = sum(batch.num_rows for batch in aside.batches(None))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(path: Path, folder: Path, pointer: str) -> tuple[int, int]:
    folder.mkdir()
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(folder), pointer],
        check=True,
        capture_output=True,
        text=True,
    )
    rows, kilobytes = map(int, child.stdout.split())
    return rows, kilobytes


@pytest.mark.long
@pytest.mark.parametrize("pointer", ["", "r"])
def test_memory_is_flat_over_a_large_file(pointer, tmp_path):
    record = json.dumps({"id": 1, "text": "x" * 40_000, "list": [1, 2, 3]})
    peaks = []
    for count in (600, 2_400):
        path = tmp_path / f"{count}.json"
        with path.open("w") as file:
            if pointer:
                file.write('{"before": [' + (record + ",") * 100 + '1], "r": [')
            else:
                file.write("[")
            for _ in range(count - 1):
                file.write(record + ",\n")
            file.write(record + ("]}" if pointer else "]"))
        rows, kilobytes = peak(path, tmp_path / f"aside-{count}", pointer)
        assert rows == count
        peaks.append(kilobytes)
    # The second file is larger by 72 MB.
    assert peaks[1] - peaks[0] < 30_000

"""Delimited text: borders of chunks, both machines, names and options, large fields."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import preview
from eligibility.sql.manifest import DelimitedDialect, TableSource
from preview.sources import structure
from preview.sources.records import Chunk, Structure, line_of, lines_in, records_of
from preview.sources.structure import Scan, detect, scan
from tests.pinned import csv, pin_one, refused, rows_of, types_of


def scanned(
    path: Path, mark: str | None, *, comment: bytes | None = None, folder: Path
) -> Structure:
    what = Scan(path.name, path, 0, 1, False, comment, folder / "aside", lambda *_: None)
    return detect(what) if mark == "?" else scan(what, mark)


def bytes_of(found: Structure) -> Iterator[tuple[Chunk, bytes]]:
    data = found.path.read_bytes()
    for chunk in found.chunks:
        yield chunk, data[chunk.offset : chunk.offset + chunk.size]


def dialect_of(made: preview.Snapshot) -> DelimitedDialect:
    (source,) = made.manifest.sources
    assert isinstance(source, TableSource)
    assert isinstance(source.dialect, DelimitedDialect)
    return source.dialect


PIECES = ["a", "", "b c", '"', '""', '"x,y"', '"p""q"', '"l\nm"', '"r\r\ns"', "#", "é", "\ufeff"]
ENDS = ["\n", "\r\n", "\r"]


@pytest.mark.parametrize("seed", range(60))
def test_chunks_are_whole_records_wherever_they_are_cut(seed, tmp_path, monkeypatch):
    """Whatever the size of a chunk, the same records, lines and widths come of the same bytes."""
    random_ = random.Random(seed)
    text = "".join(
        ",".join(random_.choices(PIECES, k=2)) + random_.choice(ENDS)
        for _ in range(random_.randint(1, 12))
    )
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    for mark, comment in ((",", None), (",", b"#"), ("?", None), (None, b"b"), (None, None)):
        found: list[Any] = []
        for size in (8 * 2**20, 1, 2, 3, 7):
            monkeypatch.setattr(structure, "CHUNK_BYTES", size)
            try:
                made = scanned(path, mark, comment=comment, folder=tmp_path)
            except preview.SourceError as error:
                found.append(str(error))
                continue
            records = [
                fields
                for _, data in bytes_of(made)
                for _, _, fields in records_of(data, made.delimiter)
            ]
            lines = [line_of(made, place) for place in range(made.records)]
            found.append((made.delimiter, made.width, records, lines))
            assert {len(fields) for fields in records} <= {made.width}
            assert len(records) == made.records
        assert all(one == found[0] for one in found), (mark, comment)


def test_both_machines_take_the_same_records(tmp_path):
    """Where every quote opens or closes a field, counting quotes and taking records agree."""
    text = '1,"a\nb",x\r\n2,"c"",d",y\r3,,""\n'
    path = csv(tmp_path / "t.csv", text)
    quick = scanned(path, ",", folder=tmp_path)
    exact = scanned(path, ",", comment=b"no such", folder=tmp_path)
    assert (quick.records, quick.width) == (exact.records, exact.width) == (3, 3)
    assert quick.path != exact.path
    of_quick, of_exact = (
        [fields for _, data in bytes_of(one) for _, _, fields in records_of(data, ",")]
        for one in (quick, exact)
    )
    assert of_quick == of_exact
    assert lines_in(text.encode()) == 4


def test_a_field_larger_than_a_chunk(tmp_path):
    large = "x" * (3 * structure.CHUNK_BYTES) + '"",\n'
    path = csv(tmp_path / "t.csv", f'a,b\n1,"{large}"\n2,y\n')
    made = pin_one(path, tmp_path)
    assert rows_of(made, "SELECT a, length(b) FROM t") == [(1, len(large) - 1), (2, 1)]


def test_a_record_without_an_end_is_an_error_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(structure, "RECORD_BYTES_MAX", 100_000)
    monkeypatch.setattr(structure, "CHUNK_BYTES", 10_000)
    path = csv(tmp_path / "t.csv", 'a,b\n1,"' + "x" * 300_000)
    message = refused(path, tmp_path)
    assert "line 2" in message
    assert "100,000 bytes" in message


def test_too_many_fields(tmp_path):
    path = csv(tmp_path / "t.csv", ",".join(map(str, range(20_000))) + "\n")
    assert "at most 10,000" in refused(path, tmp_path, options=preview.ReadOptions.of(header=True))


def test_every_ascii_character_in_one_column(tmp_path):
    """No character is left to stand for a delimiter that is not there."""
    every = "".join(chr(code) for code in range(1, 128) if code not in (10, 13, 34))
    path = csv(tmp_path / "t.csv", f'a\n{every}\n\n"{every}""\n"\n""\n')
    made = pin_one(path, tmp_path, options=preview.ReadOptions.of(delimiter="none"))
    assert rows_of(made, "FROM t") == [(every,), (None,), (f'{every}"\n',), ("",)]


@pytest.mark.parametrize("mark", ["\t", "tab", "\\t", "^", " ", "\x01", "a", "'"])
def test_any_ascii_character_can_be_between_fields(mark, tmp_path):
    written = {"tab": "\t", "\\t": "\t"}.get(mark, mark)
    path = csv(tmp_path / "t.csv", f'x{written}y\n1{written}"2{written}3"\n')
    made = pin_one(path, tmp_path, options=preview.ReadOptions.of(delimiter=mark))
    assert rows_of(made, "FROM t") == [(1, f"2{written}3")]


@pytest.mark.parametrize("mark", ["", "ab", "é", '"', "\n", "\r", "\0"])
def test_what_cannot_be_between_fields(mark, tmp_path):
    path = csv(tmp_path / "t.csv", "x,y\n1,2\n")
    if not mark:
        with pytest.raises(ValueError, match="at least 1"):
            preview.ReadOptions.of(delimiter=mark)
        return
    options = preview.ReadOptions.of(delimiter=mark)
    assert "--delimiter takes" in refused(path, tmp_path, options=options)


OPTIONS = [
    ({"skip": 5}, "fewer than 5 lines"),
    ({"skip": 2}, "it is empty"),
    ({"names": ["x"]}, "--names gives 1 names"),
    ({"name": {3: "x"}}, "--name gives position 3"),
    ({"name": {2: "A"}}, "columns 1 and 2 have one name"),
    ({"name": {2: "A"}, "header": True}, "--name t.2=column2"),
    ({"types": {"c": "BIGINT"}}, "no column c, yet --type"),
    ({"date_format": {"c": "%d"}}, "no column c, yet --date-format"),
    ({"decimal": {"c": ","}}, "no column c, yet --decimal"),
    ({"trim": ["c"]}, "no column c, yet --trim"),
    ({"decimal": ".."}, "take one character"),
    ({"thousands": "1"}, "take one character"),
    ({"decimal": ",", "thousands": ","}, "the same character"),
    ({"date_format": {"a": "%d/%m"}}, "less than a date"),
    ({"date_format": {"a": "%d/%m/%Y %Q"}}, "takes the directives"),
    ({"date_format": {"a": "%d/%m/%Y %d"}}, "repeats"),
    ({"date_format": {"a": "%H"}}, "less than a date"),
    ({"date_format": {"a": "%d/%m/%Y"}, "types": {"a": "TIME"}}, "its --type another"),
    ({"types": {"a": "BLOB"}}, "no text is read as BLOB"),
    ({"types": {"a": "INTEGER[]"}}, "no text is read as LIST"),
    ({"encoding": "utf-16"}, "no byte order mark"),
    ({"encoding": "unicode_escape"}, "no encoding"),
    ({"encoding": "rot13"}, "no encoding"),
]


@pytest.mark.parametrize(("given", "expected"), OPTIONS, ids=[said for _, said in OPTIONS])
def test_an_option_that_is_of_no_use_is_an_error(given, expected, tmp_path):
    path = csv(tmp_path / "t.csv", "a,b\n1,2\n")
    assert expected in refused(path, tmp_path, options=preview.ReadOptions.of(**given))


FORMATS = [
    ("%d/%m/%Y", "1/02/2020", "DATE", "2020-02-01"),
    ("%d.%m.%y", "01.02.20", "DATE", "2020-02-01"),
    ("%b %d, %Y", "Feb 1, 2020", "DATE", "2020-02-01"),
    ("%d %B %Y", "1 February 2020", "DATE", "2020-02-01"),
    ("%m/%d/%Y %I:%M %p", "02/13/2020 03:04 PM", "TIMESTAMP", "2020-02-13 15:04:00"),
    ("%Y%m%d %H:%M:%S.%f", "20200213 03:04:05.000006", "TIMESTAMP", "2020-02-13 03:04:05.000006"),
    ("%Y-%m-%dT%H:%M:%S.%g", "2020-02-13T03:04:05.007", "TIMESTAMP", "2020-02-13 03:04:05.007"),
    (
        "%d/%m/%Y %H:%M%z",
        "13/02/2020 03:04+0200",
        "TIMESTAMP WITH TIME ZONE",
        "2020-02-13 01:04:00+00",
    ),
    ("%H:%M", "03:04", "TIME", "03:04:00"),
    ("%d/%m/%Y 100%%", "13/02/2020 100%", "DATE", "2020-02-13"),
    ("{%d}/%m/%Y", "{13}/02/2020", "DATE", "2020-02-13"),
]
NOT_OF_FORMAT = [
    "",
    " 01/02/2020",
    "01/02/2020 ",
    "31/02/2020",
    "32/01/2020",
    "1/2/20",
    "01-02-2020",
]


@pytest.mark.parametrize(("form", "text", "kind", "value"), FORMATS)
def test_a_format_of_dates_is_followed(form, text, kind, value, tmp_path):
    path = csv(tmp_path / "t.csv", f'a\n"{text}"\n')
    options = preview.ReadOptions.of(date_format={"a": form}, delimiter="none")
    made = pin_one(path, tmp_path, options=options)
    assert types_of(made) == {"a": kind}
    assert rows_of(made, "SELECT CAST(a AS VARCHAR) FROM t") == [(value,)]


@pytest.mark.parametrize("text", NOT_OF_FORMAT)
def test_what_is_not_of_its_format_is_an_error(text, tmp_path):
    path = csv(tmp_path / "t.csv", f'a\n13/02/2020\n"{text}"\n')
    options = preview.ReadOptions.of(date_format={"a": "%d/%m/%Y"}, delimiter="none")
    message = refused(path, tmp_path, options=options)
    assert "line 3, column a" in message
    assert "--date-format" in message


def test_what_a_double_is_only_nearest_to_is_counted(tmp_path):
    path = csv(tmp_path / "t.csv", "a,b\n0.1,0.1\n0.12345678901234567890,1\n1e300,16777217\n")
    kinds = {"a": "DOUBLE", "b": "FLOAT"}
    made = pin_one(path, tmp_path, options=preview.ReadOptions.of(types=kinds))
    dialect = dialect_of(made)
    assert [column.rounded for column in dialect.columns] == [1, 1]
    assert [column.given for column in dialect.columns] == [("type",), ("type",)]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_a_number_beyond_the_largest_is_not_infinity(kind, tmp_path):
    path = csv(tmp_path / "t.csv", "a\n-inf\nnan\n")
    options = preview.ReadOptions.of(types={"a": kind})
    made = pin_one(path, tmp_path, options=options)
    assert rows_of(made, "SELECT CAST(a AS VARCHAR) FROM t") == [("-inf",), ("nan",)]
    csv(path, "a\n-inf\n1e400\n")
    assert "line 3, column a" in refused(path, tmp_path, options=options)

"""Texts become values of a type exactly, or not at all: found over all rows, or given."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

import preview
from tests.pinned import csv, pin_one, refused, rows_of, types_of

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
    ("BIGINT", " 12"),
    ("BIGINT", "12 "),
    ("DECIMAL(5,2)", " 1.25"),
    ("DOUBLE", "\t0.5"),
    ("DATE", "2020-01-02 "),
    ("TIMESTAMP", " 2020-01-02 03:04:05"),
    ("TIME", "03:04:05 "),
    ("UUID", " 00000000-0000-0000-0000-00000000000a"),
    ("DATE", "02/01/2020"),
    ("DATE", "Jan 2, 2020"),
    ("TIMESTAMP", "02.01.2020 03:04:05"),
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


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_text_that_its_type_would_alter_is_refused(form, tmp_path):
    for kind, text in ALTERED:
        if form == "json" and text in ("1e3", "0x1F"):
            continue  # exactly 1000 there, and no number
        if form == "csv":
            path = csv(tmp_path / "a.csv", f'a,b\n"{text}",1\n')
        else:
            number = kind in ("INTEGER", "BIGNUM", "DECIMAL(5,2)") and " " not in text
            path = tmp_path / "a.json"
            path.write_text(f'[{{"a": {text if number else json.dumps(text)}, "b": 1}}]')
        message = refused(path, tmp_path, options=preview.ReadOptions.of(types={"a": kind}))
        assert "column a" in message, (kind, text)
        assert "line" in message
        assert text not in message


TYPES = {f"c{place}": kind for place, (kind, _, _) in enumerate(KEPT)}


def given(path: Path, before: str = "", after: str = "") -> Path:
    """Write all that is kept in one record, each text in a column of its own."""
    texts = ",".join(f'"{before}{text}{after}"' for _, text, _ in KEPT)
    return csv(path, f"{','.join(TYPES)}\n{texts}\n")


def test_a_text_that_is_exactly_of_its_type_is_kept(tmp_path):
    made = pin_one(given(tmp_path / "k.csv"), tmp_path, options=preview.ReadOptions.of(types=TYPES))
    [told] = rows_of(made, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t")
    assert list(told) == [kept or text for _, text, kept in KEPT]


def test_blanks_around_a_text_are_dropped_only_where_that_is_asked_for(tmp_path):
    path, options = given(tmp_path / "k.csv", " ", "\t"), preview.ReadOptions.of
    made = pin_one(path, tmp_path, options=options(types=TYPES, trim=True))
    [told] = rows_of(made, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t")
    assert list(told) == [kept or text for _, text, kept in KEPT]
    assert "line 2" in refused(path, tmp_path, options=options(types=TYPES))
    # As text, they are part of it.
    made = pin_one(path, tmp_path)
    [told] = rows_of(made, "FROM t")
    assert list(told) == [f" {text}\t" for _, text, _ in KEPT]


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


def test_types_that_no_text_has_are_refused(tmp_path):
    path = csv(tmp_path / "o.csv", "a,b\n1,2\n")
    options = preview.ReadOptions.of
    assert "no column" in refused(path, tmp_path, options=options(types={"c": "INTEGER"}))
    assert "no type" in refused(path, tmp_path, options=options(types={"a": "INTEGERR"}))
    for nested in ("INTEGER[]", "STRUCT(a INTEGER)", "VARIANT", "BLOB", "BIT"):
        assert "no text is read as" in refused(path, tmp_path, options=options(types={"a": nested}))

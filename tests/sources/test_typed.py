"""Parquet and Arrow: every value is kept, or its column is named; pyarrow is the judge."""

import decimal
import gzip
import json
import os
import resource
import struct
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import preview
from eligibility.sql.manifest import TableSource, TypedDialect
from preview.sources import files
from tests.pinned import csv, pin_one, refused, rows_of, types_of

MOST = 2**63 - 1
KEPT = {
    "bool": pa.array([True, None, False]),
    "int8": pa.array([-128, None, 127], pa.int8()),
    "int64": pa.array([-MOST, None, MOST]),
    "uint64": pa.array([0, None, 2**64 - 1], pa.uint64()),
    "float32": pa.array([0.1, None, -0.0], pa.float32()),
    "float64": pa.array([0.1, None, 5e-324]),
    "decimal128": pa.array([decimal.Decimal("9" * 36 + ".99"), None], pa.decimal128(38, 2)),
    "date32": pa.array([-719162, None, 2932896], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, None, 86_400_000], pa.date64()),
    "time32s": pa.array([0, None, 86399], pa.time32("s")),
    "time32ms": pa.array([0, None, 86_399_999], pa.time32("ms")),
    "time64us": pa.array([0, None, 86_399_999_999], pa.time64("us")),
    "time64ns": pa.array([1, None, 86_399_999_999_999], pa.time64("ns")),
    "timestamp_s": pa.array([0, None, -62_135_596_800], pa.timestamp("s")),
    "timestamp_ms": pa.array([1, None, 253_402_300_799_999], pa.timestamp("ms")),
    "timestamp_us": pa.array([1, None, 253_402_300_799_999_999], pa.timestamp("us")),
    "timestamp_ns": pa.array([1, None, MOST - 1], pa.timestamp("ns")),
    "timestamp_us_tz": pa.array([1, None, -1], pa.timestamp("us", "Europe/Oslo")),
    "timestamp_ns_tz": pa.array([1, None, -1], pa.timestamp("ns", "UTC")),
    "string": pa.array(["", None, "é\0\U0001f986"]),
    "large_string": pa.array(["", None, "x"], pa.large_string()),
    "binary": pa.array([b"", None, b"\xff\0"]),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "list": pa.array([[1, None], None, []]),
    "struct": pa.array([{"a": 1, "b": "x"}, None]),
}


@pytest.mark.parametrize("how", ["arrow", "feather", "parquet"])
def test_every_value_is_kept(how, tmp_path):
    """All columns at once, of every type; what was pinned, read back by Arrow, is the source."""
    table = pa.table(
        {
            name: pa.concat_arrays([one, pa.nulls(4 - len(one), one.type)])
            for name, one in KEPT.items()
        }
    )
    source: object = table
    if how == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source, store_schema=False)
    elif how == "feather":
        source = tmp_path / "t.arrow"
        with pa.ipc.new_file(str(source), table.schema) as writer:
            writer.write_table(table)
    made = pin_one(source, tmp_path)
    judge = pq.read_table(source) if how == "parquet" else table
    texts = rows_of(made, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t")
    for place, name in enumerate(KEPT):
        expected = [_text(value) for value in judge[name].combine_chunks()]
        assert [row[place] for row in texts] == expected, name


def _text(value: pa.Scalar) -> str | None:
    """Write a value as the engine does, by other means."""
    kind = value.type
    if isinstance(kind, pa.DictionaryType):
        return _text(value.value) if value.is_valid else None
    if not value.is_valid:
        return None
    if isinstance(kind, pa.TimestampType):
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        seconds, part = divmod(value.value, unit)
        digits = len(str(unit)) - 1
        return _moment(seconds) + _part(part, digits) + ("+00" if kind.tz else "")
    if isinstance(kind, pa.Time32Type | pa.Time64Type):
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        seconds, part = divmod(value.value, unit)
        return _moment(seconds)[11:] + _part(part, len(str(unit)) - 1)
    if pa.types.is_date(kind):
        return str(value.as_py())
    if pa.types.is_floating(kind):
        return value.cast(pa.string()).as_py() if value.as_py() != 0 else repr(value.as_py())
    if pa.types.is_binary(kind):
        return "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02X}" for b in value.as_py())
    if pa.types.is_boolean(kind):
        return str(value.as_py()).lower()
    if isinstance(kind, pa.ListType):
        return "[" + ", ".join("NULL" if one is None else str(one) for one in value.as_py()) + "]"
    if isinstance(kind, pa.StructType):
        return "{" + ", ".join(f"'{k}': {v}" for k, v in value.as_py().items()) + "}"
    return str(value.as_py())


def _moment(seconds: int) -> str:
    import datetime

    zero = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - without an offset
    return str(zero + datetime.timedelta(seconds=seconds))


def _part(part: int, digits: int) -> str:
    return ("." + f"{part:0{digits}}".rstrip("0")) if part else ""


def int96(path: Path, times: list[int], unit: str) -> Path:
    table = pa.table({"t": pa.array(times, pa.timestamp(unit)), "i": range(len(times))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    return path


def test_int96_is_kept_unless_nanoseconds_would_be_lost(tmp_path):
    far = [0, 1, -1, 253_402_300_799_999_999]  # to the end of the year 9999
    made = pin_one(int96(tmp_path / "us.parquet", far, "us"), tmp_path)
    judge = pq.ParquetFile(tmp_path / "us.parquet", coerce_int96_timestamp_unit="us").read()
    shown = [str(one) for one in judge["t"].cast(pa.string()).to_pylist()]
    told = rows_of(made, "SELECT strftime(t, '%Y-%m-%d %H:%M:%S.%f') FROM t")
    assert [text for (text,) in told] == shown
    (source,) = made.manifest.sources
    assert isinstance(source, TableSource)
    assert isinstance(source.dialect, TypedDialect)
    assert [column.source_type for column in source.dialect.columns] == ["INT96"]
    lost = int96(tmp_path / "ns.parquet", [1_000, 1_001], "ns")
    assert "column t has INT96" in refused(lost, tmp_path)


def inside(times: list[int]) -> dict[str, pa.Array]:
    """Put times into all that Parquet can put them in."""
    flat = pa.array(times, pa.timestamp("ns"))
    listed = pa.ListArray.from_arrays([0, len(times)], flat)
    return {
        "struct": pa.StructArray.from_arrays([flat], ["x"]),
        "list": listed,
        "map": pa.MapArray.from_arrays([0, len(times)], pa.array(range(len(times))), flat),
        "keys": pa.MapArray.from_arrays([0, len(times)], flat, pa.array(range(len(times)))),
        "struct of lists": pa.StructArray.from_arrays([listed, pa.array([1])], ["x", "y"]),
    }


@pytest.mark.parametrize("what", inside([0]))
def test_int96_inside_other_values_is_looked_at_as_well(what, tmp_path):
    def written(name: str, column: pa.Array) -> Path:
        # Two columns whose leaves share a path, or begin as the other does.
        table = pa.table({"c.x": pa.array([5] * len(column)), "c": column})
        path: Path = tmp_path / name
        pq.write_table(table, path, use_deprecated_int96_timestamps=True)
        return path

    kept = pin_one(written("us.parquet", inside([0, 1_000, -1_000])[what]), tmp_path)
    assert list(types_of(kept)) == ["c.x", "c"]
    lost = written("ns.parquet", inside([0, 1_000, 1_001])[what])
    assert "column c has INT96" in refused(lost, tmp_path)


def test_int96_columns_are_told_apart_by_position(tmp_path):
    whole, part = pa.array([0], pa.timestamp("us")), pa.array([1], pa.timestamp("ns"))
    nested = pa.StructArray.from_arrays([part], ["b"])
    for names in (["a.b", "a"], ["a", "a.b"]):
        columns = {"a.b": whole, "a": nested}
        path = tmp_path / "t.parquet"
        table = pa.table({name: columns[name] for name in names})
        pq.write_table(table, path, use_deprecated_int96_timestamps=True)
        assert "column a has INT96" in refused(path, tmp_path)


LOST = {
    "decimals of 50 digits": pa.table(
        {"ok": [1], "c": pa.array([decimal.Decimal(1)], pa.decimal256(50, 0))}
    ),
    "a struct of them": pa.table(
        {"c": pa.array([{"x": decimal.Decimal(1)}], pa.struct({"x": pa.decimal256(40, 0)}))}
    ),
    "times beyond": pa.table({"c": pa.array([MOST - 1], pa.timestamp("ms"))}),
}


@pytest.mark.parametrize("what", LOST)
def test_what_parquet_would_lose_names_its_column(what, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(LOST[what], path)
    assert "column c has" in refused(path, tmp_path)


FINER = pa.array([1_001], pa.duration("ns"))
LOST_ARROW = {
    "plain seconds": pa.array([MOST // 10**6 + 1], pa.timestamp("s")),
    "plain milliseconds": pa.array([-(MOST // 1000) - 1], pa.timestamp("ms")),
    "date64": pa.array([86_400_000 * 2**36], pa.int64()).view(pa.date64()),
    "date64 in a list": pa.ListArray.from_arrays(
        [0, 1], pa.array([-86_400_000 * 2**36], pa.int64()).view(pa.date64())
    ),
    "a map with a key twice": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64())),
    "seconds": pa.array([MOST // 1000], pa.timestamp("s", "UTC")),
    "seconds in a list": pa.array([[MOST // 1000]], pa.list_(pa.timestamp("s", "UTC"))),
    "spans": pa.array([MOST - 1], pa.duration("ms")),
    "dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0]), pa.array([MOST // 1000], pa.timestamp("s", "UTC"))
    ),
    "list view": pa.ListViewArray.from_arrays(
        pa.array([0], pa.int32()), pa.array([1], pa.int32()), FINER
    ),
    "large list view": pa.LargeListViewArray.from_arrays(pa.array([0]), pa.array([1]), FINER),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), FINER),
    "far run ends": pa.RunEndEncodedArray.from_arrays(
        pa.array([1], pa.int32()), pa.array([MOST // 1000], pa.timestamp("s", "UTC"))
    ),
    "union": pa.UnionArray.from_sparse(pa.array([1], pa.int8()), [pa.array(["a"]), FINER]),
    "decimal256": pa.array([decimal.Decimal(1)], pa.decimal256(50, 0)),
    "float16": pa.array([1.0], pa.float16()),
}


@pytest.mark.parametrize("what", LOST_ARROW)
def test_what_arrow_would_lose_names_its_column(what, tmp_path):
    assert "column c has" in refused(pa.table({"ok": [1], "c": LOST_ARROW[what]}), tmp_path)


def test_an_arrow_file_with_values_the_engine_does_not_take_names_their_column(tmp_path):
    table = pa.table({"ok": [1], "c": LOST_ARROW["a map with a key twice"]})
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert "column c has" in refused(tmp_path / "t.arrow", tmp_path)


STRUCTS = {
    "twice": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]),
    "but for case": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"]),
    "one empty": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", ""]),
    "a NUL": pa.StructArray.from_arrays([pa.array([1])], ["a\0b"]),
}


@pytest.mark.parametrize("inside", ["alone", "list", "dictionary"])
@pytest.mark.parametrize("what", STRUCTS)
def test_names_inside_a_column_are_kept_or_refused(what, inside, tmp_path):
    """The engine renames one that repeats, and cuts one at a NUL."""
    column = STRUCTS[what]
    if inside == "list":
        column = pa.ListArray.from_arrays([0, 1], column)
    if inside == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array([0]), column)
    table = pa.table({"ok": [1], "c": column})
    assert "column c has fields" in refused(table, tmp_path)
    if inside != "dictionary":
        pq.write_table(table, tmp_path / "t.parquet")
        assert "column c has fields" in refused(tmp_path / "t.parquet", tmp_path)


class Kilometres(pa.ExtensionType):  # type: ignore[misc]
    """A type of someone's own."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "test.kilometres")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


@pytest.mark.parametrize("how", ["memory", "arrow", "parquet"])
def test_an_extension_type_keeps_its_values_and_is_recorded(how, tmp_path):
    column = pa.ExtensionArray.from_storage(Kilometres(), pa.array([MOST, None]))
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 2, pa.binary(16)))
    table = pa.table({"c": column, "u": uuids})
    source: object = table
    if how == "arrow":
        source = tmp_path / "t.arrow"
        with pa.ipc.new_file(str(source), table.schema) as writer:
            writer.write_table(table)
    if how == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source)
    made = pin_one(source, tmp_path)
    assert rows_of(made, "SELECT c FROM t") == [(MOST,), (None,)]
    assert types_of(made) == {"c": "BIGINT", "u": "UUID"}
    assert converted(made) == [("c", "test.kilometres", "BIGINT")]


def converted(made: preview.Snapshot) -> list[tuple[str, str, str]]:
    (source,) = made.manifest.sources
    assert isinstance(source, TableSource)
    assert isinstance(source.dialect, TypedDialect)
    return [(one.name, one.source_type, one.type) for one in source.dialect.columns]


def test_spans_in_parquet_are_numbers_and_their_unit_is_recorded(tmp_path):
    """Parquet has no type for them: they are counts there, whatever Arrow notes beside."""
    pq.write_table(pa.table({"c": FINER}), tmp_path / "t.parquet")
    made = pin_one(tmp_path / "t.parquet", tmp_path)
    assert rows_of(made, "FROM t") == [(1_001,)]
    assert converted(made) == [("c", "duration[ns]", "BIGINT")]


def intervals(path: Path, months: int, days: int, milliseconds: int) -> Path:
    """Write an interval of Parquet, whose three numbers have no sign."""
    rows = duckdb.sql("SELECT 7::INTEGER AS ok, {'x': to_months(5) + to_days(6)} AS c")
    rows.write_parquet(str(path), compression="uncompressed")
    data, old = path.read_bytes(), struct.pack("<3I", 5, 6, 0)
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, struct.pack("<3I", months, days, milliseconds)))
    return path


def test_intervals_of_parquet_do_not_turn_negative(tmp_path):
    kept = intervals(tmp_path / "t.parquet", 2**31 - 1, 2**31 - 1, 2**32 - 1)
    told = rows_of(pin_one(kept, tmp_path), "SELECT CAST(c.x AS VARCHAR) FROM t")
    assert told == [("178956970 years 7 months 2147483647 days 1193:02:47.295",)]
    for months, days in ((2**31, 0), (0, 2**32 - 1)):
        lost = intervals(tmp_path / "t.parquet", months, days, 0)
        assert "column c has intervals" in refused(lost, tmp_path)


def geometries(path: Path, *values: bytes | None) -> Path:
    """Write geometries as GeoParquet does: as WKB, named in the file's metadata."""
    column: dict[str, object] = {"encoding": "WKB", "geometry_types": [], "crs": None}
    geo = {"version": "1.1.0", "primary_column": "c", "columns": {"c": column}}
    table = pa.table({"ok": range(len(values)), "c": pa.array(values, pa.binary())})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


def test_geometries_are_kept_whole_or_refused(tmp_path):
    point = struct.pack("<BIdd", 1, 1, 1.0, 2.0)
    high = struct.pack("<BIddd", 1, 1001, 1.0, 2.0, 3.0)
    made = pin_one(geometries(tmp_path / "t.parquet", point, None, high), tmp_path)
    told = rows_of(made, "SELECT CAST(c AS VARCHAR) FROM t")
    assert told == [("POINT (1 2)",), (None,), ("POINT Z (1 2 3)",)]
    assert converted(made) == [("c", "WKB", "GEOMETRY")]
    numbered = struct.pack("<BIIdd", 1, 0x20000001, 4326, 1.0, 2.0)
    inside = struct.pack("<BII", 1, 7, 1) + numbered
    for lost in (numbered, inside, point + b"more", b"junk"):
        path = geometries(tmp_path / "t.parquet", point, lost)
        assert "column c has geometries" in refused(path, tmp_path)


def test_a_date_of_arrow_with_a_time_of_day_is_an_error(tmp_path):
    odd = pa.array([1], pa.int64()).view(pa.date64())
    assert "damaged" in refused(pa.table({"c": odd}), tmp_path)


BAD_TABLES = {
    "columns 1 and 2": pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]),
    "no columns": pa.table({}),
    "holds a NUL": pa.table({"a\0b": [1]}),
    "is empty": pa.table({"": [1]}),
    "decimal256": pa.table({"x": pa.array([decimal.Decimal(1)], pa.decimal256(50, 0))}),
    "damaged": pa.table(
        {
            "x": pa.Array.from_buffers(
                pa.string(),
                1,
                [None, pa.py_buffer(struct.pack("<2i", 0, 1)), pa.py_buffer(b"\xff")],
            )
        }
    ),
}


MIXED = pa.array([1_000, None, 1_001], pa.duration("ns"))
FINE = pa.array([1_000, None, 2_000], pa.duration("ns"))
SPANS = pa.array([(1, 2, 3_000), None, (0, 0, -1)], pa.month_day_nano_interval())


def test_parts_of_a_microsecond_are_not_dropped(tmp_path):
    lists = [0, 1, 2, 3]
    for array in (
        MIXED,
        SPANS,
        pa.StructArray.from_arrays([MIXED], ["x"]),
        pa.ListArray.from_arrays(lists, MIXED),
        pa.MapArray.from_arrays(lists, pa.array(["a", "b", "c"]), SPANS),
    ):
        assert "parts of a microsecond" in refused(pa.table({"x": array}), tmp_path)
    table = pa.table({"a": FINE, "b": SPANS.slice(0, 2).take(pa.array([0, 1, 0]))})
    made = pin_one(table, tmp_path)
    assert rows_of(made, "SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR) FROM t LIMIT 1") == [
        ("00:00:00.000001", "1 month 2 days 00:00:00.000003")
    ]


@pytest.mark.parametrize("expected", BAD_TABLES)
def test_a_table_in_memory_can_be_bad_too(expected, tmp_path):
    assert expected in refused(BAD_TABLES[expected], tmp_path)


def test_a_damaged_arrow_file_is_an_error(tmp_path):
    table = BAD_TABLES["damaged"]
    with pa.ipc.new_file(str(tmp_path / "bad.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert "damaged" in refused(tmp_path / "bad.arrow", tmp_path)


def test_parquet_files_read_together_have_the_same_columns(tmp_path):
    write = pq.write_table
    write(pa.table({"a": [1], "b": ["x"]}), tmp_path / "1.parquet")
    write(pa.table({"a": [1], "b": ["x"], "c": [2]}), tmp_path / "2.parquet")
    assert "2.parquet has other columns" in refused(f"{tmp_path}/*.parquet", tmp_path)
    csv(tmp_path / "3.csv", "a\n1\n")
    assert ".parquet" in refused(f"{tmp_path}/[13].*", tmp_path)
    nested = pa.table({"a": [{"x": 1, "y": [1]}], "x": [{"a": 1}]})
    write(nested, tmp_path / "4.parquet")
    assert list(types_of(pin_one(tmp_path / "4.parquet", tmp_path))) == ["a", "x"]


# --- folders ------------------------------------------------------------------------------------


def test_folder_names_are_columns_where_that_is_asked_for(tmp_path):
    for year, land in (("2019", "NO"), ("2020", "S%20E"), ("2021", "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / "data" / f"year={year}" / f"land={land}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"a": [int(year)]}), folder / "p.parquet")
    pattern = f"{tmp_path}/data/*/*/p.parquet"
    made = pin_one(pattern, tmp_path)
    assert types_of(made) == {"a": "BIGINT"}
    (source,) = made.manifest.sources
    assert isinstance(source, TableSource)
    assert [doubt.code for doubt in source.doubts] == ["folder-names"]
    options = preview.ReadOptions.of(partitions=True)
    made = pin_one(pattern, tmp_path, options=options)
    assert types_of(made) == {"a": "BIGINT", "year": "BIGINT", "land": "VARCHAR"}
    assert rows_of(made, "FROM t") == [(2019, 2019, "NO"), (2020, 2020, "S E"), (2021, 2021, None)]
    assert isinstance(made.manifest.sources[0], TableSource)
    assert isinstance(made.manifest.sources[0].dialect, TypedDialect)
    assert [one.name for one in made.manifest.sources[0].dialect.partitions] == ["year", "land"]
    one = tmp_path / "data" / "year=2019" / "land=NO"
    text = csv(one / "p.csv", "a\n1\n")
    assert rows_of(pin_one(text, tmp_path, options=options), "FROM t") == [(1, 2019, "NO")]
    (one / "p.json").write_text('[{"a": 1}]')
    assert rows_of(pin_one(one / "p.json", tmp_path, options=options), "FROM t") == [
        (1, 2019, "NO")
    ]
    csv(one / "p.csv", "year\n1\n")
    assert "one name" in refused(one / "p.csv", tmp_path, options=options)
    csv(tmp_path / "p.csv", "a\n1\n")
    assert "leave out --partitions" in refused(tmp_path / "p.csv", tmp_path, options=options)
    other = tmp_path / "data" / "month=1" / "land=NO"
    other.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), other / "p.parquet")
    assert "other keys" in refused(pattern, tmp_path, options=options)


def test_folder_names_that_are_no_utf_8_are_an_error(tmp_path):
    options = preview.ReadOptions.of(partitions=True)
    folder = tmp_path / "data" / "k=%FF"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), folder / "p.parquet")
    for _ in range(2):
        pattern = f"{tmp_path}/data/*/p.parquet"
        assert "not UTF-8" in refused(pattern, tmp_path, options=options)
        assert pin_one(pattern, tmp_path).manifest.sources[0].doubts
        folder.rename(os.fsdecode(os.fsencode(folder.parent) + b"/k=\xff"))
        folder = folder.with_name(os.fsdecode(b"k=\xff"))


# --- what files really are ----------------------------------------------------------------------

ELSE = {
    "t.csv": {
        "an SQLite database": b"SQLite format 3\0rest",
        "a Parquet file": b"PAR1rest",
        "an Arrow file": b"ARROW1rest",
        "a PDF document": b"%PDF-1.7",
        "a .zip archive or a spreadsheet": b"PK\x03\x04rest",
        "packed by gzip": b"\x1f\x8brest",
        "packed by zstd": b"(\xb5/\xfdrest",
        "a DuckDB database": b"\0" * 8 + b"DUCK",
        "a web page": b" <!DOCTYPE html><html>",
    },
    "t.json": {"a web page": b"<html>", "a Parquet file": b"PAR1"},
    "t.parquet": {"no Parquet file": b"a,b\n1,2\n", "an Arrow file": b"ARROW1"},
    "t.arrow": {"a Parquet file": b"PAR1"},
}


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for name, kinds in ELSE.items() for what in kinds]
)
def test_a_file_that_is_something_else_is_named_for_what_it_is(name, what, tmp_path):
    (tmp_path / name).write_bytes(ELSE[name][what])
    message = refused(tmp_path / name, tmp_path)
    assert what in message
    assert ";" in message


@pytest.mark.parametrize("start", ["PAR1", "ARROW1", "%PDF-", "<html>"])
def test_a_text_that_begins_like_something_else_is_read_as_what_it_is_said_to_be(start, tmp_path):
    path = csv(tmp_path / "t.csv", f"{start},b\n1,2\n")
    assert "--format csv" in refused(path, tmp_path)
    made = pin_one(path, tmp_path, options=preview.ReadOptions.of(format="csv"))
    assert types_of(made) == {start: "BIGINT", "b": "BIGINT"}
    for data in (
        b"SQLite format 3\0",
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"(\xb5/\xfd",
        b"\0" * 8 + b"DUCK",
    ):
        path.write_bytes(data)
        options = preview.ReadOptions.of(format="csv", encoding="latin-1")
        assert "not what its name says" in refused(path, tmp_path, options=options)


@pytest.mark.parametrize(
    "address", ["https://host/t.csv", "s3://bucket/t.csv", "gs://b/t", "file:///t.csv"]
)
def test_an_address_is_refused_by_its_scheme(address, tmp_path):
    message = refused(address, tmp_path)
    assert address.split(":")[0] + "://" in message
    assert "download" in message


# --- files held open ----------------------------------------------------------------------------


def bomb(folder: Path, kind: str, size: int) -> Path:
    data = b"a\n" + b"1\n" * (size // 2)
    path = folder / f"t.csv.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(data))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", data)
    else:
        with pa.output_stream(str(path), compression="zstd") as packed:
            packed.write(data)
    return path


@pytest.mark.parametrize("kind", ["gz", "zip", "zst"])
def test_unpacking_stops_at_its_limit(kind, tmp_path):
    path = bomb(tmp_path, kind, 4_000_000)
    assert path.stat().st_size < 100_000
    message = refused(path, tmp_path, max_bytes=1_000_000)
    assert "--max-bytes" in message
    assert pin_one(path, tmp_path, max_bytes=10_000_000).pins[0].rows == 2_000_000


def test_a_link_that_leads_elsewhere_while_it_is_read_fools_nobody(tmp_path, monkeypatch):
    """The link is true whenever it is hashed by name, and false in between."""
    true, false = csv(tmp_path / "true.csv", "a\n1\n"), csv(tmp_path / "false.csv", "a\n2\n")
    link = tmp_path / "t.csv"
    link.symlink_to(true)
    hold = files.Held.hold

    def hold_and_flip(self: files.Held, file: Path) -> None:
        hold(self, file)
        link.unlink()
        link.symlink_to(false)

    check = files.Held.check

    def flip_and_check(self: files.Held) -> None:
        link.unlink()
        link.symlink_to(true)
        check(self)

    monkeypatch.setattr(files.Held, "hold", hold_and_flip)
    monkeypatch.setattr(files.Held, "check", flip_and_check)
    assert rows_of(pin_one(link, tmp_path), "FROM t") == [(1,)]


def example(folder: Path, kind: str) -> Path:
    """Write many rows, so that a reader that keeps to its start would notice nothing."""
    table, path = pa.table({"a": range(50_000)}), folder / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=1_000)
    elif kind == "csv":
        csv(path, "a\n" + "\n".join(map(str, range(50_000))) + "\n")
    else:
        csv(path, "".join(f'{{"a": {place}}}\n' for place in range(50_000)))
    return path


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"1\n" if path.suffix == ".csv" else b'{"a": 1}\n')


@pytest.mark.parametrize("change", [replaced, truncated, appended])
@pytest.mark.parametrize("when", ["hold", "check"])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "ndjson"])
def test_a_file_that_changes_after_it_was_hashed_is_an_error(
    kind, when, change, tmp_path, monkeypatch
):
    """Before it is read, and once it was: also where what was read would be the same."""
    path, usual = example(tmp_path, kind), getattr(files.Held, when)

    def hold(self: files.Held, file: Path) -> None:
        usual(self, file)
        change(path)

    def check(self: files.Held) -> None:
        change(path)
        usual(self)

    monkeypatch.setattr(files.Held, when, {"hold": hold, "check": check}[when])
    message = refused(path, tmp_path)
    if when == "check" or change is replaced:
        assert "changed" in message


@pytest.fixture
def few_descriptors():
    """Let this process hold few files, as a usual shell does, until it asks for more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
def test_many_files_at_once(tmp_path):
    for place in range(600):
        pq.write_table(pa.table({"a": [place]}), tmp_path / f"{place:04}.parquet")
    made = pin_one(f"{tmp_path}/*.parquet", tmp_path)
    assert rows_of(made, "SELECT count(*), sum(a) FROM t") == [(600, 600 * 599 // 2)]
    assert len(made.manifest.sources[0].files) == 600
    assert len(list(Path("/dev/fd").iterdir())) < 300

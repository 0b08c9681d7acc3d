"""Parquet and Arrow: every value is kept, or its column is named; pyarrow is the judge."""

import decimal
import gzip
import os
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import preview
from eligibility.manifest import TableSource, TypedDialect
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


def test_a_date_of_arrow_with_a_time_of_day_is_an_error(tmp_path):
    odd = pa.array([1], pa.int64()).view(pa.date64())
    assert "damaged" in refused(pa.table({"c": odd}), tmp_path)


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


def test_many_files_at_once(tmp_path):
    for place in range(600):
        pq.write_table(pa.table({"a": [place]}), tmp_path / f"{place:04}.parquet")
    made = pin_one(f"{tmp_path}/*.parquet", tmp_path)
    assert rows_of(made, "SELECT count(*), sum(a) FROM t") == [(600, 600 * 599 // 2)]
    assert len(made.manifest.sources[0].files) == 600
    assert len(list(Path("/dev/fd").iterdir())) < 300

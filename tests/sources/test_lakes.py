"""Delta Lake and Iceberg: one content with Parquet, and refused by name where they are more."""

import datetime as dt
import decimal
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.types import LongType

from preview.sources.options import ReadOptions
from tests.pinned import pin_one, refused, rows_of, source_of, types_of

COUNT = 3_000


@pytest.fixture(scope="module")
def typed():
    count = range(COUNT)
    day = dt.date(1, 1, 1)
    return pa.table(
        {
            "id": pa.array([None if n % 11 == 5 else n for n in count], pa.int64()),
            "price": pa.array([decimal.Decimal(n) / 100 for n in count], pa.decimal128(18, 2)),
            "ratio": pa.array([n / 8 + 0.0625 for n in count]),
            "open": pa.array([n % 3 == 0 for n in count]),
            "day": pa.array([day + dt.timedelta(days=n * 1_000) for n in count]),
            "at": pa.array([n * 1_000_003 for n in count], pa.timestamp("us")),
            "name": pa.array([None if n % 7 == 0 else f"é {n % 50}, x" for n in count]),
        }
    )


@pytest.fixture
def catalog(tmp_path):
    made = InMemoryCatalog("test", warehouse=f"file://{tmp_path / 'warehouse'}")
    made.create_namespace("n")
    yield made
    made.close()


def iceberg(table: Any) -> str:
    location: str = table.metadata_location
    return "iceberg:" + location.removeprefix("file://")


# --- one content ------------------------------------------------------------------------------


def test_one_content_whatever_holds_it(typed, catalog, tmp_path):
    pa.parquet.write_table(typed, tmp_path / "t.parquet")
    with duckdb.connect() as connection:
        connection.register("typed", typed)
        connection.execute(f"COPY (FROM typed) TO '{tmp_path / 't.csv'}'").fetchall()
    write_deltalake(tmp_path / "delta", typed)
    table = catalog.create_table("n.t", schema=typed.schema)
    table.append(typed)
    made = [
        pin_one(source, tmp_path)
        for source in (
            typed,
            tmp_path / "t.parquet",
            f"delta:{tmp_path / 'delta'}",
            iceberg(table),
        )
    ]
    # Without it, numbers that are all decimals would be found to be that.
    asked = ReadOptions.of(types={"ratio": "DOUBLE"})
    made.append(pin_one(tmp_path / "t.csv", tmp_path, options=asked))
    assert len({one.id for one in made}) == 1
    assert made[0].pins[0].rows == COUNT


def test_files_come_in_order_of_path(typed, catalog, tmp_path):
    table = catalog.create_table("n.t", schema=typed.schema)
    for start in range(0, COUNT, 1_000):
        write_deltalake(tmp_path / "delta", typed.slice(start, 1_000), mode="append")
        table.append(typed.slice(start, 1_000))
    for source, folder in (
        (f"delta:{tmp_path / 'delta'}", tmp_path / "delta"),
        (iceberg(table), tmp_path / "warehouse" / "n" / "t" / "data"),
    ):
        snapshot = pin_one(source, tmp_path)
        files = sorted(folder.glob("*.parquet"), key=str)
        assert [one.name for one in source_of(snapshot).files[-3:]] == [file.name for file in files]
        read = pa.concat_tables(pa.parquet.read_table(file).cast(typed.schema) for file in files)
        assert snapshot.id == pin_one(read, tmp_path).id


def test_every_type_of_a_lake_is_what_parquet_says(catalog, tmp_path):
    table = pa.table(
        {
            "whole": pa.array([1], pa.int32()),
            "list": pa.array([[{"x": 1}]], pa.list_(pa.struct({"x": pa.int64()}))),
            "map": pa.array([[("k", [1])]], pa.map_(pa.string(), pa.list_(pa.int32()))),
            "zoned": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")),
            "bytes": pa.array([b"\0x"], pa.binary()),
            "single": pa.array([0.1], pa.float32()),
        }
    )
    expected = {
        "whole": "INTEGER",
        "list": "STRUCT(x BIGINT)[]",
        "map": "MAP(VARCHAR, INTEGER[])",
        "zoned": "TIMESTAMP WITH TIME ZONE",
        "bytes": "BLOB",
        "single": "FLOAT",
    }
    write_deltalake(tmp_path / "delta", table)
    made = catalog.create_table("n.t", schema=table.schema)
    made.append(table)
    for source in (f"delta:{tmp_path / 'delta'}", iceberg(made)):
        snapshot = pin_one(source, tmp_path)
        assert types_of(snapshot) == expected
        assert snapshot.id == pin_one(table, tmp_path).id


# --- versions ---------------------------------------------------------------------------------


def test_a_version_is_recorded_with_the_hash_of_its_log_entry(tmp_path):
    folder = tmp_path / "delta"
    for number in range(2):
        write_deltalake(folder, pa.table({"a": [number]}), mode="append")
    for version, rows in ((0, 1), (1, 2)):
        source = source_of(pin_one(f"delta:{folder}@{version}", tmp_path))
        log = folder / "_delta_log" / f"{version:020}.json"
        assert (source.origin.version, len(source.files)) == (version, rows)
        assert source.origin.log_sha256 == hashlib.sha256(log.read_bytes()).hexdigest()
        assert source.origin.table_id == str(DeltaTable(folder).metadata().id)
    assert pin_one(f"delta:{folder}", tmp_path).pins[0].rows == 2
    assert "version 9" in refused(f"delta:{folder}@9", tmp_path)


def test_a_snapshot_is_recorded_with_its_metadata(catalog, tmp_path):
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64()}))
    assert "no snapshot" in refused(iceberg(table), tmp_path)
    for number in range(2):
        table.append(pa.table({"a": [number]}))
    file = Path(table.metadata_location.removeprefix("file://"))
    for snapshot, rows in zip(table.metadata.snapshots, (1, 2), strict=True):
        made = pin_one(f"{iceberg(table)}@{snapshot.snapshot_id}", tmp_path)
        source = source_of(made)
        assert made.pins[0].rows == rows
        assert source.origin.snapshot_id == str(snapshot.snapshot_id)
        assert source.origin.table_uuid == str(table.metadata.table_uuid)
        assert source.origin.metadata_sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
        assert source.origin.manifest_list == Path(snapshot.manifest_list).name
        assert source.files[0].name == file.name
    assert "snapshot 7 is not in it" in refused(f"{iceberg(table)}@7", tmp_path)


def test_a_version_without_rows_is_an_empty_table(tmp_path):
    write_deltalake(tmp_path / "delta", pa.table({"a": [1], "b": ["x"]}))
    DeltaTable(tmp_path / "delta").delete()
    snapshot = pin_one(f"delta:{tmp_path / 'delta'}", tmp_path)
    assert (types_of(snapshot), snapshot.pins[0].rows) == ({"a": "BIGINT", "b": "VARCHAR"}, 0)


def test_a_vacuumed_version_is_an_error(tmp_path):
    folder = tmp_path / "delta"
    write_deltalake(folder, pa.table({"a": [1]}))
    write_deltalake(folder, pa.table({"a": [2]}), mode="overwrite")
    DeltaTable(folder).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert rows_of(pin_one(f"delta:{folder}", tmp_path), "FROM t") == [(2,)]
    assert "vacuumed" in refused(f"delta:{folder}@0", tmp_path)


def test_an_expired_file_is_an_error(catalog, tmp_path):
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64()}))
    table.append(pa.table({"a": [1]}))
    source = iceberg(table)
    for pattern in ("data/*.parquet", "metadata/*-m0.avro", "metadata/snap-*.avro"):
        for file in (tmp_path / "warehouse" / "n" / "t").glob(pattern):
            file.unlink()
        assert "is gone" in refused(source, tmp_path)


def test_a_file_of_another_size_is_an_error(tmp_path):
    folder = tmp_path / "delta"
    write_deltalake(folder, pa.table({"a": [1]}))
    (file,) = folder.glob("*.parquet")
    pa.parquet.write_table(pa.table({"a": [2, 3]}), file, compression="none")
    assert "another size" in refused(f"delta:{folder}", tmp_path)


# --- partitions -------------------------------------------------------------------------------


def test_partitions_are_what_the_log_says_and_not_the_folders(tmp_path):
    table = pa.table(
        {
            "text": ["u", "w w/%=é", None, ""],
            "whole": pa.array([1, -2, 3, None], pa.int32()),
            "value": [1, 2, 3, 4],
            "day": [dt.date(2020, 1, 1)] * 4,
            "price": pa.array([decimal.Decimal("1.50")] * 4, pa.decimal128(5, 2)),
            "flag": [True, False, None, True],
        }
    )
    parts = ["text", "whole", "day", "price", "flag"]
    write_deltalake(tmp_path / "delta", table, partition_by=parts)
    snapshot = pin_one(f"delta:{tmp_path / 'delta'}", tmp_path)
    assert list(types_of(snapshot)) == table.column_names
    # A partition's empty text is NULL: so Delta says.
    expected = [
        tuple(None if one == "" else one for one in row.values()) for row in table.to_pylist()
    ]
    assert rows_of(snapshot, "FROM t ORDER BY value") == expected


def test_a_partition_of_a_type_without_one_text_is_refused(tmp_path):
    write_deltalake(tmp_path / "delta", pa.table({"a": [1], "p": [1.5]}), partition_by=["p"])
    assert "partitioned by column p" in refused(f"delta:{tmp_path / 'delta'}", tmp_path)


# --- what is more than its files ----------------------------------------------------------------


def commit(folder: Path, version: int, *actions: object) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{version:020}.json").write_text(text)


def protocol(*features: str) -> dict[str, object]:
    listed = list(features)
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": listed,
            "writerFeatures": listed,
        }
    }


def test_deletion_vectors_are_refused(tmp_path):
    folder = tmp_path / "delta"
    write_deltalake(folder, pa.table({"a": [1, 2, 3, 4]}))
    lines = (folder / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (added,) = [json.loads(line)["add"] for line in lines if '"add"' in line]
    vector = {
        "storageType": "u",
        "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA",
        "offset": 1,
        "sizeInBytes": 36,
        "cardinality": 2,
    }
    removed = {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}
    commit(
        folder,
        1,
        protocol("deletionVectors"),
        {"remove": removed},
        {"add": {**added, "deletionVector": vector}},
    )
    assert "deletion vectors" in refused(f"delta:{folder}", tmp_path)
    assert pin_one(f"delta:{folder}@0", tmp_path).pins[0].rows == 4


def test_a_feature_that_is_on_and_not_used_is_no_reason(tmp_path):
    write_deltalake(
        tmp_path / "delta",
        pa.table({"a": [1]}),
        configuration={"delta.enableDeletionVectors": "true"},
    )
    assert pin_one(f"delta:{tmp_path / 'delta'}", tmp_path).pins[0].rows == 1


def test_column_mapping_is_refused(tmp_path):
    write_deltalake(
        tmp_path / "delta",
        pa.table({"a": [1]}),
        configuration={"delta.columnMapping.mode": "name"},
    )
    assert "column mapping" in refused(f"delta:{tmp_path / 'delta'}", tmp_path)


@pytest.mark.parametrize("feature", ["tomorrowsFeature", "catalogManaged"])
def test_a_feature_that_is_not_known_is_refused(feature, tmp_path):
    folder = tmp_path / "delta"
    write_deltalake(folder, pa.table({"a": [1]}))
    commit(folder, 1, protocol(feature))
    said = refused(f"delta:{folder}", tmp_path)
    assert "pin that version" in said or "repair" in said


def test_an_evolved_delta_schema_is_refused(tmp_path):
    folder = tmp_path / "delta"
    write_deltalake(folder, pa.table({"a": [1]}))
    write_deltalake(folder, pa.table({"a": [2], "b": ["x"]}), mode="append", schema_mode="merge")
    said = refused(f"delta:{folder}", tmp_path)
    assert "no column b" in said
    assert "evolved" in said
    assert pin_one(f"delta:{folder}@0", tmp_path).pins[0].rows == 1


def test_an_evolved_iceberg_schema_is_refused(catalog, tmp_path):
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64(), "b": pa.int64()}))
    table.append(pa.table({"a": [1], "b": [2]}))
    first = iceberg(table)
    with table.update_schema() as update:
        update.rename_column("b", "c")
    assert "evolved since its last snapshot" in refused(iceberg(table), tmp_path)
    table.append(pa.table({"a": [1], "c": [2]}))
    assert "no column c" in refused(iceberg(table), tmp_path)
    assert types_of(pin_one(first, tmp_path)) == {"a": "BIGINT", "b": "BIGINT"}


def test_a_column_that_was_dropped_and_made_again_is_another(catalog, tmp_path):
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64(), "b": pa.int64()}))
    table.append(pa.table({"a": [1], "b": [2]}))
    with table.update_schema() as update:
        update.delete_column("b")
    with table.update_schema() as update:
        update.add_column("b", LongType())
    table.append(pa.table({"a": [1], "b": [2]}))
    assert "another field" in refused(iceberg(table), tmp_path)


@pytest.mark.parametrize("kind", ["POSITION_DELETES", "EQUALITY_DELETES"])
def test_delete_files_are_refused(kind, catalog, tmp_path):
    import pyiceberg.manifest as manifests

    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64()}))
    table.append(pa.table({"a": [1, 2]}))
    snapshot = table.metadata.current_snapshot()
    (listed,) = snapshot.manifests(table.io)
    (entry,) = listed.fetch_manifest_entry(table.io)
    # The library writes none; so its own writer is told that the file deletes.
    path = listed.manifest_path.replace("-m0.avro", "-m9.avro")

    class Deletes(manifests.ManifestWriterV2):
        def content(self):
            return manifests.ManifestContent.DELETES

        @property
        def _meta(self):
            return {**super()._meta, "content": "deletes"}

    file = manifests.DataFile.from_args(
        _table_format_version=2,
        content=manifests.DataFileContent[kind],
        file_path=entry.data_file.file_path,
        file_format=manifests.FileFormat.PARQUET,
        partition=entry.data_file.partition,
        record_count=1,
        file_size_in_bytes=entry.data_file.file_size_in_bytes,
        equality_ids=[1] if kind == "EQUALITY_DELETES" else None,
    )
    with Deletes(
        table.spec(), table.schema(), table.io.new_output(path), snapshot.snapshot_id, "null"
    ) as writer:
        writer.add_entry(
            manifests.ManifestEntry.from_args(
                status=manifests.ManifestEntryStatus.ADDED,
                snapshot_id=snapshot.snapshot_id,
                data_file=file,
            )
        )
    deleting = writer.to_manifest_file()
    Path(snapshot.manifest_list.removeprefix("file://")).unlink()
    with manifests.write_manifest_list(
        format_version=2,
        output_file=table.io.new_output(snapshot.manifest_list),
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=None,
        sequence_number=1,
        avro_compression="null",
    ) as writing:
        writing.add_manifests([listed, deleting])
    said = refused(iceberg(table), tmp_path)
    assert kind.lower().replace("_", " ") in said


# --- where it is --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["s3", "gs", "abfss", "file"])
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_object_stores_are_refused_by_name(kind, scheme, tmp_path):
    said = refused(f"{kind}:{scheme}://bucket/key/v1.metadata.json", tmp_path)
    assert f"{scheme}://" in said
    assert "bucket" not in said


def test_a_file_elsewhere_is_refused(catalog, tmp_path):
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64()}))
    table.append(pa.table({"a": [1]}))
    file = Path(table.metadata_location.removeprefix("file://"))
    file.write_text(file.read_text().replace("file://", "s3://bucket"))
    said = refused(iceberg(table), tmp_path)
    assert "s3" in said
    assert "bucket" not in said


def test_what_is_no_lake_is_an_error(tmp_path):
    (tmp_path / "v1.metadata.json").write_text('{"format-version": 2}')
    assert "no metadata" in refused(f"iceberg:{tmp_path / 'v1.metadata.json'}", tmp_path)
    assert "no such file" in refused(f"iceberg:{tmp_path / 'v2.metadata.json'}", tmp_path)
    assert "_delta_log" in refused(f"delta:{tmp_path}", tmp_path)
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    assert "its log cannot be read" in refused(f"delta:{tmp_path / 'delta'}", tmp_path)
    shutil.rmtree(tmp_path / "delta")


MISSING = """
import sys
for module in ("deltalake", "pyiceberg", "adbc_driver_postgresql"):
    sys.modules[module] = None
import preview
for source in {sources!r}:
    try:
        preview.pin({{"t": source}}, into={into!r})
    except preview.SourceError as error:
        print(error)
"""


def test_a_missing_extra_says_what_to_install(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "v1.metadata.json").write_text("{}")
    sources = {
        "delta": f"delta:{tmp_path}",
        "iceberg": f"iceberg:{tmp_path / 'v1.metadata.json'}",
        "postgresql": "postgresql:::public.t",
    }
    code = MISSING.format(sources=list(sources.values()), into=str(tmp_path / "out"))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = run.stdout.splitlines()
    for extra, line in zip(sources, said, strict=True):
        assert f"pip install 'eligibility[{extra}]'" in line

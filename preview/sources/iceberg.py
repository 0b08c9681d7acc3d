"""One snapshot of an Iceberg table, from one of its metadata files (specification 9, 15.4).

Invariants
  B1  Metadata, manifest list and manifests are held, hashed, and read as held.
  B2  What changes rows or columns beyond the data files is refused by its name: delete files,
      deletion vectors, and a schema that evolved since a file was written.
"""

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eligibility.sql.manifest import IcebergOrigin
from preview.errors import SourceError
from preview.sources.files import reading as reading_file
from preview.sources.lake import LakeColumn, LakeFile, extra, read, refused
from preview.sources.readable import Readable, Reading, quoted
from preview.sources.source import Source

_METADATA_BYTES_MAX = 256 * 1024 * 1024
_TYPES = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ns": "TIMESTAMP_NS",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
}


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    shown = source.shown
    metadata = _metadata(source, reading)
    snapshot = _snapshot(source, metadata)
    schema_id = metadata.current_schema_id if snapshot.schema_id is None else snapshot.schema_id
    if source.version is None and schema_id != metadata.current_schema_id:
        raise refused(
            shown,
            "its schema evolved since its last snapshot",
            f"name that snapshot, as in {shown}@{snapshot.snapshot_id}, or write to the table",
        )
    schemas = {schema.schema_id: schema for schema in metadata.schemas}
    if schema_id not in schemas:
        raise refused(shown, "the schema of its snapshot is gone", "pin another snapshot")
    columns = tuple(
        LakeColumn(field.name, _type(shown, field.name, field.field_type), tuple(_ids(field)))
        for field in schemas[schema_id].fields
    )
    origin = IcebergOrigin(
        table_uuid=str(metadata.table_uuid),
        metadata_sha256=reading.hashed(source.files[0]).sha256,
        snapshot_id=str(snapshot.snapshot_id),
        schema_id=schema_id,
        manifest_list=_local(shown, snapshot.manifest_list).name,
    )
    try:
        files = _files(shown, snapshot, reading)
    except SourceError:
        raise
    except Exception:  # noqa: BLE001 - the library raises what it likes, and quotes paths
        raise refused(
            shown, "its manifests cannot be read", "repair the table, or pin another snapshot"
        ) from None
    with read(source, reading, columns, files, origin) as rows:
        yield rows


def _metadata(source: Source, reading: Reading) -> Any:
    shown = source.shown
    parser = extra(shown, "pyiceberg.table.metadata", "iceberg").TableMetadataUtil
    with reading_file(shown), reading.opened(source.files[0]).open("rb") as file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        with gzip.GzipFile(fileobj=file) if packed else file as unpacked:
            data = unpacked.read(_METADATA_BYTES_MAX + 1)
    try:
        if len(data) > _METADATA_BYTES_MAX:
            raise ValueError
        return parser.parse_raw(data.decode())
    except Exception:  # noqa: BLE001 - the library raises what it likes, and quotes the file
        raise refused(
            shown,
            "it is no metadata of an Iceberg table",
            "name a file such as v3.metadata.json",
        ) from None


def _snapshot(source: Source, metadata: Any) -> Any:
    wanted = metadata.current_snapshot_id if source.version is None else source.version
    for snapshot in metadata.snapshots:
        if snapshot.snapshot_id == wanted:
            return snapshot
    if source.version is None:
        raise refused(source.shown, "it has no snapshot", "write rows to the table first")
    raise refused(
        source.shown,
        f"snapshot {source.version} is not in it: it expired, or never was",
        "pin another snapshot, or an earlier metadata file",
    )


def _files(shown: str, snapshot: Any, reading: Reading) -> list[LakeFile]:
    """Give the data files of a snapshot, and see that nothing deletes their rows (B1, B2)."""
    manifest = extra(shown, "pyiceberg.manifest", "iceberg")
    reader = extra(shown, "pyiceberg.io.pyarrow", "iceberg").PyArrowFileIO

    class HeldIO(reader):  # type: ignore[misc, valid-type]
        """Reads what is held."""

        def new_input(self, location: str) -> Any:
            path = _local(shown, location)
            if not path.is_file():
                what = f"its file {path.name} is gone: the snapshot expired, or the table was moved"
                raise refused(shown, what, "pin another snapshot")
            reading.hold(path)
            return super().new_input(str(reading.opened(path)))

    io = HeldIO()
    files = []
    for listed in manifest.read_manifest_list(io.new_input(snapshot.manifest_list)):
        for entry in listed.fetch_manifest_entry(io):
            file = entry.data_file
            kind = str(getattr(file.file_format, "value", file.file_format)).lower()
            if file.content != manifest.DataFileContent.DATA:
                deletes = {
                    manifest.DataFileContent.EQUALITY_DELETES: "equality deletes",
                }.get(file.content, "deletion vectors" if kind == "puffin" else "position deletes")
                raise refused(
                    shown,
                    f"rows of it are deleted by delete files ({deletes}), which are not read",
                    "rewrite its data files (rewrite_data_files), and pin that snapshot",
                )
            if kind != "parquet":
                raise refused(
                    shown, f"it has {kind} files", "write it as Parquet, and pin that snapshot"
                )
            files.append(LakeFile(_local(shown, file.file_path), file.file_size_in_bytes))
    return files


def _local(shown: str, location: str) -> Path:
    """Give the local path of a location in the metadata."""
    path = re.sub("^file:(//)?(?=/)", "", location)
    if not path.startswith("/"):
        scheme = path.partition(":")[0] if ":" in path else "a relative path"
        raise refused(
            shown, f"its files are elsewhere ({scheme})", "copy the table to a local folder"
        )
    return Path(path)


def _type(shown: str, column: str, kind: Any) -> str:
    """Give the DuckDB type of a type in the schema of a table."""
    match type(kind).__name__:
        case "ListType":
            return f"{_type(shown, column, kind.element_type)}[]"
        case "MapType":
            key, value = (_type(shown, column, one) for one in (kind.key_type, kind.value_type))
            return f"MAP({key}, {value})"
        case "StructType":
            fields = [
                f"{quoted(one.name)} {_type(shown, column, one.field_type)}" for one in kind.fields
            ]
            return f"STRUCT({', '.join(fields)})"
        case "DecimalType":
            return f"DECIMAL({kind.precision},{kind.scale})"
        case "FixedType":
            return "BLOB"
    if str(kind) in _TYPES:
        return _TYPES[str(kind)]
    what = f"column {column} has the Iceberg type {kind}, which is not read"
    raise refused(shown, what, "write it as another type, and pin that snapshot")


def _ids(field: Any) -> Iterator[int]:
    """Give the number of a field and of those inside it, in the order of a Parquet schema."""
    yield field.field_id
    yield from _inner_ids(field.field_type)


def _inner_ids(kind: Any) -> Iterator[int]:
    match type(kind).__name__:
        case "ListType":
            yield kind.element_id
            yield from _inner_ids(kind.element_type)
        case "MapType":
            yield kind.key_id
            yield from _inner_ids(kind.key_type)
            yield kind.value_id
            yield from _inner_ids(kind.value_type)
        case "StructType":
            for field in kind.fields:
                yield from _ids(field)

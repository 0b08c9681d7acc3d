"""One version of a Delta Lake table (specification 9, 15.4).

Invariants
  D1  The version is the one that was asked for, or the last; its log entry is held and hashed.
  D2  What changes rows or columns beyond the data files is refused by its name: deletion vectors,
      column mapping, and every feature that is not listed here.
"""

import datetime
import decimal
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from eligibility.sql.manifest import DeltaOrigin
from preview.errors import SourceError
from preview.sources.lake import LakeColumn, LakeFile, extra, read, refused
from preview.sources.readable import Readable, Reading, literal, quoted
from preview.sources.source import Source

_TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}
# What a table may say it uses; where it does use one that matters, it is seen in files and columns.
_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
_PARTITIONED = frozenset({"VARCHAR", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "BOOLEAN", "DATE"})
_REWRITE = "rewrite the table without them, and pin that version"


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    shown, folder = source.shown, source.folder
    assert folder is not None  # `resolve` gives one
    table = _opened(source)
    log = folder / "_delta_log" / f"{table.version():020}.json"
    if not log.is_file():
        raise refused(
            shown, f"the log entry of version {table.version()} is gone", "pin a later version"
        )
    reading.hold(log)
    _check_features(shown, table)
    columns = tuple(
        LakeColumn(field["name"], _type(shown, field["name"], field["type"]))
        for field in json.loads(table.schema().to_json())["fields"]
    )
    metadata = table.metadata()
    types = {column.name: column.type for column in columns}
    files = []
    for action in _added(shown, table):
        path = unquote(action["path"])
        if re.match("[A-Za-z][A-Za-z0-9+.-]*:", path):
            raise refused(shown, "it has files that are elsewhere", "copy it to one local folder")
        values = action.get("partition") or {}
        constants = tuple(
            (name, _constant(shown, name, types[name], values[name]))
            for name in metadata.partition_columns
        )
        files.append(LakeFile(folder / path, action["size_bytes"], constants))
    origin = DeltaOrigin(
        table_id=str(metadata.id),
        version=table.version(),
        log_sha256=reading.hashed(log).sha256,
    )
    with read(source, reading, columns, files, origin) as rows:
        yield rows


def _opened(source: Source) -> Any:
    deltalake = extra(source.shown, "deltalake", "delta")
    try:
        table = deltalake.DeltaTable(str(source.folder), version=source.version)
    except Exception as error:  # noqa: BLE001 - the library raises what it likes, and quotes paths
        if feature := re.search("Feature '([A-Za-z0-9-]+)'", str(error)):
            raise refused(
                source.shown, f"it uses the feature {feature[1]}, which is not read", _REWRITE
            ) from None
        if source.version is not None:
            raise refused(
                source.shown,
                f"version {source.version} cannot be read: it is not there, or its log was cleaned",
                "pin another version",
            ) from None
        raise refused(source.shown, "its log cannot be read", "repair the table") from None
    if source.version is not None and table.version() != source.version:
        raise refused(source.shown, f"there is no version {source.version}", "pin another version")
    return table


def _check_features(shown: str, table: Any) -> None:
    """See that nothing but the data files says what the rows are (D2)."""
    protocol = table.protocol()
    unknown = sorted(set(protocol.reader_features or ()) - _FEATURES)
    if unknown:
        raise refused(shown, f"it uses the feature {unknown[0]}, which is not read", _REWRITE)
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise refused(
            shown, f"it uses column mapping (mode {mapping}), which is not read", _REWRITE
        )
    try:
        deleted = pa.table(table.deletion_vectors()).num_rows
    except Exception:  # noqa: BLE001 - they are there, and cannot be read
        deleted = 1
    if deleted:
        raise refused(
            shown,
            "rows of it are deleted by deletion vectors, which are not read",
            "rewrite its files (REORG TABLE … APPLY (PURGE)), and pin that version",
        )


def _added(shown: str, table: Any) -> list[dict[str, Any]]:
    try:
        added: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    except Exception:  # noqa: BLE001 - as above
        raise SourceError(f"{shown}: its log cannot be read; repair the table") from None
    return added


def _type(shown: str, column: str, kind: Any) -> str:
    """Give the DuckDB type of a type in the schema of a table."""
    if isinstance(kind, Mapping):
        inner = {"array": ("elementType",), "map": ("keyType", "valueType")}.get(kind["type"], ())
        parts = [_type(shown, column, kind[part]) for part in inner]
        match kind["type"]:
            case "array":
                return f"{parts[0]}[]"
            case "map":
                return f"MAP({parts[0]}, {parts[1]})"
            case "struct":
                fields = [
                    f"{quoted(one['name'])} {_type(shown, column, one['type'])}"
                    for one in kind["fields"]
                ]
                return f"STRUCT({', '.join(fields)})"
    if kind in _TYPES:
        return _TYPES[kind]
    if isinstance(kind, str) and (sized := re.fullmatch(r"decimal\(\s*(\d+),\s*(\d+)\)", kind)):
        return f"DECIMAL({sized[1]},{sized[2]})"
    what = f"column {column} has the Delta type {kind}, which is not read"
    raise refused(shown, what, "write it as another type, and pin that version")


def _constant(shown: str, column: str, kind: str, value: Any) -> str:
    """Give SQL for the value of a partition."""
    if value is None:
        return "NULL"
    if kind in _PARTITIONED or kind.startswith("DECIMAL"):
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int | decimal.Decimal | datetime.date):
            return literal(str(value))
    what = f"it is partitioned by column {column} of the type {kind}, which is not read"
    raise refused(shown, what, "partition it by another column, and pin that version")

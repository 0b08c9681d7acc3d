# ruff: noqa: S608 - names enter SQL quoted, and in no other way
"""Open a snapshot: a folder with one DuckDB database file and its manifest (specification 4).

Invariants
  P1  Opening verifies the manifest's form, the id, the file's size and SHA-256, and that the
      catalog is the manifest's, before anything else; any difference is `PinMismatch`.
      What this process opened, still holds, and sees unchanged was verified already: device,
      inode, size, both times and the manifest's bytes are those of then. The file whose catalog
      is read is the one that was hashed, by its descriptor, wherever its path leads meanwhile.
  P2  The catalog holds plain tables alone: nothing generated, no default, constraint or
      collation, and no view, macro, type, sequence, index or trigger.
"""

import hashlib
import os
import re
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import duckdb
from duckdb.sqltypes import DuckDBPyType

from eligibility.sql.manifest import DatabaseFile, Manifest, logical_id
from eligibility.sql.schema import CATALOG, Pin, Schema, Table
from eligibility.wire.canonical import canonical_bytes
from eligibility.wire.untrusted import EvidenceError, from_json
from preview.content_hash import ARROW_SETTINGS
from preview.descriptors import files_open, path_of
from preview.errors import PinMismatch, SourceError
from preview.sources.files import fingerprint, identity_of
from preview.sources.readable import columns_of, literal, quoted, rows_of

DATABASE_NAME = f"{CATALOG}.duckdb"
MANIFEST_NAME = "manifest.json"
MANIFEST_BYTES_MAX = 256 * 1024 * 1024

CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "preserve_insertion_order": True,
    **ARROW_SETTINGS,
}


# Times are coarse: what is younger than this when it is verified may change and not show it.
SETTLED_S = 3.0


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Snapshot:
    """A verified snapshot.

    Attributes:
        folder: where it is; an absolute path, so that it stays there when the process moves.
        id: the same for the same rows (M1 of `eligibility.sql.manifest`).
        manifest_sha256: of the manifest's bytes.
        manifest: all that is known of it.
        schema: its tables, as `eligibility.classify` takes them.
        identity: device, inode, size, and times in nanoseconds of the file that was verified.
        created: whether this call made it; false where it was there already.
    """

    folder: Path
    id: str
    manifest_sha256: str
    manifest: Manifest
    schema: Schema
    identity: tuple[int, ...]
    created: bool = False

    def __post_init__(self) -> None:
        """Make the path absolute."""
        object.__setattr__(self, "folder", self.folder.absolute())

    @property
    def database(self) -> Path:
        """The database file."""
        return self.folder / DATABASE_NAME

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Its tables, sorted by path."""
        return self.manifest.logical.tables


# --- opening --------------------------------------------------------------------------------------


def open_snapshot(
    path: str | os.PathLike[str],
    *,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Snapshot:
    """Open a snapshot, and verify all of it (specification 4, P1).

    Args:
        path: its folder.
        progress: called with what is being done, how many bytes of it are done, and how many there
            are.

    Returns:
        The snapshot.

    Raises:
        PinMismatch: there is none, or it is not what was pinned.
    """
    given: object = path
    if not isinstance(given, str | os.PathLike):
        raise PinMismatch("there is no snapshot: its folder is named by a path")
    folder = Path(path)
    try:
        # The engine would replay what lies beside the file, and looks for it elsewhere where the
        # path holds a question mark.
        if "?" in str(folder.absolute()):
            raise PinMismatch(f"{folder}: the path holds a question mark")
        if any(entry.name.startswith(f"{DATABASE_NAME}.") for entry in folder.iterdir()):
            raise PinMismatch(f"{folder}: there is a log beside {DATABASE_NAME}")
        if not all((folder / name).is_file() for name in (DATABASE_NAME, MANIFEST_NAME)):
            raise PinMismatch(f"{folder}: there is no snapshot in it")
        with (folder / MANIFEST_NAME).open("rb") as file:
            data = file.read(MANIFEST_BYTES_MAX + 1)
        held = _held(folder, data)
        if held is not None:
            return held
        started = time.time()
        manifest = from_json(Manifest, data, bytes_max=MANIFEST_BYTES_MAX)
        if canonical_bytes(manifest) != data or logical_id(manifest.logical) != manifest.id:
            raise PinMismatch(f"{folder}: {MANIFEST_NAME} is not in its canonical form")
        with (folder / DATABASE_NAME).open("rb", buffering=0) as file:
            identity = _verified(
                folder, file.fileno(), manifest.database, progress or (lambda *_: None)
            )
            _check_catalog(folder, file.fileno(), manifest)
    except EvidenceError as error:
        raise PinMismatch(f"{folder}: {MANIFEST_NAME} is malformed at {error}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it cannot be read"
        raise PinMismatch(f"{folder}: {why}") from None
    manifest_sha256 = hashlib.sha256(data).hexdigest()
    tables = tuple(Table(path=pin.path, columns=pin.columns) for pin in manifest.logical.tables)
    opened = Snapshot(
        folder, manifest.id, manifest_sha256, manifest, Schema(tables=tables), identity
    )
    if max(identity[-2:]) < (started - SETTLED_S) * 1e9:
        _HELD[identity, manifest_sha256] = opened
    return opened


_HELD: weakref.WeakValueDictionary[tuple[tuple[int, ...], str], Snapshot] = (
    weakref.WeakValueDictionary()
)


def _held(folder: Path, manifest: bytes) -> Snapshot | None:
    """Give the snapshot that was opened before, is in use, and shows no change; else None."""
    key = identity_of((folder / DATABASE_NAME).stat()), hashlib.sha256(manifest).hexdigest()
    opened = _HELD.get(key)
    if opened is None or opened.folder == folder.absolute():
        return opened
    _HELD[key] = again = replace(opened, folder=folder)
    return again


def _verified(
    folder: Path,
    opened: int,
    expected: DatabaseFile,
    progress: Callable[[str, int, int | None], None],
) -> tuple[int, ...]:
    """Hash the database file, and give the identity of what was hashed, which is what is open."""
    status = os.fstat(opened)
    if status.st_size != expected.size:
        raise PinMismatch(f"{folder}: {DATABASE_NAME} has another size than was pinned")
    try:
        found = fingerprint(
            folder / DATABASE_NAME, lambda name, *far: progress(f"verifying {name}", *far)
        )
    except SourceError as error:
        raise PinMismatch(f"{folder}: {error}") from None
    if found.identity != identity_of(status):
        raise PinMismatch(f"{folder}: {DATABASE_NAME} was exchanged while it was read")
    if (found.file.size, found.file.sha256) != (expected.size, expected.sha256):
        raise PinMismatch(f"{folder}: {DATABASE_NAME} has another content than was pinned")
    return found.identity


def _check_catalog(folder: Path, opened: int, manifest: Manifest) -> None:
    """See that the database file holds the manifest's tables as plain ones, and nothing else."""
    identity = identity_of(os.fstat(opened))
    expected = {
        pin.path: [(column.name, column.type, column.members) for column in pin.columns]
        for pin in manifest.logical.tables
    }
    path = literal(path_of(opened))
    try:
        with duckdb.connect(config=CONFIG) as connection:
            rows_of(connection, f"ATTACH {path} AS {CATALOG} (READ_ONLY, TYPE duckdb)")
            held = [place for place, file in files_open().items() if file == identity]
            found = {
                table: [
                    (name, *type_and_members(kind))
                    for name, kind in columns_of(connection, quoted(CATALOG, *table))
                ]
                for table in rows_of(
                    connection,
                    "SELECT schema_name, table_name FROM system.main.duckdb_tables() "
                    f"WHERE database_name = '{CATALOG}'",
                )
            }
            extras = _extras(connection)
    except duckdb.Error as error:
        raise PinMismatch(
            f"{folder}: {DATABASE_NAME} cannot be opened ({type(error).__name__})"
        ) from None
    if held == [opened] or identity_of(os.fstat(opened)) != identity:
        raise PinMismatch(f"{folder}: {DATABASE_NAME} was exchanged while it was read")
    if extras or expected != found:
        raise PinMismatch(f"{folder}: the catalog of {DATABASE_NAME} is not the manifest's")


def _extras(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Name the kinds of objects that a snapshot's catalog holds beside plain tables."""
    kinds = {
        "views": "duckdb_views() WHERE NOT internal AND",
        "macros": "duckdb_functions() WHERE NOT internal AND",
        "types": "duckdb_types() WHERE NOT internal AND",
        "sequences": "duckdb_sequences() WHERE",
        "indexes": "duckdb_indexes() WHERE",
        "constraints": "duckdb_constraints() WHERE",
        "triggers": "duckdb_triggers() WHERE",
        "columns": "duckdb_columns() WHERE (is_generated OR column_default IS NOT NULL) AND",
    }
    found = [
        kind
        for kind, source in kinds.items()
        if rows_of(connection, f"FROM system.main.{source} database_name = '{CATALOG}' LIMIT 1")
    ]
    for (sql,) in rows_of(
        connection,
        f"SELECT sql FROM system.main.duckdb_tables() WHERE database_name = '{CATALOG}'",
    ):
        bare = re.sub(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'", "", sql)
        if "VARCHAR COLLATE" in bare:
            found.append("collations")
    return found


# --- what the engine says of a table --------------------------------------------------------------


def type_and_members(kind: DuckDBPyType) -> tuple[str, tuple[str, ...] | None]:
    """Give a type's base name, and the members of an ENUM, in order (None for other types)."""
    if kind.id == "enum":
        ((_, members),) = kind.children
        return "ENUM", tuple(cast("list[str]", members))
    return str(kind), None

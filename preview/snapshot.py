# ruff: noqa: S608 - names enter SQL quoted, and in no other way (P4)
"""Pinned tables: make a snapshot, and open one (contract 4).

A snapshot is a folder with one DuckDB database file and its manifest.

Invariants
  P1  A snapshot stands under its final name whole or not at all: it is made in a private folder
      beside it, put on disk, verified, and only then renamed.
  P2  Its tables are native base tables made from bare column types: no view, generated column,
      macro, constraint, default, index or collation comes along, and rows keep their order.
  P3  The id is the SHA-256 of the manifest's logical part, which says nothing of sources, of the
      order in which tables were named, or of how the file is laid out.
  P4  No SQL of a source is run, and functions are named with their catalog: a source's macros
      reach nothing.
  P5  Opening verifies the manifest's form, the id, the file's size and SHA-256, and that the
      catalog is the manifest's, before anything else; any difference is `PinMismatch`.
"""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType
from pydantic import Field, model_validator

from eligibility.evidence import (
    CATALOG,
    Column,
    EvidenceError,
    Pin,
    Schema,
    Sha256,
    Table,
    TablePath,
    canonical_bytes,
    fold,
    from_json,
)
from eligibility.shape import Model
from preview.content_hash import ARROW_SETTINGS, PROGRESS_SECONDS, content_sha256
from preview.errors import PinMismatch, SourceError, TargetError
from preview.sources import (
    Format,
    ReadOptions,
    Source,
    SourceFile,
    engine_fault,
    fingerprint,
    is_unicode,
    literal,
    quoted,
    readable,
    resolve,
)

DATABASE_NAME = f"{CATALOG}.duckdb"
MANIFEST_NAME = "manifest.json"
MANIFEST_BYTES_MAX = 256 * 1024 * 1024
MANIFEST_FORMAT: Literal["eligibility-snapshot/1"] = "eligibility-snapshot/1"
_PRIVATE_PREFIX = ".pinning-"

_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "preserve_insertion_order": True,
    **ARROW_SETTINGS,
}
_WORKERS_MAX = 8
_LEFTOVER_SECONDS = 60

TableKey = str | tuple[str, ...]
Progress = Callable[[str, int, int | None], None]


# --- the manifest ---------------------------------------------------------------------------------


class DatabaseFile(Model):
    """The database file's size in bytes and the SHA-256 of its bytes, which differ by run."""

    size: int
    sha256: Sha256


class TableSource(Model):
    """Where one table came from; no part of the id.

    Attributes:
        path: the table's.
        format: the kind of source.
        name: base name of the file or glob; None for a table in memory.
        table: in a database file, the name as it was given.
        options: how texts were read; None for a format that has types of its own.
        files: in the order they were read.
    """

    path: TablePath
    format: Format
    name: str | None
    table: str | None
    options: ReadOptions | None
    files: tuple[SourceFile, ...]


class Versions(Model):
    """What made the snapshot."""

    duckdb: str
    pyarrow: str


class LogicalPart(Model):
    """What the id is made from: the tables, sorted by path (P3)."""

    tables: tuple[Pin, ...] = Field(min_length=1)


class Manifest(Model):
    """All that is known of a snapshot (contract 4).

    Attributes:
        format: version of this form.
        id: SHA-256 of the logical part's canonical bytes.
        logical: the tables.
        database: the file that holds them.
        sources: one for each table, in the same order.
        versions: of the programs that made it.
    """

    format: Literal["eligibility-snapshot/1"]
    id: Sha256
    logical: LogicalPart
    database: DatabaseFile
    sources: tuple[TableSource, ...]
    versions: Versions

    @model_validator(mode="after")
    def _in_order(self) -> "Manifest":
        paths = [pin.path for pin in self.logical.tables]
        if paths != sorted(set(paths)) or paths != [source.path for source in self.sources]:
            raise ValueError("tables and sources are not in one order")
        return self


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A verified snapshot.

    Attributes:
        folder: where it is.
        id: the same for the same rows (P3).
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

    @property
    def database(self) -> Path:
        """The database file."""
        return self.folder / DATABASE_NAME

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Its tables, sorted by path."""
        return self.manifest.logical.tables


def _logical_id(logical: LogicalPart) -> str:
    return hashlib.sha256(canonical_bytes(logical)).hexdigest()


# --- opening --------------------------------------------------------------------------------------


def open_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Open a snapshot, and verify all of it (contract 4, P5).

    Args:
        path: its folder.

    Returns:
        The snapshot.

    Raises:
        PinMismatch: there is none, or it is not what was pinned.
    """
    folder = Path(path)
    try:
        # The engine would replay what lies beside the file.
        if any(entry.name.startswith(f"{DATABASE_NAME}.") for entry in folder.iterdir()):
            raise PinMismatch(f"{folder}: there is a log beside {DATABASE_NAME}")
        with (folder / MANIFEST_NAME).open("rb") as file:
            data = file.read(MANIFEST_BYTES_MAX + 1)
        manifest = from_json(Manifest, data, bytes_max=MANIFEST_BYTES_MAX)
        if canonical_bytes(manifest) != data or _logical_id(manifest.logical) != manifest.id:
            raise PinMismatch(f"{folder}: {MANIFEST_NAME} is not in its canonical form")
        identity = _verified(folder, manifest.database)
    except EvidenceError as error:
        raise PinMismatch(f"{folder}: {MANIFEST_NAME} is malformed at {error}") from None
    except OSError as error:
        raise PinMismatch(f"{folder}: {error.strerror or 'it cannot be read'}") from None
    _check_catalog(folder, manifest)
    return _snapshot(folder, manifest, hashlib.sha256(data).hexdigest(), identity)


def _snapshot(
    folder: Path, manifest: Manifest, manifest_sha256: str, identity: tuple[int, ...]
) -> Snapshot:
    tables = tuple(Table(path=pin.path, columns=pin.columns) for pin in manifest.logical.tables)
    return Snapshot(folder, manifest.id, manifest_sha256, manifest, Schema(tables=tables), identity)


def _verified(folder: Path, expected: DatabaseFile) -> tuple[int, ...]:
    """Hash the database file, and give the identity of what was hashed."""
    path = folder / DATABASE_NAME
    if path.stat().st_size != expected.size:
        raise PinMismatch(f"{folder}: {DATABASE_NAME} has another size than was pinned")
    try:
        found = fingerprint(path, lambda *_: None)
    except SourceError as error:
        raise PinMismatch(f"{folder}: {error}") from None
    if (found.file.size, found.file.sha256) != (expected.size, expected.sha256):
        raise PinMismatch(f"{folder}: {DATABASE_NAME} has another content than was pinned")
    return found.identity


def _check_catalog(folder: Path, manifest: Manifest) -> None:
    """See that the database file holds the manifest's tables as plain ones, and nothing else."""
    expected = {
        pin.path: [(column.name, column.type, column.members) for column in pin.columns]
        for pin in manifest.logical.tables
    }
    path = literal(str((folder / DATABASE_NAME).absolute()))
    try:
        with duckdb.connect(config=_CONFIG) as connection:
            _rows(connection, f"ATTACH {path} AS {CATALOG} (READ_ONLY, TYPE duckdb)")
            found = {
                table: [
                    (name, *_type_and_members(kind))
                    for name, kind in _columns(connection, quoted(CATALOG, *table))
                ]
                for table in _rows(
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
        if _rows(connection, f"FROM system.main.{source} database_name = '{CATALOG}' LIMIT 1")
    ]
    for (sql,) in _rows(
        connection,
        f"SELECT sql FROM system.main.duckdb_tables() WHERE database_name = '{CATALOG}'",
    ):
        bare = re.sub(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'", "", sql)
        if "VARCHAR COLLATE" in bare:
            found.append("collations")
    return found


# --- pinning --------------------------------------------------------------------------------------


def pin(
    sources: Mapping[TableKey, str | os.PathLike[str] | pa.Table],
    *,
    into: str | os.PathLike[str],
    options: ReadOptions | Mapping[TableKey, ReadOptions] | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Freeze tables into a snapshot (contract 4).

    Args:
        sources: table name, or (schema, table), to a source: a path of a Parquet, CSV, JSON,
            newline-delimited JSON or Arrow IPC (Feather) file, CSV and JSON also as .gz, .zst or
            .zip of one file; a glob of Parquet files, read in the order of their paths;
            `file.duckdb::table` or `file.duckdb::schema.table`; or a table in memory. A name
            without schema is in `main`.
        into: the folder to make. One that is there must be an intact snapshot of the same rows,
            which is then returned with `created` false.
        options: how texts are read, for all tables or by table; `null`, `delimiter` and `header`
            mean nothing to a format other than CSV.
        progress: called from this thread with what is being done (it names files and tables),
            how much of it is done, and how much there is, or None where that is not known.

    Returns:
        The snapshot, verified.

    Raises:
        SourceError: a source is bad, changed while it was read, or cannot be kept as it is.
        TargetError: the folder is taken or cannot be written.
    """
    wanted = _resolved(sources, options)
    folder = Path(into)
    existing = _existing(folder)
    with _private_folder(folder.parent) as private:
        made = _build(private, wanted, progress or (lambda *_: None))
        existing = existing or _publish(private, folder)
    if existing is None:
        return replace(made, folder=folder, created=True)
    if existing.id != made.id:
        raise TargetError(f"{folder}: it is there, and holds other rows")
    return existing


def _resolved(
    sources: Mapping[TableKey, Any],
    options: ReadOptions | Mapping[TableKey, ReadOptions] | None,
) -> dict[TablePath, Source]:
    """Find the sources, by table path and sorted by it."""
    by_table: dict[TablePath, ReadOptions] = {}
    for_all = options if isinstance(options, ReadOptions) else ReadOptions()
    if isinstance(options, Mapping):
        by_table = {_table_path(key): given for key, given in options.items()}
    paths = [_table_path(key) for key in sources]
    spellings = {"main": "main"}
    for schema, _ in paths:
        if spellings.setdefault(fold(schema), schema) != schema:
            raise SourceError(f"the schema name {schema} is spelled in two ways")
    if len({(schema, fold(table)) for schema, table in paths}) != len(paths):
        raise SourceError("a table name repeats, letter case aside")
    if unknown := by_table.keys() - set(paths):
        raise SourceError(f"options are given for {_shown(min(unknown))}, which is not pinned")
    if not paths:
        raise SourceError("there is no table to pin")
    given = dict(zip(paths, sources.values(), strict=True))
    return {path: resolve(given[path], by_table.get(path, for_all)) for path in sorted(paths)}


def _table_path(key: Any) -> TablePath:
    path = (key,) if isinstance(key, str) else key
    if not isinstance(path, tuple) or not 1 <= len(path) <= 2:
        raise SourceError("a table is named by its name or by (schema, table)")
    for part in path:
        if not isinstance(part, str) or not part or "\0" in part or not is_unicode(part):
            raise SourceError("a table or schema name is no text, empty, or holds a NUL")
    return ("main", path[0]) if len(path) == 1 else (path[0], path[1])


def _existing(folder: Path) -> Snapshot | None:
    if not os.path.lexists(folder):
        return None
    try:
        return open_snapshot(folder)
    except PinMismatch:
        raise TargetError(f"{folder}: it is there, and is not an intact snapshot") from None


@contextmanager
def _private_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is gone at the end, or after a later run if this process dies (P1)."""
    private = parent / f"{_PRIVATE_PREFIX}{secrets.token_hex(8)}"
    with ExitStack() as stack:
        with _writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(parent)
            private.mkdir()
            stack.callback(shutil.rmtree, private, ignore_errors=True)
            _lock(private, stack)
        yield private


def _lock(folder: Path, stack: ExitStack) -> None:
    """Hold a lock on a folder, which the system lets go when this process ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    stack.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_leftovers(parent: Path) -> None:
    """Remove the private folders of processes that died."""
    for leftover in parent.glob(f"{_PRIVATE_PREFIX}*"):
        # Whoever made one just now may not have locked it yet.
        with suppress(OSError), ExitStack() as stack:
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_SECONDS:
                _lock(leftover, stack)
                shutil.rmtree(leftover)


def _publish(private: Path, folder: Path) -> Snapshot | None:
    """Give the folder its final name; or give what another process put there meanwhile."""
    with _writing(folder):
        try:
            if os.path.lexists(folder):
                return _existing(folder)
            private.rename(folder)
        except OSError:
            if os.path.lexists(folder):
                return _existing(folder)
            raise
        _sync(folder.parent)
    return None


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TargetError(f"{folder}: {error.strerror or 'it cannot be written'}") from None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _build(private: Path, wanted: Mapping[TablePath, Source], progress: Progress) -> Snapshot:
    """Make the whole snapshot in a private folder, and open it."""

    def hashing(name: str, done: int, total: int) -> None:
        progress(f"hashing {name}", done, total)

    files = dict.fromkeys(file for source in wanted.values() for file in source.files)
    before = {file: fingerprint(file, hashing) for file in files}
    pins = _load_all(private, wanted, progress)
    for file, known in before.items():
        if fingerprint(file, hashing) != known:
            raise SourceError(f"{file.name}: it changed while it was read")
    database = private / DATABASE_NAME
    with _writing(private):
        database.chmod(0o444)
        _sync(database)
        held = fingerprint(database, hashing).file
        logical = LogicalPart(tables=pins)
        manifest = Manifest(
            format=MANIFEST_FORMAT,
            id=_logical_id(logical),
            logical=logical,
            database=DatabaseFile(size=held.size, sha256=held.sha256),
            sources=tuple(
                TableSource(
                    path=path,
                    format=source.format,
                    name=source.name,
                    table=source.table,
                    options=source.options,
                    files=tuple(before[file].file for file in source.files),
                )
                for path, source in wanted.items()
            ),
            versions=Versions(duckdb=duckdb.__version__, pyarrow=pa.__version__),
        )
        (private / MANIFEST_NAME).write_bytes(canonical_bytes(manifest))
        (private / MANIFEST_NAME).chmod(0o444)
        _sync(private / MANIFEST_NAME)
        _sync(private)
    try:
        return open_snapshot(private)
    except PinMismatch as error:
        raise TargetError(f"what was written does not read back: {error}") from None


def _load_all(
    private: Path, wanted: Mapping[TablePath, Source], progress: Progress
) -> tuple[Pin, ...]:
    """Make and fill the tables, and hash what they hold."""
    spill = private / "spill"
    try:
        with duckdb.connect(
            config={**_CONFIG, "temp_directory": str(spill.absolute())}
        ) as connection:
            _rows(connection, "SET TimeZone = 'UTC'")
            _rows(connection, "SET enable_progress_bar = true")
            _rows(connection, "SET enable_progress_bar_print = false")
            database = literal(str((private / DATABASE_NAME).absolute()))
            _rows(connection, f"ATTACH {database} AS {CATALOG}")
            pins = []
            for path, source in wanted.items():
                _load(connection, path, source, private, progress)
                pins.append(_pin(connection, path, progress))
            _rows(connection, f"CHECKPOINT {CATALOG}")
            _rows(connection, f"DETACH {CATALOG}")
    except duckdb.OutOfMemoryException:
        raise TargetError("there is not enough memory, or room for what does not fit in") from None
    except duckdb.Error as error:
        raise TargetError(f"the snapshot cannot be written ({type(error).__name__})") from None
    shutil.rmtree(spill, ignore_errors=True)
    return tuple(pins)


def _load(
    connection: duckdb.DuckDBPyConnection,
    path: TablePath,
    source: Source,
    private: Path,
    progress: Progress,
) -> None:
    """Make a native table from bare types, and fill it from its source (P2)."""
    columns: list[tuple[str, DuckDBPyType]] = []
    shown, table = _shown(path), quoted(CATALOG, *path)
    try:
        with (
            tempfile.TemporaryDirectory(dir=private) as folder,
            readable(connection, source, Path(folder)) as rows,
        ):
            columns = _columns(connection, f"({rows.query})")
            listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
            try:
                _rows(connection, f"CREATE SCHEMA IF NOT EXISTS {quoted(CATALOG, path[0])}")
                _rows(connection, f"CREATE TABLE {table} ({listed})")
            except duckdb.Error as error:
                kind = type(error).__name__
                raise SourceError(f"{shown}: the engine makes no such table ({kind})") from None
            _watched(
                connection,
                f"INSERT INTO {table} {rows.query}",
                lambda percent: progress(f"loading {shown}", percent, 100),
            )
            counts = _rows(connection, rows.check)[0] if rows.check else ()
            for count, (name, kind) in zip(counts, rows.checked, strict=True):
                if count:
                    raise SourceError(
                        f"{source.shown}: {count} texts of column {name} are not exactly of the "
                        f"type {kind}; give the column another type"
                    )
    except duckdb.Error as error:
        # Rows are copied in one statement: only the text says on which side it went wrong.
        if isinstance(error, duckdb.OutOfMemoryException) or any(
            str((private / ours).absolute()) in str(error) for ours in (DATABASE_NAME, "spill")
        ):
            raise
        raise engine_fault(source, error, (name for name, _ in columns)) from None


def _watched(
    connection: duckdb.DuckDBPyConnection, statement: str, progress: Callable[[int], None]
) -> None:
    """Run a long statement in another thread, so that this one can report and be interrupted."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(_rows, connection, statement)
        try:
            while wait([running], PROGRESS_SECONDS).not_done:
                progress(max(0, int(connection.query_progress())))
        except BaseException:
            connection.interrupt()
            raise
        running.result()


def _pin(connection: duckdb.DuckDBPyConnection, path: TablePath, progress: Progress) -> Pin:
    """Describe and hash a table as it now is in the database file."""
    table = quoted(CATALOG, *path)
    columns = _columns(connection, table)
    floats = [name for name, kind in columns if str(kind) in ("FLOAT", "DOUBLE")]
    asked = ["count(*)"]
    asked += [f"coalesce(bool_or(system.main.isnan({quoted(name)})), false)" for name in floats]
    ((rows, *any_nan),) = _rows(connection, f"SELECT {', '.join(asked)} FROM {table}")
    nan = dict(zip(floats, any_nan, strict=True))
    content = content_sha256(
        connection,
        table,
        [(quoted(name), kind) for name, kind in columns],
        rows,
        workers=min(_WORKERS_MAX, os.cpu_count() or 1),
        progress=lambda done: progress(f"hashing {_shown(path)}", done, rows),
    )
    described = []
    for name, kind in columns:
        base, members = _type_and_members(kind)
        described.append(Column(name=name, type=base, nan=nan.get(name), members=members))
    return Pin(path=path, columns=tuple(described), rows=rows, content_sha256=content)


def _columns(
    connection: duckdb.DuckDBPyConnection, relation: str
) -> list[tuple[str, DuckDBPyType]]:
    bound = connection.sql(f"FROM {relation}")
    return list(zip(bound.columns, bound.types, strict=True))


def _type_and_members(kind: DuckDBPyType) -> tuple[str, tuple[str, ...] | None]:
    if kind.id == "enum":
        ((_, members),) = kind.children
        return "ENUM", tuple(cast("list[str]", members))
    return str(kind), None


def _rows(connection: duckdb.DuckDBPyConnection, statement: str) -> list[tuple[Any, ...]]:
    return connection.execute(statement).fetchall()


def _shown(path: TablePath) -> str:
    return path[1] if path[0] == "main" else ".".join(path)

# ruff: noqa: S608 - names enter SQL quoted, and in no other way
"""Pin tables: make a snapshot from sources (specification 4).

Invariants
  N1  A snapshot stands under its final name whole or not at all: it is made in a private folder
      beside it, put on disk, verified, and only then renamed.
  N2  Its tables are native base tables made from bare column types, and rows keep their order:
      whatever else a source has (views, generated columns, macros, constraints, defaults,
      indexes, collations) does not come along.
  N3  No SQL of a source is run, and functions are named with their catalog: a source's macros
      reach nothing.
"""

import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from eligibility.sql.manifest import (
    MANIFEST_FORMAT,
    DatabaseFile,
    LogicalPart,
    Manifest,
    TableSource,
    Versions,
    logical_id,
)
from eligibility.sql.schema import CATALOG, Column, Pin, TablePath, casefold
from eligibility.wire.canonical import canonical_bytes
from preview.content_hash import PROGRESS_SECONDS, content_sha256
from preview.errors import PinMismatch, SourceError, TargetError
from preview.snapshot import (
    CONFIG,
    DATABASE_NAME,
    MANIFEST_NAME,
    Snapshot,
    open_snapshot,
    type_and_members,
)
from preview.sources.doubts import in_words
from preview.sources.files import Held, fingerprint
from preview.sources.kinds import readable
from preview.sources.options import ReadOptions, of_no_use
from preview.sources.readable import (
    Lasting,
    Reading,
    Told,
    columns_of,
    literal,
    name_form,
    quoted,
    rows_of,
)
from preview.sources.source import Source, is_unicode, resolve

TableKey = str | tuple[str, ...]
Progress = Callable[[str, int, int | None], None]
_PRIVATE_PREFIX = ".pinning-"
_LEFTOVER_SECONDS = 60
_WORKERS_MAX = 8
UNPACKED_BYTES_MAX = 16 * 2**30


def pin(
    sources: Mapping[TableKey, str | os.PathLike[str] | pa.Table],
    *,
    into: str | os.PathLike[str],
    options: ReadOptions | Mapping[TableKey, ReadOptions] | None = None,
    strict: bool = False,
    max_bytes: int = UNPACKED_BYTES_MAX,
    progress: Progress | None = None,
) -> Snapshot:
    """Freeze tables into a snapshot (specification 4).

    Args:
        sources: table name, or (schema, table), to a source: a path of a Parquet, CSV, JSON,
            newline-delimited JSON or Arrow IPC (Feather) file, CSV and JSON also as .gz, .zst or
            .zip of one file; a glob of Parquet files, read in the order of their paths;
            `file.duckdb::table` or `file.duckdb::schema.table`; or a table in memory. A name
            without schema is in `main`.
        into: the folder to make. One that is there must be an intact snapshot of the same rows,
            which is then returned with `created` false.
        options: what is asked for, for all tables or by table; what is not is found, and stands
            in the manifest.
        strict: whether a doubt is an error.
        max_bytes: what the files of one source may unpack to.
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
    if not is_unicode(str(folder.absolute())) or {"\0", "?"} & set(str(folder.absolute())):
        raise TargetError("the path of the folder is no Unicode text, or holds a question mark")
    existing = _existing(folder, progress)
    with _private_folder(folder.parent) as private:
        made = _build(private, wanted, strict, max_bytes, progress or (lambda *_: None))
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
        if spellings.setdefault(casefold(schema), schema) != schema:
            raise SourceError(f"the schema name {schema} is spelled in two ways")
    if len({(schema, casefold(table)) for schema, table in paths}) != len(paths):
        raise SourceError("a table name repeats, letter case aside")
    if unknown := by_table.keys() - set(paths):
        raise SourceError(f"options are given for {_shown(min(unknown))}, which is not pinned")
    if not paths:
        raise SourceError("there is no table to pin")
    given = dict(zip(paths, sources.values(), strict=True))
    found = {path: resolve(given[path], by_table.get(path, for_all)) for path in sorted(paths)}
    useless = of_no_use((source.format, source.options) for source in found.values())
    if useless is not None:
        source = list(found.values())[useless[0]]
        raise SourceError(f"{source.shown}: {useless[1]} means nothing there; leave it out")
    return found


def _table_path(key: Any) -> TablePath:
    path = (key,) if isinstance(key, str) else key
    if not isinstance(path, tuple) or not 1 <= len(path) <= 2:
        raise SourceError("a table is named by its name or by (schema, table)")
    for part in path:
        if not isinstance(part, str) or not part or "\0" in part or not is_unicode(part):
            raise SourceError("a table or schema name is no text, empty, or holds a NUL")
    return ("main", path[0]) if len(path) == 1 else (path[0], path[1])


def _existing(folder: Path, progress: Progress | None = None) -> Snapshot | None:
    if not os.path.lexists(folder):
        return None
    try:
        return open_snapshot(folder, progress=progress)
    except PinMismatch:
        raise TargetError(f"{folder}: it is there, and is not an intact snapshot") from None


@contextmanager
def _private_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is gone at the end, or after a later run if this process dies (N1)."""
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


def _build(
    private: Path,
    wanted: Mapping[TablePath, Source],
    strict: bool,
    max_bytes: int,
    progress: Progress,
) -> Snapshot:
    """Make the whole snapshot in a private folder, and open it."""

    def hashing(name: str, done: int, total: int) -> None:
        progress(f"hashing {name}", done, total)

    with Held(hashing) as held, _writing(private.parent):
        for source in wanted.values():
            for file in source.files:
                held.hold(file)
        pins, told = _load_all(private, wanted, held, max_bytes, progress)
        held.check()
        if strict:
            _check_doubts(told)
        database = private / DATABASE_NAME
        database.chmod(0o444)
        _sync(database)
        written = fingerprint(database, hashing).file
        logical = LogicalPart(tables=pins)
        manifest = Manifest(
            format=MANIFEST_FORMAT,
            id=logical_id(logical),
            logical=logical,
            database=DatabaseFile(size=written.size, sha256=written.sha256),
            sources=tuple(
                TableSource(
                    path=path,
                    format=source.format,
                    name=source.name,
                    table=source.table,
                    files=tuple(map(held.hashed, (*source.files, *told[path].files))),
                    dialect=told[path].dialect,
                    doubts=told[path].doubts,
                    origin=told[path].origin,
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
        return open_snapshot(private, progress=progress)
    except PinMismatch as error:
        raise TargetError(f"what was written does not read back: {error}") from None


def _check_doubts(told: Mapping[TablePath, Told]) -> None:
    for path, one in told.items():
        for doubt in one.doubts:
            raise SourceError(f"{_shown(path)}: {in_words(doubt)}")


def _load_all(
    private: Path,
    wanted: Mapping[TablePath, Source],
    held: Held,
    max_bytes: int,
    progress: Progress,
) -> tuple[tuple[Pin, ...], dict[TablePath, Told]]:
    """Make and fill the tables, and hash what they hold."""
    spill = private / "spill"
    told: dict[TablePath, Told] = {}
    try:
        with duckdb.connect(
            config={**CONFIG, "temp_directory": str(spill.absolute())}
        ) as connection:
            rows_of(connection, "SET TimeZone = 'UTC'")
            rows_of(connection, "SET enable_progress_bar = true")
            rows_of(connection, "SET enable_progress_bar_print = false")
            database = literal(str((private / DATABASE_NAME).absolute()))
            rows_of(connection, f"ATTACH {database} AS {CATALOG}")
            pins: dict[TablePath, Pin] = {}
            # What is prepared is made from the other tables, once they are pinned.
            for prepared in (False, True):
                paths = [path for path in wanted if _is_prepared(wanted[path]) is prepared]
                read = tuple(pins.values())
                with ExitStack() as stack:
                    lasting = Lasting(stack)
                    for path in paths:
                        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=private))
                        reading = Reading(
                            connection,
                            _named(path),
                            Path(folder),
                            max_bytes,
                            held.opened,
                            progress,
                            held.hold,
                            held.hashed,
                            lasting,
                            tuple(wanted.values()),
                            read,
                        )
                        told[path] = _load(path, wanted[path], reading, private)
                rows_of(connection, f"CHECKPOINT {CATALOG}")
                pins |= {path: _pin(connection, path, progress) for path in paths}
            rows_of(connection, f"DETACH {CATALOG}")
    except duckdb.OutOfMemoryException:
        raise TargetError("there is not enough memory, or room for what does not fit in") from None
    except duckdb.Error as error:
        raise TargetError(f"the snapshot cannot be written ({type(error).__name__})") from None
    shutil.rmtree(spill, ignore_errors=True)
    return tuple(pins[path] for path in wanted), told


def _load(path: TablePath, source: Source, reading: Reading, private: Path) -> Told:
    """Make a native table from bare types, and fill it from its source (N2)."""
    connection = reading.connection
    shown, table = _shown(path), quoted(CATALOG, *path)
    try:
        with readable(source, reading) as rows:
            try:
                columns = columns_of(connection, f"({rows.query})")
                listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
                _make(connection, path, f"CREATE TABLE {table} ({listed})", private)
                _watched(
                    connection,
                    f"INSERT INTO {table} {rows.query}",
                    lambda percent: reading.progress(f"loading {shown}", percent, 100),
                )
            except duckdb.Error as error:
                if _is_ours(error, private):
                    raise
                fault = rows.fault(error)
                if fault is None:
                    raise
                raise fault from None
            return rows.told()
    except duckdb.Error as error:
        if _is_ours(error, private):
            raise
        kind = type(error).__name__
        raise SourceError(f"{source.shown}: the engine cannot read it ({kind})") from None


def _make(
    connection: duckdb.DuckDBPyConnection, path: TablePath, statement: str, private: Path
) -> None:
    """Make an empty table and, where it is not there, its schema."""
    try:
        rows_of(connection, f"CREATE SCHEMA IF NOT EXISTS {quoted(CATALOG, path[0])}")
        rows_of(connection, statement)
    except duckdb.Error as error:
        if _is_ours(error, private):
            raise
        kind = type(error).__name__
        raise SourceError(f"{_shown(path)}: the engine makes no such table ({kind})") from None


def _is_ours(error: duckdb.Error, private: Path) -> bool:
    """Say whether what is written went wrong, and not a source: only the text of an error tells."""
    written = (str((private / name).absolute()) for name in (DATABASE_NAME, "spill"))
    return isinstance(error, duckdb.OutOfMemoryException) or any(
        path in str(error) for path in written
    )


def _watched(
    connection: duckdb.DuckDBPyConnection, statement: str, progress: Callable[[int], None]
) -> None:
    """Run a long statement in another thread, so that this one can report and be interrupted."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(rows_of, connection, statement)
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
    columns = columns_of(connection, table)
    floats = [name for name, kind in columns if str(kind) in ("FLOAT", "DOUBLE")]
    asked = ["count(*)"]
    asked += [f"coalesce(bool_or(system.main.isnan({quoted(name)})), false)" for name in floats]
    ((rows, *any_nan),) = rows_of(connection, f"SELECT {', '.join(asked)} FROM {table}")
    nan = dict(zip(floats, any_nan, strict=True))
    content = content_sha256(
        connection,
        table,
        [(quoted(name), kind) for name, kind in columns],
        rows,
        workers=min(_WORKERS_MAX, os.cpu_count() or 1),
        progress=lambda done: progress(f"hashing the rows of {_shown(path)}", done, rows),
    )
    described = []
    for name, kind in columns:
        base, members = type_and_members(kind)
        described.append(Column(name=name, type=base, nan=nan.get(name), members=members))
    return Pin(path=path, columns=tuple(described), rows=rows, content_sha256=content)


def _is_prepared(source: Source) -> bool:
    return source.format == "prepared"


def _named(path: TablePath) -> str:
    """Write the name of a table as options take it."""
    return ".".join(map(name_form, path if path[0] != "main" else path[1:]))


def _shown(path: TablePath) -> str:
    return path[1] if path[0] == "main" else ".".join(path)

"""What can be pinned: the kind of a source, and that it is there (specification 4, 9).

Invariants
  K1  A source is local: a regular file, a table of a database file or of a lake in a folder, or a
      table in memory; but for a table of a PostgreSQL server.
  K2  An error names the source by its base name, never its directory, and no password.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from eligibility.sql.manifest import Format
from preview.errors import SourceError
from preview.sources.contents import check_content
from preview.sources.files import COMPRESSED, reading, zip_member
from preview.sources.options import ReadOptions, uses

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_SQLITE_NAMES = (".sqlite", ".sqlite3", ".db3")
_DATABASES = (".duckdb", ".db", ".ddb", *_SQLITE_NAMES)
_SQLITE = b"SQLite format 3\0"
_NONE = ReadOptions()
_WILD = re.compile(r"[*?\[]")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SERVICE = re.compile(r"[A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Source:
    """Where one table comes from.

    Attributes:
        format: which of the kinds.
        name: base name of the file, or of the glob; None for a table in memory.
        files: its files, in the order they are read.
        options: what is asked for of it.
        table: in a database, the name as it was written.
        version: of a lake's table, the version or snapshot that is asked for; None for the last.
        folder: of a Delta Lake table.
        service: of a PostgreSQL server; empty for what the environment says.
        data: the table in memory.
    """

    format: Format
    name: str | None
    files: tuple[Path, ...] = ()
    options: ReadOptions = _NONE
    table: str | None = None
    version: int | None = None
    folder: Path | None = None
    service: str = ""
    data: pa.Table | None = None

    @property
    def is_tabbed(self) -> bool:
        """Whether its name says that tabs are between its fields."""
        if self.options.format is not None:
            return self.options.format == "tsv"
        names = [Path(self.name or "")]
        if names[0].suffix.lower() in COMPRESSED:
            names.append(Path(names[0].stem))
        return names[-1].suffix.lower() in (".tsv", ".tab")

    @property
    def shown(self) -> str:
        """How errors name it."""
        return self.name or "the table in memory"


def resolve(given: Any, options: ReadOptions) -> Source:
    """Find out what a source is, and that it is there.

    Args:
        given: a path, a glob of Parquet files, `file.duckdb::table`, `file.sqlite::table`,
            `delta:DIR[@VERSION]`, `iceberg:METADATA.json[@SNAPSHOT]`,
            `postgresql:SERVICE::schema.table`, `@FILE.sql`, or a table in memory.
        options: those for this table.

    Returns:
        The source, unread.

    Raises:
        SourceError: it is not there, not a regular file, or of no known kind; or it has types of
            its own and `options` gives some.
    """
    if isinstance(given, pa.Table):
        source = Source("arrow-table", None, options=options, data=given)
    elif isinstance(given, str | os.PathLike):
        source = _resolve_path(os.fspath(given), options)
    else:
        raise SourceError("a source is a path or a pyarrow.Table")
    if options.types and not uses(source.format, "types"):
        raise SourceError(f"{source.shown}: it has types of its own, so no types can be given")
    return source


def _resolve_path(text: str | bytes, options: ReadOptions) -> Source:
    if isinstance(text, bytes) or "\0" in text or not is_unicode(text):
        raise SourceError("the path of a source is not Unicode text")
    for prefix, made in _ELSEWHERE.items():
        if text.startswith(prefix) and not os.path.lexists(text):
            return made(text[len(prefix) :], options)
    if address := _ADDRESS.match(text):
        raise SourceError(
            f"{address[1]}:// is not read, only local files; download the file, and name it"
        )
    # An absolute path has no scheme that would make DuckDB look elsewhere (K1).
    path = Path(text).absolute()
    if not path.exists():
        for mark in re.finditer("::", text):
            file = Path(text[: mark.start()]).absolute()
            if file.is_file():
                # DuckDB looks for the log of such a file under another name.
                if "?" in str(file):
                    raise SourceError(f"{file.name}: its path holds a question mark")
                kind: Format = "sqlite" if _is_sqlite(file) else "duckdb"
                return Source(kind, file.name, (file,), options, table=text[mark.end() :])
        if has_wildcard(text):
            return Source("parquet", path.name, _matching(path, options), options)
        raise SourceError(f"{path.name}: there is no such file")
    file_format = _format(path, options)
    check_content(path, file_format, is_given=options.format is not None)
    return Source(file_format, path.name, (path,), options)


def _matching(pattern: Path, options: ReadOptions) -> tuple[Path, ...]:
    found = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
    files = sorted(filter(Path.is_file, found), key=str)
    if not files:
        raise SourceError(f"{pattern.name}: no file has such a name")
    named = all(file.suffix.lower() == ".parquet" for file in files)
    if options.format != "parquet" and not (named and options.format is None):
        raise SourceError(f"{pattern.name}: several files at once must all be .parquet")
    return tuple(files)


def _format(path: Path, options: ReadOptions) -> Format:
    name, suffix = path.name, path.suffix.lower()
    if path.is_dir():
        raise SourceError(f"{name}: it is a folder; name its files, as in folder/*.parquet")
    if not path.is_file():  # opening a pipe would wait for its writer
        raise SourceError(f"{name}: it is not a regular file")
    if options.format is not None:
        given: Format = "csv" if options.format == "tsv" else options.format
        if suffix in COMPRESSED and given not in ("csv", "json"):
            raise SourceError(f"{name}: only CSV and JSON are read compressed")
        return given
    if suffix in _DATABASES:
        raise SourceError(f"{name}: name the table in it, as in {name}::table")
    if suffix in COMPRESSED:
        inner = Path(path.stem).suffix.lower()
        if suffix == ".zip" and inner not in _FORMATS:
            inner = Path(zip_member(path, name).filename).suffix.lower()
        if _FORMATS.get(inner) not in ("csv", "json"):
            raise SourceError(f"{name}: only CSV and JSON are read compressed")
        return _FORMATS[inner]
    if suffix not in _FORMATS:
        raise SourceError(
            f"{name}: its kind is not known from its name; say which it is, as in --format csv (or "
            "tsv, json, parquet, arrow)"
        )
    return _FORMATS[suffix]


# --- where tables already live --------------------------------------------------------------------


def _is_sqlite(file: Path) -> bool:
    with reading(file.name), file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE or file.suffix.lower() in _SQLITE_NAMES


def _versioned(kind: str, text: str) -> tuple[Path, int | None]:
    """Split the number of a version off a local path."""
    if address := _ADDRESS.match(text):
        raise SourceError(
            f"{kind} table: {address[1]}:// is not read, only local folders; copy the table to one"
        )
    path, _, version = text.rpartition("@")
    if os.path.lexists(text) or not re.fullmatch("[0-9]+", version):
        return Path(text).absolute(), None
    return Path(path).absolute(), int(version)


def _delta(text: str, options: ReadOptions) -> Source:
    folder, version = _versioned("Delta", text)
    if not (folder / "_delta_log").is_dir():
        raise SourceError(
            f"{folder.name}: it is no Delta Lake table; name the folder that holds _delta_log, as "
            "in delta:folder or delta:folder@3"
        )
    return Source("delta", folder.name, (), options, version=version, folder=folder)


def _iceberg(text: str, options: ReadOptions) -> Source:
    file, version = _versioned("Iceberg", text)
    if not file.is_file():
        raise SourceError(
            f"{file.name}: there is no such file; name a metadata file of the table, as in "
            "iceberg:folder/metadata/v3.metadata.json"
        )
    return Source("iceberg", file.name, (file,), options, version=version)


def _postgresql(text: str, options: ReadOptions) -> Source:
    service, mark, table = text.partition("::")
    # Whatever else stands there may hold a password, and is not repeated.
    if not mark or not table or not _SERVICE.fullmatch(service):
        raise SourceError(
            "a PostgreSQL table is written postgresql:SERVICE::schema.table; SERVICE is a section "
            "of the connection service file, or nothing where PGHOST and the like say where the "
            "server is; a password stands in the password file, never here"
        )
    name = service or "postgresql"
    return Source("postgresql", name, (), options, table=table, service=service)


def _prepared(text: str, options: ReadOptions) -> Source:
    file = Path(text).absolute()
    if not file.is_file():
        raise SourceError(f"{file.name}: there is no such file; name one that holds a query")
    return Source("prepared", file.name, (file,), options)


_ELSEWHERE: dict[str, Callable[[str, ReadOptions], Source]] = {
    "delta:": _delta,
    "iceberg:": _iceberg,
    "postgresql:": _postgresql,
    "postgres:": _postgresql,
    "@": _prepared,
}


def has_wildcard(text: str) -> bool:
    """Say whether DuckDB would read a path as a pattern."""
    return _WILD.search(text) is not None


def is_unicode(text: str) -> bool:
    """Say whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

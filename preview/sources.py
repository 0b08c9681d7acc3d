"""What can be pinned: sources, and the bytes of their files (contract 4).

Invariants
  O1  A source is local: a regular file, a table of a database file, or a table in memory.
  O2  A file is hashed before and after it is read, and must be the same file both times.
  O3  A compressed file is unpacked with its checksums verified.
  O4  An error names the source by its base name, never its directory.
"""

import errno
import gzip
import hashlib
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from eligibility.manifest import Format, ReadOptions, SourceFile
from preview.errors import SourceError, TargetError

FileProgress = Callable[[str, int, int], None]

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_COMPRESSED = (".gz", ".zip", ".zst")
_DATABASES = (".duckdb", ".db", ".ddb")
_WILD = re.compile(r"[*?\[]")
_BLOCK_BYTES = 1024 * 1024
_DAMAGED = "it is damaged, or not what its name says"


@dataclass(frozen=True, slots=True)
class Source:
    """Where one table comes from.

    Attributes:
        format: which of the kinds.
        name: base name of the file, or of the glob; None for a table in memory.
        files: its files, in the order they are read.
        options: those that the format takes; None where it takes none.
        table: in a database file, the name as it was written.
        data: the table in memory.
    """

    format: Format
    name: str | None
    files: tuple[Path, ...] = ()
    options: ReadOptions | None = None
    table: str | None = None
    data: pa.Table | None = None

    @property
    def shown(self) -> str:
        """How errors name it."""
        return self.name or "the table in memory"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one state of a file from another."""

    identity: tuple[int, ...]
    file: SourceFile


def quoted(*path: str) -> str:
    """Quote a path of names for SQL."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in path)


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


# --- what a source is -----------------------------------------------------------------------------


def resolve(given: Any, options: ReadOptions) -> Source:
    """Find out what a source is, and that it is there.

    Args:
        given: a path, a glob of Parquet files, `file.duckdb::table`, or a table in memory.
        options: those for this table.

    Returns:
        The source, unread.

    Raises:
        SourceError: it is not there, not a regular file, or of no known kind; or it has types of
            its own and `options` gives some.
    """
    if isinstance(given, pa.Table):
        source = Source("arrow-table", None, data=given)
    elif isinstance(given, str | os.PathLike):
        source = _resolve_path(os.fspath(given), options)
    else:
        raise SourceError("a source is a path or a pyarrow.Table")
    if options.types and source.options is None:
        raise SourceError(f"{source.shown}: it has types of its own, so no types can be given")
    return source


def _resolve_path(text: str | bytes, options: ReadOptions) -> Source:
    if isinstance(text, bytes) or "\0" in text or not is_unicode(text):
        raise SourceError("the path of a source is not Unicode text")
    # An absolute path has no scheme that would make DuckDB look elsewhere (O1).
    path = Path(text).absolute()
    if not path.exists():
        for mark in re.finditer("::", text):
            file = Path(text[: mark.start()]).absolute()
            if file.is_file():
                # DuckDB looks for the log of such a file under another name.
                if "?" in str(file):
                    raise SourceError(f"{file.name}: its path holds a question mark")
                return Source("duckdb", file.name, (file,), table=text[mark.end() :])
        if has_wildcard(text):
            return Source("parquet", path.name, _matching(path))
        raise SourceError(f"{path.name}: there is no such file")
    file_format = _format(path)
    textual = file_format in ("csv", "json")
    return Source(file_format, path.name, (path,), options if textual else None)


def _matching(pattern: Path) -> tuple[Path, ...]:
    found = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
    files = sorted(filter(Path.is_file, found), key=str)
    if not files:
        raise SourceError(f"{pattern.name}: no file has such a name")
    if any(file.suffix.lower() != ".parquet" for file in files):
        raise SourceError(f"{pattern.name}: several files at once must all be .parquet")
    return tuple(files)


def _format(path: Path) -> Format:
    name, suffix = path.name, path.suffix.lower()
    if path.is_dir():
        raise SourceError(f"{name}: it is a folder; name its files, as in folder/*.parquet")
    if not path.is_file():  # opening a pipe would wait for its writer
        raise SourceError(f"{name}: it is not a regular file")
    if suffix in _DATABASES:
        raise SourceError(f"{name}: name the table in it, as in {name}::table")
    if suffix in _COMPRESSED:
        inner = Path(path.stem).suffix.lower()
        if suffix == ".zip" and inner not in _FORMATS:
            inner = Path(_zip_member(path).filename).suffix.lower()
        if _FORMATS.get(inner) not in ("csv", "json"):
            raise SourceError(f"{name}: only CSV and JSON are read compressed")
        return _FORMATS[inner]
    if suffix not in _FORMATS:
        known = ", ".join((*_FORMATS, "file.duckdb::table"))
        raise SourceError(f"{name}: its kind is not known from its name; known are {known}")
    return _FORMATS[suffix]


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


def _zip_member(path: Path) -> zipfile.ZipInfo:
    with reading(path.name), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise SourceError(f"{path.name}: it holds {len(members)} files, and one is wanted")
    return members[0]


# --- its bytes ------------------------------------------------------------------------------------


def fingerprint(path: Path, progress: FileProgress) -> Fingerprint:
    """Hash a file's bytes, and note which file it is.

    Args:
        path: the file.
        progress: called with its base name, the bytes done and the bytes in all.

    Returns:
        Its fingerprint.

    Raises:
        SourceError: it cannot be read, or changes meanwhile.
    """
    name = path.name
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    done = 0
    with reading(name), path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        # A file that grows as fast as it is read would never end.
        while done <= before.st_size and (count := file.readinto(block)):
            digest.update(block[:count])
            done += count
            progress(name, done, before.st_size)
        identity = identity_of(os.fstat(file.fileno()))
    if identity != identity_of(before) or done != before.st_size:
        raise SourceError(f"{name}: it changed while it was read")
    return Fingerprint(identity, SourceFile(name=name, size=done, sha256=digest.hexdigest()))


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """Give what changes when a file is replaced or written; the two times come last."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what can go wrong with a file into an error that names it (O4)."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        EOFError,
        gzip.BadGzipFile,
        zlib.error,
        RuntimeError,
        pa.ArrowException,
    ):
        raise SourceError(f"{name}: {_DAMAGED}") from None
    except OSError as error:
        if error.errno is None:  # pyarrow's, of what it could not decode
            raise SourceError(f"{name}: {_DAMAGED}") from None
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise TargetError(f"{name}: there is no room to unpack it") from None
        raise SourceError(f"{name}: {error.strerror or 'it cannot be read'}") from None


def unpacked(path: Path, folder: Path) -> Path:
    """Unpack a compressed file into a private folder (O3).

    Args:
        path: any file.
        folder: an empty folder.

    Returns:
        The unpacked file; `path` itself where it is not compressed.

    Raises:
        SourceError: it is damaged, or a .zip of none or several files.
        TargetError: there is no room for it.
    """
    suffix = path.suffix.lower()
    if suffix not in _COMPRESSED:
        return path
    target = folder / "unpacked"
    with reading(path.name):
        if suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_zip_member(path)) as packed:
                _copy(packed, target)
        elif suffix == ".gz":
            with gzip.open(path) as packed:
                _copy(packed, target)
        else:
            with pa.input_stream(str(path), compression="zstd") as packed:
                _copy(packed, target)
    return target


def _copy(packed: Any, target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(packed, file, _BLOCK_BYTES)

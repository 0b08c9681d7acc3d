# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way (O1)
"""What can be pinned, and how each kind of source is read (contract 4).

Invariants
  O1  A source is local: a regular file, a table of a database file, or a table in memory. Its
      name, and the names and texts in it, enter SQL only through `quoted` and `literal`.
  O2  Reading changes no value. Types are found by looking at every row, and a text that its
      column's type would round, cut or shift is an error (DuckDB's readers round silently).
  O3  No column is renamed on the way: a name that repeats, ASCII case folded, is an error.
  O4  A file is hashed before and after it is read, and must be the same file both times.
  O5  An error names the source by its base name, and where in it; never a directory or a cell.
"""

import errno
import gzip
import hashlib
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
from pydantic import field_validator

from eligibility.evidence import Sha256, fold
from eligibility.shape import Model
from eligibility.types import FRACTION_DIGITS, base_name, decimal_size, type_class
from preview.errors import SourceError, TargetError

Format = Literal["parquet", "csv", "json", "arrow", "duckdb", "arrow-table"]
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


class ReadOptions(Model):
    """How texts are read into types (contract 4); recorded in the manifest.

    Attributes:
        null: the texts that stand for NULL in a CSV file; none given means the empty text.
        delimiter: between the fields of a CSV file; None to find it out.
        header: whether a CSV file's first line holds the names; None to find it out.
        types: column and DuckDB type, for CSV and JSON; other columns' types are found out.
            May be given as a mapping.
    """

    null: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    types: tuple[tuple[str, str], ...] = ()

    @field_validator("null", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        if isinstance(value, str):
            return (value,)
        return tuple(value) if isinstance(value, list) else value

    @field_validator("types", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return tuple(value.items())
        if isinstance(value, list):
            return tuple(tuple(pair) if isinstance(pair, list) else pair for pair in value)
        return value


class SourceFile(Model):
    """One file of a source: base name, size in bytes, and SHA-256 of its bytes."""

    name: str
    size: int
    sha256: Sha256


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
                return Source("duckdb", file.name, (file,), table=text[mark.end() :])
        if _WILD.search(text):
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


def is_unicode(text: str) -> bool:
    """Say whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _zip_member(path: Path) -> zipfile.ZipInfo:
    with _reading(path.name), zipfile.ZipFile(path) as archive:
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
        SourceError: it is not a regular file, cannot be read, or changes meanwhile.
    """
    name = path.name
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    done = 0
    with _reading(name), path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise SourceError(f"{name}: it is not a regular file")
        while count := file.readinto(block):
            digest.update(block[:count])
            done += count
            progress(name, done, before.st_size)
        identity = _identity(os.fstat(file.fileno()))
    if identity != _identity(before) or done != before.st_size:
        raise SourceError(f"{name}: it changed while it was read")
    return Fingerprint(identity, SourceFile(name=name, size=done, sha256=digest.hexdigest()))


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn what can go wrong with a file into an error that names it (O5)."""
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
        raise SourceError(f"{name}: it is damaged, or not what its name says") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise TargetError(f"{name}: there is no room to unpack it") from None
        raise SourceError(f"{name}: {error.strerror or 'it cannot be read'}") from None


def _unpacked(path: Path, folder: Path) -> Path:
    """Unpack a compressed file into a private folder; its checksums are verified on the way."""
    suffix = path.suffix.lower()
    if suffix not in _COMPRESSED:
        return path
    target = folder / "unpacked"
    with _reading(path.name):
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


# --- its rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Readable:
    """A source as a query.

    Attributes:
        query: gives its rows, in order, and its columns by the names they have there.
        check: counts, in one row, the texts that each column's type would alter; None where
            no type can alter one.
        checked: name and type of the columns of `check`.
    """

    query: str
    check: str | None = None
    checked: tuple[tuple[str, str], ...] = ()


@contextmanager
def readable(
    connection: duckdb.DuckDBPyConnection, source: Source, folder: Path
) -> Iterator[Readable]:
    """Make a source readable by SQL while the context lasts.

    Args:
        connection: in memory, with the time zone UTC.
        source: what `resolve` gave.
        folder: an empty private folder, for what must be unpacked.

    Yields:
        The source as a query.

    Raises:
        SourceError: it cannot be read, or has names or texts that cannot be kept as they are.
        duckdb.Error: the engine could not read it; see `engine_fault`.
    """
    match source.format:
        case "parquet":
            yield _parquet(connection, source)
        case "csv":
            yield _csv(connection, source, _unpacked(source.files[0], folder))
        case "json":
            yield _json(connection, source, _unpacked(source.files[0], folder))
        case "duckdb":
            file = literal(str(source.files[0]))
            _rows(connection, f"ATTACH {file} AS source (READ_ONLY, TYPE duckdb)")
            try:
                yield _database_table(connection, source)
            finally:
                _rows(connection, "DETACH source")
        case "arrow" | "arrow-table":
            with _arrow(source) as (schema, data):
                _check_arrow(connection, source, schema)
                connection.register("source_rows", data)
                try:
                    yield Readable("SELECT * FROM source_rows")
                finally:
                    connection.unregister("source_rows")


def engine_fault(source: Source, error: duckdb.Error, columns: Iterable[str]) -> SourceError:
    """Say what the engine found wrong with a source, and where, without its cells (O5).

    Args:
        source: what was read.
        error: what the engine raised.
        columns: the names of its columns.

    Returns:
        The error to raise.
    """
    text = str(error)
    line = re.search(r"(?:on Line: |in line )([0-9]+)", text)
    column = next((name for name in columns if f'column "{name}"' in text), None)
    where = "".join(
        (f" in line {line[1]}" if line else "", f" in column {column}" if column else "")
    )
    return SourceError(f"{source.shown}: the engine cannot read it{where} ({type(error).__name__})")


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def _escaped(path: Path) -> str:
    """Write a path so that DuckDB reads that very file and no pattern."""
    if "\\" in str(path) and _WILD.search(str(path)):
        raise SourceError(f"{path.name}: its path holds a backslash and a wildcard")
    return literal(re.sub(r"[*?\[]", lambda wild: f"[{wild[0]}]", str(path)))


def _call(function: str, path: Path, arguments: Mapping[str, str]) -> str:
    listed = "".join(f", {name} = {value}" for name, value in arguments.items())
    return f"{function}({_escaped(path)}{listed})"


def _struct(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{literal(name)}: {literal(text)}" for name, text in pairs) + "}"


def _check_names(source: Source, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if fold(name) in seen:
            raise SourceError(f"{source.shown}: the column name {name} repeats")
        if not name or "\0" in name:
            raise SourceError(f"{source.shown}: a column name is empty or holds a NUL")
        seen.add(fold(name))
    if not names:
        raise SourceError(f"{source.shown}: it has no columns")


def _parquet(connection: duckdb.DuckDBPyConnection, source: Source) -> Readable:
    first: list[tuple[Any, ...]] = []
    for file in source.files:
        fields = _rows(
            connection,
            f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({_escaped(file)})",
        )
        _check_names(source, _top_level(fields))
        columns = [
            row[:2]
            for row in _rows(
                connection,
                f"DESCRIBE FROM read_parquet({_escaped(file)}, hive_partitioning = false)",
            )
        ]
        if columns != (first := first or columns):
            raise SourceError(f"{source.shown}: {file.name} has other columns than the first file")
    files = ", ".join(map(_escaped, source.files))
    return Readable(f"SELECT * FROM read_parquet([{files}], hive_partitioning = false)")


def _top_level(fields: Sequence[tuple[str, int]]) -> list[str]:
    """Give the names of the columns in a Parquet schema, which lists a tree in preorder."""
    names, deep = [], [fields[0][1]]
    for name, children in fields[1:]:
        while not deep[-1]:
            deep.pop()
        deep[-1] -= 1
        if len(deep) == 1:
            names.append(name)
        deep.append(children)
    return names


def _database_table(connection: duckdb.DuckDBPyConnection, source: Source) -> Readable:
    wal = source.files[0].with_name(source.files[0].name + ".wal")
    if wal.exists():
        raise SourceError(f"{source.shown}: it has changes in {wal.name}; checkpoint it first")
    wanted = fold(source.table or "")
    relations = [
        (schema, name, view)
        for schema, name, view in _rows(
            connection,
            "SELECT schema_name, table_name, false FROM system.main.duckdb_tables() "
            "WHERE database_name = 'source' UNION ALL "
            "SELECT schema_name, view_name, true FROM system.main.duckdb_views() "
            "WHERE database_name = 'source' AND NOT internal",
        )
        if wanted in (fold(f"{schema}.{name}"), fold(name) if schema == "main" else None)
    ]
    if len(relations) != 1:
        found = "no table" if not relations else "several tables"
        raise SourceError(f"{source.shown}: it has {found} of the name {source.table}")
    schema, name, view = relations[0]
    if view:
        raise SourceError(f"{source.shown}: {name} is a view, and only tables are pinned")
    for (generated,) in _rows(
        connection,
        "SELECT column_name FROM system.main.duckdb_columns() WHERE database_name = 'source' "
        f"AND schema_name = {literal(schema)} AND table_name = {literal(name)} AND is_generated",
    ):
        raise SourceError(f"{source.shown}: column {generated} of {name} is generated, not stored")
    return Readable(f"SELECT * FROM {quoted('source', schema, name)}")


# --- Arrow ---


@contextmanager
def _arrow(source: Source) -> Iterator[tuple[pa.Schema, pa.Table | pa.RecordBatchReader]]:
    if source.data is not None:
        try:
            source.data.validate(full=True)
        except pa.ArrowException:
            raise SourceError(f"{source.shown}: it is not a valid Arrow table") from None
        yield source.data.schema, source.data
        return
    batches: Iterable[pa.RecordBatch]
    # Read, not mapped: a mapped file that shrinks would end the process.
    with ExitStack() as stack:
        with _reading(source.shown):
            file = stack.enter_context(pa.OSFile(str(source.files[0])))
            if file.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(file)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            else:
                file.seek(0)
                batches = reader = pa.ipc.open_stream(file)
        yield reader.schema, pa.RecordBatchReader.from_batches(reader.schema, _valid(batches))


def _valid(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _check_arrow(connection: duckdb.DuckDBPyConnection, source: Source, schema: pa.Schema) -> None:
    _check_names(source, schema.names)
    for field in schema:
        connection.register("source_rows", pa.schema([field]).empty_table())
        try:
            _rows(connection, "DESCRIBE FROM source_rows")
        except duckdb.Error:
            raise SourceError(
                f"{source.shown}: column {field.name} has the Arrow type {field.type}, "
                "which the engine does not read"
            ) from None
        finally:
            connection.unregister("source_rows")


# --- CSV and JSON ---

_PLAIN = {"hive_partitioning": "false", "compression": "'none'"}
_DIALECT = ("delim", "quote", "escape", "comment", "new_line")


def _csv(connection: duckdb.DuckDBPyConnection, source: Source, file: Path) -> Readable:
    options = source.options or ReadOptions()
    given = dict(_PLAIN)
    if options.null:
        given["nullstr"] = f"[{', '.join(map(literal, options.null))}]"
    if options.delimiter is not None:
        given["delim"] = literal(options.delimiter)
    if options.header is not None:
        given["header"] = str(options.header).lower()
    # Every row is looked at: types found from a sample would round the rows after it (O2).
    sniff = _call("sniff_csv", file, {**given, "sample_size": "-1"})
    ((*marks, skip, header, listed, date_format, timestamp_format),) = _rows(
        connection,
        "SELECT Delimiter, Quote, Escape, Comment, NewLineDelimiter, SkipRows, HasHeader, "
        f"Columns, DateFormat, TimestampFormat FROM {sniff}",
    )
    dialect = {**_PLAIN, "auto_detect": "false", "skip": str(skip)}
    for name, mark in zip(_DIALECT, marks, strict=True):
        dialect[name] = literal("" if mark == "(empty)" else mark)
    found = {column["name"]: column["type"] for column in listed}
    _check_csv_names(connection, source, file, len(found), dialect, named=header)
    dialect["header"] = str(header).lower()
    if "nullstr" in given:
        dialect["nullstr"] = given["nullstr"]
    formats = {"dateformat": date_format, "timestampformat": timestamp_format}
    return _of_texts(connection, source, "read_csv", file, found, dialect, formats)


def _check_csv_names(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    file: Path,
    width: int,
    dialect: Mapping[str, str],
    *,
    named: bool,
) -> None:
    """Look at the first line as it is, since the reader renames what repeats (O3)."""
    columns = _struct((f"c{place}", "VARCHAR") for place in range(width))
    line = _call("read_csv", file, {**dialect, "header": "false", "columns": columns})
    first = _rows(connection, f"FROM {line} LIMIT 1")
    cells = [cell for cell in first[0] if cell is not None] if first else []
    options = source.options or ReadOptions()
    if width == 1 and options.delimiter is None and re.search("[,;\t|]", "".join(cells)):
        raise SourceError(f"{source.shown}: no delimiter fits every line; give the delimiter")
    if named or not cells:
        _check_names(source, cells)


def _json(connection: duckdb.DuckDBPyConnection, source: Source, file: Path) -> Readable:
    form = {**_PLAIN, "records": "true", "map_inference_threshold": "-1"}
    described = _rows(
        connection, f"DESCRIBE FROM {_call('read_json', file, {**form, 'sample_size': '-1'})}"
    )
    found = {row[0]: row[1] for row in described}
    _check_json_names(connection, source, file, list(found))
    return _of_texts(connection, source, "read_json", file, found, form, {})


def _check_json_names(
    connection: duckdb.DuckDBPyConnection, source: Source, file: Path, names: Sequence[str]
) -> None:
    """Look at the keys themselves where a name looks like the reader's renaming (O3)."""
    _check_names(source, names)
    folded = {fold(name) for name in names}
    for name in names:
        stem = re.fullmatch(r"(.*)_[0-9]+", name, re.DOTALL)
        if stem is None or fold(stem[1]) not in folded:
            continue
        keys = f"SELECT unnest(json_keys(json)) AS key FROM {_call('read_json_objects', file, {})}"
        if not _rows(connection, f"FROM ({keys}) WHERE key = {literal(name)} LIMIT 1"):
            raise SourceError(f"{source.shown}: the column name {stem[1]} repeats")


def _of_texts(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    function: str,
    file: Path,
    found: Mapping[str, str],
    form: Mapping[str, str],
    formats: Mapping[str, str | None],
) -> Readable:
    """Make the query of a format whose values are texts, and the check that none is altered."""
    given = _given_types(connection, source, found)
    columns = {**found, **given}
    conditions = {
        name: condition
        for name, kind in columns.items()
        if (condition := _altered(quoted(name), base_name(kind), function, given=name in given))
    }
    read = {name: literal(text) for name, text in formats.items() if text}
    rows = _call(function, file, {**form, **read, "columns": _struct(columns.items())})
    if not conditions:
        return Readable(f"SELECT * FROM {rows}")
    counts = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions.values())
    texts = _struct((name, "VARCHAR") for name in columns)
    check = f"SELECT {counts} FROM {_call(function, file, {**form, 'columns': texts})}"
    return Readable(
        f"SELECT * FROM {rows}", check, tuple((name, columns[name]) for name in conditions)
    )


def _given_types(
    connection: duckdb.DuckDBPyConnection, source: Source, found: Mapping[str, str]
) -> dict[str, str]:
    names = {fold(name): name for name in found}
    given: dict[str, str] = {}
    for name, kind in (source.options or ReadOptions()).types:
        if fold(name) not in names:
            raise SourceError(f"{source.shown}: it has no column {name}, yet a type is given")
        try:
            given[names[fold(name)]] = str(connection.sqltype(kind))
        except duckdb.Error:
            raise SourceError(f"{source.shown}: there is no type {kind} (column {name})") from None
    return given


def _altered(column: str, kind: str, function: str, *, given: bool) -> str | None:
    """Give the condition under which a text is not exactly a value of a type (O2).

    A type that was found out, not given, takes no number that is not exactly of it, except that
    JSON makes a DOUBLE of a whole number that is too large.
    """
    value_class, size = type_class(kind), decimal_size(kind)
    if given and (value_class == "integer" or size):
        digits = f"0,{size[1] if size else 0}"
        return f"NOT regexp_full_match({column}, '\\s*[+-]?[0-9]*(\\.[0-9]{{{digits}}}0*)?\\s*')"
    if given and value_class == "date":
        return f"contains({column}, ':')"
    if kind == "DOUBLE" and not given and function == "read_json":
        return f"regexp_full_match({column}, '-?[0-9]{{16,}}')"
    if kind in FRACTION_DIGITS or value_class == "timetz":
        too_fine = f"\\.[0-9]{{{FRACTION_DIGITS.get(kind, 6)}}}[0-9]*[1-9]"
        zoned = value_class in ("timestamptz", "timetz")
        offset = "" if zoned else "|:[0-9.]+\\s*([zZ]|UTC|[+-][0-9])"
        return f"regexp_matches({column}, '{too_fine}{offset}')"
    return None

# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way (R1)
"""How the rows of each kind of source are read by SQL (contract 4).

Invariants
  R1  Names and texts enter SQL only through `quoted` and `literal`.
  R2  Reading changes no value. Types are found by looking at every row, and a text that its
      column's type would round, cut or shift is an error (DuckDB's readers round silently).
  R3  No column is renamed on the way: a name that repeats, ASCII case folded, is an error.
  R4  An error names the source by its base name, and where in it; never a directory or a cell.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eligibility.evidence import fold
from eligibility.manifest import ReadOptions
from eligibility.types import base_name, type_class
from preview.content_hash import NESTED
from preview.errors import SourceError
from preview.exact_text import inexact
from preview.sources import Source, has_wildcard, literal, quoted, reading, unpacked


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
            yield _csv(connection, source, unpacked(source.files[0], folder))
        case "json":
            yield _json(connection, source, unpacked(source.files[0], folder))
        case "duckdb":
            wal = source.files[0].with_name(source.files[0].name + ".wal")
            if wal.exists():
                raise SourceError(f"{source.shown}: it has a log, {wal.name}; checkpoint it first")
            file = literal(str(source.files[0]))
            _rows(connection, f"ATTACH {file} AS source (READ_ONLY, TYPE duckdb)")
            try:
                yield _database_table(connection, source)
            finally:
                _rows(connection, "DETACH source")
        case "arrow" | "arrow-table":
            with _arrow(source) as (schema, batches):
                yield from _registered(connection, source, schema, batches)


def engine_fault(source: Source, error: duckdb.Error, columns: Iterable[str]) -> SourceError:
    """Say what the engine found wrong with a source, and where, without its cells (R4).

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
    if "\\" in str(path) and has_wildcard(str(path)):
        raise SourceError(f"{path.name}: its path holds a backslash and a wildcard")
    return literal(re.sub(r"[*?\[]", lambda wild: f"[{wild[0]}]", str(path)))


def _call(function: str, path: Path, arguments: Mapping[str, str]) -> str:
    listed = "".join(f", {name} = {value}" for name, value in arguments.items())
    return f"{function}({_escaped(path)}{listed})"


def _struct(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{literal(name)}: {literal(text)}" for name, text in pairs) + "}"


def _check_names(source: Source, names: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        # By place, since a first line taken for names may hold values (R4).
        if (first := seen.setdefault(fold(name), place)) != place:
            raise SourceError(f"{source.shown}: columns {first} and {place} have one name")
        if not name or "\0" in name:
            raise SourceError(f"{source.shown}: the name of column {place} is empty or holds a NUL")
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
def _arrow(source: Source) -> Iterator[tuple[pa.Schema, Iterable[pa.RecordBatch]]]:
    if source.data is not None:
        yield source.data.schema, source.data.to_batches()
        return
    # Read, not mapped: a mapped file that shrinks would end the process.
    with ExitStack() as stack:
        with reading(source.shown):
            file = stack.enter_context(pa.OSFile(str(source.files[0])))
            if file.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(file)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            else:
                file.seek(0)
                batches = reader = pa.ipc.open_stream(file)
        yield reader.schema, batches


def _registered(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[Readable]:
    """Give the batches a name in SQL; each is looked at before the engine gets it."""
    faults: list[SourceError] = []

    def checked() -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                batch.validate(full=True)
                for name, column in zip(schema.names, batch.columns, strict=True):
                    if _is_finer(column):
                        fault = f"column {name} has parts of a microsecond, which INTERVAL drops"
                        faults.append(SourceError(f"{source.shown}: {fault}"))
                        return
                yield batch
        except (pa.ArrowException, OSError):
            faults.append(SourceError(f"{source.shown}: it is damaged"))

    _check_names(source, schema.names)
    for field in schema:
        try:
            _register(connection, pa.schema([field]), [])
        except duckdb.Error:
            kind = f"column {field.name} has the Arrow type {field.type}"
            raise SourceError(f"{source.shown}: {kind}, which the engine does not read") from None
    _register(connection, schema, checked())
    try:
        yield Readable("SELECT * FROM source_rows")
    finally:
        connection.unregister("source_rows")
    if faults:
        raise faults[0]


def _register(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    connection.register("source_rows", pa.RecordBatchReader.from_batches(schema, batches))


def _is_finer(array: pa.Array) -> bool:
    """Say whether a duration, or one inside a value, has parts of a microsecond (R2)."""
    kind = array.type
    if isinstance(kind, pa.StructType):
        return any(map(_is_finer, array.flatten()))
    if isinstance(kind, pa.MapType):
        return _is_finer(array.keys) or _is_finer(array.items)
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return _is_finer(array.flatten())
    if kind == pa.duration("ns"):
        parts = array.view(pa.int64())
    elif kind == pa.month_day_nano_interval():
        parts = pc.binary_slice(array.view(pa.binary(16)), 8, 16).view(pa.int64())
    else:
        return False
    thousands = pc.multiply(pc.divide(parts, 1000), 1000)
    return bool(pc.any(pc.not_equal(parts, thousands)).as_py())


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
    # Every row is looked at: types found from a sample would round the rows after it (R2).
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
    # The usual form of a date has more variants than its format says.
    found_formats = {"date": date_format, "timestamp": timestamp_format}
    formats = {kind: text for kind, text in found_formats.items() if text not in (None, "%Y-%m-%d")}
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
    """Look at the first line as it is, since the reader renames what repeats (R3)."""
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
    """Look at the keys themselves where a name looks like the reader's renaming (R3)."""
    _check_names(source, names)
    folded = {fold(name) for name in names}
    for name in names:
        stem = re.fullmatch(r"(.*)_[0-9]+", name, re.DOTALL)
        if stem is None or fold(stem[1]) not in folded:
            continue
        keys = f"SELECT unnest(json_keys(json)) AS key FROM {_call('read_json_objects', file, {})}"
        if not _rows(connection, f"FROM ({keys}) WHERE key = {literal(name)} LIMIT 1"):
            raise SourceError(f"{source.shown}: two keys differ in letter case only")


def _of_texts(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    function: str,
    file: Path,
    found: Mapping[str, str],
    form: Mapping[str, str],
    formats: Mapping[str, str],
) -> Readable:
    """Make the query of a format whose values are texts, and the check that none is altered."""
    given = _given_types(connection, source, found)
    columns = {**found, **given}
    conditions: dict[str, str] = {}
    for name, kind in columns.items():
        # A format that was found is followed to the letter, by every text.
        if type_class(kind) not in formats:
            condition = inexact(
                quoted(name), base_name(kind), given=name in given, json=function == "read_json"
            )
            conditions |= {name: condition} if condition else {}
    read = {f"{kind}format": literal(text) for kind, text in formats.items()}
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
            parsed = connection.sqltype(kind)
        except duckdb.Error:
            raise SourceError(f"{source.shown}: there is no type {kind} (column {name})") from None
        # Inside a nested value nobody would see what a cast altered.
        if parsed.id in NESTED:
            raise SourceError(f"{source.shown}: no nested type can be given (column {name})")
        given[names[fold(name)]] = str(parsed)
    return given

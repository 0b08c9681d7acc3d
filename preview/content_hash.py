# ruff: noqa: S608 - names come quoted
"""The content hash of one pinned table (specification 4).

Invariants
  H1  The hash depends on types, values and row order alone: slices are a fixed number of rows,
      and what Arrow leaves open (bits and slots under NULL, padding, offsets, chunks, encodings)
      is brought to one form first. Column names are not part of it.
  H2  Different values have different input: NULL differs from every value, a float is its bits
      (-0.0 is not 0.0, and a NaN keeps its sign and payload, which SQL can show), text and
      binary are lengths and bytes.
  H3  What Arrow cannot carry whole (INTERVAL, UNION, VARIANT, alone or nested) is hashed as the
      engine's sort key together with its text: the key keeps the structure, the text the rest;
      but neither keeps the payload of a NaN. So the floats in such a value are hashed besides,
      where one is a NaN that no text denotes; without one, nothing is added.
  H4  Rows are read back from the pinned table itself, never from the source.
"""

import hashlib
import itertools
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.sqltypes import DuckDBPyType

from eligibility.sql.schema import casefold
from preview.sources.readable import literal

CONTENT_FORMAT = b"eligibility-content/1"
SLICE_ROWS = 4_096
READ_ROWS = 30 * SLICE_ROWS  # one row group of the database file
READ_BYTES_MAX = 64 * 1024 * 1024
PROGRESS_SECONDS = 0.1
ARROW_SETTINGS: dict[str, Any] = {
    "arrow_lossless_conversion": True,
    "arrow_large_buffer_size": True,
}

NESTED = ("list", "array", "struct", "tuple", "map", "union", "variant")
_LOSSY = ("interval", "union", "variant")
_INTEGER = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def content_sha256(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[tuple[str, DuckDBPyType]],
    rows: int,
    *,
    workers: int,
    progress: Callable[[int], None],
) -> str:
    """Hash the content of a pinned table (specification 4).

    Args:
        connection: opened with `ARROW_SETTINGS`; each worker uses a cursor of it.
        table: the table's path as quoted SQL.
        columns: name as quoted SQL, and type, by position.
        rows: how many rows the table has.
        workers: how many threads read and hash, at least 1.
        progress: called with the number of rows done so far.

    Returns:
        A SHA-256 in lower-case hex.

    Raises:
        duckdb.Error: the table could not be read.
    """
    expressions = [_expressions(name, kind) for name, kind in columns]
    floats = [tuple(_floats(name, kind)) if _is_lossy(kind) else () for name, kind in columns]
    # A column of that name hides the row number; then rows are counted off, which is slower.
    numbered = all(casefold(name) != '"rowid"' for name, _ in columns)
    rows_of = "WHERE rowid >= {0} AND rowid < {0} + {1}" if numbered else "LIMIT {1} OFFSET {0}"
    asked = [*itertools.chain(*expressions), *itertools.chain(*floats)]
    query = f"SELECT {', '.join(asked)} FROM {table} "
    plain = sum(map(len, expressions))
    slices = _slice_digests(connection, query, plain, rows_of, rows, workers, progress)
    by_expression = zip(*slices, strict=True) if slices else itertools.repeat(())
    whole = hashlib.sha256(CONTENT_FORMAT)
    whole.update(struct.pack("<qqq", rows, SLICE_ROWS, len(columns)))
    for (_, kind), parts in zip(columns, expressions, strict=True):
        text = str(kind).encode()
        whole.update(struct.pack("<q", len(text)) + text)
        for _ in parts:
            whole.update(hashlib.sha256(b"".join(next(by_expression))).digest())
    for place, parts in enumerate(floats):
        for part, _ in enumerate(parts):
            for number, digest in enumerate(next(by_expression)):
                if digest:
                    whole.update(struct.pack("<3sqqq", b"nan", place, part, number) + digest)
    return whole.hexdigest()


def _expressions(name: str, kind: DuckDBPyType) -> tuple[str, ...]:
    if not _is_lossy(kind):
        return (name,)
    plain = f"system.main.variant_normalize({name})" if kind.id == "variant" else name
    key = f"system.main.create_sort_key({plain}, 'ASC NULLS LAST')"
    return key, f"CAST({name} AS VARCHAR)"


def _is_lossy(kind: DuckDBPyType) -> bool:
    if kind.id in _LOSSY or kind.id not in NESTED:
        return kind.id in _LOSSY
    children = (child for _, child in kind.children)
    return any(isinstance(child, DuckDBPyType) and _is_lossy(child) for child in children)


def _floats(value: str, kind: Any, depth: int = 0) -> Iterator[str]:
    """Give, for each FLOAT or DOUBLE within a type, what takes it out of a value (H3)."""
    if kind.id in ("float", "double"):
        yield value
    elif kind.id in ("struct", "tuple"):
        for place, (_, child) in enumerate(kind.children, start=1):
            yield from _floats(f"system.main.struct_extract_at({value}, {place})", child, depth)
    elif kind.id == "union":
        for tag, child in kind.children[1:]:
            yield from _floats(f"system.main.union_extract({value}, {literal(tag)})", child, depth)
    elif kind.id == "map":
        for part, (_, child) in zip(("keys", "values"), kind.children, strict=True):
            yield from _of_items(f"system.main.map_{part}({value})", child, depth)
    elif kind.id in ("list", "array"):
        yield from _of_items(value, kind.children[0][1], depth)


def _of_items(values: str, kind: Any, depth: int) -> Iterator[str]:
    item = f"e{depth}"
    for inner in _floats(item, kind, depth + 1):
        yield f"system.main.list_transform({values}, lambda {item}: {inner})"


def _slice_digests(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    plain: int,
    rows_of: str,
    rows: int,
    workers: int,
    progress: Callable[[int], None],
) -> list[tuple[bytes, ...]]:
    """Give, for each slice in order, the digest of each expression of the query.

    Those behind the first `plain` are floats, and have none where no NaN among them is odd.
    """
    digests: list[tuple[bytes, ...]] = [()] * -(-rows // SLICE_ROWS)
    lock = threading.Lock()
    start = done = 0
    step = SLICE_ROWS

    def read_and_hash(cursor: duckdb.DuckDBPyConnection) -> None:
        nonlocal start, done, step
        # Texts of H3 may hold times with zone, and a cursor has the machine's zone.
        cursor.execute("SET TimeZone = 'UTC'").fetchall()
        while True:
            with lock:
                first, count = start, step
                start += step
            if first >= rows:
                return
            read = cursor.sql(query + rows_of.format(first, count)).to_arrow_table()
            for place in range(0, read.num_rows, SLICE_ROWS):
                part = read.slice(place, SLICE_ROWS)
                digests[(first + place) // SLICE_ROWS] = tuple(_digests(part, plain))
            with lock:
                # A whole row group is read at once, unless its rows are large.
                small = read.nbytes * READ_ROWS <= READ_BYTES_MAX * read.num_rows
                step = READ_ROWS if small else SLICE_ROWS
                done += read.num_rows

    with ThreadPoolExecutor(workers) as pool:
        try:
            pending = {pool.submit(read_and_hash, connection.cursor()) for _ in range(workers)}
            while pending:
                finished, pending = wait(pending, PROGRESS_SECONDS, FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                progress(done)
        finally:
            start = rows  # the other workers end after what they are at
    if done != rows:
        raise duckdb.InternalError("the table was not read whole")
    return digests


def _digests(part: pa.Table, plain: int) -> Iterator[bytes]:
    for place, column in enumerate(part.columns):
        array = column.combine_chunks()
        if place >= plain and not _has_odd_nan(array):
            yield b""
            continue
        digest = hashlib.sha256()
        _feed(digest, array)
        yield digest.digest()


# The bits of 'nan' and '-nan', as the signed integers of that width.
_NAMED_NAN = {
    32: (0x7FC00000, 0xFFC00000 - 2**32),
    64: (0x7FF8000000000000, 0xFFF8000000000000 - 2**64),
}


def _has_odd_nan(array: pa.Array) -> bool:
    while not pa.types.is_floating(array.type):
        array = array.flatten()
    nan = array.filter(pc.is_nan(array))
    bits = nan.type.bit_width
    named = pa.array(_NAMED_NAN[bits], _INTEGER[bits])
    return bool(pc.any(pc.invert(pc.is_in(nan.view(_INTEGER[bits]), named))).as_py())


def _feed(digest: Any, array: pa.Array) -> None:
    """Put one array into a hash, in a form that depends on its values alone (H1, H2)."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.indices
    kind = array.type
    digest.update(struct.pack("<qq", len(array), array.null_count))
    if array.null_count:
        digest.update(array.is_valid().cast(pa.uint8()).buffers()[1])
    if isinstance(kind, pa.StructType):
        for child in array.flatten():
            _feed(digest, child)
    elif isinstance(kind, pa.FixedSizeListType):
        _feed(digest, array.flatten())
    elif isinstance(kind, pa.ListType | pa.LargeListType | pa.MapType):
        if isinstance(kind, pa.MapType):
            array = array.view(pa.list_(kind.field(0)))
        _feed_integers(digest, pc.list_value_length(array).fill_null(0).cast(pa.uint32()))
        _feed(digest, array.flatten())
    elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        if array.null_count:
            array = array.fill_null("" if pa.types.is_large_string(kind) else b"")
        _feed_integers(digest, pc.binary_length(array).cast(pa.uint32()))
        if len(array):
            _, offsets, data = array.buffers()
            bounds = memoryview(offsets).cast("q")
            first, last = bounds[array.offset], bounds[array.offset + len(array)]
            digest.update(memoryview(data)[first:last] if last > first else b"")
    elif not pa.types.is_null(kind):
        _feed_fixed_width(digest, array)


def _feed_fixed_width(digest: Any, array: pa.Array) -> None:
    bits = array.type.bit_width
    zero: int | bytes = 0 if bits in _INTEGER else bytes(bits // 8)
    array = array.view(_INTEGER.get(bits) or pa.binary(bits // 8))
    _feed_integers(digest, array.fill_null(zero) if array.null_count else array)


def _feed_integers(digest: Any, array: pa.Array) -> None:
    if len(array):
        width = array.type.bit_width // 8
        digest.update(array.buffers()[1].slice(array.offset * width, len(array) * width))

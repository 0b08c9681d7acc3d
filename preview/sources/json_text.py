"""JSON: an array of objects, or objects one after the other (contract 4.1).

Invariants
  N1  A file is parsed once, by a parser that keeps numbers as they are written, and its values are
      put aside as texts by column. The types are found as those of delimited text are.
  N2  The columns are the union of the keys, in the order in which they first occur. A key that a
      record does not have is NULL, and counted.
  N3  A column holds values of one kind, text, number, Boolean or nested, or is text by `--type`.
  N4  Which list of a file holds the records is never guessed.
"""

import shlex
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eligibility.evidence import fold
from eligibility.manifest import JsonDialect, TextColumn
from preview.errors import SourceError
from preview.sources.encoding import Decoded, decoded
from preview.sources.files import reading as reading_file
from preview.sources.files import unpacked, zip_member
from preview.sources.json_parser import JsonText, NoList, Run, TooLarge, pointer_parts
from preview.sources.names import name_error, named
from preview.sources.options import ReadOptions
from preview.sources.readable import Readable, Reading, Told, name_fault, name_form
from preview.sources.shapes import Kind
from preview.sources.source import Source
from preview.sources.texts import Texts, TextTable, asked_of

BATCH_ROWS = 10_000
BATCH_BYTES = 16 * 1024 * 1024
BATCH_CELLS = 1_000_000
COLUMNS_MAX = 10_000
_LINE = "line"
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_POSITIONS_MAX = 100_000  # keys of all the records whose columns are remembered
_KINDS: dict[int, Kind] = {
    ord('"'): "text",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("{"): "nested",
    ord("["): "nested",
}
_SPOKEN: dict[Kind, str] = {
    "text": "a text",
    "number": "a number",
    "boolean": "a Boolean",
    "nested": "a list or an object",
}
_Layout = Literal["array", "lines"]


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    options = source.options
    file = source.files[0]
    path = unpacked(file, reading.opened(file), reading.folder, reading.max_bytes)
    text = decoded(source.shown, path, options.encoding, reading.folder)
    aside, layout = _parsed(source, text, reading)
    names, given_names = named(source.shown, aside.keys, options)
    fault = name_fault(names)
    if fault is not None:
        raise name_error(source.shown, reading.table, names, fault, aside.key_lines)
    kinds = _kinds(source, reading, names, aside)
    asked = asked_of(source.shown, names, kinds, options)
    table = TextTable(
        names=tuple(names),
        kinds=kinds,
        missing=aside.missing,
        batches=aside.batches,
        line_of=aside.line_of,
    )
    made = Texts(source.shown, table, asked, reading)
    with made.query() as query:

        def told() -> Told:
            columns, doubts = made.told(given_names)
            return Told(_dialect(options, text, layout, columns), doubts)

        yield Readable(query, told, made.fault)


def _dialect(
    options: ReadOptions, text: Decoded, layout: _Layout, columns: tuple[TextColumn, ...]
) -> JsonDialect:
    given: list[Literal["encoding", "records"]] = []
    if options.encoding is not None:
        given.append("encoding")
    if options.records is not None:
        given.append("records")
    return JsonDialect(
        encoding=text.encoding,
        mark=text.mark,
        layout=layout,
        records=options.records,
        columns=columns,
        given=tuple(given),
    )


def _kinds(
    source: Source, reading: Reading, names: Sequence[str], aside: "_Aside"
) -> tuple[Kind, ...]:
    """Give the kind of each column (N3); what is asked to be text is, whatever it is."""
    texts = {
        fold(name) for name, kind in source.options.types if _is_text(reading.connection, kind)
    }
    kinds: list[Kind] = []
    for name, first in zip(names, aside.kinds, strict=True):
        if fold(name) in texts or not first:
            kinds.append("text")
            continue
        (kind, line), *others = sorted(first.items(), key=lambda one: one[1])
        for other, other_line in others:
            option = shlex.quote(f"{reading.table}.{name_form(name)}=VARCHAR")
            raise SourceError(
                f"{source.shown}: column {name}: line {line:,} holds {_SPOKEN[kind]}, and line "
                f"{other_line:,} {_SPOKEN[other]}; mend the file, or take all as text by "
                f"--type {option}"
            )
        kinds.append(kind)
    return tuple(kinds)


def _is_text(connection: duckdb.DuckDBPyConnection, kind: str) -> bool:
    try:
        return str(connection.sqltype(kind)) == "VARCHAR"
    except duckdb.Error:
        return False  # an error further on, where every such type is


# --- what holds the records -----------------------------------------------------------------------


def _parsed(source: Source, text: Decoded, reading: Reading) -> tuple["_Aside", _Layout]:
    """Parse the whole text, and put its records aside."""
    shown, records = source.shown, source.options.records
    parts = None if records is None else pointer_parts(records)
    if records is not None and parts is None:
        raise SourceError(
            f"{shown}: --records takes a JSON pointer, as in /data/items, with ~1 for / in a key "
            "and ~0 for ~"
        )
    with _opened(source, text, reading) as parser, _Aside(shown, reading.folder) as aside:
        first = parser.first()
        if not first:
            raise SourceError(f"{shown}: it is empty; there is no record to take keys from")
        layout: _Layout = "lines" if first == b"{" and parts is None else "array"
        if layout == "array" and parts is None and first != b"[":
            raise SourceError(
                f"{shown}: it begins with no object and no list; make it a list of objects, or "
                "objects one after the other"
            )
        try:
            for run in parser.records() if parts is None else parser.listed(parts):
                aside.add(run)
        except NoList:
            raise _no_list(source, text, reading) from None
        except TooLarge:
            # One object may hold all the records there are.
            if layout == "lines" and not aside.count:
                _check_several(source, text, reading)
            raise
        if layout == "lines" and aside.count == 1 and not _has_lines(source, reading):
            _check_several(source, text, reading)
        aside.end()
    if not aside.keys:
        raise SourceError(
            f"{shown}: it has no columns, since no record has a key; leave the file out, or say "
            "by --records where its records are"
        )
    return aside, layout


@contextmanager
def _opened(source: Source, text: Decoded, reading: Reading) -> Iterator[JsonText]:
    with ExitStack() as stack:
        with reading_file(source.shown):
            file = stack.enter_context(text.path.open("rb"))
        yield JsonText(source.shown, text, file, reading.progress)


def _has_lines(source: Source, reading: Reading) -> bool:
    """Say whether the name of the file says that it holds one object a line."""
    file = source.files[0]
    suffixes = [suffix.lower() for suffix in file.suffixes[-2:]]
    if suffixes[-1:] == [".zip"]:
        member = zip_member(reading.opened(file), source.shown)
        suffixes.append(Path(member.filename).suffix.lower())
    return any(suffix in _LINES_SUFFIXES for suffix in suffixes)


def _lists(source: Source, text: Decoded, reading: Reading) -> tuple[list[str], int]:
    """Find the lists of objects in a text: the pointers that can be shown, and how many others."""
    with _opened(source, text, reading) as parser:
        outline = parser.outline()
    shown = [shlex.quote(pointer) for pointer in outline.lists if pointer.isprintable()]
    return shown, outline.count - len(shown)


def _check_several(source: Source, text: Decoded, reading: Reading) -> None:
    """See that a text is more than one object (N4)."""
    try:
        lists, others = _lists(source, text, reading)
    except SourceError:
        return  # it is no one value
    if not lists:
        raise SourceError(
            f"{source.shown}: it is one object, and holds no list of objects; put it in [ ] to "
            "pin it as one record"
        )
    raise SourceError(
        f"{source.shown}: it is one object; say which list in it holds the records: "
        f"{_options(lists, others)}"
    )


def _options(lists: Sequence[str], others: int) -> str:
    more = f", or one of {others:,} more" if others else ""
    return " or ".join(f"--records {pointer}" for pointer in lists) + more


def _no_list(source: Source, text: Decoded, reading: Reading) -> SourceError:
    lists, others = _lists(source, text, reading)
    held = f"say {_options(lists, others)}" if lists else "it holds no list of objects; mend it"
    return SourceError(f"{source.shown}: there is no list where --records points; {held}")


# --- records put aside ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch:
    """Where a batch is: its first record, its file, its place there, and its columns."""

    record: int
    part: int
    place: int
    columns: int


class _Aside:
    """The records as columns of texts, in files (N1).

    A file holds the columns that were known when it was begun; what came later is NULL in it.
    """

    def __init__(self, shown: str, folder: Path) -> None:
        """Hold nothing yet."""
        self._shown, self._folder = shown, folder
        self.keys: list[str] = []
        self.key_lines: list[int] = []
        # For each column, the line of the first value of each kind.
        self.kinds: list[dict[Kind, int]] = []
        self.count = 0
        self._present: list[int] = []
        self._places: dict[str, int] = {}
        self._positions: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._positioned = 0
        self._runs: list[tuple[tuple[int, ...], Run]] = []
        self._rows = self._bytes = 0
        self._batches: list[_Batch] = []
        self._parts = 0
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def __enter__(self) -> "_Aside":
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file that is being written."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @property
    def missing(self) -> tuple[int, ...]:
        """How many records do not have a key, by column."""
        return tuple(self.count - present for present in self._present)

    # --- writing ---

    def add(self, run: Run) -> None:
        """Take some records."""
        places = self._positions.get(run.keys)
        if places is None:
            places = tuple(self._place(key, run.lines[0]) for key in run.keys)
            self._positioned += len(places)
            if self._positioned > _POSITIONS_MAX:
                self._positions.clear()
                self._positioned = len(places)
            self._positions[run.keys] = places
        count = len(run.rows)
        self._runs.append((places, run))
        self.count += count
        self._rows += count
        self._bytes += run.size
        if (
            self._rows >= BATCH_ROWS
            or self._bytes >= BATCH_BYTES
            or self._rows * len(self.keys) >= BATCH_CELLS
        ):
            self._write()

    def _place(self, key: str, line: int) -> int:
        place = self._places.setdefault(key, len(self.keys))
        if place == len(self.keys):
            if place >= COLUMNS_MAX:
                raise SourceError(
                    f"{self._shown}: line {line:,}: its records have more than {COLUMNS_MAX:,} "
                    "different keys; put what is a value there under one key"
                )
            self.keys.append(key)
            self.key_lines.append(line)
            self.kinds.append({})
            self._present.append(0)
        return place

    def end(self) -> None:
        """Write what is left."""
        if self._rows:
            self._write()

    def _write(self) -> None:
        """Write a batch; in a new file where there are new columns."""
        lines = [line for _, run in self._runs for line in run.lines]
        columns: dict[int, list[bytes | None]] = {}
        at = 0
        for places, run in self._runs:
            count = len(run.rows)
            for place in places:
                self._present[place] += count
                if place not in columns:
                    columns[place] = [None] * self._rows
            if count == 1:
                for place, cell in zip(places, run.rows[0], strict=True):
                    columns[place][at] = cell
            else:
                for place, cells in zip(places, zip(*run.rows, strict=True), strict=True):
                    columns[place][at : at + count] = cells
            at += count
        arrays = [
            self._array(place, columns.pop(place), lines)
            if place in columns
            else pa.nulls(self._rows, pa.string())
            for place in range(len(self.keys))
        ]
        names = [*map(str, range(len(arrays))), _LINE]
        batch = pa.RecordBatch.from_arrays([*arrays, pa.array(lines, pa.int64())], names=names)
        with reading_file(self._shown):
            self._writer_for(batch.schema).write_batch(batch)
        self._runs = []
        self._rows = self._bytes = 0

    def _writer_for(self, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
        last = self._batches[-1] if self._batches else None
        columns = len(schema) - 1
        if self._writer is None or last is None or last.columns != columns:
            if self._writer is not None:
                self._writer.close()
            self._writer = pa.ipc.new_file(str(self._path(self._parts)), schema)
            self._parts += 1
            last = None
        record = self.count - self._rows
        place = 0 if last is None else last.place + 1
        self._batches.append(_Batch(record, self._parts - 1, place, columns))
        return self._writer

    def _path(self, part: int) -> Path:
        return self._folder / f"records-{part}"

    def _array(self, place: int, cells: list[bytes | None], lines: Sequence[int]) -> pa.Array:
        """Make the texts of one column, and note the kinds of its values."""
        raw = pa.array(cells, pa.binary())
        null = pc.equal(raw, b"null")
        if pc.any(null).as_py():
            raw = pc.if_else(null, pa.scalar(None, pa.binary()), raw)
        first = pc.binary_slice(raw, 0, 1)
        found: set[Kind] = set()
        for byte in first.unique().to_pylist():
            if byte is None:
                continue
            kind = _KINDS.get(byte[0], "number")
            found.add(kind)
            line = lines[pc.index(first, byte).as_py()]
            self.kinds[place][kind] = min(line, self.kinds[place].get(kind, line))
        if "text" in found:
            bare = pc.binary_slice(raw, 1, -1)
            raw = bare if len(found) == 1 else pc.if_else(pc.equal(first, b'"'), bare, raw)
        return raw.cast(pa.string())

    # --- reading ---

    def batches(self, places: Sequence[int] | None) -> Iterator[pa.RecordBatch]:
        """Give the columns at some positions, or all; always in the same batches."""
        wanted = range(len(self.keys)) if places is None else places
        names = list(map(str, wanted))
        rows = max(1, BATCH_CELLS // len(self.keys))
        for part in range(self._parts):
            own = [batch for batch in self._batches if batch.part == part]
            known = [place for place in wanted if place < own[0].columns]
            with self._reader(part, known) as reader:
                for batch in own:
                    found = reader.get_batch(batch.place)
                    for start in range(0, found.num_rows, rows):
                        piece = found.slice(start, rows)
                        arrays = [
                            piece.column(str(place))
                            if place < batch.columns
                            else pa.nulls(piece.num_rows, pa.string())
                            for place in wanted
                        ]
                        yield pa.RecordBatch.from_arrays(arrays, names=names)

    def line_of(self, record: int) -> int:
        """Give the line on which a record, counted from 0, begins."""
        at = bisect_right(self._batches, record, key=lambda batch: batch.record) - 1
        batch = self._batches[at]
        with self._reader(batch.part, [batch.columns]) as reader:
            lines = reader.get_batch(batch.place).column(_LINE)
            line: int = lines[record - batch.record].as_py()
            return line

    @contextmanager
    def _reader(self, part: int, fields: Sequence[int]) -> Iterator[pa.ipc.RecordBatchFileReader]:
        options = pa.ipc.IpcReadOptions(included_fields=sorted({*fields}), use_threads=False)
        with (
            reading_file(self._shown),
            pa.OSFile(str(self._path(part))) as file,
            pa.ipc.open_file(file, options=options) as reader,
        ):
            yield reader

"""Records put aside as columns of texts (specification 4.1).

Invariants
  S1  The columns are the union of the keys, in the order in which they first occur.
  S2  A key that a record does not have is NULL, and counted; so is null, and not counted.
  S3  What is held at once is a batch; all else is in files, and each batch knows its lines.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from preview.errors import SourceError
from preview.sources.classes import Kind
from preview.sources.files import reading as reading_file
from preview.sources.json_parser import Run

BATCH_ROWS = 10_000
BATCH_BYTES = 16 * 1024 * 1024
BATCH_CELLS = 1_000_000
COLUMNS_MAX = 10_000
_LINE = "line"
_PLACES_MAX = 100_000  # keys of all the records whose columns are remembered
_KINDS: dict[int, Kind] = {
    ord('"'): "text",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("{"): "nested",
    ord("["): "nested",
}


@dataclass(frozen=True, slots=True)
class _Batch:
    """Where a batch is: its first record, its file, its place there, and its columns."""

    record: int
    part: int
    place: int
    columns: int


class Aside:
    """The records as columns of texts, in files (json_text N1).

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

    def __enter__(self) -> "Aside":
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
            if self._positioned > _PLACES_MAX:
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

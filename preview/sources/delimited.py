"""Delimited text: every line read, every decision given or found, and told (specification 4.1).

Invariants
  D1  The whole file is scanned before a row is read; each chunk is then read as one block, which
      is exact where a reader of blocks would not be.
  D2  A first record that could be data is not taken for names, and no name is made up.
  D3  A field without quotes that is empty is NULL, one with quotes is the empty text; `--null` adds
      texts, of fields without quotes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from eligibility.sql.manifest import DelimitedDialect
from preview.errors import SourceError
from preview.sources.classes import Kind
from preview.sources.encoding import Decoded, decoded
from preview.sources.files import unpacked
from preview.sources.names import name_error, named
from preview.sources.options import NO_DELIMITER, ReadOptions
from preview.sources.readable import Readable, Reading, Told, name_fault
from preview.sources.records import (
    Chunk,
    Field,
    Structure,
    first_record,
    line_of,
    records_of,
    without_first,
)
from preview.sources.source import Source
from preview.sources.structure import Scan, after_lines, detect, scan
from preview.sources.texts import Asked, Texts, TextTable, asked_of

_Decision = Literal["encoding", "skip", "comment", "delimiter", "header", "null"]
_BLANKS = " \t"
_MARK = "\ufeff".encode()


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make delimited text readable by SQL; see `preview.sources.kinds.readable`."""
    options = source.options
    file = source.files[0]
    path = unpacked(file, reading.opened(file), reading.folder, reading.max_bytes)
    text = decoded(source.shown, path, options.encoding, reading.folder)
    structure = _scanned(source, text, reading)
    first_size, first = first_record(structure)
    body = without_first(structure, first_size)
    header = options.header
    if header is None and not body.records:
        header = True
    names, given_names = named(
        source.shown,
        [f"column{place}" if header is False else one.text for place, one in enumerate(first, 1)],
        options,
    )
    fault = name_fault(names)
    if fault is not None and header is not None:
        raise name_error(source.shown, reading.table, names, fault)
    rows = structure if header is False else body
    asked = _asked(source, names, options, named=fault is None)
    made = Texts(source.shown, _table(names, rows, options.null, asked), asked, reading)
    if header is None:
        _check_header(source, made, first, options)
    if fault is not None:
        raise name_error(source.shown, reading.table, names, fault)
    with made.query() as query:

        def told() -> Told:
            columns, doubts = made.told(given_names)
            return Told(_dialect(options, text, structure, columns, header is not False), doubts)

        yield Readable(query, told, made.fault)


def _scanned(source: Source, text: Decoded, reading: Reading) -> Structure:
    shown, options = source.shown, source.options
    start = text.start
    if options.skip:
        start = after_lines(shown, text.path, start, options.skip, checked=text.checked)
    what = Scan(
        shown=shown,
        path=text.path,
        start=start,
        line=options.skip + 1,
        checked=text.checked,
        comment=None if options.comment is None else options.comment.encode(),
        aside=reading.folder / "records",
        progress=reading.progress,
    )
    given = _delimiter(source)
    if given is not None:
        structure = scan(what, None if given == NO_DELIMITER else given)
    else:
        structure = detect(what)
    if not structure.chunks:
        raise SourceError(f"{shown}: it is empty; there is no first record to take names from")
    return structure


def _delimiter(source: Source) -> str | None:
    """Give the delimiter where it is known beforehand."""
    given = source.options.delimiter
    if given is None:
        return "\t" if source.is_tabbed else None
    if given == NO_DELIMITER:
        return given
    given = {"tab": "\t", "\\t": "\t"}.get(given, given)
    if len(given) != 1 or not given.isascii() or given in '"\r\n\0':
        raise SourceError(
            f"{source.shown}: --delimiter takes one ASCII character that is no quote and no line "
            "end, or tab, or none"
        )
    return given


# --- names ----------------------------------------------------------------------------------------


def _asked(
    source: Source, names: Sequence[str], options: ReadOptions, *, named: bool
) -> tuple[Asked, ...]:
    if not named:
        # What is by column waits until every column has a name of its own.
        options = options.model_copy(
            update={
                one: tuple(pair for pair in getattr(options, one) if pair[0] is None)
                for one in ("decimal", "thousands")
            }
            | {"date_format": (), "types": (), "trim": tuple(c for c in options.trim if c is None)}
        )
    return asked_of(source.shown, names, _kinds(len(names)), options, listed=options.header is True)


def _check_header(
    source: Source, made: Texts, first: Sequence[Field], options: ReadOptions
) -> None:
    """See that a first record that could be data is not taken for names (D2)."""
    typed = False
    for one, column, asked in zip(first, made.columns, made.asked, strict=True):
        text: str | None = one.text.strip(_BLANKS) if asked.trim else one.text
        if not one.quoted and text in ("", *options.null):
            text = None
        if column.finder is None:
            fits = made.takes(column, text)
        else:
            fits = column.finder.takes(text, column.cast.type)
        if not fits:
            return
        typed |= column.cast.type != "VARCHAR"
    if typed:
        raise SourceError(
            f"{source.shown}: its first record could be data as well as names; "
            "say --header or --no-header"
        )


# --- rows -----------------------------------------------------------------------------------------


def _table(
    names: Sequence[str], structure: Structure, null: Sequence[str], asked: Sequence[Asked]
) -> TextTable:
    trimmed = frozenset(place for place, one in enumerate(asked) if one.trim)
    rows = _Rows(structure, ("", *null), trimmed)
    return TextTable(
        names=tuple(names),
        kinds=_kinds(len(names)),
        missing=(0,) * len(names),
        batches=rows.batches,
        line_of=lambda record: line_of(structure, record),
        nulls_with=rows.nulls_with,
        parts=len(structure.chunks),
    )


def _kinds(count: int) -> tuple[Kind, ...]:
    kinds: tuple[Kind, ...] = ("text",)
    return kinds * count


class _Rows:
    """The records as batches of texts, a chunk at a time (D1)."""

    def __init__(self, structure: Structure, null: Sequence[str], trimmed: frozenset[int]) -> None:
        self._structure, self._null, self._trimmed = structure, tuple(null), trimmed

    def batches(self, places: Sequence[int] | None) -> Iterator[pa.RecordBatch]:
        """Give the columns at some positions, or all."""
        wanted = range(self._structure.width) if places is None else places
        with self._structure.path.open("rb") as file:
            for chunk in self._structure.chunks:
                file.seek(chunk.offset)
                yield self._batch(chunk, file.read(chunk.size), wanted)

    def nulls_with(self, place: int, text: str) -> int:
        """Count the values that are NULL in a column if a text stands for it besides."""
        wider = _Rows(self._structure, (*self._null, text), self._trimmed)
        return sum(batch.column(0).null_count for batch in wider.batches([place]))

    def _batch(self, chunk: Chunk, data: bytes, places: Sequence[int]) -> pa.RecordBatch:
        if not data.endswith((b"\n", b"\r")):
            data += b"\n"
        if data.startswith(_MARK):
            data = _MARK + data  # one is taken for a byte order mark, and dropped
        columns = self._parsed(data, places, self._null)
        for number, place in enumerate(places):
            if place in self._trimmed:
                columns[number] = self._trim(data, place, columns[number])
        if any(len(column) != chunk.records for column in columns):
            raise AssertionError("the records were counted before")
        return pa.RecordBatch.from_arrays(columns, names=[str(place) for place in places])

    def _parsed(self, data: bytes, places: Sequence[int], null: Sequence[str]) -> list[pa.Array]:
        names = [str(place) for place in range(self._structure.width)]
        mark = self._structure.delimiter or _unused(data)
        if mark is None:
            return self._slowly(data, null)
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=names
            ),
            parse_options=csv.ParseOptions(
                delimiter=mark,
                quote_char='"',
                double_quote=True,
                escape_char=False,
                newlines_in_values=True,
                ignore_empty_lines=False,
            ),
            convert_options=csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                null_values=list(null),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                include_columns=[str(place) for place in places],
            ),
        )
        return [column.combine_chunks() for column in table.columns]

    def _slowly(self, data: bytes, null: Sequence[str]) -> list[pa.Array]:
        """Read one field a record without a delimiter, where every character is in use."""
        fields = [fields[0] for _, _, fields in records_of(data, None)]
        texts = [None if not one.quoted and one.text in null else one.text for one in fields]
        return [pa.array(texts, pa.string())]

    def _trim(self, data: bytes, place: int, texts: pa.Array) -> pa.Array:
        """Drop blanks around texts; what is then a text for NULL is one, unless in quotes."""
        bare = pc.utf8_trim(texts, characters=_BLANKS)
        changed = pc.and_(pc.not_equal(bare, texts), pc.is_in(bare, pa.array(self._null)))
        if not pc.any(changed).as_py():
            return bare
        blank = pc.unique(texts.filter(changed)).to_pylist()
        (again,) = self._parsed(data, [place], (*self._null, *blank))
        return pc.if_else(pc.is_null(again), pa.scalar(None, pa.string()), bare)


def _unused(data: bytes) -> str | None:
    """Give an ASCII character that some bytes do not hold."""
    used = set(data)
    free: Any = (code for code in range(1, 128) if code not in used and code not in (10, 13, 34))
    code = next(free, None)
    return None if code is None else chr(code)


# --- telling --------------------------------------------------------------------------------------


def _dialect(
    options: ReadOptions, text: Decoded, structure: Structure, columns: Any, header: bool
) -> DelimitedDialect:
    given: dict[_Decision, bool] = {
        "encoding": options.encoding is not None,
        "skip": options.skip > 0,
        "comment": options.comment is not None,
        "delimiter": options.delimiter is not None,
        "header": options.header is not None,
        "null": bool(options.null),
    }
    return DelimitedDialect(
        encoding=text.encoding,
        mark=text.mark,
        skip=options.skip,
        comment=options.comment,
        delimiter=structure.delimiter,
        header=header,
        null=options.null,
        columns=columns,
        given=tuple(name for name, was in given.items() if was),
    )

"""The records of a delimited text: where they are, and one record taken apart (RFC 4180).

Invariants
  Q1  A record ends at LF, CRLF or CR outside quotes.
  Q2  A quote opens only as the first character of a field, two inside are one, and only the
      delimiter or the end of the record may follow the closing one. Elsewhere a quote is text.
  Q3  A chunk is whole records; what follows reads chunks, and never has to look for a border.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole records, one after the other.

    Attributes:
        offset: of its first byte.
        size: in bytes.
        records: how many.
        line: on which its first record begins, counted from 1.
        gaps: (record from 0, lines left out before it) where comments were.
    """

    offset: int
    size: int
    records: int
    line: int
    gaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """What a scan of a whole text gives.

    Attributes:
        path: of the bytes that the chunks are in.
        delimiter: between two fields; None where a record is one field.
        width: fields of a record.
        chunks: in order.
    """

    path: Path
    delimiter: str | None
    width: int
    chunks: tuple[Chunk, ...]

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(chunk.records for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of one record: its text, and whether it stood in quotes."""

    text: str
    quoted: bool


def lines_in(data: bytes) -> int:
    """Count the line ends in some bytes: LF, CRLF and CR."""
    returns = data.count(b"\r")
    return data.count(b"\n") + (returns - data.count(b"\r\n") if returns else 0)


def field_pattern(mark: str | None, *, strict: bool = False) -> bytes:
    """Give the pattern of one field: in quotes, or without (Q2)."""
    ends = re.escape(mark.encode()) if mark is not None else b""
    quote = b'"' if strict else b""
    return rb'(?:"[^"]*+(?:""[^"]*+)*+"|(?!")[^' + ends + quote + rb"\r\n]*+)"


def records_of(data: bytes, mark: str | None) -> Iterator[tuple[int, int, tuple[Field, ...]]]:
    """Take well-formed bytes apart.

    Args:
        data: whole records.
        mark: the delimiter; None where a record is one field.

    Yields:
        Where each record begins and ends, and its fields.
    """
    one = re.compile(field_pattern(mark))
    stopping = re.compile(rb"\r\n|\n|\r|\Z")
    begin = at = 0
    fields: list[Field] = []
    while at < len(data) or fields:
        found = one.match(data, at)
        assert found is not None  # the bytes were scanned before
        fields.append(_field(found[0]))
        stop = stopping.match(data, found.end())
        if stop is None:
            at = found.end() + 1
            continue
        at = stop.end()
        yield begin, at, tuple(fields)
        begin, fields = at, []


def _field(raw: bytes) -> Field:
    if raw.startswith(b'"'):
        return Field(raw[1:-1].replace(b'""', b'"').decode(), quoted=True)
    return Field(raw.decode(), quoted=False)


def line_of(structure: Structure, record: int) -> int:
    """Find the physical line on which a record begins.

    Args:
        structure: of the text.
        record: counted from 0.

    Returns:
        The line, counted from 1.
    """
    left = record
    for chunk in structure.chunks:
        if left < chunk.records:
            data = _bytes_of(structure.path, chunk)
            at = next(islice(records_of(data, structure.delimiter), left, None))[0]
            gaps = sum(lines for place, lines in chunk.gaps if place <= left)
            return chunk.line + lines_in(data[:at]) + gaps
        left -= chunk.records
    raise IndexError(record)


def _bytes_of(path: Path, chunk: Chunk) -> bytes:
    with path.open("rb") as file:
        file.seek(chunk.offset)
        return file.read(chunk.size)


def first_record(structure: Structure) -> tuple[int, tuple[Field, ...]]:
    """Give how many bytes the first record takes, and its fields."""
    _, end, fields = next(
        records_of(_bytes_of(structure.path, structure.chunks[0]), structure.delimiter)
    )
    return end, fields


def without_first(structure: Structure, size: int) -> Structure:
    """Leave out the first record, which takes `size` bytes."""
    first, *others = structure.chunks
    with structure.path.open("rb") as file:
        file.seek(first.offset)
        lines = lines_in(file.read(size))
    gaps = tuple((place - 1, lines) for place, lines in first.gaps if place > 1)
    before = sum(lines for place, lines in first.gaps if place == 1)
    rest = Chunk(
        first.offset + size, first.size - size, first.records - 1, first.line + lines + before, gaps
    )
    chunks = (rest, *others) if rest.records else tuple(others)
    return Structure(structure.path, structure.delimiter, structure.width, chunks)

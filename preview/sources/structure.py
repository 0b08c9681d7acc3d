"""Where the records of a delimited text begin and end: RFC 4180 over the whole file (contract 4.1).

Invariants
  T1  Every byte is looked at. A record ends at LF, CRLF or CR outside quotes.
  T2  A quote opens only as the first character of a field, two inside are one, and only the
      delimiter or the end of the record may follow the closing one. Elsewhere a quote is text.
  T3  All records have the same number of fields, or there is an error with a line.
  T4  A delimiter is found only where it is the one under which every quote opens or closes a
      field and all records of the whole file have the same number, at least two, of fields.
  T5  A chunk is whole records; what follows reads chunks, and never has to look for a border.

There are two machines. `_Block` counts quotes with arrays, and is exact as long as every quote opens
or closes a field, which it sees. `_Machine` takes one record after the other, and is used where a
quote is text, or where comments are left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from preview.errors import SourceError
from preview.sources.encoding import invalid
from preview.sources.files import reading
from preview.sources.readable import Progress

CANDIDATES = (",", ";", "\t", "|")
CHUNK_BYTES = 8 * 1024 * 1024
RECORD_BYTES_MAX = 64 * 1024 * 1024
FIELDS_MAX = 10_000
_Bytes = npt.NDArray[Any]
_QUOTE, _LF, _CR = 0x22, 0x0A, 0x0D
_LINE_END = re.compile(rb"\r\n|\n|\r")
_SPOKEN = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}


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


@dataclass(frozen=True, slots=True)
class Scan:
    """What is scanned, and how.

    Attributes:
        shown: how errors name it.
        path: of its bytes, UTF-8.
        start: where its first record begins, in bytes.
        line: on which it begins, counted from 1.
        checked: whether its bytes are known to be UTF-8.
        comment: a record that begins with it is left out; None for none.
        aside: a file to make for what is left where comments are.
        progress: as that of `pin`.
    """

    shown: str
    path: Path
    start: int
    line: int
    checked: bool
    comment: bytes | None
    aside: Path
    progress: Progress


def lines_in(data: bytes) -> int:
    """Count the line ends in some bytes: LF, CRLF and CR."""
    returns = data.count(b"\r")
    return data.count(b"\n") + (returns - data.count(b"\r\n") if returns else 0)


def after_lines(shown: str, path: Path, start: int, count: int) -> int:
    """Find where the text begins once some physical lines are left out.

    Args:
        shown: how errors name it.
        path: of its bytes.
        start: where it begins, in bytes.
        count: how many lines to leave out.

    Returns:
        The offset, in bytes.

    Raises:
        SourceError: there are not so many.
    """
    left, at = count, start
    with reading(shown), path.open("rb") as file:
        file.seek(start)
        pending = b""
        while left:
            block = file.read(CHUNK_BYTES)
            data = pending + block
            stop = 0
            for end in _LINE_END.finditer(data):
                # A CR at the end may be half of a line end.
                if block and end.end() == len(data) and end[0] == b"\r":
                    break
                stop = end.end()
                left -= 1
                if not left:
                    break
            at += stop
            pending = data[stop:]
            if not block:
                break
    if left:
        raise SourceError(f"{shown}: it has fewer than {count:,} lines to skip")
    return at


def scan(what: Scan, delimiter: str | None) -> Structure:
    """Scan a text with a known delimiter.

    Args:
        what: the text.
        delimiter: one ASCII character; None where a record is one field.

    Returns:
        Its structure.

    Raises:
        SourceError: a record is malformed, or has another number of fields than the first.
    """
    found = _Scanner(what, (delimiter,), strict=False).run()
    fault = found.faults.get(delimiter)
    if fault is not None:
        raise SourceError(
            f"{what.shown}: {fault.said}; mend that line, or give another --delimiter"
        )
    return found.structure(delimiter)


def detect(what: Scan) -> Structure:
    """Find the delimiter of a text (T4), and scan it.

    Args:
        what: the text.

    Returns:
        Its structure.

    Raises:
        SourceError: none fits, or several do.
    """
    found = _Scanner(what, CANDIDATES, strict=True).run()
    fitting = [mark for mark in CANDIDATES if found.widths.get(mark, 0) >= 2 and found.fits(mark)]
    if len(fitting) > 1:
        options = " or ".join(f"--delimiter {_pasted(mark)}" for mark in fitting)
        raise SourceError(f"{what.shown}: more than one delimiter fits every line; say {options}")
    if fitting:
        return found.structure(fitting[0])
    if not found.faults:
        return found.structure(None)
    alone = _Scanner(what, (None,), strict=False, sought=CANDIDATES).run()
    if None not in alone.faults:
        return alone.structure(None)
    best = max(
        found.faults, key=lambda mark: (found.faults[mark].width > 1, found.faults[mark].line)
    )
    if best is None:  # pragma: no cover - candidates are characters
        raise AssertionError
    fault = found.faults[best]
    # A quote may be text where the delimiter is given; a record too wide is too wide there too.
    way = f"--delimiter {_pasted(best)}" if fault.quote else "--delimiter none for one column"
    raise SourceError(
        f"{what.shown}: no delimiter fits every line. {_SPOKEN[best].capitalize()} fits best, but "
        f"{fault.said}. Mend that line, or say {way}"
    )


def _pasted(mark: str) -> str:
    return {"\t": "tab", ",": ","}.get(mark, f"'{mark}'")


# --- one pass over the whole ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a delimiter does not fit: in which line, the fields of a record until then, what it is."""

    line: int
    width: int
    said: str
    quote: bool = False


def _counted(number: int) -> str:
    return "1 field" if number == 1 else f"{number:,} fields"


def _ragged(line: int, count: int, width: int) -> _Fault:
    said = f"line {line:,} has {_counted(count)}, and the first record has {_counted(width)}"
    return _Fault(line, width, said)


def _misplaced(line: int, width: int) -> _Fault:
    said = f"in line {line:,} a quote neither opens nor closes a field"
    return _Fault(line, width, said, quote=True)


def _malformed(line: int, width: int) -> _Fault:
    return _Fault(line, width, f"in line {line:,} more text follows the quote that closes a field")


def _unclosed(line: int, width: int) -> _Fault:
    return _Fault(line, width, f"the quote that opens a field in line {line:,} is never closed")


@dataclass
class _Scanner:
    """One pass over a text under several candidates.

    Attributes:
        what: the text.
        marks: the candidates still to be looked at.
        strict: whether a quote that is text is a fault (T4).
        sought: characters that must not occur outside quotes.
        widths: fields of a record, by candidate.
        faults: why a candidate does not fit.
        chunks: found so far.
    """

    what: Scan
    marks: Sequence[str | None]
    strict: bool
    sought: Sequence[str] = ()
    widths: dict[str | None, int] = field(default_factory=dict)
    faults: dict[str | None, _Fault] = field(default_factory=dict)
    chunks: list[Chunk] = field(default_factory=list)

    def fits(self, mark: str | None) -> bool:
        return mark not in self.faults

    def structure(self, mark: str | None) -> Structure:
        path = self.what.path if self.what.comment is None else self.what.aside
        width = self.widths.get(mark, 1)
        if width > FIELDS_MAX:
            raise SourceError(
                f"{self.what.shown}: a record has {width:,} fields, and at most {FIELDS_MAX:,} are read"
            )
        return Structure(path, mark, width, tuple(self.chunks))

    def run(self) -> "_Scanner":
        if self.what.comment is not None and len(self.marks) > 1:
            return self._one_by_one()
        with reading(self.what.shown), self.what.path.open("rb") as file:
            file.seek(self.what.start)
            if self.what.comment is None:
                self._scan(file, None)
            else:
                with self.what.aside.open("wb") as aside:
                    self._scan(file, aside)
        return self

    def _one_by_one(self) -> "_Scanner":
        """Where comments are left out, what a record is depends on the delimiter."""
        fitting: _Scanner | None = None
        for mark in self.marks:
            one = _Scanner(self.what, (mark,), self.strict).run()
            self.widths |= one.widths
            self.faults |= one.faults
            if one.fits(mark) and (fitting is None or one.widths.get(mark, 0) >= 2):
                fitting = one
                self.chunks = one.chunks
        if fitting is not None:
            fitting.run_again()
        return self

    def run_again(self) -> None:
        """Put aside once more what this candidate leaves."""
        self.chunks.clear()
        self.run()

    def _scan(self, file: BinaryIO, aside: BinaryIO | None) -> None:
        whole = self.what.path.stat().st_size
        offset, line, pending = self.what.start, self.what.line, b""
        written = 0
        while True:
            block = file.read(max(CHUNK_BYTES, len(pending)))
            data, end = pending + block, not block
            if end and not data:
                return
            self.what.progress(f"scanning {self.what.shown}", offset, whole)
            done = self._region(data, offset, line, end, aside)
            if done is None:
                return
            size, chunk = done
            if not size and end:
                return
            if not size and len(data) > RECORD_BYTES_MAX:
                raise SourceError(
                    f"{self.what.shown}: the record that begins in line {line:,} is longer than "
                    f"{RECORD_BYTES_MAX:,} bytes; look for a quote that is not closed there"
                )
            if size:
                region = data[:size]
                if aside is not None:
                    chunk = Chunk(written, chunk.size, chunk.records, chunk.line, chunk.gaps)
                    written += chunk.size
                if chunk.records:
                    self.chunks.append(chunk)
                line += lines_in(region)
            offset += size
            pending = data[size:]

    def _region(
        self, data: bytes, offset: int, line: int, end: bool, aside: BinaryIO | None
    ) -> tuple[int, Chunk] | None:
        """Take the whole records at the start of some bytes; None where nothing fits any more."""
        if aside is None and not self.sought:
            block = _Block(data, line, end)
            self._check(data[: block.size], offset)
            widths = dict(self.widths)
            faults = {mark: block.fault(mark, widths) for mark in self._alive()}
            if self.strict or not any(faults.values()):
                self.widths = widths
                self.faults |= {mark: fault for mark, fault in faults.items() if fault}
                if not self._alive():
                    return None
                return block.size, Chunk(offset, block.size, block.records, line)
        (mark,) = self.marks
        machine = _Machine(self, mark, data, line, end)
        made = machine.run()
        if made is None:
            return None
        self._check(data[: machine.at], offset)
        if aside is not None:
            aside.write(b"".join(machine.kept))
            size = sum(map(len, machine.kept))
        else:
            size = machine.at
        return machine.at, Chunk(offset, size, machine.records, machine.line, tuple(machine.gaps))

    def _alive(self) -> list[str | None]:
        return [mark for mark in self.marks if mark not in self.faults]

    def _check(self, region: bytes, offset: int) -> None:
        """See that bytes are UTF-8 (E1 of `preview.sources.encoding`)."""
        if self.what.checked or region.isascii():
            return
        try:
            region.decode()
        except UnicodeDecodeError as error:
            raise invalid(self.what.shown, offset + error.start, "utf-8") from None


# --- the quick machine ----------------------------------------------------------------------------


class _Block:
    """Bytes that begin with a record, seen as arrays; exact where every quote opens or closes."""

    def __init__(self, data: bytes, line: int, end: bool) -> None:
        if end and data[-1] not in (_LF, _CR):
            data += b"\n"  # a last record needs no line end of its own
        self.data, self.line, self.end = data, line, end
        self.bytes = np.frombuffer(data, np.uint8)
        ends = self.bytes == _LF
        if b"\r" in data:
            lone = self.bytes == _CR
            lone[:-1] &= ~ends[1:]
            # A CR at the end may be half of a line end.
            lone[-1] &= end
            ends |= lone
        self.inside: _Bytes | None = None
        self.quotes = b'"' in data
        if self.quotes:
            marks = self.bytes == _QUOTE
            self.inside = np.bitwise_xor.accumulate(marks.view(np.uint8)).view(np.bool_)
            ends &= ~self.inside
        self.ends = np.flatnonzero(ends)
        self.records = len(self.ends)
        # Less what was added, the bytes of the whole records.
        self.size = int(self.ends[-1]) + 1 if self.records else 0

    def fault(self, mark: str | None, widths: dict[str | None, int]) -> _Fault | None:
        """Say why a delimiter does not fit these records; note the width of the first one."""
        width = widths.get(mark) or self._guessed(mark)
        if self.quotes and (misplaced := self._misplaced(mark)) is not None:
            return _misplaced(self._line_at(misplaced), width)
        if self.end and self.size < len(self.data):
            return _unclosed(self._line_at(int(self._opened)), width)
        if not self.records or mark is None:
            if self.records:
                widths[mark] = 1
            return None
        marks = self.bytes[: self.size] == ord(mark)
        if self.inside is not None:
            marks &= ~self.inside[: self.size]
        places = np.flatnonzero(marks)
        if mark not in widths:
            widths[mark] = width = int(np.searchsorted(places, self.ends[0])) + 1
        each, count = width - 1, self.records
        if len(places) == each * count:
            if not each:
                return None
            begins = np.concatenate(([-1], self.ends[:-1]))
            in_first = places[::each] > begins
            if in_first.all() and (places[each - 1 :: each] < self.ends).all():
                return None
        counts = np.diff(np.searchsorted(places, self.ends), prepend=0) + 1
        odd = int(np.flatnonzero(counts != width)[0])
        return _ragged(self._line_of(odd), int(counts[odd]), width)

    def _guessed(self, mark: str | None) -> int:
        """Say how many fields the first line seems to have, for a message."""
        line = _LINE_END.split(self.data, 1)[0]
        return line.count(mark.encode()) + 1 if mark is not None else 1

    def _misplaced(self, mark: str | None) -> int | None:
        """Find the first quote that neither opens nor closes a field."""
        places = self._places
        if not len(places):
            return None
        before, after = self._before, self._after
        well = (before == _LF) | (before == _CR) | (before == _QUOTE)
        well_after = (after == _LF) | (after == _CR) | (after == _QUOTE)
        if mark is not None:
            well |= before == ord(mark)
            well_after |= after == ord(mark)
        well[1::2] = well_after[1::2]
        bad = np.flatnonzero(~well)
        return int(places[bad[0]]) if len(bad) else None

    @cached_property
    def _places(self) -> _Bytes:
        """Where quotes are; of what is no whole record yet, the last one is not known."""
        limit = self.size if self.size else len(self.data) - 1
        return np.flatnonzero(self.bytes[:limit] == _QUOTE)

    @cached_property
    def _before(self) -> _Bytes:
        before: _Bytes = self.bytes[self._places - 1]
        if self._places[0] == 0:
            before = before.copy()
            before[0] = _LF
        return before

    @cached_property
    def _after(self) -> _Bytes:
        after: _Bytes = self.bytes[self._places + 1]
        return after

    @property
    def _opened(self) -> int:
        """Where the quote is that is still open at the end."""
        return int(np.flatnonzero(self.bytes[self.size :] == _QUOTE)[0]) + self.size

    def _line_of(self, record: int) -> int:
        begin = int(self.ends[record - 1]) + 1 if record else 0
        return self._line_at(begin)

    def _line_at(self, place: int) -> int:
        return self.line + lines_in(self.data[:place])


# --- the exact machine ----------------------------------------------------------------------------


def field_pattern(mark: str | None, *, strict: bool = False) -> bytes:
    """Give the pattern of one field: in quotes, or without (T2)."""
    ends = re.escape(mark.encode()) if mark is not None else b""
    quote = b'"' if strict else b""
    return rb'(?:"[^"]*+(?:""[^"]*+)*+"|(?!")[^' + ends + quote + rb"\r\n]*+)"


class _Machine:
    """One record after the other, by a pattern of a whole record with the right number of fields."""

    def __init__(
        self, scanner: _Scanner, mark: str | None, data: bytes, line: int, end: bool
    ) -> None:
        self.scanner, self.mark, self.data, self.end = scanner, mark, data, end
        self.first_line = self.line = line
        self.at = self.records = 0
        self.kept: list[bytes] = []
        self.gaps: list[tuple[int, int]] = []
        self.one = re.compile(field_pattern(mark, strict=scanner.strict))
        # A CR at the end may be half of a line end.
        self.stop = rb"(?:\r\n|\n|\r" + (rb"|\Z)" if end else rb"(?!\Z))")
        self.stopping = re.compile(self.stop)

    def run(self) -> "_Machine | None":
        """Take records as long as there are whole ones; None where one does not fit."""
        comment, data = self.scanner.what.comment, self.data
        whole = self._whole() if self.mark in self.scanner.widths else None
        left_out = 0
        while self.at < len(data):
            if comment is not None and data.startswith(comment, self.at):
                skipped = self.stopping.search(data, self.at)
                if skipped is None:
                    break
                self.at = skipped.end()
                left_out += 1
                continue
            if comment is not None and not self.end and len(data) - self.at < len(comment):
                break
            found = whole.match(data, self.at) if whole is not None else None
            if found is None:
                count, stop = self._fields()
                if count < 0:
                    return None
                if not count:
                    break
                width = self.scanner.widths.setdefault(self.mark, count)
                if count != width:
                    self._fault(_ragged(self._line_here(), count, width))
                    return None
                whole = self._whole()
            else:
                stop = found.end()
            if self.scanner.sought and self._holds_sought(stop):
                self._fault(_ragged(self._line_here(), 2, 1))
                return None
            if left_out:
                if self.records:
                    self.gaps.append((self.records, left_out))
                else:
                    self.line += left_out
                left_out = 0
            if comment is not None:
                self.kept.append(self._ended(data[self.at : stop]))
            self.at = stop
            self.records += 1
        return self

    def _ended(self, record: bytes) -> bytes:
        """Give a record that stands before others a line end."""
        return record if record.endswith((b"\n", b"\r")) else record + b"\n"

    def _whole(self) -> re.Pattern[bytes]:
        width = self.scanner.widths[self.mark]
        one = field_pattern(self.mark, strict=self.scanner.strict)
        first = b"(?:" + one + re.escape((self.mark or "").encode()) + b"){%d}" % (width - 1)
        return re.compile((first if width > 1 else b"") + one + self.stop)

    def _fields(self) -> tuple[int, int]:
        """Count the fields of the record here: 0 where it is not whole, -1 where it is a fault."""
        count, at, data = 0, self.at, self.data
        mark = (self.mark or "").encode()
        while True:
            found = self.one.match(data, at)
            if found is None:
                if not self.end:
                    return 0, at
                self._fault(_unclosed(self._line_at(at), self._width))
                return -1, at
            count += 1
            stop = self.stopping.match(data, found.end())
            if stop is not None:
                return count, stop.end()
            if mark and data.startswith(mark, found.end()):
                at = found.end() + len(mark)
                continue
            # What is here is unknown yet at the end of what was read.
            if not self.end and found.end() >= len(data) - 1:
                return 0, at
            said = _misplaced if not data.startswith(b'"', at) else _malformed
            self._fault(said(self._line_at(found.end()), self._width))
            return -1, at

    def _holds_sought(self, stop: int) -> bool:
        record = self.data[self.at : stop]
        if record.startswith(b'"'):
            return False
        return any(mark.encode() in record for mark in self.scanner.sought)

    @property
    def _width(self) -> int:
        return self.scanner.widths.get(self.mark, 1)

    def _fault(self, fault: _Fault) -> None:
        self.scanner.faults[self.mark] = fault

    def _line_here(self) -> int:
        return self._line_at(self.at)

    def _line_at(self, place: int) -> int:
        return self.first_line + lines_in(self.data[:place])


# --- single records -------------------------------------------------------------------------------


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
        assert found is not None, "the bytes were scanned before"
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
            at = next(_nth(records_of(data, structure.delimiter), left))
            gaps = sum(lines for place, lines in chunk.gaps if place <= left)
            return chunk.line + lines_in(data[:at]) + gaps
        left -= chunk.records
    raise IndexError(record)


def _nth(records: Iterable[tuple[int, int, tuple[Field, ...]]], number: int) -> Iterator[int]:
    return (begin for place, (begin, _, _) in enumerate(records) if place == number)


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

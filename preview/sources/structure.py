"""Where the records of a delimited text begin and end, over the whole file (specification 4.1).

Invariants
  T1  Every byte is looked at, and is UTF-8.
  T2  All records have the same number of fields, or there is an error with a line.
  T3  A delimiter is found only where it is the one under which every quote opens or closes a
      field and all records of the whole file have the same number, at least two, of fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from preview.errors import SourceError
from preview.sources.block import Block
from preview.sources.encoding import invalid
from preview.sources.files import reading
from preview.sources.machine import Machine, Rules
from preview.sources.misfits import Fault
from preview.sources.readable import Progress
from preview.sources.records import LINE_END, Chunk, Structure, lines_in

CANDIDATES = (",", ";", "\t", "|")
CHUNK_BYTES = 8 * 1024 * 1024
RECORD_BYTES_MAX = 64 * 1024 * 1024
FIELDS_MAX = 10_000
_SPOKEN = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}


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


def after_lines(shown: str, path: Path, start: int, count: int, *, checked: bool) -> int:
    """Find where the text begins once some physical lines are left out.

    Args:
        shown: how errors name it.
        path: of its bytes.
        start: where it begins, in bytes.
        count: how many lines to leave out.
        checked: whether the bytes are known to be UTF-8.

    Returns:
        The offset, in bytes.

    Raises:
        SourceError: there are not so many, or they are not UTF-8.
    """
    left, at = count, start
    with reading(shown), path.open("rb") as file:
        file.seek(start)
        pending = b""
        while left:
            block = file.read(CHUNK_BYTES)
            data = pending + block
            stop = 0
            for end in LINE_END.finditer(data):
                # A CR at the end may be half of a line end.
                if block and end.end() == len(data) and end[0] == b"\r":
                    break
                stop = end.end()
                left -= 1
                if not left:
                    break
            if not checked:
                _check(shown, data[:stop], at)
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
    """Find the delimiter of a text (T3), and scan it.

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
    misfits = [mark for mark in CANDIDATES if mark in found.faults]
    best = max(misfits, key=lambda mark: (found.faults[mark].width > 1, found.faults[mark].line))
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


@dataclass
class _Scanner:
    """One pass over a text under several candidates.

    Attributes:
        what: the text.
        marks: the candidates still to be looked at.
        strict: whether a quote that is text is a fault (T3).
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
    faults: dict[str | None, Fault] = field(default_factory=dict)
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
            block = Block(data, line, end)
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
        rules = Rules(mark, self.strict, self.what.comment, self.sought)
        machine = Machine(rules, data, line=line, end=end, width=self.widths.get(mark))
        machine.run()
        if machine.width is not None:
            self.widths[mark] = machine.width
        if machine.fault is not None:
            self.faults[mark] = machine.fault
            return None
        self._check(data[: machine.at], offset)
        size = machine.at
        if aside is not None:
            size = sum(map(len, machine.kept))
            aside.write(b"".join(machine.kept))
        return machine.at, Chunk(offset, size, machine.records, machine.line, tuple(machine.gaps))

    def _alive(self) -> list[str | None]:
        return [mark for mark in self.marks if mark not in self.faults]

    def _check(self, region: bytes, offset: int) -> None:
        if not self.what.checked:
            _check(self.what.shown, region, offset)


def _check(shown: str, region: bytes, offset: int) -> None:
    """See that bytes are UTF-8 (E1 of `preview.sources.encoding`)."""
    if region.isascii():
        return
    try:
        region.decode()
    except UnicodeDecodeError as error:
        raise invalid(shown, offset + error.start, "utf-8") from None

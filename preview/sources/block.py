"""The structure of many records at once, seen as arrays (specification 4.1).

Invariant
  B1  Counting quotes is exact as long as every quote opens or closes a field. Where one does not,
      that is seen, and said; what else was found then means nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from eligibility.wire.model import cached_property
from preview.sources.misfits import Fault, misplaced, ragged, unclosed
from preview.sources.records import LINE_END, lines_in

_Bytes = npt.NDArray[Any]
_QUOTE, _LF, _CR = 0x22, 0x0A, 0x0D


class Block:
    """Bytes that begin with a record, seen as arrays; exact where every quote opens or closes."""

    def __init__(self, data: bytes, line: int, end: bool) -> None:
        """Find the ends of the whole records.

        Args:
            data: the bytes, at least one.
            line: on which they begin.
            end: whether nothing follows them.
        """
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

    def fault(self, mark: str | None, widths: dict[str | None, int]) -> Fault | None:
        """Say why a delimiter does not fit these records; note the width of the first one."""
        width = widths.get(mark) or self._guessed(mark)
        if self.quotes and (place := self._misplaced(mark)) is not None:
            return misplaced(self._line_at(place), width)
        if self.end and self.size < len(self.data):
            return unclosed(self._line_at(int(self._opened)), width)
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
        return ragged(self._line_of(odd), int(counts[odd]), width)

    def _guessed(self, mark: str | None) -> int:
        """Say how many fields the first line seems to have, for a message."""
        line = LINE_END.split(self.data, 1)[0]
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

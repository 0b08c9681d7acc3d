"""The structure of records one after the other: where a quote is text, or comments are left out.

Invariant
  M1  A record is taken by one pattern for all of it, with the number of fields that all have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from preview.sources.misfits import Fault, malformed, misplaced, ragged, unclosed
from preview.sources.records import field_pattern, lines_in


@dataclass(frozen=True, slots=True)
class Rules:
    """How records are taken.

    Attributes:
        mark: the delimiter; None where a record is one field.
        strict: whether a quote that is text is a fault.
        comment: a record that begins with it is left out; None for none.
        sought: characters that must not occur in a record without quotes.
    """

    mark: str | None
    strict: bool
    comment: bytes | None
    sought: Sequence[str]


class Machine:
    """Takes the whole records at the start of some bytes.

    Attributes:
        at: how many bytes were taken.
        records: how many records.
        line: on which the first of them begins.
        gaps: (record from 0, lines left out before it).
        kept: the records, where some are left out.
        width: the fields of a record; None as long as there was none.
        fault: why a record does not fit; None where all do.
    """

    def __init__(
        self, rules: Rules, data: bytes, *, line: int, end: bool, width: int | None
    ) -> None:
        """Look at some bytes.

        Args:
            rules: how records are taken.
            data: bytes that begin with a record.
            line: on which they begin.
            end: whether nothing follows them.
            width: the fields of a record, where there was one before.
        """
        self._rules, self._data, self._line, self._end = rules, data, line, end
        self.at = self.records = 0
        self.line, self.width = line, width
        self.gaps: list[tuple[int, int]] = []
        self.kept: list[bytes] = []
        self.fault: Fault | None = None
        self._one = re.compile(field_pattern(rules.mark, strict=rules.strict))
        # A CR at the end may be half of a line end.
        self._stop = rb"(?:\r\n|\n|\r" + (rb"|\Z)" if end else rb"(?!\Z))")
        self._stopping = re.compile(self._stop)

    def run(self) -> None:
        """Take records as long as there are whole ones that fit."""
        data, comment = self._data, self._rules.comment
        whole = self._whole() if self.width is not None else None
        left_out = 0
        while self.at < len(data):
            if comment is not None:
                if data.startswith(comment, self.at):
                    skipped = self._stopping.search(data, self.at)
                    if skipped is None:
                        return
                    self.at = skipped.end()
                    left_out += 1
                    continue
                if not self._end and len(data) - self.at < len(comment):
                    return
            found = whole.match(data, self.at) if whole is not None else None
            if found is not None:
                stop = found.end()
            else:
                count, stop = self._fields()
                if not count:
                    return
                self.width = self.width or count
                if count != self.width:
                    self.fault = ragged(self._line_at(self.at), count, self.width)
                    return
                whole = self._whole()
            record = data[self.at : stop]
            if self._holds_sought(record):
                self.fault = ragged(self._line_at(self.at), 2, 1)
                return
            if left_out and self.records:
                self.gaps.append((self.records, left_out))
            elif left_out:
                self.line += left_out
            left_out = 0
            if comment is not None:
                # One kind of line end, since another line may come to stand behind it.
                self.kept.append(record.removesuffix(b"\n").removesuffix(b"\r") + b"\n")
            self.at = stop
            self.records += 1

    def _whole(self) -> re.Pattern[bytes]:
        assert self.width is not None  # there was a record
        rules = self._rules
        one = field_pattern(rules.mark, strict=rules.strict)
        first = b"(?:" + one + re.escape((rules.mark or "").encode()) + b"){%d}" % (self.width - 1)
        return re.compile((first if self.width > 1 else b"") + one + self._stop)

    def _fields(self) -> tuple[int, int]:
        """Count the fields of the record here, and say where it ends; 0 where none is whole."""
        count, at, data = 0, self.at, self._data
        mark = (self._rules.mark or "").encode()
        while True:
            found = self._one.match(data, at)
            if found is None:
                if self._end:
                    self.fault = unclosed(self._line_at(at), self.width or 1)
                return 0, at
            count += 1
            stop = self._stopping.match(data, found.end())
            if stop is not None:
                return count, stop.end()
            if mark and data.startswith(mark, found.end()):
                at = found.end() + len(mark)
                continue
            # What is here is unknown yet at the end of what was read.
            if self._end or found.end() < len(data) - 1:
                said = malformed if data.startswith(b'"', at) else misplaced
                self.fault = said(self._line_at(found.end()), self.width or 1)
            return 0, at

    def _holds_sought(self, record: bytes) -> bool:
        if not self._rules.sought or record.startswith(b'"'):
            return False
        return any(mark.encode() in record for mark in self._rules.sought)

    def _line_at(self, place: int) -> int:
        return self._line + lines_in(self._data[:place])

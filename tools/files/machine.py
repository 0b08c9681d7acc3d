"""A second reading of delimited text: bytes to characters, characters to records (specification 4.1).

Invariants
  D1  Nothing here is shared with what it judges: a character after the other, and no library.
  D2  A field is its text and whether it was quoted: an empty text and no text are two things.
  D3  What the machine reads, Python's `csv` reads too, as far as that can tell.
"""

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
Field = tuple[str, bool]
# No file here is larger, and a field may be all of it.
csv.field_size_limit(2**31 - 1)


class Malformed(Exception):
    """The text is no delimited text; the line, counted from 1, says where."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Record:
    """One record: the line it begins in, its fields, and whether a quote in it is text."""

    line: int
    fields: tuple[Field, ...]
    stray: bool

    def texts(self) -> list[str]:
        return [text for text, _ in self.fields]


def decoded(data: bytes, encoding: str | None) -> tuple[str, str, bool]:
    """Decode strictly; give the text without its mark, the codec, and whether there was a mark.

    Raises:
        UnicodeDecodeError: the bytes are no such text.
        LookupError: there is no such codec.
    """
    if encoding is None:
        for mark, codec in MARKS:
            if data.startswith(mark):
                return data[len(mark) :].decode(codec), codec, True
        return data.decode("utf-8"), "utf-8", False
    name = codecs.lookup(encoding).name
    for mark, codec in MARKS:
        if data.startswith(mark) and name in (codec, codec[:6], f"{codec}-sig"):
            return data[len(mark) :].decode(codec), codec, True
    return data.decode(name), name, False


def line_ends(text: str) -> Iterator[int]:
    """Give the place after each physical line."""
    place = 0
    while place < len(text):
        if text[place] == "\r" and text[place + 1 : place + 2] == "\n":
            place += 1
        if text[place] in "\r\n":
            yield place + 1
        place += 1


def without_lines(text: str, count: int) -> str | None:
    """Leave out physical lines at the start; None where there are not so many."""
    ends = [0, *line_ends(text)]
    if ends[-1] != len(text):
        ends.append(len(text))
    return text[ends[count] :] if count < len(ends) else None


def records(
    text: str, delimiter: str | None, comment: str | None = None, line: int = 1
) -> list[Record]:
    """Read all records of a text.

    Args:
        text: without its mark and skipped lines.
        delimiter: between fields; None where a record is one field.
        comment: a line that begins so where a record would is left out.
        line: the number of the first line.

    Raises:
        Malformed: a quote is not closed, or something follows a closing one.
    """
    made: list[Record] = []
    place = 0
    while place < len(text):
        if comment is not None and text.startswith(comment, place):
            place = next((end + place for end in line_ends(text[place:])), len(text))
            line += 1
            continue
        begun, fields, stray = line, list[Field](), False
        while True:
            if text[place : place + 1] == '"':
                value, place, line = _quoted(text, place + 1, line)
                fields.append((value, True))
            else:
                start = place
                while place < len(text) and text[place] not in "\r\n" and text[place] != delimiter:
                    stray |= text[place] == '"'
                    place += 1
                fields.append((text[start:place], False))
            if place < len(text) and text[place] == delimiter:
                place += 1
                continue
            break
        if place < len(text):
            if text[place] not in "\r\n":
                raise Malformed(line)
            place += 2 if text[place : place + 2] == "\r\n" else 1
            line += 1
        made.append(Record(begun, tuple(fields), stray))
    return made


def _quoted(text: str, place: int, line: int) -> tuple[str, int, int]:
    """Read from after an opening quote to after the closing one."""
    begun, value = line, list[str]()
    while True:
        if place >= len(text):
            raise Malformed(begun)
        here = text[place]
        if here == '"':
            if text[place + 1 : place + 2] != '"':
                return "".join(value), place + 1, line
            place += 1
        elif here == "\n" or (here == "\r" and text[place + 1 : place + 2] != "\n"):
            line += 1
        value.append(here)
        place += 1


def by_csv(text: str, delimiter: str | None) -> list[list[str]] | None:
    """Read the same by Python's `csv`; None where it finds the text malformed."""
    unused = next(one for one in "\x1f\x1e\x1d\x1c\x07\x06\x05\x04" if one not in text)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=unused if delimiter is None else delimiter,
        strict=True,
    )
    try:
        return [row or [""] for row in reader]
    except csv.Error:
        return None

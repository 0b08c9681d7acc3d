"""A JSON text, token by token, with little of it held at once (specification 4.1).

Invariants
  J1  Every token of the text is looked at, also of what is left out; nothing follows the end.
  J2  One value is held at a time, and it has a limit; so have its levels and the keys of an object.
  J3  An error says where: line and position, both counted from 1. It holds no text of the file.
"""

import codecs
import os
import re
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

from preview.errors import SourceError
from preview.sources.encoding import Decoded, invalid
from preview.sources.files import reading
from preview.sources.json_grammar import (
    OPENED,
    SPACE,
    TOKEN,
    HalfPair,
    pointer_of,
    text_of,
    written,
)
from preview.sources.readable import Progress

BLOCK_BYTES = 1024 * 1024
ELEMENT_BYTES_MAX = 64 * 1024 * 1024
NESTING_MAX = 100
# Of one object; a file whose ids are its keys would fill the memory otherwise.
KEYS_MAX = 1_000_000
LISTS_SHOWN = 10
# No token but a text is longer than this beyond what its pattern has matched.
_AHEAD = 16


class TooLarge(SourceError):
    """One value is larger than is held at once."""


@dataclass(slots=True)
class Outline:
    """The lists of objects in one value, found on the way through it.

    Attributes:
        count: of them; those inside another list are not counted.
        lists: the pointers of the first few.
    """

    count: int = 0
    lists: list[str] = field(default_factory=list)
    _path: list[str] = field(default_factory=list)
    # For each open value: None for an object; else how many elements, and how many objects.
    _open: list[list[int] | None] = field(default_factory=list)
    _lists_open: int = 0

    def begins(self, token: bytes) -> None:
        """Take a token that begins a value."""
        if self._open and (counts := self._open[-1]) is not None:
            counts[0] += 1
            counts[1] += token == b"{"
        if token == b"{":
            self._open.append(None)
        elif token == b"[":
            self._open.append([0, 0])
            self._lists_open += 1

    def key(self, name: bytes) -> None:
        """Take a key of the object that is open."""
        if not self._lists_open:
            del self._path[len(self._open) - 1 :]
            self._path.append(name.decode())

    def ends(self) -> None:
        """Take the end of an object or list."""
        counts = self._open.pop()
        del self._path[len(self._open) :]
        if counts is None:
            return
        self._lists_open -= 1
        if not self._lists_open and counts[0] and counts[0] == counts[1]:
            self.count += 1
            if len(self.lists) < LISTS_SHOWN:
                self.lists.append(pointer_of(self._path))


class JsonTokens:
    """One JSON text, read from its start to its end."""

    def __init__(self, shown: str, text: Decoded, file: BinaryIO, progress: Progress) -> None:
        """Begin to read.

        Args:
            shown: how errors name it.
            text: the decoded text.
            file: it, open.
            progress: as that of `pin`.
        """
        self._shown = shown
        self._file = file
        self._progress = progress
        self._size = file.seek(0, os.SEEK_END)
        self._decoder = None if text.checked else codecs.getincrementaldecoder("utf-8")()
        file.seek(text.start)
        self._read = text.start  # bytes of the file that are in or before the buffer
        self._data = b""
        self._at = 0
        self._begin = 0  # of the last token
        self._final = False
        # The line of the byte `_counted`, and the position in its line of the first byte.
        self._line, self._counted, self._position = 1, 0, 1
        self._element: int | None = None  # where the record that is being read begins

    # --- the buffer -------------------------------------------------------------------------------

    def _more(self) -> None:
        """Drop what was read, and read a block more; or find that there is none."""
        cut = self._at
        # Both halves of a line end stay together.
        cut -= cut > 0 and self._data[cut - 1 : cut] == b"\r"
        self._line_of(cut)
        dropped = self._data[:cut]
        ended = max(dropped.rfind(b"\n"), dropped.rfind(b"\r")) + 1
        self._position = (1 if ended else self._position) + len(dropped[ended:].decode())
        offset = self._offset(cut)
        rest = self._data = self._data[cut:]
        self._at, self._begin = self._at - cut, max(0, self._begin - cut)
        self._counted = max(0, self._counted - cut)
        if len(rest) > ELEMENT_BYTES_MAX or (
            self._element is not None and offset - self._element > ELEMENT_BYTES_MAX
        ):
            self._too_large()
        with reading(self._shown):
            block = self._file.read(max(BLOCK_BYTES, len(rest)))
        self._check(block)
        self._data = rest + block
        self._read += len(block)
        self._final = not block
        self._progress(f"reading {self._shown}", self._read, self._size)

    def _check(self, block: bytes) -> None:
        if self._decoder is None:
            return
        pending = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise invalid(self._shown, self._read - pending + error.start, "utf-8") from None

    def _offset(self, at: int) -> int:
        return self._read - len(self._data) + at

    def _line_of(self, at: int) -> int:
        """Give the line of a byte that is no earlier than any asked for before."""
        data, counted = self._data, self._counted
        if at > counted:
            self._line += data.count(b"\n", counted, at)
            if data.find(b"\r", counted, at) >= 0:
                self._line += data.count(b"\r", counted, at) - data.count(b"\r\n", counted, at)
            self._counted = at
        return self._line

    def _fail(
        self, said: str, at: int | None = None, kind: type[SourceError] = SourceError
    ) -> NoReturn:
        at = self._begin if at is None else at
        before = self._data[:at]
        ended = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
        position = (1 if ended else self._position) + len(before[ended:].decode(errors="ignore"))
        if at < self._counted:  # an earlier place than the last that was asked for
            back = self._data[at : self._counted]
            self._line -= back.count(b"\n") + back.count(b"\r") - back.count(b"\r\n")
            self._counted = at
        raise kind(f"{self._shown}: line {self._line_of(at):,}, position {position:,}: {said}")

    def _too_large(self) -> NoReturn:
        self._fail(
            f"one value is larger than {ELEMENT_BYTES_MAX:,} bytes; split the file, "
            "or say by --records where its list of objects is",
            kind=TooLarge,
        )

    # --- tokens -----------------------------------------------------------------------------------

    def _token(self, *, wanted: str = "a value", may_end: bool = False) -> bytes:
        """Give the next token; nothing at the end, where that may be."""
        while True:
            match = TOKEN.match(self._data, self._at)
            if match is not None and (self._final or match.end() + _AHEAD <= len(self._data)):
                self._begin, self._at = match.start(1), match.end()
                return match[1]
            space = SPACE.match(self._data, self._at)
            assert space is not None  # spaces may be none
            self._at = self._begin = space.end()
            if match is None:
                self._check_token()
            if not self._final:
                self._more()
            elif self._at == len(self._data):
                if may_end:
                    return b""
                self._fail(f"the file ends where {wanted} should be; it is cut, so get it whole")

    def _check_token(self) -> None:
        """See that what is no token here may become one with the next block, or is the end."""
        data, at = self._data, self._at
        left = len(data) - at
        if data[at : at + 1] == b'"':
            match = OPENED.match(data, at)
            assert match is not None  # it begins with a quote
            stop = match.end()
            if not self._final and stop + _AHEAD > len(data):
                return
            if stop == len(data):
                self._fail("a text begins here that does not end; close its quote")
            if data[stop] == 0x5C:
                self._fail("a backslash stands before no escape of JSON; double it", stop)
            self._fail(
                "a control character stands in a text; write it as an escape, as in \\n or \\u0000",
                stop,
            )
        if left and (self._final or left >= _AHEAD):
            self._fail(_no_token(data[at : at + _AHEAD]))

    # --- values -----------------------------------------------------------------------------------

    def _key(self, token: bytes, seen: set[bytes]) -> bytes:
        if token[:1] != b'"':
            if token == b"}":
                self._fail("a comma stands before }; remove it")
            self._fail("a key in double quotes should be here; mend it")
        name = self._text(token)
        if name in seen:
            self._fail("a key stands twice in one object; rename or remove one")
        if len(seen) >= KEYS_MAX:
            self._fail(f"one object has more than {KEYS_MAX:,} keys; make it a list of objects")
        seen.add(name)
        if self._token(wanted="a colon") != b":":
            self._fail("a colon should be here, after a key; mend it")
        return name

    def _text(self, token: bytes) -> bytes:
        try:
            return text_of(token)[1:-1]
        except HalfPair as error:
            self._half_pair(self._begin + error.args[0])

    def _half_pair(self, at: int) -> NoReturn:
        self._fail("half of a surrogate pair is escaped here; write the whole character", at)

    def _walk(
        self,
        stack: list[set[bytes] | None],
        token: bytes | None,
        out: list[bytes] | None = None,
        outline: Outline | None = None,
    ) -> None:
        """Read a value to its end, and what is still open around it.

        Args:
            stack: for each object that is open its keys so far, for each list None.
            token: what the value begins with; None where one has just ended.
            out: takes the value, written compactly.
            outline: is told of what is met.
        """
        while True:
            if token is not None:
                if outline is not None:
                    outline.begins(token)
                if token in (b"{", b"["):
                    opened = self._open(stack, token, out, outline)
                    if opened is not None:
                        token = opened
                        continue
                else:
                    self._check_scalar(token)
                    if out is not None:
                        out.append(
                            b'"' + written(self._text(token)) + b'"' if token[:1] == b'"' else token
                        )
                    elif b"\\" in token:
                        self._text(token)
            token = self._next(stack, out, outline)
            if token is None:
                return

    def _open(
        self,
        stack: list[set[bytes] | None],
        token: bytes,
        out: list[bytes] | None,
        outline: Outline | None,
    ) -> bytes | None:
        """Open an object or a list, and give the token of its first value; None for none."""
        if len(stack) >= NESTING_MAX:
            self._fail(f"values are nested over {NESTING_MAX} levels deep; flatten them")
        if out is not None:
            out.append(token)
        following = self._token()
        if following == (b"}" if token == b"{" else b"]"):
            if out is not None:
                out.append(following)
            if outline is not None:
                outline.ends()
            return None
        if token == b"[":
            stack.append(None)
            return following
        keys: set[bytes] = set()
        stack.append(keys)
        self._name(self._key(following, keys), out, outline)
        return self._token()

    def _next(
        self, stack: list[set[bytes] | None], out: list[bytes] | None, outline: Outline | None
    ) -> bytes | None:
        """Go from the end of one value to the next, and give its first token; None at the end."""
        while stack:
            keys = stack[-1]
            following = self._token(wanted="a comma or a closing bracket")
            if following == b",":
                if out is not None:
                    out.append(following)
                token = self._token()
                if keys is None:
                    if token == b"]":
                        self._fail("a comma stands before ]; remove it")
                    return token
                self._name(self._key(token, keys), out, outline)
                return self._token()
            if following != (b"]" if keys is None else b"}"):
                self._fail(f"a comma or {']' if keys is None else '}'} should be here; mend it")
            if out is not None:
                out.append(following)
            if outline is not None:
                outline.ends()
            stack.pop()
        return None

    def _name(self, name: bytes, out: list[bytes] | None, outline: Outline | None) -> None:
        if out is not None:
            out.append(b'"' + written(name) + b'":')
        if outline is not None:
            outline.key(name)

    def _check_scalar(self, token: bytes) -> None:
        if token in (b"}", b"]", b",", b":"):
            self._fail("a value should be here; mend it")

    def _end(self) -> None:
        """See that nothing but spaces follows, whatever it is."""
        while True:
            space = SPACE.match(self._data, self._at)
            assert space is not None  # spaces may be none
            self._at = self._begin = space.end()
            if self._at < len(self._data):
                self._fail(
                    "more follows the end of the value; remove it, "
                    "or have only objects in the file, one after the other"
                )
            if self._final:
                return
            self._more()

    def outline(self) -> Outline:
        """Read the whole text as one value, and give the lists of objects in it.

        Returns:
            The outline.

        Raises:
            SourceError: it is no JSON, or more than one value.
        """
        outline = Outline()
        self._walk([], self._token(), outline=outline)
        self._end()
        return outline


def _no_token(data: bytes) -> str:
    """Say why no token of JSON begins with these bytes."""
    if re.match(rb"[-+]?(NaN|Infinity)", data):
        return "NaN and Infinity are no numbers in JSON; write null instead"
    if re.match(rb"[-+.0-9]", data):
        return "this is no number as JSON writes one; mend it"
    if re.match(rb"(?i)true|false|null|none", data):
        return "true, false and null are written in small letters; mend it"
    if b"\0" in data:
        return "a zero byte is here; where the file is no UTF-8, say --encoding, as in utf-16-le"
    if data[:1] == b"'":
        return "a text stands in double quotes in JSON; mend it"
    if re.match(rb"//|/\*|#", data):
        return "JSON has no comments; remove it"
    return "no value of JSON begins so; mend it, or say by --format what the file is"

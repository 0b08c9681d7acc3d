"""A parser of JSON that changes nothing and holds little of a file at once (contract 4.1).

Invariants
  J1  RFC 8259 to the letter: no comment, no comma before a bracket, no NaN, nothing after the end.
  J2  A number is its text. A text is its characters, and half of a surrogate pair is an error.
  J3  No key stands twice in one object; in a record, not even in another letter case.
  J4  One record is held at a time, and it has a limit; so have its levels and its keys. What is
      around the records may be of any size, and is looked at all the same.
  J5  An error says where: line and position, both counted from 1. It holds no text of the file
      but names of keys.

Nearly all records are whole in the buffer and not nested deeply. One pattern says of such a record
that it is JSON, and another takes it apart. Whatever these do not take is read token by token, which
decides, and knows where a fault is.
"""

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

from eligibility.evidence import fold
from preview.errors import SourceError
from preview.sources.encoding import Decoded, invalid
from preview.sources.files import reading
from preview.sources.readable import Progress

BLOCK_BYTES = 1024 * 1024
RUN_ROWS = 10_000
ELEMENT_BYTES_MAX = 64 * 1024 * 1024
NESTING_MAX = 100
# Of one object; a file whose ids are its keys would fill the memory otherwise.
KEYS_MAX = 1_000_000
LISTS_SHOWN = 10
# No token but a text is longer than this beyond what its pattern has matched.
_AHEAD = 16
_DEPTH = 4  # of nested values that the pattern of a record takes
_KNOWN_MAX = 100_000  # keys of all the records whose keys are remembered

_WS = rb"[ \t\n\r]*+"
_TEXT = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_SCALAR = _TEXT + rb'"|' + _NUMBER + rb"|true|false|null"
_SPACE = re.compile(_WS)
_TOKEN = re.compile(_WS + rb"([{}\[\],:]|" + _SCALAR + rb")")
_OPEN_TEXT = re.compile(_TEXT)


def _listed(item: bytes, close: bytes) -> bytes:
    """Give the pattern of items between commas, up to a closing bracket."""
    comma = rb"(?:,(?!" + _WS + close + rb")|(?=" + close + rb"))"
    return rb"(?:" + _WS + item + _WS + comma + rb")*+" + _WS + close


def _value(depth: int) -> bytes:
    """Give the pattern of a value of so many levels at most."""
    if not depth:
        return rb"(?:" + _SCALAR + rb")"
    inner = _value(depth - 1)
    nested = rb"\[" + _listed(inner, rb"\]") + rb"|\{" + _listed(_member(inner), rb"\}")
    return rb"(?:" + _SCALAR + rb"|" + nested + rb")"


def _member(value: bytes) -> bytes:
    return _TEXT + rb'"' + _WS + rb":" + _WS + value


_RECORD = re.compile(_WS + rb"()\{" + _listed(_member(_value(_DEPTH)), rb"\}"))


def _pair(text: bytes) -> re.Pattern[bytes]:
    """Give the pattern of a key and its value, of what is known to be a record."""
    value = text + rb'|[^"{}\[\], \t\n\r]++|' + _value(_DEPTH)
    return re.compile(
        _WS + rb"(" + text + rb")" + _WS + rb":" + _WS + rb"(" + value + rb")" + _WS + rb",?"
    )


_PAIR = _pair(rb'"[^"]*+"')
_ESCAPED_PAIR = _pair(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_COMMA = re.compile(_WS + b",")
# What is to be left out of a compact value, and the texts that may hold it.
_LOOSE = re.compile(rb'([^" \t\n\r]++)|' + _TEXT + rb'"|[ \t\n\r]++')
_HAS_LOOSE = re.compile(rb"[\\ \t\n\r]")
_NAMES = re.compile(_TEXT + rb'"(:)?')
# A text; or an object or a list that holds no other.
_INNERMOST = re.compile(_TEXT + rb'"|[{\[](?:[^{}\[\]"]++|' + _TEXT + rb'")*+[}\]]')
_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))"
)
_PLAIN = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_SPECIAL = re.compile(rb'["\\\x00-\x1f]')
_WRITTEN = {b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_INDEX = re.compile("0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Run:
    """Records one after the other that have the same keys in the same order.

    Attributes:
        keys: of each of them.
        lines: on which each begins, counted from 1.
        rows: the value of each key as bytes of JSON, except that the escapes in a text are
            resolved: its characters stand in quotes as they are.
        size: of all in bytes, about.
    """

    keys: tuple[str, ...]
    lines: Sequence[int]
    rows: Sequence[Sequence[bytes]]
    size: int


class TooLarge(SourceError):
    """One value is larger than is held at once."""


class NoList(Exception):
    """There is no list at a JSON pointer."""


class _Twice(ValueError):
    """A key stands twice in one object."""


class HalfPair(ValueError):
    """Half of a surrogate pair is escaped; the argument says at which byte of the text."""


def text_of(raw: bytes) -> bytes:
    """Resolve the escapes in a text.

    Args:
        raw: the text as JSON, with its quotes or without.

    Returns:
        Its characters as UTF-8.

    Raises:
        HalfPair: it holds half of a surrogate pair.
    """
    return _ESCAPE.sub(_resolved, raw) if b"\\" in raw else raw


def _resolved(match: re.Match[bytes]) -> bytes:
    high, low, point, plain = match.groups()
    if plain is not None:
        return _PLAIN.get(plain, plain)
    if high is not None:
        number = 0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF)
    elif 0xD800 <= (number := int(point, 16)) <= 0xDFFF:
        raise HalfPair(match.start())
    return chr(number).encode()


def _written(text: bytes) -> bytes:
    """Give the one way in which a text inside a value is written: as few escapes as JSON allows."""
    return _SPECIAL.sub(_escaped, text) if _SPECIAL.search(text) else text


def _escaped(match: re.Match[bytes]) -> bytes:
    found = match[0]
    if found in (b'"', b"\\"):
        return b"\\" + found
    return _WRITTEN.get(found) or b"\\u%04x" % found[0]


def _compact(value: bytes) -> bytes:
    """Write a nested value, known to be JSON, in the one way it is written.

    Raises:
        HalfPair: it holds half of a surrogate pair.
        _Twice: a key stands twice in an object of it.
    """
    made = _LOOSE.sub(_kept, value) if _HAS_LOOSE.search(value) else value
    names = [match[0] for match in _NAMES.finditer(made) if match[1]]
    if len(set(names)) != len(names):
        # Perhaps in different objects: each is looked at, and then is a plain value to those around.
        left = made
        while left != b"0":
            left = _INNERMOST.sub(_checked, left)
    return made


def _kept(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] != b'"':
        return match[1] or b""
    return b'"' + _written(text_of(text)[1:-1]) + b'"' if b"\\" in text else text


def _checked(match: re.Match[bytes]) -> bytes:
    found = match[0]
    if found[:1] == b'"':
        return found
    names = [one[0] for one in _NAMES.finditer(found) if one[1]]
    if len(set(names)) != len(names):
        raise _Twice
    return b"0"


def pointer_parts(pointer: str) -> tuple[str, ...] | None:
    """Take a JSON pointer (RFC 6901) apart.

    Args:
        pointer: as it was given.

    Returns:
        Its parts; None where it is none.
    """
    if (pointer and not pointer.startswith("/")) or re.search("~(?![01])", pointer):
        return None
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def pointer_of(parts: Sequence[str]) -> str:
    """Make a JSON pointer."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


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


class JsonText:
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
        # The keys of records, by their spelling.
        self._known: dict[tuple[bytes, ...], tuple[str, ...]] = {}
        self._known_keys = 0

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
            match = _TOKEN.match(self._data, self._at)
            if match is not None and (self._final or match.end() + _AHEAD <= len(self._data)):
                self._begin, self._at = match.start(1), match.end()
                return match[1]
            space = _SPACE.match(self._data, self._at)
            assert space is not None, "spaces may be none"
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
            match = _OPEN_TEXT.match(data, at)
            assert match is not None, "it begins with a quote"
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
                            b'"' + _written(self._text(token)) + b'"'
                            if token[:1] == b'"'
                            else token
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
            out.append(b'"' + _written(name) + b'":')
        if outline is not None:
            outline.key(name)

    def _check_scalar(self, token: bytes) -> None:
        if token in (b"}", b"]", b",", b":"):
            self._fail("a value should be here; mend it")

    def _end(self) -> None:
        """See that nothing but spaces follows, whatever it is."""
        while True:
            space = _SPACE.match(self._data, self._at)
            assert space is not None, "spaces may be none"
            self._at = self._begin = space.end()
            if self._at < len(self._data):
                self._fail(
                    "more follows the end of the value; remove it, "
                    "or have only objects in the file, one after the other"
                )
            if self._final:
                return
            self._more()

    # --- records ----------------------------------------------------------------------------------

    def first(self) -> bytes:
        """Look at the token that the text begins with, and leave it there.

        Returns:
            The token; nothing where there is none.
        """
        token = self._token(may_end=True)
        self._at = self._begin
        return token

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

    def listed(self, parts: Sequence[str]) -> Iterator[Run]:
        """Give the records of the list at a JSON pointer, and read the text to its end.

        Args:
            parts: of the pointer; none for the whole text.

        Yields:
            The records, in order.

        Raises:
            SourceError: it is no JSON, there is no such list, or an element is no object.
        """
        stack: list[set[bytes] | None] = []
        token = self._token()
        for part in parts:
            token = self._descend(stack, token, part)
        if token != b"[":
            raise NoList
        yield from self._records(b"[")
        self._walk(stack, None)
        self._end()

    def _descend(self, stack: list[set[bytes] | None], token: bytes, part: str) -> bytes:
        """Go to one part of the value that begins here, and give its first token."""
        if token not in (b"{", b"["):
            raise NoList
        if token == b"[":
            if _INDEX.fullmatch(part) is None or len(part) > 18:
                raise NoList
            stack.append(None)
            token = self._token()
            for _ in range(int(part)):
                if token == b"]":
                    raise NoList
                self._walk([], token)
                if self._token(wanted="a comma or ]") != b",":
                    raise NoList
                token = self._token()
            return token
        wanted = part.encode(errors="surrogatepass")
        keys: set[bytes] = set()
        stack.append(keys)
        while True:
            token = self._token()
            if token == b"}" and not keys:
                raise NoList
            name = self._key(token, keys)
            token = self._token()
            if name == wanted:
                return token
            self._walk([], token)
            if self._token(wanted="a comma or }") != b",":
                raise NoList

    def records(self) -> Iterator[Run]:
        """Give the records of an array, or of objects one after the other.

        Yields:
            The records, in order.

        Raises:
            SourceError: it is no JSON, or an element is no object.
        """
        first = self.first()
        if first == b"[":
            self._token()
            yield from self._records(b"[")
            self._end()
        else:
            yield from self._records(b"{")

    def _records(self, around: bytes) -> Iterator[Run]:
        """Give records: from behind the bracket of a list to behind its end, or to the end."""
        array = around == b"["
        if array and self._peek() == b"]":
            self._token()
            return
        while True:
            yield from self._whole(array)
            token = self._token(wanted="an object", may_end=not array)
            if not token:
                return
            if token != b"{":
                self._no_record(token, array)
            yield self._record()
            if array:
                following = self._token(wanted="a comma or ]")
                if following == b"]":
                    return
                if following != b",":
                    self._fail("a comma or ] should be here; mend it")

    def _peek(self) -> bytes:
        token = self._token()
        self._at = self._begin
        return token

    def _no_record(self, token: bytes, array: bool) -> NoReturn:
        if token == b"]" and array:
            self._fail("a comma stands before ]; remove it")
        if token in (b"}", b"]", b",", b":"):
            self._fail("an object should be here; mend it")
        kind = {b"[": "a list", b'"': "a text", b"t": "a Boolean", b"f": "a Boolean"}.get(
            token[:1], "null" if token == b"null" else "a number"
        )
        self._fail(f"an object should be here, and {kind} is; make each record an object")

    def _whole(self, array: bool) -> Iterator[Run]:
        """Give the records from here on that are whole in the buffer, up to one that is not plain.

        In a list, the comma behind each is read too.
        """
        data, at = self._data, self._at
        keys: tuple[str, ...] = ()
        lines: list[int] = []
        rows: list[Sequence[bytes]] = []
        size = 0
        while (match := _RECORD.match(data, at)) is not None:
            start, end = match.start(1), match.end()
            after = _COMMA.match(data, end) if array else match
            if after is None:
                break
            escaped = data.find(b"\\", start, end) >= 0
            pairs = (_ESCAPED_PAIR if escaped else _PAIR).findall(data, start + 1, end - 1)
            spelled: tuple[bytes, ...] = ()
            row: Sequence[bytes] = ()
            if pairs:
                spelled, row = zip(*pairs, strict=True)
            try:
                found = self._known.get(spelled) or self._keys(spelled)
                if (
                    escaped
                    or data.find(b"{", start + 1, end) >= 0
                    or data.find(b"[", start + 1, end) >= 0
                ):
                    row = [_cell(value) for value in row]
            except (HalfPair, _Twice):
                break  # token by token, the fault gets its place
            if rows and (found != keys or len(rows) == RUN_ROWS):
                yield Run(keys, lines, rows, size)
                lines, rows, size = [], [], 0
            keys = found
            lines.append(self._line_of(start))
            rows.append(row)
            size += end - start
            self._at = at = after.end()
        if rows:
            yield Run(keys, lines, rows, size)

    def _keys(self, spelled: tuple[bytes, ...]) -> tuple[str, ...]:
        """Give the keys of a record from their spelling.

        Raises:
            _Twice: two are one, or differ by letter case alone.
        """
        keys = tuple(text_of(raw)[1:-1].decode() for raw in spelled)
        if len(set(map(fold, keys))) != len(keys):
            raise _Twice
        self._known_keys += len(keys)
        if self._known_keys > _KNOWN_MAX:
            self._known.clear()
            self._known_keys = len(keys)
        self._known[spelled] = keys
        return keys

    def _record(self) -> Run:
        """Read one record token by token, from behind its brace."""
        line = self._line_of(self._begin)
        self._element = start = self._offset(self._begin)
        names: set[bytes] = set()
        folded: set[str] = set()
        keys: list[str] = []
        cells: list[bytes] = []
        token = self._token(wanted="a key")
        while token != b"}" or cells:
            key = self._key(token, names).decode()
            if fold(key) in folded:
                self._fail(
                    "the key before this differs from another of the object by letter case alone; "
                    "rename or remove one"
                )
            folded.add(fold(key))
            keys.append(key)
            cells.append(self._nested())
            token = self._token(wanted="a comma or }")
            if token == b"}":
                break
            if token != b",":
                self._fail("a comma or } should be here; mend it")
            token = self._token(wanted="a key")
        size = self._offset(self._at) - start
        if size > ELEMENT_BYTES_MAX:
            self._too_large()
        self._element = None
        return Run(tuple(keys), (line,), (cells,), size)

    def _nested(self) -> bytes:
        """Read the value of a key, and give it as a cell."""
        token = self._token()
        if token in (b"{", b"["):
            out: list[bytes] = []
            self._walk([], token, out)
            return b"".join(out)
        self._check_scalar(token)
        return token if b"\\" not in token else b'"' + self._text(token) + b'"'


def _cell(value: bytes) -> bytes:
    if value[:1] == b'"':
        return text_of(value)
    return _compact(value) if value[:1] in (b"{", b"[") else value


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

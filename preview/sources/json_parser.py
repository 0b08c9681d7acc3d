"""The records of a JSON text (specification 4.1).

Invariants
  P1  A record is an object, with its keys in its own order, and no key stands twice in it, not even
      in another letter case.
  P2  What is around the records may be of any size, and is looked at all the same.

Nearly all records are whole in the buffer and not nested deeply. One pattern says of such a record
that it is JSON, and another takes it apart. Whatever these do not take is read token by token, which
decides, and knows where a fault is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NoReturn

from eligibility.sql.schema import casefold
from preview.sources import json_tokens
from preview.sources.encoding import Decoded
from preview.sources.json_grammar import (
    COMMA,
    ESCAPED_PAIR,
    PAIR,
    RECORD,
    HalfPair,
    Twice,
    cell_of,
    text_of,
)
from preview.sources.json_tokens import JsonTokens
from preview.sources.readable import Progress

RUN_ROWS = 10_000
_KNOWN_MAX = 100_000  # keys of all the records whose keys are remembered
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


class NoList(Exception):
    """There is no list at a JSON pointer."""


class JsonText(JsonTokens):
    """A JSON text that holds records."""

    def __init__(self, shown: str, text: Decoded, file: BinaryIO, progress: Progress) -> None:
        """Begin to read; see `JsonTokens`."""
        super().__init__(shown, text, file, progress)
        # The keys of records, by their spelling.
        self._known: dict[tuple[bytes, ...], tuple[str, ...]] = {}
        self._known_keys = 0

    def first(self) -> bytes:
        """Look at the token that the text begins with, and leave it there.

        Returns:
            The token; nothing where there is none.
        """
        token = self._token(may_end=True)
        self._at = self._begin
        return token

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
        while (match := RECORD.match(data, at)) is not None:
            start, end = match.start(1), match.end()
            after = COMMA.match(data, end) if array else match
            if after is None:
                break
            escaped = data.find(b"\\", start, end) >= 0
            pairs = (ESCAPED_PAIR if escaped else PAIR).findall(data, start + 1, end - 1)
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
                    row = [cell_of(value) for value in row]
            except (HalfPair, Twice):
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
            Twice: two are one, or differ by letter case alone.
        """
        keys = tuple(text_of(raw)[1:-1].decode() for raw in spelled)
        if len(set(map(casefold, keys))) != len(keys):
            raise Twice
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
            if casefold(key) in folded:
                self._fail(
                    "the key before this differs from another of the object by letter case alone; "
                    "rename or remove one"
                )
            folded.add(casefold(key))
            keys.append(key)
            cells.append(self._nested())
            token = self._token(wanted="a comma or }")
            if token == b"}":
                break
            if token != b",":
                self._fail("a comma or } should be here; mend it")
            token = self._token(wanted="a key")
        size = self._offset(self._at) - start
        if size > json_tokens.ELEMENT_BYTES_MAX:
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

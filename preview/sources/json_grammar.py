"""The grammar of JSON as patterns, and what its texts and values say (specification 4.1).

Invariants
  G1  RFC 8259 to the letter: no comment, no comma before a bracket, no NaN.
  G2  A number is its text. A text is its characters, and half of a surrogate pair is an error.
  G3  A nested value is written in one way: compactly, with as few escapes as JSON allows, its
      numbers and the order of its keys as they were; a key that stands twice is an error.

The patterns take nothing back once they have taken it, so that each looks at a byte but once.
"""

import re
from collections.abc import Sequence

DEPTH = 4  # of nested values that the pattern of a record takes

_WS = rb"[ \t\n\r]*+"
_TEXT = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_SCALAR = _TEXT + rb'"|' + _NUMBER + rb"|true|false|null"
SPACE = re.compile(_WS)
TOKEN = re.compile(_WS + rb"([{}\[\],:]|" + _SCALAR + rb")")
OPENED = re.compile(_TEXT)


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


RECORD = re.compile(_WS + rb"()\{" + _listed(_member(_value(DEPTH)), rb"\}"))


def _pair(text: bytes) -> re.Pattern[bytes]:
    """Give the pattern of a key and its value, of what is known to be a record."""
    value = text + rb'|[^"{}\[\], \t\n\r]++|' + _value(DEPTH)
    return re.compile(
        _WS + rb"(" + text + rb")" + _WS + rb":" + _WS + rb"(" + value + rb")" + _WS + rb",?"
    )


PAIR = _pair(rb'"[^"]*+"')
ESCAPED_PAIR = _pair(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
COMMA = re.compile(_WS + b",")
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


class Twice(ValueError):
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


def written(text: bytes) -> bytes:
    """Give the one way in which a text inside a value is written: as few escapes as JSON allows."""
    return _SPECIAL.sub(_escaped, text) if _SPECIAL.search(text) else text


def _escaped(match: re.Match[bytes]) -> bytes:
    found = match[0]
    if found in (b'"', b"\\"):
        return b"\\" + found
    return _WRITTEN.get(found) or b"\\u%04x" % found[0]


def compact(value: bytes) -> bytes:
    """Write a nested value, known to be JSON, in the one way it is written.

    Raises:
        HalfPair: it holds half of a surrogate pair.
        Twice: a key stands twice in an object of it.
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
    return b'"' + written(text_of(text)[1:-1]) + b'"' if b"\\" in text else text


def _checked(match: re.Match[bytes]) -> bytes:
    found = match[0]
    if found[:1] == b'"':
        return found
    names = [one[0] for one in _NAMES.finditer(found) if one[1]]
    if len(set(names)) != len(names):
        raise Twice
    return b"0"


def cell_of(value: bytes) -> bytes:
    """Give a value, known to be JSON, with the escapes of a text resolved, and compact.

    Raises:
        HalfPair: it holds half of a surrogate pair.
        Twice: a key stands twice in an object of it.
    """
    if value[:1] == b'"':
        return text_of(value)
    return compact(value) if value[:1] in (b"{", b"[") else value


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

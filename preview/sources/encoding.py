"""Bytes as text: decoded strictly, and put aside as UTF-8 where they are not (specification 4.1).

Invariants
  E1  A byte that is not of the encoding is an error with its offset; nothing is replaced.
  E2  A byte order mark is told and is no part of the text. What looks like one further on is text.
  E3  Without a mark and without an option the encoding is UTF-8. It is never guessed.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from preview.errors import SourceError
from preview.sources.files import reading

BLOCK_BYTES = 4 * 1024 * 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Codecs that are no encoding of characters, or read escapes that nobody meant.
_NO_ENCODINGS = ("idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "utf_7")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text as UTF-8 bytes in a file.

    Attributes:
        path: of the file; another one than was given where it had to be put aside.
        start: of the text, in bytes; behind a mark.
        encoding: the name of the codec it was decoded by.
        mark: whether there was a byte order mark.
        checked: whether its bytes are known to be UTF-8; else who reads them checks.
    """

    path: Path
    start: int
    encoding: str
    mark: bool
    checked: bool


def decoded(shown: str, path: Path, encoding: str | None, folder: Path) -> Decoded:
    """Decode a file, and put it aside as UTF-8 where it is something else.

    Args:
        shown: how errors name it.
        path: of its bytes.
        encoding: the name of a codec; None for UTF-8, or what a mark says.
        folder: for what is put aside.

    Returns:
        The text.

    Raises:
        SourceError: there is no such encoding, or a byte is not of it.
    """
    with reading(shown), path.open("rb") as file:
        head = file.read(4)
    codec = None if encoding is None else _codec(shown, encoding)
    found = next(((mark, name) for mark, name in _MARKS if head.startswith(mark)), None)
    if codec is None:
        mark, codec = found or (b"", "utf-8")
    else:
        # A mark of the encoding that was given, also where that names no order of bytes.
        same = found is not None and (found[1] == codec or codec == found[1].rpartition("-")[0])
        mark, codec = found if same and found else (b"", codec)
        if codec == "utf-16":
            raise SourceError(
                f"{shown}: it has no byte order mark; say --encoding utf-16-le or utf-16-be"
            )
    if codec == "utf-8":
        return Decoded(path, len(mark), codec, bool(mark), checked=False)
    target = folder / "decoded"
    with reading(shown), target.open("wb") as out:
        for text in _texts(shown, path, len(mark), codec):
            out.write(utf8(shown, text))
    return Decoded(target, 0, codec, bool(mark), checked=True)


def _codec(shown: str, name: str) -> str:
    try:
        info = codecs.lookup(name.strip())
        if info.name.replace("-", "_") in _NO_ENCODINGS or not isinstance("".encode(name), bytes):
            raise LookupError
        b"".decode(info.name)
    except (LookupError, ValueError, UnicodeError):
        raise SourceError(
            f"{shown}: there is no encoding of the name given; "
            "known are utf-8, utf-16, latin-1, cp1252 and the others of Python"
        ) from None
    return (
        "utf-8"
        if info.name in ("utf-8", "utf-8-sig", "ascii") and info.name != "ascii"
        else info.name
    )


def _texts(shown: str, path: Path, start: int, codec: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)(errors="strict")
    done = start
    with path.open("rb") as file:
        file.seek(start)
        while True:
            block = file.read(BLOCK_BYTES)
            kept = len(decoder.getstate()[0])
            try:
                yield decoder.decode(block, final=not block)
            except UnicodeError as error:
                at = done - kept + getattr(error, "start", 0)
                raise invalid(shown, at, codec) from None
            done += len(block)
            if not block:
                return


def utf8(shown: str, text: str) -> bytes:
    """Encode a decoded text; a codec may give what is no character.

    Raises:
        SourceError: it holds half of a surrogate pair.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SourceError(f"{shown}: it holds half of a surrogate pair; mend the file") from None


def invalid(shown: str, offset: int, codec: str) -> SourceError:
    """Say that a byte is not of the encoding (E1).

    Args:
        shown: how errors name the file.
        offset: of the byte, from 0.
        codec: the encoding.

    Returns:
        The error to raise.
    """
    return SourceError(
        f"{shown}: the byte at offset {offset:,} is not {codec.upper()}; "
        "give its encoding, as in --encoding latin-1"
    )

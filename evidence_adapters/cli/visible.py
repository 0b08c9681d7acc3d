r"""What a terminal is given: text with nothing invisible in it, and nothing that reorders it.

Invariants
  V1  A control, format, private, unassigned or surrogate character, and a space other than the
      plain one, is written `\u{HEX}` (specification 7, `text`).
  V2  Text that is written from right to left stands between isolates of our own, so that it never
      changes places with what stands beside it; the data's own were escaped by V1.
"""

import re

from eligibility.wire import escape
from eligibility.wire.escape import is_shown

_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_PLAIN = re.compile(r"[ -~]*")
_EDGES = re.compile(r"\A | \Z|(?<= ) ")


def visible(text: str) -> str:
    r"""Escape what would not be seen (V1).

    Args:
        text: any text, from a statement, a file or an error.

    Returns:
        One line.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(glyph, text))


def glyph(character: str) -> str:
    r"""Give one character as it is shown: itself, or `\u{HEX}` (V1)."""
    if character == " " or is_shown(character):
        return character
    return f"\\u{{{ord(character):X}}}"


def cell(text: str) -> str:
    r"""Escape a cell as a fact's line does: backslashes doubled, no space unseen (specification 7).

    Args:
        text: the engine's rendering.

    Returns:
        One line.
    """
    return _EDGES.sub(r"\\u{20}", visible(text.replace("\\", "\\\\")))


def isolated(text: str) -> str:
    """Put text between isolates where a part of it is written from right to left (V2)."""
    return f"{_ISOLATE}{text}{_END_ISOLATE}" if runs_back(text) else text


def runs_back(text: str) -> bool:
    """Say whether a part of a text is written from right to left."""
    return not text.isascii() and any(map(escape.runs_back, text))


_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")


def quotes_isolated(line: str) -> str:
    """Isolate what stands in quotes in a line that is already escaped (V2).

    Args:
        line: a fact's line, or a message.

    Returns:
        The line; each text or name that runs from right to left stays in its place.
    """
    return line if line.isascii() else _QUOTED.sub(lambda match: isolated(match[0]), line)


def one_line(message: str) -> str:
    """Make one line of a message, which may quote a statement below itself.

    Args:
        message: of an error.

    Returns:
        What it says, escaped, without the quoted statement.
    """
    said = re.split(r"\n+LINE [0-9]+:", message, maxsplit=1)[0]
    return visible(" ".join(said.split()))

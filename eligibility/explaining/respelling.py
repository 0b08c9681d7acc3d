"""Other ways to write a condition, with literals that denote the same value exactly.

Invariants
  J1  A literal keeps its value, and only its spelling changes; a numeral may become its text,
      which beside a text column is what is meant.
"""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

from eligibility.explaining.layout import Layout, Token


def respelled(layout: Layout, tokens: tuple[Token, ...]) -> Iterator[str]:
    """Write a condition's literals in every exact way that denotes the same value."""
    text = layout.written(tokens)
    start = tokens[0].start
    bare = [t for t in tokens if not (t.text in "()" and t.depth == tokens[0].depth)]
    if len(bare) == len(tokens) - 2 and "IN" not in (t.word for t in tokens):
        yield " ".join(token.text for token in bare)
    for make in _EXACT:
        new = text
        for token in reversed(tokens):
            if token.kind in ("text", "number") and (made := make(token.text)) is not None:
                new = new[: token.start - start] + made + new[token.end - start :]
        if new != text:
            yield new


_NUMERAL = re.compile(r"([-+]?)([0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]+)?)?)?\s*(Z|[+-][0-9:]+)?"
)


def _inner(literal: str) -> str:
    return literal[1:-1].replace("''", "'") if literal.startswith("'") else literal


def _numeral(literal: str) -> str | None:
    found = _NUMERAL.fullmatch(_inner(literal).strip())
    if found is None:
        return None
    value = Decimal(found[0].replace("_", ""))
    made = f"{value:f}"
    return made.rstrip("0").rstrip(".") if "." in made else made


def _text(literal: str) -> str | None:
    return None if literal.startswith("'") else f"'{literal}'"


def _truth(literal: str) -> str | None:
    return {"1": "TRUE", "0": "FALSE", "true": "TRUE", "false": "FALSE"}.get(
        _inner(literal).lower()
    )


def _uuid(literal: str) -> str | None:
    return literal.lower() if _UUID.fullmatch(_inner(literal)) else None


def _instant(form: str) -> Callable[[str], str | None]:
    def make(literal: str) -> str | None:
        found = _INSTANT.fullmatch(_inner(literal).strip())
        if found is None:
            return None
        day = f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
        clock = f"{int(found[4] or 0):02}:{found[5] or '00'}:{found[6] or '00'}{found[7] or ''}"
        if form == "day":
            return f"'{day}'" if clock == "00:00:00" else None
        offset = "" if form == "clock" else (found[8] or "+00").replace("Z", "+00")
        return f"'{day} {clock}{offset}'" if form != "clock" or not found[8] else None

    return make


_EXACT: tuple[Callable[[str], str | None], ...] = (
    _numeral,
    _instant("day"),
    _instant("clock"),
    _instant("offset"),
    _truth,
    _text,
    _uuid,
)

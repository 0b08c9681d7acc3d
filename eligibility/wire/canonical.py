"""A value → its canonical JSON (RFC 8785); nothing else writes what is hashed or signed.

Invariants
  N1  Equal models give the same bytes on every machine.
  N2  A quick way gives the bytes of `canonical_bytes`; tests hold each of them to that.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring as _quoted

from eligibility.wire.model import Model

# Boundary models hold no float, no key beyond ASCII and no number beyond 2**53, and there these are
# the bytes of RFC 8785; a test holds them to a library that knows the rest of it too.
written = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical_bytes(model: Model, *, without: str | None = None) -> bytes:
    """Give a model's RFC 8785 canonical JSON bytes.

    Args:
        model: any boundary model.
        without: the name of one top-level field to leave out.

    Returns:
        UTF-8 bytes, the same for equal models on every machine.
    """
    return written(model.model_dump(mode="json", exclude={without} if without else None)).encode()


def written_cell(kind: str, text: str | None) -> str:
    """Write a cell.

    Args:
        kind: base name of its type.
        text: the engine's own rendering; None for NULL.

    Returns:
        RFC 8785 canonical JSON.
    """
    return f'{{"text":{"null" if text is None else _quoted(text)},"type":{_quoted(kind)}}}'


def written_array(members: Iterable[str]) -> str:
    """Write an array of members that are written already."""
    return f"[{','.join(members)}]"


def written_object(members: Mapping[str, str]) -> str:
    """Write an object of members that are written already; names are of ASCII, without quotes."""
    return "{" + ",".join([f'"{name}":{members[name]}' for name in sorted(members)]) + "}"


class TextForm:
    """Objects of the same names, whose values are short texts and one number, and their hashes.

    A whole ledger is checked at the speed of these lines.
    """

    def __init__(self, names: Iterable[str], number: str, **fixed: str) -> None:
        """Write once what all of them have in common.

        Args:
            names: of the texts, in the order in which they are given later.
            number: the name of the number, given last.
            **fixed: texts that never change.
        """
        members = {name: f'"{text}"' for name, text in fixed.items()}
        members |= {name: f'"{{{place}}}"' for place, name in enumerate(names)}
        members[number] = f"{{{len(members) - len(fixed)}}}"
        self._text = "{" + written_object(members) + "}"  # doubled, as `format` wants them
        self._quotes = self._text.count('"')

    def sha256(self, *values: str | int) -> str | None:
        """Hash one of them.

        Args:
            *values: the texts, then the number.

        Returns:
            64 hexadecimal digits; None where a text holds a quotation mark, so that two objects
            with different values never have one hash.
        """
        text = self._text.format(*values)
        if text.count('"') != self._quotes:
            return None
        return hashlib.sha256(text.encode()).hexdigest()

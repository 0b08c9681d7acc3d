"""The classes of texts that are more than text: which pattern each has (specification 4.1).

Invariant
  C1  A text is of one class at most; a number is of the first class that takes it.
"""

import re
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["text", "number", "boolean", "nested"]
Class = Literal[
    "whole", "decimal", "numeral", "boolean", "date", "time", "timestamp", "zoned", "zoned time"
]
NUMBERS: tuple[Class, ...] = ("whole", "decimal", "numeral")

_YEAR = r"(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
DATE = rf"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
OFFSET = r"(?:Z|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)"


@dataclass(frozen=True, slots=True)
class NumberMarks:
    """How numbers are written in a column, where that was given."""

    decimal: str = "."
    thousands: str | None = None
    bare_exponent: bool = False  # JSON's numbers need no sign there

    @property
    def plain(self) -> bool:
        """Whether a number needs nothing replaced."""
        return self.decimal == "." and self.thousands is None

    def shapes(self) -> dict[Class, str]:
        """Give the pattern of each class of number; a text is of the first that fits."""
        point = re.escape(self.decimal)
        some = "[1-9][0-9]*"
        if self.thousands is not None:
            some = rf"(?:[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|{some})"
        exponent = "[eE][+-]?[0-9]+" if self.bare_exponent else "[eE][+-][0-9]+"
        return {
            "whole": rf"0|-?{some}",
            "decimal": rf"-?{some}{point}[0-9]+|0{point}[0-9]+|-0{point}[0-9]*[1-9][0-9]*",
            "numeral": rf"-?(?:(?:0|{some})(?:{point}[0-9]*)?|{point}[0-9]+)(?:{exponent})?",
        }

    def normal(self, texts: pa.Array) -> pa.Array:
        """Write numbers with a point and without groups."""
        if self.thousands is not None:
            texts = pc.replace_substring(texts, self.thousands, "")
        return texts if self.decimal == "." else pc.replace_substring(texts, self.decimal, ".")


PLAIN = NumberMarks()

OTHERS: dict[Class, str] = {
    "boolean": "(?i:true|false)",
    "date": DATE,
    "time": TIME,
    "timestamp": f"{DATE}[ T]{TIME}",
    "zoned": f"{DATE}[ T]{TIME}{OFFSET}",
    "zoned time": f"{TIME}{OFFSET}",
}


def matches(texts: pa.Array, pattern: str) -> pa.Array:
    """Say which texts a pattern of RE2 takes whole."""
    return pc.match_substring_regex(texts, f"^(?:{pattern})$")

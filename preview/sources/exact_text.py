"""Which texts are exactly values of a type that was asked for (specification 4.1).

Invariants
  A1  A text is exactly of a type where it has one of the listed forms; all else is not.
  A2  A float takes the nearest value of any numeral: that is what a float is.
"""

import re
from typing import assert_never

from eligibility.sql.types import FRACTION_DIGITS, decimal_size, type_class
from preview.sources.classes import NumberMarks

_DAY = r"[+-]?[0-9]+[-/][0-9]{1,2}[-/][0-9]{1,2}( \(BC\))?"
_NO_DAY = r"[+-]?inf(inity)?|epoch"
_ZONE = r" ?([zZ]|UTC|GMT|[+-][0-9]{1,2}(:?[0-9]{2}){0,2}|[A-Z_]+(/[A-Z0-9_+-]+)+)"
# An interval may have more hours than a day; a time may have 24.
_HOUR = "[0-9]+"
_SPAN = r"([+-]?[0-9]+ *[A-Z]+ *)*"
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def form_of(kind: str, marks: NumberMarks) -> str | None:
    """Give the pattern that a text must have to be exactly a value of a type.

    Args:
        kind: base name of the type.
        marks: how numbers are written.

    Returns:
        A pattern for RE2, of the whole text; None where every text that DuckDB takes is exact.
    """
    form = _form(kind, marks)
    return form and f"(?i:{form})"


def _form(kind: str, marks: NumberMarks) -> str | None:
    value_class, size = type_class(kind), decimal_size(kind)
    if value_class == "integer" or kind == "BIGNUM":
        return _numeral(0, marks)
    if size is not None:
        return _numeral(size[1], marks)
    time = _clock(FRACTION_DIGITS.get(kind, 6))
    match value_class:
        case "float":
            return (
                rf"{_whole(marks)}({re.escape(marks.decimal)}[0-9]*)?(e[+-]?[0-9]+)?|{_NO_NUMBER}"
            )
        case "date":
            return f"{_DAY}|{_NO_DAY}"
        case "time":
            return time
        case "timetz":
            return f"{time}({_ZONE})?"
        case "timestamp":
            return f"{_DAY}([ T]{_of_a_day(time)})?|{_NO_DAY}"
        case "timestamptz":
            return f"{_DAY}([ T]{_of_a_day(time)}({_ZONE})?)?|{_NO_DAY}"
        case "interval":
            return f"{_SPAN}([+-]?{time})?"
        case "uuid":
            return _UUID
        case "boolean" | "text" | "enum" | None:
            return None  # no pattern is needed: the cast takes some words, or any text
        case "integer" | "decimal":
            return None  # those have one above
        case other:
            assert_never(other)


_NO_NUMBER = r"[+-]?(nan|inf(inity)?)"


def _whole(marks: NumberMarks) -> str:
    """Give the pattern of the digits before the fraction, with their sign."""
    if marks.thousands is None:
        return "[+-]?[0-9]*"
    return rf"[+-]?([0-9]{{1,3}}({re.escape(marks.thousands)}[0-9]{{3}})+|[0-9]*)"


def _numeral(scale: int, marks: NumberMarks) -> str:
    return rf"{_whole(marks)}({re.escape(marks.decimal)}[0-9]{{0,{scale}}}0*)?"


def _clock(digits: int) -> str:
    return rf"{_HOUR}:[0-5]?[0-9](:[0-5]?[0-9](\.[0-9]{{0,{digits}}}0*)?)?"


def _of_a_day(time: str) -> str:
    """Leave out 24:00, which DuckDB makes the next day."""
    return time.replace(_HOUR, "([01]?[0-9]|2[0-3])", 1)

"""Which texts are exactly values of a type (contract 4).

DuckDB's casts take more than they say: 1.5 becomes the INTEGER 2, `2020-01-02 junk` a DATE, and a
TIMESTAMP drops the offset or the PM of its text. What a source says must not change on the way.

Invariants
  A1  A text is exactly of a type where it has one of the listed forms; all else is not.
  A2  A float takes the nearest value of any numeral: that is what a float is.
"""

from eligibility.types import FRACTION_DIGITS, decimal_size, type_class

_DAY = r"[+-]?[0-9]+[-/][0-9]{1,2}[-/][0-9]{1,2}( \(BC\))?"
_NO_DAY = r"[+-]?inf(inity)?|epoch"
_ZONE = r" ?([zZ]|UTC|GMT|[+-][0-9]{1,2}(:?[0-9]{2}){0,2}|[A-Z_]+(/[A-Z0-9_+-]+)+)"
_SPAN = r"([+-]?[0-9]+ *[A-Z]+ *)*"
_TIMED = ("time", "timetz", "timestamp", "timestamptz")
# A number that JSON makes a DOUBLE of, and that is too long for one.
_LONG_NUMBER = "-?[0-9]{16,}"


def inexact(column: str, kind: str, *, given: bool, json: bool) -> str | None:
    """Give the SQL condition under which a text is not exactly a value of its column's type.

    Args:
        column: the quoted name of a column of texts.
        kind: base name of the type.
        given: whether the type was given; one that was found from every text takes no number and
            no date that is not exactly of it.
        json: whether the texts come from JSON.

    Returns:
        The condition, which is NULL for NULL; None where every text that DuckDB takes is exact.
    """
    if kind == "DOUBLE" and json and not given:
        return f"regexp_full_match({column}, '{_LONG_NUMBER}')"
    if not given and type_class(kind) not in _TIMED:
        return None
    form = _form(kind)
    return form and f"NOT regexp_full_match({column}, '(?i)\\s*({form})\\s*')"


def _form(kind: str) -> str | None:
    value_class, size = type_class(kind), decimal_size(kind)
    if value_class == "integer" or kind == "BIGNUM":
        return _numeral(0)
    if size is not None:
        return _numeral(size[1])
    time = _clock(FRACTION_DIGITS.get(kind, 6))
    match value_class:
        case "date":
            return f"{_DAY}|{_NO_DAY}"
        case "time":
            return time
        case "timetz":
            return f"{time}({_ZONE})?"
        case "timestamp":
            return f"{_DAY}([ T]{time})?|{_NO_DAY}"
        case "timestamptz":
            return f"{_DAY}([ T]{time}({_ZONE})?)?|{_NO_DAY}"
        case "interval":
            return f"{_SPAN}([+-]?{time})?"
    return None


def _numeral(scale: int) -> str:
    return rf"[+-]?[0-9]*(\.[0-9]{{0,{scale}}}0*)?"


def _clock(digits: int) -> str:
    return rf"[0-9]+:[0-9]{{1,2}}(:[0-9]{{1,2}}(\.[0-9]{{0,{digits}}}0*)?)?"

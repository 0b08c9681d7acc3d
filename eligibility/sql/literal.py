"""Which literals denote exactly one value of a column's type, and that value's canonical text.

DuckDB casts a literal to the type of what it is compared with, and rounds, truncates or drops
what does not fit. So only the forms of specification 2's table are exact; all else gives None.

Invariants
  L1  `exact` gives a text only for a literal that DuckDB's own cast maps to that very value.
  L2  Equal values of one type have one canonical text.
"""

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import assert_never

from eligibility.sql.schema import Column
from eligibility.sql.types import (
    FLOAT_DIGITS,
    FRACTION_DIGITS,
    INTEGER_RANGES,
    decimal_size,
    type_class,
)
from eligibility.wire.escape import is_shown

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?")
_OFFSET = re.compile(r"(?:Z|([+-])(0[0-9]|1[0-5])(?::?([0-5][0-9]))?)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# TIMESTAMP_NS counts nanoseconds in 64 bits: whole years that surely fit.
_NANOSECOND_YEARS = range(1678, 2262)
_UNSIGNED = frozenset(base for base, (low, _) in INTEGER_RANGES.items() if low == 0)
_ASCII_EXACT = re.compile(r"[ -~]*")
_BEYOND_ASCII = re.compile(r"[^ -~]")
EXACT_TEXT_MAX = 64
NUMERAL_DIGITS_MAX = 40
DECIMAL_DIGITS_MAX = 38


def exact(column: Column, form: str, text: str) -> str | None:
    """Give the canonical text of the one value that a literal denotes (specification 2, table).

    Args:
        column: the column that the literal is compared with.
        form: `text` for a bare string, `number` for a bare numeral, `boolean`, or the base type
            that a typed literal or an equal cast of a string names.
        text: the literal's text without quotes; `true` or `false` for a Boolean.

    Returns:
        The canonical text of one value of the column's type, or None where the form is not exact.
    """
    match type_class(column.type):
        case "text":
            return text if form == "text" and exact_text(text) else None
        case "integer" | "decimal":
            return _number(column.type, form, text)
        case "float":
            return _float(column.type, form, text)
        case "boolean":
            return text if form == "boolean" else None
        case "date":
            return _day(text) if form in ("text", "DATE") else None
        case "timestamp" | "timestamptz":
            return _instant(column.type, form, text)
        case "time":
            return _time(text, column.type) if form in ("text", column.type) else None
        case "enum":
            return text if form == "text" and text in (column.members or ()) else None
        case "uuid":
            return text if form in ("text", "UUID") and _UUID.fullmatch(text) else None
        case "interval" | "timetz" | None:
            return None
        case other:
            assert_never(other)


def exact_text(text: str) -> bool:
    """Say whether a text literal denotes exactly one text to a reader (specification 2, WHERE).

    Args:
        text: the literal's value.

    Returns:
        True for at most 64 code points, each shown (escape U1) or a plain space that does not
        follow another.
    """
    if len(text) > EXACT_TEXT_MAX or "  " in text:
        return False
    if _ASCII_EXACT.fullmatch(text):
        return True
    return all(map(is_shown, _BEYOND_ASCII.findall(text)))


def canonical_number(value: Decimal) -> str:
    """Write a number without exponent, trailing zeros or negative zero (L2)."""
    plain = format(value, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "") else plain


def fits(base: str, value: Decimal) -> bool:
    """Say whether a number is a value of an integer or decimal type, without rounding."""
    plain = canonical_number(value)
    whole, _, fraction = plain.lstrip("-").partition(".")
    if base in INTEGER_RANGES:
        low, high = INTEGER_RANGES[base]
        return not fraction and len(whole) <= NUMERAL_DIGITS_MAX and low <= int(plain) <= high
    size = decimal_size(base)
    if size is None:
        return False
    width, scale = size
    return len(fraction) <= scale and len(whole.lstrip("0")) <= width - scale


def keeps_column(column: Column, numerals: Sequence[str]) -> bool:
    """Say whether DuckDB compares bare numerals with a column without changing its values.

    A bare numeral has a type of its own, and DuckDB compares in the one type that holds the
    column and every numeral beside it. Where no such DECIMAL has 38 digits or less, the column
    itself is rounded or becomes a DOUBLE.

    Args:
        column: an integer or decimal column; any other is kept.
        numerals: the bare numerals of one comparison, IN list or BETWEEN, as written.

    Returns:
        False where the column would not keep its values.
    """
    if column.type in INTEGER_RANGES and all(map(_WHOLE.fullmatch, numerals)):
        return True
    size = decimal_size(column.type)
    if size is None and column.type not in INTEGER_RANGES:
        return True
    whole, places = (
        (len(str(INTEGER_RANGES[column.type][1])), 0)
        if size is None
        else (size[0] - size[1], size[1])
    )
    decimal = size is not None
    for numeral in numerals:
        if not _NUMERAL.fullmatch(numeral):
            return False
        digits, point, fraction = numeral.lstrip("-").partition(".")
        if point:
            decimal = True
            if len(digits) + len(fraction) > DECIMAL_DIGITS_MAX:
                return False
        whole = max(whole, len(digits) if point else _integer_width(numeral))
        places = max(places, len(fraction))
    return not decimal or whole + places <= DECIMAL_DIGITS_MAX


def _integer_width(numeral: str) -> int:
    """Give the decimal digits of the integer type that DuckDB gives a bare whole number."""
    for base in ("INTEGER", "BIGINT"):
        low, high = INTEGER_RANGES[base]
        # Python does not convert thousands of digits.
        if len(numeral) <= NUMERAL_DIGITS_MAX and low <= int(numeral) <= high:
            return len(str(high))
    return DECIMAL_DIGITS_MAX


def _number(base: str, form: str, text: str) -> str | None:
    if form not in ("number", "text") or not _NUMERAL.fullmatch(text):
        return None
    if form == "text" and base in _UNSIGNED and text[0] == "-" and "." in text:
        return None  # DuckDB does not cast '-0.0' to a type without sign
    if base in INTEGER_RANGES and "." not in text:
        low, high = INTEGER_RANGES[base]
        whole = int(text) if len(text) <= NUMERAL_DIGITS_MAX else high + 1
        return str(whole) if low <= whole <= high else None
    value = Decimal(text)
    return canonical_number(value) if fits(base, value) else None


def _float(base: str, form: str, text: str) -> str | None:
    # A FLOAT column beside a numeral with exponent is itself cast to DOUBLE: not exact.
    allowed = _FLOAT if base == "DOUBLE" else _NUMERAL
    if form != "number" or not allowed.fullmatch(text):
        return None
    mantissa, *exponent = re.split("[eE]", text.lstrip("-"))
    written = mantissa.replace(".", "")
    digits = written.strip("0")
    # A numeral of more digits than a DECIMAL holds is a DOUBLE, exponent or not.
    if len(digits) > FLOAT_DIGITS[base] or (not exponent and len(written) > DECIMAL_DIGITS_MAX):
        return None
    value = Decimal(text)
    # Within the normal range of the type, so that nothing overflows or is flushed to zero.
    if digits and not (-37 if base == "FLOAT" else -307) <= value.adjusted() <= (
        37 if base == "FLOAT" else 307
    ):
        return None
    return canonical_number(value)


def _day(text: str) -> str | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return text


def _clock(text: str, digits_max: int) -> str | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    fraction = (match[4] or "").rstrip("0")
    if len(fraction) > digits_max:
        return None
    return f"{match[1]}:{match[2]}:{match[3]}" + (f".{fraction}" if fraction else "")


def _time(text: str, base: str) -> str | None:
    return _clock(text, FRACTION_DIGITS[base])


def _instant(base: str, form: str, text: str) -> str | None:
    zoned = type_class(base) == "timestamptz"
    if form == "DATE":
        parts = (text, "00:00:00", "") if _day(text) and not zoned else None
    elif form in ("text", base) or (form == "TIMESTAMP" and not zoned):
        # A cast to TIMESTAMP on the way keeps microseconds only.
        parts = _split(text, min(FRACTION_DIGITS[base], FRACTION_DIGITS.get(form, 9)))
    else:
        parts = None
    if parts is None or bool(parts[2]) != zoned:
        return None
    day, clock, offset = parts
    if base in ("TIMESTAMP_NS", "TIMESTAMPTZ_NS") and int(day[:4]) not in _NANOSECOND_YEARS:
        return None
    return _to_utc(day, clock, offset) if zoned else f"{day} {clock}"


def _split(text: str, digits_max: int) -> tuple[str, str, str] | None:
    """Give the day, the time of day and the offset, each in its exact form."""
    day, rest = _day(text[:10]), text[10:]
    if day is None:
        return None
    if not rest:
        return day, "00:00:00", ""
    match = re.fullmatch(r" ([0-9:.]+)(.*)", rest, re.DOTALL)
    if match is None or (match[2] and not _OFFSET.fullmatch(match[2])):
        return None
    clock = _clock(match[1], digits_max)
    return None if clock is None else (day, clock, match[2])


def _to_utc(day: str, clock: str, offset: str) -> str | None:
    """Give the same instant in UTC, as DuckDB prints it under TimeZone UTC."""
    match = _OFFSET.fullmatch(offset)
    assert match is not None  # `_split` lets no other offset through
    minutes = int(match[2] or 0) * 60 + int(match[3] or 0)
    total = int(clock[:2]) * 60 + int(clock[3:5]) - (minutes if match[1] == "+" else -minutes)
    days, minute = divmod(total, 24 * 60)
    try:
        shifted = date.fromordinal(date.fromisoformat(day).toordinal() + days)
    except (ValueError, OverflowError):
        return None
    return f"{shifted.isoformat()} {minute // 60:02}:{minute % 60:02}{clock[5:]}+00"

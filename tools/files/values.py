"""What a text is as a value, by plain Python: which type is found, and what the engine must hold.

Invariants
  V1  No value passes through the engine: numbers are `Decimal`, `int` or `float` of the text, days
      are counted, and fractions of seconds stay digits.
  V2  Where the specification leaves room, every type that it allows is given.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

INT_RANGES = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}
TIMESTAMP, TIMESTAMP_NS = "TIMESTAMP", "TIMESTAMP_NS"
TIMESTAMPTZ, TIMETZ = "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_POINT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_NUMERAL = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-][0-9]+)?")
_JSON_NUMERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DAY = "([0-9]{4})-([0-9]{2})-([0-9]{2})"
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
_OFFSET = "(Z|[+-][0-9]{2}:[0-9]{2})?"
# Written so, a text may or may not be said to have an offset.
_ODD_OFFSET = re.compile(
    r".*[0-9](?: ?z| Z|[+-][0-9]{2}(?:[0-9]{2})?| [+-][0-9]{2}(?::?[0-9]{2})?)"
)
_DATE = re.compile(_DAY)
_TIME = re.compile(_CLOCK + _OFFSET)
_STAMP = re.compile(_DAY + "[ T]" + _CLOCK + _OFFSET)
_EPOCH = date(1970, 1, 1).toordinal()
# The engine's own bounds of nanoseconds, less a day on either side, where it is not exact about them.
_NS_BOUND = 2**63 - 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Marks:
    """How numbers of a column are written."""

    decimal: str = "."
    thousands: str | None = None


PLAIN = Marks()


def plain(text: str, marks: Marks) -> str | None:
    """Write a number with a point and without groups; None where it is none under the marks."""
    if marks == PLAIN:
        return text
    group = re.escape(marks.thousands) if marks.thousands else None
    whole = rf"(?:0|[1-9][0-9]*{rf'|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+' if group else ''})"
    point = re.escape(marks.decimal)
    form = rf"(-?)({whole}?)((?:{point}[0-9]*)?)((?:[eE][+-][0-9]+)?)"
    found = re.fullmatch(form, text)
    if found is None:
        return None
    sign, before, after, exponent = found.groups()
    before = before.replace(marks.thousands, "") if marks.thousands else before
    return sign + before + after.replace(marks.decimal, ".") + exponent


def decimal(text: str) -> Decimal | None:
    """Read a number exactly; None where it is none, or too far away from all others."""
    try:
        found = Decimal(text) if text.isascii() and "_" not in text else None
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None


def is_exact_double(text: str) -> bool:
    """Say whether the double nearest to a numeral is as good as the numeral."""
    nearest = float(text)
    if nearest in (float("inf"), float("-inf")):
        return False
    number = decimal(text)
    if number is not None and Decimal(repr(nearest)) == number:
        return True
    _, _, after = text.partition(".")
    return f"{nearest:.{len(after)}f}" == text if "e" not in text.lower() else False


def numbers(texts: Sequence[str], *, json: bool = False) -> set[str] | None:
    """Give the types that may be found for numerals; None where one is no numeral.

    Args:
        texts: at least one, with a point and no groups.
        json: whether an exponent needs no sign.
    """
    form = _JSON_NUMERAL if json else _NUMERAL
    if not all(map(form.fullmatch, texts)):
        return None
    below_zero = any(one.startswith("-") and not Decimal(_no_exponent(one)) for one in texts)
    if not below_zero and all(map(_WHOLE.fullmatch, texts)):
        values = list(map(int, texts))
        for kind in ("BIGINT", "HUGEINT"):
            low, high = INT_RANGES[kind]
            if low <= min(values) and max(values) <= high:
                return {kind}
        return {"VARCHAR"}
    made: set[str] = set()
    if not below_zero and all(_WHOLE.fullmatch(one) or _POINT.fullmatch(one) for one in texts):
        scale = max(len(one.partition(".")[2]) for one in texts)
        if scale <= 18 and all(abs(Decimal(one)) < Decimal(10) ** (18 - scale) for one in texts):
            made.add(f"DECIMAL(18,{scale})")
            # Whether the nought before the point is a digit is not said.
            if scale < 18:
                return made
    exact = all(map(is_exact_double, texts)) and not _share(texts)
    return made | {"DOUBLE" if exact else "VARCHAR"}


def _no_exponent(text: str) -> str:
    return re.split("[eE]", text)[0] or "0"


def _share(texts: Iterable[str]) -> bool:
    by_double: dict[str, Decimal | None] = {}
    return any(
        by_double.setdefault(float(one).hex(), decimal(one)) != decimal(one) for one in texts
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, date or both: days since 1970, nanoseconds of the day, digits of the fraction."""

    days: int | None
    nanoseconds: int | None
    digits: int
    offset: str | None

    @property
    def from_utc(self) -> int:
        """The offset in seconds."""
        if self.offset in (None, "Z"):
            return 0
        assert self.offset is not None  # said above, but not to the type checker
        seconds = int(self.offset[1:3]) * 3600 + int(self.offset[4:6] or "0") * 60
        return -seconds if self.offset[0] == "-" else seconds

    @property
    def instant(self) -> int:
        """Nanoseconds since 1970 in UTC."""
        assert self.days is not None  # both are there
        assert self.nanoseconds is not None
        return (self.days * 86_400 - self.from_utc) * 10**9 + self.nanoseconds


def moment(text: str) -> Moment | None:
    """Read a date, a time of day, or both; None where it is none of them."""
    if found := _DATE.fullmatch(text):
        day = _day(*found.groups())
        return None if day is None else Moment(day, None, 0, None)
    if found := _TIME.fullmatch(text):
        hour, minute, second, fraction, offset = found.groups()
        clock = _clock(hour, minute, second, fraction)
        return None if clock is None else Moment(None, clock, len(fraction or ""), offset)
    if found := _STAMP.fullmatch(text):
        year, month, day_text, hour, minute, second, fraction, offset = found.groups()
        day, clock = _day(year, month, day_text), _clock(hour, minute, second, fraction)
        if day is not None and clock is not None:
            return Moment(day, clock, len(fraction or ""), offset)
    return None


def _day(year: str, month: str, day: str) -> int | None:
    try:
        return date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        return None


def _clock(hour: str, minute: str, second: str, fraction: str | None) -> int | None:
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second)
    return seconds * 10**9 + int((fraction or "").ljust(9, "0"))


def moments(texts: Sequence[str]) -> set[str] | None:
    """Give the types that may be found for dates and times; None where one is neither."""
    found = [one for one in map(moment, texts) if one is not None]
    if len(found) < len(texts):
        # Some spellings of an offset are not spoken of.
        cut = [re.sub(r" ?(z|Z|[+-][0-9]{2}(:?[0-9]{2})?)$", "", one) for one in texts]
        odd = all(moment(one) or _ODD_OFFSET.fullmatch(one) for one in texts)
        if odd and all(one is not None and one.nanoseconds is not None for one in map(moment, cut)):
            return {"VARCHAR", TIMESTAMPTZ, TIMETZ}
        return None
    shapes = {(one.days is None, one.nanoseconds is None) for one in found}
    if len(shapes) > 1:
        return {"VARCHAR"}
    ((no_day, no_time),) = shapes
    if no_time:
        return {"DATE"}
    fine = any(one.digits > 6 for one in found)
    offsets = {one.offset for one in found}
    if None in offsets:
        if len(offsets) > 1:
            return {"VARCHAR"}
        if not fine:
            return {"TIME" if no_day else TIMESTAMP}
        if no_day:
            return {"TIME_NS"}
        if all(abs(one.instant) < _NS_BOUND for one in found):
            return {TIMESTAMP_NS}
        outside = any(abs(one.instant) > 2**63 for one in found)
        return {"VARCHAR"} if outside else {"VARCHAR", TIMESTAMP_NS}
    if fine:
        return {"VARCHAR"}
    same = len({one.from_utc for one in found}) == 1
    edge = any(abs(one.from_utc) >= 15 * 3600 or (one.offset or "")[1:] > "14" for one in found)
    edge |= any(one.offset == "-00:00" or int((one.offset or "")[4:6] or "0") > 59 for one in found)
    edge |= not no_day and any(_far(one) for one in found)
    if not same:
        return {"VARCHAR"}
    zoned = TIMETZ if no_day else TIMESTAMPTZ
    return {"VARCHAR", zoned} if edge or len(offsets) > 1 else {zoned}


def _far(one: Moment) -> bool:
    year = date(1, 1, 1).toordinal() - _EPOCH, date(9999, 12, 31).toordinal() - _EPOCH
    return one.days in year


def found(texts: Sequence[str], marks: Marks = PLAIN) -> set[str]:
    """Give the types that may be found for a column of texts (V2).

    Args:
        texts: all that are not NULL.
        marks: how numbers are written.
    """
    if not texts:
        return {"VARCHAR"}
    if all(one.lower() in ("true", "false") and one.isascii() for one in texts):
        return {"BOOLEAN"}
    written = [plain(one, marks) for one in texts]
    known = [one for one in written if one is not None]
    numeric = numbers(known) if len(known) == len(texts) else None
    if numeric is not None:
        return numeric | ({"VARCHAR"} if _odd(texts, marks) else set())
    return moments(texts) or {"VARCHAR"}


def _odd(texts: Sequence[str], marks: Marks) -> bool:
    """Groups beside an exponent, or a sign's nought, are not spoken of."""
    return marks.thousands is not None and any("e" in one.lower() for one in texts)


# --- what the engine must hold --------------------------------------------------------------------

Held = Any


def shown(name: str, kind: str) -> str:
    """Write how a plain connection asks for a column as something that is exact."""
    match kind:
        case "DOUBLE" | "FLOAT":
            return name
        case "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP_S" | "TIMESTAMP_MS":
            return f"epoch_us({name})"
        case "TIMESTAMP_NS" | "TIME_NS" | "TIMESTAMPTZ_NS":
            return f"epoch_ns({name})"
        case "TIME":
            return f"epoch_us({name})"
    return f"CAST({name} AS VARCHAR)"


def told(kind: str, value: Any) -> Held:
    """Make what such a query gave comparable."""
    if kind.startswith("DECIMAL") and str(value).startswith((".", "-.")):
        return str(value).replace(".", "0.", 1)  # the engine leaves out a nought
    return value.hex() if isinstance(value, float) else value


def held(text: str, kind: str, marks: Marks = PLAIN) -> Held:
    """Compute what the engine must hold for a text of a type.

    Returns:
        In the form of `told`.

    Raises:
        ValueError: the text is not exactly a value of the type, as far as this judge can say.
    """
    if kind == "VARCHAR":
        return text
    if kind == "BOOLEAN":
        word = text.lower()
        if word in ("true", "t", "yes", "y", "on", "1"):
            return "true"
        if word in ("false", "f", "no", "n", "off", "0"):
            return "false"
        raise ValueError("no truth value")
    if kind in ("DOUBLE", "FLOAT") or kind in INT_RANGES or kind.startswith("DECIMAL"):
        return _held_number(text, kind, marks)
    return _held_moment(text, kind)


def _held_number(text: str, kind: str, marks: Marks) -> Held:
    written = plain(text, marks)
    if written is None:  # a given type takes a leading nought or plus sign
        loose = text.replace(marks.thousands, "") if marks.thousands else text
        written = loose.replace(marks.decimal, ".")
    if kind == "DOUBLE":
        return float(written).hex()
    number = decimal(written)
    if number is None and kind == "FLOAT" and not any(map(str.isdigit, written)):
        return float(written).hex()  # infinity, or no number
    if number is None:
        raise ValueError("no number")
    if kind == "FLOAT":
        return _single(number)
    if kind in INT_RANGES:
        low, high = INT_RANGES[kind]
        if not low <= number <= high or number != int(number):
            raise ValueError("no such whole number")
        return str(int(number))
    width, scale = map(int, kind[8:-1].split(","))
    if abs(number) >= Decimal(10) ** (width - scale):
        raise ValueError("too large")
    whole = number.scaleb(scale) if number else Decimal(0)
    if whole != int(whole):
        raise ValueError("too fine")
    digits = str(abs(int(whole))).rjust(scale + 1, "0")
    sign = "-" if whole < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def _single(number: Decimal) -> str:
    """Give the nearest value of 32 bits, found among those around the one that `struct` gives."""
    try:
        (near,) = struct.unpack("<f", struct.pack("<f", float(number)))
    except OverflowError:
        raise ValueError("beyond all such values") from None
    (bits,) = struct.unpack("<I", struct.pack("<f", near))
    steps = [step for step in (-1, 0, 1) if 0 <= bits + step < 2**32]
    around = [struct.unpack("<f", struct.pack("<I", bits + step))[0] for step in steps]
    known = [one for one in around if math.isfinite(one)]
    best: float = min(known, key=lambda one: abs(Decimal(one) - number))
    return best.hex()


def _held_moment(text: str, kind: str) -> Held:
    one = moment(text) or _loose_moment(text)
    if one is None:
        raise ValueError("no moment")
    per = 1 if kind.endswith("_NS") else 1000
    if kind == "DATE":
        if one.days is None or one.nanoseconds:
            raise ValueError("no date")
        return date.fromordinal(one.days + _EPOCH).isoformat()
    if kind in ("TIME", "TIME_NS", TIMETZ):
        if one.days is not None or one.nanoseconds is None or one.nanoseconds % per:
            raise ValueError("no time")
        return one.nanoseconds // per if kind != TIMETZ else _zoned(one)
    if one.days is None:
        raise ValueError("no day")
    one = Moment(one.days, one.nanoseconds or 0, one.digits, one.offset)
    zoned = kind in (TIMESTAMPTZ, "TIMESTAMPTZ_NS")
    if one.instant % per or (one.offset is not None and not zoned):
        raise ValueError("not of this type")
    return one.instant // per


def _loose_moment(text: str) -> Moment | None:
    """Read what only a given type takes: one digit, no seconds, other offsets."""
    form = r"(\d{1,5})[-/](\d{1,2})[-/](\d{1,2})"
    clock = (
        r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?(?: ?(z|Z|[+-]\d{1,2}(?::?\d{2})?))?"
    )
    day = re.fullmatch(f"(?a){form}(?:[ T]{clock})?", text.strip(" \t"))
    if day is None:
        return None
    year, month, at, hour, minute, second, fraction, offset = day.groups()
    if len(year) > 4:
        return None
    days = _day(year, month, at)
    if days is None:
        return None
    if hour is None:
        return Moment(days, None, 0, None)
    nanoseconds = _clock(hour, minute, second or "0", fraction)
    if nanoseconds is None:
        return None
    if offset is not None:
        offset = _canonical_offset(offset)
    return Moment(days, nanoseconds, len(fraction or ""), offset)


def _canonical_offset(offset: str) -> str:
    if offset in "zZ":
        return "Z"
    digits = offset[1:].replace(":", "")
    digits = digits if len(digits) == 4 else f"{digits:0>2}00"
    return f"{offset[0]}{digits[:2]}:{digits[2:]}"


def _zoned(one: Moment) -> str:
    assert one.nanoseconds is not None  # the caller saw to it
    seconds, rest = divmod(one.nanoseconds, 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"
    hours, minutes = divmod(abs(one.from_utc) // 60, 60)
    sign = "-" if one.from_utc < 0 else "+"
    return f"{clock}{sign}{hours:02}{f':{minutes:02}' if minutes else ''}"


def strptime(text: str, pattern: str, read: Callable[[str, str], Any]) -> tuple[Moment, bool]:
    """Read by a given format, with Python's reader of such formats.

    Returns:
        The moment, and whether the text is also how the format would write it.

    Raises:
        ValueError: it is not of that format.
    """
    made = read(text, pattern)
    clock = (made.hour * 3600 + made.minute * 60 + made.second) * 10**9 + made.microsecond * 1000
    timed = any(f"%{one}" in pattern for one in "HIMSfpTX")
    days = made.toordinal() - _EPOCH
    same = made.strftime(pattern).lower() == text.lower()
    return Moment(days, clock if timed else None, 6 if made.microsecond else 0, None), same

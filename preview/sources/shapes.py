"""Which type a column of texts has, where every one of them says so (specification 4.1).

Invariants
  F1  A type is found only where every text of the whole column has its shape and converts to a
      value equal to it. All else is text.
  F2  A text belongs to one class at most; a column is counted, never sampled.
  F3  What looks like more is a doubt, with counts; no cell is part of it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from eligibility.wire.model import cached_property
from preview.sources.classes import (
    NUMBERS,
    OFFSET,
    OTHERS,
    PLAIN,
    Class,
    Kind,
    NumberMarks,
    matches,
)
from preview.sources.doubles import DOUBLE_DIGITS_SAFE, are_no_double
from preview.sources.other_formats import OTHER_FORMATS, Other

DECIMAL_DIGITS_MAX = 18
BIGINT_DIGITS = 18  # so many always fit
MICROSECOND_DIGITS = 6
_HUGEINT = 2**127
_BIGINT = 2**63


@dataclass(frozen=True, slots=True)
class Found:
    """What a column of texts is.

    Attributes:
        type: the DuckDB type; `VARCHAR` for text.
        doubt: what looks like more; None for nothing.
    """

    type: str
    doubt: "Looks | None" = None


@dataclass(frozen=True, slots=True)
class Looks:
    """What a column that is text looks like.

    Attributes:
        code: as in `eligibility.sql.manifest.Doubt`.
        classes: what the values that look like more are; empty where all are.
        values: how many of them.
        type: that they look like.
        options: (name of the option, its value without the column), to settle it.
        others: what would settle it otherwise, where the values look like that as well.
    """

    code: Literal["mostly-typed", "other-format", "several-offsets"]
    classes: tuple[Class, ...]
    values: int
    type: str
    options: tuple[tuple[str, str], ...]
    others: tuple[tuple[tuple[str, str], ...], ...] = ()


@dataclass
class Finder:
    """Looks at all texts of one column, batch by batch.

    Attributes:
        kind: what the values are in their source.
        marks: how its numbers are written.
        seen: how many texts there were.
        counts: how many of each class.
    """

    kind: Kind = "text"
    marks: NumberMarks = PLAIN
    seen: int = 0
    counts: dict[Class, int] = field(default_factory=dict)
    _wide: bool = False
    _beyond: int = 0
    _no_double: int = 0
    _digits: int = 0
    _scale: int = 0
    _fraction: int = 0
    _nanoseconds_fit: bool = True
    _unheld: dict[Class, int] = field(default_factory=dict)
    _offsets: set[int] = field(default_factory=set)
    _formats: list[Other] | None = None

    @cached_property
    def shapes(self) -> dict[Class, str]:
        """The pattern of each class that its kind can be, in order."""
        shapes = self.marks.shapes()
        match self.kind:
            case "number":
                return shapes
            case "boolean":
                return {"boolean": OTHERS["boolean"]}
            case "nested":
                return {}
            case "text":
                return shapes | OTHERS
            case _:
                assert_never(self.kind)

    @cached_property
    def _any(self) -> str:
        return "|".join(f"(?:{shape})" for shape in self.shapes.values())

    def feed(self, texts: pa.Array) -> None:
        """Look at some texts; NULL is none.

        Args:
            texts: an array of strings.
        """
        texts = texts.drop_null() if texts.null_count else texts
        self.seen += len(texts)
        if self.kind == "nested" or not len(texts):
            return
        # What most were before, most are again.
        order = sorted(self.shapes, key=lambda one: -self.counts.get(one, 0))
        most = self.counts.get(order[0], 0)
        if most and 2 * most >= self.seen - len(texts):
            texts = self._take(order.pop(0), texts)
        if len(texts):
            texts = self._rest(texts)
        for name in order:
            if not len(texts):
                return
            texts = self._take(name, texts)
        if len(texts):
            self._look_further(texts)

    def _rest(self, texts: pa.Array) -> pa.Array:
        fits = matches(texts, self._any)
        if pc.all(fits).as_py():
            return texts
        self._look_further(texts.filter(pc.invert(fits)))
        return texts.filter(fits)

    def _take(self, name: Class, texts: pa.Array) -> pa.Array:
        """Count the texts of a class, and give the others."""
        if name == "whole" and self.marks.plain and self._are_short_numbers(texts):
            return texts.slice(0, 0)
        fits = matches(texts, self.shapes[name])
        # Only what no earlier class of number takes is of a later one.
        for earlier in self.shapes:
            if earlier == name or name not in NUMBERS:
                break
            fits = pc.and_not(fits, matches(texts, self.shapes[earlier]))
        if name in ("date", "timestamp", "zoned") and pc.any(fits).as_py():
            fits = pc.and_(fits, _are_days(texts, fits))
        count = pc.sum(fits).as_py() or 0
        if not count:
            return texts
        if count == len(texts):
            self._count(name, texts)
            return texts.slice(0, 0)
        self._count(name, texts.filter(fits))
        return texts.filter(pc.invert(fits))

    def _are_short_numbers(self, texts: pa.Array) -> bool:
        """Say, quickly and without a pattern, whether all are whole numbers of few digits."""
        if self.counts.get("whole", 0) != self.seen - len(texts):
            return False
        try:
            numbers = pc.cast(texts, pa.int64())
        except pa.ArrowInvalid:
            return False
        if not pc.cast(numbers, pa.string()).equals(texts):
            return False
        ends = pc.min_max(numbers).as_py()
        self._digits = max(self._digits, *(len(str(abs(end))) for end in ends.values() if end), 0)
        self.counts["whole"] = self.counts.get("whole", 0) + len(texts)
        return True

    def _count(self, name: Class, texts: pa.Array) -> None:
        self.counts[name] = self.counts.get(name, 0) + len(texts)
        if name in NUMBERS:
            numbers = self.marks.normal(texts)
            if name != "numeral":
                self._measure(name, numbers)
            if name == "numeral" or self._digits > DOUBLE_DIGITS_SAFE:
                self._no_double += pc.sum(are_no_double(numbers)).as_py()
        elif name in ("time", "timestamp", "zoned", "zoned time"):
            self._measure_time(name, texts)

    def _measure(self, name: Class, numbers: pa.Array) -> None:
        lengths = pc.binary_length(numbers)
        sign = pc.cast(pc.starts_with(numbers, "-"), pa.int32())
        if name == "whole":
            digits = pc.subtract(lengths, sign)
            most = pc.max(digits).as_py()
            if most == 1 and not pc.any(pc.not_equal(numbers, "0")).as_py():
                most = 0
            self._digits = max(self._digits, most)
            if most > BIGINT_DIGITS:
                long = numbers.filter(pc.greater(digits, BIGINT_DIGITS))
                for number in map(int, long.to_pylist()):
                    self._wide |= not -_BIGINT <= number < _BIGINT
                    self._beyond += not _is_hugeint(number)
            return
        points = pc.find_substring(numbers, ".")
        self._scale = max(self._scale, pc.max(pc.subtract(lengths, points)).as_py() - 1)
        most = pc.max(pc.subtract(points, sign)).as_py()
        if most == 1 and not pc.any(matches(numbers, r"-?[1-9]\..*")).as_py():
            most = 0
        self._digits = max(self._digits, most)

    def _measure_time(self, name: Class, texts: pa.Array) -> None:
        if name in ("zoned", "zoned time"):
            ends = pc.extract_regex(texts, f"(?P<offset>{OFFSET})$").field(0)
            self._offsets |= {_minutes(end) for end in pc.unique(ends).to_pylist()}
            texts = pc.replace_substring_regex(texts, f"{OFFSET}$", "")
        points = pc.find_substring(texts, ".")
        digits = pc.if_else(
            pc.less(points, 0), 0, pc.subtract(pc.subtract(pc.binary_length(texts), points), 1)
        )
        self._fraction = max(self._fraction, pc.max(digits).as_py())
        fine = pc.greater(digits, MICROSECOND_DIGITS)
        if name == "timestamp":
            days = pc.utf8_slice_codeunits(texts, 0, 10)
            # The engine's nanoseconds reach from 1677-09-21 to 2262-04-11.
            far = pc.or_(pc.less(days, "1677-09-22"), pc.greater(days, "2262-04-10"))
            self._nanoseconds_fit &= not pc.any(far).as_py()
            fine = pc.and_(fine, far)
        if name != "time":
            self._unheld[name] = self._unheld.get(name, 0) + pc.sum(fine).as_py()

    def _look_further(self, texts: pa.Array) -> None:
        """See which other formats all texts that are of no class have."""
        if self.kind != "text":
            return
        if self._formats is None:
            first = texts[0].as_py()
            self._formats = [one for one in OTHER_FORMATS if re.fullmatch(one.pattern, first)]
        self._formats = [
            one
            for one in self._formats
            if pc.all(matches(texts, one.pattern)).as_py()
            and not (one.type == "DOUBLE" and pc.any(are_no_double(texts)).as_py())
        ]

    # --- what it comes to ---

    def found(self, inexact_double: Callable[[], bool]) -> Found:
        """Say what the column is.

        Args:
            inexact_double: asks all texts again, whether one of them is not exactly a double.

        Returns:
            Its type, and what else it looks like.
        """
        if self.kind == "nested":
            return Found("JSON")
        present = [name for name in self.shapes if self.counts.get(name)]
        whole = sum(self.counts.values()) == self.seen
        if whole and present:
            kind = self._type(present, inexact_double)
            if kind is not None:
                return Found(kind)
        return Found("VARCHAR", self._doubt(present, whole))

    def _type(self, present: Sequence[Class], inexact_double: Callable[[], bool]) -> str | None:
        if set(present) <= set(NUMBERS):
            number = self._number(present)
            return None if number == "DOUBLE" and inexact_double() else number
        if len(present) > 1:
            return None
        match present[0]:
            case "boolean":
                return "BOOLEAN"
            case "date":
                return "DATE"
            case "time":
                return "TIME" if self._fraction <= MICROSECOND_DIGITS else "TIME_NS"
            case "timestamp":
                if self._fraction <= MICROSECOND_DIGITS:
                    return "TIMESTAMP"
                return "TIMESTAMP_NS" if self._nanoseconds_fit else None
            case "zoned time":
                return "TIME WITH TIME ZONE" if self._is_microseconds_of_one_offset() else None
            case "zoned":
                return "TIMESTAMP WITH TIME ZONE" if self._is_microseconds_of_one_offset() else None
            case "whole" | "decimal" | "numeral":
                return None  # all that is present is a number: that was asked above
            case other:
                assert_never(other)

    def _is_microseconds_of_one_offset(self) -> bool:
        return self._fraction <= MICROSECOND_DIGITS and len(self._offsets) == 1

    def _number(self, present: Sequence[Class]) -> str | None:
        if list(present) == ["whole"]:
            if self._beyond:
                return None
            return "HUGEINT" if self._wide else "BIGINT"
        if "numeral" not in present and self._digits + self._scale <= DECIMAL_DIGITS_MAX:
            return f"DECIMAL({DECIMAL_DIGITS_MAX},{self._scale})"
        return "DOUBLE"

    def _doubt(self, present: Sequence[Class], whole: bool) -> Looks | None:
        if not whole and (fitting := self._fitting(present)):
            (first, *others) = fitting
            ways = tuple(one.options for one in others)
            return Looks("other-format", (), self.seen, first.type, first.options, ways)
        numbers = [name for name in present if name in NUMBERS]
        families: list[list[Class]] = [numbers] if numbers else []
        families += [[name] for name in present if name not in NUMBERS]
        for family in families:
            values = sum(self.counts[name] for name in family)
            # What no type holds looks like nothing more.
            values -= self._unheld_of(family)
            if not values or 2 * values < self.seen:
                continue
            kind = self._looks(family)
            if kind is None:
                continue
            if (
                family[0] in ("zoned", "zoned time")
                and values == self.seen
                and len(self._offsets) > 1
            ):
                options = (("--type", "TIMESTAMPTZ" if family == ["zoned"] else "TIMETZ"),)
                return Looks("several-offsets", (), values, kind, options)
            settled = kind if values == self.seen and kind == "DOUBLE" else "VARCHAR"
            return Looks("mostly-typed", tuple(family), values, kind, (("--type", settled),))
        return None

    def _unheld_of(self, family: Sequence[Class]) -> int:
        if family == ["whole"]:
            return self._beyond
        return self._no_double if family[0] in NUMBERS else self._unheld.get(family[0], 0)

    def _fitting(self, present: Sequence[Class]) -> list[Other]:
        """Give the other formats of all texts: 01/02 is in two, and so is 1,234."""
        found: list[Other] = []
        for one in self._formats or ():
            more = any(set(other.options) <= set(one.options) for other in found)
            held = one.type != "DOUBLE" or not self._no_double
            if set(present) <= set(one.beside) and held and not more:
                found.append(one)
        return found

    def _looks(self, family: Sequence[Class]) -> str | None:
        if family == ["whole"]:
            return "HUGEINT" if self._wide else "BIGINT"
        if family[0] in NUMBERS:
            return self._number(family)
        names = {
            "boolean": "BOOLEAN",
            "date": "DATE",
            "time": "TIME",
            "timestamp": "TIMESTAMP",
            "zoned": "TIMESTAMP WITH TIME ZONE",
            "zoned time": "TIME WITH TIME ZONE",
        }
        return names[family[0]]

    def are(self, texts: pa.Array, classes: Sequence[Class]) -> pa.Array:
        """Say which texts are of some classes; NULL for NULL."""
        fits = matches(texts, "|".join(f"(?:{self.shapes[name]})" for name in classes))
        if set(classes) & {"date", "timestamp", "zoned"}:
            fits = pc.and_(fits, _are_days(texts, pc.fill_null(fits, fill_value=False)))
        if tuple(classes) == ("whole",) and self._beyond:
            shown = zip(fits.to_pylist(), self.marks.normal(texts).to_pylist(), strict=True)
            fits = pa.array([fit and _is_hugeint(int(text)) for fit, text in shown], pa.bool_())
        elif self._no_double and classes[0] in NUMBERS:
            numbers = pc.if_else(fits, self.marks.normal(texts), "0")
            fits = pc.and_not(fits, are_no_double(numbers))
        return fits

    def takes(self, text: str | None, found: str) -> bool:
        """Say whether a text has the shape of the column (a NULL has every shape).

        Args:
            text: a field of the first record; None for NULL.
            found: the type of the column.

        Returns:
            Whether it has.
        """
        if text is None or found == "VARCHAR" or not self.seen:
            return True
        one = Finder(self.kind, self.marks)
        one.feed(pa.array([text], pa.string()))
        if not one.counts:
            return False
        (name,) = one.counts
        if found in ("BIGINT", "HUGEINT"):
            return name == "whole"
        if found.startswith("DECIMAL"):
            return name in ("whole", "decimal")
        if found == "DOUBLE":
            return name in NUMBERS
        return name in self.counts


def _are_days(texts: pa.Array, fits: pa.Array) -> pa.Array:
    """Say which texts begin with a day that the calendar has, of those that look so."""
    days = pc.utf8_slice_codeunits(texts, 0, 10)
    days = days if pc.all(fits).as_py() else pc.if_else(fits, days, "0001-01-01")
    try:
        pc.cast(days, pa.date32())
    except pa.ArrowInvalid:
        return pa.array(map(_is_day, days.to_pylist()), pa.bool_())
    return pa.repeat(True, len(texts))


def _is_hugeint(number: int) -> bool:
    return -_HUGEINT <= number < _HUGEINT


def _is_day(text: str) -> bool:
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= (
        29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    )


def _minutes(offset: str) -> int:
    if offset == "Z":
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return -minutes if offset[0] == "-" else minutes

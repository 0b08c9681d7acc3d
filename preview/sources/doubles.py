"""Which numerals a float is only the nearest value of (specification 4.1)."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

DOUBLE_CHARACTERS = 15  # a numeral of so many digits is the shortest of its double
FLOAT_CHARACTERS = 6
DOUBLE_DIGITS_SAFE = 300  # a number of so many digits before its point is not beyond all doubles


def are_no_double(numbers: pa.Array) -> pa.Array:
    """Say which numerals are beyond every double, or so small that theirs is zero.

    Args:
        numbers: numerals with a point and without groups, no NULL among them.

    Returns:
        Of each, whether it is.
    """
    doubles = pc.cast(numbers, pa.float64())
    vanished = pc.and_(pc.equal(doubles, 0), pc.match_substring_regex(numbers, "^[^eE]*[1-9]"))
    return pc.or_(pc.is_inf(doubles), vanished)


def rounded_doubles(numbers: pa.Array, *, single: bool = False) -> pa.Array:
    """Give the numerals that are not numerically equal to the shortest one of their double.

    Args:
        numbers: numerals with a point and without groups, no NULL among them.
        single: whether a FLOAT is meant.

    Returns:
        Those that are not equal.
    """
    short = FLOAT_CHARACTERS if single else DOUBLE_CHARACTERS
    length = pc.binary_length(numbers)
    # A point takes one character; without one there may be as many digits as there are characters.
    pointed = pc.and_(pc.equal(length, short + 1), pc.match_substring(numbers, "."))
    easy = pc.and_(
        pc.or_(pc.less_equal(length, short), pointed),
        pc.invert(pc.match_substring_regex(numbers, "[eEnN]")),
    )
    rest = numbers.filter(pc.invert(easy))
    return rest.filter(
        pa.array([not _is_shortest(text, single) for text in rest.to_pylist()], pa.bool_())
    )


def _is_shortest(text: str, single: bool) -> bool:
    value = float(text)
    if value != value or value in (float("inf"), float("-inf")):
        return not any(character.isdigit() for character in text)
    if single:
        shortest = pc.cast(pa.scalar(text).cast(pa.float32()), pa.string()).as_py()
        return not shortest.endswith("inf") and Decimal(shortest) == Decimal(text)
    return Decimal(repr(value)) == Decimal(text)


def printed_as(text: str) -> bool:
    """Say whether a double printed with as many decimals as the text has is the text."""
    if "e" in text or "E" in text:
        return False
    decimals = len(text.partition(".")[2])
    return f"{float(text):.{decimals}f}" == text

"""How far a stated sum or average may be from the exact one (specification 7).

With u = 2^-53, adding n doubles in any order gives a sum that is at most (n - 1) u A from the exact
one, where A is the sum of their magnitudes (Jeannerod and Rump, 2013; a value that is multiplied
where it repeats is rounded no more often). So two orders are at most 2 (n - 1) u A apart, and that
is the bound: a value further from what is found again is not a sum of these values in any order.
A itself is such a sum, at most (n - 1) u A too small; the bound is divided by what that can be.

Invariants
  G1  A bound is never too small: it is calculated in fractions and rounded up.
  G2  What cannot be bounded has none: a sum that is not finite, or too many values.
  G3  One value, or none but zeros, has the bound 0: nothing is rounded.
"""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import assert_never

from eligibility.sql.shape import Added

_UNIT = Fraction(1, 2**53)
# Half of the distance between two of the smallest doubles: what a division may lose down there.
_LEAST = Fraction(1, 2**1075)
# An average of whole numbers or decimals: the exact sum, the count, a decimal's scale and the
# quotient are rounded, in a format that depends on the processor. Twice four of them.
_ROUNDINGS = 8
_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
# More would need more exact doubles than there are whole numbers for.
COUNT_MAX = 2**52
STABLE = Fraction(1, 10**6)


def of_floats(calculation: Added, value: str, count: int, magnitudes: str) -> str | None:
    """Bound a SUM or AVG of floats.

    Args:
        calculation: which.
        value: the engine's text of it.
        count: how many values were added up.
        magnitudes: the engine's text of the sum of their magnitudes.

    Returns:
        The bound as a number with three digits; None where there is none (G2).
    """
    stated, size = _double(value), _double(magnitudes)
    if stated is None or size is None or not 0 < count < COUNT_MAX:
        return None
    if count == 1:
        return "0"
    rounded = (count - 1) * _UNIT
    bound = 2 * rounded * size / (1 - rounded)
    match calculation:
        case "SUM":
            return _rounded_up(bound)
        case "AVG":
            divided = 2 * (_UNIT * abs(stated) + _LEAST) if size else 0
            return _rounded_up(bound / count + divided)
        case _:
            assert_never(calculation)


def of_exact_sum(value: str) -> str | None:
    """Bound an average of whole numbers or decimals, whose sum is exact.

    Args:
        value: the engine's text of it.

    Returns:
        As `of_floats`.
    """
    stated = _double(value)
    return None if stated is None else _rounded_up(_ROUNDINGS * _UNIT * abs(stated))


def is_stable(value: str, bound: str) -> bool:
    """Say whether a bound is at most a millionth of the value.

    Args:
        value: the engine's text of it.
        bound: as `of_floats` gives it.
    """
    stated = _double(value)
    return stated is not None and Fraction(bound) <= STABLE * abs(stated)


def within(one: str, other: str, bound: str) -> bool:
    """Say whether two values are no further apart than a bound."""
    left, right = _double(one), _double(other)
    return left is not None and right is not None and abs(left - right) <= Fraction(bound)


def same(one: str, other: str) -> bool:
    """Say whether two bounds can be of the same values.

    The magnitudes are added up in some order too, which shows in the last of three digits at most.
    """
    left, right = Fraction(one), Fraction(other)
    return abs(left - right) <= max(left, right) / 50


def _double(text: str) -> Fraction | None:
    """Give the double that a text stands for; None for what is not finite or no number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return Fraction(number) if math.isfinite(number) else None


def _rounded_up(bound: Fraction) -> str:
    made = _DIGITS.divide(Decimal(bound.numerator), Decimal(bound.denominator))
    return f"{made.normalize(_DIGITS):e}" if made else "0"

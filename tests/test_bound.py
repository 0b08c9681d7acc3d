"""How far a sum of floats may be off: never less than it is, and nothing where nothing is rounded."""

import math
import random
from fractions import Fraction
from typing import Literal

import pytest

from eligibility.sql import bound


@pytest.mark.parametrize("seed", range(40))
def test_no_order_of_adding_is_further_off(seed: int):
    draw = random.Random(seed)
    terms = [draw.choice([1e16, 1.0, 0.1, -3.7, 5e-324]) * draw.random() for _ in range(30)]
    true = sum(map(Fraction, terms), Fraction())
    size = math.fsum(map(abs, terms))
    for _ in range(20):
        draw.shuffle(terms)
        total = sum(terms)
        made = bound.of_floats("SUM", repr(total), len(terms), repr(size))
        assert made is not None
        assert abs(Fraction(total) - true) <= Fraction(made)
        mean = total / len(terms)
        made = bound.of_floats("AVG", repr(mean), len(terms), repr(size))
        assert made is not None
        assert abs(Fraction(mean) - true / len(terms)) <= Fraction(made)


@pytest.mark.parametrize(
    ("calculation", "value", "count", "size", "made"),
    [
        ("SUM", "0.1", 1, "0.1", "0"),
        ("AVG", "0.1", 1, "0.1", "0"),
        ("AVG", "0.0", 3, "0.0", "0"),
        ("SUM", "nan", 2, "nan", None),
        ("SUM", "1.0", 2, "inf", None),
        ("SUM", "x", 2, "1.0", None),
        ("SUM", "1.0", 0, "1.0", None),
        ("SUM", "1.0", 2**52, "1.0", None),
        ("SUM", "2.0", 2, "2.0", "4.45e-16"),
    ],
)
def test_a_bound(
    calculation: Literal["SUM", "AVG"], value: str, count: int, size: str, made: str | None
):
    assert bound.of_floats(calculation, value, count, size) == made


def test_what_is_little_beside_a_value():
    assert bound.is_stable("1.0", "1e-6")
    assert not bound.is_stable("1.0", "1.01e-6")
    assert bound.is_stable("0.0", "0")
    assert not bound.is_stable("0.0", "1e-300")
    assert not bound.is_stable("nan", "0")
    assert bound.of_exact_sum("nan") is None
    assert bound.of_exact_sum("0.0") == "0"
    assert bound.within("1.0", "1.5", "5e-1")
    assert not bound.within("1.0", "1.6", "5e-1")
    assert not bound.within("x", "1.0", "1e+0")
    assert bound.same("1e-7", "1.01e-7")
    assert not bound.same("1e-7", "1.1e-7")
    assert not bound.same("0", "1e-9")

"""The tables of what may be stated: each class of values has a line of its own."""

from typing import get_args

import pytest

from eligibility.sql.policy import STRICT
from eligibility.sql.types import _CLASSES, TypeClass, type_class

KINDS_OF_VALUES = get_args(TypeClass)
# What may be done with each class of values, as specification 2 says it: a new class needs a line.
MAY_BE = {
    "boolean": "shown counted keyed equal ordered condition",
    "integer": "shown counted keyed equal ordered summed picked",
    "decimal": "shown counted keyed equal ordered summed picked",
    "float": "shown counted keyed equal ordered summed picked",
    "text": "shown counted keyed equal ordered picked matched",
    "enum": "shown counted keyed equal",
    "uuid": "shown counted keyed equal",
    "date": "shown counted keyed equal ordered picked",
    "time": "shown counted keyed equal ordered picked",
    "timestamp": "shown counted keyed equal ordered picked",
    "timestamptz": "shown counted keyed equal ordered picked",
    "timetz": "shown counted",
    "interval": "shown counted",
}


@pytest.mark.parametrize("kind", KINDS_OF_VALUES)
def test_a_class_of_values_may_be_what_its_line_says(kind):
    tables = {
        "shown": [STRICT.shown],
        "counted": [STRICT.calculated["COUNT"]],
        "summed": [STRICT.calculated["SUM"], STRICT.calculated["AVG"]],
        "picked": [STRICT.calculated["MIN"], STRICT.calculated["MAX"]],
        "keyed": [STRICT.keys],
        "equal": [STRICT.compared["="], STRICT.compared["<>"]],
        "ordered": [STRICT.compared[operator] for operator in ("<", "<=", ">", ">=")],
        "matched": [STRICT.matched],
        "condition": [STRICT.conditions],
    }
    assert {word for word, found in tables.items() if all(kind in one for one in found)} == set(
        MAY_BE[kind].split()
    )
    assert not [word for word, found in tables.items() if len({kind in one for one in found}) > 1]
    assert kind in {type_class(base) for base in (*_CLASSES, "DECIMAL(4,1)")}

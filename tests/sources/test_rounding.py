"""A whole number that is no double is not pinned as one."""

import pytest

from preview.sources.options import ReadOptions
from tests.pinned import csv, pin_one, source_of, types_of


@pytest.mark.parametrize("number", ["9007199254740993", "-9007199254740993", "90071992547409931"])
def test_a_whole_number_of_16_digits_is_looked_at(number, tmp_path):
    source = csv(tmp_path / "t.csv", f"v\n{number}\n1e+5\n")
    assert types_of(pin_one(source, tmp_path)) == {"v": "VARCHAR"}
    made = pin_one(source, tmp_path, options=ReadOptions.of(types={"v": "DOUBLE"}))
    assert source_of(made).dialect.columns[0].rounded == 1

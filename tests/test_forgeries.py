"""Bundles whose meaning is forged: the short share of `make forgeries`."""

from tools import forgeries


def test_what_is_false_fails():
    tally = forgeries.run(40, seed=11)
    assert not tally.wrong
    assert sum(tally.made.values()) == 40
    false = {part for part, truth, status in tally.fate if (truth, status) == ("false", "failed")}
    assert len(false) >= 6
    assert any(status == "passed" for _, _, status in tally.fate)

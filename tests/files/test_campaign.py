"""A share of the campaign over hostile files, faults that are seeded, and the page of real files."""

import json

import pytest

from tools.files import campaign, real
from tools.files.door import Door
from tools.files.seeded import SEEDED, found_after, search

FILES = 80


@pytest.fixture(scope="module")
def door():
    with Door() as made:
        yield made


def test_no_file_is_read_as_something_else(door):
    tally = campaign.Tally()
    search(door, FILES, tally)
    assert [campaign.shown(fault) for fault in tally.faults] == []
    assert tally.files == FILES
    assert tally.counts["pinned"] > FILES / 4
    assert tally.counts["pinned with no option"] == tally.counts["allowed with no option"] > 12


@pytest.mark.long
@pytest.mark.parametrize("what", list(SEEDED)[:2])
def test_a_seeded_fault_is_found(what, door):
    """The others take longer: `python -m tools.files.seeded` finds all of them."""
    assert found_after(what, door) is not None


# --- real files -----------------------------------------------------------------------------------


def test_the_page_of_real_files_is_what_was_measured():
    found = json.loads(real.KEPT.read_text())
    assert real.PAGE.read_text() == real.page(found)
    assert found["different"] == []
    assert found["counts"]["text"]["files"] >= 200
    assert found["counts"]["json"]["files"] >= 20

"""A recorder that is harmed at random moments: the short share of `make faults`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import faults


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[faults.Bench]:
    """Give a bench; whatever is wrong at the end is a failure."""
    made = faults.Bench(tmp_path, seed=4)
    yield made
    assert not made.tally.wrong, made.tally.first


@pytest.mark.long
def test_children_servers_and_pipes_are_struck(bench):
    faults.kills(bench, 30)
    assert bench.tally.done["kills"] == 30
    assert bench.tally.answers["observation"] > 10
    assert bench.tally.answers["StatementKilled"] > 5


def test_a_child_is_stopped(bench):
    faults.stops(bench, 2)
    assert bench.tally.answers["StatementTimedOut"] == bench.tally.done["stops"] == 2


@pytest.mark.long
def test_threads_ask_while_children_are_killed(bench):
    faults.threads(bench, 100)
    assert bench.tally.answers["observation"] > 50


@pytest.mark.long
def test_the_file_is_harmed_under_a_statement(bench):
    faults.files(bench, 1)
    assert bench.tally.answers["PinMismatch"] >= len(faults.HARMS) * len(faults.GOOD)


def test_a_host_is_killed_in_the_midst_of_a_capture(bench):
    faults.hosts(bench, 2)
    assert bench.tally.done["hosts killed"] == 2


def test_there_is_no_room_to_pin(bench):
    faults.full_disk_by_limit(bench, 4)
    faults.killed_pins(bench, 2)
    assert bench.tally.answers["TargetError"]

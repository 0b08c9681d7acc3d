"""What was recorded, executed again, from Python."""

from pathlib import Path

import pyarrow as pa
import pytest

import preview
from eligibility import Observation
from eligibility.evidence.verification import Code
from preview import Recorder, Snapshot, recorder, reexecute, reexecution
from tests.bundles import forged

STATEMENT = "SELECT carrier, distance FROM flights ORDER BY distance"
FLIGHTS = {"carrier": ["AA", "UA"], "distance": [5, 4]}


class World:
    """A snapshot, an observation over it, and its bundle."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.snapshot: Snapshot = preview.pin(
            {"flights": pa.table(FLIGHTS)}, into=folder / "snapshot"
        )
        with (
            preview.Ledger(folder / "ledger.db") as ledger,
            Recorder(self.snapshot, ledger=ledger) as made,
        ):
            self.observation: Observation = made.capture(STATEMENT)
            ledger.release(self.observation.digest, self.observation.preview())
            (entry,) = ledger.releases(self.observation.digest)
            self.bundle: bytes = ledger.export(entry)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("reexecution"))


def changed(bundle: bytes) -> bytes:
    """Forge one recorded cell, with every hash right."""

    def change(predicate) -> None:
        predicate["observation"]["payload"]["observation"]["rows"][0][1]["text"] = "9"

    return forged(bundle, change, decide=True)


def test_the_limits_are_those_of_a_recorder():
    assert reexecution.TIMEOUT_S == recorder.TIMEOUT_S
    assert reexecution.MEMORY_BYTES == recorder.MEMORY_BYTES


def test_an_observation_is_what_its_statement_gives_again(world):
    found = reexecute(world.observation, world.snapshot)
    assert (found.structural_status, found.codes, found.overall_pass) == ("passed", (), False)


def test_a_folder_will_do(world):
    for folder in (world.snapshot.folder, str(world.snapshot.folder)):
        assert reexecute(world.observation, folder).structural_status == "passed"


def test_a_cell_that_is_not_what_is_found_now_fails(world):
    first = world.observation.rows[0]
    other = world.observation.model_copy(update={"rows": (first, first)})
    found = reexecute(other, world.snapshot)
    assert found.structural_status == "failed"
    assert [(each.code, each.first) for each in found.codes] == [(Code.RESULT_DIFFERS, "/rows/1/0")]


def test_a_bundle_is_checked_whole(world):
    found = reexecute(world.bundle, world.snapshot)
    assert found.structural_status == "unverified"
    assert {each.code for each in found.codes} == {Code.UNSIGNED, Code.ENVELOPE_UNSIGNED}
    assert found.hashes is not None
    assert Code.RESULT_DIFFERS in {
        each.code for each in reexecute(changed(world.bundle), world.snapshot).codes
    }
    assert reexecute(b"{", world.snapshot).blocked


def test_what_cannot_be_executed_is_found_and_not_raised(world, tmp_path):
    (tmp_path / "link").symlink_to(world.snapshot.folder)
    other = preview.pin({"flights": pa.table({"a": [1]})}, into=tmp_path / "other")
    places = {
        tmp_path / "link": Code.SNAPSHOT_REFUSED,
        tmp_path / "nowhere": Code.SNAPSHOT_REFUSED,
        tmp_path: Code.SNAPSHOT_REFUSED,
        f"file://{world.snapshot.folder}": Code.SNAPSHOT_REFUSED,
        other.folder: Code.SNAPSHOT_DIFFERS,
    }
    for place, code in places.items():
        found = reexecute(world.observation, place)
        assert [each.code for each in found.codes] == [code]
        assert found.structural_status == "failed"


def test_another_version_of_the_engine_is_told_with_what_to_do(world):
    engine = world.observation.engine.model_copy(update={"version": "1.0.0"})
    older = world.observation.model_copy(update={"engine": engine})
    found = reexecute(older, world.snapshot)
    assert [each.code for each in found.codes] == [Code.ENGINE_ABSENT]
    assert found.advice == ("Install duckdb 1.0.0, and verify again.",)


def test_a_limit_out_of_range_is_refused(world):
    with pytest.raises(ValueError, match="out of range"):
        reexecute(world.observation, world.snapshot, memory_bytes=1)

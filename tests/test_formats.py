"""What earlier versions wrote is still read, and gives what it gave (`formats/1`: format 1)."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import preview
from eligibility import release
from eligibility.evidence.bundle import verify
from eligibility.evidence.verification import Code, Verification
from eligibility.reasons import Reason
from eligibility.sql.facts import Release
from eligibility.sql.observation import Observation
from eligibility.wire.untrusted import EvidenceError, from_json
from preview.audit import audit
from preview.signing import public_keys
from tests.bundles import Tree, forged, payload_of

FIRST = Path(__file__).parent / "formats" / "1"
NAMES = ["grouped", "plain"]
KEYS = public_keys((FIRST / "public.pem").read_bytes())
ROWS = {
    "carrier": ["AA", "UA", "AA", "UA", "DL"],
    "distance": [5, 4, 3, 2, 1],
    "delay": [0.1, 0.2, 0.7, 1e9, float("nan")],
}


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[preview.Recorder]:
    snapshot = preview.pin(
        {"flights": pa.table(ROWS)}, into=tmp_path_factory.mktemp("formats") / "snapshot"
    )
    with preview.Recorder(snapshot) as made:
        yield made


def bundle(name: str) -> bytes:
    return (FIRST / f"{name}.bundle.json").read_bytes().removesuffix(b"\n")


def text(name: str) -> str:
    return (FIRST / f"{name}.json").read_text().removesuffix("\n")


def told(found: Verification) -> tuple[str, set[str]]:
    return found.structural_status, {each.code.value for each in found.codes}


@pytest.mark.parametrize("name", NAMES)
def test_an_observation_releases_what_it_did(name: str):
    written = text(f"{name}.observation")
    seen = from_json(Observation, written)
    assert (seen.format, seen.to_json()) == ("eligibility-observation/1", written)
    assert seen.recomputed_digest() == seen.digest
    then = from_json(Release, (FIRST / f"{name}.release.json").read_text())
    now = release(written, seen.preview(), digest=seen.digest)
    assert now == then
    assert now.model_dump_json() == then.model_dump_json()
    assert not any("bound" in fact for fact in json.loads(now.model_dump_json())["facts"])


def test_a_ledger_is_read_and_exports_the_same(tmp_path: Path):
    stored = base64.b64decode((FIRST / "answers.ledger.base64").read_bytes())
    (tmp_path / "answers.ledger").write_bytes(stored)
    with preview.Ledger(tmp_path / "answers.ledger") as ledger:
        assert audit(ledger, keys=KEYS).whole
        for name in NAMES:
            seen = from_json(Observation, (FIRST / f"{name}.observation.json").read_text())
            (entry,) = ledger.releases(seen.digest)
            assert payload_of(ledger.export(entry)) == payload_of(bundle(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_verifies_as_it_did(name: str):
    assert told(verify(bundle(name), keys=KEYS)) == ("unverified", {"engine-not-asked"})


def test_a_bundle_is_executed_again_and_a_sum_has_no_bound(recorder: preview.Recorder):
    def execute(_: Observation, statement: str) -> Observation | Code:
        return recorder.capture(statement)

    again = {"manifest-differs"}
    assert told(verify(bundle("plain"), keys=KEYS, execute=execute)) == ("passed", again)
    grouped = verify(bundle("grouped"), keys=KEYS, execute=execute)
    assert told(grouped) == ("unverified", again | {"bound-unknown"})
    (unknown,) = (each for each in grouped.codes if each.code is Code.BOUND_UNKNOWN)
    assert unknown.count == 4  # sums and averages of floats that are finite
    values = {(0, 1): "0.8", (0, 2): "0.5", (1, 1): "0.5", (1, 3): "1.5", (2, 4): "3"}
    for (row, column), value in values.items():

        def change(tree: Tree, at: tuple[int, int] = (row, column), text: str = value) -> None:
            rows = tree["observation"]["payload"]["observation"]["rows"]
            rows[at[0]][at[1]]["text"] = text

        found = verify(forged(bundle("grouped"), change, decide=True), execute=execute)
        # Of the first, another order of adding could be the reason; of NaN nothing is stated.
        told_of = "unverified" if value == "0.8" or (row, column) == (1, 1) else "failed"
        assert told(found)[0] == told_of, (row, column)


@pytest.mark.parametrize(
    "more",
    [
        {"characters": "16.0.0"},
        {"bounds": []},
        {"format": "eligibility-observation/2"},
        {"format": "eligibility-observation/2", "bounds": []},
        {"format": "eligibility-observation/3", "bounds": [], "characters": "16.0.0"},
    ],
)
def test_a_format_has_its_own_fields_and_no_others(more: dict[str, Any]):
    tree = json.loads((FIRST / "plain.observation.json").read_text())
    with pytest.raises(EvidenceError):
        from_json(Observation, json.dumps(tree | more))
    made = release(json.dumps(tree | more), {})
    assert made.no_answer_reason is Reason.OBSERVATION_MALFORMED


@pytest.mark.parametrize("more", [{"repeatable": True}, {"order": []}])
def test_a_reading_has_the_fields_of_its_observation(more: dict[str, Any]):
    tree = json.loads((FIRST / "plain.observation.json").read_text())
    tree["reading"] |= more
    with pytest.raises(EvidenceError):
        from_json(Observation, json.dumps(tree))

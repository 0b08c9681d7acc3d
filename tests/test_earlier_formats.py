"""What was kept in format 1 opens, verifies and releases as it did then."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import eligibility
import preview
from eligibility.evidence.bundle import verify
from eligibility.sql.manifest import Manifest, TableSource1
from eligibility.sql.observation import Observation
from eligibility.wire.canonical import canonical_bytes
from eligibility.wire.untrusted import from_json
from evidence_adapters.cli.program import run
from evidence_adapters.cli.verbs import app
from preview.audit import audit
from preview.signing import public_keys

DATA = Path(__file__).parent / "data" / "format-1"
EXPECTED = json.loads((DATA / "expected.json").read_text())
OBSERVATIONS = json.loads((DATA / "observations.json").read_text())
KEYS = public_keys((DATA / "public.pem").read_bytes())
# Said today of every sum or average of floats of then, which had no bound.
SAID_SINCE = {"bound-unknown"}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("format-1") / "snapshot"
    shutil.copytree(DATA / "snapshot", folder)
    return preview.open_snapshot(folder)


def test_the_snapshot_opens_and_is_what_it_was(snapshot):
    assert (snapshot.id, snapshot.manifest_sha256) == (
        EXPECTED["snapshot"],
        EXPECTED["manifest_sha256"],
    )
    assert snapshot.manifest.format == "eligibility-snapshot/1"
    assert all(isinstance(source, TableSource1) for source in snapshot.manifest.sources)
    data = (DATA / "snapshot" / "manifest.json").read_bytes()
    assert canonical_bytes(from_json(Manifest, data)) == data


def test_the_snapshot_is_still_asked(snapshot):
    with preview.Recorder(snapshot, timeout_s=300) as recorder:
        observation = recorder.capture("SELECT shop, COUNT(*) FROM orders GROUP BY shop")
    answer = eligibility.release(observation, observation.preview(), digest=observation.digest)
    assert sorted(fact.text for fact in answer.facts)[0].startswith("COUNT(*) of orders = 1 for")


@pytest.mark.parametrize("place", range(len(OBSERVATIONS)))
def test_an_observation_releases_what_it_did(place):
    kept = OBSERVATIONS[place]
    observation = from_json(Observation, json.dumps(kept["observation"]).encode())
    answer = eligibility.release(observation, observation.preview(), digest=observation.digest)
    then = kept["release"]
    now = answer.model_dump(mode="json")
    assert [fact["text"] for fact in now["facts"]] == [fact["text"] for fact in then["facts"]]
    for key in ("no_answer", "no_answer_reason", "origin", "observation", "complete"):
        assert now[key] == then[key]
    assert [(one["row"], one["column"]) for one in now["withheld"]] == [
        (one["row"], one["column"]) for one in then["withheld"]
    ]


def test_there_are_facts_among_them():
    assert len(OBSERVATIONS) == 11
    assert sum(len(kept["release"]["facts"]) for kept in OBSERVATIONS) > 100


@pytest.mark.parametrize("name", ["signed", "unsigned"])
@pytest.mark.parametrize("keys", [None, KEYS], ids=["without-keys", "with-keys"])
def test_a_ledger_is_whole(name, keys, tmp_path):
    path = tmp_path / "kept.ledger"
    shutil.copy(DATA / f"{name}.ledger", path)
    with preview.Ledger(path, readonly=True) as ledger:
        found = audit(ledger, keys=keys)
    signed = found.entries if name == "signed" else 0
    # With keys, a signature is demanded of every entry.
    assert found.whole == (name == "signed" or keys is None)
    assert found.entries == 1 + 2 * len(OBSERVATIONS)
    assert (found.signed, found.unchecked) == ((signed, 0) if keys else (0, signed))
    assert found.unsigned == found.entries - signed


@pytest.mark.parametrize("bundle", EXPECTED["bundles"], ids=lambda one: one["bundle"])
def test_a_bundle_says_what_it_said(bundle, snapshot):
    data = (DATA / bundle["bundle"]).read_bytes()
    keys = KEYS if bundle["bundle"].startswith("signed") else None
    with preview.Recorder(snapshot, timeout_s=300) as recorder:
        alone = verify(data, keys=keys)
        executed = verify(data, keys=keys, execute=lambda _, text: recorder.capture(text))
    for found, (status, codes) in ((alone, bundle["alone"]), (executed, bundle["executed"])):
        now = {each.code.value for each in found.codes}
        assert now - SAID_SINCE == set(codes)
        assert found.structural_status in (status, "unverified")
        assert status != "unverified" or found.structural_status == status


@pytest.mark.parametrize(
    "command",
    [
        ["tables", "snapshot"],
        ["ledger", "verify", "signed.ledger", "--key", "public.pem"],
        ["ledger", "list", "signed.ledger"],
        ["verify", "signed-1.bundle", "--key", "public.pem", "--snapshot", "snapshot"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_the_program_reads_them(command, tmp_path, capsys):
    shutil.copytree(DATA, tmp_path / "data")
    names = {path.name for path in DATA.iterdir()}
    given = [str(tmp_path / "data" / word) if word in names else word for word in command]
    status = run(app, given)
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert out


def test_the_tables_hold_what_they_held():
    with duckdb.connect(str(DATA / "snapshot" / "snapshot.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT id, shop, amount::VARCHAR FROM orders").fetchall()
    assert rows == [
        (1, "Oslo", "10.50"),
        (2, None, "-3.25"),
        (3, "Łódź", "7.00"),
        (4, "Oslo", None),
    ]

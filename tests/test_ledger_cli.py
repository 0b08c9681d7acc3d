"""The verbs below `ledger`, and the ledger that `run` and `capture` keep."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import preview
from evidence_adapters.cli.program import run
from evidence_adapters.cli.verbs import app
from tests.test_ledger import edited

STATEMENT = "SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot, a key, and a ledger of a captured and a released observation."""
    made = tmp_path_factory.mktemp("ledger-cli")
    preview.pin({"flights": pa.table({"carrier": ["AA", "UA", "AA"]})}, into=made / "snapshot")
    return made


class Program:
    """The program, in this process."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capfd = capfd

    def __call__(self, *arguments: str) -> tuple[int, str]:
        self._capfd.readouterr()
        given = [part.replace("@", f"{self.folder}/") for part in arguments]
        status = run(app, given)
        said = self._capfd.readouterr()
        return status, said.out + said.err

    def json(self, *arguments: str) -> tuple[int, Any]:
        status, said = self(*arguments, "--json")
        return status, json.loads(said.splitlines()[0])


@pytest.fixture
def program(folder: Path, capfd: pytest.CaptureFixture[str]) -> Program:
    made = Program(folder, capfd)
    if not (folder / "answers.ledger").exists():
        assert made("ledger", "keygen", "@private.pem", "@public.pem")[0] == 0
        how = ("--snapshot", "@snapshot", "--ledger", "@answers.ledger", "--sign", "@private.pem")
        assert made("run", STATEMENT, *how)[0] == 0
        assert made("capture", STATEMENT, *how)[0] == 0
    return made


def test_what_was_run_and_captured_is_listed(program: Program):
    status, told = program.json("ledger", "list", "@answers.ledger")
    kinds = [entry["kind"] for entry in told["entries"]]
    assert (status, kinds) == (0, ["observation", "release", "observation", "snapshot"])
    status, said = program("ledger", "list", "@answers.ledger")
    assert (status, said.count("\n"), "not signed" in said) == (0, 4, False)


def test_a_long_list_is_cut(folder: Path, program: Program):
    from benchmarks.kill import observation

    with preview.Ledger(folder / "long.ledger") as ledger:
        for number in range(53):
            ledger.record(observation(number))
    assert "and 3 more" in program("ledger", "list", "@long.ledger")[1]
    assert "more" not in program("ledger", "list", "@long.ledger", "--all")[1]


def test_what_a_reader_saw_is_shown_and_what_is_missing_is_said(program: Program):
    status, told = program.json("ledger", "show", "@answers.ledger", "3")
    assert (status, told["missing"], len(told["releases"])) == (0, [], 1)
    _, said = program("ledger", "show", "@answers.ledger", told["observation"]["digest"])
    assert "COUNT(*) of flights = 2 for flights.carrier = 'AA'" in said
    _, said = program("ledger", "show", "@answers.ledger", "4")
    assert "No release is recorded." in said
    assert "main.flights" in program("ledger", "show", "@answers.ledger", "1")[1]
    assert program.json("ledger", "show", "@answers.ledger", "9")[1]["error"]["code"] == (
        "ledger-missing"
    )
    assert program("ledger", "show", "@answers.ledger", "0" * 64)[0] == 2
    assert program("ledger", "show", "@answers.ledger", "x")[0] == 2


def test_a_release_whose_observation_is_gone_is_shown_without_it(folder: Path, program: Program):
    (folder / "gone.ledger").write_bytes((folder / "answers.ledger").read_bytes())
    edited(folder / "gone.ledger", "DELETE FROM entry WHERE sequence = 2")
    status, told = program.json("ledger", "show", "@gone.ledger", "3")
    assert (status, told["missing"], told["observation"]) == (0, ["observation"], None)
    assert "No observation is recorded." in program("ledger", "show", "@gone.ledger", "3")[1]


def test_a_whole_ledger_is_told_from_one_that_is_not(folder: Path, program: Program):
    status, told = program.json("ledger", "verify", "@answers.ledger", "--key", "@public.pem")
    assert (status, told["whole"], told["signed"]) == (0, True, 4)
    head = told["head"]
    assert program("ledger", "verify", "@answers.ledger", "--head", head)[0] == 0
    assert program("ledger", "verify", "@answers.ledger", "--head", "4:" + "0" * 64)[0] == 2
    assert program("ledger", "verify", "@answers.ledger", "--head", "4")[0] == 2
    (folder / "cut.ledger").write_bytes((folder / "answers.ledger").read_bytes())
    edited(folder / "cut.ledger", "DELETE FROM entry WHERE sequence = 4")
    status, said = program("ledger", "verify", "@cut.ledger")
    assert (status, "not whole" in said, "entry 4: end-missing" in said) == (2, True, True)
    assert program("ledger", "verify", "@nowhere.ledger")[0] == 2


def test_a_backup_is_made_once_and_verifies(folder: Path, program: Program):
    arguments = ("ledger", "backup", "@answers.ledger", "--out", "@copy.ledger")
    status, told = program.json(*arguments)
    assert (status, told["whole"], told["entries"]) == (0, True, 4)
    assert program("ledger", "verify", "@copy.ledger", "--head", told["head"])[0] == 0
    assert program.json(*arguments)[1]["error"]["code"] == "ledger-error"
    (folder / "harmed.ledger").write_bytes((folder / "answers.ledger").read_bytes())
    edited(folder / "harmed.ledger", "UPDATE entry SET payload = x'00' WHERE sequence = 4")
    status, said = program("ledger", "backup", "@harmed.ledger", "--out", "@harmed.copy")
    assert (status, "entry 4: payload: What" in said) == (2, True)


def test_a_bundle_is_exported_once_and_verifies(folder: Path, program: Program):
    arguments = ("ledger", "export", "@answers.ledger", "2", "--out", "@bundle.json")
    status, told = program.json(*arguments, "--sign", "@private.pem")
    assert (status, told["entry"]["kind"]) == (0, "release")
    status, found = program.json(
        "verify", "@bundle.json", "--key", "@public.pem", "--snapshot", "@snapshot"
    )
    assert (status, found["structural_status"]) == (0, "passed")
    assert found["bundle_sha256"] == told["bundle_sha256"]
    assert program(*arguments)[0] == 2
    assert program("ledger", "export", "@answers.ledger", "4", "--out", "@other.json")[0] == 0
    assert program("ledger", "export", "@answers.ledger", "1", "--out", "@none.json")[0] == 2
    assert not (folder / "none.json").exists()


def test_what_would_not_verify_is_not_exported(folder: Path, program: Program):
    (folder / "bad.ledger").write_bytes((folder / "answers.ledger").read_bytes())
    edited(folder / "bad.ledger", f"UPDATE entry SET signature='{'0' * 128}' WHERE sequence = 1")
    status, told = program.json("ledger", "export", "@bad.ledger", "3", "--out", "@bad.json")
    assert (status, told["error"]["code"]) == (2, "signature-invalid")
    assert not (folder / "bad.json").exists()


def test_a_kept_observation_is_released_from_the_ledger(folder: Path, program: Program):
    how = ("--snapshot", "@snapshot", "--ledger", "@more.ledger")
    _, seen = program.json("capture", STATEMENT, *how)
    back = {name: seen[name] for name in ("columns", "rows", "truncated")}
    (folder / "returned.json").write_text(json.dumps(back))
    (folder / "claims.json").write_text(json.dumps([{"row": 0, "column": 1}]))
    arguments = (
        "ledger",
        "release",
        "@more.ledger",
        seen["digest"],
        "--returned",
        "@returned.json",
    )
    status, told = program.json(*arguments, "--claims", "@claims.json")
    assert (status, len(told["facts"]), told["origin"]) == (0, 1, "verified")
    (folder / "claims.json").write_text("[]")
    status, said = program(*arguments, "--claims", "@claims.json")
    assert (status, "Nothing is released" in said) == (1, True)
    _, listed = program.json("ledger", "list", "@more.ledger")
    assert [entry["signature"] for entry in listed["entries"]] == [None] * 4


def test_a_key_without_a_ledger_signs_nothing(program: Program):
    arguments = ("run", STATEMENT, "--snapshot", "@snapshot", "--sign", "@private.pem")
    assert program(*arguments)[0] == 2

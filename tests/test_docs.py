"""The pages: what they show runs, what they name is there, what they count is so."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from eligibility.sql import observation
from preview import recorder

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/*.md")]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text() for page in PAGES}
README = TEXTS["README.md"]
PROGRAM = [sys.executable, "-m", "evidence_adapters"]


FENCE = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")


def blocks(text: str, language: str) -> list[str]:
    return [block for written, block in FENCE.findall(text) if written == language]


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def program(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


# --- what is shown runs -------------------------------------------------------------------------


def test_the_python_example_prints_what_the_readme_shows(tmp_path, monkeypatch):
    fences = [block for _, block in FENCE.findall(README)]
    (example,) = blocks(README, "python")
    shown = fences[fences.index(example) + 1]
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})  # noqa: S102

    assert printed.getvalue() == shown


@pytest.mark.long
def test_the_commands_of_the_readme_do_something(tmp_path):
    commands = [
        shlex.split(line)
        for block in blocks(README, "")
        for line in block.splitlines()
        if line.startswith("eligibility ")
    ]
    flights = {"carrier": ["UA", "AA"], "distance": [1400, 1089]}
    parquet.write_table(pyarrow.table(flights), tmp_path / "flights.parquet")

    for _, *arguments in commands:
        run = program(arguments, tmp_path)
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout
    assert [arguments[1] for arguments in commands] == ["pin", "check", "run"]


# --- what is named is there ---------------------------------------------------------------------


def test_links_lead_somewhere():
    dead = [
        (name, target)
        for name, text in TEXTS.items()
        for target in re.findall(r"\]\(([^)#]+)\)", text)
        if not (ROOT / name).parent.joinpath(target).exists()
    ]
    assert not dead


def test_paths_exist():
    path = re.compile(r"\.?[a-z]+/[a-z0-9_./-]+|[A-Za-z_]+\.(?:md|toml|lock)")
    missing = [
        (name, span)
        for name, text in TEXTS.items()
        for span in spans(text)
        if path.fullmatch(span) and not (ROOT / span).exists()
    ]
    assert not missing


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?m)^([a-z-]+):", makefile))
    wanted = {
        target
        for text in TEXTS.values()
        for target in re.findall(r"(?m)(?:^|`)make ([a-z-]+)", text)
    }
    assert {"demo", "test", "check"} <= wanted <= targets
    (phony,) = re.findall(r"(?m)^\.PHONY: (help .+)$", makefile)
    assert set(phony.split()) == targets
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    listed = subprocess.run(
        ["make"], cwd=ROOT, env=alone, capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[0] for line in listed.splitlines()} == targets


def test_verbs_and_flags_exist(tmp_path):
    section = README.split("## From the command line")[1].split("\n## ")[0]
    helped = program(["--help"], tmp_path).stdout
    verbs = ["pin", "check", "run", "capture", "release", "reasons"]
    for verb in verbs:
        assert f"`{verb}`" in section or f"eligibility {verb} " in section
        assert re.search(rf"\b{verb}\b", helped)
    flags = set(re.findall(r"--[a-z]+", section))
    known = {flag for verb in verbs for flag in _flags(verb, tmp_path)}
    assert {"--json", "--into", "--snapshot"} <= flags <= known


def _flags(verb: str, folder: Path) -> list[str]:
    return re.findall(r"--[a-z]+", program([verb, "--help"], folder).stdout)


@pytest.mark.parametrize("package", ["eligibility", "preview", "evidence_adapters"])
def test_the_architecture_names_every_file(package):
    listed = re.findall(rf"(?m)^\| `({package}/[a-z_./]+)` \|", TEXTS["docs/architecture.md"])
    assert len(listed) == len(set(listed))
    wanted = set()
    for path in (ROOT / package).rglob("*.py"):
        file, room = path.relative_to(ROOT).as_posix(), f"{path.parent.relative_to(ROOT)}/"
        if path.name != "__init__.py":
            wanted.add(room if room in listed else file)  # some rooms are listed as one
    assert set(listed) == wanted


# --- what is counted is so ----------------------------------------------------------------------

NUMBERS = {
    r"[Aa]t most (\d+) rows": observation.ROWS_MAX,
    r"(\d+) KiB of": observation.CELL_TEXT_BYTES_MAX // 1024,
    r"\b(\d+) GiB unless": recorder.MEMORY_BYTES // 2**30,
}


def test_numbers_are_those_of_the_code():
    found = [
        (name, pattern, int(number), wanted)
        for pattern, wanted in NUMBERS.items()
        for name, text in TEXTS.items()
        for number in re.findall(pattern, text)
    ]
    assert {pattern for _, pattern, _, _ in found} == set(NUMBERS)
    assert not [wrong for wrong in found if wrong[2] != wrong[3]]

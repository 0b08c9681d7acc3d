"""The exercise of `docs/adding-a-rule.md`, done on a copy: red, then green, and the oracle agrees."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "adding-a-rule.md").read_text()
COPIED = ("eligibility", "preview", "corpora", "pyproject.toml")
TOUCHED = {"corpora/aggregate-types.sql", "eligibility/sql/policy.py", "tests/oracle.py"}

JUDGED = """
import duckdb
from tests.corpus import cases
from tests.engine import Pinned
from tests.oracle import Oracle

said = []
with Pinned() as pinned:
    with duckdb.connect(str(pinned.snapshot.database), read_only=True) as connection:
        oracle = Oracle(connection, pinned.snapshot.schema)
    for case in cases():
        if case.file == "aggregate-types" and "(bo), MAX(bo)" in case.statement:
            observation = pinned.recorder.capture(case.statement)
            made = pinned.release(case.statement)
            oracle.check_release(made, observation)
            said += [fact.text for fact in made.facts]
print(*said, sep="\\n")
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def apply(block: str, folder: Path) -> str:
    """Make the change that a diff shows, without line numbers, and give the file's name."""
    before, after, *lines = block.splitlines()
    name = after.removeprefix("+++ ")
    assert before == f"--- {name}"
    old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
    new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
    path = folder / name
    text = path.read_text()
    assert text.count(old) == 1, f"the page shows what {name} does not hold once"
    path.write_text(text.replace(old, new))
    return name


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COVERAGE_PROCESS_START": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    (tmp_path / "tests").mkdir()
    for path in (ROOT / "tests").glob("*.py"):
        shutil.copy(path, tmp_path / "tests")
    return tmp_path


@pytest.mark.long
def test_the_exercise_works_as_the_page_says(copy):
    (command,) = blocks("sh")
    python, *arguments = shlex.split(command)
    assert python == "python"
    quiet = [*arguments, "-q", "-n0", "-p", "no:cacheprovider"]
    cases = [block for block in blocks("diff") if "+++ corpora/" in block]
    code = [block for block in blocks("diff") if block not in cases]
    touched = {apply(block, copy) for block in cases}

    red = run(copy, *quiet)
    assert red.returncode == 1, red.stdout + red.stderr
    failed = set(re.findall(r"(?m)^FAILED \S+::(\w+)\[(aggregate-types:[0-9]+)\]", red.stdout))
    assert {test for test, _ in failed} >= {"test_the_text_alone"}
    # The case and its twin, which shows one column besides, and no other.
    assert len({case for _, case in failed}) == 2

    touched |= {apply(block, copy) for block in code}
    green = run(copy, *quiet)
    assert green.returncode == 0, green.stdout + green.stderr
    assert touched == TOUCHED

    judged = run(copy, "-c", JUDGED)
    assert judged.returncode == 0, judged.stderr
    assert judged.stdout.splitlines() == [
        "MIN(scalars.bo) = FALSE",
        "MAX(scalars.bo) = TRUE",
        "MAX(scalars.bo) = TRUE",
    ]

"""The adapter and its page: the example plays, every block runs and prints what stands below it."""

import contextlib
import io
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import preview
from tools.schemas import DOCUMENTS

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "chat_adapter.py"
PAGE = ROOT / "docs" / "adapters.md"
FENCE = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
QUESTIONS = ("digest", "model", "facts", "concurrency", "errors", "versions")


def played(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / EXAMPLE.name
    script.write_text(code)
    return subprocess.run(
        [sys.executable, "-X", "utf8", script],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "LC_ALL": "C"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_example_plays_every_turn(tmp_path):
    run = played(EXAMPLE.read_text(), tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    said = run.stdout.splitlines()
    assert said[-1] == "9 turns, 0 of them not as they must be"
    titles = "\n".join(said[:-1:2])
    for kind in ("right", "renamed", "invented", "outside", "wrong column"):
        assert kind in titles
    fact = "    SUM(flights.distance) = 2816 for flights.carrier = 'UA'"
    assert said[1:-1:2] == [fact] * 2 + ["    No answer."] * 7


@pytest.mark.long
def test_the_example_sees_its_own_fault(tmp_path):
    """An adapter that releases from its own copy, or without the claims, is found out."""
    code = EXAMPLE.read_text()
    for faulty in (
        code.replace("release(observation, returned,", "release(observation, shown,"),
        code.replace("returned, turn.claims,", "returned, None,"),
    ):
        assert faulty != code
        run = played(faulty, tmp_path)
        assert (run.returncode, run.stderr) == (1, "")
        assert "✗" in run.stdout


def test_the_example_is_short_and_goes_nowhere():
    code = EXAMPLE.read_text()
    assert len(code.splitlines()) <= 80
    imported = set(re.findall(r"(?m)^(?:import|from) (\w+)", code))
    assert imported <= {*sys.stdlib_module_names, "pyarrow", "eligibility", "preview"}
    assert not imported & {"socket", "http", "urllib", "ssl", "requests"}


def test_every_block_of_the_page_prints_what_stands_below_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fences = FENCE.findall(PAGE.read_text())
    namespace: dict[str, Any] = {"__name__": "adapters"}
    ran = 0
    for place, (language, block) in enumerate(fences):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            exec(compile(block, f"{PAGE.name}, block {place}", "exec"), namespace)  # noqa: S102
        below = fences[place + 1] if place + 1 < len(fences) else ("python", "")
        assert printed.getvalue() == ("" if below[0] == "python" else below[1]), block
        ran += 1
    assert ran >= 9
    assert {language for language, _ in fences} == {"python", ""}


def test_the_questions_stand_in_order():
    titles = re.findall(r"(?m)^## (.+\?)$", FENCE.sub("", PAGE.read_text()))
    assert len(titles) == len(QUESTIONS)
    for title, asked in zip(titles, QUESTIONS, strict=True):
        assert asked in title


def test_every_error_and_no_other_has_its_row():
    errors = {
        name
        for name in preview.__all__
        if isinstance(value := getattr(preview, name), type) and issubclass(value, Exception)
    }
    (table,) = re.findall(r"(?ms)^\| error \|.*?\n\n", PAGE.read_text())
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:] if line]
    named = [name for row in rows for name in row]
    assert len(named) == len(set(named))
    assert {*named, "PreviewError"} == errors


def test_the_schemas_that_are_named_are_there():
    named = re.findall(r"\(schemas/([a-z-]+)\.json\)", PAGE.read_text())
    assert len(named) >= 5
    assert set(named) <= DOCUMENTS.keys()


def test_the_readme_leads_to_the_pages():
    readme = (ROOT / "README.md").read_text()
    for page in (
        "docs/adapters.md",
        "docs/coverage.md",
        "docs/schemas",
        "examples/chat_adapter.py",
    ):
        assert f"]({page})" in readme

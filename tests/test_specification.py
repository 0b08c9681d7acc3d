"""The specification: what cites it finds it, and what it says of codes and limits is so."""

import ast
import importlib
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from eligibility.reasons import Reason

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "specification.md"
SPECIFICATION = PAGE.read_text()
SECTIONS = set(re.findall(r"(?m)^#{2,3} ([0-9]+(?:\.[0-9]+)?)\.? ", SPECIFICATION))
# What earlier versions kept stays as they wrote it.
KEPT = {"data", "formats", "results"}
ROOMS = (
    "eligibility",
    "preview",
    "evidence_adapters",
    "tests",
    "tools",
    "benchmarks",
    "examples",
    "docs",
)
FILES = sorted(
    path
    for room in ROOMS
    for path in (ROOT / room).rglob("*")
    if path.suffix in {".py", ".md", ".json"} and not KEPT & set(path.parts)
)
MODULES = [path for path in FILES if path.suffix == ".py"]

NUMBER = r"[0-9]+(?:\.[0-9]+)*"
# One section or several: "specification 2", "specification 4.1, 9", "specification 2 and 3".
CITATION = re.compile(rf"\bspecification\s+({NUMBER}(?:(?:,\s+|\s+and\s+){NUMBER})*)")
ELSEWHERE = re.compile(rf"\bcontract(?:'s)?\s+(?:section\s+)?{NUMBER}", re.IGNORECASE)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def plain(text: str) -> str:
    """Give a text without the marks of a comment that goes on in the next line."""
    return re.sub(r"\n\s*#\s", " ", text)


# --- sections -----------------------------------------------------------------------------------


def cited(text: str) -> list[str]:
    """Give every section that a text cites."""
    return [n for found in CITATION.findall(plain(text)) for n in re.findall(NUMBER, found)]


def test_every_citation_leads_to_a_section():
    found = [(named(path), number) for path in FILES for number in cited(path.read_text())]
    assert len(found) > 120
    assert {number for _, number in found} >= {"2", "3", "4.1", "5", "6", "7", "8", "9", "10"}
    assert not [where for where in found if where[1] not in SECTIONS]


def test_no_section_is_cited_by_another_name():
    here = Path(__file__)
    assert not [
        named(path) for path in FILES if path != here and ELSEWHERE.search(plain(path.read_text()))
    ]


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ('"""A row (specification 4.1, M3)."""', ["4.1"]),
        ("# as by specification 9,\n    # 15.4, a lake", ["9", "15.4"]),
        ("(specification 2 and 3)", ["2", "3"]),
        ("(specification 2, Column)", ["2"]),
        ("the specification of 2020", []),
    ],
)
def test_citations_are_found(text, sections):
    assert cited(text) == sections


def test_sections_are_numbered_in_order_and_listed():
    numbers = re.findall(r"(?m)^#{2,3} ([0-9]+(?:\.[0-9]+)?)\.? ", SPECIFICATION)
    assert numbers == sorted(numbers, key=lambda number: [int(n) for n in number.split(".")])
    assert len(numbers) == len(SECTIONS)
    contents = SPECIFICATION.split("\n## ")[0]
    assert all(
        re.search(rf"(?<![0-9.]){re.escape(number)}(?![0-9])", contents) for number in numbers
    )


def test_links_within_the_page_lead_to_a_heading():
    headings = re.findall(r"(?m)^#{1,3} (.+)$", SPECIFICATION)
    anchors = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings}
    targets = re.findall(r"\]\(#([^)]+)\)", SPECIFICATION)
    assert len(targets) > 10
    assert set(targets) <= anchors


# --- codes and limits ---------------------------------------------------------------------------

CODES = [reason.value for reason in Reason]


def section(number: str) -> str:
    """Give the text of a section, with those below it."""
    (_, after) = re.split(rf"(?m)^#{{2,3}} {re.escape(number)}\.? .+$", SPECIFICATION)
    return re.split(rf"(?m)^#{{2,{3 if '.' in number else 2}}} ", after)[0]


def test_the_codes_stand_in_order_of_precedence():
    table = [line for line in section("8").splitlines() if line.startswith("|")]
    assert [code for row in table for code in re.findall(r"`([a-z-]+)`", row)] == CODES


def test_what_looks_like_a_code_is_one():
    # In tables that give codes, each span of the last column is a code.
    given = []
    for table in re.findall(r"(?m)(?:^\|.*\n)+", SPECIFICATION):
        head, _, *rows = table.splitlines()
        if "code" in head.rsplit("|", 2)[1]:
            for row in rows:
                given += re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])
    assert len(given) > 40
    assert not set(given) - set(CODES)


def test_every_code_but_those_that_say_what_they_find_is_explained():
    # Outside the list of section 8 a code stands where the rule stands.
    listed = section("8")
    elsewhere = SPECIFICATION.replace(listed, "")
    unexplained = [code for code in CODES if f"`{code}`" not in elsewhere]
    # The table at the head of section 2 says what these are.
    assert unexplained == ["constant", "arithmetic", "cast", "collation", "function", "expression"]
    assert all(word in section("2") for word in unexplained)


UNITS = {"": 1, " KiB": 2**10, " MiB": 2**20, " GiB": 2**30}
LIMIT = re.compile(r"(?m)^\| `([a-z_.]+)\.([A-Z_]+)` \| ([^|]+?) \| ([^|]+) \|$")


def value(written: str) -> int:
    """Give the number that a cell of the table of limits stands for."""
    if power := re.fullmatch(r"2\^([0-9]+) - 1", written):
        return int(2 ** int(power[1])) - 1
    match = re.fullmatch(r"([0-9,]+)( [KMG]iB)?", written)
    assert match, written
    return int(match[1].replace(",", "")) * UNITS[match[2] or ""]


def test_the_limits_are_those_of_the_code():
    limits = LIMIT.findall(section("10"))
    assert len(limits) > 20
    wrong = [
        (module, name, written)
        for module, name, written, _ in limits
        if getattr(importlib.import_module(module), name) != value(written)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "module",
    """sql.limits sql.policy sql.observation sql.facts sql.release sql.wording wire.model
    wire.untrusted""".split(),
)
def test_every_limit_on_what_is_decided_is_named(module):
    holder = importlib.import_module(f"eligibility.{module}")
    tree = ast.parse(Path(str(holder.__file__)).read_text())
    own = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and re.fullmatch(r"[A-Z]\w*_MAX", target.id)
    }
    assert own
    assert own <= {
        name for where, name, _, _ in LIMIT.findall(section("10")) if where == holder.__name__
    }


# --- invariants ---------------------------------------------------------------------------------

DEFINED = re.compile(r"(?m)^ *([A-Z][0-9]+)  \S")
# As "visible V1, V2" or "specification 4.1, M3" in parentheses: another module's with its name before.
MAYBE = re.compile(r"\b[A-Z][0-9]+\)|\([^()]*\b[A-Z][0-9]+,")
ITEM = re.compile(r"(?:([a-z_.]+)\s+)?([A-Z][0-9]+)")
HEAD = re.compile(r'\A(?:#[^\n]*\n)*r?"""(.*?)"""', re.DOTALL)  # parsing each file takes seconds
LISTED = {
    named(path): DEFINED.findall(head[1])
    for path in MODULES
    if (head := HEAD.match(path.read_text()))
}


def prose(source: str) -> Iterator[str]:
    """Give every docstring and every comment of a module; comments on lines that follow as one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    block: list[str] = []
    for number, line in lines.items():
        if number - 1 not in lines:
            yield " ".join(block)
            block = []
        block.append(line)
    yield " ".join(block)


def invariants_cited(source: str) -> Iterator[tuple[str | None, str]]:
    """Give (module, invariant) of every citation; None for the module itself."""
    for text in prose(source) if MAYBE.search(source) else ():
        for group in re.findall(r"\(([^()]*)\)", text):
            module = None
            for item in re.split(r",\s+|\s+and\s+", group.strip()):
                if match := ITEM.fullmatch(item.strip("`")):
                    module = match[1] or module
                    yield module, match[2]


def unresolved(path: str, cited: Iterable[tuple[str | None, str]]) -> list[str]:
    """Give the citations of a module that lead nowhere."""
    lost = []
    for module, invariant in cited:
        ending = None if module is None else module.replace(".", "/") + ".py"
        places = [path] if ending is None else [p for p in LISTED if f"/{p}".endswith(f"/{ending}")]
        if not any(invariant in LISTED.get(place, ()) for place in places):
            lost.append(f"{module} {invariant}" if module else invariant)
    return lost


def test_every_cited_invariant_stands_in_a_docstring():
    seen = 0
    for path in MODULES:
        found = list(invariants_cited(path.read_text()))
        seen += len(found)
        assert not unresolved(named(path), found)
    assert seen > 80


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        ('"""As it was (R2)."""\n# seen (escape U1)\n', []),
        ('"""As it was (U1)."""\n', ["U1"]),
        ("# seen\n# of it (specification 7, R9).\n", ["R9"]),
        ("x = 1  # (escape R2, U1)\n", ["escape R2"]),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(source, lost):
    assert unresolved("eligibility/reasons.py", invariants_cited(source)) == lost


def test_an_invariant_is_listed_once_in_its_module():
    assert sum(len(listed) for listed in LISTED.values()) > 200
    assert not [path for path, listed in LISTED.items() if len(listed) != len(set(listed))]

"""Writes what is generated from the code and the corpora: pages, and the examples that are shipped.

python -m tools.pages          writes them anew
python -m tools.pages --check  says which are stale, and fails if one is

`docs/reasons.md`                every code, its smallest case, its twin and the edit between
`docs/cli.md`                    the help of every verb, below what is written by hand
`eligibility/explaining/examples.json`
                                 the same examples, for `eligibility reasons CODE`
`docs/schemas/*.json`            the JSON Schemas of what crosses a file or a process
`docs/coverage.md`               what is refused, and why; the statements that are not the project's
                                 own are counted where they are there, and else left as they stand
"""

import argparse
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from eligibility import Edit, classify, edits, marks
from eligibility.explaining.layout import lay_out
from eligibility.reasons import Reason
from eligibility.sql.verdicts import Verdicts
from evidence_adapters.cli.verbs import app
from evidence_adapters.cli.visible import visible
from tests.corpus import TABLES, Case, cases, decided_lines, unescaped
from tests.engine import Engine
from tools import coverage, schemas

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "eligibility" / "explaining" / "examples.json"
REASONS = ROOT / "docs" / "reasons.md"
CLI = ROOT / "docs" / "cli.md"
HELP_BEGINS = "<!-- The help below is written by `python -m tools.pages`. -->"

REASONS_HEAD = """\
Every reason why a value may not be stated, in order of precedence, with the smallest written case
that meets it. The tables are those of [corpora/tables.sql](../corpora/tables.sql), and
`eligibility reasons CODE` shows the same. This page is written by `python -m tools.pages`
from `eligibility/reasons.py` and the cases in [corpora](../corpora).
"""

# A longer statement shows nothing that a shorter one does not.
STATEMENT_MAX = 600
EDITS_TRIED = 6


# --- examples -----------------------------------------------------------------------------------


@cache
def engine() -> Engine:
    """Give the tables of the corpora, read by both readings."""
    return Engine([unescaped(TABLES.read_text())])


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Choose for each code its example, with its twin and the edit, by code."""
    written = cases()
    found = {reason.value: example(reason, written) for reason in Reason}
    return {code: made for code, made in found.items() if made is not None}


def example(reason: Reason, among: Iterable[Case]) -> dict[str, Any] | None:
    """Choose the smallest case that meets a reason.

    Args:
        reason: which.
        among: the cases to choose from.

    Returns:
        Plain JSON values; None where no case meets it. A case with an eligible twin comes before
        one without, one that an edit mends before one that none does, then the one that is
        shortest together with what it differs by from its twin.
    """
    shown = [
        case for case in among if reason in case.reasons and len(case.statement) <= STATEMENT_MAX
    ]
    if not shown:
        return None
    case = min(shown, key=lambda one: (not _has_twin(one), _size(one)))
    mended = [one for one in shown if _has_twin(one) and _size(one) <= 2 * _size(case)]
    for other in sorted(mended, key=_size)[:EDITS_TRIED]:
        if edit(other, reason) is not None:
            case = other
            break
    return _plain(case, reason)


def _has_twin(case: Case) -> bool:
    return case.twin_of is not None and case.twin_of.has_eligible and not case.before


@cache
def _size(case: Case) -> int:
    """Say how much there is to read: words, other reasons, and what differs from the twin."""
    words = [token.text for token in lay_out(case.statement).tokens]
    size = len(words) + 5 * len(case.reasons) + len(case.expected)
    if case.twin_of is None:
        return size
    other = [token.text for token in lay_out(case.twin_of.statement).tokens]
    matcher = SequenceMatcher(None, words, other, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return size + len(other) - same + len(case.twin_of.expected)


def edit(case: Case, reason: Reason) -> Edit | None:
    """Find the one edit that mends what a reason is given for; None where there is none."""
    if case.before:
        return None
    text = classify(case.statement, engine().schema)
    found = edits(case.statement, text, engine().schema, _both)
    wanted: set[int | None] = {o.position for o in text.outputs if reason in o.reasons}
    if reason in text.reasons:
        wanted.add(None)
    return next((one for one in found if one.output in wanted), None)


def _both(statement: str) -> Verdicts:
    return engine().both(statement)[1]


def _plain(case: Case, reason: Reason) -> dict[str, Any]:
    verdicts = classify(case.statement, engine().schema)
    marked = marks(case.statement, verdicts, engine().schema)
    places = {(mark.start, mark.stop) for mark in marked if mark.reason is reason}
    mended = edit(case, reason)
    return {
        "statement": case.statement,
        "said": case.prose.removeprefix("One edit away:").strip(),
        "before": list(case.before),
        "verdicts": _lines(case, reason),
        "marks": [m.model_dump(mode="json") for m in marked if (m.start, m.stop) in places],
        "twin": _twin(case),
        "edit": None if mended is None else mended.model_dump(mode="json"),
    }


def _twin(case: Case) -> dict[str, Any] | None:
    twin = case.twin_of
    if twin is None or not twin.has_eligible:
        return None
    return {"statement": twin.statement, "verdicts": _lines(twin)}


def _lines(case: Case, reason: Reason | None = None) -> list[str]:
    """Give what is decided of a case, and what else shows a reason."""
    decided = decided_lines(case.expected)
    others = [line for line in case.expected if line not in decided]
    return decided + [
        line
        for line in others
        if line.startswith("engine ") or (reason and line.endswith(f" {reason.value}"))
    ]


# --- pages --------------------------------------------------------------------------------------


def examples_json() -> str:
    """Write `examples.json`."""
    return json.dumps(examples(), ensure_ascii=True, indent=1) + "\n"


def reasons_page() -> str:
    """Write `docs/reasons.md`."""
    parts = [f"# Reasons\n\n{REASONS_HEAD}"]
    for reason in Reason:
        parts.append(f"## {reason.value}\n\n{reason.sentence}\n")
        if made := examples().get(reason.value):
            parts.append(_shown(made))
    return "\n".join(parts)


def _shown(made: dict[str, Any]) -> str:
    lines = [_block([*(f"-- Before: {sql}" for sql in made["before"]), *_case(made)])]
    if made["twin"]:
        lines.append(f"Eligible:\n\n{_block(_case(made['twin']))}")
    if made["edit"]:
        lines.append(f"One edit that would do: {_prose(made['edit']['title'])}.\n")
    return "\n".join(lines)


def _case(made: dict[str, Any]) -> list[str]:
    written = made["statement"].split("\n")
    return [*map(visible, written), *(f"--> {line}" for line in made["verdicts"])]


def _block(lines: Iterable[str]) -> str:
    body = "\n".join(line.rstrip() for line in lines)
    return f"```sql\n{body}\n```\n"


def _prose(said: str) -> str:
    what, colon, sql = said.partition(": ")
    return f"{what}: `` {visible(sql)} ``" if colon else visible(said)


def cli_page() -> str:
    """Write `docs/cli.md`: what stands in it above the mark, and the help of every verb."""
    written = CLI.read_text() if CLI.exists() else f"# The program\n\n{HELP_BEGINS}\n"
    head = written.split(HELP_BEGINS)[0]
    parts = [f"{head}{HELP_BEGINS}\n"]
    for verb in ("", *verbs()):
        name = f"eligibility {verb}".strip()
        parts.append(f"## {name}\n\n```\n{help_of(verb)}```\n")
    return "\n".join(parts)


def verbs() -> list[str]:
    """Give the names of all verbs, in the order of the help, those below a verb behind it."""
    return list(_verbs(get_command(app)))


def _verbs(command: Any, above: str = "") -> Iterator[str]:
    for name, verb in getattr(command, "commands", {}).items():
        yield above + name
        yield from _verbs(verb, f"{above}{name} ")


def help_of(verb: str) -> str:
    """Give the help of a verb, or of the program, as a terminal of 80 columns shows it."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    shown = io.StringIO()
    try:
        with redirect_stdout(shown):
            get_command(app).main([*verb.split(), "--help"], "eligibility", standalone_mode=False)
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return shown.getvalue()


PAGES = {
    EXAMPLES: examples_json,
    REASONS: reasons_page,
    CLI: cli_page,
    coverage.PAGE: coverage.page,
}


@cache
def written() -> dict[Path, str]:
    """Give the text of every file."""
    return {path: make() for path, make in PAGES.items()} | schemas.pages()


def stale() -> list[Path]:
    """Give the files that are not what would be written, and those that nothing writes any more."""
    old = [
        path for path, text in written().items() if not path.exists() or path.read_text() != text
    ]
    return old + sorted(set(schemas.FOLDER.glob("*")) - written().keys())


def main(arguments: list[str]) -> int:
    """Write the files anew, or say which are stale."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    old = stale()
    if not coverage.is_there():
        print(f"{coverage.kept_count()} statements of docs/coverage.md are not there to be counted")  # noqa: T201
    if check:
        for path in old:
            print(f"{path.relative_to(ROOT)} is stale: run python -m tools.pages")  # noqa: T201
        return 1 if old else 0
    for path in old:
        if path in written():
            path.write_text(written()[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

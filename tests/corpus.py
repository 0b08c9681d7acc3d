r"""The written cases of `corpora/`: how they are read, written and filled in.

A file is valid SQL and holds the cases of one shape. Its first line is `--` and the file's own name.
A case is, in this order:

    -- Prose: what is decided here, and why.
    -- Before: CREATE MACRO sum(x) AS 42
    SELECT carrier, COUNT(*) AS flights FROM flights GROUP BY carrier;
    --> carrier  column main.flights.carrier
    --> flights  COUNT(*) main.flights  group carrier

A case whose prose starts with `One edit away:` is the withheld twin of a case above it that is not
one, of which something may be stated, and whose statement is most alike. `Before:` lines, of which there may be none, are run first; such a case cannot be
pinned, and is only read. The statement is every line up to the first `-->`, blank lines and
semicolon included. `\u{HEX}` stands for that character wherever it would not be seen.

The lines behind `-->` say what both readings together decide. Two spaces part the fields of a line:

    NAME  column SCHEMA.TABLE.COLUMN             an output that may be stated as a stored value
    NAME  SUM(COLUMN) SCHEMA.TABLE  group KEY, KEY  where FILTER     or as a calculation
    NAME  withheld CODE, CODE                    an output that may not; `#2` has no name
    withheld CODE, CODE                          the whole statement
    selection FLAG, FLAG                         the other clauses that choose rows
    text …                                       a line that differs where the text alone is read
    engine refused CODE | engine failed          it has no plan; the other lines are the text's
    run failed                                   it has a plan, and failed when it was run
    fact LINE                                    a released line; where one stands, all of them do
    cell ROW.COLUMN withheld CODE                what of an eligible output is not released
    no answer CODE                               nothing is released
    complete result, table | complete nothing    what the observation has every row of

`python -m tests.corpus --fill FILE …` writes the lines anew; a case to be filled has a bare `-->`.
Of the last four, those of a release are written where a `--> fact` stood, and what is complete
where a `--> complete` stood. A person reads the difference.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from eligibility.reasons import Reason
from eligibility.sql.facts import Release
from eligibility.sql.verdicts import Label, SelectionFlags, Verdict, Verdicts
from eligibility.wire.escape import is_shown

ROOT = Path(__file__).resolve().parent.parent / "corpora"
TABLES = ROOT / "tables.sql"
TWIN = "One edit away:"
BEFORE = "Before:"
MARK = "-->"

_ESCAPE = re.compile(r"\\u\{([0-9A-F]{1,6})\}")
_REASONS = {reason.value: reason for reason in Reason}
_WORD = re.compile(r"""'[^']*'|"[^"]*"|\w+|[^\w\s]""")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Lines that are not about a verdict; two spaces would make an output of the word.
_BESIDE = re.compile(r"(?:fact|cell|no answer|complete|engine|run)(?: (?! )|$)")
_CODES = re.compile(r"(?:^|  |^cell [0-9]+\.[0-9]+ )withheld ([a-z-]+(?:, [a-z-]+)*)$")


@dataclass(frozen=True, slots=True)
class Case:
    """One statement with what is expected of it.

    Attributes:
        file: the file's path below `corpora/`, without `.sql`.
        line: number of the statement's first line in it, from 1.
        prose: what the comment says, as one paragraph.
        before: SQL that is run first; such a case is only read.
        written: the statement as it stands in the file, escapes and all.
        statement: the text itself.
        expected: the lines behind `-->`.
        twin_of: for a withheld twin, the case that is one edit away; else None.
    """

    file: str
    line: int
    prose: str
    before: tuple[str, ...]
    written: str
    statement: str
    expected: tuple[str, ...]
    twin_of: "Case | None"

    @property
    def name(self) -> str:
        """Where the case stands, such as `grouped-count:3`."""
        return f"{self.file}:{self.line}"

    @property
    def reasons(self) -> frozenset[Reason]:
        """Every code that the case shows, of the statement, an output, the engine or a cell."""
        codes: list[str] = []
        for line in self.expected:
            if found := _CODES.search(line.removeprefix("text ")):
                codes.extend(found[1].split(", "))
            if line.startswith("engine "):
                _, said, *why = line.split()
                codes += [f"engine-{said}", *why]
            if line.startswith("no answer "):
                codes.append(line.split()[-1])
        return frozenset(_REASONS[code] for code in codes)

    @property
    def has_eligible(self) -> bool:
        """Whether an output may be stated, by both readings."""
        own = decided_lines(self.expected)
        return not self.engine and any(re.search(r"^\S.*?  (?!withheld )\S", line) for line in own)

    @property
    def engine(self) -> str | None:
        """What the engine says to a statement it does not plan; None where it does."""
        said = (line for line in self.expected if line.startswith("engine "))
        return next(said, None)

    @property
    def runs(self) -> bool:
        """Whether the statement of a case without set-up gives rows."""
        return not self.before and not self.engine and "run failed" not in self.expected

    @property
    def wants_facts(self) -> bool:
        """Whether the released lines are written down."""
        return any(line.startswith(("fact", "cell ", "no answer ")) for line in self.expected)

    @property
    def wants_complete(self) -> bool:
        """Whether it is written down what is complete."""
        return any(line.startswith("complete") for line in self.expected)


# --- reading ------------------------------------------------------------------------------------


def unescaped(written: str) -> str:
    r"""Put the characters in place of `\u{HEX}`."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), written)


def parse(text: str, file: str) -> tuple[Case, ...]:
    """Read the cases of one file.

    Args:
        text: what the file holds.
        file: its path below `corpora/`, without `.sql`.

    Returns:
        The cases in the order written.

    Raises:
        ValueError: for a statement without `-->` lines, or a twin of nothing.
    """
    cases: list[Case] = []
    for first, prose, statement, expected in _blocks(text):
        told = " ".join(line for line in prose if not line.startswith(BEFORE))
        is_twin = told.startswith(TWIN)
        plain = [case for case in cases if case.twin_of is None]
        if not expected or (is_twin and not plain):
            raise ValueError(f"{file}:{first}: no expectation, or a twin of nothing")
        written = "\n".join(statement)
        case = Case(
            file=file,
            line=first,
            prose=told.removeprefix(Path(file).name).strip() if not cases else told,
            before=tuple(
                unescaped(line.removeprefix(BEFORE).strip())
                for line in prose
                if line.startswith(BEFORE)
            ),
            written=written,
            statement=unescaped(written),
            expected=tuple(line for line in expected if line),
            twin_of=_most_alike(written, plain) if is_twin else None,
        )
        cases.append(case)
    return tuple(cases)


def edits(one: str, other: str) -> int:
    """Count the places at which two statements differ, word by word."""
    matcher = SequenceMatcher(None, _words(one), _words(other), autojunk=False)
    return sum(tag != "equal" for tag, *_ in matcher.get_opcodes())


def _words(statement: str) -> list[str]:
    return _WORD.findall(statement)


def _most_alike(written: str, plain: list[Case]) -> Case:
    eligible = [case for case in plain if case.has_eligible] or plain
    return min(eligible, key=lambda case: (edits(written, case.written), len(case.written)))


def _blocks(text: str) -> Iterable[tuple[int, list[str], list[str], list[str]]]:
    """Give (line number, prose, statement, expected) of every case."""
    first, prose, statement, expected = 0, list[str](), list[str](), list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(MARK):
            expected.append(line.removeprefix(MARK).strip())
            continue
        if expected:
            yield first, prose, statement, expected
            first, prose, statement, expected = 0, [], [], []
        if statement or (line.strip() and not line.startswith("--")):
            first = first or number
            statement.append(line)
        elif line.startswith("--"):
            prose.append(line.removeprefix("--").strip())
    if statement:
        yield first, prose, statement, expected


def cases(root: Path = ROOT) -> tuple[Case, ...]:
    """Read every case below a folder, `tables.sql` left out.

    Args:
        root: the folder.

    Returns:
        The cases, by file name and then in the order written.
    """
    files = sorted(path for path in root.rglob("*.sql") if path != root / TABLES.name)
    found: list[Case] = []
    for path in files:
        found += parse(path.read_text(), path.relative_to(root).with_suffix("").as_posix())
    return tuple(found)


def example(code: Reason, among: Iterable[Case] | None = None) -> Case | None:
    """Find the smallest case that shows a code.

    Args:
        code: the reason.
        among: the cases to look at; None for all of them.

    Returns:
        The case with the shortest statement that shows the code, one that has an eligible twin
        (`twin_of`) before one that has none; None where no case shows it.
    """
    shown = [case for case in (cases() if among is None else among) if code in case.reasons]
    return min(shown, key=lambda case: (case.twin_of is None, len(case.statement)), default=None)


# --- writing ------------------------------------------------------------------------------------


def shown(text: str) -> str:
    r"""Write what would not be seen as `\u{HEX}`."""
    return "".join(c if c == " " or is_shown(c) else f"\\u{{{ord(c):X}}}" for c in text)


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else '"' + shown(name).replace('"', '""') + '"'


def _label(label: Label) -> str:
    table = ".".join(map(_name, label.table))
    if label.column is None:
        return f"{label.calculation}(*) {table}"
    if label.calculation is None:
        return f"column {table}.{_name(label.column)}"
    return f"{label.calculation}({_name(label.column)}) {table}"


def _output(output: Verdict, verdicts: Verdicts) -> str:
    name = _name(output.name) if output.name else f"#{output.position + 1}"
    if output.label is None:
        return f"{name}  withheld {', '.join(output.reasons)}"
    fields = [name, _label(output.label)]
    if output.label.kind == "aggregate":
        if verdicts.groups:
            fields.append(f"group {', '.join(map(_name, verdicts.groups))}")
        if verdicts.filter.text is not None:
            fields.append(f"where {verdicts.filter.text}")
    return "  ".join(fields)


def _selection(flags: SelectionFlags) -> list[str]:
    there = [name for name, value in flags.model_dump().items() if value]
    return [f"selection {', '.join(there)}"] if there else []


def decided(verdicts: Verdicts) -> list[str]:
    """Write verdicts as expectation lines, by one line for each output or the statement."""
    if verdicts.reasons:
        return [f"withheld {', '.join(verdicts.reasons)}"]
    lines = [_output(output, verdicts) for output in verdicts.outputs]
    return lines + _selection(verdicts.selection)


def text_lines(expected: Iterable[str]) -> list[str]:
    """Give, of a case's lines, those that hold where the text alone is read."""
    lines: list[str] = []
    for line in expected:
        if line.startswith("text "):
            lines[-1] = line.removeprefix("text ")
        elif not _BESIDE.match(line):
            lines.append(line)
    return lines


def decided_lines(expected: Iterable[str]) -> list[str]:
    """Give, of a case's lines, those that both readings decide."""
    return [line for line in expected if not _BESIDE.match(line) and not line.startswith("text ")]


def released_lines(release: Release) -> list[str]:
    """Write a release as expectation lines: its facts, and its cells of eligible outputs.

    Args:
        release: without claims, so of every cell.

    Returns:
        `fact` and `cell` lines, by row and column; `no answer` where nothing is released.
    """
    eligible = {fact.column for fact in release.facts} | {
        cell.column for cell in release.withheld if set(cell.reasons) & CELL_REASONS
    }
    lines = [((fact.row, fact.column), f"fact {fact.text}") for fact in release.facts]
    lines += [
        (
            (cell.row, cell.column),
            f"cell {cell.row + 1}.{cell.column + 1} withheld {', '.join(cell.reasons)}",
        )
        for cell in release.withheld
        if cell.column in eligible
    ]
    why = [f"no answer {release.no_answer_reason}"] if release.no_answer else []
    return [line for _, line in sorted(lines)] + why


def complete_line(release: Release) -> str:
    """Write what the observation has every row of as an expectation line."""
    whole = [name for name, value in release.complete.model_dump().items() if value]
    return f"complete {', '.join(whole) or 'nothing'}"


CELL_REASONS = frozenset(
    {
        Reason.CELL_NULL,
        Reason.CELL_NOT_FINITE,
        Reason.CELL_TOO_LONG,
        Reason.SUM_NOT_STABLE,
        Reason.GROUP_CELL_NOT_FINITE,
        Reason.GROUP_CELL_TOO_LONG,
        Reason.LINE_TOO_LONG,
    }
)


def merged(text: Verdicts, both: Verdicts, why: Reason | None = None) -> list[str]:
    """Write what both readings decide, and beside it where the text alone would differ.

    Args:
        text: the verdicts of the text alone.
        both: those of both readings.
        why: where the engine refused, for which reason.

    Returns:
        Expectation lines, without facts.
    """
    if both.engine in ("refused", "failed"):
        return [*decided(text), " ".join(filter(None, ("engine", both.engine, why)))]
    one, other = decided(text), decided(both)
    lines: list[str] = []
    for alone, together in zip(one, other, strict=True):
        lines += [together] if alone == together else [together, f"text {alone}"]
    return lines


def refilled(text: str, file: str, answer: Callable[[Case], list[str]]) -> str:
    """Write every expectation of a file anew.

    Args:
        text: what the file holds.
        file: its path below `corpora/`, without `.sql`.
        answer: gives the lines of a case.

    Returns:
        The file's new text.
    """
    answers = iter([answer(case) for case in parse(text, file)])
    lines: list[str] = []
    before = ""
    for line in text.splitlines():
        if not line.startswith(MARK):
            lines.append(line)
        elif not before.startswith(MARK):
            lines += [f"{MARK} {said}" for said in next(answers)]
        before = line
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Fill in the expectations of the files named (see the module's docstring)."""
    from tests.engine import Pinned

    parser = argparse.ArgumentParser(prog="python -m tests.corpus")
    parser.add_argument("--fill", nargs="+", type=Path, required=True, metavar="FILE")
    with Pinned() as pinned:
        for path in parser.parse_args(arguments).fill:
            file = path.resolve().relative_to(ROOT).with_suffix("").as_posix()
            path.write_text(refilled(path.read_text(), file, pinned.lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

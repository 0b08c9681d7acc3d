"""Feed hostile files to `pin` for long, and judge each: equal cell for cell, or an error that may be.

python -m tools.files.campaign [--count N | --seconds N] [--seed N] [--write] [--keep FOLDER]
"""

import argparse
import itertools
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools.files import finding, judge
from tools.files.door import Broken, Door, Outcome, Refused
from tools.files.finding import File
from tools.files.generator import Writer

KEPT = Path(__file__).with_name("campaign.json")
BATCH = 100
WHOLE_EVERY = 10
_TRIES = 120
_CELL = 5


@dataclass(frozen=True)
class Fault:
    """A file that was not read as it says: what is wrong, and the file."""

    said: str
    file: File


@dataclass
class Tally:
    """What became of how many files."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    @property
    def files(self) -> int:
        return self.counts["files"]


def judged(file: File, made: Outcome, tally: Tally) -> str | None:
    """Say what is wrong with what became of a file, and count it; None where nothing is."""
    expected = finding.expect(file)
    tally.counts["files"] += 1
    no_option = not file.options and not file.strict
    if expected.verdict == "pin" and no_option:
        tally.counts["allowed with no option"] += 1
    if isinstance(made, Refused):
        tally.counts["refused"] += 1
        if expected.verdict == "pin":
            return f"refused, though it must be pinned: {made.message}"
        return spoken(file, made.message)
    tally.counts["pinned"] += 1
    tally.counts["cells"] += len(made.rows) * len(made.columns)
    if expected.verdict == "error":
        return f"pinned, though it must be an error: {expected.why}"
    wrong = judge.faults(file, made)
    if not wrong and expected.verdict == "pin" and no_option:
        tally.counts["pinned with no option"] += 1
    return "; ".join(wrong) or None


def spoken(file: File, message: str) -> str | None:
    """See that an error is one line, and holds no text of a cell."""
    if "\n" in message or "\r" in message:
        return "an error of several lines"
    said = message.split("`")[0]
    options = json.dumps(file.options, ensure_ascii=False)
    text = file.data.decode("latin-1")
    lines = re.split("\r\n|\r|\n", text)
    # Names may stand in a message; the first record that is not skipped holds them.
    names = "".join(lines[: file.options.get("skip", 0) + 2])
    for line in lines[1:]:
        for cell in line.replace(";", ",").replace("\t", ",").replace("|", ",").split(","):
            cell = cell.strip('" ')
            if len(cell) >= _CELL and cell in said and cell not in options and cell not in _SPOKEN:
                if cell not in names:
                    return f"an error that holds the text of a cell: {message}"
    return None


_SPOKEN = {"comment", "# comment", "column1"}


def run(
    door: Door, files: Iterator[File], tally: Tally, told: Callable[[Fault], None] = lambda _: None
) -> None:
    """Feed files in batches until there are no more; one batch in a few is pinned whole."""
    waiting = iter(files)
    for number in itertools.count():
        batch = list(itertools.islice(waiting, BATCH))
        if not batch:
            return
        _batch(door, batch, tally, told, whole=number % WHOLE_EVERY == 0)


def _batch(
    door: Door,
    batch: Sequence[File],
    tally: Tally,
    told: Callable[[Fault], None],
    *,
    whole: bool,
) -> None:
    # Strict is of a whole call of `pin`.
    for chosen in ([f for f in batch if not f.strict], [f for f in batch if f.strict]):
        if not chosen:
            continue
        last = ""
        try:
            outcomes: list[Outcome | None] = list(door.feed(chosen, whole=whole))
        except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
            outcomes = [None] * len(chosen)
            tally.counts["batches that broke"] += 1
            last = f"{type(error).__name__}: {error}"
        for file, made in zip(chosen, outcomes, strict=True):
            said = alone(door, file, tally) if made is None else judged(file, made, tally)
            if said:
                tally.faults.append(Fault(said, file))
                told(tally.faults[-1])
        if outcomes[0] is None and not any(f.file in chosen for f in tally.faults):
            tally.faults.append(Fault(f"a batch broke, and no file of it: {last}", chosen[0]))
            told(tally.faults[-1])


def alone(door: Door, file: File, tally: Tally) -> str | None:
    """Pin one file, and judge it; what is neither pin nor refusal is a fault."""
    try:
        return judged(file, door.feed([file])[0], tally)
    except Exception as error:  # noqa: BLE001  as above
        tally.counts["files"] += 1
        cause = error if not isinstance(error, Broken) else error.__cause__ or error
        return f"broken: {type(cause).__name__}: {cause}"


def smaller(door: Door, fault: Fault) -> Fault:
    """Find a smaller file with the same kind of fault."""
    kind = _kind(fault.said)
    best, tries = fault, 0

    def holds(file: File) -> bool:
        nonlocal best, tries
        tries += 1
        said = alone(door, file, Tally())
        if said and _kind(said) == kind:
            best = Fault(said, file)
            return True
        return False

    for key in list(fault.file.options):
        holds(replace(best.file, options={k: v for k, v in best.file.options.items() if k != key}))
    for change in ({"chunk": None}, {"strict": False}):
        holds(replace(best.file, **change))
    size = len(best.file.data) // 2
    while size and tries < _TRIES:
        place = 0
        while place < len(best.file.data) and tries < _TRIES:
            data = best.file.data
            if not holds(replace(best.file, data=data[:place] + data[place + size :])):
                place += size
        size //= 2
    return best


def _kind(said: str) -> str:
    return "".join(one for one in said.split(";")[0] if not one.isdigit())[:40]


def shown(fault: Fault) -> str:
    """Write a fault so that it can be pasted into a test."""
    file = fault.file
    return (
        f"{fault.said}\n  {file.data!r}\n  {file.name} options={file.options}"
        f"{' strict' if file.strict else ''} chunk={file.chunk}\n"
    )


def numbered(writer: Writer, count: int, seconds: float | None, first: int = 0) -> Iterator[File]:
    begun = time.monotonic()
    for number in range(first, first + count):
        if seconds is not None and time.monotonic() - begun > seconds:
            return
        yield writer.file(number)


def main() -> int:
    """Search; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="tools.files.campaign")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="keep the counts for the page")
    parser.add_argument("--keep", type=Path, help="a folder for files that fail")
    given = parser.parse_args()
    count = given.count or (2**62 if given.seconds else 100_000)
    tally = Tally()
    begun = time.monotonic()
    kinds: Counter[str] = Counter()
    with Door() as door:

        def told(fault: Fault) -> None:
            kinds[_kind(fault.said)] += 1
            if kinds[_kind(fault.said)] > 3:
                return
            least = smaller(door, fault)
            sys.stdout.write(shown(least))
            sys.stdout.flush()
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                name = f"{tally.files:07}"
                (given.keep / f"{name}-{least.file.name}").write_bytes(least.file.data)
                (given.keep / f"{name}.txt").write_text(shown(least))

        run(door, numbered(Writer(given.seed), count, given.seconds, given.first), tally, told)
    seconds = time.monotonic() - begun
    for name, number in sorted(tally.counts.items()):
        sys.stdout.write(f"{number:>12,}  {name}\n")
    sys.stdout.write(f"{len(tally.faults):>12,}  faults in {seconds:,.0f} s\n")
    for kind, number in kinds.most_common():
        sys.stdout.write(f"{number:>12,}    {kind}\n")
    if given.write:
        KEPT.write_text(json.dumps(dict(sorted(tally.counts.items())), indent=1) + "\n")
    return int(bool(tally.faults) or not tally.files)


if __name__ == "__main__":
    sys.exit(main())

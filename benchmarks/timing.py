"""What every benchmark needs: turns, medians, results, and the command line they share.

A script measures its own thing and a peer, or a floor, in the same run: in turns, in an order that
alternates, so that a machine that becomes slower or quicker does so for both.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

ROOT = Path(__file__).resolve().parent.parent
WARM = 3  # turns that are not counted
FOLDER = "BENCH_FOLDER"

Work = Callable[[int], object]
Times = dict[str, list[float]]


# --- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One thing timed beside another, in turns.

    Attributes:
        name: what was timed.
        own_s, other_s: medians, in seconds.
        ratio: of the medians.
        paired: median of the turns' ratios.
        low, high: between which the middle half of the turns' ratios lies.
        rounds: how many turns.
        over: what there was one of in each turn; turns of one statement, or several statements.
    """

    name: str
    own_s: float
    other_s: float
    ratio: float
    paired: float
    low: float
    high: float
    rounds: int
    over: str = "turns"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that stands beside the ratios: a floor, a size, a rate."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a line chart: x and seconds."""

    name: str
    across: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one question.

    Attributes:
        name: short, in kebab-case; the plot's name.
        question: ends with a question mark.
        own, other: what is divided, and by what.
        bar: what the ratio is held to; None where it is held to nothing.
        least: whether the bar is the least that is wanted, not the most.
        measured: the ratio; None where it could not be measured, and `notes` say why.
        rows: what the ratio comes from.
        figures: numbers beside it.
        lines: of a line chart.
        notes: how it was measured.
    """

    name: str
    question: str
    own: str
    other: str
    bar: float | None
    measured: float | None
    least: bool = False
    rows: tuple[Row, ...] = ()
    figures: tuple[Figure, ...] = ()
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool | None:
        """Say whether the bar is held; None where there is no bar, or nothing was measured."""
        if self.bar is None or self.measured is None:
            return None
        return self.measured >= self.bar if self.least else self.measured <= self.bar


def filled(result: Result, **fields: Any) -> Result:
    """Give a result with some fields filled in."""
    return replace(result, **fields)


class Measured(TypedDict):
    """The part of a result that measuring gives."""

    measured: float | None
    rows: tuple[Row, ...]


def middle(rows: Sequence[Row]) -> float | None:
    """Give the median of the rows' ratios; None where there is no row."""
    return statistics.median(row.ratio for row in rows) if rows else None


# --- turns ----------------------------------------------------------------------------------------


def timed(work: Work, each: int = 1) -> Callable[[int], float]:
    """Give a work that says how many seconds it took; done `each` times in one go, one of them."""

    def run(number: int) -> float:
        started = time.perf_counter()
        for at in range(number * each, (number + 1) * each):
            work(at)
        return (time.perf_counter() - started) / each

    return run


def turns(works: Mapping[str, Callable[[int], float]], rounds: int, warm: int = WARM) -> Times:
    """Do works in turns, in an order that alternates.

    Args:
        works: by name; each takes the turn's number, different for every turn, and gives seconds.
        rounds: how many turns are counted.
        warm: how many before them are not.

    Returns:
        By name the seconds of every counted turn.
    """
    names = list(works)
    found: Times = {name: [] for name in names}
    for number in range(warm + rounds):
        for name in names if number % 2 else reversed(names):
            seconds = works[name](number)
            if number >= warm:
                found[name].append(seconds)
    return found


def row(name: str, own: Sequence[float], other: Sequence[float], over: str = "turns") -> Row:
    """Summarise pairs of seconds."""
    ratios = [mine / theirs for mine, theirs in zip(own, other, strict=True)]
    low, _, high = quartiles(ratios)
    mine, theirs = statistics.median(own), statistics.median(other)
    return Row(
        name, mine, theirs, mine / theirs, statistics.median(ratios), low, high, len(ratios), over
    )


def compared(
    name: str,
    own: Work,
    other: Work,
    rounds: int,
    *,
    own_each: int = 1,
    other_each: int = 1,
    warm: int = WARM,
) -> Row:
    """Time two works in turns.

    Args:
        name: of the row.
        own: a work; each call gets a number of its own.
        other: what it stands beside.
        rounds: how many turns are counted.
        own_each: how often it is done in one turn. Several times where it is short: else it is
            measured as it is just after the other has filled the processor's caches.
        other_each: the same for the other.
        warm: how many turns before them are not counted.

    Returns:
        The row.
    """
    works = {"own": timed(own, own_each), "other": timed(other, other_each)}
    found = turns(works, rounds, warm)
    return row(name, found["own"], found["other"])


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Give the three quartiles; of one value, that value."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, half, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, half, high


# --- processes ------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Find a process's children, and theirs, the nearest first; none where there is no /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found = [pid]
    for each in found:
        found += sorted(parents.get(each, ()))
    return found[1:]


def peak_bytes(pid: int) -> int | None:
    """Give the most memory a process ever held, resident, in bytes; None where it is not told."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) * 1024 if found else None


# --- the command line -----------------------------------------------------------------------------


class Option(NamedTuple):
    """An argument: its value in a full run, its value with `--quick`, and what it is."""

    full: float
    quick: float
    help: str


Measure = Callable[[argparse.Namespace, Path], Iterable[Result]]


def main(script: str, doc: str, options: Mapping[str, Option], measure: Measure) -> int:
    """Run one script: read its arguments, measure, print, and write JSON where that is asked for.

    Args:
        script: its name.
        doc: its docstring, whose first line is the question.
        options: its arguments, by name.
        measure: gives the results; called with the arguments and a folder for data.

    Returns:
        The exit status: 0 where it could be measured, whether or not a bar is held.
    """
    asked = _asked(script, doc, options)
    started = time.perf_counter()
    results: list[Result] = []
    failed: str | None = None
    try:
        with scratch(asked.folder) as folder:
            for each in measure(asked, folder):
                print("\n".join(told(each)), flush=True)
                results.append(each)
    except BaseException as error:
        failed = type(error).__name__
        raise
    finally:
        if asked.json is not None:
            made = report(
                script,
                quick=asked.quick,
                failed=failed,
                seconds=round(time.perf_counter() - started, 1),
                arguments={name: getattr(asked, name) for name in options},
                results=[asdict(each) for each in results],
            )
            write_json(asked.json, made)
    return 0


def report(script: str, *, quick: bool, failed: str | None, **more: Any) -> dict[str, Any]:
    """Give what is written of one run: when, on what, with which arguments, and what was found."""
    return {
        "script": script,
        "quick": quick,
        "failed": failed,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "seconds": 0.0,
        "arguments": {},
        "results": [],
        **more,
    }


def _asked(script: str, doc: str, options: Mapping[str, Option]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{script}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, option in options.items():
        parser.add_argument(
            f"--{name}",
            type=type(option.full),
            metavar="N",
            help=f"{option.help} (default: {option.full:,}; quick: {option.quick:,})",
        )
    parser.add_argument("--quick", action="store_true", help="small sizes and few turns: a trial")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument(
        "--folder",
        type=Path,
        default=os.environ.get(FOLDER),
        help=f"keep data there, and use what is there (default: {FOLDER}, else a folder that is removed)",
    )
    asked = parser.parse_args()
    for name, option in options.items():
        given = getattr(asked, name)
        if given is None:
            setattr(asked, name, option.quick if asked.quick else option.full)
        elif given <= 0:
            parser.error(f"--{name} must be more than 0")
    return asked


@contextmanager
def scratch(folder: str | Path | None) -> Any:
    """Give the folder that was asked for, or a temporary one that is removed."""
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        yield Path(folder).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        yield Path(made)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    beside.replace(path)


def told(result: Result) -> Iterable[str]:
    """Say a result in lines of text."""
    yield f"\n{result.question}"
    yield f"  {verdict(result)}"
    for each in result.rows:
        yield (
            f"    {each.name:<44} {seconds(each.own_s):>9} ÷ {seconds(each.other_s):>9} = "
            f"{each.ratio:6.2f}   paired {each.paired:.2f} ({each.low:.2f} to {each.high:.2f}), "
            f"{each.rounds} {each.over}"
        )
    for figure in result.figures:
        yield f"    {figure.name}: {amount(figure)}"
    for note in result.notes:
        yield f"    {note}"


def verdict(result: Result) -> str:
    """Say what was measured, and whether it holds the bar."""
    if result.measured is None:
        return "not measured"
    said = f"{result.measured:.2f}"
    if result.bar is None:
        return f"{said}, held to no bar"
    bar = f"{'at least' if result.least else 'at most'} {result.bar:g}"
    return f"{said}, {'held' if result.held else 'missed'} (the bar: {bar})"


def seconds(value: float) -> str:
    """Write seconds in a unit that suits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if abs(value) < 1000 else f"{value:,.0f} s"
    return f"{value * 1e6:.3g} µs"


def amount(figure: Figure) -> str:
    """Write a figure in its unit."""
    match figure.unit:
        case "s":
            return seconds(figure.value)
        case "bytes":
            return f"{figure.value / 2**20:,.1f} MiB"
        case "":
            return f"{figure.value:,.3g}" if figure.value % 1 else f"{figure.value:,.0f}"
        case unit:
            return (
                f"{figure.value:,.4g} {unit}"
                if figure.value < 1000
                else f"{figure.value:,.0f} {unit}"
            )


def machine() -> dict[str, str]:
    """Say what the numbers were measured on; no name of the machine."""
    packages = ("duckdb", "sqlglot", "sqlglotc", "pydantic", "pyarrow", "sqllineage")
    return {
        "processor": _processor(),
        "cores": str(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: _version(name) for name in packages},
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


if __name__ == "__main__":
    sys.exit("this is no benchmark; see `make bench`")

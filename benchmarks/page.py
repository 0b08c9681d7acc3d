"""Write docs/benchmarks.md, and its plots, from the results that the benchmarks left.

    python -m benchmarks.page

Nothing is measured here. The page says what its results say, missed bars and failures too.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import plots, timing
from benchmarks.timing import Figure, Line, Result, Row

SCRIPTS = (
    "parse",
    "lineage",
    "real",
    "capture",
    "size",
    "release",
    "batch",
    "opening",
    "pinning",
    "starting",
)
RESULTS = timing.ROOT / "benchmarks" / "results"
PAGE = timing.ROOT / "docs" / "benchmarks.md"
PLOTS = timing.ROOT / "docs" / "benchmarks"

HEAD = """\
# Benchmarks

What the engine costs beside what has to be done anyway, or beside another program. Each number is a
ratio, and has a bar that was set before it was measured; a missed bar stands here as one. This page
is written by `make bench` from the results in [benchmarks/results](../benchmarks/results).

Both sides of a ratio are timed in one run, in turns and in an order that alternates, after turns
that do not count. A ratio divides one median by the other. Beside it stands the median of the ratios
of single turns and, in brackets, the first and third quartile of those.
"""
TRIAL = """\
**These numbers are a trial**: small sizes, few turns, on a machine that did other things meanwhile.
Only a full run says whether a bar is held.
"""
AGAIN = """\
## To repeat it

`make bench` runs all of it and writes this page, in about a quarter of an hour and with a few
gigabytes in a temporary folder; `BENCH_FOLDER` names another folder, which is kept. One script
alone, such as `python -m benchmarks.size --rows 50000000`, prints what it finds and leaves the page
as it is; `--help` says what it takes. `python -m benchmarks.ledger` measures the ledger, which
[ledger.md](ledger.md) is about.
"""


def reports() -> list[dict[str, Any]]:
    """Read what the scripts left, in their order."""
    paths = (RESULTS / f"{script}.json" for script in SCRIPTS)
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def result(made: dict[str, Any]) -> Result:
    """Read a result back from JSON."""
    lines = tuple(
        Line(line["name"], line["across"], tuple((x, y) for x, y in line["points"]))
        for line in made["lines"]
    )
    return Result(
        **{
            **made,
            "rows": tuple(Row(**row) for row in made["rows"]),
            "figures": tuple(Figure(**figure) for figure in made["figures"]),
            "lines": lines,
            "notes": tuple(made["notes"]),
        }
    )


# --- the page -------------------------------------------------------------------------------------


def files(found: list[dict[str, Any]]) -> dict[Path, str]:
    """Give the text of the page and of every plot.

    Args:
        found: the reports.

    Returns:
        Text by path.
    """
    results = {report["script"]: [*map(result, report["results"])] for report in found}
    everything = [each for some in results.values() for each in some]
    made = {PLOTS / "overview.svg": plots.overview(everything)}
    for each in everything:
        if each.rows:
            made[PLOTS / f"{each.name}.svg"] = plots.rows(each)
        if each.lines:
            made[PLOTS / f"{each.name}-lines.svg"] = plots.lines(each)
    parts = [HEAD]
    if any(report["quick"] for report in found):
        parts.append(TRIAL)
    parts += [_machine(found), _overview(found, everything)]
    for report in found:
        parts.extend(_section(report, results[report["script"]], found[0]))
    parts.append(AGAIN)
    made[PAGE] = "\n".join(parts)
    return made


def _machine(found: list[dict[str, Any]]) -> str:
    first = found[0]
    rows = "".join(f"| {name} | {value} |\n" for name, value in first["machine"].items())
    dates = sorted({report["date"] for report in found})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"## The machine\n\n| | |\n|---|---|\n| date | {when} |\n{rows}"


def _overview(found: list[dict[str, Any]], results: list[Result]) -> str:
    rows = [
        f"| [{each.question}](#{each.name}) | {_measured(each)} | {_bar(each)} | {_held(each)} |"
        for each in results
    ]
    failed = [report["script"] for report in found if report["failed"]]
    held = [each.held for each in results if each.held is not None]
    said = f"{sum(held)} of {len(held)} bars are held."
    if failed:
        said += f" Of these scripts not all could be measured: {', '.join(failed)}."
    head = "| question | ratio | bar | |\n|---|---|---|---|"
    table = "\n".join(rows)
    return f"## At a glance\n\n{said}\n\n![{said}](benchmarks/overview.svg)\n\n{head}\n{table}\n"


def _section(report: dict[str, Any], results: list[Result], first: dict[str, Any]) -> Iterable[str]:
    for each in results:
        yield f'<a id="{each.name}"></a>\n\n## {each.question}\n'
        yield f"{each.own} ÷ {each.other}: {_said(each)}\n"
        if each.rows:
            yield f"![{each.own} ÷ {each.other}](benchmarks/{each.name}.svg)\n"
        if each.lines:
            yield f"![Lines of {each.name}](benchmarks/{each.name}-lines.svg)\n"
        if each.notes:
            yield " ".join(each.notes) + "\n"
        if each.rows:
            yield _rows(each)
        if each.figures:
            yield _figures(each)
    if report["failed"]:
        yield f"## benchmarks/{report['script']}.py failed\n\nNot all was measured: {report['failed']}.\n"
    yield _how(report, first)


def _rows(each: Result) -> str:
    head = f"| | {each.own} | {each.other} | ratio | of single turns | |"
    lines = [
        f"| {row.name} | {timing.seconds(row.own_s)} | {timing.seconds(row.other_s)} "
        f"| {plots.number(row.ratio)} | {plots.number(row.paired)} "
        f"({plots.number(row.low)} to {plots.number(row.high)}) | {row.rounds} {row.over} |"
        for row in each.rows
    ]
    return "\n".join([head, "|---|---|---|---|---|---|", *lines, ""])


def _figures(each: Result) -> str:
    lines = [f"| {figure.name} | {timing.amount(figure)} |" for figure in each.figures]
    return "\n".join(["| beside it | |", "|---|---|", *lines, ""])


def _how(report: dict[str, Any], first: dict[str, Any]) -> str:
    arguments = ", ".join(f"{name} {value:,g}" for name, value in report["arguments"].items())
    said = f"`python -m benchmarks.{report['script']}`"
    said += f" with {arguments}; {report['seconds']:,.0f} s in all" if arguments else ""
    if report["machine"] != first["machine"]:
        said += "; on another machine: " + ", ".join(report["machine"].values())
    return f"<sub>{said}.</sub>\n"


def _said(each: Result) -> str:
    if each.measured is None:
        return "not measured."
    if each.held is None:
        return f"**{_measured(each)}**; there is no bar."
    word = "held" if each.held else "missed"
    return f"**{_measured(each)}**, **{word}**; the bar is {_bar(each)}."


def _measured(each: Result) -> str:
    return "not measured" if each.measured is None else plots.number(each.measured)


def _bar(each: Result) -> str:
    if each.bar is None:
        return "none"
    return f"{'at least' if each.least else 'at most'} {each.bar:g}"


def _held(each: Result) -> str:
    return "" if each.held is None else "held" if each.held else "**missed**"


# --- files ----------------------------------------------------------------------------------------


def stale() -> list[Path]:
    """Give the files that are not what the results give, and plots that nothing writes any more."""
    made = files(reports())
    old = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    return old + sorted(set(PLOTS.glob("*")) - made.keys())


def write() -> None:
    """Write the page and the plots anew; remove plots that are no longer drawn."""
    made = files(reports())
    PLOTS.mkdir(exist_ok=True)
    for path in set(PLOTS.glob("*")) - made.keys():
        path.unlink()
    for path, text in made.items():
        path.write_text(text)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__).parse_args()
    write()

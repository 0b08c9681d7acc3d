"""Plots of results as SVG: bars beside the bar they are held to, and lines.

A plot has its own white ground, so that it is read on a dark page too, and says in words what its
colours say. The same results give the same bytes.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from benchmarks.timing import Result, Row

WIDTH_IN, BAR_IN, LINE_IN = 7.6, 0.26, 0.16
LABEL_MAX = 44  # characters that fit left of the bars
WIDE = 12  # times as much as the least: then the scale is one of powers of ten
CLOSE = 1000  # times as much as the least: up to there, labels at 2 and 5 find room too
GOOD, BAD, PLAIN = "#0072b2", "#d55e00", "#6b7280"
INK, SOFT, GRID = "#1f2937", "#4b5563", "#e5e7eb"
STYLE: Any = {
    "svg.fonttype": "none",  # letters stay letters: they can be sought and read aloud
    "svg.hashsalt": "eligibility",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # it comes with the library: the same layout everywhere
    "font.size": 9,
    "figure.labelsize": 9,
    "axes.edgecolor": GRID,
    "axes.grid.axis": "x",
    "grid.color": GRID,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its length, between what the middle half of the turns lies, and its colour."""

    label: str
    value: float
    low: float
    high: float
    good: bool | None
    said: str


def number(value: float) -> str:
    """Write a ratio with three digits."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def rows(result: Result) -> str:
    """Draw the rows of a result, and its bar."""
    bars = [
        Bar(each.name, each.ratio, each.low, each.high, _good(result, each), number(each.ratio))
        for each in result.rows
    ]
    word = "at least" if result.least else "at most"
    said = "" if result.bar is None else f"bar: {word} {result.bar:g}"
    return _bars(f"{result.own} ÷ {result.other}", bars, result.bar, said)


def _good(result: Result, row: Row) -> bool | None:
    if result.bar is None:
        return None
    return row.ratio >= result.bar if result.least else row.ratio <= result.bar


def overview(results: Sequence[Result]) -> str:
    """Draw how near each result is to its bar: what is beyond the line misses it."""
    bars = []
    for each in results:
        if each.bar is not None and each.measured is not None and each.measured > 0:
            share = each.bar / each.measured if each.least else each.measured / each.bar
            word = "at least" if each.least else "at most"
            said = f"{number(each.measured)} ({word} {each.bar:g})"
            bars.append(Bar(each.name, share, share, share, each.held, said))
    title = "How much of its bar each takes; right of the line it is missed"
    return _bars(title, bars, 1.0, "the bar")


def lines(result: Result) -> str:
    """Draw the lines of a result: milliseconds over what they are across."""
    across = result.lines[0].across
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 3.3), layout="constrained")
        axes = figure.subplots()
        for line, colour in zip(result.lines, (GOOD, BAD, PLAIN), strict=False):
            x, y = zip(*line.points, strict=True)
            axes.plot(x, [1000 * one for one in y], "o-", color=colour, label=line.name)
        axes.set_title(f"milliseconds over {across}", loc="left", fontweight="bold")
        axes.set_xlabel(across)
        axes.set(xlim=(0, None), ylim=(0, None))
        axes.grid(axis="y")
        axes.legend(frameon=False)
        return _svg(figure, f"{result.question} Milliseconds over {across}.")


def _bars(title: str, bars: Sequence[Bar], bar: float | None, said: str) -> str:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 1.1 + BAR_IN * len(bars)), layout="constrained")
        axes = figure.subplots()
        places = range(len(bars))
        colours = [PLAIN if one.good is None else GOOD if one.good else BAD for one in bars]
        axes.barh(places, [one.value for one in bars], height=0.55, color=colours, zorder=2)
        for place, one in zip(places, bars, strict=True):
            if one.high > one.low:
                axes.plot((one.low, one.high), (place, place), "|-", color=INK, lw=1.2, zorder=3)
            at = axes.get_yaxis_transform()
            axes.text(1.01, place, one.said, transform=at, va="center", fontweight="bold")
        axes.set_yticks(places, [_label(one.label) for one in bars])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.grid(axis="x", zorder=0)
        axes.spines[:].set_visible(False)
        axes.set_title(title, loc="left", fontweight="bold", x=0, pad=20 if said else 6)
        powers = _scaled(axes, [v for one in bars for v in (one.value, one.low, one.high)], bar)
        if bar is not None:
            axes.axvline(bar, color=INK, lw=1.2, ls="--", zorder=4)
            top = axes.get_xaxis_transform()
            axes.text(bar, 1.02, said, transform=top, ha="center", fontweight="bold")
        key = _key(bars, powers=powers)
        if key:  # under the whole picture: beside long labels there is no room for it
            figure.set_figheight(figure.get_figheight() + LINE_IN * key.count("\n"))
            figure.supxlabel(key, x=0.01, ha="left", color=SOFT)
        told = "; ".join(f"{one.label} {one.said}" for one in bars)
        return _svg(figure, f"{title}. {said}. {told}.")


def _scaled(axes: Axes, values: Sequence[float], bar: float | None) -> bool:
    """Choose the scale for values above 0; say whether it is one of powers of ten."""
    every = [*values, *([] if bar is None else [bar])] or [1.0]
    least, most = min(every), max(every)
    powers = most > WIDE * least
    if powers:
        axes.set_xscale("log")
        subs = (1.0, 2.0, 5.0) if most < CLOSE * least else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_minor_locator(NullLocator())  # its labels would run into each other
        axes.set_xlim(least * 0.7, most * 1.2)
    else:
        axes.set_xlim(0, most * 1.05)
    axes.xaxis.set_major_formatter("{x:,g}")
    return powers


def _label(label: str) -> str:
    label = label if len(label) <= LABEL_MAX else label[: LABEL_MAX - 1] + "…"
    return label.replace("`", "").replace("$", r"\$")


def _key(bars: Sequence[Bar], *, powers: bool) -> str:
    said = []
    if any(each.good is not None for each in bars):
        said.append("Blue holds the bar, orange misses it.")
    if any(each.high > each.low for each in bars):
        said.append("Thin line: the middle half of single ratios.")
    scale = "The scale is one of powers of ten." if powers else ""
    return "\n".join(filter(None, (" ".join(said), scale)))


def _svg(figure: Figure, told: str) -> str:
    written = io.StringIO()
    about = {"Title": told.replace("`", ""), "Date": None, "Creator": None}
    figure.savefig(written, format="svg", metadata=about)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"

"""Plots of results as SVG: bars beside the bar they are held to, and lines.

A plot has its own white ground, so that it is read on a dark page too, and says in words what its
colours say.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.timing import Line, Result, Row

WIDTH = 760
LEFT, RIGHT = 270, 680  # of the part in which bars are drawn; labels are left, values right of it
TOP, EACH, THICK = 52, 24, 13
LABEL_MAX = 44  # characters that fit left of the bars
WIDE = 12  # times as much as the least: then the scale is one of powers of ten
GOOD, BAD, PLAIN = "#0072b2", "#d55e00", "#6b7280"
INK, SOFT, GRID = "#1f2937", "#4b5563", "#e5e7eb"


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


# --- what is drawn --------------------------------------------------------------------------------


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
    return _bars(
        "How much of its bar each takes; right of the line it is missed", bars, 1.0, "the bar", 580
    )


def lines(result: Result) -> str:
    """Draw the lines of a result: milliseconds over what they are across."""
    high, left, right, top, bottom = 330, 70, 560, 40, 280
    most_x = max(x for line in result.lines for x, _ in line.points)
    most_y = max(y for line in result.lines for _, y in line.points) * 1000
    ticks_x, ticks_y = ticks(most_x), ticks(most_y)
    end_x, end_y = max(ticks_x[-1], most_x), max(ticks_y[-1], most_y)

    def at(x: float, y: float) -> tuple[float, float]:
        return left + (right - left) * x / end_x, bottom - (bottom - top) * y / end_y

    parts = [_text(20, 24, f"milliseconds over {result.lines[0].across}", size=14, weight="bold")]
    for tick in ticks_y:
        _, y = at(0, tick)
        parts += [_line(left, y, right, y, GRID), _text(left - 8, y + 4, f"{tick:g}", "end")]
    for tick in ticks_x:
        x, _ = at(tick, 0)
        parts += [
            _line(x, bottom, x, bottom + 5, SOFT),
            _text(x, bottom + 20, f"{tick:,g}", "middle"),
        ]
    parts.append(_text((left + right) / 2, bottom + 40, result.lines[0].across, "middle"))
    for line, colour in zip(result.lines, (GOOD, BAD, PLAIN), strict=False):
        places = [at(x, y * 1000) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places]
    parts += _legend(result.lines, right + 20, top + 20)
    return _svg(high, f"{result.question} Milliseconds over {result.lines[0].across}.", parts)


def _legend(found: Sequence[Line], x: float, y: float) -> Iterable[str]:
    for at, (line, colour) in enumerate(zip(found, (GOOD, BAD, PLAIN), strict=False)):
        yield f'<circle cx="{x:.1f}" cy="{y + at * 22 - 4:.1f}" r="4" fill="{colour}"/>'
        yield _text(x + 12, y + at * 22, line.name)


# --- bars -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """From a value to a place; by powers of ten where values are far apart."""

    first: float
    last: float
    right: float
    powers: bool

    def place(self, value: float) -> float:
        """Give x."""
        first, last = self.first, self.last
        if self.powers:
            value, first, last = (math.log10(max(v, self.first)) for v in (value, first, last))
        return LEFT + (self.right - LEFT) * (value - first) / (last - first)

    @property
    def ticks(self) -> list[float]:
        """Give the values that are written below."""
        if not self.powers:
            return [tick for tick in ticks(self.last) if tick <= self.last]
        low, high = math.floor(math.log10(self.first)), math.ceil(math.log10(self.last))
        steps = (1, 2, 5) if high - low <= 2 else (1,)
        found = [step * 10.0**power for power in range(low, high + 1) for step in steps]
        return [tick for tick in found if self.first <= tick <= self.last]


def scale(values: Sequence[float], right: float) -> Scale:
    """Choose a scale for values above 0."""
    most, least = max(values), min(values)
    if most <= WIDE * least:
        return Scale(0.0, most * 1.05, right, powers=False)
    first = 10.0 ** math.floor(math.log10(least))
    first = max(step * first for step in (1, 2, 5) if step * first <= least * 0.9 or step == 1)
    return Scale(first, most * 1.1, right, powers=True)


def ticks(most: float) -> list[float]:
    """Give round numbers from 0 to `most`, or just beyond it; four to eight of them."""
    rough = most / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)
    return [round(step * at, 10) for at in range(math.ceil(most / step - 1e-9) + 1)]


def _bars(
    title: str, bars: Sequence[Bar], bar: float | None, said: str, right: float = RIGHT
) -> str:
    values = [value for each in bars for value in (each.value, each.low, each.high)]
    held_to = [] if bar is None else [bar]
    across = scale([*values, *held_to] or [1.0], right)
    bottom = TOP + len(bars) * EACH + 4
    parts = [_text(20, 24, title, size=14, weight="bold")]
    for tick in across.ticks:
        x = across.place(tick)
        parts += [_line(x, TOP, x, bottom, GRID), _text(x, bottom + 16, f"{tick:,g}", "middle")]
    for at, each in enumerate(bars):
        parts += _bar(each, TOP + at * EACH + EACH / 2, across)
    if bar is not None:
        x = across.place(bar)
        anchor = "end" if x > (LEFT + right) / 2 else "start"
        parts.append(_line(x, TOP - 8, x, bottom, INK, 'stroke-width="1.5" stroke-dasharray="5 3"'))
        parts.append(_text(x, TOP - 12, said, anchor, weight="bold"))
    parts.append(_text(20, bottom + 40, _key(bars, powers=across.powers), colour=SOFT))
    told = "; ".join(f"{each.label} {each.said}" for each in bars)
    return _svg(bottom + 54, f"{title}. {said}. {told}.", parts)


def _bar(bar: Bar, middle: float, across: Scale) -> Iterable[str]:
    colour = PLAIN if bar.good is None else GOOD if bar.good else BAD
    end = across.place(bar.value)
    label = bar.label if len(bar.label) <= LABEL_MAX else bar.label[: LABEL_MAX - 1] + "…"
    yield _text(LEFT - 10, middle + 4, label.replace("`", ""), "end")
    yield (
        f'<rect x="{LEFT}" y="{middle - THICK / 2:.1f}" width="{max(end - LEFT, 1):.1f}" '
        f'height="{THICK}" fill="{colour}"/>'
    )
    if bar.high > bar.low:
        low, high = across.place(bar.low), across.place(bar.high)
        yield _line(low, middle, high, middle, INK, 'stroke-width="1.5"')
        for x in (low, high):
            yield _line(x, middle - 4, x, middle + 4, INK, 'stroke-width="1.5"')
    yield _text(across.right + 10, middle + 4, bar.said, weight="bold")


def _key(bars: Sequence[Bar], *, powers: bool) -> str:
    said = []
    if any(each.good is not None for each in bars):
        said.append("Blue holds the bar, orange misses it.")
    if any(each.high > each.low for each in bars):
        said.append("Thin line: the middle half of single ratios.")
    if powers:
        said.append("The scale is one of powers of ten.")
    return " ".join(said)


# --- SVG ------------------------------------------------------------------------------------------


def _svg(height: float, told: str, parts: Iterable[str]) -> str:
    body = "\n".join(f"  {part}" for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" font-family="Helvetica, Arial, sans-serif" role="img">\n'
        f"  <title>{escape(told.replace('`', ''))}</title>\n"
        f'  <rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>\n'
        f"{body}\n</svg>\n"
    )


def _text(
    x: float,
    y: float,
    text: str,
    anchor: str = "start",
    *,
    size: int = 12,
    weight: str = "normal",
    colour: str = INK,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
    )


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, more: str = "") -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" '
        f"{more}/>".replace(" />", "/>")
    )

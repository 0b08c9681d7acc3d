"""A statement on the screen, its marked parts underlined where they stand (specification 9).

Invariants
  W1  Every line fits the width; a mark stands under what it marks, also in colour.
  W2  Nothing of the statement is printed raw (visible V1), and nothing in it is read as markup.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from eligibility.explaining.found import Mark
from eligibility.explaining.layout import lay_out
from eligibility.reasons import Reason, in_order
from evidence_adapters.cli.visible import glyph, runs_back

SHOWN_CHARACTERS_MAX = 20_000
SHOWN_LINES_MAX = 40
LABELS_MAX = 4
WIDTH_MIN = 20
TAB = "    "


@dataclass(frozen=True, slots=True)
class _Glyph:
    """One character of the statement as it is shown; `at` is its position in the text."""

    at: int
    shown: str
    width: int
    isolate: str = ""


@dataclass(frozen=True, slots=True)
class _Underlined:
    """A part of the statement, and all that was found in it."""

    start: int
    stop: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One line on the screen: its glyphs, and what is marked in it."""

    glyphs: tuple[_Glyph, ...]
    marks: tuple[_Underlined, ...]


def statement_lines(
    statement: str, marks: tuple[Mark, ...], width: int, *, isolate: bool = False
) -> list[Text]:
    """Show a statement with its marked parts.

    Args:
        statement: the text as it was written.
        marks: what to mark in it.
        width: of a line, in cells.
        isolate: whether text that runs from right to left is kept in its place (visible V2).

    Returns:
        The lines, a line of carets under each that has a mark.
    """
    isolates = _isolates(statement) if isolate else {}
    glyphs = _wrapped(_glyphs(statement, isolates), max(width, WIDTH_MIN))
    underlined = _underlined(marks)
    lines = [_marked(line, underlined) for line in glyphs]
    made: list[Text] = []
    skipping = False
    for place, line in enumerate(lines):
        if len(lines) > SHOWN_LINES_MAX and not _kept(lines, place):
            if not skipping:
                made.append(Text("...", "dim"))
            skipping = True
            continue
        skipping = False
        made.append(_text(line))
        made += _carets(line, width)
    if len(statement) > SHOWN_CHARACTERS_MAX:
        made.append(Text(f"... and {len(statement) - SHOWN_CHARACTERS_MAX:,} characters", "dim"))
    return made


def _underlined(marks: tuple[Mark, ...]) -> tuple[_Underlined, ...]:
    """Join the marks of one part."""
    found: dict[tuple[int, int], set[Reason]] = {}
    for mark in marks:
        found.setdefault((mark.start, mark.stop), set()).add(mark.reason)
    return tuple(
        _Underlined(start, stop, in_order(reasons))
        for (start, stop), reasons in sorted(found.items())
    )


def _kept(lines: list[_Line], place: int) -> bool:
    """Keep the head, the tail, and what stands right beside a mark."""
    if place < 8 or place >= len(lines) - 4:
        return True
    marked = (bool(line.marks) for line in lines[place - 1 : place + 2])
    return any(marked) and place < 10 * SHOWN_LINES_MAX


# --- characters and lines -----------------------------------------------------------------------


def _glyphs(statement: str, isolates: dict[int, str]) -> Iterator[list[_Glyph]]:
    """Give the glyphs of each line of the text."""
    line: list[_Glyph] = []
    text = statement[:SHOWN_CHARACTERS_MAX]
    for at, character in enumerate(text):
        if character == "\n":
            yield line
            line = []
        elif character == "\r" and text[at + 1 : at + 2] == "\n":
            continue
        else:
            shown = TAB if character == "\t" else glyph(character)
            line.append(_Glyph(at, shown, cell_len(shown), isolates.get(at, "")))
    if line:
        yield line


def _isolates(statement: str) -> dict[int, str]:
    """Say where an isolate opens or closes: around tokens that run from right to left (visible V2)."""
    found: dict[int, str] = {}
    for token in lay_out(statement).tokens:
        if runs_back(token.text):
            found[token.start] = "\u2068"
            found[token.end - 1] = found.get(token.end - 1, "") + "\u2069"
    return found


def _wrapped(lines: Iterator[list[_Glyph]], width: int) -> Iterator[tuple[_Glyph, ...]]:
    """Break what is wider than the screen, behind a space where there is one."""
    for line in lines:
        rest = line
        while sum(one.width for one in rest) > width:
            fit = taken = 0
            while taken + rest[fit].width <= width:
                taken += rest[fit].width
                fit += 1
            spaces = [i for i in range(fit // 2, fit) if rest[i].shown == " "]
            cut = spaces[-1] + 1 if spaces else max(fit, 1)
            yield tuple(rest[:cut])
            rest = rest[cut:]
        yield tuple(rest)


def _marked(glyphs: tuple[_Glyph, ...], marks: tuple[_Underlined, ...]) -> _Line:
    if not glyphs:
        return _Line((), ())
    first, last = glyphs[0].at, glyphs[-1].at
    return _Line(glyphs, tuple(mark for mark in marks if mark.start <= last and mark.stop > first))


def _text(line: _Line) -> Text:
    text = Text()
    for one in line.glyphs:
        marked = any(mark.start <= one.at < mark.stop for mark in line.marks)
        style = "bold red" if marked else ""
        if len(one.shown) > 1 and one.shown != TAB:
            style += " reverse"
        opens, closes = one.isolate.count("\u2068"), one.isolate.count("\u2069")
        text.append("\u2068" * opens + one.shown + "\u2069" * closes, style.strip())
    return text


# --- carets and labels --------------------------------------------------------------------------


def _carets(line: _Line, width: int) -> list[Text]:
    """Underline the marked parts of a line, and say what was found in those that begin in it."""
    if not line.marks:
        return []
    row, labels = "", []
    for one in line.glyphs:
        here = [mark for mark in line.marks if mark.start <= one.at < mark.stop]
        begun = [mark for mark in here if mark.start == one.at]
        labels += [(len(row), ", ".join(mark.reasons)) for mark in begun]
        row += ("^" if here and one.shown != TAB else " ") * one.width
    row = row.rstrip()
    if not 0 < len(labels) <= LABELS_MAX:
        return [Text(row, "red")] if row else []
    return [Text(text, "red") for text in _labelled(row, labels, width)]


def _labelled(row: str, labels: list[tuple[int, str]], width: int) -> Iterator[str]:
    """Put the last label beside its carets, and the others below, each under its own."""
    at, last = labels[-1]
    if len(row) + 1 + len(last) <= width:
        yield f"{row} {last}"
        labels = labels[:-1]
    else:
        yield row
    while labels:
        at, label = labels[-1]
        at = max(0, min(at, width - len(label)))
        bars = "".join("|" if any(p == i for p, _ in labels[:-1]) else " " for i in range(at))
        yield bars + label
        labels = labels[:-1]

"""What people see: verdicts, previews, facts and tables on a terminal (specification 9).

Invariants
  Z1  Data is shown through `visible` and as `Text`: no markup, no escape sequence, no raw control
      or bidirectional character of it reaches the terminal.
  Z2  Colour says nothing that a sign does not say too.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, assert_never

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eligibility.explaining.found import Mark
from eligibility.explaining.layout import lay_out
from eligibility.explaining.lessons import Example, Explanation, Twin
from eligibility.reasons import Reason, in_order
from eligibility.sql.facts import Release
from eligibility.sql.manifest import Doubt, TableSource, TableSource1
from eligibility.sql.observation import Observation
from eligibility.sql.schema import Pin, Schema
from eligibility.sql.verdicts import Verdict, Verdicts
from eligibility.sql.wording import subject_text
from evidence_adapters.cli import dialects
from evidence_adapters.cli.grid import Grid, shortened
from evidence_adapters.cli.source import statement_lines
from evidence_adapters.cli.visible import isolated, one_line, quotes_isolated, visible
from preview.sources.doubts import said as doubt_said

if TYPE_CHECKING:
    from evidence_adapters.cli.lines import Tally
    from preview import Checked, Snapshot

ROWS_SHOWN = 20
FACTS_SHOWN = 20
COLUMNS_SHOWN = 60
DOUBTS_SHOWN = 10
NAME_WIDTH_MAX = 120
OUTPUTS_SHOWN = 20
MORE_MAX = 4
INDENT = 2

_NUMBERS = frozenset({"integer", "decimal", "float"})


class Screen:
    """Writes to one console."""

    def __init__(self, console: Console, *, everything: bool = False) -> None:
        """Take a console.

        Args:
            console: without markup, highlighting and emoji codes.
            everything: whether long lists are written whole.
        """
        self._console = console
        self._everything = everything
        self._all_shown_by = "--all"
        self._isolates = console.is_terminal
        ascii_only = console.options.ascii_only
        self._yes, self._no, self._arrow = ("+", "-", ">") if ascii_only else ("✓", "✗", "→")
        self._dot, self._cut = (" - ", "~") if ascii_only else (" · ", "…")

    def blank(self) -> None:
        """Leave a line free."""
        self._console.print()

    def say(self, text: str | Text, style: str = "") -> None:
        """Write one paragraph, indented."""
        self._put(Text(text, style) if isinstance(text, str) else text)

    def _put(self, what: RenderableType, indent: int = INDENT) -> None:
        self._console.print(Padding.indent(what, indent))

    def _aside(self, escaped: str) -> str:
        """Keep escaped data in its place on a terminal (visible V2)."""
        return isolated(escaped) if self._isolates else escaped

    def _shown(self, text: str, width: int = NAME_WIDTH_MAX) -> str:
        """Escape data, cut what is too wide, and keep it in its place (visible V1, V2)."""
        return self._aside(shortened(visible(text), width, self._cut))

    def _line(self, text: str) -> str:
        """Escape a line that has data in quotes (visible V1, V2)."""
        escaped = visible(text)
        return quotes_isolated(escaped) if self._isolates else escaped

    @property
    def _width(self) -> int:
        return self._console.width - INDENT

    # --- a statement and its verdicts -----------------------------------------------------------

    def checked(self, statement: str, schema: Schema, checked: "Checked") -> None:
        """Show a statement, what is at fault in it, each output's verdict, and what would help.

        Args:
            statement: the text as it was written.
            schema: the pinned tables.
            checked: what was decided of it.
        """
        self.blank()
        for line in statement_lines(statement, checked.marks, self._width, isolate=self._isolates):
            self._put(line)
        self.blank()
        self._whole(checked)
        outputs = checked.outputs
        if outputs and not checked.reasons:
            self._put(self._outputs(statement, schema, checked))
            self._rest(len(outputs) - len(self._listed(outputs)), "eligible outputs")
            self.blank()
        self._put(Text(self._conclusion(checked), "bold"))
        if checked.note:
            self._put(Text(visible(one_line(checked.note)), "yellow"))
        self._more(checked)

    def _whole(self, checked: "Checked") -> None:
        """Say why the whole statement is withheld, if it is."""
        for reason in checked.reasons:
            self._put(Text.assemble((f"{self._no} ", "red"), self._reason(reason)))
        if checked.reasons:
            for said in dict.fromkeys(edit.title for edit in checked.edits):
                self._put(self._edit(said), 2 * INDENT)
            self.blank()

    def _outputs(self, statement: str, schema: Schema, checked: "Checked") -> Table:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(justify="right", style="dim", no_wrap=True)
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        told: set[str] = set()
        written = _written(statement, checked)
        edits = {edit.output: edit.title for edit in checked.edits}
        for output in self._listed(checked.outputs):
            number = str(output.position + 1)
            name = Text(self._shown(output.name or written[output.position], self._width // 3))
            if output.label is not None:
                label = self._line(subject_text(output.label, schema))
                grid.add_row(number, Text(self._yes, "green"), name, Text(label, "green"))
                continue
            said = Text("\n").join(self._reason(reason) for reason in output.reasons)
            title = edits.get(output.position)
            if title is not None and title not in told:
                told.add(title)
                said = Text("\n").join((said, self._edit(title)))
            grid.add_row(number, Text(self._no, "red"), name, said)
        return grid

    def _listed(self, outputs: tuple[Verdict, ...]) -> list[Verdict]:
        """Choose which outputs are listed: every withheld one, and not too many others."""
        few = self._everything or len(outputs) <= OUTPUTS_SHOWN
        eligible = [output.position for output in outputs if output.label is not None]
        first = frozenset(eligible if few else eligible[: OUTPUTS_SHOWN // 2])
        return [output for output in outputs if output.label is None or output.position in first]

    def _reason(self, reason: Reason) -> Text:
        return Text.assemble(reason.sentence, (f" ({reason.value})", "yellow"))

    def _edit(self, title: str) -> Text:
        said = self._line(" ".join(title.split()))
        return Text.assemble((f"{self._arrow} ", "cyan"), (said, "cyan"))

    def _conclusion(self, verdicts: Verdicts) -> str:
        outputs = verdicts.outputs
        eligible = sum(output.label is not None for output in outputs)
        engine = {
            "agrees": "Both readings agree.",
            "disagrees": "The engine's plan does not agree with the text.",
            "refused": "The engine does not run it.",
            "failed": "The engine could not bind it.",
            "not-asked": "The text alone was read; no engine was asked.",
        }[verdicts.engine]
        if verdicts.reasons:
            # Where the text withholds the whole statement, there is nothing to agree on.
            return "Nothing can be stated." + ("" if verdicts.engine == "agrees" else f" {engine}")
        if len(outputs) == 1:
            said = "The output can be stated." if eligible else "The output cannot be stated."
        elif eligible in (0, len(outputs)):
            which = "All" if eligible else "None of the"
            said = f"{which} {len(outputs)} outputs can be stated."
        else:
            said = f"{eligible} of {len(outputs)} outputs can be stated."
        return f"{said} {engine}"

    def _more(self, checked: "Checked") -> None:
        withheld = (output.reasons for output in checked.outputs)
        marked = [mark.reason for mark in checked.marks]
        reasons = in_order(
            reason for some in (checked.reasons, *withheld, marked) for reason in some
        )
        for reason in reasons[:MORE_MAX]:
            self._put(Text(f"more: eligibility reasons {reason.value}", "dim"))

    def tally(self, tally: "Tally", seconds: float) -> None:
        """Show what was found in a batch, and how often each reason was."""
        self.blank()
        statements = "1 statement" if tally.statements == 1 else f"{tally.statements:,} statements"
        self.say(f"{statements} in {seconds:,.1f} s", "bold")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(f"{tally.eligible:,}", Text("eligible: every output can be stated", "green"))
        grid.add_row(f"{tally.partly:,}", Text("partly: some can", "green"))
        grid.add_row(f"{tally.withheld:,}", Text("withheld: none can", "red"))
        if tally.malformed:
            grid.add_row(f"{tally.malformed:,}", Text("malformed: lines of another form", "yellow"))
        if tally.reasons:
            grid.add_row()
            grid.add_row(Text("statements", "dim"), Text("reason", "dim"))
        for reason, count in tally.by_frequency():
            grid.add_row(f"{count:,}", self._reason(reason))
        self._put(grid)

    # --- a preview ------------------------------------------------------------------------------

    def preview(
        self,
        observation: Observation,
        release: Release | None = None,
        verdicts: Verdicts | None = None,
    ) -> None:
        """Show the recorded rows, each cell that is released marked.

        Args:
            observation: what was recorded.
            release: what is released of it; None where nothing was asked.
            verdicts: of its outputs; None likewise.
        """
        released = None
        if release is not None:
            released = frozenset((fact.row, fact.column) for fact in release.facts)
        labels = tuple(o.label is not None for o in verdicts.outputs) if verdicts else ()
        grid = Grid(observation, released, labels, self._yes, self._cut, self._aside)
        shown = len(observation.rows) if self._everything else ROWS_SHOWN
        tables, left = grid.tables(shown, self._width, everything=self._everything)
        for table in tables:
            self._put(table)
        self._rest(left, "rows")

    def _rest(self, count: int, what: str) -> None:
        if count > 0:
            noun = what if count > 1 else what.removesuffix("s")
            shown_by = f"({self._all_shown_by} shows them)"
            self._put(Text(f"{self._cut} and {count:,} more {noun} {shown_by}", "dim"))

    def captured(self, observation: Observation) -> None:
        """Show what was recorded, and the digest to keep."""
        self.blank()
        self.preview(observation)
        self.blank()
        if _first_is_too_long(observation):
            rows = "no row, since the first one is over the limit of 64 KiB"
        else:
            rows = f"{len(observation.rows)} rows" if len(observation.rows) != 1 else "1 row"
        is_cut = observation.truncated is not None and observation.rows
        cut = ", the first of a longer result" if is_cut else ""
        self.say(f"Recorded: {rows}{cut}.", "bold")
        self.say(f"snapshot  {observation.snapshot}", "dim")
        self.say(f"digest    {observation.digest}")

    # --- a release ------------------------------------------------------------------------------

    def release(self, release: Release, observation: Observation, verdicts: Verdicts) -> None:
        """Show what is released, what is not and why, and how far it reaches."""
        self._put(Text(reach(observation, release, verdicts), "bold"))
        self.blank()
        self._facts(release)
        self._withheld(release, verdicts)
        if release.no_answer_reason is not None:
            where = f" at {release.no_answer_at}" if release.no_answer_at else ""
            self._put(
                Text.assemble(
                    (f"{self._no} Nothing is released{where}: ", "red"),
                    self._reason(release.no_answer_reason),
                )
            )
        self._origin(release, observation)

    def _facts(self, release: Release) -> None:
        facts = release.facts if self._everything else release.facts[:FACTS_SHOWN]
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(style="green", no_wrap=True)
        grid.add_column(style="green", overflow="fold")
        for fact in facts:
            grid.add_row(self._arrow, Text(self._line(fact.text)))
        self._put(grid)
        self._rest(len(release.facts) - len(facts), "facts")

    def _withheld(self, release: Release, verdicts: Verdicts) -> None:
        """Say why single cells of eligible outputs are withheld; other outputs have said so."""
        eligible = {output.position for output in verdicts.outputs if output.label is not None}
        reasons = [w.reasons[0] for w in release.withheld if w.column in eligible]
        for reason in in_order(reasons):
            count = reasons.count(reason)
            what = "1 cell" if count == 1 else f"{count} cells"
            self._put(
                Text.assemble((f"{self._no} {what} withheld: ", "yellow"), self._reason(reason))
            )

    def _origin(self, release: Release, observation: Observation) -> None:
        parts = [
            f"observation {observation.digest[:16]}",
            f"snapshot {observation.snapshot[:16]}",
            f"{observation.engine.name} {observation.engine.version}",
        ]
        self.blank()
        self._put(Text(self._dot.join(map(visible, parts)), "dim"))

    # --- snapshots ------------------------------------------------------------------------------

    def snapshot(self, snapshot: "Snapshot", *, into: str | None = None) -> None:
        """Show a snapshot and its tables; after a pin into a folder, whether it was there already."""
        if into is not None:
            same = "These rows are pinned there already; nothing was written."
            self.say("Pinned." if snapshot.created else same, "bold")
            self._all_shown_by = f"eligibility tables {visible(shlex.quote(into))} --all"
        self.say(f"snapshot  {snapshot.id}")
        self.say(f"manifest  {snapshot.manifest_sha256}", "dim")
        for pin, source in zip(snapshot.pins, snapshot.manifest.sources, strict=True):
            self.blank()
            self._pin(pin, source)

    def _pin(self, pin: Pin, source: TableSource | TableSource1) -> None:
        name = ".".join(map(self._shown, pin.path if pin.path[0] != "main" else pin.path[1:]))
        rows = "1 row" if pin.rows == 1 else f"{pin.rows:,} rows"
        where = self._shown(dialects.origin(source))
        self.say(Text.assemble((name, "bold"), f"  {rows}", (f"  from {where}", "dim")))
        self._put(Text(f"content {pin.content_sha256}", "dim"), 2 * INDENT)
        if isinstance(source, TableSource1):
            self._read_as(dialects.decisions_1(source))
            self._columns(pin, {})
            return
        if source.origin is not None:
            self._put(Text(self._line(dialects.version(source.origin))), 2 * INDENT)
        self._read_as(dialects.decisions(source.dialect))
        self._columns(pin, dialects.column_notes(source.dialect))
        self._doubts(source.doubts)

    def _read_as(self, said: tuple[str, ...]) -> None:
        if said:
            self._put(Text(f"read as {self._dot.join(map(self._line, said))}"), 2 * INDENT)

    def _columns(self, pin: Pin, notes: Mapping[str, str]) -> None:
        columns = Text(overflow="fold")
        shown = pin.columns if self._everything else pin.columns[:COLUMNS_SHOWN]
        for place, column in enumerate(shown):
            columns.append(", " if place else "")
            columns.append(self._shown(column.name))
            columns.append(f" {visible(column.type)}", "cyan")
            columns.append(" with NaN" if column.nan else "", "yellow")
            if column.name in notes:
                columns.append(f" ({self._shown(notes[column.name])})", "dim")
        self._put(columns, 2 * INDENT)
        self._rest(len(pin.columns) - len(shown), "columns")

    def _doubts(self, doubts: tuple[Doubt, ...]) -> None:
        """Show what looks like more than it was read as, each with the option to paste."""
        if not doubts:
            return
        count = "1 doubt" if len(doubts) == 1 else f"{len(doubts):,} doubts"
        self._put(Text(f"{count}: what looks like more than it was read as", "yellow"), 2 * INDENT)
        shown = doubts if self._everything else doubts[:DOUBTS_SHOWN]
        for doubt in shown:
            told = Table.grid(padding=(0, 1, 0, 0))
            told.add_row(Text("?", "yellow"), Text(self._line(doubt_said(doubt))))
            self._put(told, 2 * INDENT)
            if doubt.option:
                # On one line, however long: it is there to be copied.
                option = f"{' ' * 3 * INDENT}{self._arrow} {self._line(doubt.option)}"
                self._console.print(Text(option, "cyan"), soft_wrap=True)
        self._rest(len(doubts) - len(shown), "doubts")

    # --- teaching -------------------------------------------------------------------------------

    def reasons(self) -> None:
        """Show every code with its sentence, in order of precedence."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="yellow", no_wrap=True)
        grid.add_column(overflow="fold")
        for reason in Reason:
            grid.add_row(reason.value, reason.sentence)
        self._put(grid)

    def lesson(self, lesson: Explanation) -> None:
        """Show one reason: its sentence, its smallest example, its twin, and the edit between."""
        self.say(Text(lesson.code.value, "bold yellow"))
        self.say(lesson.sentence)
        self.blank()
        example = lesson.example
        if example is None:
            self.say("No statement alone meets it.", "dim")
            return
        twin, edit = example.twin, example.edit
        self._example(f"{self._no} withheld", "red", example, example.said, example.marks)
        if twin is not None:
            self._example(f"{self._yes} eligible", "green", twin)
        if edit is not None:
            self._put(self._edit(edit.title))
            if twin is None or edit.statement.strip("; ") != twin.statement.strip("; "):
                for line in statement_lines(edit.statement, (), self._width - INDENT):
                    self._put(line, 2 * INDENT)

    def _example(
        self,
        title: str,
        style: str,
        example: Example | Twin,
        said: str = "",
        marks: tuple[Mark, ...] = (),
    ) -> None:
        self._put(Text.assemble((title, style), (f": {visible(said)}" if said else "", "dim")))
        width = self._width - INDENT
        for line in statement_lines(example.statement, marks, width, isolate=self._isolates):
            self._put(line, 2 * INDENT)
        self.blank()
        for decided in example.verdicts:
            self._put(Text(visible(decided), "dim"), 2 * INDENT)
        self.blank()


def _written(statement: str, verdicts: Verdicts) -> list[str]:
    """Give each output as it stands in the select list; a sign where that is not known."""
    layout = lay_out(statement)
    outputs = verdicts.outputs
    if len(layout.items) != len(outputs):
        return ["-"] * len(outputs)
    return [" ".join(layout.written(item.tokens).split()) for item in layout.items]


def reach(observation: Observation, release: Release, verdicts: Verdicts) -> str:
    """Say whether the preview is the whole result, and the whole table.

    Args:
        observation: what was recorded.
        release: which knows how complete it is.
        verdicts: which know what chose the rows.

    Returns:
        One or two sentences.
    """
    count = len(observation.rows)
    rows = "1 row" if count == 1 else f"{count} rows"
    if _first_is_too_long(observation):
        return "There are rows, but none is shown: the first one is over the limit of 64 KiB."
    match observation.truncated:
        case "bytes":
            return f"The first {rows} of a longer result: the next one is over the limit of 64 KiB."
        case "rows":
            return f"The first {rows} of a longer result."
        case None:
            pass
        case other:
            assert_never(other)
    if release.complete.table:
        return f"{rows.capitalize()}: the whole result, and the whole table."
    why = ", ".join(_chosen(verdicts))
    return f"{rows.capitalize()}: the whole result" + (f", chosen by {why}." if why else ".")


def _first_is_too_long(observation: Observation) -> bool:
    return observation.truncated == "bytes" and not observation.rows


def _chosen(verdicts: Verdicts) -> Iterator[str]:
    selection = verdicts.selection
    if verdicts.filter.kind != "none":
        yield "WHERE"
    if verdicts.groups:
        yield "GROUP BY"
    for name in ("having", "distinct", "limit", "offset"):
        if getattr(selection, name):
            yield name.upper()

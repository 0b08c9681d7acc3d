"""The recorded rows as a table, each cell that is released marked (specification 9).

Columns stand side by side where they fit the width; else each column is a line, and the rows stand
side by side.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text

from eligibility.sql.observation import Observation, OutputColumn
from eligibility.sql.types import type_class
from evidence_adapters.cli.visible import cell, visible

CELL_WIDTH_MAX = 40
CELL_WIDTH_BESIDE = 24  # where columns are lines
CELL_CHARACTERS_READ = 600
GAP = 2

_NUMBERS = frozenset({"integer", "decimal", "float"})


@dataclass(frozen=True, slots=True)
class Grid:
    """The recorded rows, and which of their cells are released.

    Attributes:
        observation: what was recorded.
        released: (row, column) of the released cells; None where nothing was asked.
        labels: for each column, whether it is eligible; empty where it is not known.
        mark: stands behind a released cell.
        cut: stands where a text is cut.
        aside: keeps escaped text in its place (visible V2).
    """

    observation: Observation
    released: frozenset[tuple[int, int]] | None
    labels: tuple[bool, ...]
    mark: str
    cut: str
    aside: Callable[[str], str]

    def tables(self, shown: int, width: int, *, everything: bool) -> tuple[list[Table], int]:
        """Make the tables.

        Args:
            shown: how many rows at most, where columns stand side by side.
            width: of the screen, in cells.
            everything: whether all rows are shown, in as many tables as that takes.

        Returns:
            The tables, and how many rows are left out.
        """
        count = len(self.observation.rows)
        upright = range(min(shown, count))
        if self._width(upright) <= width:
            return [self._upright(upright)], count - len(upright)
        tables: list[Table] = []
        first = 0
        while not tables or (everything and first < count):
            rows = self._fitting(first, min(count, first + shown), width)
            tables.append(self._sideways(rows, width))
            first = rows.stop
        return tables, count - first

    # --- columns side by side -------------------------------------------------------------------

    def _width(self, rows: range) -> int:
        widths = (
            max(
                [self._head(c).cell_len, *(self._cell(r, c, CELL_WIDTH_MAX).cell_len for r in rows)]
            )
            for c in self.observation.columns
        )
        return len(str(rows.stop)) + sum(GAP + width for width in widths)

    def _upright(self, rows: range) -> Table:
        table = _bare_table("bold")
        for column in self.observation.columns:
            right = type_class(column.type) in _NUMBERS
            head = self._head(column)
            head.justify = "right" if right else "left"
            table.add_column(head, justify=head.justify, no_wrap=True)
        for row in rows:
            cells = (self._cell(row, column, CELL_WIDTH_MAX) for column in self.observation.columns)
            table.add_row(str(row + 1), *cells)
        return table

    # --- rows side by side ----------------------------------------------------------------------

    def _fitting(self, first: int, last: int, width: int) -> range:
        """Say which rows fit beside each other; at least one, where there is one."""
        columns = self.observation.columns
        room = width - len(str(len(columns))) - GAP - self._head_width()
        for row in range(first, last):
            cells = (self._cell(row, column, CELL_WIDTH_BESIDE).cell_len for column in columns)
            room -= GAP + max(len(f"row {row + 1}"), *cells)
            if room < 0:
                return range(first, max(row, first + 1))
        return range(first, last)

    def _head_width(self) -> int:
        widest = max(self._head(column).cell_len for column in self.observation.columns)
        return min(CELL_WIDTH_BESIDE, widest)

    def _sideways(self, rows: Iterable[int], width: int) -> Table:
        table = _bare_table("dim")
        table.add_column("", max_width=self._head_width(), no_wrap=True, overflow="crop")
        rows = list(rows)
        for row in rows:
            table.add_column(f"row {row + 1}", no_wrap=True, overflow="crop")
        for column in self.observation.columns:
            cells = (self._cell(row, column, CELL_WIDTH_BESIDE) for row in rows)
            table.add_row(str(column.position + 1), self._head(column), *cells)
        return table

    # --- cells ----------------------------------------------------------------------------------

    def _head(self, column: OutputColumn) -> Text:
        name = visible(column.name[:CELL_CHARACTERS_READ]) or "-"
        text = Text(self.aside(shortened(name, CELL_WIDTH_BESIDE, self.cut)))
        if self.released is not None:
            eligible = self.labels[column.position : column.position + 1] == (True,)
            text.stylize("" if eligible else "dim")
            text.append("  ")
        return text

    def _cell(self, row: int, column: OutputColumn, width: int) -> Text:
        value = self.observation.rows[row][column.position].text
        if value is None:
            text = Text("NULL", "dim italic")
        else:
            escaped = cell(value[:CELL_CHARACTERS_READ])
            text = Text(self.aside(shortened(escaped, width, self.cut)))
        if self.released is None:
            return text
        if (row, column.position) in self.released:
            text.append(f" {self.mark}")
            text.stylize("green")
        else:
            text.append("  ")
            text.stylize("dim")
        return text


def shortened(text: str, width: int, sign: str) -> str:
    """Cut a text that is too wide.

    Args:
        text: escaped, and not yet isolated, or its isolate would stay open.
        width: how many cells it may take.
        sign: stands where it is cut, one cell wide.

    Returns:
        The text, or its beginning with the sign.
    """
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + sign


def _bare_table(header_style: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style=header_style)
    table.add_column("", style="dim", justify="right", no_wrap=True)
    return table

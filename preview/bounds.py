"""How far the sums of floats in a result may be off: asked of the engine by a statement of our own.

The statement runs where every other one does, in the child and on its sealed connection, after the
result is there and for sums of floats alone that the plan lets be stated. It has the same limits,
and a time of its own: what it cannot find has no bound, and the other cells are not harmed.

Invariants
  D1  A bound is of exactly the rows that made its cell: those of the group and the filter that
      label it, as the plan tells them.
  D2  The statement is made by `eligibility.sql.recount`; nothing of the recorded text is in it.
"""

from dataclasses import dataclass

from eligibility.sql import bound, recount
from eligibility.sql.facts import GroupCell
from eligibility.sql.observation import Cell, CellBound
from eligibility.sql.schema import Pin
from eligibility.sql.shape import Added, Aggregate, Shape, added
from eligibility.sql.types import type_class
from preview.engine import Captured, Measured


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for one result.

    Attributes:
        statement: to be executed.
        rows: of the result, in the order of the groups that are asked for.
        sums: position and calculation of the outputs that are asked for, in order.
        captured: the result.
    """

    statement: str
    rows: tuple[int, ...]
    sums: tuple[tuple[int, Added], ...]
    captured: Captured

    def bounds(self, measured: Measured) -> tuple[CellBound, ...]:
        """Give the bounds, in order of row, then column, of what could be found."""
        found = []
        for place, *sizes in measured.rows:
            row = self.rows[int(place or 0)]
            for (column, calculation), count, size in zip(
                self.sums, sizes[::2], sizes[1::2], strict=True
            ):
                value = self.captured.rows[row][column]
                if value is None or count is None or size is None:
                    continue
                made = bound.of_floats(calculation, value, int(count), size)
                if made is not None:
                    found.append(CellBound(row=row, column=column, bound=made))
        return tuple(sorted(found, key=lambda one: (one.row, one.column)))


def question(captured: Captured, pins: tuple[Pin, ...]) -> Question | None:
    """Say what is to be asked for a result.

    Args:
        captured: the result.
        pins: the pinned tables.

    Returns:
        The question; None where the plan shows no sum of floats that may be stated.
    """
    shape = captured.reading.shape
    if shape is None or not shape.aggregated or not captured.rows:
        return None
    pin = next(pin for pin in pins if pin.path == shape.table)
    sums = tuple(_sums(shape, pin))
    if not sums:
        return None
    keys = _keys(shape)
    if keys is None:
        return None
    rows = range(len(captured.rows))
    groups = [
        tuple(
            GroupCell(
                column=name,
                cell=Cell(type=captured.types[place], text=captured.rows[row][place]),
            )
            for name, place in keys
        )
        for row in rows
    ]
    columns = [column for _, _, column in sums]
    statement = recount.extents(pin, columns, shape.filter, groups)
    if statement is None:
        return None
    return Question(statement, tuple(rows), tuple(one[:2] for one in sums), captured)


def _sums(shape: Shape, pin: Pin) -> list[tuple[int, Added, str]]:
    """Give position, calculation and column of every sum of floats."""
    found: list[tuple[int, Added, str]] = []
    for position, made in enumerate(shape.outputs):
        if not isinstance(made, Aggregate) or made.column is None:
            continue
        column = pin.column(made.column)
        assert column is not None  # the reading took the name from this pin
        calculation = added(made.calculation)
        if type_class(column.type) == "float" and calculation is not None:
            found.append((position, calculation, made.column))
    return found


def _keys(shape: Shape) -> list[tuple[str, int]] | None:
    """Give name and position of every group key; None where one is not shown."""
    keys = []
    for key in shape.groups:
        if key.kind != "column" or key not in shape.outputs:
            return None
        keys.append((key.column, shape.outputs.index(key)))
    return keys

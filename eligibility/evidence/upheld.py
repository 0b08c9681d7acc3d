"""The facts of recorded rows against the pinned table itself, by statements of our own.

For results that differ from one execution to the next, where there is no row to compare with: a
calculation is made again over the rows that its label names, and a stored value has to be there.

Invariants
  U1  What is asked is made from labels, groups and the filter (`eligibility.sql.recount`).
  U2  Values of one result row that are stored values must stand in one row of the table.
  U3  What cannot be asked, since a statement would be too long, is not upheld and not refuted.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from eligibility.evidence.verification import Code
from eligibility.sql import bound, recount
from eligibility.sql.facts import GroupCell
from eligibility.sql.limits import refusal
from eligibility.sql.observation import Cell, Observation, OutputColumn
from eligibility.sql.schema import Pin
from eligibility.sql.shape import Predicate, Shape, added, unstatable_reasons
from eligibility.sql.types import type_class
from eligibility.sql.verdicts import Label

Executed = Observation | Code
Execute = Callable[[Observation, str], Executed]
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """How the cells of one output are compared.

    Attributes:
        kind: `exact` to the character; `sum` of floats within a bound; `average` of an exact sum
            within its roundings; `open` where nothing states it and nothing can be said of a
            difference.
        label: of an output that may be stated.
    """

    kind: Literal["exact", "sum", "average", "open"]
    label: Label | None = None


def column(label: Label | None, output: OutputColumn, pins: Sequence[Pin]) -> Column:
    """Say how an output is compared.

    Args:
        label: what it may be stated as; None where it may not.
        output: the column of the result.
        pins: the pinned tables.
    """
    is_float = type_class(output.type) == "float"
    if label is None:
        return Column("open" if is_float else "exact")
    match added(label.calculation) if is_float else None:
        case None:
            return Column("exact", label)
        case "SUM" | "AVG":
            pin = next(pin for pin in pins if pin.path == label.table)
            native = pin.column(label.column or "")
            summed = native is not None and type_class(native.type) == "float"
            return Column("sum" if summed else "average", label)
        case other:
            assert_never(other)


def same_average(one: Cell, other: Cell) -> bool:
    """Say whether two averages of one exact sum differ by no more than their roundings (replay T2)."""
    if one.text is None or other.text is None:
        return one == other
    limit = bound.of_exact_sum(other.text)
    return one == other or (limit is not None and bound.within(one.text, other.text, limit))


def recorded_bound(observation: Observation, row: int, column: int) -> str | None:
    """Give the bound of a cell; None where it has none."""
    for each in observation.bounds or ():
        if (each.row, each.column) == (row, column):
            return each.bound
    return None


class Table:
    """The table that a statement reads, and what can be asked of it."""

    def __init__(
        self, observation: Observation, shape: Shape, columns: Sequence[Column], execute: Execute
    ) -> None:
        """Take what is asked about.

        Args:
            observation: what was recorded.
            shape: what the engine reads its statement as now.
            columns: how each output is compared.
            execute: see `eligibility.evidence.replay.compared`.
        """
        self._observation = observation
        self._shape = shape
        self._columns = columns
        self._execute = execute
        self._pin = next(pin for pin in observation.pins if pin.path == shape.table)
        condition = shape.filter
        stated = condition is not None and not unstatable_reasons(condition)
        self._condition: Predicate | None = condition if stated else None

    def ask(self, statement: str | None) -> Row | Code | None:
        """Execute a statement of one row; None where there is none, or it is too long (U3)."""
        if statement is None or refusal(statement) is not None:
            return None
        found = self._execute(self._observation, statement)
        return found if isinstance(found, Code) else found.rows[0]

    def is_order(self, keys: Sequence[str]) -> bool | Code:
        """Say whether some columns tell all rows that are read apart."""
        found = self.ask(recount.repeats(self._pin, keys, self._condition))
        if isinstance(found, Code):
            return found
        return found is not None and found[0].text in (None, "0")

    def bound_of(self, row: Row, place: int, value: str) -> str | Code | None:
        """Find the bound of a sum of floats by the rows that made it.

        Args:
            row: a recorded row, whose keys name the group.
            place: of the sum.
            value: the sum.

        Returns:
            The bound; None where these values have none; or why it could not be found.
        """
        label = self._columns[place].label
        assert label is not None  # only a column of the kind `sum` is asked for
        calculation = added(label.calculation)
        assert calculation is not None  # that kind is of what is added up alone
        held = self._held(row)
        asked = recount.sizes(self._pin, label.column or "", self._condition, held)
        found = self.ask(asked)
        if found is None or isinstance(found, Code):
            return found or Code.BOUND_UNKNOWN
        count, size = found[0].text or "0", found[1].text or "nan"
        return bound.of_floats(calculation, value, int(count), size)

    def refuted(self) -> Iterator[tuple[Code, str]]:
        """Give every recorded row that states what is not so, and what could not be asked."""
        for at in range(len(self._observation.rows)):
            for code, place in self._row(at):
                yield code, f"/rows/{at}{place}"

    def _held(self, row: Row) -> list[GroupCell]:
        """Give the stored values of a row: of a group, its keys."""
        return [
            GroupCell(column=one.label.column or "", cell=cell)
            for one, cell in zip(self._columns, row, strict=True)
            if one.label is not None and one.label.kind == "column"
        ]

    def _row(self, at: int) -> Iterator[tuple[Code, str]]:
        row = self._observation.rows[at]
        held = self._held(row)
        calculated = [
            (place, one.label)
            for place, one in enumerate(self._columns)
            if one.label is not None and one.label.calculation is not None
        ]
        if not held and not calculated:
            return
        asked = [(label.calculation, label.column) for _, label in calculated if label.calculation]
        for part in [held] if calculated else _parts(held):
            found = self.ask(recount.counted(self._pin, asked, self._condition, part))
            if found is None:
                continue
            if isinstance(found, Code):
                yield found, ""
            elif part and found[0].text == "0":
                yield Code.RESULT_DIFFERS, ""
            else:
                for (place, _), cell in zip(calculated, found[1:], strict=True):
                    if (code := self._calculation(at, place, cell)) is not None:
                        yield code, f"/{place}"

    def _calculation(self, at: int, place: int, true: Cell) -> Code | None:
        """Compare a recorded calculation with the one that was made again."""
        row = self._observation.rows[at]
        cell, kind = row[place], self._columns[place].kind
        if kind == "average":
            return None if same_average(cell, true) else Code.RESULT_DIFFERS
        if kind != "sum" or cell.text is None or true.text is None:
            return None if cell.text == true.text else Code.RESULT_DIFFERS
        then, limit = recorded_bound(self._observation, at, place), None
        if then is None and self._observation.bounds is not None:
            return None  # nothing states it
        limit = self.bound_of(row, place, true.text)
        if isinstance(limit, Code):
            return limit
        if limit is None or not bound.within(cell.text, true.text, limit):
            return Code.RESULT_DIFFERS
        if then is None:
            return Code.BOUND_UNKNOWN
        return None if bound.same(then, limit) else Code.RESULT_DIFFERS


def _parts(held: list[GroupCell]) -> Iterator[list[GroupCell]]:
    """Give stored values in parts that fit into a statement."""
    for start in range(0, len(held), _TOGETHER):
        yield held[start : start + _TOGETHER]


_TOGETHER = 16

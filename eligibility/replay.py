"""An observation against another execution of its statement over the same snapshot.

Invariants
  T1  What was recorded is never taken for what is found now: without another execution nothing
      here is established, and that is said.
  T2  Cells are equal to the character. Only a SUM or AVG of floats may differ, and no further than
      adding up the same values in another order can make it.
  T3  A result that differs is a failure unless the statement itself gives different results from
      one execution to the next, which is tried; then it is unverified.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from eligibility.classify import classify
from eligibility.evidence import Cell, Label, Observation
from eligibility.types import type_class
from eligibility.verification import Code

EXECUTIONS_MAX = 3

Executed = Observation | Code
Execute = Callable[[Observation, str], Executed]
Found = tuple[Code, str]
Row = tuple[Cell, ...]

# Names whose value is another one at another time.
_CHANGING = re.compile(
    r"\b(?:age|current_date|current_time|current_timestamp|current_localtime|localtime"
    r"|current_localtimestamp|localtimestamp|gen_random_uuid|get_current_time"
    r"|get_current_timestamp|now|random|today|transaction_timestamp|uuid|uuidv4|uuidv7)\b",
    re.IGNORECASE,
)
_UNIT = 2.0**-53  # the relative rounding error of one addition


def compared(observation: Observation, execute: Execute | None) -> list[Found]:
    """Execute a statement again and compare what it gives.

    Args:
        observation: what was recorded.
        execute: executes a statement as the observation was, over a snapshot of the same id; gives
            a code where it cannot. None where there is no snapshot.

    Returns:
        What was found, each with a JSON pointer into the observation.
    """
    if execute is None:
        return [(Code.ENGINE_NOT_ASKED, "/reading")]
    again = execute(observation, observation.statement)
    if isinstance(again, Code):
        return [(again, "/reading")]
    if again.snapshot != observation.snapshot or again.pins != observation.pins:
        return [(Code.SNAPSHOT_DIFFERS, "/snapshot")]
    if (again.engine.name, again.engine.version) != (
        observation.engine.name,
        observation.engine.version,
    ):
        return [(Code.ENGINE_ABSENT, "/engine/version")]
    comparison = _Comparison(observation, execute)
    return [*_circumstances(observation, again), *comparison.found(again)]


def _circumstances(observation: Observation, again: Observation) -> Iterator[Found]:
    """Compare all but the rows; a file that was made anew has plans of its own."""
    same_file = again.manifest_sha256 == observation.manifest_sha256
    if not same_file:
        yield Code.MANIFEST_DIFFERS, "/manifest_sha256"
    if again.engine.settings != observation.engine.settings:
        yield Code.SETTINGS_DIFFER, "/engine/settings"
    then, now = observation.reading, again.reading
    if (then.shape, then.reasons) != (now.shape, now.reasons) or (
        same_file and then.plan_sha256 != now.plan_sha256
    ):
        yield Code.READING_DIFFERS, "/reading"
    if again.columns != observation.columns:
        yield Code.RESULT_DIFFERS, "/columns"


@dataclass(frozen=True, slots=True)
class _Column:
    """How the cells of one column are compared.

    Attributes:
        kind: `exact`, `sum` within a bound, or `open` where nothing can be said of a difference.
        label: of a sum.
    """

    kind: Literal["exact", "sum", "open"]
    label: Label | None = None


class _Comparison:
    """One observation and the executions it is compared with."""

    def __init__(self, observation: Observation, execute: Execute) -> None:
        self._observation = observation
        self._execute = execute
        self._bounds: dict[Label, float | None] = {}

    @cached_property
    def _columns(self) -> tuple[_Column, ...]:
        seen = self._observation
        outputs = classify(seen.statement, seen.schema_, seen.reading).outputs
        labels = [output.label for output in outputs] or [None] * len(seen.columns)
        return tuple(
            _column(label, type_class(column.type) == "float")
            for label, column in zip(labels, seen.columns, strict=True)
        )

    def found(self, again: Observation) -> list[Found]:
        """Compare the rows with those of up to three executions (T3)."""
        if again.columns != self._observation.columns:
            return []
        executions = [again]
        while True:
            found = self._differences(self._observation, executions[-1])
            if not any(code is Code.RESULT_DIFFERS for code, _ in found):
                return found
            if self._same_in_any_order(executions[-1]):
                return [(Code.ORDER_DIFFERS, "/rows")]
            if len(executions) == EXECUTIONS_MAX:
                break
            more = self._execute(self._observation, self._observation.statement)
            if isinstance(more, Code):
                return [(more, "/rows")]
            executions.append(more)
        repeated = (self._differences(again, other) for other in executions[1:])
        changes = any(code is Code.RESULT_DIFFERS for each in repeated for code, _ in each)
        if changes or _CHANGING.search(self._observation.statement):
            return [(Code.NOT_REPEATABLE, found[0][1])]
        return found

    def _differences(self, one: Observation, other: Observation) -> list[Found]:
        found: list[Found] = []
        if one.truncated != other.truncated:
            found.append((Code.RESULT_DIFFERS, "/truncated"))
        for at, (row, beside) in enumerate(zip(one.rows, other.rows, strict=False)):
            found += [(code, f"/rows/{at}/{place}") for code, place in self._row(row, beside)]
        if len(one.rows) != len(other.rows):
            found.append((Code.RESULT_DIFFERS, f"/rows/{min(len(one.rows), len(other.rows))}"))
        return found

    def _row(self, row: Row, beside: Row) -> Iterator[tuple[Code, int]]:
        for place, (cell, other) in enumerate(zip(row, beside, strict=True)):
            if cell == other:
                continue
            column = self._columns[place]
            if column.label is not None and column.kind == "sum":
                bound = self._bound(column.label)
                if bound is None:
                    yield Code.BOUND_UNKNOWN, place
                elif not _within(cell, other, bound):
                    yield Code.RESULT_DIFFERS, place
            else:
                exact = column.kind == "exact"
                yield (Code.RESULT_DIFFERS if exact else Code.WITHHELD_DIFFERS), place

    def _same_in_any_order(self, again: Observation) -> bool:
        """Say whether both hold the same rows, where each holds every row of the result."""
        seen = self._observation
        if seen.truncated or again.truncated or len(seen.rows) != len(again.rows):
            return False
        pairs = zip(
            sorted(seen.rows, key=self._key), sorted(again.rows, key=self._key), strict=True
        )
        return not any(list(self._row(row, beside)) for row, beside in pairs)

    def _key(self, row: Row) -> tuple[tuple[bool, str], ...]:
        return tuple(
            (cell.text is None, cell.text or "")
            for cell, column in zip(row, self._columns, strict=True)
            if column.kind == "exact"
        )

    def _bound(self, label: Label) -> float | None:
        if label not in self._bounds:
            self._bounds[label] = self._found_bound(label)
        return self._bounds[label]

    def _found_bound(self, label: Label) -> float | None:
        """Say how far a sum's two orders can be apart (T2).

        Adding n values rounds by at most n units of the sum of their magnitudes, whatever the
        order; that sum is at most n times the greatest magnitude in the column.
        """
        column, table = _quoted(label.column or ""), ".".join(map(_quoted, label.table))
        wanted = f"SELECT MIN({column}), MAX({column}), COUNT({column}) FROM {table}"  # noqa: S608 - quoted
        extent = self._execute(self._observation, wanted)
        if isinstance(extent, Code):
            return None
        least, most, count = (_number(cell) for cell in extent.rows[0])
        if not all(map(math.isfinite, (least, most, count))):
            return None
        greatest = max(abs(least), abs(most))
        bound = 2 * count * _UNIT / (1 - count * _UNIT) * greatest
        if label.calculation == "SUM":
            bound *= count
        else:
            bound += 2 * _UNIT * greatest
        return bound


def _column(label: Label | None, is_float: bool) -> _Column:
    if label is None:
        return _Column("open" if is_float else "exact")
    if is_float and label.calculation in ("SUM", "AVG"):
        return _Column("sum", label)
    return _Column("exact")


def _within(cell: Cell, other: Cell, bound: float) -> bool:
    return abs(_number(cell) - _number(other)) <= bound


def _number(cell: Cell) -> float:
    try:
        return float(cell.text or "nan")
    except ValueError:
        return math.nan


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

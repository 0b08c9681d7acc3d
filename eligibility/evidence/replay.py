"""An observation against another execution of its statement over the same snapshot.

Invariants
  T1  What was recorded is never taken for what is found now: without another execution nothing
      here is established, and that is said. What decides is the reading of that execution.
  T2  Cells are equal to the character. Only a SUM or AVG of floats may differ, and no further than
      its bound, which is of exactly the rows that made it; an average of whole numbers or decimals
      no further than its roundings.
  T3  A result that differs is a failure unless the statement itself gives different results from
      one execution to the next: as its functions tell, or where that is tried. Then it is
      unverified, and every fact in it is still held against the table.
  T4  Where the plan settles the order of rows, they are compared by position.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

from eligibility.evidence.upheld import (
    Column,
    Execute,
    Row,
    Table,
    column,
    recorded_bound,
    same_average,
)
from eligibility.evidence.verification import Code
from eligibility.sql import bound
from eligibility.sql.classify import classify
from eligibility.sql.observation import Cell, EngineReading, Observation
from eligibility.sql.shape import nature
from eligibility.sql.types import type_class
from eligibility.wire.model import cached_property

EXECUTIONS_MAX = 3

Found = tuple[Code, str]
# Set by who runs it, and without effect on what a statement gives.
_LIMITS = frozenset({"memory_limit", "threads"})
# Equal values of these types can look different.
_VAGUE = frozenset({"interval", "timetz"})


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
        return [(again, "/engine/version" if again is Code.ENGINE_ABSENT else "/reading")]
    if again.snapshot != observation.snapshot or again.pins != observation.pins:
        return [(Code.SNAPSHOT_DIFFERS, "/snapshot")]
    if (again.engine.name, again.engine.version) != (
        observation.engine.name,
        observation.engine.version,
    ):
        return [(Code.ENGINE_ABSENT, "/engine/version")]
    return [*_circumstances(observation, again), *_Comparison(observation, again, execute).found()]


def _circumstances(observation: Observation, again: Observation) -> Iterator[Found]:
    """Compare all but the rows; a file that was made anew has plans of its own."""
    same_file = again.manifest_sha256 == observation.manifest_sha256
    if not same_file:
        yield Code.MANIFEST_DIFFERS, "/manifest_sha256"
    then, now = (
        [pair for pair in one.engine.settings if pair[0] not in _LIMITS]
        for one in (observation, again)
    )
    if then != now:
        yield Code.SETTINGS_DIFFER, "/engine/settings"
    yield from _readings(observation, again, same_file)
    if again.columns != observation.columns:
        yield Code.RESULT_DIFFERS, "/columns"


def _readings(observation: Observation, again: Observation, same_file: bool) -> Iterator[Found]:
    then, now = observation.reading, again.reading
    if observation.format != again.format:
        now = EngineReading(shape=now.shape, reasons=now.reasons, plan_sha256=now.plan_sha256)
    # The value of a clock stands in the plan, and in a filter that compares with it.
    if not again.reading.repeatable:
        then, now = (_without_clock(reading) for reading in (then, now))
    elif not same_file:
        now = now.model_copy(update={"plan_sha256": then.plan_sha256})
    if then != now:
        yield Code.READING_DIFFERS, "/reading"


def _without_clock(reading: EngineReading) -> EngineReading:
    shape = None if reading.shape is None else reading.shape.model_copy(update={"filter": None})
    return reading.model_copy(update={"shape": shape, "plan_sha256": "0" * 64})


class _Comparison:
    """One observation and the executions it is compared with."""

    def __init__(self, observation: Observation, again: Observation, execute: Execute) -> None:
        self._observation = observation
        self._again = again
        self._reading = again.reading
        self._execute = execute

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        seen = self._observation
        outputs = classify(seen.statement, seen.schema_, self._reading).outputs
        labels = [output.label for output in outputs] or [None] * len(seen.columns)
        return tuple(
            column(label, output, seen.pins)
            for label, output in zip(labels, seen.columns, strict=True)
        )

    @cached_property
    def _table(self) -> Table | None:
        shape = self._reading.shape
        if shape is None:
            return None
        return Table(self._observation, shape, self._columns, self._execute)

    def found(self) -> list[Found]:
        """Compare the rows with those of up to three executions (T3)."""
        if self._again.columns != self._observation.columns:
            return []
        if odd := list(self._odd_bounds()):
            return odd
        executions = [self._again]
        while True:
            other = executions[-1]
            found = self._differences(self._observation, other)
            if not _fails(found):
                return found
            pairs = self._in_any_order(self._observation, other)
            if pairs is not None:
                return [*pairs, *self._of_order(other)]
            if len(executions) == EXECUTIONS_MAX:
                break
            more = self._execute(self._observation, self._observation.statement)
            if isinstance(more, Code):
                return [(more, "/rows")]
            executions.append(more)
        if self._is_settled and not any(map(self._is_another, executions[1:])):
            return found
        place = next(at for code, at in found if code is Code.RESULT_DIFFERS)
        settled = self._in_part(executions) if self._reading.repeatable else []
        refuted = [] if self._table is None else self._table.refuted()
        return [(Code.NOT_REPEATABLE, place), *settled, *refuted]

    def _is_another(self, other: Observation) -> bool:
        """Say whether two executions of now have different rows."""
        return (
            _fails(self._differences(self._again, other))
            and self._in_any_order(self._again, other) is None
        )

    def _in_part(self, executions: list[Observation]) -> Iterator[Found]:
        """Compare what is settled although the rows are not: how many, and their sort keys."""
        seen = self._observation
        sizes = {(len(one.rows), one.truncated) for one in executions}
        if len(sizes) == 1 and (len(seen.rows), seen.truncated) not in sizes:
            yield Code.RESULT_DIFFERS, "/truncated"
        if (at := self._out_of_order(executions[-1])) is not None:
            yield Code.RESULT_DIFFERS, f"/rows/{at}"

    # --- cells ---

    def _differences(self, one: Observation, other: Observation) -> list[Found]:
        """Compare two executions row by row."""
        found: list[Found] = []
        if one.truncated != other.truncated:
            found.append((Code.RESULT_DIFFERS, "/truncated"))
        both = min(len(one.rows), len(other.rows))
        for at in range(both):
            found += [
                (code, f"/rows/{at}/{place}") for code, place in self._row(one, at, other, at)
            ]
        if len(one.rows) != len(other.rows):
            found.append((Code.RESULT_DIFFERS, f"/rows/{both}"))
        return found

    def _row(
        self, one: Observation, at: int, other: Observation, beside: int
    ) -> Iterator[tuple[Code, int]]:
        for place, (cell, found) in enumerate(zip(one.rows[at], other.rows[beside], strict=True)):
            code = None
            match self._columns[place].kind:
                case "sum":
                    limits = (recorded_bound(one, at, place), recorded_bound(other, beside, place))
                    code = self._sum(one, at, place, found, *limits)
                case "average":
                    code = None if same_average(cell, found) else Code.RESULT_DIFFERS
                case "exact":
                    code = None if cell == found else Code.RESULT_DIFFERS
                case "open":
                    code = None if cell == found else Code.WITHHELD_DIFFERS
                case unknown:
                    assert_never(unknown)
            if code is not None:
                yield code, place

    def _sum(
        self, one: Observation, at: int, place: int, found: Cell, then: str | None, now: str | None
    ) -> Code | None:
        """Compare a sum of floats with the one that was found, under the bounds of both (T2)."""
        row = one.rows[at]
        value, own = row[place].text, found.text
        if value is None or own is None:
            return None if value == own else Code.RESULT_DIFFERS
        if then is None:
            # Without a bound nothing states it; or, before there were bounds, nobody knows how far.
            same = value == own if now is None else bound.within(value, own, now)
            if now is None and same and not (one.bounds is None and _is_finite(own)):
                return None
            return Code.BOUND_UNKNOWN if same or now is None else Code.RESULT_DIFFERS
        if now is None:
            assert self._table is not None  # or there would be no label
            asked = self._table.bound_of(row, place, own)
            if asked is None or isinstance(asked, Code):
                return asked or Code.RESULT_DIFFERS
            now = asked
        agrees = bound.same(then, now) and bound.within(value, own, now)
        return None if agrees else Code.RESULT_DIFFERS

    def _odd_bounds(self) -> Iterator[Found]:
        """Point at bounds of what has none: it is only asked for sums and averages in the shape."""
        outputs = () if self._reading.shape is None else self._reading.shape.outputs
        added = {
            at
            for at, made in enumerate(outputs)
            if made.kind == "aggregate" and nature(made.calculation) == "added"
        }
        for at, each in enumerate(self._observation.bounds or ()):
            inside = each.row < len(self._observation.rows) and each.column in added
            if not inside or self._columns[each.column].kind in ("exact", "average"):
                yield Code.RESULT_DIFFERS, f"/bounds/{at}"

    # --- order ---

    def _in_any_order(self, seen: Observation, other: Observation) -> list[Found] | None:
        """Compare the rows of two whole results in any order; None where they are not the same."""
        if seen.truncated or other.truncated or len(seen.rows) != len(other.rows):
            return None
        found: list[Found] = []
        ours, theirs = (
            sorted(range(len(rows)), key=lambda at: self._key(rows[at]))
            for rows in (seen.rows, other.rows)
        )
        for at, beside in zip(ours, theirs, strict=True):
            row = self._row(seen, at, other, beside)
            found += [(code, f"/rows/{at}/{place}") for code, place in row]
        return None if _fails(found) else found

    def _key(self, row: Row) -> tuple[tuple[bool, str], ...]:
        cells = sorted(
            zip(self._columns, row, strict=True), key=lambda pair: pair[0].kind != "exact"
        )
        return tuple((cell.text is None, cell.text or "") for _, cell in cells)

    def _of_order(self, other: Observation) -> Iterator[Found]:
        """Judge the same rows in another order (T4)."""
        if not self._reading.repeatable or self._reading.shape is None:
            yield Code.NOT_REPEATABLE, "/rows"
            return
        total = self._order_is_total
        if isinstance(total, Code):
            yield total, "/rows"
        elif total or self._is_scan or self._out_of_order(other) is not None:
            yield Code.RESULT_DIFFERS, "/rows"
        elif len(self._shown_keys) < len(self._reading.order or ()):
            yield Code.NOT_REPEATABLE, "/rows"
        else:
            yield Code.ORDER_DIFFERS, "/rows"

    @property
    def _is_scan(self) -> bool:
        """Whether the rows come as they stand in the table: the engine keeps that order."""
        shape = self._reading.shape
        assert shape is not None  # asked of a statement that has one
        return not (shape.aggregated or shape.selection.distinct or shape.selection.order_by)

    @cached_property
    def _order_is_total(self) -> bool | Code:
        """Whether ORDER BY tells any two rows apart; or why that could not be found."""
        shape = self._reading.shape
        assert shape is not None  # asked of a statement that has one
        keys = {key.column for key in self._reading.order or () if key.column is not None}
        if shape.aggregated:
            return {key.column if key.kind == "column" else None for key in shape.groups} <= keys
        if shape.selection.distinct:
            made = {each.column if each.kind == "column" else None for each in shape.outputs}
            return made <= keys
        if not keys:
            return False
        assert self._table is not None  # there is a shape
        return self._table.is_order(sorted(keys))

    @property
    def _is_settled(self) -> bool:
        """Whether the plan settles which rows there are (T3)."""
        shape = self._reading.shape
        if not self._reading.repeatable or shape is None:
            return bool(self._reading.repeatable)
        cut = (
            self._again.truncated or (shape.selection.limit, shape.selection.offset) != (None,) * 2
        )
        return not cut or self._is_scan or self._order_is_total is True

    @cached_property
    def _shown_keys(self) -> list[int]:
        """Positions of the first sort keys, as long as they are shown and can be compared."""
        shown: list[int] = []
        for key in self._reading.order or ():
            if (
                key.output is None
                or self._columns[key.output].kind == "open"
                or type_class(self._observation.columns[key.output].type) in _VAGUE
            ):
                break
            shown.append(key.output)
        return shown

    def _out_of_order(self, other: Observation) -> int | None:
        """Find the first row whose shown sort keys are not those that stand there now."""
        seen, keys = self._observation, set(self._shown_keys)
        for at in range(min(len(seen.rows), len(other.rows)) if keys else 0):
            for code, place in self._row(seen, at, other, at):
                one, own = seen.rows[at][place], other.rows[at][place]
                if place in keys and code is Code.RESULT_DIFFERS and not _is_equal(one, own):
                    return at
        return None


def _fails(found: Iterable[Found]) -> bool:
    return any(code is Code.RESULT_DIFFERS for code, _ in found)


def _is_equal(one: Cell, other: Cell) -> bool:
    """Say whether two floats sort alike although they look different, as 0.0 and -0.0 do."""
    return type_class(one.type) == "float" and bound.within(one.text or "", other.text or "", "0")


def _is_finite(text: str) -> bool:
    return bound.within(text, text, "0")

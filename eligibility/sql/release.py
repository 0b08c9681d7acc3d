"""Observation + returned preview + claims → release: which cells may be stated (specification 7).

Invariants
  F1  Total: any observation, preview, claims and digest give a `Release`; a no-answer says why
      and, where something is at fault, at which position, never with which value.
  F2  Nothing is believed because it has the right class: what is given is read by `received.py`
      alone, and a model that was made without validation is malformed.
  F3  Order: form, digest, origin, the observation's own consistency, verdicts, returned preview,
      claims, cells. The first that fails releases nothing at all; only verdicts and cells
      withhold one by one.
  F4  A fact holds a value only under a label of the recorded statement's own verdict, which
      needs the recorded engine reading.
  F5  Facts and withheld cells stand in order of row, then column; a cell stands there once.
  F6  A value that is not exact has a bound of at most a millionth of it, or is withheld. Format 1
      of an observation has no bounds, and is decided without.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, assert_never

from pydantic import TypeAdapter, ValidationError

from eligibility.reasons import Reason, in_order
from eligibility.sql import bound
from eligibility.sql.classify import classify
from eligibility.sql.dialect import DIALECTS, Dialect
from eligibility.sql.facts import Claim, Complete, Fact, GroupCell, Release, Withheld
from eligibility.sql.manifest import LogicalPart, logical_id
from eligibility.sql.observation import (
    CELL_TEXT_BYTES_MAX,
    Cell,
    Observation,
    OutputColumn,
    ReturnedPreview,
)
from eligibility.sql.received import (
    read_claims,
    read_observation,
    read_preview,
)
from eligibility.sql.schema import Column, Pin, Schema, TablePath
from eligibility.sql.shape import nature
from eligibility.sql.types import type_class
from eligibility.sql.verdicts import Label, Verdicts
from eligibility.sql.wording import compose, group_text, is_bare, subject_text
from eligibility.wire.escape import CHARACTERS_VERSION
from eligibility.wire.model import COUNT_MAX, trusted
from eligibility.wire.untrusted import EvidenceError

CELL_CHARACTERS_MAX = 512

_NUMBERS = frozenset({"integer", "decimal", "float"})
_INFINITY = frozenset({"infinity", "-infinity"})

_FACT_FIELDS = set(Fact.model_fields)
_WITHHELD = TypeAdapter(tuple[Withheld, ...])

Origin = Literal["verified", "unverified"]


def release(
    observation: Observation | Mapping[str, Any] | str | bytes,
    returned: ReturnedPreview | Mapping[str, Any] | str | bytes,
    claims: Sequence[Claim | Mapping[str, Any]] | str | bytes | None = None,
    *,
    digest: str | None = None,
) -> Release:
    """Decide which cells may be stated as facts (specification 7).

    Args:
        observation: what was recorded: the model, its JSON text (at most 5 MiB), or the mapping
            that such text gives.
        returned: the preview that came back from the host or the model, in the same forms.
        claims: the cells that an answer wants to state, at most 1,000, as a list or tuple of
            claims or mappings, or as JSON text; None for every eligible cell.
        digest: the digest that the host kept from the capture; None where it kept none.

    Returns:
        The facts and the withheld cells, or a no-answer with its reason. Never raises.
    """
    seen = read_observation(observation)
    if isinstance(seen, EvidenceError):
        return _nothing(Reason.OBSERVATION_MALFORMED, seen.pointer)
    if seen.recomputed_digest() != seen.digest:
        return _nothing(Reason.DIGEST_MISMATCH)
    if digest is not None and digest != seen.digest:
        return _nothing(Reason.ORIGIN_MISMATCH, observation=seen.digest)
    origin: Origin = "unverified" if digest is None else "verified"

    def nothing(reason: Reason, at: str | None) -> Release:
        return _nothing(reason, at, origin=origin, observation=seen.digest)

    if (at := _inconsistency(seen)) is not None:
        return nothing(Reason.OBSERVATION_MALFORMED, at)
    schema = _kept_schema(_Pinned(seen.snapshot, seen.pins))
    if schema is None:
        return nothing(Reason.OBSERVATION_MALFORMED, "/pins")
    dialect = DIALECTS.get(seen.engine.name)
    if dialect is None:
        return nothing(Reason.OBSERVATION_MALFORMED, "/engine/name")
    verdicts = classify(seen.statement, schema, seen.reading, dialect=dialect)
    outputs = _outputs(verdicts, schema, len(seen.columns))
    if (at := _misfit(seen, outputs)) is not None:
        return nothing(Reason.OBSERVATION_MALFORMED, at)
    shown = seen.preview()
    back = read_preview(returned, shown)
    if isinstance(back, EvidenceError):
        return nothing(Reason.PREVIEW_MALFORMED, back.pointer)
    if back != shown:
        at = _difference(shown.model_dump(), back.model_dump())
        return nothing(Reason.PREVIEW_DIFFERS, at)
    wanted = _wanted(seen, claims)
    if isinstance(wanted, _Fault):
        return nothing(wanted.reason, wanted.at)
    return _Releasing(seen, schema, verdicts, outputs, dialect).release(wanted, origin)


def given(
    returned: object, claims: object
) -> tuple[ReturnedPreview | None, tuple[Claim, ...] | None]:
    """Read a returned preview and claims as `release` does, to keep them beside what it decided.

    Args:
        returned: in any form that `release` takes.
        claims: likewise.

    Returns:
        Both; None in the place of one that is malformed, has no canonical form, or was not given.
    """
    back = read_preview(returned)
    made = read_claims(claims)
    return (
        None if isinstance(back, EvidenceError) else back,
        None if isinstance(made, EvidenceError) or not all(map(_can_be_kept, made)) else made,
    )


def _can_be_kept(claim: Claim) -> bool:
    """Say whether canonical JSON can write a claim's position."""
    return max(abs(claim.row), abs(claim.column)) <= COUNT_MAX


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why nothing is released, and where."""

    reason: Reason
    at: str | None


def _nothing(
    reason: Reason,
    at: str | None = None,
    *,
    origin: Origin = "unverified",
    observation: str | None = None,
) -> Release:
    return Release(
        facts=(),
        withheld=(),
        no_answer=True,
        no_answer_reason=reason,
        no_answer_at=at,
        origin=origin,
        observation=observation,
        complete=Complete(result=False, table=False),
        rows_are_table_rows=False,
    )


# --- the observation against itself -------------------------------------------------------------


def _inconsistency(observation: Observation) -> str | None:
    """Point at what in the observation contradicts the rest of it; None for nothing."""
    if hashlib.sha256(observation.statement.encode()).hexdigest() != observation.statement_sha256:
        return "/statement_sha256"
    if not observation.pins or logical_id(LogicalPart(tables=observation.pins)) != (
        observation.snapshot
    ):
        return "/snapshot"
    columns, shape = observation.columns, observation.reading.shape
    if shape is not None and len(shape.outputs) != len(columns):
        return "/columns"
    for place, column in enumerate(columns):
        if column.position != place:
            return f"/columns/{place}/position"
    types, size = [column.type for column in columns], 0
    for at, row in enumerate(observation.rows):
        if len(row) != len(types):
            return f"/rows/{at}"
        found = [cell.type for cell in row]
        if found != types:
            place = next(place for place, kind in enumerate(found) if kind != types[place])
            return f"/rows/{at}/{place}/type"
        size += len("".join([cell.text or "" for cell in row]).encode())
    if size > CELL_TEXT_BYTES_MAX:
        return "/rows"
    return _odd_bound(observation)


def _odd_bound(observation: Observation) -> str | None:
    """Point at what only later formats hold and is not as it has to be; None for nothing."""
    if observation.characters not in (None, CHARACTERS_VERSION):
        return "/characters"
    before = (-1, 0)
    for at, each in enumerate(observation.bounds or ()):
        if (each.row, each.column) <= before:
            return f"/bounds/{at}"  # or a cell could have two
        before = (each.row, each.column)
    return None


@dataclass(frozen=True, slots=True)
class _Pinned:
    """Pins that were found to have this id, which therefore stands for them."""

    snapshot: str
    pins: tuple[Pin, ...] = field(compare=False)


def _schema(pinned: _Pinned) -> Schema | None:
    try:
        return Schema(tables=pinned.pins)
    except ValidationError:  # two pins of one path
        return None


# A schema keeps what is derived from it, for the next release over the same snapshot.
_kept_schema = lru_cache(maxsize=16)(_schema)


# --- verdicts on the columns --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Output:
    """What is the same for every cell of one column.

    Attributes:
        reasons: why none of its cells may be stated; empty where they may.
        label, subject: under what description, and its text; None where they may not.
        native: the label's pinned column; None for `COUNT(*)` and where there is no label.
    """

    reasons: tuple[Reason, ...]
    label: Label | None = None
    subject: str = ""
    native: Column | None = None


def _outputs(verdicts: Verdicts, schema: Schema, columns: int) -> tuple[_Output, ...]:
    """Give every column of the result its verdict (F4)."""
    if len(verdicts.outputs) != columns:
        return (_Output(verdicts.reasons or (Reason.READINGS_DISAGREE,)),) * columns
    shown = _shown(verdicts)
    made = []
    for verdict in verdicts.outputs:
        label, reasons = verdict.label, set(verdict.reasons)
        if label is not None and label.kind == "aggregate":
            # The rules see to both; a line without its scope would be false.
            if verdicts.filter.kind != "none" and verdicts.filter.text is None:
                reasons.add(Reason.FILTER_NOT_STATABLE)
            if not shown.keys() >= set(verdicts.groups):
                reasons.add(Reason.GROUP_KEY_NOT_SHOWN)
        if label is None or reasons:
            made.append(_Output(in_order(reasons)))
            continue
        (table,) = (table for table in schema.tables if table.path == label.table)
        native = None if label.column is None else table.column(label.column)
        made.append(_Output((), label, subject_text(label, schema), native))
    return tuple(made)


def _shown(verdicts: Verdicts) -> dict[str, int]:
    """Say at which position each eligible direct column is shown first."""
    shown: dict[str, int] = {}
    for verdict in verdicts.outputs:
        if verdict.label is not None and verdict.label.calculation is None:
            shown.setdefault(verdict.label.column or "", verdict.position)
    return shown


def _misfit(observation: Observation, outputs: tuple[_Output, ...]) -> str | None:
    """Point at an eligible column or cell that its label rules out; None for none."""
    for place, (column, output) in enumerate(zip(observation.columns, outputs, strict=True)):
        if output.label is None:
            continue
        kind = type_class(column.type)
        calculation = output.label.calculation
        if calculation is not None and nature(calculation) != "picked":
            fits = kind in _NUMBERS
        else:
            fits = output.native is not None and output.native.type == column.type
        if not fits:
            return f"/columns/{place}/type"
        if kind not in ("integer", "decimal", "boolean"):
            continue
        for at, row in enumerate(observation.rows):
            text = row[place].text
            if text is not None and not is_bare(column.type, text):
                return f"/rows/{at}/{place}/text"
    return None


# --- the returned preview -----------------------------------------------------------------------


def _difference(ours: Any, theirs: Any) -> str:
    """Point at the first position at which two different values, dumped to plain data, differ."""
    if isinstance(ours, dict):
        field = next(name for name in ours if ours[name] != theirs[name])
        return f"/{field}{_difference(ours[field], theirs[field])}"
    if isinstance(ours, tuple):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                return f"/{place}{_difference(one, other)}"
        return f"/{min(len(ours), len(theirs))}"
    return ""


# --- claims -------------------------------------------------------------------------------------


def _wanted(observation: Observation, claims: object) -> Iterable[tuple[int, int]] | _Fault:
    """Give the claimed cells in order (F5), every cell for no claims, or the first fault."""
    rows, columns = len(observation.rows), len(observation.columns)
    if claims is None:
        return ((row, column) for row in range(rows) for column in range(columns))
    made = read_claims(claims)
    if isinstance(made, EvidenceError):
        return _Fault(Reason.CLAIMS_MALFORMED, made.pointer)
    if not made:
        return _Fault(Reason.NO_CLAIMS, None)
    cells, places = observation.rows, set[int]()
    for at, claim in enumerate(made):
        row, column, kind, text = claim.row, claim.column, claim.type, claim.text
        if not (0 <= row < rows and 0 <= column < columns):
            return _Fault(Reason.CLAIM_UNKNOWN, f"/{at}")
        cell = cells[row][column]
        if (kind is not None and kind != cell.type) or (text is not None and text != cell.text):
            return _Fault(Reason.CLAIM_DIFFERS, f"/{at}")
        places.add(row * columns + column)
    return [divmod(place, columns) for place in sorted(places)]


# --- cells --------------------------------------------------------------------------------------


def _problem(cell: Cell) -> Reason | None:
    """Say what keeps a cell from being stated, judged by its type; None for nothing."""
    text = cell.text
    if text is None:
        return Reason.CELL_NULL
    match type_class(cell.type):
        case "float":
            finite = is_bare(cell.type, text)
        case "date" | "timestamp" | "timestamptz":
            finite = text not in _INFINITY
        case "boolean" | "integer" | "decimal" | "text" | "enum" | "uuid" | None:
            finite = True
        case "time" | "timetz" | "interval":
            finite = True
        case other:
            assert_never(other)
    if not finite:
        return Reason.CELL_NOT_FINITE
    return Reason.CELL_TOO_LONG if len(text) > CELL_CHARACTERS_MAX else None


# What a key's problem is to the aggregates of its row; a NULL key still names its group.
_IN_A_KEY = {
    Reason.CELL_NOT_FINITE: Reason.GROUP_CELL_NOT_FINITE,
    Reason.CELL_TOO_LONG: Reason.GROUP_CELL_TOO_LONG,
}


@dataclass(frozen=True, slots=True)
class _Group:
    """One row's group: its key cells, their text, and why it cannot be named."""

    cells: tuple[GroupCell, ...]
    text: str
    reasons: tuple[Reason, ...]


_NO_GROUP = _Group((), "", ())


class _Releasing:
    """One release in the making: what its facts share is made once for each row or column."""

    def __init__(
        self,
        observation: Observation,
        schema: Schema,
        verdicts: Verdicts,
        outputs: tuple[_Output, ...],
        dialect: Dialect,
    ) -> None:
        self._dialect = dialect
        self._observation = observation
        self._schema = schema
        self._verdicts = verdicts
        self._outputs = outputs
        self._shown = _shown(verdicts)
        self._groups: dict[int, _Group] = {}
        self._bounds = None
        if observation.bounds is not None:
            self._bounds = {(one.row, one.column): one.bound for one in observation.bounds}
        where = verdicts.filter.text
        self._where = "" if where is None else f" where {where}"
        self._parts = tuple(map(self._shared, outputs, observation.columns))

    def _shared(self, output: _Output, column: OutputColumn) -> dict[str, Any]:
        """Give the fields of a fact, in order, with what all facts of one column have in common."""
        calculation = None if output.label is None else output.label.calculation
        return {
            "domain": "sql",
            "label": output.label,
            "value": None,
            "exact": self._dialect.is_exact(calculation, column.type),
            "bound": None,
            "row": None,
            "column": column.position,
            "group": (),
            "filter": self._verdicts.filter,
            "selection": self._verdicts.selection,
            "observation": self._observation.digest,
            "snapshot": self._observation.snapshot,
            "text": None,
        }

    def release(self, wanted: Iterable[tuple[int, int]], origin: Origin) -> Release:
        facts: list[Fact] = []
        withheld: list[dict[str, Any]] = []
        for row, column in wanted:
            made = self._fate(row, column)
            if isinstance(made, Fact):
                facts.append(made)
            else:
                withheld.append({"row": row, "column": column, "reasons": made})
        reason = Reason.NOTHING_ELIGIBLE if self._observation.rows else Reason.NO_ROWS
        return Release(
            facts=tuple(facts),
            withheld=_WITHHELD.validate_python(tuple(withheld)),
            no_answer=not facts,
            no_answer_reason=None if facts else reason,
            no_answer_at=None,
            origin=origin,
            observation=self._observation.digest,
            complete=self._complete(),
            rows_are_table_rows=self._rows_are_table_rows(),
        )

    def _fate(self, row: int, column: int) -> Fact | tuple[Reason, ...]:
        """Give a fact, or in order why there is none."""
        output, cell = self._outputs[column], self._observation.rows[row][column]
        label = output.label
        if label is None:
            return output.reasons
        group = self._group(row, label.table) if label.kind == "aggregate" else _NO_GROUP
        shared, problem, limit = self._parts[column], _problem(cell), None
        if problem is None and not shared["exact"] and self._bounds is not None:
            limit = self._bound(row, column, output, cell)
            problem = Reason.SUM_NOT_STABLE if limit is None else None
        if problem is not None:
            return in_order((problem, *group.reasons)) if group.reasons else (problem,)
        if group.reasons:
            return group.reasons
        scope = group.text + self._where
        text = compose(label, output.subject, cell, shared["exact"], row, scope)
        if text is None:
            return (Reason.LINE_TOO_LONG,)
        fields = shared.copy()
        fields["value"], fields["row"], fields["group"] = cell, row, group.cells
        fields["bound"], fields["text"] = limit, text
        # Label, filter and selection are models of the verdicts, cells and hashes were read, the
        # line was written, row and column were counted here: to validate them again would take
        # half of the time of a release.
        return trusted(Fact, fields, _FACT_FIELDS)

    def _bound(self, row: int, column: int, output: _Output, cell: Cell) -> str | None:
        """Give the bound of a value that is not exact; None where it has none that will do (F6)."""
        assert self._bounds is not None  # `_fate` asks of later formats only
        assert output.native is not None  # a sum is of a column
        assert cell.text is not None  # NULL is a problem of its own
        if type_class(output.native.type) == "float":
            made = self._bounds.get((row, column))
        else:
            made = bound.of_exact_sum(cell.text)
        return made if made is not None and bound.is_stable(cell.text, made) else None

    def _group(self, row: int, table: TablePath) -> _Group:
        if row not in self._groups:
            cells = tuple(
                GroupCell(column=name, cell=self._observation.rows[row][self._shown[name]])
                for name in self._verdicts.groups
            )
            found = map(_IN_A_KEY.get, filter(None, (_problem(key.cell) for key in cells)))
            reasons = in_order(reason for reason in found if reason is not None)
            self._groups[row] = _Group(cells, group_text(cells, table, self._schema), reasons)
        return self._groups[row]

    def _complete(self) -> Complete:
        """Say what is all there; both readings agree on the clauses where anything is eligible."""
        shape, result = self._observation.reading.shape, self._observation.truncated is None
        if shape is None or not self._verdicts.any_eligible:
            return Complete(result=result, table=False)
        flags = self._verdicts.selection
        chosen = flags.having or flags.distinct or flags.limit or flags.offset
        every = shape.filter is None and not shape.aggregated and not chosen
        (pin,) = (pin for pin in self._observation.pins if pin.path == shape.table)
        there = len(self._observation.rows) == pin.rows
        return Complete(result=result, table=result and every and there)

    def _rows_are_table_rows(self) -> bool:
        shape = self._observation.reading.shape
        return (
            shape is not None
            and self._verdicts.any_eligible
            and not shape.aggregated
            and not shape.selection.distinct
        )

"""What crosses a process or a file: schema, pins, observation, preview, claims, verdicts, facts.

Invariants
  E1  Every model is frozen, strict and closed; sequences are tuples (specification 10).
  E2  A cell is its type and the engine's own text; columns are known by position (specification 6).
  E3  `Observation.digest` is the SHA-256 of the RFC 8785 bytes of all its other fields.
  E4  What an earlier format does not have is absent from its JSON, so that its hashes stay right.
  E5  JSON that comes from outside is read by `from_json` alone: bounded in size and depth, no
      duplicate key, no NaN; an error names a JSON pointer and never a value.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from eligibility.reasons import Reason
from eligibility.shape import COUNT_MAX, Calculation, Model, Predicate, Shape, cached_property
from eligibility.types import base_name
from eligibility.unicode import CHARACTERS_VERSION

ROWS_MAX = 50
COLUMNS_MAX = 1_000
CLAIMS_MAX = 1_000
CELL_TEXT_BYTES_MAX = 64 * 1024
JSON_BYTES_MAX = 5 * 1024 * 1024
JSON_NESTING_MAX = 48
CATALOG = "snapshot"
OBSERVATION_FORMAT: Literal["eligibility-observation/2"] = "eligibility-observation/2"

TablePath = tuple[str, str]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Truncation = Literal["rows", "bytes"]
ObservationFormat = Literal["eligibility-observation/1", "eligibility-observation/2"]
# Zero, or three digits at most and an exponent.
BoundText = Annotated[
    str, StringConstraints(pattern=r"^(?:0|[1-9](?:\.[0-9]{1,2})?e[+-][0-9]{1,3})$")
]
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


class EvidenceError(ValueError):
    """JSON from outside is not what it should be; `pointer` says where (specification 10)."""

    def __init__(self, pointer: str, problem: str) -> None:
        """Keep the JSON pointer and a fixed sentence that holds no value of the input."""
        super().__init__(f"{pointer or '/'}: {problem}")
        self.pointer = pointer
        self.problem = problem


def _is_absent(value: object) -> bool:
    """Say whether a field is left out of JSON (E4)."""
    return value is None


def fold(name: str) -> str:
    """Fold a name as DuckDB compares identifiers: ASCII letters only (specification 2, Column)."""
    return name.translate(_ASCII_LOWER)


def canonical_bytes(model: Model, *, without: str | None = None) -> bytes:
    """Give a model's RFC 8785 canonical JSON bytes.

    Args:
        model: any boundary model.
        without: the name of one top-level field to leave out.

    Returns:
        UTF-8 bytes, the same for equal models on every machine.
    """
    # Boundary models hold no float, no key beyond ASCII and no number beyond 2**53, and there these
    # are the bytes of RFC 8785; a test holds them to a library that knows the rest of it too.
    return _written(model.model_dump(mode="json", exclude={without} if without else None)).encode()


def written_cell(kind: str, text: str | None) -> str:
    """Write a cell as `canonical_bytes` does.

    Args:
        kind: base name of its type.
        text: the engine's own rendering; None for NULL.

    Returns:
        RFC 8785 canonical JSON.
    """
    return f'{{"text":{"null" if text is None else _quoted(text)},"type":{_quoted(kind)}}}'


_written = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


# --- what is pinned -----------------------------------------------------------------------------


class Column(Model):
    """One native column.

    Attributes:
        name: as in the database.
        type: base name of its DuckDB type.
        nan: for FLOAT and DOUBLE, whether any value is NaN; None for unknown, and elsewhere.
        members: for ENUM, its members in order; None elsewhere.
    """

    name: str
    type: str
    nan: bool | None = None
    members: tuple[str, ...] | None = None


class Table(Model):
    """One table's path and columns.

    Attributes:
        path: (schema, table).
        columns: at least one, by position; names differ beyond ASCII case.
    """

    path: TablePath
    columns: tuple[Column, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> "Table":
        if len(self._places) != len(self.columns):
            raise ValueError("column names repeat")
        return self

    @cached_property
    def _places(self) -> dict[str, int]:
        return {fold(column.name): place for place, column in enumerate(self.columns)}

    @cached_property
    def derived(self) -> dict[object, Any]:
        """What callers derived from this table alone, and keep with it."""
        return {}

    def column(self, name: str) -> Column | None:
        """Find a column as DuckDB would: by name, ASCII case folded."""
        place = self._places.get(name)  # folded names stand for themselves
        if place is None:
            place = self._places.get(fold(name))
        return None if place is None else self.columns[place]


class Pin(Table):
    """One frozen table.

    Attributes:
        rows: how many rows it has.
        content_sha256: SHA-256 of its types, values and row order (specification 4).
    """

    rows: int = Field(ge=0, le=COUNT_MAX)
    content_sha256: Sha256


class Schema(Model):
    """The tables a statement may read.

    Attributes:
        tables: with different paths, ASCII case folded.
    """

    tables: tuple[Table, ...]

    @model_validator(mode="after")
    def _paths_differ(self) -> "Schema":
        if len({(fold(t.path[0]), fold(t.path[1])) for t in self.tables}) != len(self.tables):
            raise ValueError("table paths repeat")
        return self

    @classmethod
    def of(cls, tables: Mapping[str | tuple[str, ...], Mapping[str, Any]]) -> "Schema":
        """Make a schema by hand (specification 9).

        Args:
            tables: table name, or (schema, table), to column name to type. A type is a DuckDB
                type name in any spelling, or a mapping with `type`, and optionally `nan` (false
                says that a float column holds no NaN; unknown otherwise) and `members` (of an
                ENUM, a sequence of texts). `ENUM('a', 'b')` gives members too. A name without
                schema is in `main`.

        Returns:
            The schema.

        Raises:
            ValueError: for an empty table, a repeated name, a path of another length than 1 or 2,
                or a column given as anything else.
        """
        if not isinstance(tables, Mapping):
            raise ValueError("a schema maps table names to their columns")
        made = []
        for key, columns in tables.items():
            path = (key,) if isinstance(key, str) else tuple(key)
            if not 1 <= len(path) <= 2 or not all(isinstance(part, str) for part in path):
                raise ValueError("a table is named by its name or by (schema, table)")
            if not isinstance(columns, Mapping):
                raise ValueError("a table maps column names to types")
            made.append(
                Table(
                    path=("main", path[0]) if len(path) == 1 else (path[0], path[1]),
                    columns=tuple(_column_by_hand(name, kind) for name, kind in columns.items()),
                )
            )
        return cls(tables=tuple(made))

    def find(self, parts: tuple[str, ...]) -> Table | None:
        """Find the table that a written name stands for (specification 2, Source).

        Args:
            parts: one to three name parts as written, the table last.

        Returns:
            The table of which `parts` is a suffix of (catalog, schema, table), one part meaning
            schema `main` only; None for none. Paths differ, so there are never several.
        """
        found = self._suffixes.get(parts)  # folded names stand for themselves
        return found or self._suffixes.get(tuple([fold(part) for part in parts]))

    @cached_property
    def _suffixes(self) -> dict[tuple[str, ...], Table]:
        found: dict[tuple[str, ...], Table] = {}
        for table in self.tables:
            schema, name = fold(table.path[0]), fold(table.path[1])
            found[schema, name] = found[CATALOG, schema, name] = table
            if schema == "main":
                found[(name,)] = table
        return found

    @cached_property
    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for table in self.tables:
            counts[fold(table.path[1])] = counts.get(fold(table.path[1]), 0) + 1
        return counts

    @cached_property
    def written(self) -> dict[TablePath, str]:
        """How each table is written in a line, kept by who writes it."""
        return {}

    def name_is_unique(self, path: TablePath) -> bool:
        """Say whether the bare table name stands for one table only (specification 7, text)."""
        return self._counts.get(fold(path[1]), 0) <= 1


_ENUM = re.compile(r"ENUM\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_MEMBER = re.compile(r"\s*'((?:[^']|'')*)'\s*(,|\Z)")


def _column_by_hand(name: object, kind: object) -> Column:
    nan: bool | None = None
    members: tuple[str, ...] | None = None
    if isinstance(kind, Mapping):
        if set(kind) - {"type", "nan", "members"}:
            raise ValueError("a column has type, nan and members only")
        nan = kind.get("nan")
        members = tuple(kind["members"]) if kind.get("members") is not None else None
        kind = kind.get("type")
    if not isinstance(name, str) or not isinstance(kind, str):
        raise ValueError("a column maps its name to its type")
    enum = _ENUM.fullmatch(kind.strip())
    if enum:
        members, place = (), 0
        while place < len(enum[1]):
            member = _MEMBER.match(enum[1], place)
            if member is None:
                raise ValueError("an ENUM lists its members in single quotes")
            members = (*members, member[1].replace("''", "'"))
            place = member.end()
        kind = "ENUM"
    return Column(name=name, type=base_name(kind), nan=nan, members=members)


# --- what was observed --------------------------------------------------------------------------


class Cell(Model):
    """One value.

    Attributes:
        type: base name of its DuckDB type.
        text: the engine's own rendering; None for NULL.
    """

    type: str
    text: str | None


class OutputColumn(Model):
    """One column of a result; its name may repeat and means nothing."""

    position: int = Field(ge=0, lt=COLUMNS_MAX)
    name: str
    type: str


class ReturnedPreview(Model):
    """The rows that the host says it showed.

    Attributes:
        columns: in order of position.
        rows: at most 50, one cell a column.
        truncated: None for a whole result, else why rows are missing.
    """

    columns: tuple[OutputColumn, ...] = Field(max_length=COLUMNS_MAX)
    rows: tuple[tuple[Cell, ...], ...] = Field(max_length=ROWS_MAX)
    truncated: Truncation | None


class SortKey(Model):
    """One key of ORDER BY.

    Attributes:
        output: position of the first output that shows it; None where none does.
        column: the native column that it is; None for anything else.
    """

    output: int | None = Field(ge=0, le=COUNT_MAX)
    column: str | None


class EngineReading(Model):
    """What the engine's bound plan says of a statement.

    Attributes:
        shape: None where the plan holds something that has no shape.
        reasons: why there is no shape; empty where there is one.
        plan_sha256: of the plan's JSON text as the engine gave it.
        repeatable: whether no function in the plan gives another value another time, and no sample
            is taken; absent in format 1 of an observation.
        order: the keys of ORDER BY; absent where there is no shape, and in format 1.
    """

    shape: Shape | None
    reasons: tuple[Reason, ...]
    plan_sha256: Sha256
    repeatable: bool | None = Field(default=None, exclude_if=_is_absent)
    order: tuple[SortKey, ...] | None = Field(default=None, exclude_if=_is_absent)


class Engine(Model):
    """Which engine ran, and under which settings, as (name, value) pairs."""

    name: str
    version: str
    settings: tuple[tuple[str, str], ...]


class CellBound(Model):
    """How far one sum or average of floats may be from the exact one.

    Attributes:
        row, column: of the cell, zero-based.
        bound: as a number.
    """

    row: int = Field(ge=0, lt=ROWS_MAX)
    column: int = Field(ge=0, lt=COLUMNS_MAX)
    bound: BoundText


class Observation(Model):
    """What one execution over a snapshot returned; never changed afterwards (specification 6).

    Attributes:
        format: version of this form; earlier ones stay readable.
        statement, statement_sha256: the text as it was written, and of its UTF-8 bytes.
        snapshot, manifest_sha256: the snapshot's id, and the hash of its whole manifest.
        pins: every table of the snapshot.
        engine: what ran it.
        reading: the engine reading.
        columns, rows, truncated: the preview.
        captured_at: UTC, ISO 8601 with microseconds and `Z`.
        characters: version of the table of shown characters; absent in format 1.
        bounds: of the sums and averages of floats, in order of row, then column, where the engine
            could be asked for one; absent in format 1.
        digest: see E3.
    """

    format: ObservationFormat
    statement: str
    statement_sha256: Sha256
    snapshot: Sha256
    manifest_sha256: Sha256
    pins: tuple[Pin, ...]
    engine: Engine
    reading: EngineReading
    columns: tuple[OutputColumn, ...] = Field(max_length=COLUMNS_MAX)
    rows: tuple[tuple[Cell, ...], ...] = Field(max_length=ROWS_MAX)
    truncated: Truncation | None
    captured_at: str
    characters: str | None = Field(default=None, exclude_if=_is_absent)
    bounds: tuple[CellBound, ...] | None = Field(default=None, exclude_if=_is_absent)
    digest: Sha256

    @model_validator(mode="after")
    def _is_of_its_format(self) -> "Observation":
        added = (self.characters, self.bounds)
        if self.format == OBSERVATION_FORMAT:
            if None in added:
                raise ValueError("a field of this format is missing")
        elif {*added, self.reading.repeatable, self.reading.order} != {None}:
            raise ValueError("there is a field of a later format")
        return self

    @classmethod
    def sealed(cls, **fields: Any) -> "Observation":
        """Make an observation and give it its digest (E3).

        Args:
            **fields: every field but `digest`; where `format` is not given it is the newest, and
                without bounds unless they are given.

        Returns:
            The observation.

        Raises:
            pydantic.ValidationError: where a field is missing or of another type.
        """
        if fields.setdefault("format", OBSERVATION_FORMAT) == OBSERVATION_FORMAT:
            fields = {"characters": CHARACTERS_VERSION, "bounds": (), **fields}
        draft = cls(digest="0" * 64, **fields)
        return cls(digest=draft.recomputed_digest(), **fields)

    def recomputed_digest(self) -> str:
        """Compute what `digest` has to be, from the other fields."""
        tree = self.model_dump(mode="json", exclude={"digest", "rows"})
        members = {name: _written(value) for name, value in tree.items()}
        # Most of it are cells, for which a tree would take long.
        rows = [",".join([written_cell(cell.type, cell.text) for cell in row]) for row in self.rows]
        members["rows"] = f"[{','.join([f'[{row}]' for row in rows])}]"
        text = ",".join([f'"{name}":{members[name]}' for name in sorted(members)])
        return hashlib.sha256(f"{{{text}}}".encode()).hexdigest()

    def preview(self) -> ReturnedPreview:
        """Give what may go to the model or the screen: columns, rows, truncated."""
        return ReturnedPreview(columns=self.columns, rows=self.rows, truncated=self.truncated)

    @property
    def schema_(self) -> Schema:
        """The pins as a schema."""
        return Schema(tables=self.pins)

    def to_json(self) -> str:
        """Give the observation as its canonical JSON text."""
        return canonical_bytes(self).decode()


# --- what is claimed, decided and released ------------------------------------------------------


class Claim(Model):
    """One cell the answer wants to state.

    Attributes:
        row, column: zero-based.
        type, text: what the cell is expected to hold, to the character; None for no expectation.
    """

    row: int
    column: int
    type: str | None = None
    text: str | None = None


class Label(Model):
    """Under what description a value may be stated.

    Attributes:
        kind: a stored value, or a calculation over stored values.
        table: (schema, table).
        column: native name; None for `COUNT(*)`.
        calculation: None for a stored value.
    """

    kind: Literal["column", "aggregate"]
    table: TablePath
    column: str | None
    calculation: Calculation | None


class Verdict(Model):
    """What the rules say of one output: a label, or reasons in order of precedence."""

    position: int = Field(ge=0, le=COUNT_MAX)
    name: str
    verdict: Literal["eligible", "withheld"]
    label: Label | None
    reasons: tuple[Reason, ...]


class Filter(Model):
    """The WHERE clause as far as it can be stated.

    Attributes:
        kind: `none` where there is none; `not-stated` where it cannot be stated.
        predicate, text: the condition in normal form, where `stated`.
    """

    kind: Literal["none", "stated", "not-stated"]
    predicate: Predicate | None = None
    text: str | None = None


class SelectionFlags(Model):
    """Which clauses choose the rows that are seen."""

    having: bool
    distinct: bool
    order_by: bool
    limit: bool
    offset: bool


EngineAnswer = Literal["agrees", "disagrees", "refused", "failed", "not-asked"]


class Verdicts(Model):
    """The verdict on every output of one statement.

    Attributes:
        statement_sha256: of the statement's UTF-8 bytes.
        engine: what the engine reading says to it.
        reasons: why the whole statement is withheld; empty where it is not.
        outputs: by position; empty where the outputs are not known.
        filter, groups, selection: the scope of the rows; groups are native names.
    """

    statement_sha256: Sha256
    engine: EngineAnswer
    reasons: tuple[Reason, ...]
    outputs: tuple[Verdict, ...]
    filter: Filter
    groups: tuple[str, ...]
    selection: SelectionFlags

    @property
    def any_eligible(self) -> bool:
        """Whether any output is eligible."""
        return any(output.verdict == "eligible" for output in self.outputs)


class GroupCell(Model):
    """One group key of a fact: the native column and its cell."""

    column: str
    cell: Cell


class Fact(Model):
    """One released value with its label and row scope (specification 7).

    Attributes:
        label: under what description.
        value: type and text.
        exact: false for SUM or AVG that yield FLOAT or DOUBLE.
        bound: how far the value, as the double that its text stands for, may be from the exact
            sum or average; at most a millionth of it. Absent where the value is exact, and in
            what was released from format 1 of an observation.
        row, column: where it stands in the observation, zero-based.
        group: the key cells of its group; empty for none.
        filter, selection: which rows.
        observation, snapshot: digest and id.
        text: the one line that may be shown.
    """

    label: Label
    value: Cell
    exact: bool
    bound: BoundText | None = Field(default=None, exclude_if=_is_absent)
    row: int = Field(ge=0, lt=ROWS_MAX)
    column: int = Field(ge=0, lt=COLUMNS_MAX)
    group: tuple[GroupCell, ...]
    filter: Filter
    selection: SelectionFlags
    observation: Sha256
    snapshot: Sha256
    text: str


class Withheld(Model):
    """One cell that is not released, and why."""

    row: int = Field(ge=0, lt=ROWS_MAX)
    column: int = Field(ge=0, lt=COLUMNS_MAX)
    reasons: tuple[Reason, ...]


class Complete(Model):
    """Whether every row of the result, and of the table, is in the observation."""

    result: bool
    table: bool


class Release(Model):
    """What may be stated (specification 7).

    Attributes:
        facts: one for each claimed cell that is eligible.
        withheld: the claimed cells that are not; without claims, every other cell.
        no_answer: whether nothing is released.
        no_answer_reason: why; None where something is.
        no_answer_at: a JSON pointer into the returned preview or the claims, where one is at fault.
        origin: `verified` where the host's own digest was given and equal.
        observation: its digest; None where it was malformed.
        complete: see `Complete`.
        rows_are_table_rows: whether facts of one row describe one row of the table.
    """

    facts: tuple[Fact, ...]
    withheld: tuple[Withheld, ...]
    no_answer: bool
    no_answer_reason: Reason | None
    no_answer_at: str | None
    origin: Literal["verified", "unverified"]
    observation: Sha256 | None
    complete: Complete
    rows_are_table_rows: bool

    def answer(self) -> dict[str, Any]:
        """Give `{answer, citations, no_answer}` for hosts that want that form.

        Returns:
            `answer`: the facts' lines and nothing else; `citations`: for each line where its
            value stands (observation, snapshot, row, column).
        """
        return {
            "answer": "\n".join(fact.text for fact in self.facts),
            "citations": [
                {
                    "observation": fact.observation,
                    "snapshot": fact.snapshot,
                    "row": fact.row,
                    "column": fact.column,
                }
                for fact in self.facts
            ],
            "no_answer": self.no_answer,
        }


# --- JSON from outside --------------------------------------------------------------------------

Parsed = TypeVar("Parsed")
# One that never ends goes on to the end: sought again from each of its quotes, it would take hours.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_ALL_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class _Pairs(list[tuple[str, Any]]):
    """An object's members as they were written, repeated keys included."""


def from_json(
    kind: type[Parsed] | TypeAdapter[Parsed],
    data: bytes | str,
    *,
    bytes_max: int = JSON_BYTES_MAX,
) -> Parsed:
    """Read one boundary value from JSON that comes from outside (E5).

    Args:
        kind: a boundary model, or an adapter of one.
        data: JSON text, at most `bytes_max` bytes of UTF-8.
        bytes_max: the limit, in bytes.

    Returns:
        The value.

    Raises:
        EvidenceError: for anything else; the message holds a pointer of schema fields and a
            fixed sentence.
    """
    form: Any = kind
    adapter: TypeAdapter[Parsed] = kind if isinstance(kind, TypeAdapter) else _adapter(form)
    raw = _checked_bytes(data, bytes_max)
    repeats: list[bool] = []
    plain = _loaded(raw, repeats)
    if repeats:
        _without_duplicates(_loaded(raw, None), (), _field_names(adapter))
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        raise _located(error, plain, _field_names(adapter)) from None


def _loaded(raw: bytes, repeats: list[bool] | None) -> Any:
    """Load JSON; note in `repeats` that a key is repeated, or keep all members for None."""

    def members(pairs: list[tuple[str, Any]]) -> Any:
        if repeats is None:
            return _Pairs(pairs)
        made = dict(pairs)
        if len(made) != len(pairs):
            repeats.append(True)
        return made

    try:
        return json.loads(raw, object_pairs_hook=members, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, EvidenceError):
            raise
        raise EvidenceError("", "this is not valid JSON") from None


def _checked_bytes(data: bytes | str, bytes_max: int) -> bytes:
    try:
        raw = data.encode() if isinstance(data, str) else bytes(data)
        raw.decode()
    except UnicodeError:
        raise EvidenceError("", "this is not UTF-8 text") from None
    if len(raw) > bytes_max:
        raise EvidenceError("", f"this is larger than {bytes_max} bytes")
    if _is_too_deep(raw):
        raise EvidenceError("", f"this is nested deeper than {JSON_NESTING_MAX}")
    return raw


def _is_too_deep(raw: bytes) -> bool:
    brackets = _STRING.sub(b"", raw).translate(_ALL_SQUARE, _NO_BRACKETS)
    rest = brackets
    for _ in range(JSON_NESTING_MAX):  # what is well-formed shrinks to nothing, level by level
        rest = rest.replace(b"[]", b"")
        if not rest:
            return False
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket == ord("[") else -1
        if depth > JSON_NESTING_MAX:
            return True
    return False


def _no_constant(_: str) -> None:
    raise EvidenceError("", "NaN and Infinity are not JSON")


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@lru_cache(maxsize=64)
def _field_names(adapter: TypeAdapter[Any]) -> frozenset[str]:
    schema = adapter.json_schema()
    names: set[str] = set(schema.get("properties", {}))
    for part in schema.get("$defs", {}).values():
        names.update(part.get("properties", {}))
    return frozenset(names)


def _pointer(path: tuple[str | int, ...], known: frozenset[str]) -> str:
    shown: list[str] = []
    for part in path:
        if isinstance(part, str) and part not in known:
            break
        shown.append(str(part))
    return "".join(f"/{part}" for part in shown)


def _without_duplicates(tree: Any, path: tuple[str | int, ...], known: frozenset[str]) -> Any:
    if isinstance(tree, _Pairs):
        if len({key for key, _ in tree}) != len(tree):
            raise EvidenceError(_pointer(path, known), "a key is repeated")
        return {k: _without_duplicates(v, (*path, k), known) for k, v in tree}
    if isinstance(tree, list):
        return [_without_duplicates(v, (*path, i), known) for i, v in enumerate(tree)]
    return tree


def _located(error: ValidationError, tree: Any, known: frozenset[str]) -> EvidenceError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    kind, here, path = first["type"], tree, []
    for part in first["loc"]:
        # Tags of unions stand in `loc` too; only what leads into the data is followed.
        if isinstance(here, dict) and part in here:
            here = here[part]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif not (kind == "missing" and part == first["loc"][-1]):
            continue
        path.append(part)
    if kind == "extra_forbidden":
        return EvidenceError(_pointer(tuple(path[:-1]), known), "there is an unknown field")
    if kind == "missing":
        return EvidenceError(_pointer(tuple(path), known), "this field is missing")
    return EvidenceError(_pointer(tuple(path), known), "this value is not of the right form")

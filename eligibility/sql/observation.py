"""What one execution over a snapshot returned, and the preview of it (specification 6).

Invariants
  O1  A cell is its type and the engine's own text; columns are known by position.
  O2  `Observation.digest` is the SHA-256 of the RFC 8785 bytes of all its other fields.
"""

import hashlib
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from eligibility.reasons import Reason
from eligibility.sql.schema import Pin, Schema
from eligibility.sql.shape import Shape
from eligibility.wire.canonical import (
    canonical_bytes,
    written,
    written_array,
    written_cell,
    written_object,
)
from eligibility.wire.escape import CHARACTERS_VERSION
from eligibility.wire.model import COUNT_MAX, Model, Sha256, is_absent

ROWS_MAX = 50
COLUMNS_MAX = 1_000
CELL_TEXT_BYTES_MAX = 64 * 1024
OBSERVATION_FORMAT: Literal["eligibility-observation/2"] = "eligibility-observation/2"

Truncation = Literal["rows", "bytes"]
ObservationFormat = Literal["eligibility-observation/1", "eligibility-observation/2"]
# Zero, or three digits at most and an exponent.
BoundText = Annotated[
    str, StringConstraints(pattern=r"^(?:0|[1-9](?:\.[0-9]{1,2})?e[+-][0-9]{1,3})$")
]


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
    repeatable: bool | None = Field(default=None, exclude_if=is_absent)
    order: tuple[SortKey, ...] | None = Field(default=None, exclude_if=is_absent)


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
        digest: see O2.
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
    characters: str | None = Field(default=None, exclude_if=is_absent)
    bounds: tuple[CellBound, ...] | None = Field(default=None, exclude_if=is_absent)
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
        """Make an observation and give it its digest (O2).

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
        members = {name: written(value) for name, value in tree.items()}
        # Cells are most of an observation, and writing them from models costs much more time.
        members["rows"] = written_array(
            written_array([written_cell(cell.type, cell.text) for cell in row]) for row in self.rows
        )
        return hashlib.sha256(written_object(members).encode()).hexdigest()

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

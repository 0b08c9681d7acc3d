"""What the child returned → an observation, written and validated once (specification 6).

Invariants
  B1  The digest is `Observation.recomputed_digest`: it is made from the same canonical bytes, whose
      parts that do not change from statement to statement are written only once.
  B2  The observation is a valid one: every cell, and then the whole, passes its model.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from eligibility.sql.observation import (
    OBSERVATION_FORMAT,
    Cell,
    CellBound,
    Engine,
    Observation,
    OutputColumn,
)
from eligibility.wire.canonical import (
    canonical_bytes,
    written,
    written_array,
    written_cell,
    written_object,
)
from eligibility.wire.escape import CHARACTERS_VERSION
from preview.engine import Captured

if TYPE_CHECKING:
    from preview.snapshot import Snapshot  # it loads pyarrow, which no child needs

_CELLS = TypeAdapter(list[Cell])


class Observer:
    """Makes observations over one snapshot. Safe to use from several threads."""

    def __init__(self, snapshot: "Snapshot") -> None:
        """Write what every observation over a snapshot has in common.

        Args:
            snapshot: an opened snapshot.
        """
        self._snapshot = snapshot
        self._pins = written_array([canonical_bytes(pin).decode() for pin in snapshot.pins])
        self._engine: tuple[Engine | None, str] = (None, "")

    def observation(
        self,
        statement: str,
        captured: Captured,
        engine: Engine,
        bounds: tuple[CellBound, ...] = (),
    ) -> Observation:
        """Make the observation of one execution that just ended.

        Args:
            statement: the text as it was written.
            captured: what its execution returned; every row as wide as `names` and `types`.
            engine: what executed it.
            bounds: of its sums and averages of floats.

        Returns:
            The observation, with its digest.

        Raises:
            pydantic.ValidationError: where it would not be a valid one.
        """
        snapshot, names, types = self._snapshot, captured.names, captured.types
        rows, written_rows = _rows(types, captured.rows)
        statement_sha256 = hashlib.sha256(statement.encode()).hexdigest()
        captured_at = datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
        columns = [
            {"name": name, "position": place, "type": kind}
            for place, (name, kind) in enumerate(zip(names, types, strict=True))
        ]
        hashed = {  # all but `digest` (O2 of `eligibility.sql.observation`)
            "bounds": written([bound.model_dump() for bound in bounds]),
            "captured_at": written(captured_at),
            "characters": written(CHARACTERS_VERSION),
            "columns": written(columns),
            "engine": self._engine_written(engine),
            "format": written(OBSERVATION_FORMAT),
            "manifest_sha256": written(snapshot.manifest_sha256),
            "pins": self._pins,
            "reading": written(captured.reading.model_dump(mode="json")),
            "rows": written_rows,
            "snapshot": written(snapshot.id),
            "statement": written(statement),
            "statement_sha256": written(statement_sha256),
            "truncated": written(captured.truncated),
        }
        return Observation(
            format=OBSERVATION_FORMAT,
            statement=statement,
            statement_sha256=statement_sha256,
            snapshot=snapshot.id,
            manifest_sha256=snapshot.manifest_sha256,
            pins=snapshot.pins,
            engine=engine,
            reading=captured.reading,
            columns=tuple([OutputColumn.model_validate(column) for column in columns]),
            rows=rows,
            truncated=captured.truncated,
            captured_at=captured_at,
            characters=CHARACTERS_VERSION,
            bounds=bounds,
            digest=hashlib.sha256(written_object(hashed).encode()).hexdigest(),
        )

    def _engine_written(self, engine: Engine) -> str:
        kept, text = self._engine
        if kept is not engine:
            text = canonical_bytes(engine).decode()
            self._engine = (engine, text)
        return text


def _rows(
    types: Sequence[str], rows: Sequence[Sequence[str | None]]
) -> tuple[tuple[tuple[Cell, ...], ...], str]:
    """Make the cells, and write them; a text that repeats in its column is one cell."""
    made, columns = [], []
    for kind, texts in zip(types, zip(*rows, strict=True), strict=bool(rows)):
        different = list(dict.fromkeys(texts))
        cells = _CELLS.validate_python([{"type": kind, "text": text} for text in different])
        made.append(map(dict(zip(different, cells, strict=True)).__getitem__, texts))
        members = {text: written_cell(kind, text) for text in different}
        columns.append(map(members.__getitem__, texts))
    lines = map(written_array, zip(*columns, strict=True))
    return tuple(zip(*made, strict=True)), written_array(lines)

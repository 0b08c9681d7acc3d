"""What the engine said to every corpus case, kept so that a mutant's tests need no engine.

python -m tools.mutation.evidence FOLDER
"""

import sys
from pathlib import Path

import duckdb
from pydantic import TypeAdapter

import preview
from eligibility.reasons import Reason
from eligibility.sql.observation import Observation
from eligibility.sql.schema import Pin
from eligibility.wire.model import Model
from preview.duckdb.plan import PLAN_QUERY
from preview.snapshot import DATABASE_NAME
from tests.corpus import TABLES, Case, cases, unescaped
from tests.engine import Engine, Pinned

NAME = "evidence.json"


class Said(Model):
    """What the engine said to one case.

    Attributes:
        plan: the plan's text; None where there is none.
        refused: why the statement is not run.
        pins: the tables.
        types: the base types of the outputs, as executing the statement gives them.
        observation: what was recorded; None where nothing was.
    """

    plan: str | None
    refused: Reason | None
    pins: tuple[Pin, ...]
    types: tuple[str, ...]
    observation: Observation | None


EVIDENCE = TypeAdapter(dict[str, Said])


def read(folder: Path) -> dict[str, Said]:
    """Read what was kept, by the name of the case."""
    return EVIDENCE.validate_json((folder / NAME).read_bytes())


def _before(case: Case) -> Said:
    engine = Engine([unescaped(TABLES.read_text()), *case.before])
    plan = engine.plan(case.statement)
    engine.close()
    return Said(plan=plan, refused=None, pins=engine.pins, types=(), observation=None)


def _pinned(case: Case, pinned: Pinned, beside: duckdb.DuckDBPyConnection) -> Said:
    pins, recorder = pinned.snapshot.pins, pinned.recorder
    reading, why = pinned.read(case.statement)
    if isinstance(reading, str):
        return Said(plan=None, refused=why, pins=pins, types=(), observation=None)
    (plan,) = beside.cursor().execute(PLAN_QUERY, [case.statement]).fetchone() or ("",)
    try:
        observation = recorder.capture(case.statement)
    except preview.StatementFailed:
        return Said(plan=plan, refused=None, pins=pins, types=(), observation=None)
    types = tuple(column.type for column in observation.columns)
    return Said(plan=plan, refused=None, pins=pins, types=types, observation=observation)


def keep(folder: Path) -> None:
    """Ask the engine, and keep what it said and its database file in a folder."""
    with Pinned() as pinned:
        database = folder / DATABASE_NAME
        database.write_bytes(pinned.snapshot.database.read_bytes())
        with duckdb.connect(str(database), read_only=True) as beside:
            said = {
                case.name: _before(case) if case.before else _pinned(case, pinned, beside)
                for case in cases()
            }
    (folder / NAME).write_bytes(EVIDENCE.dump_json(said))


if __name__ == "__main__":
    keep(Path(sys.argv[1]))

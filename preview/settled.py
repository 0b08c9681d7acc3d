"""Makes what pydantic makes at first use, before a process forks.

Pydantic's core makes some of what it needs at first use, under a lock, and lets other threads run
meanwhile. A child of a fork in that moment waits for such a lock for ever: the thread that holds it
is not there. (Measured: 24 of 1,500 processes hung that forked while four threads made their first
observation, all in `model_dump`.) So an observation is made once before the first fork.
"""

import sys

_done: list[object] = []


def settle() -> None:
    """Make an observation, and read it, once; nothing where no evidence was loaded yet."""
    if _done:
        return
    module = sys.modules.get("eligibility.sql.observation")
    if module is None or getattr(module.__spec__, "_initializing", False):
        return
    from eligibility.sql.observation import Cell, Engine, EngineReading, Observation, OutputColumn
    from eligibility.sql.schema import Column, Pin

    digest = "0" * 64
    made = Observation.sealed(
        statement="SELECT a FROM t",
        statement_sha256=digest,
        snapshot=digest,
        manifest_sha256=digest,
        pins=(
            Pin(
                path=("main", "t"),
                columns=(Column(name="a", type="INTEGER"),),
                rows=1,
                content_sha256=digest,
            ),
        ),
        engine=Engine(name="duckdb", version="0", settings=()),
        reading=EngineReading(shape=None, reasons=(), plan_sha256=digest),
        columns=(OutputColumn(position=0, name="a", type="INTEGER"),),
        rows=((Cell(type="INTEGER", text="1"),),),
        truncated=None,
        captured_at="2026-01-01T00:00:00.000000Z",
    )
    Observation.model_validate_json(made.model_dump_json())
    _done.append(made)

"""Statement + schema (+ engine reading) → verdicts: statement, reading and rules in a row.

Invariants
  C1  Total: any text, any schema, any engine reading gives `Verdicts`.
  C2  The verdict does not depend on how deep the caller's stack is (specification 10): what meets the
      end of the stack is decided once more on a fresh one, and that result counts.
"""

import hashlib
import threading
from functools import cache
from typing import Literal

from eligibility.reasons import Reason
from eligibility.sql.dialect import DUCKDB, Dialect
from eligibility.sql.limits import problems
from eligibility.sql.observation import EngineReading
from eligibility.sql.parse import read
from eligibility.sql.policy import STRICT
from eligibility.sql.rules import Decision, decide
from eligibility.sql.schema import Schema
from eligibility.sql.syntax import TextReading
from eligibility.sql.verdicts import EngineAnswer, Filter, SelectionFlags, Verdicts
from eligibility.sql.wording import filter_text

EngineSaid = EngineReading | Literal["refused", "failed"] | None
_NO_FILTER = Filter(kind="none")
_ENGINE_REASONS = {"refused": Reason.ENGINE_REFUSED, "failed": Reason.ENGINE_FAILED}


def classify(
    statement: str,
    schema: Schema,
    engine: EngineSaid = None,
    *,
    dialect: Dialect = DUCKDB,
) -> Verdicts:
    """Decide which outputs of a statement may be stated, and under what label (specification 2, 3).

    Args:
        statement: SQL text as it was written, of any length; what is no text is withheld as such.
        schema: the pinned tables.
        engine: what the engine's bound plan says; `refused` or `failed` where there is no plan;
            None where the engine is not asked: the answer is then what the text *could* supply.
        dialect: of that engine.

    Returns:
        The verdicts; never raises.
    """
    given: object = statement
    if not isinstance(given, str):
        return _verdicts("", TextReading(reasons=problems(statement)), schema, engine, dialect)
    try:
        return _verdicts(statement, _read(statement), schema, engine, dialect)
    except RecursionError:
        return _on_fresh_stack(statement, schema, engine, dialect)


def _read(statement: str) -> TextReading:
    found = problems(statement)
    return TextReading(reasons=found) if found else read(statement)


def _on_fresh_stack(
    statement: str, schema: Schema, engine: EngineSaid, dialect: Dialect
) -> Verdicts:
    """Decide once more where the whole stack is free; that result counts (C2)."""
    result: list[Verdicts] = []

    def again() -> None:
        try:
            result.append(_verdicts(statement, _read(statement), schema, engine, dialect))
        except RecursionError:
            nested = TextReading(reasons=(Reason.TOO_NESTED,))
            result.append(_verdicts(statement, nested, schema, engine, dialect))

    thread = threading.Thread(target=again)
    thread.start()
    thread.join()
    return result[0]


def _verdicts(
    statement: str, reading: TextReading, schema: Schema, engine: EngineSaid, dialect: Dialect
) -> Verdicts:
    asked = _ENGINE_REASONS[engine] if isinstance(engine, str) else engine
    decision = decide(reading, schema, asked, dialect, STRICT)
    groups = decision.shape.groups if decision.shape else ()
    chosen = reading.selection
    return Verdicts(
        statement_sha256=digest_of(statement),
        engine=_answer(engine, decision),
        reasons=decision.reasons,
        outputs=decision.outputs,
        filter=_filter(reading, schema, decision),
        groups=tuple([key.column for key in groups if key.kind == "column"]),
        selection=_flags(
            chosen.having,
            chosen.distinct,
            chosen.order_by,
            chosen.limit is not None,
            chosen.offset is not None,
        ),
    )


def digest_of(statement: str) -> str:
    """Give the SHA-256 of a statement's UTF-8 bytes, as `Verdicts.statement_sha256` has it."""
    return hashlib.sha256(statement.encode(errors="surrogatepass")).hexdigest()


def _answer(engine: EngineSaid, decision: Decision) -> EngineAnswer:
    if engine is None:
        return "not-asked"
    if isinstance(engine, str):
        return engine
    return "disagrees" if decision.disagrees else "agrees"


def _filter(reading: TextReading, schema: Schema, decision: Decision) -> Filter:
    if reading.filter is None:
        return _NO_FILTER
    shape = decision.shape
    if shape is None or shape.filter is None or shape.unstatable or not decision.filter_agrees:
        return Filter(kind="not-stated")
    text = filter_text(shape.filter, shape.table, schema)
    return Filter(kind="stated", predicate=shape.filter, text=text)


@cache
def _flags(
    having: bool, distinct: bool, order_by: bool, limit: bool, offset: bool
) -> SelectionFlags:
    return SelectionFlags(
        having=having, distinct=distinct, order_by=order_by, limit=limit, offset=offset
    )

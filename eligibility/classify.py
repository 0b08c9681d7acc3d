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

from eligibility.evidence import (
    EngineAnswer,
    EngineReading,
    Filter,
    Schema,
    SelectionFlags,
    Verdicts,
)
from eligibility.reading import read
from eligibility.reasons import Reason
from eligibility.rules import Decision, decide
from eligibility.statement import problems
from eligibility.text import TextReading
from eligibility.wording import filter_text

EngineSaid = EngineReading | Literal["refused", "failed"] | None
_NO_FILTER = Filter(kind="none")
_ENGINE_REASONS = {"refused": Reason.ENGINE_REFUSED, "failed": Reason.ENGINE_FAILED}


def classify(
    statement: str,
    schema: Schema,
    engine: EngineSaid = None,
) -> Verdicts:
    """Decide which outputs of a statement may be stated, and under what label (specification 2, 3).

    Args:
        statement: SQL text as it was written, of any length; what is no text is withheld as such.
        schema: the pinned tables.
        engine: what the engine's bound plan says; `refused` or `failed` where there is no plan;
            None where the engine is not asked: the answer is then what the text *could* supply.

    Returns:
        The verdicts; never raises.
    """
    given: object = statement
    if not isinstance(given, str):
        not_text = TextReading(reasons=problems(statement))
        return _verdicts("", schema, engine, not_text)
    try:
        return _decided(statement, schema, engine)
    except RecursionError:
        return _on_fresh_stack(statement, schema, engine)


def _decided(statement: str, schema: Schema, engine: EngineSaid) -> Verdicts:
    found = problems(statement)
    reading = TextReading(reasons=found) if found else read(statement)
    return _verdicts(statement, schema, engine, reading)


def _on_fresh_stack(statement: str, schema: Schema, engine: EngineSaid) -> Verdicts:
    """Decide once more where the whole stack is free; that result counts (C2)."""
    result: list[Verdicts] = []

    def again() -> None:
        try:
            result.append(_decided(statement, schema, engine))
        except RecursionError:
            nested = TextReading(reasons=(Reason.TOO_NESTED,))
            result.append(_verdicts(statement, schema, engine, nested))

    thread = threading.Thread(target=again)
    thread.start()
    thread.join()
    return result[0]


def _verdicts(statement: str, schema: Schema, engine: EngineSaid, reading: TextReading) -> Verdicts:
    asked = _ENGINE_REASONS[engine] if isinstance(engine, str) else engine
    decision = decide(reading, schema, asked)
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

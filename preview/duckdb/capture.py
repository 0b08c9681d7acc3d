"""A statement on a sealed connection → its rows, as the engine renders them (specification 5, 6).

It runs in the child, where parsing and binding can be killed, and it never raises for a statement:
what it found is a value that crosses to the parent.

Invariants
  C1  What is planned and what is executed are the same bytes: the statement's own, less a trailing
      semicolon and what follows it. The engine's splitter took them for one SELECT.
  C2  Nothing runs before the plan was read and `preview.duckdb.guard` let it pass.
  C3  Every value is the engine's own text; none passes through a Python number or date.
  C4  A message of the engine is kept only where it came from parsing or binding the bare
      statement: then it quotes the statement. Later ones can quote cells (specification 5).
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

import duckdb

from eligibility.reasons import Reason
from eligibility.sql.observation import (
    CELL_TEXT_BYTES_MAX,
    COLUMNS_MAX,
    ROWS_MAX,
    Truncation,
)
from eligibility.sql.schema import Pin
from eligibility.sql.types import FLOAT_DIGITS, FRACTION_DIGITS, INTEGER_RANGES, decimal_size
from eligibility.wire.model import Model
from preview.duckdb.guard import (
    BREAKING,
    ERRORS,
    Stopped,
    calls_anew,
    check_calls,
    check_plan,
    checked,
    columns_read,
    folded,
)
from preview.duckdb.plan import PLAN_QUERY, Node, PlanReading, parse_plan, plan_error, read_plan
from preview.engine import Broken, Captured, Failed, Measured, Read, Refused

MESSAGE_MAX = 2_000


class Planned(Model):
    """A statement that may be run: its bytes, and all nodes of its plan."""

    kind: Literal["planned"] = "planned"
    bare: str
    tree: dict[str, Any]


def read(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    pins: tuple[Pin, ...],
    fresh: duckdb.DuckDBPyConnection | None = None,
) -> Refused | Failed | Broken | Read:
    """Plan a statement without executing it (specification 3, the engine reading).

    Args:
        connection: a sealed connection.
        statement: text that `eligibility.sql.limits.refusal` lets pass.
        pins: the pinned tables.
        fresh: a cursor of the connection that nothing has used; it is closed. None to make one.

    Returns:
        The reading, or why there is none.
    """
    try:
        with fresh or connection.cursor() as cursor:
            return Read(reading=_planned(cursor, statement, pins)[1].reading)
    except Stopped as stopped:
        return stopped.outcome
    except (*BREAKING, MemoryError) as error:
        return Broken(error_class=type(error).__name__)


def planned(
    cursor: duckdb.DuckDBPyConnection, statement: str
) -> Refused | Failed | Broken | Planned:
    """Plan a query of the host without executing it.

    Args:
        cursor: of a connection that reaches nothing but its tables.
        statement: text that `eligibility.sql.limits.refusal` lets pass.

    Returns:
        What may be run, or why it may not.
    """
    try:
        bare, _, tree = _plan(cursor, statement)
        return Planned(bare=bare, tree=tree)
    except Stopped as stopped:
        return stopped.outcome
    except (*BREAKING, MemoryError) as error:
        return Broken(error_class=type(error).__name__)


def capture(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    pins: tuple[Pin, ...],
    fresh: duckdb.DuckDBPyConnection | None = None,
) -> Refused | Failed | Broken | Captured:
    """Execute a statement and take its first rows (specification 5 and 6).

    Args:
        connection: a sealed connection.
        statement: text that `eligibility.sql.limits.refusal` lets pass.
        pins: the pinned tables.
        fresh: a cursor of the connection that nothing has used; it is closed. None to make one.

    Returns:
        At most 50 rows with at most 64 KiB of text, or why there are none.
    """
    try:
        with fresh or connection.cursor() as cursor:
            bare, plan = _planned(cursor, statement, pins)
            try:
                return _executed(cursor, bare, plan)
            except BREAKING:
                raise
            except ERRORS as error:
                return Failed(error_class=type(error).__name__)
    except Stopped as stopped:
        return stopped.outcome
    except (*BREAKING, MemoryError) as error:
        return Broken(error_class=type(error).__name__)


def _bare(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    """Give the bytes that are planned and executed: one SELECT, without what ends it (C1)."""
    query = _one_select(connection, statement)
    if query == statement and ";" not in statement:
        return statement
    # The splitter leaves out leading semicolons and writes other spaces as plain ones, of the
    # same length in bytes; the tokenizer counts in bytes too.
    written, seen = statement.encode(), query.encode()
    start = len(written) - len(seen)
    ends = (
        at
        for at, kind in duckdb.tokenize(query)
        if kind == duckdb.token_type.operator and seen[at : at + 1] == b";"
    )
    end = next(ends, len(seen))
    bare = written[start : start + end].decode(errors="replace")
    if _one_select(connection, bare).encode() != seen[:end]:
        raise Stopped(Refused(reason=Reason.ENGINE_REFUSED))
    return bare


def _one_select(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    """Give the one SELECT in the text, as the engine's splitter writes it."""
    try:
        found = connection.extract_statements(statement)
    except BREAKING:
        raise
    except ERRORS as error:
        message = str(error)[:MESSAGE_MAX] if isinstance(error, duckdb.Error) else None
        raise Stopped(Refused(reason=Reason.NOT_SQL, message=message)) from None
    if len(found) != 1:
        reason = Reason.SEVERAL_STATEMENTS if found else Reason.NO_STATEMENT
        raise Stopped(Refused(reason=reason))
    if found[0].type != duckdb.StatementType.SELECT:
        raise Stopped(Refused(reason=Reason.NOT_A_SELECT))
    if found[0].named_parameters:
        raise Stopped(Refused(reason=Reason.PARAMETER))
    return found[0].query


# --- the plan -----------------------------------------------------------------------------------

_GOOD_PLAN = '{"error":false,'  # saves parsing it to see that it holds no error
_PARSED: dict[str, duckdb.Statement] = {}


def _plan_query(cursor: duckdb.DuckDBPyConnection) -> duckdb.Statement:
    """Give the query for a plan as the engine parsed it, which it does once in a process."""
    if PLAN_QUERY not in _PARSED:
        (_PARSED[PLAN_QUERY],) = cursor.extract_statements(PLAN_QUERY)
    return _PARSED[PLAN_QUERY]


def _planned(
    cursor: duckdb.DuckDBPyConnection, statement: str, pins: tuple[Pin, ...]
) -> tuple[str, PlanReading]:
    """Give what is to be executed, and what its plan says."""
    bare, text, tree = _plan(cursor, statement)
    plan = read_plan(text, pins, tree)
    _check_width(plan.types)
    reading = plan.reading
    if reading.repeatable and calls_anew(cursor, bare, columns_read(reading, pins)):
        reading = reading.model_copy(update={"repeatable": False})
    return bare, PlanReading(reading, plan.types)


def _plan(cursor: duckdb.DuckDBPyConnection, statement: str) -> tuple[str, str, Node]:
    """Give what is to be executed, and its plan as text and as tree (C2)."""
    bare = _bare(cursor, statement)
    try:
        check_calls(cursor, bare)
        row = cursor.execute(_plan_query(cursor), [bare]).fetchone()
    except BREAKING:
        raise
    except ERRORS as error:
        raise Stopped(Failed(error_class=type(error).__name__)) from None
    text = str(row[0]) if row else ""
    error_found = None if text.startswith(_GOOD_PLAN) else plan_error(text)
    if error_found is not None:
        raise Stopped(_from_plan_error(*error_found))
    tree = checked(parse_plan(text))
    check_plan(tree)
    return bare, text, tree


def _from_plan_error(kind: str, message: str) -> Refused | Failed | Broken:
    name = "".join(word.capitalize() for word in kind.split()) + "Exception"
    match kind:
        case "parser" | "binder" | "catalog" | "syntax":
            return Failed(error_class=name, message=message[:MESSAGE_MAX])
        case "permission":
            return Refused(reason=Reason.ENGINE_REFUSED)
        case "not implemented" | "serialization" | "invalid input":
            return Refused(reason=Reason.PLAN_UNREADABLE)
        case "out of memory" | "internal" | "fatal":
            return Broken(error_class=name)
        case _:
            return Failed(error_class=name)


def _check_width(columns: Sequence[object]) -> None:
    if len(columns) > COLUMNS_MAX:
        raise Stopped(Refused(reason=Reason.TOO_MANY_COLUMNS))


# --- the execution ------------------------------------------------------------------------------

# One row more than is kept, so that exactly 50 is known to be all. A text that is cut here is by
# itself longer than all the text that is kept: its row is left out. The bracket closes on a line
# of its own, since a comment may end the statement.
_WRAPPED = "SELECT {cell} FROM (\n{bare}\n) LIMIT {rows}"
_CELL = "CAST(COLUMNS(*) AS VARCHAR)"
_CUT_CELL = f"system.main.left({_CELL}, {CELL_TEXT_BYTES_MAX + 1})"
# No value of these types has a text that could be cut; binding the cut takes longer than the cast.
_SHORT = frozenset({*INTEGER_RANGES, *FLOAT_DIGITS, *FRACTION_DIGITS, "BOOLEAN", "DATE", "UUID"})
# The engine's casts of these to text end it at a value beyond the years of TIMESTAMP; the cast to
# TIMESTAMP is an error there, and makes the same text of every other value.
_WIDE = frozenset({"TIMESTAMP_S", "TIMESTAMP_MS"})
_BY_PLACE = "SELECT {cells} FROM (\n{bare}\n) AS shown({places}) LIMIT {rows}"
_HEAD = "(\n{bare}\n) LIMIT 0"
_NUMBERED = re.compile(r"(.*)_[0-9]+", re.DOTALL)


def _executed(cursor: duckdb.DuckDBPyConnection, bare: str, plan: PlanReading) -> Captured:
    names: list[str] = []
    types = told = [kind for kind in plan.types if kind is not None]
    if not told or len(told) != len(plan.types):
        names, types = _head(cursor, bare)
        _check_width(names)
    if _WIDE.isdisjoint(types):
        short = all(kind in _SHORT or decimal_size(kind) for kind in types)
        cell = _CELL if short else _CUT_CELL
        cursor.execute(_WRAPPED.format(cell=cell, bare=bare, rows=ROWS_MAX + 1))
    else:
        names = names or _head(cursor, bare)[0]
        cursor.execute(_by_place(bare, types))
    wrapped = [str(column[0]) for column in cursor.description]
    rows, truncated = _rows(cursor)
    if not names:
        names = _head(cursor, bare)[0] if _renamed(wrapped) else wrapped
    if not len(wrapped) == len(names) == len(types):
        raise Stopped(Refused(reason=Reason.PLAN_UNREADABLE))
    return Captured(
        reading=plan.reading,
        names=tuple(names),
        types=tuple(types),
        rows=tuple(rows),
        truncated=truncated,
    )


def _by_place(bare: str, types: Sequence[str]) -> str:
    """Wrap a statement so that each column has a cast of its own; its names are lost."""
    places = [f"c{place}" for place in range(len(types))]
    cells = [
        f"CAST({f'CAST({place} AS TIMESTAMP)' if kind in _WIDE else place} AS VARCHAR)"
        for place, kind in zip(places, types, strict=True)
    ]
    cut = [f"system.main.left({cell}, {CELL_TEXT_BYTES_MAX + 1})" for cell in cells]
    return _BY_PLACE.format(
        cells=", ".join(cut), bare=bare, places=", ".join(places), rows=ROWS_MAX + 1
    )


def _rows(
    cursor: duckdb.DuckDBPyConnection,
) -> tuple[list[tuple[str | None, ...]], Truncation | None]:
    """Take whole rows while they fit (specification 6)."""
    rows: list[tuple[str | None, ...]] = []
    left = CELL_TEXT_BYTES_MAX
    while (row := cursor.fetchone()) is not None:
        if len(rows) == ROWS_MAX:
            return rows, "rows"
        left -= len("".join([text for text in row if text]).encode())
        if left < 0:
            return rows, "bytes"
        rows.append(row)
    return rows, None


def _renamed(names: list[str]) -> bool:
    """Say whether the wrapper may have numbered a name because it stands there twice."""
    numbered = [match for name in names if (match := _NUMBERED.fullmatch(name))]
    shown = {folded(name) for name in names} if numbered else ()
    return any(folded(match[1]) in shown for match in numbered)


def _head(cursor: duckdb.DuckDBPyConnection, bare: str) -> tuple[list[str], list[str]]:
    """Ask the engine for the names and types of the bare statement; no row is made."""
    cursor.execute(_HEAD.format(bare=bare))
    described = cursor.description
    return [str(column[0]) for column in described], [_base(column[1]) for column in described]


def _base(kind: Any) -> str:
    """Give a type's base name: what it is, without its members, fields or elements."""
    name = str(kind).strip('"')
    return str(kind.id).upper() if kind.id != "decimal" and name[-1] in ")]" else name


def measure(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    fresh: duckdb.DuckDBPyConnection | None = None,
) -> Failed | Broken | Measured:
    """Execute a statement of our own.

    Args:
        connection: a sealed connection.
        statement: as `question` makes it.
        fresh: a cursor of the connection that nothing has used; it is closed. None to make one.

    Returns:
        Its rows as texts, or why there are none.
    """
    try:
        with fresh or connection.cursor() as cursor:
            rows = cursor.execute(statement).fetchall()
            texts = (tuple(None if part is None else str(part) for part in row) for row in rows)
            return Measured(rows=tuple(texts))
    except (*BREAKING, MemoryError) as error:
        return Broken(error_class=type(error).__name__)
    except ERRORS as error:
        return Failed(error_class=type(error).__name__)

"""A statement on a sealed connection → its rows, as the engine renders them (specification 5, 6).

It runs in the child, where parsing and binding can be killed, and it never raises for a statement:
what it found is a value that crosses to the parent.

Invariants
  C1  What is planned and what is executed are the same bytes: the statement's own, less a trailing
      semicolon and what follows it. The engine's splitter took them for one SELECT.
  C2  Nothing runs before the plan was read, and a plan that cannot be read is not run. Only listed
      operators and listed table functions run; functions with effects, and those that look beyond
      the statement and its tables, do not.
  C3  The engine evaluates the arguments of table functions while it plans. So the calls that are
      refused are sought in the statement's own parse tree before it is planned.
  C4  Every value is the engine's own text; none passes through a Python number or date.
  C5  The engine puts the value of a function of the clock in its place while it plans. So such
      functions are sought in the parse tree besides, by call, never by word.
  C6  A message of the engine is kept only where it came from parsing or binding the bare
      statement: then it quotes the statement. Later ones can quote cells (specification 5).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import duckdb
from pydantic import Field

from eligibility.reasons import Reason
from eligibility.sql.observation import (
    CELL_TEXT_BYTES_MAX,
    COLUMNS_MAX,
    ROWS_MAX,
    EngineReading,
    Truncation,
)
from eligibility.sql.schema import Pin, fold
from eligibility.sql.types import FLOAT_DIGITS, FRACTION_DIGITS, INTEGER_RANGES, decimal_size
from eligibility.wire.model import Model
from preview.engine_reading import (
    CHANGING,
    PLAN_QUERY,
    Node,
    PlanReading,
    parse_plan,
    plan_error,
    read_plan,
)

MESSAGE_MAX = 2_000


class Refused(Model):
    """The statement is not run; `message` is the parser's, where it is no SQL."""

    kind: Literal["refused"] = "refused"
    reason: Reason
    message: str | None = None


class Failed(Model):
    """The engine gave an error; its message only where it quotes nothing but the statement."""

    kind: Literal["failed"] = "failed"
    error_class: str
    message: str | None = None


class Broken(Model):
    """The engine ran out of memory, or of its senses: what it says afterwards counts no more."""

    kind: Literal["broken"] = "broken"
    error_class: str


class Read(Model):
    """What the plan says; nothing was executed."""

    kind: Literal["read"] = "read"
    reading: EngineReading


class Captured(Model):
    """What the execution returned.

    Attributes:
        reading: what the plan says.
        names, types: of the bare statement's columns, by position.
        rows: the engine's own texts, None for NULL.
        truncated: why rows are missing; None where none is.
    """

    kind: Literal["captured"] = "captured"
    reading: EngineReading
    names: tuple[str, ...] = Field(min_length=1, max_length=COLUMNS_MAX)
    types: tuple[str, ...] = Field(min_length=1, max_length=COLUMNS_MAX)
    rows: tuple[tuple[str | None, ...], ...] = Field(max_length=ROWS_MAX)
    truncated: Truncation | None


class Planned(Model):
    """A statement that may be run: its bytes, and all nodes of its plan."""

    kind: Literal["planned"] = "planned"
    bare: str
    tree: dict[str, Any]


class _Stopped(Exception):
    """Carries the outcome of a statement that does not get to its rows."""

    def __init__(self, outcome: Refused | Failed | Broken) -> None:
        super().__init__()
        self.outcome = outcome


# The engine may cut a message inside a character; that reaches Python as the second of these.
ERRORS = (duckdb.Error, UnicodeDecodeError)
# After these the engine's state is not known, or its memory is short.
BREAKING = (duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException)


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
    except _Stopped as stopped:
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
    except _Stopped as stopped:
        return stopped.outcome
    except (*BREAKING, MemoryError) as error:
        return Broken(error_class=type(error).__name__)


def nodes(planned: Planned) -> Iterator[Node]:
    """Give every node of a plan, in no order."""
    return _nodes(planned.tree)


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
    except _Stopped as stopped:
        return stopped.outcome
    except (*BREAKING, MemoryError) as error:
        return Broken(error_class=type(error).__name__)


# --- before it is planned -----------------------------------------------------------------------

# Table functions that make rows from their arguments and look nowhere else. Every other one is
# refused, also one that a later engine brings.
TABLE_FUNCTIONS_RUN = frozenset(
    {
        "generate_series",
        "icu_calendar_names",
        "json_each",
        "json_tree",
        "pg_timezone_names",
        "range",
        "repeat",
        "repeat_row",
        "seq_scan",
        "summary",
        "test_all_types",
        "test_vector_types",
        "unnest",
    }
)

# Calls that have effects, look beyond the statement and its tables, or run text as SQL. Those
# above the line are scalar functions and macros; those below are the engine's table functions.
CALLS_REFUSED = frozenset(
    {
        "current_connection_id",
        "current_query",
        "current_query_id",
        "current_setting",
        "current_transaction_id",
        "currval",
        "getenv",
        "getvariable",
        "json_serialize_plan",
        "nextval",
        "pg_sleep",
        "setseed",
        "setval",
        "sleep_ms",
        "to_aggregate_state",  # takes the caller's bytes for a structure of the engine's own
        "txid_current",
        "write_log",
        # ---
        "add_grammar_extension",
        "arrow_scan",
        "arrow_scan_dumb",
        "checkpoint",
        "create_external_resource",
        "deregister_external_resource",
        "destroy_external_resource",
        "disable_logging",
        "disable_profiling",
        "duckdb_logs_parsed",
        "duckdb_profiling_settings",
        "enable_logging",
        "enable_profiling",
        "force_checkpoint",
        "get_block_size",
        "glob",
        "json_execute_serialized_sql",
        "pandas_scan",
        "parquet_bloom_probe",
        "parquet_file_metadata",
        "parquet_full_metadata",
        "parquet_kv_metadata",
        "parquet_metadata",
        "parquet_page_index",
        "parquet_scan",
        "parquet_schema",
        "python_arrow_scan",
        "python_map_function",
        "query",
        "query_table",
        "read_blob",
        "read_csv",
        "read_csv_auto",
        "read_duckdb",
        "read_json",
        "read_json_auto",
        "read_json_objects",
        "read_json_objects_auto",
        "read_ndjson",
        "read_ndjson_auto",
        "read_ndjson_objects",
        "read_parquet",
        "read_single_csv_file",
        "read_single_json_file",
        "read_single_parquet_file",
        "read_text",
        "register_external_resource",
        "register_external_resource_type",
        "remove_grammar_extension",
        "sniff_csv",
        "truncate_duckdb_logs",
        "which_secret",
    }
)
# The engine's tables about itself: `duckdb_tables`, `pragma_version`.
_CATALOG = ("duckdb_", "pragma_")

# To the engine these are SELECTs, and SUMMARIZE leaves no trace in the plan.
_SHOWS = frozenset({"describe", "show", "summarize"})
_WORD = re.compile(r"[a-z_][a-z0-9_]*")


def _call_refused(name: str) -> bool:
    return name in CALLS_REFUSED or name.startswith(_CATALOG)


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
        raise _Stopped(Refused(reason=Reason.ENGINE_REFUSED))
    return bare


def _one_select(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    """Give the one SELECT in the text, as the engine's splitter writes it."""
    try:
        found = connection.extract_statements(statement)
    except BREAKING:
        raise
    except ERRORS as error:
        message = str(error)[:MESSAGE_MAX] if isinstance(error, duckdb.Error) else None
        raise _Stopped(Refused(reason=Reason.NOT_SQL, message=message)) from None
    if len(found) != 1:
        reason = Reason.SEVERAL_STATEMENTS if found else Reason.NO_STATEMENT
        raise _Stopped(Refused(reason=reason))
    if found[0].type != duckdb.StatementType.SELECT:
        raise _Stopped(Refused(reason=Reason.NOT_A_SELECT))
    if found[0].named_parameters:
        raise _Stopped(Refused(reason=Reason.PARAMETER))
    return found[0].query


def _check_calls(cursor: duckdb.DuckDBPyConnection, bare: str) -> None:
    """Look for refused calls in the parse tree, where one of their names stands in the text (C3).

    Strings, comments and column names hold such words too; only the tree can tell.
    """
    words = _WORD.findall(_folded(bare))
    if not any(word in _SHOWS or _call_refused(word) for word in words):
        return
    for node in _nodes(_checked(_parsed(cursor, bare))):
        if str(node.get("type", "")).startswith("SHOW"):
            raise _Stopped(Refused(reason=Reason.NOT_A_SELECT))
        name = node.get("function_name")
        if isinstance(name, str) and _call_refused(_folded(name)):
            raise _Stopped(Refused(reason=Reason.ENGINE_REFUSED))


def _parsed(cursor: duckdb.DuckDBPyConnection, bare: str) -> Node | None:
    """Give the engine's parse tree of a statement; None for what is no JSON document."""
    row = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [bare]).fetchone()
    return parse_plan(str(row[0])) if row else None


# Macros that call a function of the clock, and words that stand for one without a bracket.
_CHANGING_MACROS = frozenset({"ago", "pg_conf_load_time", "pg_postmaster_start_time"})
_CHANGING_WORDS = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)
_MAY_CHANGE = CHANGING | _CHANGING_MACROS | _CHANGING_WORDS | {"age"}


def _calls_anew(cursor: duckdb.DuckDBPyConnection, bare: str, columns: frozenset[str]) -> bool:
    """Say whether the statement calls a function whose value is another at another time (C5).

    Args:
        cursor: of the sealed connection.
        bare: the statement.
        columns: folded names of the columns that are read; such a name stands for its column.
    """
    if _MAY_CHANGE.isdisjoint(_WORD.findall(_folded(bare))):
        return False
    try:
        tree = _parsed(cursor, bare)
    except BREAKING:
        raise
    except ERRORS:
        tree = None
    if tree is None:
        return True
    for node in _nodes(tree):
        name, written = node.get("function_name"), node.get("column_names")
        if isinstance(name, str):
            called = _folded(name)
            if called in CHANGING or called in _CHANGING_MACROS:
                return True
            if called == "age" and len(node.get("arguments", ())) == 1:
                return True
        elif isinstance(written, list) and len(written) == 1:
            word = _folded(str(written[0]))
            if word in _CHANGING_WORDS and word not in columns:
                return True
    return False


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else fold(text)


def _checked(tree: Node | None) -> Node:
    """Refuse what is no JSON document of the engine's, or one too deep, or one of an error."""
    if tree is None or tree.get("error") is not False:
        raise _Stopped(Refused(reason=Reason.PLAN_UNREADABLE))
    return tree


_HOLDING = (dict, list)  # made once: this is asked of every part of a plan


def _nodes(tree: Any) -> Iterator[Node]:
    waiting: list[Any] = [[tree]]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            yield here
            here = here.values()
        for part in here:
            if part and isinstance(part, _HOLDING):
                waiting.append(part)  # noqa: PERF401 - this takes half the time of a list


# --- the plan -----------------------------------------------------------------------------------

# Operators that only read. CHUNK_GET holds what DESCRIBE found; the rest of the engine's list
# writes, sets or explains.
_OPERATORS_RUN = frozenset(
    f"LOGICAL_{name}"
    for name in (
        "AGGREGATE_AND_GROUP_BY",
        "ANY_JOIN",
        "ASOF_JOIN",
        "COMPARISON_JOIN",
        "CROSS_PRODUCT",
        "CTE_REF",
        "DELIM_GET",
        "DELIM_JOIN",
        "DEPENDENT_JOIN",
        "DISTINCT",
        "DUMMY_SCAN",
        "EMPTY_RESULT",
        "EXCEPT",
        "EXPRESSION_GET",
        "FILTER",
        "GET",
        "INTERSECT",
        "LIMIT",
        "MATERIALIZED_CTE",
        "ORDER_BY",
        "PIVOT",
        "POSITIONAL_JOIN",
        "PROJECTION",
        "RECURSIVE_CTE",
        "SAMPLE",
        "UNION",
        "UNNEST",
        "WINDOW",
    )
)


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
    if reading.repeatable and _calls_anew(cursor, bare, _columns_read(reading, pins)):
        reading = reading.model_copy(update={"repeatable": False})
    return bare, PlanReading(reading, plan.types)


def _plan(cursor: duckdb.DuckDBPyConnection, statement: str) -> tuple[str, str, Node]:
    """Give what is to be executed, and its plan as text and as tree (C2)."""
    bare = _bare(cursor, statement)
    try:
        _check_calls(cursor, bare)
        row = cursor.execute(_plan_query(cursor), [bare]).fetchone()
    except BREAKING:
        raise
    except ERRORS as error:
        raise _Stopped(Failed(error_class=type(error).__name__)) from None
    text = str(row[0]) if row else ""
    error_found = None if text.startswith(_GOOD_PLAN) else plan_error(text)
    if error_found is not None:
        raise _Stopped(_from_plan_error(*error_found))
    tree = _checked(parse_plan(text))
    _check_plan(tree)
    return bare, text, tree


def _columns_read(reading: EngineReading, pins: tuple[Pin, ...]) -> frozenset[str]:
    path = None if reading.shape is None else reading.shape.table
    found = (pin.columns for pin in pins if pin.path == path)
    return frozenset(_folded(column.name) for columns in found for column in columns)


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


def _check_plan(tree: Node) -> None:
    plans = tree.get("plans")
    if not isinstance(plans, list) or len(plans) != 1:
        raise _Stopped(Refused(reason=Reason.PLAN_UNREADABLE))
    for node in _nodes(plans[0]):
        kind = node.get("type")
        is_operator = isinstance(kind, str) and kind.startswith("LOGICAL_")
        if is_operator and kind not in _OPERATORS_RUN:
            raise _Stopped(Refused(reason=Reason.NOT_A_SELECT))
        if "qname" not in node:
            continue
        name = node["qname"]["path"][-1]
        if _call_refused(name) or (is_operator and name not in TABLE_FUNCTIONS_RUN):
            raise _Stopped(Refused(reason=Reason.ENGINE_REFUSED))


def _check_width(columns: Sequence[object]) -> None:
    if len(columns) > COLUMNS_MAX:
        raise _Stopped(Refused(reason=Reason.TOO_MANY_COLUMNS))


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
        raise _Stopped(Refused(reason=Reason.PLAN_UNREADABLE))
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
    folded = {_folded(name) for name in names} if numbered else ()
    return any(_folded(match[1]) in folded for match in numbered)


def _head(cursor: duckdb.DuckDBPyConnection, bare: str) -> tuple[list[str], list[str]]:
    """Ask the engine for the names and types of the bare statement; no row is made."""
    cursor.execute(_HEAD.format(bare=bare))
    described = cursor.description
    return [str(column[0]) for column in described], [_base(column[1]) for column in described]


def _base(kind: Any) -> str:
    """Give a type's base name: what it is, without its members, fields or elements."""
    name = str(kind).strip('"')
    return str(kind.id).upper() if kind.id != "decimal" and name[-1] in ")]" else name

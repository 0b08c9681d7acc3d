"""What may run: calls, operators and table functions, by lists (specification 5).

Invariants
  G1  A plan that cannot be read is not run. Only listed operators and listed table functions run;
      functions with effects, and those that look beyond the statement and its tables, do not.
  G2  The engine evaluates the arguments of table functions while it plans. So the calls that are
      refused are sought in the statement's own parse tree before it is planned.
  G3  The engine puts the value of a function of the clock in its place while it plans. So such
      functions are sought in the parse tree besides, by call, never by word.
"""

import re
from collections.abc import Iterator
from typing import Any

import duckdb

from eligibility.reasons import Reason
from eligibility.sql.observation import EngineReading
from eligibility.sql.schema import Pin, casefold
from preview.duckdb.plan import CHANGING, Node, parse_plan
from preview.engine import Broken, Failed, Refused

# The engine may cut a message inside a character; that reaches Python as the second of these.
ERRORS = (duckdb.Error, UnicodeDecodeError)
# After these the engine's state is not known, or its memory is short.
BREAKING = (duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException)


class Stopped(Exception):
    """Carries the outcome of a statement that does not get to its rows."""

    def __init__(self, outcome: Refused | Failed | Broken) -> None:
        """Keep the outcome."""
        super().__init__()
        self.outcome = outcome


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


def check_calls(cursor: duckdb.DuckDBPyConnection, bare: str) -> None:
    """Look for refused calls in the parse tree, where one of their names stands in the text (G2).

    Strings, comments and column names hold such words too; only the tree can tell.

    Args:
        cursor: of the sealed connection.
        bare: the statement.

    Raises:
        Stopped: there is one.
    """
    words = _WORD.findall(folded(bare))
    if not any(word in _SHOWS or _call_refused(word) for word in words):
        return
    for node in nodes(checked(_parsed(cursor, bare))):
        if str(node.get("type", "")).startswith("SHOW"):
            raise Stopped(Refused(reason=Reason.NOT_A_SELECT))
        name = node.get("function_name")
        if isinstance(name, str) and _call_refused(folded(name)):
            raise Stopped(Refused(reason=Reason.ENGINE_REFUSED))


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


def calls_anew(cursor: duckdb.DuckDBPyConnection, bare: str, columns: frozenset[str]) -> bool:
    """Say whether the statement calls a function whose value is another at another time (G3).

    Args:
        cursor: of the sealed connection.
        bare: the statement.
        columns: folded names of the columns that are read; such a name stands for its column.
    """
    if _MAY_CHANGE.isdisjoint(_WORD.findall(folded(bare))):
        return False
    try:
        tree = _parsed(cursor, bare)
    except BREAKING:
        raise
    except ERRORS:
        tree = None
    if tree is None:
        return True
    for node in nodes(tree):
        name, written = node.get("function_name"), node.get("column_names")
        if isinstance(name, str):
            called = folded(name)
            if called in CHANGING or called in _CHANGING_MACROS:
                return True
            if called == "age" and len(node.get("arguments", ())) == 1:
                return True
        elif isinstance(written, list) and len(written) == 1:
            word = folded(str(written[0]))
            if word in _CHANGING_WORDS and word not in columns:
                return True
    return False


def folded(text: str) -> str:
    """Fold a text as the engine compares identifiers."""
    return text.lower() if text.isascii() else casefold(text)


def checked(tree: Node | None) -> Node:
    """Refuse what is no JSON document of the engine's, or one too deep, or one of an error."""
    if tree is None or tree.get("error") is not False:
        raise Stopped(Refused(reason=Reason.PLAN_UNREADABLE))
    return tree


_HOLDING = (dict, list)  # made once: this is asked of every part of a plan


def nodes(tree: Any) -> Iterator[Node]:
    """Give every node of a plan or a parse tree, in no order."""
    waiting: list[Any] = [[tree]]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            yield here
            here = here.values()
        for part in here:
            if part and isinstance(part, _HOLDING):
                waiting.append(part)  # noqa: PERF401 - `extend` with a generator takes twice the time


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


def check_plan(tree: Node) -> None:
    """Stop at what a plan may not hold (G1).

    Args:
        tree: the document that holds the plan.

    Raises:
        Stopped: there is something.
    """
    plans = tree.get("plans")
    if not isinstance(plans, list) or len(plans) != 1:
        raise Stopped(Refused(reason=Reason.PLAN_UNREADABLE))
    for node in nodes(plans[0]):
        kind = node.get("type")
        is_operator = isinstance(kind, str) and kind.startswith("LOGICAL_")
        if is_operator and kind not in _OPERATORS_RUN:
            raise Stopped(Refused(reason=Reason.NOT_A_SELECT))
        if "qname" not in node:
            continue
        name = node["qname"]["path"][-1]
        if _call_refused(name) or (is_operator and name not in TABLE_FUNCTIONS_RUN):
            raise Stopped(Refused(reason=Reason.ENGINE_REFUSED))


def columns_read(reading: EngineReading, pins: tuple[Pin, ...]) -> frozenset[str]:
    """Give the folded names of the columns of the table that is read; none where it is not known."""
    path = None if reading.shape is None else reading.shape.table
    found = (pin.columns for pin in pins if pin.path == path)
    return frozenset(folded(column.name) for columns in found for column in columns)

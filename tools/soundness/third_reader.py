"""Two more readers of a statement, as judges: DuckDB's own syntax tree, and SQLite's column origins.

Neither is part of the engine: the tree is that of `json_serialize_sql`, which is made before names
are bound; the origins are what SQLite says of the columns of a compiled statement.

Invariants
  T1  A released output is, in DuckDB's tree, a plain column or one of the five calls of a plain
      column over one base table, of the labelled names, in a statement without anything else.
  T2  An output whose origin SQLite knows, and which is released as a column, is released as that
      column.
"""

import json
import string
from dataclasses import dataclass, field
from typing import Any

import apsw
import duckdb

from eligibility.sql.verdicts import Label, SelectionFlags
from tools.soundness.tables import Data, Path2

TREE_QUERY = "SELECT json_serialize_sql(?::VARCHAR)"
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_FIVE = {"sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX", "count": "COUNT"}

# What a label has to say: kind, table path, column, calculation.
Made = tuple[str, Path2, str | None, str | None]


def lower(name: str) -> str:
    """Fold as DuckDB does: ASCII alone."""
    return name.translate(_LOWER)


def made_of(label: Label) -> Made:
    """Give a label in the form of the readers here."""
    return (label.kind, label.table, label.column, label.calculation)


@dataclass
class Tree:
    """What DuckDB's tree says.

    Attributes:
        outputs: per output what it is made of; None for anything else.
        flags: which of having, distinct, order_by, limit, offset, where, group stand there.
        refused: why nothing of the statement may be stated; None where something may.
    """

    outputs: list[Made | None] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    refused: str | None = None


def read_tree(
    connection: duckdb.DuckDBPyConnection, statement: str, tables: tuple[Data, ...]
) -> Tree:
    """Read a statement from DuckDB's syntax tree.

    Args:
        connection: any; nothing is bound or run.
        statement: SQL text.
        tables: the data set that is read.

    Returns:
        What the tree says; `refused` for all that is not one plain SELECT over one base table.
    """
    row = connection.execute(TREE_QUERY, [statement]).fetchone()
    try:
        document = json.loads(row[0]) if row else {}
    except ValueError:
        return Tree(refused="no tree")
    statements = document.get("statements") or []
    if document.get("error") or len(statements) != 1:
        return Tree(refused="no tree")
    node = statements[0]["node"]
    if node["type"] != "SELECT_NODE" or node["cte_map"]["map"]:
        return Tree(refused="not a plain SELECT")
    if node["sample"] or node["qualify"] or len(node["group_sets"]) > 1:
        return Tree(refused="a sample, QUALIFY or several grouping sets")
    if any("SUBQUERY" in str(n.get("type")) or n.get("class") == "WINDOW" for n in _nodes(node)):
        return Tree(refused="a query or a window inside")
    source = _source(node["from_table"], tables)
    if source is None:
        return Tree(refused="not one base table")
    table, alias = source
    tree = Tree(flags=_flags(node))
    for written in node["select_list"]:
        tree.outputs += _output(written, table, alias)
    return tree


def _nodes(tree: Any) -> list[dict[str, Any]]:
    waiting, found = [tree], []
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            found.append(here)
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
    return found


def _source(source: dict[str, Any], tables: tuple[Data, ...]) -> tuple[Data, str] | None:
    if source["type"] != "BASE_TABLE" or source["column_name_alias"] or source["sample"]:
        return None
    if source["at_clause"]:
        return None
    path = [lower(part) for part in source["qualified_name"]["path"] if part]
    wanted = ["main", *path] if len(path) == 1 else path
    found = [
        table
        for table in tables
        if ["snapshot", lower(table.path[0]), lower(table.path[1])][-len(wanted) :] == wanted
    ]
    return (found[0], lower(source["alias"] or path[-1])) if len(found) == 1 else None


def _flags(node: dict[str, Any]) -> set[str]:
    flags = {"having"} if node["having"] else set()
    flags |= {"where"} if node["where_clause"] else set()
    grouped = node["group_expressions"] or node["aggregate_handling"] == "FORCE_AGGREGATES"
    flags |= {"group"} if grouped else set()
    for modifier in node["modifiers"]:
        match modifier["type"]:
            case "ORDER_MODIFIER":
                flags.add("order_by")
            case "DISTINCT_MODIFIER":
                flags.add("distinct_on" if modifier["distinct_on_targets"] else "distinct")
            case "LIMIT_MODIFIER":
                flags |= {part for part in ("limit", "offset") if modifier[part]}
            case other:
                flags.add(other)
    return flags


def _output(written: dict[str, Any], table: Data, alias: str) -> list[Made | None]:
    if written["class"] == "STAR":
        plain = not any(
            written.get(part)
            for part in ("exclude_list", "replace_list", "rename_list", "columns", "expr")
        )
        plain = plain and not written["relation_name"]
        return [("column", table.path, c.name, None) if plain else None for c in table.columns]
    column = _column(written, table, alias)
    if column is not None:
        return [("column", table.path, column, None)]
    if written["class"] != "FUNCTION" or written["is_operator"] or written["distinct"]:
        return [None]
    if written["filter"] or (written["order_bys"] or {}).get("orders"):
        return [None]
    name, arguments = lower(_called(written)), written["arguments"]
    if name == "count_star" and not arguments:
        return [("aggregate", table.path, None, "COUNT")]
    if name not in _FIVE or len(arguments) != 1 or arguments[0].get("name"):
        return [None]
    column = _column(arguments[0]["expression"], table, alias)
    return [None if column is None else ("aggregate", table.path, column, _FIVE[name])]


def _called(written: dict[str, Any]) -> str:
    """Give a call's name; a name in a schema is another name."""
    path = [p for p in (written.get("qualified_name") or {}).get("path", []) if p]
    path = path or [p for p in (written.get("catalog"), written.get("schema")) if p]
    name = str(written.get("function_name") or (path[-1] if path else ""))
    return name if len(path) <= 1 or path == [name] else ".".join(map(str, path))


def _column(written: dict[str, Any], table: Data, alias: str) -> str | None:
    if written["class"] != "COLUMN_REF":
        return None
    *qualifier, name = written["column_names"]
    if qualifier and [lower(part) for part in qualifier] != [alias]:
        return None
    found = [c.name for c in table.columns if lower(c.name) == lower(name)]
    return found[0] if len(found) == 1 else None


def disputes(
    tree: Tree, labels: list[tuple[int, Made]], selection: SelectionFlags, *, filtered: bool
) -> list[str]:
    """Say where what is released and DuckDB's tree differ (T1).

    Args:
        tree: of the statement.
        labels: (position, what the engine says it is made of) of every released output.
        selection: the clauses that the facts tell.
        filtered: whether the facts tell of a WHERE clause.

    Returns:
        One sentence a difference.
    """
    if tree.refused:
        return [f"the tree holds {tree.refused}"]
    found = []
    for position, made in labels:
        theirs = tree.outputs[position] if position < len(tree.outputs) else None
        if theirs != made:
            found.append(f"output {position} is {made}, in the tree {theirs}")
    ours = {name for name, there in selection.model_dump().items() if there}
    ours |= {"where"} if filtered else set()
    if ours != tree.flags - {"group"}:
        found.append(f"the clauses are {sorted(ours)}, in the tree {sorted(tree.flags)}")
    return found


# --- SQLite -------------------------------------------------------------------------------------


class Origins:
    """The same tables, empty, in SQLite: which column is behind each output of a statement."""

    def __init__(self, tables: tuple[Data, ...]) -> None:
        """Create those tables of schema `main` whose names SQLite takes."""
        self._connection = apsw.Connection(":memory:")
        self._names = {lower(t.path[1]): t for t in tables if t.path[0] == "main"}
        self._asked: list[tuple[str | None, str | None]] = []
        for table in self._names.values():
            columns = ", ".join('"' + c.name.replace('"', '""') + '"' for c in table.columns)
            name = table.path[1].replace('"', '""')
            self._connection.execute(f'CREATE TABLE "{name}" ({columns})')

    def of(self, statement: str) -> list[tuple[Path2, str] | None] | None:
        """Give the origin of every output; None where SQLite does not take the statement."""
        origins: list[tuple[Path2, str] | None] = []

        def traced(cursor: apsw.Cursor, *_: Any) -> bool:
            if cursor.is_readonly:
                for described in cursor.description_full:
                    table, column = described[3:]
                    known = self._names.get(lower(table)) if table else None
                    origins.append((known.path, column) if known and column else None)
            return False  # it is not run

        cursor = self._connection.cursor()
        cursor.exec_trace = traced
        try:
            cursor.execute(statement)
        except apsw.ExecTraceAbort:
            return origins
        except apsw.Error:
            return None
        return origins

"""Other programs that say where a value comes from, each used in its quickest fair way.

They get the same text as `classify`, and the same tables, prepared beforehand.
"""

import warnings
from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.lineage import lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope
from sqlglot.schema import MappingSchema
from sqllineage.core.metadata.dummy import DummyMetaDataProvider
from sqllineage.runner import LineageRunner

from eligibility import Schema

# The parser of DuckDB's dialect, the one that takes any, and one that is deprecated and checks
# nothing: it takes what is no SQL, and is no peer of a judge.
VALIDATING = ("duckdb", "ansi")
NOT_VALIDATING = "non-validating"

warnings.filterwarnings("ignore", message="dialect `non-validating` is deprecated")


def columns(schema: Schema) -> dict[str, dict[str, str]]:
    """Give a schema as tables of columns and types."""
    return {
        table.path[1]: {column.name: column.type for column in table.columns}
        for table in schema.tables
    }


def for_sqlglot(tables: Mapping[str, Mapping[str, str]]) -> MappingSchema:
    """Prepare the tables for sqlglot."""
    found: dict[str, object] = {name: dict(of) for name, of in tables.items()}
    return MappingSchema(found, dialect="duckdb")


def each_output(statement: str, schema: MappingSchema) -> int:
    """Parse, qualify, and ask for the lineage of one output after the other.

    Returns:
        How many outputs there are.
    """
    tree = _qualified(statement, schema)
    for name in tree.named_selects:
        lineage(name, tree, schema=schema, dialect="duckdb")
    return len(tree.named_selects)


def all_outputs(statement: str, schema: MappingSchema) -> int:
    """Parse, qualify once, and ask for the lineage of all outputs in one call: the quickest way.

    Returns:
        How many names of outputs there are.
    """
    tree = _qualified(statement, schema)
    scope = build_scope(tree)
    return len(lineage(None, tree, schema=schema, scope=scope, dialect="duckdb", copy=False))


def _qualified(statement: str, schema: MappingSchema) -> exp.Query:
    tree = sqlglot.parse_one(statement, dialect="duckdb")
    qualified = qualify(tree, schema=schema, dialect="duckdb")
    if not isinstance(qualified, exp.Query):
        raise sqlglot.errors.SqlglotError("no query")
    return qualified


def for_sqllineage(tables: Mapping[str, Mapping[str, str]]) -> DummyMetaDataProvider:
    """Prepare the tables for sqllineage."""
    return DummyMetaDataProvider({f"main.{name}": list(of) for name, of in tables.items()})


def sqllineage_columns(statement: str, tables: DummyMetaDataProvider, dialect: str) -> int:
    """Find the columns that every output comes from; only of a new table does it tell them.

    Returns:
        How many pairs of a source and an output it found.
    """
    runner = LineageRunner(
        f"CREATE TABLE made AS {statement}", dialect=dialect, metadata_provider=tables
    )
    assert runner.source_tables is not None  # asking is what makes it work
    return len(runner.get_column_lineage())

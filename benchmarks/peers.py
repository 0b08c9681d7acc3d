"""Other programs that say where a value comes from, each used in its quickest fair way.

They get the same text as `classify`, and the same tables, prepared beforehand.
"""

import warnings
from collections.abc import Mapping

import sqlglot
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
    found = {name: dict(of) for name, of in tables.items()}
    return MappingSchema(found, dialect="duckdb")


def sqlglot_lineage(statement: str, schema: MappingSchema) -> int:
    """Parse, qualify once, and follow every output to its columns.

    Returns:
        How many outputs there are.
    """
    tree = qualify(sqlglot.parse_one(statement, dialect="duckdb"), schema=schema, dialect="duckdb")
    scope = build_scope(tree)
    found = lineage(None, tree, schema=schema, scope=scope, dialect="duckdb", copy=False)
    return len(found)


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

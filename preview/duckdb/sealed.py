"""One locked, read-only connection on a snapshot's database file (specification 5).

Invariants
  L1  Every setting that decides what a statement can reach, what it can use, or what its result
      looks like is spelled out by name, and what was set is what the observation records.
  L2  Files are closed to statements after the database is open, and the lock comes last: nothing
      that a statement can say changes a setting.
  L3  A statement gets a fresh cursor, which is a connection of its own to the same database: no
      temporary object, variable, search path or local setting of one is there for the next.
"""

from pathlib import Path

import duckdb

from eligibility.sql.observation import ROWS_MAX
from preview.engine import THREADS

Option = str | bool | int | float | list[str]

# Given when the database is opened, in groups: reach, use, meaning, rendering.
_OPENED_WITH: dict[str, Option] = {
    "access_mode": "READ_ONLY",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_extensions_metadata_mismatch": False,
    "allow_extension_repositories": "forbidden",
    "allow_parser_override_extension": "default",
    "allow_persistent_secrets": False,
    "allow_unredacted_secrets": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "enable_external_file_cache": False,
    "temp_directory": "",
    "async_threads": 1,
    "external_threads": 1,
    "allocator_background_threads": False,
    "max_expression_depth": 200,
    "max_execution_time": 0,
    "default_collation": "",
    "default_null_order": "NULLS_LAST",
    "default_order": "ASCENDING",
    "dialect_compatibility_mode": "NONE",
    "integer_division": False,
    "ieee_floating_point_ops": True,
    "order_by_non_integer_literal": False,
    "scalar_subquery_error_on_multiple_rows": True,
    "disable_timestamptz_casts": False,
    "old_implicit_casting": False,
    "lambda_syntax": "DEFAULT",
    "preserve_identifier_case": "preserve_case",
    "preserve_insertion_order": True,
    "enable_optimizer": True,
    "disabled_optimizers": "",
    # As many as are asked for: then a plain scan is not joined with itself to find its first rows,
    # and the first rows of an order are found before their other columns are read.
    "late_materialization_max_rows": ROWS_MAX + 1,
    "ignore_unknown_crs": False,
    "errors_as_json": False,
    "warnings_as_errors": False,
}

# Set once it is open, in this order (L2): given on opening, external access may be closed before
# the temporary directory is, which then is an error. GLOBAL, or a cursor would not have it.
_SET_AFTERWARDS: dict[str, str] = {
    "enable_external_access": "false",
    "TimeZone": "UTC",
    "Calendar": "gregorian",
    "json_geometry_format": "wkt",
    "enable_logging": "false",
    "disabled_filesystems": "LocalFileSystem",
    "lock_configuration": "true",
}


def open_sealed(
    database: Path, *, memory_bytes: int, threads: int = THREADS
) -> tuple[duckdb.DuckDBPyConnection, tuple[tuple[str, str], ...]]:
    """Open a database file so that a statement can read it and do nothing else (specification 5).

    Args:
        database: the snapshot's database file.
        memory_bytes: how much memory the engine's buffers may take, in bytes. It is no limit of
            the process: parsing, binding and some functions do not heed it.
        threads: how many threads the engine uses. With more than one, sums of floats can differ
            in their last digits from run to run.

    Returns:
        The locked connection, of which every statement takes a `cursor()`, and the settings in
        the order in which they were made, as (name, value).

    Raises:
        duckdb.Error: where the file is missing, in use for writing, or not a database.
    """
    opened_with = dict(_OPENED_WITH, memory_limit=f"{memory_bytes}B", threads=threads)
    connection = duckdb.connect(str(database), config=opened_with)
    try:
        for name, value in _SET_AFTERWARDS.items():
            connection.execute(f"SET GLOBAL {name}='{value}'")
    except BaseException:
        connection.close()
        raise
    settings = tuple((name, _text(value)) for name, value in opened_with.items())
    return connection, (*settings, *_SET_AFTERWARDS.items())


def _text(value: Option) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""One sealed connection: what it lets in, and that its rows are those of the bare statement."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from eligibility.reasons import Reason
from eligibility.sql.observation import CELL_TEXT_BYTES_MAX, COLUMNS_MAX, ROWS_MAX
from eligibility.sql.schema import Column, Pin
from preview.duckdb import capture as captures
from preview.duckdb.guard import CALLS_REFUSED, TABLE_FUNCTIONS_RUN
from preview.duckdb.sealed import open_sealed
from preview.engine import Captured, Failed, Read, Refused
from tests.pinned import VALUES, split

TABLES = """
CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE);
INSERT INTO t VALUES (10, 'x', 1.5), (20, 'y', 2.5), (30, NULL, 3.5);
CREATE TABLE many AS SELECT i::INTEGER AS i, 'n' || i AS s FROM range(200) r(i);
CREATE TABLE kinds AS SELECT * FROM test_all_types();
CREATE SEQUENCE steps;
"""


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two equal database files: one to open sealed, one to open bare."""
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "bare").mkdir()
    made = (folder / "snapshot.duckdb", folder / "bare" / "snapshot.duckdb")
    for path in made:
        with duckdb.connect(path) as connection:
            connection.execute(TABLES)
    return made


@pytest.fixture(scope="module")
def pins(databases: tuple[Path, Path]) -> tuple[Pin, ...]:
    columns = (("a", "INTEGER"), ("b", "VARCHAR"), ("c", "DOUBLE"))
    return (
        Pin(
            path=("main", "t"),
            columns=tuple(Column(name=name, type=kind) for name, kind in columns),
            rows=3,
            content_sha256="0" * 64,
        ),
    )


Opened = tuple[duckdb.DuckDBPyConnection, tuple[tuple[str, str], ...]]


@pytest.fixture(scope="module")
def opened(databases: tuple[Path, Path]) -> Iterator[Opened]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        connection, settings = open_sealed(databases[0], memory_bytes=2**30)
    with connection:
        yield connection, settings


@pytest.fixture(scope="module")
def sealed(opened: Opened) -> duckdb.DuckDBPyConnection:
    return opened[0]


@pytest.fixture(scope="module")
def bare(databases: tuple[Path, Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(databases[1]) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture
def outcome(sealed, pins):
    def of(statement):
        return captures.capture(sealed, statement, pins)

    return of


def refused(reason: Reason) -> Refused:
    return Refused(reason=reason)


# --- the connection -----------------------------------------------------------------------------


def test_every_setting_is_in_force_for_a_cursor(opened):
    connection, settings = opened
    assert len(dict(settings)) == len(settings)
    cursor = connection.cursor()
    for name, value in settings:
        row = cursor.execute("SELECT current_setting(?)::VARCHAR", [name]).fetchone()
        shown = {"memory_limit": "1.0 GiB", "default_order": "ASC", "enable_logging": "0"}
        # The engine does not tell which file systems are closed; a test below tries.
        shown["disabled_filesystems"] = ""
        assert row[0].lower() == shown.get(name, value).lower(), name


# Settings that change neither what a statement reaches nor what its result is: what the engine
# writes, caches, prints, prefetches or profiles; where it chooses between equal plans; what only
# files of other formats, other clients or extensions that are not there would heed.
JUDGED = {
    "active_grammar_extensions", "allocator_bulk_deallocation_flush_threshold",
    "allocator_flush_threshold", "allowed_configs", "allowed_directories", "allowed_paths",
    "approximate_join_order_threshold", "arrow_large_buffer_size", "arrow_lossless_conversion",
    "arrow_output_list_view", "arrow_output_version", "asof_loop_join_threshold",
    "auto_checkpoint_skip_wal_threshold", "autoinstall_extension_repository", "binary_as_string",
    "block_allocator_memory", "cache_local_files", "catalog_error_max_schemas",
    "checkpoint_on_detach", "checkpoint_threshold", "current_dialect",
    "current_transaction_invalidation_policy", "custom_extension_repository", "custom_user_agent",
    "debug_checkpoint_scan_sleep_ms", "default_block_size", "default_secret_storage",
    "default_transaction_invalidation_policy", "disable_database_invalidation",
    "disable_parquet_prefetching", "disabled_compression_methods", "disabled_log_types",
    "duckdb_api", "dynamic_or_filter_threshold", "enable_fsst_vectors",
    "enable_geoparquet_conversion", "enable_http_metadata_cache", "enable_macro_dependencies",
    "enable_optimistic_write", "enable_profiling", "enable_progress_bar",
    "enable_progress_bar_print", "enable_view_dependencies", "enabled_log_types",
    "explain_output", "extension_directories", "extension_repository_directory",
    "external_file_cache_local_max_block_size", "external_file_cache_remote_max_block_size",
    "external_file_cache_remote_min_block_size", "external_file_cache_request_sizing",
    "external_file_cache_spill", "file_search_path", "force_compression", "fsync_mode",
    "geometry_minimum_shredding_size", "home_directory", "http_client_pool_capacity",
    "http_proxy", "http_proxy_password", "http_proxy_username", "http_retry_quota_throttled",
    "http_retry_throttled_wait_ms", "immediate_transaction_mode", "index_scan_max_count",
    "index_scan_percentage", "initial_column_segment_size",
    "log_query_path", "logging_level", "logging_mode", "logging_sink",
    "max_streaming_buffer_size", "max_temp_directory_size", "max_vacuum_tasks",
    "merge_join_threshold", "nested_loop_join_threshold", "operator_memory_limit",
    "ordered_aggregate_threshold", "pandas_analyze_sample", "parquet_can_have_nan",
    "parquet_metadata_cache", "parquet_prefetch_column_gap", "parquet_use_page_index",
    "partitioned_write_flush_threshold", "partitioned_write_max_open_files", "password",
    "perfect_ht_threshold", "pin_threads", "pivot_filter_threshold", "pivot_limit",
    "prefer_range_joins", "prefetch_all_parquet_files", "profile_output", "profiling_coverage",
    "profiling_output", "profiling_renderer_settings", "progress_bar_time", "read_ahead_depth",
    "redact_http_logs", "scheduler_process_partial", "schema", "search_path", "secret_directory",
    "show_behavior", "standard_vector_size", "storage_block_prefetch",
    "storage_compatibility_version", "streaming_buffer_size", "temp_file_encryption",
    "tracked_metrics", "user", "username", "validate_external_file_cache",
    "variant_minimum_shredding_size", "wal_autocheckpoint", "wal_autocheckpoint_entries",
    "write_buffer_row_group_count", "write_buffer_row_group_memory_limit",
    "zstd_min_string_length",
}  # fmt: skip
SAME_AS = {
    "max_memory": "memory_limit",
    "null_order": "default_null_order",
    "worker_threads": "threads",
}


def test_every_setting_of_the_engine_is_spelled_out_or_judged(opened, bare):
    spelled = {name for name, _ in opened[1]}
    listed = {row[0] for row in bare.execute("SELECT name FROM duckdb_settings()").fetchall()}
    assert len(listed) > 150
    assert not spelled & JUDGED
    assert {SAME_AS.get(name, name) for name in listed} - spelled - JUDGED == set()


@pytest.mark.parametrize(
    "statement",
    [
        "SET threads = 4",
        "SET lock_configuration = false",
        "RESET disabled_filesystems",
        "PRAGMA enable_profiling",
        "CREATE TABLE x (a INTEGER)",
        "INSERT INTO t VALUES (1, 'z', 0)",
        "ATTACH 'other.duckdb' AS other",
        "INSTALL httpfs",
        "COPY t TO 'out.csv'",
        "FROM read_csv('in.csv')",
        "FROM 'in.parquet'",
    ],
)
def test_the_connection_itself_is_locked(sealed, statement):
    with pytest.raises(duckdb.Error):
        sealed.cursor().execute(statement).fetchall()


def test_the_opened_file_cannot_be_read_as_bytes(databases, sealed):
    for function in ("read_blob", "read_text"):
        with pytest.raises(duckdb.PermissionException):
            sealed.cursor().execute(f"FROM {function}('{databases[0]}')")


# --- what runs ----------------------------------------------------------------------------------

REFUSED = {
    "": Reason.NO_STATEMENT,
    " ;; -- nothing\n": Reason.NO_STATEMENT,
    "SELECT FROM": Reason.NOT_SQL,
    "SELECT 1 /* open": Reason.NOT_SQL,
    "SELECT 1) UNION (SELECT 2": Reason.NOT_SQL,
    "SELECT 1 AS a) AS q, (SELECT 2": Reason.NOT_SQL,
    "SELECT 1; SELECT 2": Reason.SEVERAL_STATEMENTS,
    "SELECT 1; DROP TABLE t": Reason.SEVERAL_STATEMENTS,
    "SELECT ?": Reason.PARAMETER,
    "SELECT $name": Reason.PARAMETER,
    "SET schema = 'main'": Reason.NOT_A_SELECT,
    "SET VARIABLE v = 1": Reason.NOT_A_SELECT,
    "USE snapshot": Reason.NOT_A_SELECT,
    "RESET threads": Reason.NOT_A_SELECT,
    "PRAGMA version": Reason.NOT_A_SELECT,
    "CALL pragma_version()": Reason.NOT_A_SELECT,
    "ATTACH ':memory:' AS m": Reason.NOT_A_SELECT,
    "INSTALL httpfs": Reason.NOT_A_SELECT,
    "LOAD json": Reason.NOT_A_SELECT,
    "PREPARE p AS SELECT 1": Reason.NOT_A_SELECT,
    "EXECUTE p": Reason.NOT_A_SELECT,
    "BEGIN": Reason.NOT_A_SELECT,
    "CHECKPOINT": Reason.NOT_A_SELECT,
    "VACUUM": Reason.NOT_A_SELECT,
    "COMMENT ON TABLE t IS 'x'": Reason.NOT_A_SELECT,
    "CREATE TEMP MACRO sum(x) AS 42": Reason.NOT_A_SELECT,
    "CREATE TEMP TABLE x AS SELECT 1": Reason.NOT_A_SELECT,
    "CREATE SECRET s (TYPE http)": Reason.NOT_A_SELECT,
    "EXPORT DATABASE 'out'": Reason.NOT_A_SELECT,
    "COPY t TO 'out.csv'": Reason.NOT_A_SELECT,
    "DELETE FROM t": Reason.NOT_A_SELECT,
    "EXPLAIN SELECT 1": Reason.NOT_A_SELECT,
    "EXPLAIN ANALYZE SELECT 1": Reason.NOT_A_SELECT,
    "DESCRIBE t": Reason.NOT_A_SELECT,
    "DESC t": Reason.NOT_A_SELECT,
    "DESCRIBE SELECT 1": Reason.NOT_A_SELECT,
    "SHOW TABLES": Reason.NOT_A_SELECT,
    "SHOW ALL TABLES": Reason.NOT_A_SELECT,
    "SHOW t": Reason.NOT_A_SELECT,
    "SUMMARIZE t": Reason.NOT_A_SELECT,
    "FROM (DESCRIBE t)": Reason.NOT_A_SELECT,
    "FROM (DESC t)": Reason.NOT_A_SELECT,
    "FROM (SHOW TABLES)": Reason.NOT_A_SELECT,
    "FROM (SUMMARIZE t)": Reason.NOT_A_SELECT,
    "WITH s AS (SUMMARIZE t) FROM s": Reason.NOT_A_SELECT,
    "SELECT (SELECT max(x) FROM (SUMMARIZE t) s(x))": Reason.NOT_A_SELECT,
    "PIVOT t ON b USING sum(a)": Reason.NOT_A_SELECT,
    "WITH x AS (DELETE FROM t RETURNING *) FROM x": Reason.NOT_A_SELECT,
    "WITH x AS (UPDATE t SET a = 1 RETURNING *) FROM x": Reason.NOT_A_SELECT,
    "WITH x AS (INSERT INTO t VALUES (1, 'z', 0) RETURNING *) FROM x": Reason.NOT_A_SELECT,
    "WITH x AS (COPY t TO 'out.csv') FROM x": Reason.ENGINE_REFUSED,
    "SELECT B'01'": Reason.PLAN_UNREADABLE,
    "SELECT setseed(0.5)": Reason.ENGINE_REFUSED,
    "SELECT SetSeed(0.5)": Reason.ENGINE_REFUSED,
    "SELECT (0.5).setseed()": Reason.ENGINE_REFUSED,
    'SELECT "setseed"(0.5)': Reason.ENGINE_REFUSED,
    "SELECT system.main.setseed(0.5)": Reason.ENGINE_REFUSED,
    "SELECT list_transform([0.5], lambda x: setseed(x))": Reason.ENGINE_REFUSED,
    "SELECT a FROM t WHERE write_log('x') IS NULL": Reason.ENGINE_REFUSED,
    "SELECT a FROM t ORDER BY sleep_ms(0)": Reason.ENGINE_REFUSED,
    "SELECT pg_sleep(0)": Reason.ENGINE_REFUSED,
    "SELECT nextval('steps')": Reason.ENGINE_REFUSED,
    "SELECT setval('steps', 3)": Reason.ENGINE_REFUSED,
    "SELECT getvariable('v')": Reason.ENGINE_REFUSED,
    "SELECT current_setting('home_directory')": Reason.ENGINE_REFUSED,
    "SELECT current_query()": Reason.ENGINE_REFUSED,
    "SELECT json_serialize_plan('SELECT 1')": Reason.ENGINE_REFUSED,
    "FROM query('SELECT 1')": Reason.ENGINE_REFUSED,
    "FROM system.main.query('SELECT 1')": Reason.ENGINE_REFUSED,
    "FROM query_table('t')": Reason.ENGINE_REFUSED,
    "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))": Reason.ENGINE_REFUSED,
    "FROM read_blob('snapshot.duckdb')": Reason.ENGINE_REFUSED,
    "FROM read_text('/etc/hosts')": Reason.ENGINE_REFUSED,
    "FROM read_csv('x.csv')": Reason.ENGINE_REFUSED,
    "FROM read_duckdb('snapshot.duckdb', table_name = 't')": Reason.ENGINE_REFUSED,
    "FROM glob('*')": Reason.ENGINE_REFUSED,
    "FROM duckdb_settings()": Reason.ENGINE_REFUSED,
    "FROM duckdb_databases": Reason.ENGINE_REFUSED,
    "FROM duckdb_logs_parsed('QueryLog')": Reason.ENGINE_REFUSED,
    "FROM information_schema.tables": Reason.ENGINE_REFUSED,
    "FROM pg_catalog.pg_class": Reason.ENGINE_REFUSED,
    "FROM sqlite_master": Reason.ENGINE_REFUSED,
    "FROM pragma_version()": Reason.ENGINE_REFUSED,
    "FROM range((setseed(0.5) IS NULL)::INTEGER)": Reason.ENGINE_REFUSED,
    "FROM range((pg_sleep(9) IS NULL)::INTEGER)": Reason.ENGINE_REFUSED,
    "SELECT " + ", ".join(["1"] * (COLUMNS_MAX + 1)): Reason.TOO_MANY_COLUMNS,
}


@pytest.mark.parametrize(("statement", "reason"), REFUSED.items(), ids=range(len(REFUSED)))
def test_is_refused(sealed, pins, statement, reason):
    for way in (captures.capture, captures.read):
        found = way(sealed, statement, pins)
        assert isinstance(found, Refused), found
        assert found.reason is reason
        assert (found.message is not None) == (reason is Reason.NOT_SQL)


def test_a_refused_name_that_calls_nothing_is_harmless(outcome):
    found = outcome(
        "SELECT query, 'setseed(1)' AS setseed /* sleep_ms(1) */"
        ' FROM (SELECT a AS query, b AS "show" FROM t) AS "summarize" -- pg_sleep'
    )
    assert isinstance(found, Captured)
    assert found.names == ("query", "setseed")


def test_planning_a_refused_statement_has_no_effect(sealed, pins):
    """The engine runs the arguments of table functions while it plans; nothing gets that far."""
    statement = "FROM range((write_log('left behind') IS NULL)::INTEGER)"
    assert captures.read(sealed, statement, pins) == refused(Reason.ENGINE_REFUSED)
    row = sealed.cursor().execute("SELECT count(*) FROM duckdb_logs()").fetchone()
    assert row == (0,)


def catalogue(connection: duckdb.DuckDBPyConnection, condition: str) -> set[str]:
    rows = connection.execute(
        f"SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE {condition}"
    ).fetchall()
    return {row[0] for row in rows}


def runs(name: str) -> bool:
    return name not in CALLS_REFUSED and not name.startswith(("duckdb_", "pragma_"))


def test_every_table_function_of_the_engine_is_listed(bare):
    known = catalogue(bare, "function_type = 'table'")
    assert len(known) > 100
    assert {name for name in known if runs(name)} == TABLE_FUNCTIONS_RUN
    # These are written out by the binder, so the plan shows what they do; none takes text.
    macros = catalogue(bare, "function_type = 'table_macro'")
    assert {name for name in macros if runs(name)} == {"histogram", "histogram_values"}


def test_every_volatile_function_of_the_engine_is_judged(bare):
    volatile = catalogue(bare, "stability = 'VOLATILE' OR has_side_effects")
    harmless = {  # they make values, tell of their argument, or end the statement
        "error", "gen_random_uuid", "random", "stats", "uuid", "uuidv4", "uuidv7", "vector_type",
    }  # fmt: skip
    assert len(volatile) > 10
    assert {name for name in volatile if runs(name)} == harmless


def test_a_macro_that_calls_what_is_refused_is_refused_by_name(bare):
    rows = bare.execute(
        "SELECT lower(function_name), lower(macro_definition) FROM duckdb_functions()"
        " WHERE function_type = 'macro' AND macro_definition IS NOT NULL"
    ).fetchall()
    calling = {
        name
        for name, body in rows
        for call in re.findall(r"([a-z_][a-z0-9_]*)\"?\s*\(", body)
        if not runs(call)
    }
    # The last three ask the engine's tables in a query of their own, which the plan shows, and
    # which no argument of a table function may hold.
    shown = {"format_type", "pg_get_constraintdef", "pg_get_viewdef"}
    assert {name for name in calling if runs(name)} == shown


@pytest.mark.parametrize(
    "call", ["pg_get_viewdef(1)", "pg_get_constraintdef(1)", "format_type(1, 1)"]
)
def test_a_macro_over_the_engines_tables_is_refused_by_its_plan(outcome, call):
    assert outcome(f"SELECT {call}") == refused(Reason.ENGINE_REFUSED)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "error_class", "told"),
    [
        ("SELECT nope FROM t", "BinderException", "nope"),
        ("SELECT a FROM nowhere", "CatalogException", "nowhere"),
        ("SELECT nofunction(a) FROM t", "CatalogException", "nofunction"),
        ("SELECT sum(a), b FROM t", "BinderException", "GROUP BY"),
        ("SELECT ('secret ' || b)::INTEGER FROM t", "ConversionException", None),
        ("SELECT error('secret ' || b) FROM t", "InvalidInputException", None),
        ("SELECT json_deserialize_sql(b::JSON) FROM t", "ConversionException", None),
        ("SELECT timezone('secret ' || b, now()) FROM t", "NotImplementedException", None),
        ("SELECT 'secret'::INTEGER", "ConversionException", None),
    ],
)
def test_only_messages_about_the_statement_are_kept(outcome, statement, error_class, told):
    found = outcome(statement)
    assert isinstance(found, Failed), found
    assert found.error_class == error_class
    if told is None:
        assert found.message is None
    else:
        assert told in str(found.message)
        assert "LIMIT 51" not in str(found.message)


def test_a_message_that_is_no_text_is_left_out(outcome):
    assert outcome("SELECT B'é'") == refused(Reason.NOT_SQL)
    assert isinstance(outcome("SELECT 'é'::BIT"), Failed)


# --- the rows -----------------------------------------------------------------------------------

SAME = [
    "SELECT a, b, c FROM t",
    "SELECT * FROM t",
    "FROM t",
    "TABLE t",
    "FROM t SELECT a",
    "VALUES (1, 'x'), (2, NULL)",
    "FROM VALUES (1), (2) v(n)",
    "(SELECT a FROM t)",
    "((SELECT a FROM t) ORDER BY a DESC)",
    "(SELECT a FROM t) ORDER BY a DESC LIMIT 2",
    "SELECT a FROM t;",
    "SELECT a FROM t;;; -- done ; really",
    " ; SELECT a FROM t -- no ; end",
    "SELECT a FROM t -- to the end",
    "SELECT a FROM t --\r",
    "SELECT a /* ; ) */ FROM t /* /* ) */ */",
    "SELECT ';' AS \";\", $$;)$$ AS d, E'\\';' AS e, `a` FROM t;",
    "SELECT ')' || chr(10) || '--' FROM t",
    "\ufeffSELECT\u00a0a FROM t;\u2003",
    "SELECT 'é\u00a0;' AS é, 'x' AS \"É\u200b\";",
    "SELECT a, a, a AS a_1, b AS A FROM t",
    "SELECT 1 AS a_1, 2 AS a",
    "SELECT 1 a, 2 a, 3 a_1, 4 a_1_1, 5 A",
    "SELECT *, * FROM t",
    "SELECT * FROM t, t AS u",
    "SELECT count(*), count(*), sum(a) FROM t",
    'SELECT 1 AS "q""u\'o(te", 2 AS "*", 3 AS "COLUMNS(*)", 4 AS " "',
    'SELECT a AS "left", b AS "CAST", c AS "system" FROM t',
    "SELECT a: 1, b: a + 1",
    "SELECT a AS x, x + 1 AS y, y * 2 AS z FROM t",
    "SELECT t FROM t",
    "SELECT t.rowid, rowid FROM t",
    "SELECT COLUMNS(*) FROM t",
    "SELECT COLUMNS('a|c') + 1 FROM t",
    "SELECT COLUMNS(*) AS \"x\\0\" FROM t",
    "SELECT * EXCLUDE (a) REPLACE (c + 1 AS c) FROM t",
    "SELECT p, q FROM t AS s(p, q, r)",
    "SELECT unnest([3, 1, 2]) AS u, a FROM t",
    "SELECT unnest({'a': 1, 'b': 2}), 3 AS a",
    "SELECT s.x FROM (SELECT {'x': 1} AS s)",
    "SELECT a FROM t ORDER BY c DESC",
    "SELECT a FROM t ORDER BY b NULLS FIRST",
    "SELECT * FROM t ORDER BY ALL DESC",
    "SELECT i FROM many ORDER BY i DESC",
    "SELECT i, s FROM many ORDER BY i % 7, i DESC",
    "SELECT i FROM many LIMIT 10 OFFSET 30",
    "SELECT i FROM many ORDER BY i DESC LIMIT 100",
    "SELECT i FROM many LIMIT 25%",
    "SELECT i FROM many OFFSET 180",
    "SELECT i FROM many ORDER BY i FETCH FIRST 3 ROWS ONLY",
    "SELECT DISTINCT i % 3 AS m FROM many ORDER BY m DESC",
    "SELECT DISTINCT ON (i % 3) i % 3 AS m FROM many ORDER BY m",
    "SELECT i % 3 AS m, count(*), sum(i) FROM many GROUP BY ALL ORDER BY m",
    "SELECT i % 2 AS m, count(*) FROM many GROUP BY ROLLUP (m) ORDER BY ALL",
    "SELECT i % 3 AS m FROM many GROUP BY m HAVING count(*) > 66 ORDER BY m",
    "SELECT i, row_number() OVER (ORDER BY i DESC) FROM many QUALIFY i > 150 ORDER BY 2",
    "SELECT i FROM many WINDOW w AS (ORDER BY i) ORDER BY i",
    "WITH t AS (SELECT 5 AS z) SELECT * FROM t",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) FROM r",
    "WITH q AS MATERIALIZED (FROM t) FROM q WHERE a > 10",
    "SELECT a FROM t UNION ALL SELECT i FROM many ORDER BY a DESC",
    "SELECT a FROM t EXCEPT SELECT 10 ORDER BY a",
    "SELECT 1 AS x UNION ALL BY NAME SELECT 2 AS y",
    "SELECT * FROM t JOIN many ON many.i = t.a ORDER BY a",
    "SELECT * FROM t POSITIONAL JOIN many LIMIT 5",
    "SELECT * FROM t, LATERAL (SELECT t.a + 1 AS n) ORDER BY n",
    "SELECT (SELECT max(i) FROM many), EXISTS (FROM many WHERE i = t.a) FROM t",
    "PIVOT t ON b IN ('x', 'y') USING sum(a)",
    "UNPIVOT t ON a INTO NAME n VALUE v",
    "SELECT * FROM t USING SAMPLE 100%",
    "SELECT a FROM t WHERE false",
    "SELECT 1 WHERE false",
    "SELECT NULL, 'x' || NULL, []",
    "SELECT list(i ORDER BY i DESC), {'a': [1, NULL]}, MAP {'k': 1.5} FROM many",
    "SELECT n FROM range(3) r(n)",
    "SELECT key, value FROM json_each('[1, 2]')",
    "SELECT * FROM generate_series(1, 3) UNION ALL SELECT * FROM repeat(7, 2)",
    "SELECT 'a' || chr(0) || 'b', '', ' ', 'é', '👩‍👩‍👧', chr(8238) || 'abc'",
    "SELECT b COLLATE NOCASE FROM t ORDER BY 1",
    "SELECT * FROM kinds",
]  # fmt: skip


# What stands before and behind the statements above, as a person sees it.
ENDS = re.compile(r"\A[\s;]+|\s*;[;\s]*(--[^\n]*)?\Z")


def rendered(
    connection: duckdb.DuckDBPyConnection, statement: str, width: int
) -> list[tuple[object, ...]]:
    """Run the bare statement whole, and then let the engine write each cell as text."""
    names = ", ".join(f"c{place}" for place in range(width))
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE whole ({names}) AS (\n{statement}\n)")
        texts = ", ".join(f"c{place}::VARCHAR" for place in range(width))
        return cursor.execute(f"SELECT {texts} FROM whole ORDER BY rowid").fetchall()


@pytest.mark.parametrize("statement", SAME)
def test_rows_names_and_types_are_those_of_the_bare_statement(outcome, bare, statement):
    found = outcome(statement)
    assert isinstance(found, Captured), found
    with bare.cursor() as cursor:
        described = cursor.execute(statement).description
    assert list(found.names) == [column[0] for column in described]
    assert list(found.types) == [captures._base(column[1]) for column in described]
    whole = rendered(bare, ENDS.sub("", statement), len(described))
    assert list(found.rows) == whole[:ROWS_MAX]
    assert found.truncated == ("rows" if len(whole) > ROWS_MAX else None)


def test_every_type_is_named_by_the_plan_as_by_the_engine(sealed, pins, bare):
    described = bare.execute("SELECT * FROM kinds").description
    found = captures.capture(sealed, "SELECT * FROM kinds", pins)
    assert isinstance(found, Captured)
    assert len(found.types) > 50
    assert found.types == tuple(captures._base(column[1]) for column in described)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("0.1::FLOAT", "0.1"),
        ("0.1::DOUBLE + 0.2::DOUBLE", "0.30000000000000004"),
        ("5e-324::DOUBLE", "5e-324"),
        ("1.7976931348623157e308::DOUBLE", "1.7976931348623157e+308"),
        ("'-0.0'::DOUBLE", "-0.0"),
        ("'inf'::FLOAT", "inf"),
        ("'-inf'::DOUBLE", "-inf"),
        ("'nan'::DOUBLE", "nan"),
        ("repeat('9', 38)::DECIMAL(38, 0)", "9" * 38),
        ("('-0.' || repeat('1', 37))::DECIMAL(38, 37)", "-0." + "1" * 37),
        ("('-0.' || repeat('1', 38))::DECIMAL(38, 38)", "-." + "1" * 38),
        ("'-170141183460469231731687303715884105728'::HUGEINT", str(-(2**127))),
        ("'340282366920938463463374607431768211455'::UHUGEINT", str(2**128 - 1)),
        ("9223372036854775807::BIGINT", "9223372036854775807"),
        ("'2020-01-01 00:00:00.123456789'::TIMESTAMP_NS", "2020-01-01 00:00:00.123456789"),
        ("'2020-06-01 12:00:00+02'::TIMESTAMPTZ", "2020-06-01 10:00:00+00"),
        ("'infinity'::TIMESTAMP", "infinity"),
        ("'-infinity'::DATE", "-infinity"),
        ("'0044-03-15 (BC)'::DATE", "0044-03-15 (BC)"),
        ("'24:00:00'::TIME", "24:00:00"),
        ("'12:00:00.5+05:30'::TIMETZ", "12:00:00.5+05:30"),
        ("INTERVAL '1 month 1 day 1 microsecond'", "1 month 1 day 00:00:00.000001"),
        ("'a' || chr(0) || 'b'", "a\0b"),
        ("''", ""),
        ("'\\xAA\\x00b'::BLOB", "\\xAA\\x00b"),
        ("'0101'::BIT", "0101"),
        ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::UUID", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("true", "true"),
        ("NULL::INTEGER", None),
        ("[1, NULL]", "[1, NULL]"),
    ],
)
def test_a_value_is_the_engines_own_text(outcome, expression, text):
    found = outcome(f"SELECT {expression} AS v")
    assert isinstance(found, Captured), found
    assert found.rows == ((text,),)


# --- how much -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "kept", "truncated"),
    [(0, 0, None), (49, 49, None), (50, 50, None), (51, 50, "rows"), (10_000, 50, "rows")],
)
def test_fifty_rows_are_kept(outcome, rows, kept, truncated):
    found = outcome(f"SELECT r FROM range({rows}) x(r)")
    assert found.rows == tuple((str(row),) for row in range(kept))
    assert found.truncated == truncated


BUDGET = CELL_TEXT_BYTES_MAX


@pytest.mark.parametrize(
    ("statement", "kept", "truncated"),
    [
        (f"SELECT repeat('x', {BUDGET})", 1, None),
        (f"SELECT repeat('x', {BUDGET} + 1)", 0, "bytes"),
        (f"SELECT repeat('é', {BUDGET // 2})", 1, None),
        (f"SELECT repeat('é', {BUDGET // 2}), 'x'", 0, "bytes"),
        ("SELECT repeat('x', 100000000)", 0, "bytes"),
        (f"SELECT repeat('x', {BUDGET // 50}) FROM range(50)", 50, None),
        (f"SELECT repeat('x', {BUDGET // 50}) FROM range(51)", 50, "rows"),
        (f"SELECT repeat('x', {BUDGET // 50} + 50) FROM range(50)", 48, "bytes"),
        (
            f"SELECT n, repeat('x', CASE n WHEN 3 THEN {BUDGET} ELSE 1 END) FROM range(9) r(n)",
            3,
            "bytes",
        ),
        (f"SELECT repeat('x', {BUDGET}), '' , NULL", 1, None),
    ],
)
def test_whole_rows_are_kept_while_their_text_fits(outcome, statement, kept, truncated):
    found = outcome(statement)
    assert (len(found.rows), found.truncated) == (kept, truncated)
    assert sum(len(text.encode()) for row in found.rows for text in row if text) <= BUDGET


@pytest.mark.parametrize(
    "expression",
    [
        "repeat('1', {n})",
        "repeat('1', {n})::BIT",
        "repeat('1', {n})::BIGNUM",
        "repeat('1', {n})::BLOB",
        """('"' || repeat('1', {n}) || '"')::JSON""",
        "repeat([1], {n})",
        "{{'a': repeat('1', {n})}}",
    ],
)
@pytest.mark.parametrize("beside", ["", "1, ", "DATE '2020-01-01', 1.5, "])
def test_what_can_be_long_is_cut_whatever_stands_beside_it(
    outcome, monkeypatch, expression, beside
):
    fetched, rows = [], captures._rows

    def seen(cursor):
        fetched.append(cursor.fetchone())
        return rows(cursor)

    monkeypatch.setattr(captures, "_rows", seen)
    found = outcome(f"SELECT {beside}{expression.format(n=2 * BUDGET)}")
    assert isinstance(found, Captured), found
    assert max(map(len, fetched[0])) == BUDGET + 1


NOT_CUT = [kind for kind in VALUES if kind in captures._SHORT or kind.startswith("DECIMAL")]


@pytest.mark.parametrize("kind", NOT_CUT)
def test_what_is_not_cut_is_short(outcome, kind):
    rows = ", ".join(f"(({value})::{kind})" for value in split(VALUES[kind]))
    found = outcome(f"SELECT v FROM (VALUES {rows}) t(v)")
    assert isinstance(found, Captured), found
    assert found.types == (kind,)
    assert all(len(text or "") < 60 for (text,) in found.rows)


def test_every_type_that_is_not_cut_is_looked_at():
    assert set(NOT_CUT) >= captures._SHORT


def test_a_thousand_columns_are_taken(outcome):
    found = outcome("SELECT " + ", ".join(f"{n} AS n" for n in range(COLUMNS_MAX)))
    assert found.names == ("n",) * COLUMNS_MAX
    assert found.rows == (tuple(str(n) for n in range(COLUMNS_MAX)),)


def test_more_columns_are_refused_also_where_the_plan_does_not_tell(outcome):
    wide = "SELECT " + ", ".join(["1"] * (COLUMNS_MAX + 1))
    assert outcome(f"{wide} UNION ALL {wide}") == refused(Reason.TOO_MANY_COLUMNS)


# --- one after the other -------------------------------------------------------------------------


def test_nothing_of_a_statement_is_there_for_the_next(sealed, pins):
    first, second = (captures.capture(sealed, "SELECT random() AS r", pins) for _ in range(2))
    assert isinstance(first, Captured)
    assert isinstance(second, Captured)
    assert first.rows != second.rows
    # Even what a cursor of its own may do is gone with it.
    with sealed.cursor() as cursor:
        cursor.execute("CREATE TEMP MACRO sum(x) AS 42")
        cursor.execute("SET VARIABLE v = 1")
        cursor.execute("CREATE TEMP TABLE t AS SELECT 99 AS a")
    found = captures.capture(sealed, "SELECT sum(a) FROM t", pins)
    assert isinstance(found, Captured)
    assert found.rows == (("60",),)


def test_the_reading_is_that_of_the_bare_statement(sealed, pins):
    for statement in ("SELECT a FROM t", "SELECT a FROM t; -- with an end"):
        found = captures.capture(sealed, statement, pins)
        read = captures.read(sealed, statement, pins)
        assert isinstance(found, Captured)
        assert isinstance(read, Read)
        assert found.reading == read.reading
        assert found.reading.shape is not None
        assert found.reading.shape.table == ("main", "t")

# ruff: noqa: S608 - the query was read by the engine as one SELECT, and runs sealed
"""A query of the host over tables pinned in the same call (specification 9).

Invariants
  Q1  It reads tables that were pinned and hashed in this call, and nothing else: the engine's plan
      says which, and files are closed to it for good before it is planned.
  Q2  It gives the same rows in the same order when it is run again by the same engine: it calls
      nothing that draws, counts or asks for the time, samples nothing, and runs in one thread.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from eligibility.sql.limits import refusal
from eligibility.sql.manifest import Prepared, PreparedOrigin
from eligibility.sql.schema import CATALOG
from preview.duckdb.capture import Planned, planned
from preview.duckdb.guard import nodes
from preview.engine import Broken, Failed, Refused
from preview.errors import SourceError
from preview.sources.files import reading as reading_file
from preview.sources.readable import Readable, Reading, Told, check_names, rows_of
from preview.sources.source import Source

STATEMENT_BYTES_MAX = 1024 * 1024
# Not the same twice: they draw, count, or ask for the time. `age` of one date counts from today.
_UNSTEADY = frozenset(
    """
    age_of_today current_date current_localtime current_localtimestamp current_time
    current_timestamp gen_random_uuid get_current_time get_current_timestamp localtime
    localtimestamp now random stats today transaction_timestamp uuid uuidv4 uuidv7 vector_type
    """.split()
)


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make its rows readable by SQL; see `preview.sources.kinds.readable`."""
    connection, shown = reading.connection, source.shown
    statement = _text(source, reading)
    rows_of(connection, "SET enable_external_access = false")
    rows_of(connection, f"USE {CATALOG}.main")
    try:
        with connection.cursor() as cursor:
            rows_of(cursor, f"USE {CATALOG}.main")
            rows_of(cursor, "SET TimeZone = 'UTC'")
            found = _planned(shown, cursor, statement)
            reads = _reads(shown, found, reading)
            described = cursor.execute(f"(\n{found.bare}\n) LIMIT 0").description
        check_names(shown, [str(column[0]) for column in described])
        rows_of(connection, "SET threads = 1")
        origin = PreparedOrigin(
            statement=statement,
            statement_sha256=hashlib.sha256(statement.encode()).hexdigest(),
            reads=reads,
        )
        yield Readable(
            f"SELECT * FROM (\n{found.bare}\n)",
            lambda: Told(origin=origin),
            # The engine's message can quote a cell.
            lambda error: SourceError(
                f"{shown}: the query failed ({type(error).__name__}); run it by hand over the "
                "same tables to see why"
            ),
        )
    finally:
        rows_of(connection, "RESET threads")
        rows_of(connection, "USE memory.main")


def _text(source: Source, reading: Reading) -> str:
    with reading_file(source.shown):
        data = reading.opened(source.files[0]).read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{source.shown}: it is not UTF-8 at byte {error.start:,}; save it as UTF-8"
        ) from None
    reason = refusal(text)
    if reason is not None:
        raise SourceError(f"{source.shown}: {reason.sentence} ({reason.value})")
    return text


def _planned(shown: str, cursor: duckdb.DuckDBPyConnection, statement: str) -> Planned:
    found = planned(cursor, statement)
    match found:
        case Planned():
            return found
        case Refused(reason=reason, message=message):
            said = f": {message}" if message else ""
            raise SourceError(f"{shown}: {reason.sentence} ({reason.value}){said}")
        case Failed(message=str(message)):
            raise SourceError(
                f"{shown}: {message}\nit reads the tables that are pinned in the same call, by "
                "the names they get there, and no other that is prepared"
            )
        case Failed(error_class=kind) | Broken(error_class=kind):
            raise SourceError(f"{shown}: the engine cannot plan it ({kind})")


def _reads(shown: str, found: Planned, reading: Reading) -> tuple[Prepared, ...]:
    """Give the tables that it reads, and see that it is steady (Q1, Q2)."""
    pins = {(CATALOG, *pin.path): pin for pin in reading.pins}
    reads = {}
    for node in nodes(found.tree):
        kind = str(node.get("type"))
        sampled = (node.get("extra_info") or {}).get("sample_options") is not None
        if kind == "LOGICAL_SAMPLE" or (kind == "LOGICAL_GET" and sampled):
            raise SourceError(f"{shown}: it takes a sample, which is another one every time")
        if "qname" not in node:
            continue
        name = str(node["qname"]["path"][-1])
        if kind == "LOGICAL_GET" and name == "seq_scan":
            path = tuple(node["function_data"]["qualified_name"]["path"])
            if path not in pins:
                raise SourceError(f"{shown}: it reads {path[-1]}, which is prepared itself")
            reads[path] = pins[path]
        if name == "age" and len(node.get("children", ())) == 1:
            name = "age_of_today"
        if name in _UNSTEADY:
            called = name.removesuffix("_of_today")
            raise SourceError(
                f"{shown}: it calls {called}, which is not the same every time; write the value "
                "into the query"
            )
    return tuple(
        Prepared(path=pin.path, content_sha256=pin.content_sha256)
        for _, pin in sorted(reads.items())
    )

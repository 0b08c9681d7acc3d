"""What is known of a snapshot: its tables, its file, where the rows came from (specification 4).

`preview` writes and verifies a manifest beside the database; the ledger keeps it, and a bundle
carries it, so its form belongs to the evidence and not to the database.

Invariants
  M1  The id is the SHA-256 of the logical part's canonical bytes, which say nothing of sources, of
      the order in which tables were named, or of how the file is laid out.
  M2  All that was decided while a source was read stands in its dialect, given or found alike: the
      same bytes, read by the same dialect, are the same table.
  M3  A doubt names lines and counts, and never the text of a cell.
  M4  A manifest of format 1 keeps the sources of format 1, and its bytes.
"""

import hashlib
from typing import Annotated, Literal

from pydantic import Field, model_validator

from eligibility.sql.schema import Pin, TablePath
from eligibility.wire.canonical import canonical_bytes
from eligibility.wire.model import COUNT_MAX, Model, Sha256

MANIFEST_FORMAT: Literal["eligibility-snapshot/2"] = "eligibility-snapshot/2"
MANIFEST_FORMATS: tuple[str, ...] = ("eligibility-snapshot/1", MANIFEST_FORMAT)

Format = Literal[
    "parquet",
    "csv",
    "json",
    "arrow",
    "duckdb",
    "arrow-table",
    "sqlite",
    "postgresql",
    "delta",
    "iceberg",
    "prepared",
]
Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]


# --- how a source was read ------------------------------------------------------------------------


class TextColumn(Model):
    """How the texts of one column became values.

    Attributes:
        name: of the column.
        type: the DuckDB type its texts became.
        decimal: the mark before the fraction of its numbers.
        thousands: the mark between groups of three digits; None for none.
        trim: whether spaces and tabs around a text were dropped.
        date_format: as of strptime, where one was given; else None.
        rounded: how many numerals a float is only the nearest value of.
        missing: how many records of a JSON source had no such key.
        given: which of these were asked for; the others were found.
    """

    name: str
    type: str
    decimal: str = "."
    thousands: str | None = None
    trim: bool = False
    date_format: str | None = None
    rounded: Count = 0
    missing: Count = 0
    given: tuple[Literal["name", "type", "decimal", "thousands", "trim", "date_format"], ...] = ()


class DelimitedDialect(Model):
    """How the bytes of a delimited text were read (specification 4.1).

    Attributes:
        encoding: the name of the codec.
        mark: whether a byte order mark stood before the text.
        skip: physical lines that were left out at the start.
        comment: a record that begins with this text was left out; None for none.
        delimiter: between two fields; None where a record is one field.
        header: whether the first record held the names.
        null: texts that stand for NULL where they are not quoted, beside the empty one.
        columns: by position.
        partitions: columns that were made from the names of folders.
        given: which of these were asked for; the others were found.
    """

    kind: Literal["delimited"] = "delimited"
    encoding: str
    mark: bool
    skip: Count
    comment: str | None
    delimiter: str | None
    header: bool
    null: tuple[str, ...]
    columns: tuple[TextColumn, ...]
    partitions: tuple[TextColumn, ...] = ()
    given: tuple[Literal["encoding", "skip", "comment", "delimiter", "header", "null"], ...] = ()


class JsonDialect(Model):
    """How the bytes of a JSON text were read (specification 4.1).

    Attributes:
        encoding: the name of the codec.
        mark: whether a byte order mark stood before the text.
        layout: one array of objects, or objects one after the other.
        records: JSON pointer (RFC 6901) of the list of objects, where one was given.
        columns: the union of the keys, in the order in which they first occur.
        partitions: columns that were made from the names of folders.
        given: which of these were asked for.
    """

    kind: Literal["json"] = "json"
    encoding: str
    mark: bool
    layout: Literal["array", "lines"]
    records: str | None
    columns: tuple[TextColumn, ...]
    partitions: tuple[TextColumn, ...] = ()
    given: tuple[Literal["encoding", "records"], ...] = ()


class TypedColumn(Model):
    """A column whose source has types of its own: that type, and the one it became."""

    name: str
    source_type: str
    type: str


class TypedDialect(Model):
    """How a source with types of its own was read.

    Attributes:
        columns: those whose type has another name in the snapshot than in the source.
        partitions: columns that were made from the names of folders.
        texts: columns whose texts became values, in a database whose columns have no types.
    """

    kind: Literal["typed"] = "typed"
    columns: tuple[TypedColumn, ...] = ()
    partitions: tuple[TextColumn, ...] = ()
    texts: tuple[TextColumn, ...] = ()


Dialect = Annotated[DelimitedDialect | JsonDialect | TypedDialect, Field(discriminator="kind")]


class Doubt(Model):
    """Something that looks like more than it was read as (specification 4.1, M3).

    Attributes:
        code: what was found.
        column: the column it is about; None for the whole source.
        values: how many values look like more.
        of: how many values there are.
        type: the DuckDB type that they look like; None where it is about no type.
        lines: the first few lines of what does not look so.
        option: the option that settles it, to paste; None where none does.
    """

    code: Literal[
        "mostly-typed",
        "one-text-for-null",
        "other-format",
        "several-offsets",
        "folder-names",
    ]
    column: str | None
    values: Count
    of: Count
    type: str | None
    lines: tuple[Count, ...]
    option: str | None


# --- what a source was ----------------------------------------------------------------------------


class SourceFile(Model):
    """One file of a source: base name, size in bytes, and SHA-256 of its bytes."""

    name: str
    size: Count
    sha256: Sha256


class DatabaseFile(Model):
    """The database file's size in bytes and the SHA-256 of its bytes, which differ by run."""

    size: Count
    sha256: Sha256


class DeltaOrigin(Model):
    """One version of a Delta Lake table: its id, the version, and the hash of its log entry."""

    kind: Literal["delta"] = "delta"
    table_id: str
    version: Count
    log_sha256: Sha256


class IcebergOrigin(Model):
    """One snapshot of an Iceberg table, by the metadata file with this hash.

    The number of the snapshot is a text, since JSON cannot hold all.
    """

    kind: Literal["iceberg"] = "iceberg"
    table_uuid: str
    metadata_sha256: Sha256
    snapshot_id: str
    schema_id: Count
    manifest_list: str


class SqliteOrigin(Model):
    """A table of an SQLite database: the version of the library that read it."""

    kind: Literal["sqlite"] = "sqlite"
    sqlite: str


class PostgresOrigin(Model):
    """A table of a PostgreSQL server: its version, and the snapshot that all tables were read in."""

    kind: Literal["postgresql"] = "postgresql"
    server: str
    snapshot: str


class Prepared(Model):
    """A table that a prepared one was made from: its path, and the hash of its content."""

    path: TablePath
    content_sha256: Sha256


class PreparedOrigin(Model):
    """A query of the host over tables pinned in the same call."""

    kind: Literal["prepared"] = "prepared"
    statement: str
    statement_sha256: Sha256
    reads: tuple[Prepared, ...]


Origin = Annotated[
    DeltaOrigin | IcebergOrigin | SqliteOrigin | PostgresOrigin | PreparedOrigin,
    Field(discriminator="kind"),
]


class TableSource(Model):
    """Where one table came from, and how it was read; no part of the id.

    Attributes:
        path: the table's.
        format: the kind of source.
        name: base name of the file, folder or glob, or name of the service; None for a table in
            memory.
        table: in a database, the name as it was given.
        files: in the order they were read.
        dialect: what was decided while it was read; None where nothing had to be.
        doubts: what looks like more than it was read as.
        origin: which version of a source that has versions, or which query; else None.
    """

    path: TablePath
    format: Format
    name: str | None
    table: str | None
    files: tuple[SourceFile, ...]
    dialect: Dialect | None
    doubts: tuple[Doubt, ...]
    origin: Origin | None


class ReadOptions1(Model):
    """How texts were read in format 1."""

    null: tuple[str, ...]
    delimiter: str | None
    header: bool | None
    types: tuple[tuple[str, str], ...]


class TableSource1(Model):
    """Where one table came from, in format 1: options as they were given, and nothing found."""

    path: TablePath
    format: Literal["parquet", "csv", "json", "arrow", "duckdb", "arrow-table"]
    name: str | None
    table: str | None
    options: ReadOptions1 | None
    files: tuple[SourceFile, ...]


class Versions(Model):
    """What made the snapshot."""

    duckdb: str
    pyarrow: str


class LogicalPart(Model):
    """What the id is made from: the tables, sorted by path (M1)."""

    tables: tuple[Pin, ...] = Field(min_length=1)


class Manifest(Model):
    """All that is known of a snapshot (specification 4).

    Attributes:
        format: version of this form.
        id: SHA-256 of the logical part's canonical bytes.
        logical: the tables.
        database: the file that holds them.
        sources: one for each table, in the same order.
        versions: of the programs that made it.
    """

    format: Literal["eligibility-snapshot/1", "eligibility-snapshot/2"]
    id: Sha256
    logical: LogicalPart
    database: DatabaseFile
    sources: tuple[TableSource | TableSource1, ...]
    versions: Versions

    @model_validator(mode="after")
    def _in_order(self) -> "Manifest":
        paths = [pin.path for pin in self.logical.tables]
        if paths != sorted(set(paths)) or paths != [source.path for source in self.sources]:
            raise ValueError("tables and sources are not in one order")
        form = TableSource if self.format == MANIFEST_FORMAT else TableSource1
        if not all(isinstance(source, form) for source in self.sources):
            raise ValueError("a source has the form of another format")
        return self


def logical_id(logical: LogicalPart) -> str:
    """Give the id of a snapshot with this logical part (M1)."""
    return hashlib.sha256(canonical_bytes(logical)).hexdigest()

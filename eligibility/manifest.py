"""What is known of a snapshot: its tables, its file, where the rows came from (contract 4).

`preview` writes and verifies a manifest beside the database; the ledger keeps it, and a bundle
carries it, so its form belongs to the evidence and not to the database.

Invariants
  M1  The id is the SHA-256 of the logical part's canonical bytes, which say nothing of sources, of
      the order in which tables were named, or of how the file is laid out.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field, model_validator

from eligibility.evidence import Pin, Sha256, TablePath, canonical_bytes
from eligibility.shape import Model

MANIFEST_FORMAT: Literal["eligibility-snapshot/1"] = "eligibility-snapshot/1"

Format = Literal["parquet", "csv", "json", "arrow", "duckdb", "arrow-table"]


class ReadOptions(Model):
    """How texts are read into types (contract 4); recorded in the manifest.

    Attributes:
        null: the texts that stand for NULL in a CSV file; none given means the empty text.
        delimiter: between the fields of a CSV file; None to find it out.
        header: whether a CSV file's first line holds the names; None to find it out.
        types: column and DuckDB type, for CSV and JSON; other columns' types are found out.
    """

    null: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    types: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        *,
        null: str | Iterable[str] = (),
        delimiter: str | None = None,
        header: bool | None = None,
        types: Mapping[str, str] | None = None,
    ) -> "ReadOptions":
        """Make options by hand.

        Args:
            null: a text that stands for NULL, or several.
            delimiter: between the fields.
            header: whether the first line holds the names.
            types: column to DuckDB type, in any spelling.

        Returns:
            The options.
        """
        return cls(
            null=(null,) if isinstance(null, str) else tuple(null),
            delimiter=delimiter,
            header=header,
            types=tuple((types or {}).items()),
        )


class SourceFile(Model):
    """One file of a source: base name, size in bytes, and SHA-256 of its bytes."""

    name: str
    size: int
    sha256: Sha256


class DatabaseFile(Model):
    """The database file's size in bytes and the SHA-256 of its bytes, which differ by run."""

    size: int
    sha256: Sha256


class TableSource(Model):
    """Where one table came from; no part of the id.

    Attributes:
        path: the table's.
        format: the kind of source.
        name: base name of the file or glob; None for a table in memory.
        table: in a database file, the name as it was given.
        options: how texts were read; None for a format that has types of its own.
        files: in the order they were read.
    """

    path: TablePath
    format: Format
    name: str | None
    table: str | None
    options: ReadOptions | None
    files: tuple[SourceFile, ...]


class Versions(Model):
    """What made the snapshot."""

    duckdb: str
    pyarrow: str


class LogicalPart(Model):
    """What the id is made from: the tables, sorted by path (M1)."""

    tables: tuple[Pin, ...] = Field(min_length=1)


class Manifest(Model):
    """All that is known of a snapshot (contract 4).

    Attributes:
        format: version of this form.
        id: SHA-256 of the logical part's canonical bytes.
        logical: the tables.
        database: the file that holds them.
        sources: one for each table, in the same order.
        versions: of the programs that made it.
    """

    format: Literal["eligibility-snapshot/1"]
    id: Sha256
    logical: LogicalPart
    database: DatabaseFile
    sources: tuple[TableSource, ...]
    versions: Versions

    @model_validator(mode="after")
    def _in_order(self) -> "Manifest":
        paths = [pin.path for pin in self.logical.tables]
        if paths != sorted(set(paths)) or paths != [source.path for source in self.sources]:
            raise ValueError("tables and sources are not in one order")
        return self


def logical_id(logical: LogicalPart) -> str:
    """Give the id of a snapshot with this logical part (M1)."""
    return hashlib.sha256(canonical_bytes(logical)).hexdigest()

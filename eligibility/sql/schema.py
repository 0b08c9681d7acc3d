"""The pinned tables that a statement may read: paths, columns, types (specification 2 and 4).

Invariant
  S1  A table is known by its (schema, table) path, a column by its native name; both are found
      as DuckDB finds them, ASCII case folded, and never by an alias.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from eligibility.sql.types import base_name
from eligibility.wire.model import COUNT_MAX, Model, Sha256, cached_property

CATALOG = "snapshot"

TablePath = tuple[str, str]
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def casefold(name: str) -> str:
    """Fold a name as DuckDB compares identifiers: ASCII letters only (specification 2, Column)."""
    return name.translate(_ASCII_LOWER)


class Column(Model):
    """One native column.

    Attributes:
        name: as in the database.
        type: base name of its DuckDB type.
        nan: for FLOAT and DOUBLE, whether any value is NaN; None for unknown, and elsewhere.
        members: for ENUM, its members in order; None elsewhere.
    """

    name: str
    type: str
    nan: bool | None = None
    members: tuple[str, ...] | None = None


class Table(Model):
    """One table's path and columns.

    Attributes:
        path: (schema, table).
        columns: at least one, by position; names differ beyond ASCII case.
    """

    path: TablePath
    columns: tuple[Column, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> "Table":
        if len(self._places) != len(self.columns):
            raise ValueError("column names repeat")
        return self

    @cached_property
    def _places(self) -> dict[str, int]:
        return {casefold(column.name): place for place, column in enumerate(self.columns)}

    @cached_property
    def derived(self) -> dict[object, Any]:
        """What callers derived from this table alone, and keep with it."""
        return {}

    def column(self, name: str) -> Column | None:
        """Find a column as DuckDB would: by name, ASCII case folded."""
        place = self._places.get(name)  # most names are written folded: then no folding is needed
        if place is None:
            place = self._places.get(casefold(name))
        return None if place is None else self.columns[place]


class Pin(Table):
    """One frozen table.

    Attributes:
        rows: how many rows it has.
        content_sha256: SHA-256 of its types, values and row order (specification 4).
    """

    rows: int = Field(ge=0, le=COUNT_MAX)
    content_sha256: Sha256


class Schema(Model):
    """The tables a statement may read.

    Attributes:
        tables: with different paths, ASCII case folded.
    """

    tables: tuple[Table, ...]

    @model_validator(mode="after")
    def _paths_differ(self) -> "Schema":
        if len({(casefold(t.path[0]), casefold(t.path[1])) for t in self.tables}) != len(
            self.tables
        ):
            raise ValueError("table paths repeat")
        return self

    @classmethod
    def of(cls, tables: Mapping[str | tuple[str, ...], Mapping[str, Any]]) -> "Schema":
        """Make a schema by hand (specification 9).

        Args:
            tables: table name, or (schema, table), to column name to type. A type is a DuckDB
                type name in any spelling, or a mapping with `type`, and optionally `nan` (false
                says that a float column holds no NaN; unknown otherwise) and `members` (of an
                ENUM, a sequence of texts). `ENUM('a', 'b')` gives members too. A name without
                schema is in `main`.

        Returns:
            The schema.

        Raises:
            ValueError: for an empty table, a repeated name, a path of another length than 1 or 2,
                or a column given as anything else.
        """
        if not isinstance(tables, Mapping):
            raise ValueError("a schema maps table names to their columns")
        made = []
        for key, columns in tables.items():
            path = (key,) if isinstance(key, str) else tuple(key)
            if not 1 <= len(path) <= 2 or not all(isinstance(part, str) for part in path):
                raise ValueError("a table is named by its name or by (schema, table)")
            if not isinstance(columns, Mapping):
                raise ValueError("a table maps column names to types")
            made.append(
                Table(
                    path=("main", path[0]) if len(path) == 1 else (path[0], path[1]),
                    columns=tuple(_column_by_hand(name, kind) for name, kind in columns.items()),
                )
            )
        return cls(tables=tuple(made))

    def find(self, parts: tuple[str, ...]) -> Table | None:
        """Find the table that a written name stands for (specification 2, Source).

        Args:
            parts: one to three name parts as written, the table last.

        Returns:
            The table of which `parts` is a suffix of (catalog, schema, table), one part meaning
            schema `main` only; None for none. Paths differ, so there are never several.
        """
        found = self._suffixes.get(parts)  # as in `Table.column`
        return found or self._suffixes.get(tuple([casefold(part) for part in parts]))

    @cached_property
    def _suffixes(self) -> dict[tuple[str, ...], Table]:
        found: dict[tuple[str, ...], Table] = {}
        for table in self.tables:
            schema, name = casefold(table.path[0]), casefold(table.path[1])
            found[schema, name] = found[CATALOG, schema, name] = table
            if schema == "main":
                found[(name,)] = table
        return found

    @cached_property
    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for table in self.tables:
            counts[casefold(table.path[1])] = counts.get(casefold(table.path[1]), 0) + 1
        return counts

    @cached_property
    def written(self) -> dict[TablePath, str]:
        """How each table is written in a line, kept by who writes it."""
        return {}

    def name_is_unique(self, path: TablePath) -> bool:
        """Say whether the bare table name stands for one table only (specification 7, text)."""
        return self._counts.get(casefold(path[1]), 0) <= 1


_ENUM = re.compile(r"ENUM\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_MEMBER = re.compile(r"\s*'((?:[^']|'')*)'\s*(,|\Z)")


def _column_by_hand(name: object, kind: object) -> Column:
    nan: bool | None = None
    members: tuple[str, ...] | None = None
    if isinstance(kind, Mapping):
        if set(kind) - {"type", "nan", "members"}:
            raise ValueError("a column has type, nan and members only")
        nan = kind.get("nan")
        members = tuple(kind["members"]) if kind.get("members") is not None else None
        kind = kind.get("type")
    if not isinstance(name, str) or not isinstance(kind, str):
        raise ValueError("a column maps its name to its type")
    enum = _ENUM.fullmatch(kind.strip())
    if enum:
        members, place = (), 0
        while place < len(enum[1]):
            member = _MEMBER.match(enum[1], place)
            if member is None:
                raise ValueError("an ENUM lists its members in single quotes")
            members = (*members, member[1].replace("''", "'"))
            place = member.end()
        kind = "ENUM"
    return Column(name=name, type=base_name(kind), nan=nan, members=members)

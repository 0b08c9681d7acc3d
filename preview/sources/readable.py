"""What every kind of source gives: a query for its rows, and what was decided on the way.

Invariants
  R1  Names and texts enter SQL only through `quoted` and `literal`.
  R2  Reading changes no value: a row is as the source has it, or there is an error.
  R3  What a source was read as is complete once its query has run to the end.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from eligibility.sql.manifest import Dialect, Doubt, Origin, SourceFile
from eligibility.sql.schema import Pin, casefold
from preview.errors import SourceError
from preview.sources.source import Source

# The one name under which rows from outside the engine are known to it.
ROWS = "source_rows"

Progress = Callable[[str, int, int | None], None]
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Told:
    """What was decided while a source was read, and what it was.

    `files` are those that were found on the way: the files of a lake's table, in order.
    """

    dialect: Dialect | None = None
    doubts: tuple[Doubt, ...] = ()
    origin: Origin | None = None
    files: tuple[Path, ...] = ()


def _nothing() -> Told:
    return Told()


def _unknown(_: duckdb.Error) -> SourceError | None:
    return None


@dataclass(frozen=True, slots=True)
class Readable:
    """A source as a query.

    Attributes:
        query: gives its rows, in order, and its columns by the names they have there. It raises
            where a value cannot be kept as it is.
        told: what was decided; to be asked once the query has run (R3).
        fault: makes an error of the engine one that says what is wrong with the source, and in
            which line and column of it; None where that is not known.
    """

    query: str
    told: Callable[[], Told] = _nothing
    fault: Callable[[duckdb.Error], SourceError | None] = _unknown


class Lasting:
    """What is made once in a call and lasts until its last source is read."""

    def __init__(self, stack: ExitStack) -> None:
        """Hold nothing yet.

        Args:
            stack: closes what is made.
        """
        self._stack = stack
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], AbstractContextManager[_Made]]) -> _Made:
        """Give what stands under a key, made where it is asked for first."""
        if key not in self._made:
            self._made[key] = self._stack.enter_context(make())
        made: _Made = self._made[key]
        return made


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source is read with.

    Attributes:
        connection: in memory, with the time zone UTC; the new database is attached.
        table: the name of the table to make, as options take it.
        folder: an empty private folder, for what must be put aside; gone afterwards.
        max_bytes: what the files of a source may unpack to.
        opened: for each file, the path of the open descriptor that was hashed: what is read is
            what was hashed, whatever happens to the name.
        progress: as that of `pin`.
        hold: opens and hashes one more file of a source.
        hashed: what is recorded of a held file.
        lasting: what several sources of the call are read through.
        together: all sources of the call.
        pins: the tables that were pinned before this one.
    """

    connection: duckdb.DuckDBPyConnection
    table: str
    folder: Path
    max_bytes: int
    opened: Callable[[Path], Path]
    progress: Progress
    hold: Callable[[Path], None]
    hashed: Callable[[Path], SourceFile]
    lasting: Lasting
    together: tuple[Source, ...] = ()
    pins: tuple[Pin, ...] = ()


def quoted(*path: str) -> str:
    """Quote a path of names for SQL."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in path)


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def name_fault(names: Iterable[str]) -> tuple[int, int | None] | None:
    """Find the first column whose name cannot be kept (specification 4.1).

    Args:
        names: by position.

    Returns:
        None where all can be; else its position, counted from 1, and the position of the earlier
        column with the same name when ASCII case is ignored, or None where the name is empty or
        holds a NUL.
    """
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name or "\0" in name:
            return place, None
        if (first := seen.setdefault(casefold(name), place)) != place:
            return place, first
    return None


def check_names(shown: str, names: Sequence[str]) -> None:
    """See that a source with names of its own has columns, and a name for each.

    Args:
        shown: how errors name the source.
        names: by position.

    Raises:
        SourceError: it has none, or a name is empty, holds a NUL or repeats.
    """
    if not names:
        raise SourceError(f"{shown}: it has no columns")
    fault = name_fault(names)
    if fault is not None:
        # By place, since a name may be a cell that was taken for one.
        place, first = fault
        if first is None:
            raise SourceError(f"{shown}: the name of column {place} is empty or holds a NUL")
        raise SourceError(f"{shown}: columns {first} and {place} have one name")


def check_fields(shown: str, column: pa.Field) -> None:
    """See that the engine keeps the names of what a column holds: it renames one that repeats.

    Args:
        shown: how errors name the source.
        column: of Arrow's schema.

    Raises:
        SourceError: two names in one struct are equal, or one is empty, or holds a NUL.
    """
    kinds = [column.type]
    while kinds:
        kind = kinds.pop()
        if isinstance(kind, pa.BaseExtensionType):
            kinds.append(kind.storage_type)
        elif isinstance(kind, pa.DictionaryType | pa.RunEndEncodedType):
            kinds.append(kind.value_type)
        fields = [kind.field(place) for place in range(kind.num_fields)]
        names = [field.name for field in fields]
        # Where none has a name, it is a tuple.
        if (pa.types.is_struct(kind) or pa.types.is_union(kind)) and any(names):
            if name_fault(names) is not None:
                raise SourceError(
                    f"{shown}: column {column.name} has fields inside it with one name, letter "
                    "case aside, or with a name that is empty or holds a NUL; rename them"
                )
        kinds.extend(field.type for field in fields)


def extension_of(column: pa.Field) -> str | None:
    """Give the name of a column's extension type, whether pyarrow knows it or not.

    Args:
        column: of Arrow's schema.

    Returns:
        The name; None where there is none, or the engine has a type of that name.
    """
    if isinstance(column.type, pa.BaseExtensionType):
        name = str(column.type.extension_name)
    else:
        given = (column.metadata or {}).get(b"ARROW:extension:name", b"")
        name = given.decode(errors="replace")
    return None if name in ("", "arrow.json", "arrow.uuid") else name


def rows_of(connection: duckdb.DuckDBPyConnection, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement to its end, and give its rows."""
    return connection.execute(statement).fetchall()


def name_form(name: str) -> str:
    """Write a name as options take it: in double quotes where it holds a mark of theirs."""
    if name and not re.search(r'[".=]', name):
        return name
    return '"' + name.replace('"', '""') + '"'


def columns_of(
    connection: duckdb.DuckDBPyConnection, relation: str
) -> list[tuple[str, DuckDBPyType]]:
    """Give the names and types of a relation's columns.

    Args:
        connection: any.
        relation: a quoted table, or a query in parentheses.

    Returns:
        Name and type, by position.

    Raises:
        duckdb.Error: it cannot be bound.
    """
    bound = connection.sql(f"FROM {relation}")
    return list(zip(bound.columns, bound.types, strict=True))

# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""The files of one version of a lake's table, read as its schema says (specification 9, 15.4).

Invariants
  T1  Files are taken in order of path, whatever order the lake lists them in.
  T2  Each file is held, has the size that the lake recorded, and has every column of the table's
      schema under the same name with the same type: then the Parquet files are the table. A file
      from before a change of the schema is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from eligibility.sql.manifest import Origin
from preview.errors import SourceError
from preview.sources import parquet
from preview.sources.options import ReadOptions
from preview.sources.readable import (
    Readable,
    Reading,
    Told,
    check_names,
    literal,
    quoted,
    rows_of,
)
from preview.sources.source import Source


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of the table's schema.

    Attributes:
        name: of it.
        type: the DuckDB type that its values have.
        ids: of the field and those inside it, in the order of the schema; none where fields have
            no numbers.
    """

    name: str
    type: str
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LakeFile:
    """A data file: where it is, how large it is said to be, and what its partition stands for.

    `constants` gives SQL for the columns that the file does not hold.
    """

    path: Path
    size: int
    constants: tuple[tuple[str, str], ...] = ()


def extra(shown: str, module: str, name: str) -> Any:
    """Import a module that only this kind of source needs.

    Args:
        shown: how errors name the source.
        module: to import.
        name: of the extra that brings it.

    Returns:
        The module.

    Raises:
        SourceError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise SourceError(
            f"{shown}: to read it, install the extra: pip install 'eligibility[{name}]'"
        ) from None


def refused(shown: str, what: str, cure: str) -> SourceError:
    """Say that a table is not read here, why, and what to do."""
    return SourceError(f"{shown}: {what}; {cure}")


@contextmanager
def read(
    source: Source,
    reading: Reading,
    columns: Sequence[LakeColumn],
    files: Sequence[LakeFile],
    origin: Origin,
) -> Iterator[Readable]:
    """Make the files of a table readable by SQL.

    Args:
        source: of the table.
        reading: what it is read with.
        columns: of its schema, by position.
        files: in any order.
        origin: which version it is.

    Yields:
        The rows of the files, in order of path.

    Raises:
        SourceError: the files are not the table.
    """
    check_names(source.shown, [column.name for column in columns])
    files = sorted(files, key=lambda file: str(file.path))
    for file in files:
        _hold(source.shown, file, reading)
        _check_columns(source.shown, file, columns, reading)
    if not files:
        nothing = ", ".join(f"CAST(NULL AS {one.type}) AS {quoted(one.name)}" for one in columns)
        yield Readable(f"SELECT {nothing} WHERE false", lambda: Told(origin=origin))
        return
    with ExitStack() as stack:
        parts = []
        for constants, group in groupby(files, key=lambda file: file.constants):
            plain = replace(
                source,
                format="parquet",
                files=tuple(file.path for file in group),
                options=ReadOptions(),
            )
            read = stack.enter_context(parquet.readable(plain, reading))
            made = dict(constants)
            listed = ", ".join(
                f"CAST({made.get(one.name, quoted(one.name))} AS {one.type}) AS {quoted(one.name)}"
                for one in columns
            )
            parts.append((f"SELECT {listed} FROM ({read.query})", read))

        def told() -> Told:
            first = parts[0][1].told()
            return replace(first, origin=origin, doubts=(), files=tuple(f.path for f in files))

        def fault(error: duckdb.Error) -> SourceError | None:
            return next((said for _, one in parts if (said := one.fault(error))), None)

        yield Readable(" UNION ALL ".join(query for query, _ in parts), told, fault)


def _hold(shown: str, file: LakeFile, reading: Reading) -> None:
    if not file.path.is_file():
        raise refused(
            shown,
            f"its file {file.path.name} is gone: what this version needs was vacuumed or expired, "
            "or the table was moved",
            "pin another version",
        )
    reading.hold(file.path)
    if reading.opened(file.path).stat().st_size != file.size:
        raise refused(
            shown, f"its file {file.path.name} has another size than recorded", "restore it"
        )


def _check_columns(
    shown: str, file: LakeFile, columns: Sequence[LakeColumn], reading: Reading
) -> None:
    """See that a file has the table's schema (T2)."""
    connection, opened = reading.connection, literal(str(reading.opened(file.path)))
    cure = "rewrite the table's files under its schema of now, and pin that version"
    held = dict(
        row[:2]
        for row in rows_of(
            connection, f"DESCRIBE FROM read_parquet({opened}, hive_partitioning = false)"
        )
    )
    ids = _field_ids(connection, opened)
    made = dict(file.constants)
    for column in columns:
        if column.name in made:
            continue
        found = held.pop(column.name, None)
        if found is None:
            what = f"its file {file.path.name} has no column {column.name}: the schema evolved"
            raise refused(shown, what, cure)
        if found != str(connection.sqltype(column.type)):
            what = (
                f"column {column.name} is {column.type} in its schema and {found} in its file "
                f"{file.path.name}"
            )
            raise refused(shown, what, cure)
        if column.ids and ids[column.name] != column.ids:
            what = (
                f"column {column.name} is another field in its file {file.path.name}: the schema "
                "evolved, or the file was added by name"
            )
            raise refused(shown, what, cure)
    if held.keys() - made.keys():
        column_name = min(held.keys() - made.keys())
        what = f"its file {file.path.name} has a column {column_name} more: the schema evolved"
        raise refused(shown, what, cure)


def _field_ids(connection: duckdb.DuckDBPyConnection, opened: str) -> Mapping[str, tuple[int, ...]]:
    """Give the numbers of the fields in each column of a Parquet file."""
    found: dict[str, list[int]] = {}
    fields = rows_of(
        connection,
        f"SELECT name, coalesce(num_children, 0), field_id FROM parquet_schema({opened})",
    )
    deep, column = [fields[0][1]], ""
    for name, children, number in fields[1:]:
        while not deep[-1]:
            deep.pop()
        deep[-1] -= 1
        if len(deep) == 1:
            column = name
            found[column] = []
        if number is not None:
            found[column].append(number)
        deep.append(children)
    return {name: tuple(numbers) for name, numbers in found.items()}

# ruff: noqa: S608 - names and texts enter SQL quoted, and in no other way
"""Parquet files: one, or several as one table (contract 4.1)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from preview.errors import SourceError
from preview.sources.readable import Readable, Reading, check_names, literal, rows_of
from preview.sources.source import Source


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make Parquet files readable by SQL; see `preview.sources.kinds.readable`."""
    first: list[tuple[Any, ...]] = []
    opened = [literal(str(reading.opened(file))) for file in source.files]
    for file, path in zip(source.files, opened, strict=True):
        fields = rows_of(
            reading.connection,
            f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({path})",
        )
        check_names(source.shown, _top_level(fields))
        described = f"DESCRIBE FROM read_parquet({path}, hive_partitioning = false)"
        columns = [row[:2] for row in rows_of(reading.connection, described)]
        if columns != (first := first or columns):
            raise SourceError(f"{source.shown}: {file.name} has other columns than the first file")
    files = ", ".join(opened)
    yield Readable(f"SELECT * FROM read_parquet([{files}], hive_partitioning = false)")


def _top_level(fields: Sequence[tuple[str, int]]) -> list[str]:
    """Give the names of the columns in a Parquet schema, which lists a tree in preorder."""
    names, deep = [], [fields[0][1]]
    for name, children in fields[1:]:
        while not deep[-1]:
            deep.pop()
        deep[-1] -= 1
        if len(deep) == 1:
            names.append(name)
        deep.append(children)
    return names

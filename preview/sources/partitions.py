"""Folder names of the form `key=value`: columns where that is asked for, else a doubt (specification 4.1).

Invariants
  F1  They are the names of the folders right above a file, outermost first, as Hive writes them:
      percent-encoded, and `__HIVE_DEFAULT_PARTITION__` for NULL.
  F2  Their types are found by the rule for texts, over all files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from eligibility.sql.manifest import Doubt, TextColumn
from preview.errors import SourceError
from preview.sources.readable import literal, quoted
from preview.sources.shapes import Finder
from preview.sources.source import Source, is_unicode

_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Partitions:
    """What the folders of a source's files say.

    Attributes:
        columns: one for each key.
        values: of each file, by column; None for NULL.
    """

    columns: tuple[TextColumn, ...]
    values: tuple[tuple[str | None, ...], ...]

    def select(self, place: int) -> str:
        """Give SQL for the columns of one file, to stand behind its own."""
        shown = ""
        for column, value in zip(self.columns, self.values[place], strict=True):
            text = "NULL" if value is None else literal(value)
            shown += f", CAST({text} AS {column.type}) AS {quoted(column.name)}"
        return shown


NOTHING = Partitions((), ())


def partitions_of(source: Source) -> Partitions:
    """Find what the folders of a source's files say, where that is asked for.

    Args:
        source: whose files they are.

    Returns:
        The columns and their values; none where nothing is asked for.

    Raises:
        SourceError: the files have other keys than the first, or there are none.
    """
    if not source.options.partitions:
        return NOTHING
    found = [[_decoded_pair(file, pair) for pair in _pairs(file)] for file in source.files]
    keys = [key for key, _ in found[0]] if found else []
    for file, pairs in zip(source.files, found, strict=True):
        if [key for key, _ in pairs] != keys:
            raise SourceError(
                f"{source.shown}: {file.name} lies in folders of other keys than the first file; "
                "pin it as a table of its own"
            )
    if not keys:
        raise SourceError(
            f"{source.shown}: no folder right above it is named key=value; leave out --partitions"
        )
    values = tuple(tuple(value for _, value in pairs) for pairs in found)
    columns = []
    for place, key in enumerate(keys):
        finder = Finder()
        finder.feed(pa.array([row[place] for row in values], pa.string()))
        # What may not be exact as a double stays text.
        columns.append(TextColumn(name=key, type=finder.found(lambda: True).type))
    return Partitions(tuple(columns), values)


def doubts_of(source: Source) -> tuple[Doubt, ...]:
    """Give the doubt about folder names that look like columns and were not asked for (F1)."""
    keys = {key for file in source.files for key, _ in _pairs(file)}
    if source.options.partitions or not keys:
        return ()
    return (
        Doubt(
            code="folder-names",
            column=None,
            values=len(keys),
            of=len(keys),
            type=None,
            lines=(),
            option="--partitions",
        ),
    )


def _pairs(file: Path) -> Sequence[tuple[str, str]]:
    """Split the names of the folders, as they are written."""
    pairs: list[tuple[str, str]] = []
    for folder in file.parents:
        key, equals, value = folder.name.partition("=")
        if not key or not equals:
            break
        pairs.insert(0, (key, value))
    return pairs


def _decoded_pair(file: Path, pair: tuple[str, str]) -> tuple[str, str | None]:
    key, value = pair
    return _decoded(file, key), None if value == _NULL else _decoded(file, value)


def _decoded(file: Path, text: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        decoded = None
    if decoded is None or not is_unicode(decoded):
        raise SourceError(
            f"{file.name}: the name of a folder above it is not UTF-8; rename the folder, or leave "
            "out --partitions"
        )
    return decoded

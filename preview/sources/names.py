"""The names of columns of texts: as they are found, or as they are given (specification 4.1)."""

import shlex
from collections.abc import Sequence

from preview.errors import SourceError
from preview.sources.options import ReadOptions
from preview.sources.readable import name_form


def named(shown: str, found: Sequence[str], options: ReadOptions) -> tuple[list[str], list[bool]]:
    """Give the names of the columns.

    Args:
        shown: how errors name the source.
        found: the names that the source has, by position.
        options: of the table.

    Returns:
        The names, and whether each was given.

    Raises:
        SourceError: names are given for other columns than there are.
    """
    names, given = list(found), [False] * len(found)
    if options.names:
        if len(options.names) != len(names):
            raise SourceError(
                f"{shown}: --names gives {len(options.names):,} names, and it has "
                f"{len(names):,} columns; give one for each"
            )
        names, given = list(options.names), [True] * len(names)
    for place, name in options.name:
        if not 1 <= place <= len(names):
            raise SourceError(
                f"{shown}: --name gives position {place:,}, and it has {len(names):,} columns; "
                "positions count from 1"
            )
        names[place - 1], given[place - 1] = name, True
    return names, given


def name_error(
    shown: str,
    table: str,
    names: Sequence[str],
    fault: tuple[int, int | None],
    lines: Sequence[int] | None = None,
) -> SourceError:
    """Say which name cannot be kept, and give the option to paste.

    Args:
        shown: how errors name the source.
        table: the name of the table, as options take it.
        names: of the columns.
        fault: what `name_fault` found.
        lines: the line on which each name first occurs, where they are not all on one.

    Returns:
        The error to raise.
    """
    place, other = fault

    def at(one: int) -> str:
        return f"{one} (line {lines[one - 1]:,})" if lines else f"{one}"

    if other is None:
        said = f"the name of column {at(place)} is empty or holds a NUL"
    else:
        said = f"columns {at(other)} and {at(place)} have one name, letter case aside"
    taken = {name.lower() for name in names}
    free = next(
        name
        for name in (f"column{place}", *(f"column{place}_{n}" for n in range(2, len(names) + 3)))
        if name not in taken
    )
    option = shlex.quote(f"{table}.{place}={name_form(free)}")
    return SourceError(f"{shown}: {said}; name it, as in --name {option}")

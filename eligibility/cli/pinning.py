"""`pin` with its options and its progress on a terminal."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eligibility.cli.inputs import TableName
from eligibility.cli.trouble import usage
from eligibility.cli.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from preview import Snapshot


def pinned(
    sources: Mapping[TableName, str],
    into: str,
    types: Mapping[TableName, Mapping[str, str]],
    null: tuple[str, ...],
    delimiter: str | None,
    header: bool | None,
) -> "Snapshot":
    """Pin sources, and show how far it is where standard error is a terminal.

    Args:
        sources: path by table.
        into: the folder to make.
        types: type by column, by table.
        null: the texts that stand for NULL in CSV files.
        delimiter: what is between the fields of CSV files; None to find it out.
        header: whether their first line holds the names; None to find it out.

    Returns:
        The snapshot.

    Raises:
        Trouble: a type is given for a table that is not pinned, or an option is of no use.
        PreviewError: as `preview.pin`.
    """
    from pydantic import ValidationError

    from preview import ReadOptions, pin

    for table in types:
        if table not in sources:
            raise usage(f"--type is given for {'.'.join(table)}, which is not pinned")
    try:
        options: dict[str | TableName, ReadOptions] = {
            table: ReadOptions(
                null=null,
                delimiter=delimiter,
                header=header,
                types=tuple(types.get(table, {}).items()),
            )
            for table in sources
        }
    except ValidationError:
        raise usage("an option of pin is not text that can be used") from None
    given: dict[str | TableName, str] = dict(sources.items())
    with _progress() as told:
        return pin(given, into=into, options=options, progress=told)


@contextmanager
def _progress() -> "Iterator[Callable[[str, int, int | None], None] | None]":
    """Give a function that shows what is being done; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True, markup=False, emoji=False),
        transient=True,
    )
    task = bar.add_task("", total=None)

    def told(what: str, done: int, whole: int | None) -> None:
        bar.update(task, description=visible(what)[:60], completed=done, total=whole)

    with bar:
        yield told

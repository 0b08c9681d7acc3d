"""What a person sees while a snapshot is made or opened: what is done, and how far it is.

Invariants
  W1  It is shown from the first moment, on a terminal alone, on standard error, and is gone at the
      end: standard output holds the answer and nothing else.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evidence_adapters.cli.visible import visible

if TYPE_CHECKING:
    from preview import Snapshot

DESCRIPTION_MAX = 48

Told = Callable[[str, int, int | None], None]


@contextmanager
def progress(what: str) -> Iterator[Told | None]:
    """Give a function that shows what is being done.

    Args:
        what: is shown until the function is called.

    Yields:
        It takes what is being done, how much of it is done, and how much there is, or None where
        that is not known. None where nobody would see it (W1).
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True, markup=False, emoji=False),
        transient=True,
    )
    task = bar.add_task(_described(what), total=None)

    def told(what: str, done: int, whole: int | None) -> None:
        bar.update(task, description=_described(what), completed=done, total=whole)

    with bar:
        yield told


def _described(what: str) -> str:
    return visible(what)[:DESCRIPTION_MAX]


def open_shown(folder: str) -> "Snapshot":
    """Open a snapshot, and show how far it is: all of its bytes are hashed.

    Args:
        folder: of the snapshot.

    Returns:
        The snapshot, verified.

    Raises:
        PinMismatch: there is none, or it is not what was pinned.
    """
    with progress("opening the snapshot") as told:
        from preview import open_snapshot

        return open_snapshot(folder, progress=told)

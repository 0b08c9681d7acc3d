"""When this process may fork, and what it closes before.

A native library does not survive a fork: the child has its memory, but neither its threads nor its
locks. So what such a library has open is closed before, and opened anew on both sides.

Invariants
  W1  Nothing is half done at a fork: a fork waits for what other threads do between `no_fork`.
  W2  Whatever is `close_before_forks` is closed before every fork.
  W3  No wait goes in a circle: what is done between `no_fork` calls nobody's code and ends, a
      thread never waits for itself, and who waits for a fork gives up in the end.
  W4  What a library makes at first use was used before the first fork (`preview.settled`).
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from preview.settled import settle

# A fork is over in milliseconds. One that takes this long waits for the thread that waits for it.
FORK_S_MAX = 10.0


class Held(Protocol):
    """Something open that does not survive a fork."""

    def before_fork(self) -> None:
        """Close it; no other thread is using it."""

    def after_fork(self) -> None:
        """Be in the child of a fork that did not close it."""


# What follows is changed under this lock alone; a signal's handler may take it a second time.
_changed = threading.Condition()
# How deep each thread is within `no_fork`.
_inside: dict[int, int] = {}
# How deep each thread was that forks now.
_forking: dict[int, int] = {}
_held: list[Held] = []


@contextmanager
def no_fork(wait_s: float = FORK_S_MAX) -> Iterator[None]:
    """Keep other threads from forking meanwhile (W1).

    Args:
        wait_s: how long to wait for a fork that has begun, in seconds.

    Raises:
        TimeoutError: it did not end.
    """
    me = threading.get_ident()
    with _changed:
        # A finalizer can run in the thread that forks, while it does.
        mine = me in _inside or me in _forking
        if not mine and not _changed.wait_for(lambda: not _forking, wait_s):
            raise TimeoutError(0, "another thread forks this process, and does not end")
        _inside[me] = _inside.get(me, 0) + 1
    try:
        yield
    finally:
        with _changed:
            left = _inside.pop(me, 1) - 1
            if left:
                _inside[me] = left
            _changed.notify_all()


def close_before_forks(held: Held) -> None:
    """Have something that was opened closed before a fork (W2)."""
    with _changed:
        _held.append(held)


def is_closed(held: Held) -> None:
    """Say that it was closed by who opened it."""
    with _changed:
        _held[:] = [other for other in _held if other is not held]


def _before() -> None:
    settle()
    me = threading.get_ident()
    with _changed:
        _forking[me] = _inside.pop(me, 0)
        _changed.notify_all()  # another thread that forks need not wait for this one
        _changed.wait_for(lambda: not _inside)
        while _held:
            _held.pop().before_fork()


def _after_in_parent() -> None:
    me = threading.get_ident()
    with _changed:
        depth = _forking.pop(me, 0)
        _changed.notify_all()
        if depth:
            # What it is in the middle of may open nothing while another thread forks.
            _changed.wait_for(lambda: not _forking, FORK_S_MAX)
            _inside[me] = depth


def _after_in_child() -> None:
    global _changed
    _changed = threading.Condition()
    me = threading.get_ident()
    depth = _forking.pop(me, 0)
    _forking.clear()
    _inside.clear()
    if depth:
        _inside[me] = depth
    while _held:
        _held.pop().after_fork()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)

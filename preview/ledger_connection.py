"""One connection of this process to a ledger's file, and whether it is still the file.

SQLite keeps its locks by process. In the child of a fork it holds none, but believes that it does,
also for what is opened there later: then the last process that closes removes the log under it.

Invariants
  N1  No connection goes through a fork: it is closed before, and opened anew by who needs it
      (`preview.forks`). Where something forked past that, the child opens the file no more.
  N2  What is open is what lies under the ledger's name: the database, its log and the log's index
      are compared with what was opened.
  N3  A log that is not the one in its place is never copied into the database.
"""

import contextlib
import ctypes
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from preview import forks
from preview.errors import LedgerBroken, LedgerError, LedgerLocked
from preview.ledger_file import connect, explained, sync_folder

Identity = tuple[int, int]

# What a database in WAL mode consists of: itself, the log, and the log's index.
_FILES = ("", "-wal", "-shm")
_LOG_BEGINS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_making = threading.Lock()
# Databases that SQLite believes to have locked, in this process, and has not (N1).
_left_open: set[Identity] = set()


class LedgerConnection:
    """A connection that is there when it is needed. Safe to use from several threads."""

    def __init__(
        self,
        path: Path,
        *,
        readonly: bool,
        busy_s: float,
        prepare: Callable[[sqlite3.Connection, bool], None],
    ) -> None:
        """Say what is to be opened; it is opened when it is needed.

        Args:
            path: of the ledger, absolute.
            readonly: open one that exists, to read alone.
            busy_s: how long to wait for another process that writes, in seconds.
            prepare: is called with every new connection, and whether it is to read alone; it
                raises where the file is of no use.
        """
        self.path = path
        self.readonly = readonly
        self._busy_s = busy_s
        self._prepare = prepare
        self._lock = threading.RLock()
        self._closed = self._broken = False
        self._database: Identity | None = None
        self._files: list[Identity | None] = []
        self._open = _Open()
        weakref.finalize(self, self._open.close_unless_forking)

    def to_read(self) -> Self:
        """Give another connection to the same file, to read alone."""
        other = type(self)(self.path, readonly=True, busy_s=self._busy_s, prepare=self._prepare)
        other._database = self._database
        return other

    @contextlib.contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """Give the connection; no other thread uses it, and none forks, meanwhile.

        Raises:
            LedgerError: it cannot be opened, or what is done with it fails.
        """
        with self._explained(), contextlib.ExitStack() as stack:
            try:
                stack.enter_context(forks.no_fork())
            except TimeoutError as error:
                raise LedgerLocked(f"{self.path.name}: {error.strerror}; try again") from None
            stack.enter_context(self._lock)
            try:
                yield self._connection()
            finally:
                if self._broken:
                    self._open.close()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of the database or the system into one that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise explained(self.path.name, error) from None
        except OSError as error:
            said = error.strerror or type(error).__name__
            raise LedgerError(f"{self.path.name}: {said}; look at its folder") from None

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._closed = True
        # A fork that does not end has closed it already.
        with contextlib.suppress(TimeoutError), forks.no_fork(), self._lock:
            self._open.close()

    # --- opening --------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(f"{self.path.name}: it was closed; open it again")
        if self._broken:
            raise self._another()
        if self._open.db is not None and self._open.process != os.getpid():
            self._open.leave()  # something forked, and Python did not see it
        if self._open.db is None:
            self._open_now()
        assert self._open.db is not None  # or it raised
        return self._open.db

    def _open_now(self) -> None:
        name = self.path.name
        with _making:
            if not self.readonly and self._database is None:
                # Closing a file lets go of all locks of this process on it: none may have any yet.
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                    sync_folder(self.path.parent)
            found = _identity(self.path)
            if found is None:
                raise FileNotFoundError(0, "there is no such file")
            if found in _left_open:
                raise LedgerError(
                    f"{name}: a process that held it open forked, unseen by Python, and this is"
                    " the child; open it in a new process"
                )
            if self._database not in (None, found):
                raise self._another()
            db = self._connected()
        self._open.hold(db, found)
        try:
            self._prepare(db, self.readonly)
            self._files = [_identity(f"{self.path}{suffix}") for suffix in _FILES]
            opened = _open_files()
            if self._files[0] != found or (
                not self.readonly and opened is not None and not opened.issuperset(self._files)
            ):
                raise self._another()
            self._database = found
        except BaseException:
            self._open.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        if not self.readonly:
            return connect(self.path, "rw", self._busy_s)
        db = connect(self.path, "ro", self._busy_s)
        try:
            db.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.OperationalError:
            db.close()
            # A folder that cannot be written: there can be no log in it, and nobody writes.
            if os.access(self.path.parent, os.W_OK) or os.path.lexists(f"{self.path}-wal"):
                raise
            db = connect(self.path, "ro&immutable=1", self._busy_s)
        return db

    # --- is it still the file -------------------------------------------------------------------

    def check_files(self) -> None:
        """See that what is open is what lies under the ledger's name (N2).

        Raises:
            LedgerBroken: it is not.
        """
        if self._open.db is None:
            raise LedgerError(f"{self.path.name}: it was closed by a fork meanwhile; try again")
        found = [_identity(f"{self.path}{suffix}") for suffix in _FILES]
        if found[0] != self._database:
            raise self._another()
        is_whole = found != self._files or self._log_begins()
        if found == self._files and is_whole:
            return
        self._broken = True
        # A log that is gone nobody else can have opened, and closing saves what it held. Where
        # another lies in its place, closing would write over what that one holds (N3).
        if not is_whole or any(
            new not in (None, old) for new, old in zip(found, self._files, strict=True)
        ):
            self._open.leave()
        raise self._another()

    def _log_begins(self) -> bool:
        """Say whether the log has its header; where one was removed, another may not have it."""
        log = os.open(f"{self.path}-wal", os.O_RDONLY)
        try:
            begins = os.read(log, 4)
        finally:
            os.close(log)  # SQLite locks the other two files, never this one
        return not begins or begins in _LOG_BEGINS

    def _another(self) -> LedgerBroken:
        return LedgerBroken(
            f"{self.path.name}: it, its log, or the log's index is not the file that was opened;"
            " see what it holds with `eligibility ledger verify`, and open it in a new process"
        )


class _Open:
    """What is open, as `preview.forks` knows it; it outlives its `LedgerConnection`."""

    def __init__(self) -> None:
        self.db: sqlite3.Connection | None = None
        self.process = 0
        self._database: Identity | None = None

    def hold(self, db: sqlite3.Connection, database: Identity) -> None:
        """Keep a connection that was just opened."""
        self.db, self.process, self._database = db, os.getpid(), database
        forks.close_before_forks(self)

    def close(self) -> None:
        """Close it, where it is open."""
        if self.db is not None and self.process != os.getpid():
            self.leave()
        if self.db is not None:
            db, self.db = self.db, None
            forks.is_closed(self)
            db.close()

    def close_unless_forking(self) -> None:
        """Close it; a fork that has begun does that itself."""
        with contextlib.suppress(TimeoutError), forks.no_fork(0):
            self.close()

    def leave(self) -> None:
        """Never close it: closing would write, or let go of locks, where it must not."""
        if self.db is None:
            return
        if self.process != os.getpid() and self._database is not None:
            _left_open.add(self._database)
        # One reference that nobody gives back, or the interpreter closes it when it ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.db))
        self.db = None
        forks.is_closed(self)

    before_fork = close
    after_fork = leave


def _identity(path: str | Path) -> Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - six times for every entry, so without a `Path`
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _open_files() -> set[Identity | None] | None:
    """Give what this process has open; None where the system does not tell."""
    try:
        numbers = os.listdir("/proc/self/fd")  # noqa: PTH208 - names are enough
    except OSError:
        return None
    found: set[Identity | None] = set()
    for number in numbers:
        with contextlib.suppress(OSError):
            stat = os.fstat(int(number))
            found.add((stat.st_dev, stat.st_ino))
    return found

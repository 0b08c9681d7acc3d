"""The ledger's file: one SQLite database that refuses all but the next entry.

Invariants
  J6  A file is a ledger by its application id, and readable by its version; both are checked, and
      that its schema is the one it was made with, entry by entry, before anything is read.
  J7  Making one is one transaction: an empty file, or a whole ledger.
"""

import os
import re
import secrets
import sqlite3
import time
from functools import cache
from pathlib import Path

from eligibility.evidence.entry import PublicKey
from preview.errors import LedgerBroken, LedgerError, LedgerFull, LedgerLocked, LedgerOutdated

_ID = re.compile(r"[0-9a-f]{64}")
APPLICATION_ID = 0x656C6C67  # "ellg"
VERSION = 1

_SCHEMA = (
    """CREATE TABLE ledger (
        only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE public_key (
        id TEXT PRIMARY KEY, ed25519 TEXT NOT NULL
    ) STRICT""",
    # AUTOINCREMENT remembers the highest number there was, so that a removed end shows.
    """CREATE TABLE entry (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, kind TEXT NOT NULL,
        subject TEXT NOT NULL, payload_sha256 TEXT NOT NULL, previous TEXT NOT NULL,
        hash TEXT NOT NULL, key TEXT, signature TEXT, payload BLOB NOT NULL
    ) STRICT""",
    "CREATE INDEX entry_subject ON entry (subject, kind, sequence)",
    # REPLACE deletes without a delete trigger; it does not get past this.
    """CREATE TRIGGER entry_next BEFORE INSERT ON entry
        WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entry)
            OR NEW.previous IS NOT coalesce(
                (SELECT hash FROM entry ORDER BY sequence DESC LIMIT 1),
                (SELECT id FROM ledger)
            )
        BEGIN SELECT RAISE(ABORT, 'the entry is not the next'); END""",
    """CREATE TRIGGER ledger_one BEFORE INSERT ON ledger
        WHEN (SELECT count(*) FROM ledger) > 0
        BEGIN SELECT RAISE(ABORT, 'the ledger has its id'); END""",
    """CREATE TRIGGER key_new BEFORE INSERT ON public_key
        WHEN NEW.id IN (SELECT id FROM public_key)
        BEGIN SELECT RAISE(ABORT, 'the key is there'); END""",
    *(
        f"""CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table}
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END"""
        for table in ("ledger", "public_key", "entry")
        for verb in ("update", "delete")
    ),
)


def connect(path: Path, mode: str, busy_s: float) -> sqlite3.Connection:
    """Open a database file.

    Args:
        path: absolute.
        mode: of the database's URI, with further parameters.
        busy_s: how long to wait for a lock, in seconds.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    db = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
    )
    # Who can write the file can store what is no text; that is a fault to be told, not an error.
    db.text_factory = _text
    settings = ["trusted_schema=OFF", "cell_size_check=ON"]
    if mode == "rw":
        settings += ["synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"]
    try:
        for setting in settings:
            db.execute(f"PRAGMA {setting}")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _text(stored: bytes) -> str:
    return stored.decode(errors="replace")


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _is_new(db: sqlite3.Connection) -> bool:
    (known,) = db.execute("PRAGMA application_id").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return (known, tables) == (0, 0)


def make(db: sqlite3.Connection, busy_s: float) -> None:
    """Make an empty file a ledger, unless another process does it first."""
    if not _is_new(db):
        return
    deadline = time.monotonic() + busy_s
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            # The engine does not wait for this lock.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    db.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(db):
            for statement in _SCHEMA:
                db.execute(statement)
            db.execute("INSERT INTO ledger VALUES (1, ?)", (secrets.token_hex(32),))
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def check_form(db: sqlite3.Connection) -> None:
    """See that this is a ledger of this version, with everything that makes it refuse a change."""
    (known,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if known != APPLICATION_ID:
        raise LedgerError("the file is a database, but no ledger")
    if version != VERSION:
        raise LedgerOutdated(f"the ledger has form {version}; this program writes form {VERSION}")
    if _schema(db) != _made_schema():
        raise LedgerBroken("the ledger's tables or triggers are not those it was made with")
    ids = db.execute("SELECT id FROM ledger").fetchall()
    if len(ids) != 1 or not isinstance(ids[0][0], str) or not _ID.fullmatch(ids[0][0]):
        raise LedgerBroken("the ledger has lost its id")


def _schema(db: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Give all that a database is made of, what SQLite adds by itself included (J6)."""
    found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    return sorted(tuple(str(part) for part in entry) for entry in found)


@cache
def _made_schema() -> list[tuple[str, ...]]:
    db = sqlite3.connect(":memory:")
    try:
        for statement in _SCHEMA:
            db.execute(statement)
        return _schema(db)
    finally:
        db.close()


def keep_key(db: sqlite3.Connection, public: PublicKey) -> None:
    """Store the public part of a key, unless it is there."""
    there = "SELECT 1 FROM public_key WHERE id = ?"
    if db.execute(there, (public.id,)).fetchone() is None:
        db.execute(
            f"INSERT INTO public_key SELECT ?, ? WHERE NOT EXISTS ({there})",
            (public.id, public.ed25519, public.id),
        )


_SAID: dict[int, tuple[type[LedgerError], str]] = {
    sqlite3.SQLITE_BUSY: (LedgerLocked, "another process is writing to it; try again"),
    sqlite3.SQLITE_LOCKED: (LedgerLocked, "another process is writing to it; try again"),
    sqlite3.SQLITE_FULL: (LedgerFull, "there is no room on its disk; make some"),
    sqlite3.SQLITE_READONLY: (LedgerError, "it cannot be written; look at its permissions"),
    sqlite3.SQLITE_CANTOPEN: (LedgerError, "it, or its log, cannot be opened; look at its folder"),
    sqlite3.SQLITE_IOERR: (LedgerError, "its disk gives errors, or its log is cut short; copy it"),
    sqlite3.SQLITE_NOTADB: (LedgerError, "the file is no ledger; name another"),
    sqlite3.SQLITE_CORRUPT: (LedgerBroken, "the file is damaged; go back to a backup"),
    sqlite3.SQLITE_CONSTRAINT: (LedgerBroken, "the database refused the entry; verify the ledger"),
}
_ELSE = (LedgerError, "the database gave an error; verify the ledger")


def explained(name: str, error: sqlite3.Error) -> LedgerError:
    """Say what an error of the database means, and what to do.

    Args:
        name: of the file.
        error: what the database raised.
    """
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    kind, said = _SAID.get(code, _ELSE)
    return kind(f"{name}: {said}")

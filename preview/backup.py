"""A copy of a ledger that is in use, of one moment and checked.

Invariants
  U1  The copy is whole or absent: it gets its name when it is written, verified and on the disk.
  U2  It holds all that was acknowledged when it began. Others may append meanwhile.
"""

import contextlib
import os
import secrets
import sqlite3
from pathlib import Path

from preview.audit import Audit, audit
from preview.errors import LedgerBroken, LedgerError
from preview.ledger import Ledger
from preview.ledger_file import connect, explained, sync_folder

_BUSY_S = 10.0


def backup(ledger: Ledger, to: str | os.PathLike[str]) -> Audit:
    """Copy a ledger to a new file (U1, U2). A fork of this process waits for it.

    Args:
        ledger: an open ledger.
        to: a file that does not exist, in a folder that does.

    Returns:
        What the copy is worth; it may have the faults that the ledger has.

    Raises:
        LedgerError: it could not be read, or the copy not be written; then there is none.
    """
    path = Path(to).absolute()
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        if os.path.lexists(path):
            raise FileExistsError(0, "it is there already; name a new file")
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        last = _copied(ledger, part)
        with Ledger(part, readonly=True) as copy:
            found = audit(copy)
        if found.head != last and found.whole:
            raise LedgerBroken(f"{path.name}: the copy is not what was copied; look at its disk")
        with part.open("rb") as written:
            os.fsync(written.fileno())
        os.link(part, path)
        sync_folder(path.parent)
    except sqlite3.Error as error:
        raise explained(path.name, error) from None
    except OSError as error:
        raise LedgerError(f"{path.name}: not written: {error.strerror}") from None
    finally:
        for beside in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(f"{part}{beside}")  # noqa: PTH108 - a name with something behind it
    return found


def _copied(ledger: Ledger, part: Path) -> tuple[int, str]:
    """Copy the pages of one moment, and give the last entry of that moment."""
    source = ledger.to_read()
    with source.using() as db:
        db.execute("BEGIN")
        last = db.execute(
            "SELECT sequence, hash FROM entry ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        target = connect(part, "rw", _BUSY_S)
        try:
            db.backup(target)
        finally:
            target.close()
    source.close()
    return last or (0, ledger.id)

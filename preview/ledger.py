"""The ledger: what was observed and released, appended to one SQLite file and never changed.

Invariants
  J1  What an appending call has returned is on the disk: WAL, `synchronous=FULL`, one commit.
  J2  Sequence number and previous hash are read, and the entry is written, under one write lock.
      The database itself refuses an entry that is not the next, every update and every delete.
  J3  Nothing is half written: an entry is one row of one transaction.
  J4  A ledger that is locked, full, read-only, of another version or not what was opened is an
      error before a statement runs (`check`).
  J5  What is read back is checked against its hashes; what is missing is reported missing.
"""

import contextlib
import hashlib
import os
import platform
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from eligibility.evidence import (
    EvidenceError,
    Observation,
    Release,
    canonical_bytes,
    from_json,
)
from eligibility.manifest import Manifest
from eligibility.record import (
    ENTRY_FORMAT,
    Entry,
    EntrySignature,
    Kind,
    ObservationRecord,
    Programs,
    PublicKey,
    ReleaseRecord,
    entry_hash,
)
from eligibility.shape import Model
from preview.errors import (
    LedgerBroken,
    LedgerError,
    LedgerFull,
    LedgerMissing,
)
from preview.ledger_file import check_form, connect, explained, keep_key, make, sync_folder
from preview.signing import SigningKey

BUSY_S = 10.0
ROOM_BYTES_MIN = 32 * 2**20
RECORD_BYTES_MAX = 512 * 2**20

_ROWS_AT_ONCE = 256
_ENTRY = "sequence, time, kind, subject, payload_sha256, previous, hash, key, signature"

Record = TypeVar("Record", Manifest, ObservationRecord, ReleaseRecord)


class Ledger:
    """An append-only store of snapshots, observations and releases.

    Safe to use from several threads and, each with its own object or after `os.fork`, from
    several processes at once.

    Attributes:
        id: 64 random hexadecimal digits, the same for as long as the ledger lives.
    """

    id: str

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: SigningKey | None = None,
        readonly: bool = False,
        busy_s: float = BUSY_S,
    ) -> None:
        """Open a ledger; make it where there is none.

        Args:
            path: of its file.
            key: signs every entry that this object appends; None to sign none.
            readonly: open one that exists, to read alone.
            busy_s: how long to wait for another process that writes, in seconds.

        Raises:
            LedgerError: where it cannot be opened, or is not a ledger of this version.
        """
        self._path = Path(path).absolute()
        self._key = key
        self._readonly = readonly
        self._busy_s = busy_s
        self._lock = threading.RLock()
        self._identity: tuple[int, int] = (0, 0)
        self._connection: sqlite3.Connection | None = self._opened()
        _LEDGERS.add(self)

    # --- opening --------------------------------------------------------------------------------

    @property
    def _db(self) -> sqlite3.Connection:
        """The connection of this process, opened where it has none yet."""
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        with self._explained():
            db = self._connected()
        try:
            with self._explained():
                if not self._readonly:
                    make(db, self._busy_s)
                check_form(db)
                (self.id,) = db.execute("SELECT id FROM ledger").fetchone()
                if self._key is not None and not self._readonly:
                    keep_key(db, self._key.public)
        except BaseException:
            db.close()
            raise
        return db

    def _connected(self) -> sqlite3.Connection:
        """Open the file; a new one is readable by its owner alone, and its name is on the disk."""
        if not self._readonly:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                sync_folder(self._path.parent)
        found = self._path.stat()
        self._identity = (found.st_dev, found.st_ino)
        if not self._readonly:
            return connect(self._path, "rw", self._busy_s)
        db = connect(self._path, "ro", self._busy_s)
        try:
            db.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            db.close()
            # A read-only folder: there can be no log beside the file, and nobody writes it.
            if Path(f"{self._path}-wal").exists():
                raise
            db = connect(self._path, "ro&immutable=1", self._busy_s)
        return db

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- appending ------------------------------------------------------------------------------

    def check(self) -> None:
        """See that an entry could be appended now (J4).

        Raises:
            LedgerLocked: another process writes and does not end.
            LedgerFull: there is less room on the disk than 32 MiB.
            LedgerBroken: the file is not the one that was opened.
            LedgerError: it cannot be written.
        """
        with self._lock, self._explained():
            self._check_file()
            with self._writing():
                pass

    def record_snapshot(self, manifest: Manifest) -> Entry:
        """Append a snapshot's manifest, unless it is there.

        Args:
            manifest: the manifest.

        Returns:
            Its entry.

        Raises:
            LedgerError: it could not be appended; then nothing of it is there.
        """
        payload = canonical_bytes(manifest)
        return self._append("snapshot", hashlib.sha256(payload).hexdigest(), payload)

    def record(self, observation: Observation) -> Entry:
        """Append an observation, unless it is there (J1).

        Args:
            observation: what was captured.

        Returns:
            Its entry.

        Raises:
            LedgerError: it could not be appended; then nothing of it is there.
        """
        made = ObservationRecord(observation=observation, programs=_programs())
        return self._append("observation", observation.digest, canonical_bytes(made))

    def release(self, digest: str, returned: Any, claims: Any = None) -> Release:
        """Release from a stored observation, and append what was decided (contract 7).

        Args:
            digest: the observation's.
            returned: the preview that came back, in any form that `eligibility.release` takes.
            claims: likewise; None for every eligible cell.

        Returns:
            The release; it is on the disk.

        Raises:
            LedgerMissing: no such observation is stored.
            LedgerError: it could not be read or appended; then nothing is released.
        """
        from eligibility.release import given, release

        self.check()
        entry, stored = self.stored(digest)
        decided = release(stored.observation, returned, claims, digest=digest)
        shown, wanted = given(returned, claims)
        made = ReleaseRecord(
            observation=digest,
            recorded=entry.hash,
            returned=shown,
            claims_given=claims is not None,
            claims=wanted,
            release=decided,
            programs=_programs("sqlglot"),
        )
        self._append("release", digest, canonical_bytes(made))
        return decided

    def _append(self, kind: Kind, subject: str, payload: bytes) -> Entry:
        payload_sha256 = hashlib.sha256(payload).hexdigest()
        with self._lock, self._explained():
            with self._writing() as db:
                if kind != "release":
                    there = self._entries("WHERE subject = ? AND kind = ? LIMIT 1", subject, kind)
                    for entry in there:
                        return entry
                last = db.execute(
                    "SELECT sequence, hash FROM entry ORDER BY sequence DESC LIMIT 1"
                ).fetchone()
                sequence, previous = (last[0] + 1, last[1]) if last else (1, self.id)
                when = datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
                core = (self.id, sequence, when, kind, subject, payload_sha256, previous)
                own = entry_hash(*core)
                if own is None:
                    raise LedgerBroken(f"{self._path.name}: its last entry has no valid hash")
                signature = self._key.sign(own) if self._key else None
                pair = (signature.key, signature.signature) if signature else (None, None)
                db.execute(
                    f"INSERT INTO entry ({_ENTRY}, payload) VALUES (?,?,?,?,?,?,?,?,?,?)",  # noqa: S608 - fixed names
                    (*core[1:], own, *pair, payload),
                )
            self._check_file()
        return _entry(self.id, (*core[1:], own, *pair))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock; commit at the end, or leave nothing (J2, J3)."""
        if self._readonly:
            raise LedgerError(f"{self._path.name}: it was opened to be read alone")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _check_file(self) -> None:
        found = self._path.stat()
        if (found.st_dev, found.st_ino) != self._identity:
            raise LedgerBroken(f"{self._path.name}: the file is not the one that was opened")
        disk = os.statvfs(self._path.parent)
        if disk.f_bavail * disk.f_frsize < ROOM_BYTES_MIN:
            raise LedgerFull(f"{self._path.name}: there is no room on its disk")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of the database or the system into one that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise explained(self._path.name, error) from None
        except OSError as error:
            raise LedgerError(f"{self._path.name}: {error.strerror}") from None

    # --- reading --------------------------------------------------------------------------------

    def head(self) -> Entry | None:
        """Give the last entry; None for an empty ledger. Keep its hash elsewhere, as an anchor."""
        return next(self.entries(newest_first=True, limit=1), None)

    def entries(self, *, newest_first: bool = False, limit: int = -1) -> Iterator[Entry]:
        """Give the entries in order, without their payloads.

        Args:
            newest_first: in the other order.
            limit: how many at most; -1 for all.

        Raises:
            LedgerError: one cannot be read.
        """
        order = "DESC" if newest_first else "ASC"
        yield from self._entries(f"ORDER BY sequence {order} LIMIT ?", limit)

    def entry(self, sequence: int) -> Entry:
        """Give one entry.

        Raises:
            LedgerMissing: there is none of that number.
        """
        for entry in self._entries("WHERE sequence = ?", sequence):
            return entry
        raise LedgerMissing(f"there is no entry {sequence}")

    def about(self, subject: str) -> Entry:
        """Give the first entry about a snapshot or an observation.

        Raises:
            LedgerMissing: there is none.
        """
        for entry in self._entries("WHERE subject = ? ORDER BY sequence LIMIT 1", subject):
            return entry
        raise LedgerMissing("nothing in the ledger is about that")

    def releases(self, digest: str) -> tuple[Entry, ...]:
        """Give the entries of an observation's releases, in order."""
        return tuple(
            self._entries("WHERE subject = ? AND kind = 'release' ORDER BY sequence", digest)
        )

    def stored(self, digest: str) -> tuple[Entry, ObservationRecord]:
        """Give a stored observation and its entry.

        Raises:
            LedgerMissing: there is none.
            LedgerBroken: it is not what was appended.
        """
        return self._found("observation", digest, ObservationRecord)

    def snapshot(self, manifest_sha256: str) -> tuple[Entry, Manifest]:
        """Give a stored manifest and its entry; raises as `stored` does."""
        return self._found("snapshot", manifest_sha256, Manifest)

    def released(self, entry: Entry) -> ReleaseRecord:
        """Give what a release's entry holds; raises as `stored` does."""
        return self.payload(entry, ReleaseRecord)

    def _found(self, kind: Kind, subject: str, form: type[Record]) -> tuple[Entry, Record]:
        for entry in self._entries("WHERE subject = ? AND kind = ? LIMIT 1", subject, kind):
            return entry, self.payload(entry, form)
        raise LedgerMissing(f"there is no such {kind} in the ledger")

    def payload(self, entry: Entry, form: type[Record]) -> Record:
        """Read what an entry holds (J5).

        Args:
            entry: the entry.
            form: of its payload.

        Raises:
            LedgerBroken: it is not what was appended.
        """
        with self._lock, self._explained():
            row = self._db.execute(
                "SELECT payload FROM entry WHERE sequence = ?", (entry.sequence,)
            ).fetchone()
        if (
            row is None
            or hashlib.sha256(row[0]).hexdigest() != entry.payload_sha256
            or entry.recomputed_hash() != entry.hash
        ):
            raise LedgerBroken(f"entry {entry.sequence} is not what was appended")
        try:
            return from_json(form, row[0], bytes_max=RECORD_BYTES_MAX)
        except EvidenceError as error:
            raise LedgerBroken(f"entry {entry.sequence} is malformed at {error}") from None

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Give the public parts of all keys that signed here, as they are stored."""
        with self._lock, self._explained():
            rows = self._db.execute("SELECT id, ed25519 FROM public_key ORDER BY id").fetchall()
        return tuple(_checked(PublicKey, id=row[0], ed25519=row[1]) for row in rows)

    def export(self, entry: Entry) -> bytes:
        """Make a bundle of a release, or of an observation without one, signed as entries are.

        Args:
            entry: of a release or an observation.

        Returns:
            The bundle's bytes.

        Raises:
            LedgerMissing: the entry is of a snapshot, or what it rests on is not there.
            LedgerBroken: something is not what was appended.
        """
        from eligibility.bundle import Observed, Pinned, Released, bundled

        if entry.kind == "snapshot":
            raise LedgerMissing("a snapshot alone is no evidence of an observation")
        observed, observation = self.stored(entry.subject)
        pinned, manifest = self.snapshot(observation.observation.manifest_sha256)
        released = None
        if entry.kind == "release":
            released = Released(entry=entry, payload=self.released(entry))
        used = {part.signature.key for part in (pinned, observed, entry) if part.signature}
        return bundled(
            Pinned(entry=pinned, payload=manifest),
            Observed(entry=observed, payload=observation),
            released,
            (key for key in self.public_keys() if key.id in used),
            self._key,
        )

    def rows(self, after: int) -> Iterator[tuple[Any, ...]]:
        """Give the stored rows behind a sequence number as they are, unchecked."""
        while True:
            with self._lock, self._explained():
                found = self._db.execute(
                    f"SELECT {_ENTRY}, payload FROM entry WHERE sequence > ? "  # noqa: S608 - fixed names
                    f"ORDER BY sequence LIMIT {_ROWS_AT_ONCE}",
                    (after,),
                ).fetchall()
            yield from found
            if len(found) < _ROWS_AT_ONCE:
                return
            after = found[-1][0]

    def highest(self) -> int:
        """Give the highest sequence number that there ever was."""
        with self._lock, self._explained():
            row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name='entry'").fetchone()
        return int(row[0]) if row else 0

    def _entries(self, which: str, *values: object) -> Iterator[Entry]:
        with self._lock, self._explained():
            found = self._db.execute(f"SELECT {_ENTRY} FROM entry {which}", values).fetchall()  # noqa: S608 - fixed names
        return iter([_entry(self.id, row) for row in found])

    def _after_fork(self) -> None:
        """Leave the connection to the process that made it, unclosed: closing writes."""
        if self._connection is not None:
            _LEFT_TO_PARENTS.append(self._connection)
        self._lock = threading.RLock()
        self._connection = None


_LEDGERS: "weakref.WeakSet[Ledger]" = weakref.WeakSet()
_LEFT_TO_PARENTS: list[sqlite3.Connection] = []


def _after_fork() -> None:
    for ledger in list(_LEDGERS):
        ledger._after_fork()


os.register_at_fork(after_in_child=_after_fork)


# --- what is stored ------------------------------------------------------------------------------


def _entry(ledger: str, row: tuple[Any, ...]) -> Entry:
    sequence, when, kind, subject, payload_sha256, previous, own, key, signature = row
    signed = None
    if key is not None or signature is not None:
        signed = _checked(EntrySignature, key=key, signature=signature)
    return _checked(
        Entry,
        format=ENTRY_FORMAT,
        ledger=ledger,
        sequence=sequence,
        time=when,
        kind=kind,
        subject=subject,
        payload_sha256=payload_sha256,
        previous=previous,
        hash=own,
        signature=signed,
    )


Formed = TypeVar("Formed", bound=Model)


def _checked(form: type[Formed], **fields: Any) -> Formed:
    """Make a model of what was stored; what does not fit is a fault of the ledger (J5)."""
    try:
        return form(**fields)
    except ValidationError:
        raise LedgerBroken("the ledger holds an entry that is malformed") from None


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _programs(*names: str) -> Programs:
    return Programs(
        eligibility=_version("eligibility"),
        python=platform.python_version(),
        **{name: _version(name) for name in names},
    )

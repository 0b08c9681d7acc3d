"""The ledger: what was observed and released, appended to one SQLite file and never changed.

Invariants
  J1  What an appending call has returned is on the disk: WAL, `synchronous=FULL`, one commit.
  J2  Sequence number and previous hash are read, and the entry is written, under one write lock.
      The database itself refuses an entry that is not the next, every update and every delete.
  J3  Nothing is half written: an entry is one row of one transaction, and changes one row.
  J4  A ledger that is locked, full, read-only, of another version or not what was opened is an
      error before a statement runs (`check`).
  J5  What is read back is checked against its hashes; what is missing is reported missing.
  J8  An entry is acknowledged where every file of the database is still the one that was opened,
      and what was acknowledged before is there (`preview.ledger_connection`).
"""

import contextlib
import hashlib
import os
import platform
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, assert_never

from pydantic import ValidationError

from eligibility.evidence.entry import (
    ENTRY_FORMAT,
    SEQUENCE_MAX,
    Entry,
    EntrySignature,
    Kind,
    ObservationRecord,
    Programs,
    PublicKey,
    ReleaseRecord,
    entry_hash,
)
from eligibility.sql.facts import Release
from eligibility.sql.manifest import Manifest
from eligibility.sql.observation import Observation
from eligibility.wire.canonical import canonical_bytes
from eligibility.wire.model import Model
from eligibility.wire.untrusted import EvidenceError, from_json
from preview.errors import (
    LedgerBroken,
    LedgerError,
    LedgerFull,
    LedgerMissing,
)
from preview.forks import no_fork
from preview.ledger_connection import LedgerConnection
from preview.ledger_file import check_form, keep_key, make
from preview.signing import SigningKey

BUSY_S = 10.0
ROOM_BYTES_MIN = 32 * 2**20
RECORD_BYTES_MAX = 512 * 2**20

_ENTRY = "sequence, time, kind, subject, payload_sha256, previous, hash, key, signature"

Record = TypeVar("Record", bound=Model)


class Ledger:
    """An append-only store of snapshots, observations and releases.

    Safe to use from several threads and from several processes at once, also from both sides of
    an `os.fork`: the file is closed before, and opened anew by who uses it. A fork waits for what
    other threads do here.

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
        self.id = ""
        self._acknowledged = (0, "")
        self._schema = 0
        self._connection = LedgerConnection(
            self._path, readonly=readonly, busy_s=busy_s, prepare=self._prepare
        )
        with self._connection.using():
            # Here, since it imports: the child of a fork that comes meanwhile waits for ever.
            _programs("sqlglot")

    # --- opening --------------------------------------------------------------------------------

    def _prepare(self, db: sqlite3.Connection, readonly: bool) -> None:
        """Take a new connection to the file, which may be a new file."""
        if not readonly:
            make(db, self._busy_s)
        check_form(db)
        (found,) = db.execute("SELECT id FROM ledger").fetchone()
        if self.id not in ("", found):
            raise LedgerBroken(f"{self._path.name}: it is another ledger; look where it came from")
        self.id = found
        if readonly:
            return
        (self._schema,) = db.execute("PRAGMA schema_version").fetchone()
        if self._key is not None:
            keep_key(db, self._key.public)

    @property
    def _db(self) -> sqlite3.Connection:
        with self._connection.using() as db:
            return db

    def to_read(self) -> LedgerConnection:
        """Give a connection of its own, to read alone; who takes it closes it."""
        return self._connection.to_read()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
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
            LedgerBroken: a file of it is not the one that was opened, or an entry is gone.
            LedgerError: it cannot be written.
        """
        with self._connection.using() as db:
            self._check_room()
            self._connection.check_files()
            with self._writing(db):
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
        """Release from a stored observation, and append what was decided (specification 7).

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
        with no_fork():  # in the child, a module that another thread was importing never is
            from eligibility.sql.release import given, release

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
        with self._connection.using() as db:
            self._check_room()
            with self._writing(db):
                entry = self._there(db, kind, subject) if _is_kept_once(kind) else None
                if entry is None:
                    entry = self._inserted(db, kind, subject, payload_sha256, payload)
                self._connection.check_files()
            # The last look before it is acknowledged (J8): what was committed to a log that
            # nobody will find is not kept.
            self._connection.check_files()
            self._acknowledged = max(self._acknowledged, (entry.sequence, entry.hash))
        return entry

    def _inserted(
        self, db: sqlite3.Connection, kind: Kind, subject: str, payload_sha256: str, payload: bytes
    ) -> Entry:
        last = db.execute(
            "SELECT sequence, hash FROM entry ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        sequence, previous = (last[0] + 1, last[1]) if last else (1, self.id)
        when = datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
        core = (self.id, sequence, when, kind, subject, payload_sha256, previous)
        own = entry_hash(*core)
        if own is None or sequence > SEQUENCE_MAX:
            raise LedgerBroken(f"{self._path.name}: its last entry is malformed; verify it")
        signature = self._key.sign(own) if self._key else None
        pair = (signature.key, signature.signature) if signature else (None, None)
        before = db.total_changes
        db.execute(
            f"INSERT INTO entry ({_ENTRY}, payload) VALUES (?,?,?,?,?,?,?,?,?,?)",  # noqa: S608 - fixed names
            (*core[1:], own, *pair, payload),
        )
        if db.total_changes - before != 1:
            raise LedgerBroken(f"{self._path.name}: the database did not take the entry; verify it")
        return _entry(self.id, (*core[1:], own, *pair))

    def _there(self, db: sqlite3.Connection, kind: Kind, subject: str) -> Entry | None:
        which = "WHERE subject = ? AND kind = ? LIMIT 1"
        row = db.execute(f"SELECT {_ENTRY} FROM entry {which}", (subject, kind)).fetchone()  # noqa: S608 - fixed names
        return None if row is None else _entry(self.id, row)

    @contextlib.contextmanager
    def _writing(self, db: sqlite3.Connection) -> Iterator[None]:
        """Hold the write lock; commit at the end, or leave nothing (J2, J3)."""
        if self._readonly:
            raise LedgerError(f"{self._path.name}: it was opened to be read; open it to write")
        db.execute("BEGIN IMMEDIATE")
        try:
            self._check_kept(db)
            yield
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a fork may have closed it
                if db.in_transaction:
                    db.execute("ROLLBACK")
            raise

    def _check_kept(self, db: sqlite3.Connection) -> None:
        """See that the guards are those there were, and the last acknowledged entry is there (J8)."""
        if db.execute("PRAGMA schema_version").fetchone() != (self._schema,):
            check_form(db)
        sequence, own = self._acknowledged
        if sequence:
            found = db.execute("SELECT hash FROM entry WHERE sequence = ?", (sequence,)).fetchone()
            if found != (own,):
                raise LedgerBroken(
                    f"{self._path.name}: entry {sequence}, which was kept, is gone; go back to a"
                    " backup"
                )

    def _check_room(self) -> None:
        disk = os.statvfs(self._path.parent)
        if disk.f_bavail * disk.f_frsize < ROOM_BYTES_MIN:
            raise LedgerFull(f"{self._path.name}: there is no room on its disk; make some")

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
        with self._connection.using() as db:
            row = db.execute(
                "SELECT payload FROM entry WHERE sequence = ?", (entry.sequence,)
            ).fetchone()
        if (
            row is None
            or not isinstance(row[0], bytes)
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
        with self._connection.using() as db:
            rows = db.execute("SELECT id, ed25519 FROM public_key ORDER BY id").fetchall()
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
        with no_fork():
            from eligibility.evidence.bundle import Observed, Pinned, Released, bundled

        released = None
        match entry.kind:
            case "snapshot":
                raise LedgerMissing("a snapshot alone is no evidence of an observation")
            case "observation":
                pass
            case "release":
                released = Released(entry=entry, payload=self.released(entry))
            case _:
                assert_never(entry.kind)
        observed, observation = self.stored(entry.subject)
        pinned, manifest = self.snapshot(observation.observation.manifest_sha256)
        used = {part.signature.key for part in (pinned, observed, entry) if part.signature}
        return bundled(
            Pinned(entry=pinned, payload=manifest),
            Observed(entry=observed, payload=observation),
            released,
            (key for key in self.public_keys() if key.id in used),
            self._key,
        )

    def _entries(self, which: str, *values: object) -> Iterator[Entry]:
        with self._connection.using() as db:
            found = db.execute(f"SELECT {_ENTRY} FROM entry {which}", values).fetchall()  # noqa: S608 - fixed names
        return iter([_entry(self.id, row) for row in found])


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


def _is_kept_once(kind: Kind) -> bool:
    """Say whether what is there already is not appended again; a release is one each time."""
    match kind:
        case "snapshot" | "observation":
            return True
        case "release":
            return False
        case _:
            assert_never(kind)


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

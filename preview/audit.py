"""A ledger against itself: every hash, every link, every signature (ledger J5).

Invariants
  A1  Every stored row is read, also one that is malformed; a fault is named by its entry, and none
      hides another.
  A2  What the chain cannot show is said: entries removed from the end show only against an entry,
      or a hash of one, that was kept elsewhere.
  A3  What is compared was there at one moment: the rows and the highest number are read in one
      transaction, so that others may append meanwhile. Where this process forks meanwhile, reading
      goes on in another transaction behind the last row, which no appending changes.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, get_args

from eligibility.evidence.entry import (
    SEQUENCE_MAX,
    Kind,
    PublicKey,
    entry_hash,
    is_signed,
    key_id,
)
from preview.errors import LedgerError, LedgerLocked
from preview.ledger import Ledger

FAULTS_MAX = 40
_ROWS_AT_ONCE = 256

Fault = Literal[
    "malformed",
    "gap",
    "link",
    "payload",
    "hash",
    "signature",
    "key-unknown",
    "key-malformed",
    "end-missing",
    "end-malformed",
    "head-missing",
    "head-differs",
    "unreadable",
]
FAULTS: dict[Fault, str] = {
    "malformed": "A field is not of the form that is written: a time, a kind, a hash.",
    "gap": "The number is not one more than the number before.",
    "link": "The entry is not linked to the one before.",
    "payload": "What the entry holds is not what was appended.",
    "hash": "The hash is not that of the entry's parts.",
    "signature": "A signature is malformed, or not by its key; or keys were given, and it is unsigned.",
    "key-unknown": "The entry is signed by none of the given keys.",
    "key-malformed": "A kept public key is not the one that its id names.",
    "end-missing": "There were entries up to here or further, and they are gone.",
    "end-malformed": "The highest number that there was is not kept as the database keeps it.",
    "head-missing": "There is no entry of the number that was given as head.",
    "head-differs": "The entry of that number is not the one that was given as head.",
    "unreadable": "From here on the file cannot be read.",
}
_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
    rf" (?:{'|'.join(get_args(Kind))})(?: [0-9a-f]{{64}}){{4}}"
)
_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_ROW = "sequence, time, kind, subject, payload_sha256, previous, hash, key, signature, payload"


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found when a ledger was checked.

    Attributes:
        entries: how many were checked.
        bytes: of their payloads.
        head: sequence number and hash of the last; keep them elsewhere.
        signed: entries whose signature was made by a key that is trusted.
        unchecked: signed entries, where no keys were given.
        unsigned: entries without a signature.
        faults: sequence number and kind of the first 40.
        faults_total: of all.
    """

    entries: int
    bytes: int
    head: tuple[int, str]
    signed: int
    unchecked: int
    unsigned: int
    faults: tuple[tuple[int, Fault], ...]
    faults_total: int

    @property
    def whole(self) -> bool:
        """Whether there is no fault."""
        return self.faults_total == 0


def audit(
    ledger: Ledger,
    *,
    keys: Iterable[PublicKey] | None = None,
    after: tuple[int, str] | None = None,
) -> Audit:
    """Check the chain of a ledger, and its signatures.

    Args:
        ledger: an open ledger.
        keys: those that are trusted; an entry signed by another, or by none, is then a fault. None
            to leave signatures unchecked.
        after: sequence number and hash of an entry that was kept elsewhere; what comes behind it is
            checked, and that it is there. Where it is not, all is. None to check all.

    Returns:
        What was found.

    Raises:
        LedgerError: the file cannot be opened.
    """
    trusted = None if keys is None else {key.id: key.ed25519 for key in keys}
    with _Reading(ledger) as reading:
        checking = _Checking(ledger.id, trusted)
        try:
            checking.all_behind(reading, after)
        except LedgerLocked:
            raise
        except LedgerError:
            checking.fault(checking.head[0] + 1, "unreadable")
        return checking.found()


class _Checking:
    """The rows of one ledger, one after another."""

    def __init__(self, ledger: str, trusted: dict[str, str] | None) -> None:
        self.head = (0, ledger)
        self._ledger, self._trusted = ledger, trusted
        self._faults: list[tuple[int, Fault]] = []
        self._faults_total = 0
        self._entries = self._bytes = self._signed = self._unchecked = self._unsigned = 0

    def found(self) -> Audit:
        """Give what was found so far."""
        return Audit(
            entries=self._entries,
            bytes=self._bytes,
            head=self.head,
            signed=self._signed,
            unchecked=self._unchecked,
            unsigned=self._unsigned,
            faults=tuple(self._faults),
            faults_total=self._faults_total,
        )

    def fault(self, sequence: int, kind: Fault) -> None:
        """Note a fault of an entry; 0 is the ledger itself."""
        self._faults_total += 1
        if len(self._faults) < FAULTS_MAX:
            self._faults.append((sequence, kind))

    def all_behind(self, reading: "_Reading", after: tuple[int, str] | None) -> None:
        """Check everything, or what comes behind an entry that was kept elsewhere."""
        last = self._kept_elsewhere(reading, after)
        while True:
            rows, ends, keys = reading.rows(last)
            for row in rows:
                self._row(row)
            if len(rows) < _ROWS_AT_ONCE:
                break
            last = rows[-1][0]
        for key, ed25519 in keys:
            if not _names(key, ed25519):
                self.fault(0, "key-malformed")
        self._end(ends)

    def _kept_elsewhere(self, reading: "_Reading", after: tuple[int, str] | None) -> int | None:
        """See that an entry is there, and give the number to go on from."""
        if after is None or after == self.head:
            return None
        sequence, own = after
        row = reading.row(sequence) if 0 < sequence <= SEQUENCE_MAX else None
        if row is None:
            self.fault(sequence, "head-missing" if sequence else "head-differs")
            return None
        if row[6] != own or _own_hash(self._ledger, row) != own or not _holds(row[9], row[4]):
            self.fault(sequence, "head-differs")
            return None
        self.head = after
        return sequence

    def _row(self, row: tuple[Any, ...]) -> None:
        sequence, time, kind, subject, payload_sha256, link, own, key, signature, payload = row
        expected, previous = self.head[0] + 1, self.head[1]
        if sequence != expected:
            self.fault(sequence, "gap")
        form = f"{time} {kind} {subject} {payload_sha256} {link} {own}"
        if _FORM.fullmatch(form) is None or not 0 < sequence <= SEQUENCE_MAX:
            self.fault(sequence, "malformed")
        if link != previous:
            self.fault(sequence, "link")
        if not _holds(payload, payload_sha256):
            self.fault(sequence, "payload")
        if own != _own_hash(self._ledger, row):
            self.fault(sequence, "hash")
        if key is None and signature is None:
            self._unsigned += 1
            if self._trusted is not None:
                self.fault(sequence, "signature")
        elif not (_is(_KEY, key) and _is(_SIGNATURE, signature)):
            self.fault(sequence, "signature")
        elif self._trusted is None:
            self._unchecked += 1
        elif key not in self._trusted:
            self.fault(sequence, "key-unknown")
        elif isinstance(own, str) and is_signed(own, signature, self._trusted[key]):
            self._signed += 1
        else:
            self.fault(sequence, "signature")
        self.head = (sequence, own)
        self._entries += 1
        self._bytes += len(payload) if isinstance(payload, bytes) else 0

    def _end(self, ends: list[tuple[Any, ...]]) -> None:
        """Compare with the highest number that there ever was, which SQLite remembers."""
        last = self.head[0]
        if not ends and last == 0:
            return
        highest = ends[0][0] if len(ends) == 1 else None
        if not isinstance(highest, int) or highest < last:
            self.fault(last, "end-malformed")
        elif highest > last:
            self.fault(last + 1, "end-missing")


def _is(form: re.Pattern[str], stored: object) -> bool:
    return isinstance(stored, str) and form.fullmatch(stored) is not None


def _holds(payload: object, payload_sha256: object) -> bool:
    return isinstance(payload, bytes) and hashlib.sha256(payload).hexdigest() == payload_sha256


def _own_hash(ledger: str, row: tuple[Any, ...]) -> str | None:
    return entry_hash(ledger, *row[:6])


def _names(key: object, ed25519: object) -> bool:
    if not isinstance(ed25519, str) or not _is(_KEY, ed25519):
        return False
    return key == key_id(bytes.fromhex(ed25519))


_Rows = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]


class _Reading:
    """Rows of a ledger as they are stored, of one moment (A3)."""

    def __init__(self, ledger: Ledger) -> None:
        self._connection = ledger.to_read()

    def __enter__(self) -> Self:
        with self._connection.using():
            return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def row(self, sequence: int) -> tuple[Any, ...] | None:
        """Give the row of a number; None where there is none."""
        rows, _, _ = self._read("WHERE sequence = ?", sequence)
        return rows[0] if rows else None

    def rows(self, after: int | None) -> _Rows:
        """Give the next rows, the highest numbers that are kept, and the public keys."""
        return self._read("") if after is None else self._read("WHERE sequence > ?", after)

    def _read(self, which: str, *values: int) -> _Rows:
        with self._connection.using() as db:
            if not db.in_transaction:
                db.execute("BEGIN")
            return (
                db.execute(
                    f"SELECT {_ROW} FROM entry {which} ORDER BY sequence LIMIT {_ROWS_AT_ONCE}",  # noqa: S608 - fixed names
                    values,
                ).fetchall(),
                db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry'").fetchall(),
                db.execute("SELECT id, ed25519 FROM public_key").fetchall(),
            )

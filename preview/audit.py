"""A ledger against itself: every hash, every link, every signature (J5).

Invariants
  A1  Every stored row is read, also one that is malformed; a fault is named by its entry.
  A2  What the chain cannot show is said: entries removed from the end show only against an entry,
      or a hash of one, that was kept elsewhere.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from eligibility.record import PublicKey, entry_hash, is_signed
from preview.ledger import Ledger

FAULTS_MAX = 40

Fault = Literal["gap", "link", "hash", "payload", "signature", "key-unknown", "end-missing"]


@dataclass(frozen=True, slots=True)
class Audit:
    """What a ledger is worth.

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
            checked, and that it is there. None to check all.

    Returns:
        What was found.

    Raises:
        LedgerError: the file cannot be read.
    """
    trusted = None if keys is None else {key.id: key.ed25519 for key in keys}
    expected, previous = after or (0, ledger.id)
    faults: list[tuple[int, Fault]] = []
    entries = size = signed = unchecked = unsigned = 0
    sha256, own_id = hashlib.sha256, ledger.id
    if not _is_there(ledger, expected, previous):
        faults.append((expected, "hash"))
    for row in ledger.rows(expected):
        sequence, time, kind, subject, payload_sha256, link, own, key, signature, payload = row
        expected += 1
        if sequence != expected:
            faults.append((sequence, "gap"))
            expected = sequence
        if link != previous:
            faults.append((sequence, "link"))
        if sha256(payload).hexdigest() != payload_sha256:
            faults.append((sequence, "payload"))
        if own != entry_hash(own_id, sequence, time, kind, subject, payload_sha256, link):
            faults.append((sequence, "hash"))
        if key is None and signature is None:
            unsigned += 1
            if trusted is not None:
                faults.append((sequence, "signature"))
        elif key is None or signature is None:
            faults.append((sequence, "signature"))
        elif trusted is None:
            unchecked += 1
        elif key not in trusted:
            faults.append((sequence, "key-unknown"))
        elif is_signed(own, signature, trusted[key]):
            signed += 1
        else:
            faults.append((sequence, "signature"))
        previous = own
        entries += 1
        size += len(payload)
    if ledger.highest() > expected:
        faults.append((expected + 1, "end-missing"))
    return Audit(
        entries=entries,
        bytes=size,
        head=(expected, previous),
        signed=signed,
        unchecked=unchecked,
        unsigned=unsigned,
        faults=tuple(faults[:FAULTS_MAX]),
        faults_total=len(faults),
    )


def _is_there(ledger: Ledger, sequence: int, own: str) -> bool:
    if sequence == 0:
        return own == ledger.id
    for row in ledger.rows(sequence - 1):
        found = (row[0], hashlib.sha256(row[9]).hexdigest(), entry_hash(ledger.id, *row[:6]))
        return found == (sequence, row[4], own)
    return False

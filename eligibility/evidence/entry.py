"""What a ledger keeps, entry by entry, and what a bundle carries of it.

Invariants
  L1  An entry's hash is the SHA-256 of one canonical JSON text that holds the ledger's id, the
      sequence number, the time, the kind, the subject, the payload's hash and the previous hash.
  L2  A payload is the canonical JSON of one record, so that a record gives the payload's hash.
  L3  A signature is over the entry's hash under a text that stands for nothing else.
  L4  A key is known by the SHA-256 of its public part in DER, as other tools compute it.
"""

import hashlib
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from eligibility.sql.facts import CLAIMS_MAX, Claim, Release
from eligibility.sql.manifest import Manifest
from eligibility.sql.observation import Observation, ReturnedPreview
from eligibility.wire.canonical import TextForm, canonical_bytes
from eligibility.wire.model import Model, Sha256

ENTRY_FORMAT: Literal["eligibility-entry/1"] = "eligibility-entry/1"
SEQUENCE_MAX = 2**53 - 1

Kind = Literal["snapshot", "observation", "release"]
Time = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
    ),
]
Ed25519Public = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Ed25519Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]

# What stands before the 32 bytes of an Ed25519 key in its SubjectPublicKeyInfo.
_ED25519_DER = bytes.fromhex("302a300506032b6570032100")
# What an entry's hash is of (L1).
_HASHED = TextForm(
    ("ledger", "time", "kind", "subject", "payload_sha256", "previous"),
    number="sequence",
    format=ENTRY_FORMAT,
)


class EntrySignature(Model):
    """An Ed25519 signature over an entry's hash (L3).

    Attributes:
        key: which key made it (L4).
        signature: its 64 bytes in hexadecimal.
    """

    key: Sha256
    signature: Ed25519Signature


class Entry(Model):
    """One entry of a ledger, without its payload.

    Attributes:
        format: version of this form.
        ledger: the ledger's id.
        sequence: counted from 1, without gaps.
        time: when it was appended: UTC, ISO 8601 with microseconds and `Z`.
        kind: what the payload is.
        subject: of a snapshot, the SHA-256 of its manifest; else the observation's digest.
        payload_sha256: of the payload's bytes (L2).
        previous: hash of the entry before; of the first, the ledger's id.
        hash: see L1.
        signature: None for an entry that is not signed.
    """

    format: Literal["eligibility-entry/1"]
    ledger: Sha256
    sequence: int = Field(ge=1, le=SEQUENCE_MAX)
    time: Time
    kind: Kind
    subject: Sha256
    payload_sha256: Sha256
    previous: Sha256
    hash: Sha256
    signature: EntrySignature | None

    def recomputed_hash(self) -> str | None:
        """Compute what `hash` has to be (L1)."""
        return entry_hash(
            self.ledger,
            self.sequence,
            self.time,
            self.kind,
            self.subject,
            self.payload_sha256,
            self.previous,
        )


class Programs(Model):
    """What made a record; `sqlglot` where a statement's text was read."""

    eligibility: str
    python: str
    sqlglot: str | None = None


class ObservationRecord(Model):
    """The payload of an observation's entry."""

    observation: Observation
    programs: Programs


class ReleaseRecord(Model):
    """The payload of a release's entry.

    Attributes:
        observation: digest of the stored observation that was released from.
        recorded: hash of that observation's entry.
        returned: the preview that came back; None where it was malformed, which is not kept.
        claims_given: whether there were any.
        claims: the claims; None where there were none, or they were malformed.
        release: what was decided then.
        programs: what decided it.
    """

    observation: Sha256
    recorded: Sha256
    returned: ReturnedPreview | None
    claims_given: bool
    claims: Annotated[tuple[Claim, ...], Field(max_length=CLAIMS_MAX)] | None
    release: Release
    programs: Programs


# What each kind of entry holds.
PAYLOADS: dict[Kind, type[Model]] = {
    "snapshot": Manifest,
    "observation": ObservationRecord,
    "release": ReleaseRecord,
}


class PublicKey(Model):
    """The public part of a signing key.

    Attributes:
        id: see L4.
        ed25519: its 32 bytes in hexadecimal.
    """

    id: Sha256
    ed25519: Ed25519Public

    @classmethod
    def of(cls, public: bytes) -> "PublicKey":
        """Name a key of 32 bytes."""
        return cls(id=key_id(public), ed25519=public.hex())


def entry_hash(
    ledger: str,
    sequence: int,
    time: str,
    kind: str,
    subject: str,
    payload_sha256: str,
    previous: str,
) -> str | None:
    """Compute an entry's hash (L1).

    Args:
        ledger: the ledger's id.
        sequence: counted from 1.
        time: as in `Entry`.
        kind: as in `Entry`.
        subject: as in `Entry`.
        payload_sha256: of the payload's bytes.
        previous: hash of the entry before.

    Returns:
        64 hexadecimal digits; None where a text holds a quotation mark, so that two entries with
        different parts never have one hash.
    """
    return _HASHED.sha256(ledger, time, kind, subject, payload_sha256, previous, sequence)


def payload_hash(record: Model) -> str:
    """Compute the hash of a record's payload (L2)."""
    return hashlib.sha256(canonical_bytes(record)).hexdigest()


def signed_text(entry: str) -> bytes:
    """Give the bytes that are signed for an entry (L3).

    Args:
        entry: its hash.
    """
    return f"{ENTRY_FORMAT} {entry}\n".encode()


def key_id(public: bytes) -> str:
    """Give the id of a public key of 32 bytes (L4)."""
    return hashlib.sha256(_ED25519_DER + public).hexdigest()


def is_signed(entry: str, signature: str, public: str) -> bool:
    """Say whether a signature over an entry's hash was made by a key (L3).

    Args:
        entry: the hash.
        signature: 128 hexadecimal digits.
        public: the key, 64 hexadecimal digits.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), signed_text(entry))
    except (InvalidSignature, ValueError):
        return False
    return True

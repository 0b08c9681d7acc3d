"""An evidence bundle: what was executed, returned, released, and how it was kept; and its check.

A bundle is an in-toto Statement in a DSSE envelope, as one canonical JSON text.

Invariants
  V1  Total: any bytes give a `Verification`; nothing in them is opened, called or printed.
  V2  Input is closed: a text that is malformed, over a limit, or not its own canonical form is
      blocked, and nothing in it is believed.
  V3  Every byte is bound: what no hash covers is fixed, or a signature by a key whose id is its
      hash. What was changed is not examined further.
  V4  A failure dominates; what could not be checked leaves `unverified`, never `passed`.
  V5  A finding is a code and a JSON pointer of schema fields: never a text of the bundle, but for
      the number of an engine's version, which is digits and dots.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from pydantic import ConfigDict, Field, TypeAdapter

from eligibility.evidence.entry import (
    Entry,
    Kind,
    ObservationRecord,
    PublicKey,
    ReleaseRecord,
    is_signed,
    key_id,
    payload_hash,
)
from eligibility.evidence.replay import compared
from eligibility.evidence.upheld import Execute
from eligibility.evidence.verification import Code, Counts, Hashes, Report, Verification
from eligibility.reasons import Reason
from eligibility.sql.facts import Release
from eligibility.sql.manifest import Manifest, logical_id
from eligibility.sql.release import release
from eligibility.wire.canonical import canonical_bytes
from eligibility.wire.model import Model, Sha256
from eligibility.wire.untrusted import EvidenceError, from_json

BUNDLE_BYTES_MAX = 16 * 1024 * 1024
ARRAY_MAX = 1_000
LONG_ARRAY_MAX = 50_000
SIGNATURES_MAX = 10
KEYS_MAX = 13  # of three entries, and of the envelope
BUNDLE_FORMAT: Literal["eligibility-bundle/1"] = "eligibility-bundle/1"
PAYLOAD_TYPE: Literal["application/vnd.in-toto+json"] = "application/vnd.in-toto+json"
STATEMENT_TYPE: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Literal["urn:eligibility:bundle:1"] = "urn:eligibility:bundle:1"


class Pinned(Model):
    """A snapshot's manifest and its entry."""

    entry: Entry
    payload: Manifest


class Observed(Model):
    """An observation and its entry."""

    entry: Entry
    payload: ObservationRecord


class Released(Model):
    """A release with what it was made from, and its entry."""

    entry: Entry
    payload: ReleaseRecord


class Evidence(Model):
    """What a bundle is about.

    Attributes:
        format: version of this form.
        snapshot: what was read.
        observation: what came back.
        release: what was released; None where nothing is recorded.
        keys: public parts of the keys that signed, in order of their ids.
    """

    format: Literal["eligibility-bundle/1"]
    snapshot: Pinned
    observation: Observed
    release: Released | None
    keys: tuple[PublicKey, ...] = Field(max_length=KEYS_MAX)

    @property
    def parts(self) -> Iterator[tuple[str, Pinned | Observed | Released]]:
        """The entries with their names, those that are there."""
        yield "snapshot", self.snapshot
        yield "observation", self.observation
        if self.release is not None:
            yield "release", self.release


class Digest(Model):
    """A digest as in-toto writes it."""

    sha256: Sha256


class Subject(Model):
    """What a Statement is about: one observation."""

    name: Literal["observation"]
    digest: Digest


class Statement(Model):
    """An in-toto Statement."""

    model_config = ConfigDict(serialize_by_alias=True)

    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: tuple[Subject]
    predicate_type: Literal["urn:eligibility:bundle:1"] = Field(alias="predicateType")
    predicate: Evidence


class EnvelopeSignature(Model):
    """A signature of an envelope, in base64."""

    keyid: Sha256
    sig: str = Field(max_length=88)


class Envelope(Model):
    """A DSSE envelope."""

    model_config = ConfigDict(serialize_by_alias=True)

    payload: str
    payload_type: Literal["application/vnd.in-toto+json"] = Field(alias="payloadType")
    signatures: tuple[EnvelopeSignature, ...] = Field(max_length=SIGNATURES_MAX)


# --- making one ---------------------------------------------------------------------------------


class Signer(Protocol):
    """Who can sign an envelope."""

    @property
    def public(self) -> PublicKey:
        """The public part of the key."""

    def sign_bytes(self, data: bytes) -> bytes:
        """Sign bytes with it."""


def bundled(
    snapshot: Pinned,
    observation: Observed,
    release: Released | None,
    keys: Iterable[PublicKey],
    signer: Signer | None = None,
) -> bytes:
    """Make a bundle.

    Args:
        snapshot: what was read.
        observation: what came back.
        release: what was released; None where nothing is recorded.
        keys: those that signed the entries.
        signer: signs the envelope; None to leave it unsigned.

    Returns:
        The bundle's bytes.
    """
    every = {key.id: key for key in (*keys, *([signer.public] if signer else []))}
    evidence = Evidence(
        format=BUNDLE_FORMAT,
        snapshot=snapshot,
        observation=observation,
        release=release,
        keys=tuple(every[name] for name in sorted(every)),
    )
    digest = Digest(sha256=observation.payload.observation.digest)
    statement = Statement(
        _type=STATEMENT_TYPE,
        subject=(Subject(name="observation", digest=digest),),
        predicateType=PREDICATE_TYPE,
        predicate=evidence,
    )
    payload = canonical_bytes(statement)
    signatures: tuple[EnvelopeSignature, ...] = ()
    if signer is not None:
        sig = base64.b64encode(signer.sign_bytes(_to_be_signed(payload))).decode()
        signatures = (EnvelopeSignature(keyid=signer.public.id, sig=sig),)
    return canonical_bytes(
        Envelope(
            payload=base64.b64encode(payload).decode(),
            payloadType=PAYLOAD_TYPE,
            signatures=signatures,
        )
    )


def _to_be_signed(payload: bytes) -> bytes:
    """Give the pre-authentication encoding of a payload (DSSE 1.0, `PAE`)."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


# --- reading one --------------------------------------------------------------------------------

_ENVELOPE = TypeAdapter(Envelope)
_STATEMENT = TypeAdapter(Statement)


def verify(
    data: bytes,
    *,
    keys: Iterable[PublicKey] | None = None,
    execute: Execute | None = None,
) -> Verification:
    """Establish what a bundle shows, and say what it does not (V1).

    Args:
        data: the bundle, at most 16 MiB.
        keys: those that are trusted; every entry must then be signed by one of them. None to trust
            none: signatures are then compared with the keys in the bundle, and no more.
        execute: executes a statement as an observation was, over the snapshot that is there; None
            where there is none.

    Returns:
        What was found.
    """
    report = Report()
    made = hashlib.sha256(data).hexdigest()
    read = _read(data, report)
    if read is None:
        return report.verification(made)
    envelope, payload, statement = read
    evidence = statement.predicate
    trusted = None if keys is None else {key.id for key in keys}
    _check_hashes(statement, report)
    _check_entries(evidence, report)
    _check_keys(evidence, envelope, report)
    _check_signatures(evidence, trusted, report)
    _check_envelope(envelope, payload, evidence, trusted, report)
    if not report.failed:
        _check_release(evidence, report)
    if not report.failed:
        observation = evidence.observation.payload.observation
        for code, at in compared(observation, execute):
            report.add(code, f"/payload/predicate/observation/payload/observation{at}")
        report.advise(observation.engine.name, observation.engine.version)
    return report.verification(made, _hashes(evidence), _counts(evidence))


def _read(data: bytes, report: Report) -> tuple[Envelope, bytes, Statement] | None:
    """Read a bundle as closed input (V2)."""
    if len(data) > BUNDLE_BYTES_MAX:
        report.add(Code.TOO_LARGE, "")
        return None
    at = ""
    try:
        envelope = from_json(_ENVELOPE, data, bytes_max=BUNDLE_BYTES_MAX)
        if canonical_bytes(envelope) != data:
            report.add(Code.NOT_CANONICAL, at)
        at = "/payload"
        payload = _from_base64(envelope.payload)
        if payload is None:
            report.add(Code.NOT_CANONICAL, at)
            return None
        statement = from_json(_STATEMENT, payload, bytes_max=BUNDLE_BYTES_MAX)
        if canonical_bytes(statement) != payload:
            report.add(Code.NOT_CANONICAL, at)
    except EvidenceError as error:
        report.add(Code.MALFORMED, at + error.pointer)
        return None
    for long in _too_long(json.loads(payload), ()):
        report.add(Code.ARRAY_TOO_LONG, "/payload" + "".join(f"/{part}" for part in long))
    for place, source in enumerate(statement.predicate.snapshot.payload.sources):
        for name in (source.name, *(file.name for file in source.files)):
            if name is not None and not _is_plain(name):
                at = f"/payload/predicate/snapshot/payload/sources/{place}"
                report.add(Code.NAME_IS_A_PATH, at)
    return None if report.failed else (envelope, payload, statement)


def _from_base64(text: str) -> bytes | None:
    """Decode canonical base64; None for any other spelling."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def _too_long(tree: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(tree, dict):
        for name, part in tree.items():
            yield from _too_long(part, (*path, name))
    elif isinstance(tree, list):
        of_an_enum = path[-1:] == ("members",) and path[-3:-2] == ("columns",)
        long = of_an_enum or path[-1:] in (("facts",), ("withheld",))
        if len(tree) > (LONG_ARRAY_MAX if long else ARRAY_MAX):
            yield path
        for place, part in enumerate(tree):
            yield from _too_long(part, (*path, place))


def _is_plain(name: str) -> bool:
    """Say whether a name could only ever name a file beside others."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0") and "://" not in name


# --- hashes and links ---------------------------------------------------------------------------

_AT = "/payload/predicate"


def _check_hashes(statement: Statement, report: Report) -> None:
    """Recompute every digest, and compare every place that a digest stands in."""
    evidence = statement.predicate
    seen = evidence.observation.payload.observation
    manifest = evidence.snapshot.payload
    at, pinned = f"{_AT}/observation/payload/observation", f"{_AT}/snapshot"
    said = hashlib.sha256(seen.statement.encode()).hexdigest()
    places = (
        (said == seen.statement_sha256, f"{at}/statement_sha256"),
        (seen.recomputed_digest() == seen.digest, f"{at}/digest"),
        (statement.subject[0].digest.sha256 == seen.digest, "/payload/subject/0/digest/sha256"),
        (logical_id(manifest.logical) == manifest.id, f"{pinned}/payload/id"),
        (manifest.id == seen.snapshot, f"{at}/snapshot"),
        (payload_hash(manifest) == seen.manifest_sha256, f"{at}/manifest_sha256"),
        (manifest.logical.tables == seen.pins, f"{at}/pins"),
    )
    for holds, place in places:
        if not holds:
            report.add(Code.DIGEST_DIFFERS, place)


def _check_entries(evidence: Evidence, report: Report) -> None:
    """Recompute every entry's hashes, and see that each is of what stands beside it."""
    seen = evidence.observation.payload.observation
    subjects: dict[Kind, str] = {
        "snapshot": seen.manifest_sha256,
        "observation": seen.digest,
        "release": seen.digest,
    }
    first = evidence.observation.entry
    for name, part in evidence.parts:
        at, entry = f"{_AT}/{name}/entry", part.entry
        if payload_hash(part.payload) != entry.payload_sha256:
            report.add(Code.ENTRY_DIFFERS, f"{at}/payload_sha256")
        if entry.recomputed_hash() != entry.hash:
            report.add(Code.ENTRY_DIFFERS, f"{at}/hash")
        if entry.kind != name:
            report.add(Code.ENTRY_OF_ANOTHER, f"{at}/kind")
        if entry.subject != subjects.get(entry.kind):
            report.add(Code.ENTRY_OF_ANOTHER, f"{at}/subject")
        if entry.ledger != first.ledger:
            report.add(Code.ENTRY_OF_ANOTHER, f"{at}/ledger")
    _check_links(evidence, report)


def _check_links(evidence: Evidence, report: Report) -> None:
    """See that the entries stand in one chain, as far as three of them can show it."""
    entries = {part.entry.sequence: (name, part.entry) for name, part in evidence.parts}
    if len(entries) < len(list(evidence.parts)):
        report.add(Code.CHAIN_BROKEN, f"{_AT}/observation/entry/sequence")
    for sequence, (name, entry) in entries.items():
        before = entries[sequence - 1][1].hash if sequence - 1 in entries else None
        if sequence == 1:
            before = entry.ledger
        if before is not None and entry.previous != before:
            report.add(Code.CHAIN_BROKEN, f"{_AT}/{name}/entry/previous")
    released, observed = evidence.release, evidence.observation
    if released is None:
        report.add(Code.RELEASE_ABSENT, f"{_AT}/release")
        return
    if released.entry.sequence <= observed.entry.sequence:
        report.add(Code.CHAIN_BROKEN, f"{_AT}/release/entry/sequence")
    if released.payload.recorded != observed.entry.hash:
        report.add(Code.CHAIN_BROKEN, f"{_AT}/release/payload/recorded")
    if released.payload.observation != observed.payload.observation.digest:
        report.add(Code.ENTRY_OF_ANOTHER, f"{_AT}/release/payload/observation")
    if released.entry.time < observed.entry.time:
        report.add(Code.TIME_RUNS_BACK, f"{_AT}/release/entry/time")


# --- keys and signatures ------------------------------------------------------------------------


def _check_keys(evidence: Evidence, envelope: Envelope, report: Report) -> None:
    """See that the keys are those that signed, each once, each under its own id."""
    used = {part.entry.signature.key for _, part in evidence.parts if part.entry.signature}
    used |= {signature.keyid for signature in envelope.signatures}
    ids = [key.id for key in evidence.keys]
    if ids != sorted(used):
        report.add(Code.KEY_DIFFERS, f"{_AT}/keys")
    for place, key in enumerate(evidence.keys):
        if key_id(bytes.fromhex(key.ed25519)) != key.id:
            report.add(Code.KEY_DIFFERS, f"{_AT}/keys/{place}/id")


def _check_signatures(evidence: Evidence, trusted: set[str] | None, report: Report) -> None:
    public = {key.id: key.ed25519 for key in evidence.keys}
    for name, part in evidence.parts:
        at, signature = f"{_AT}/{name}/entry/signature", part.entry.signature
        if signature is None:
            report.add(Code.UNSIGNED if trusted is None else Code.SIGNATURE_ABSENT, at)
            continue
        if signature.key in public and not is_signed(
            part.entry.hash, signature.signature, public[signature.key]
        ):
            report.add(Code.SIGNATURE_INVALID, f"{at}/signature")
        _check_trust(signature.key, trusted, f"{at}/key", report)


def _check_trust(key: str, trusted: set[str] | None, at: str, report: Report) -> None:
    if trusted is None:
        report.add(Code.NO_KEY_GIVEN, at)
    elif key not in trusted:
        report.add(Code.KEY_NOT_TRUSTED, at)


def _check_envelope(
    envelope: Envelope,
    payload: bytes,
    evidence: Evidence,
    trusted: set[str] | None,
    report: Report,
) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = {key.id: key.ed25519 for key in evidence.keys}
    if not envelope.signatures:
        report.add(Code.ENVELOPE_UNSIGNED, "/signatures")
    for place, signature in enumerate(envelope.signatures):
        at, made = f"/signatures/{place}", _from_base64(signature.sig)
        if made is None:
            report.add(Code.NOT_CANONICAL, f"{at}/sig")
        elif signature.keyid in public:
            try:
                key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public[signature.keyid]))
                key.verify(made, _to_be_signed(payload))
            except (InvalidSignature, ValueError):
                report.add(Code.SIGNATURE_INVALID, f"{at}/sig")
        _check_trust(signature.keyid, trusted, f"{at}/keyid", report)


# --- the release --------------------------------------------------------------------------------


def _check_release(evidence: Evidence, report: Report) -> None:
    """Decide again what may be stated, and compare every part of what was decided then."""
    seen = evidence.observation.payload.observation
    own = release(seen, seen.preview(), digest=seen.digest)
    if own.no_answer_reason in (Reason.OBSERVATION_MALFORMED, Reason.DIGEST_MISMATCH):
        at = f"{_AT}/observation/payload/observation{own.no_answer_at or ''}"
        report.add(Code.OBSERVATION_INCONSISTENT, at)
    if evidence.release is None:
        return
    kept = evidence.release.payload
    at = f"{_AT}/release/payload"
    returned = b"" if kept.returned is None else kept.returned
    claims: Any = kept.claims
    if kept.claims is None and kept.claims_given:
        claims = b""
    again = release(seen, returned, claims, digest=seen.digest)
    then, now = kept.release.model_dump(mode="json"), again.model_dump(mode="json")
    if kept.returned is None or claims == b"":
        report.add(Code.INPUT_NOT_KEPT, f"{at}/{'claims' if kept.returned else 'returned'}")
        # Nothing was released; why, and where the fault was, only the input could tell.
        for name in ("no_answer_reason", "no_answer_at"):
            del then[name], now[name]
    for place in _differences(then, now, ""):
        report.add(Code.RELEASE_DIFFERS, f"{at}/release{place}")


def _differences(then: Any, now: Any, at: str) -> Iterator[str]:
    """Point at every place at which two JSON values differ."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name in sorted({*then, *now}):
            if name not in then or name not in now:
                yield f"{at}/{name}"
            else:
                yield from _differences(then[name], now[name], f"{at}/{name}")
    elif isinstance(then, list) and isinstance(now, list):
        for place, (one, other) in enumerate(zip(then, now, strict=False)):
            yield from _differences(one, other, f"{at}/{place}")
        for place in range(min(len(then), len(now)), max(len(then), len(now))):
            yield f"{at}/{place}"
    elif then != now:
        yield at


# --- what is told -------------------------------------------------------------------------------


def _hashes(evidence: Evidence) -> Hashes:
    seen = evidence.observation
    return Hashes(
        snapshot=seen.payload.observation.snapshot,
        observation=seen.payload.observation.digest,
        ledger=seen.entry.ledger,
        observation_entry=seen.entry.hash,
        release_entry=evidence.release.entry.hash if evidence.release else None,
    )


def _counts(evidence: Evidence) -> Counts:
    made: Release | None = evidence.release.payload.release if evidence.release else None
    return Counts(
        tables=len(evidence.snapshot.payload.logical.tables),
        rows=len(evidence.observation.payload.observation.rows),
        columns=len(evidence.observation.payload.observation.columns),
        facts=len(made.facts) if made else 0,
        withheld=len(made.withheld) if made else 0,
        entries=len(list(evidence.parts)),
        signed=sum(part.entry.signature is not None for _, part in evidence.parts),
    )

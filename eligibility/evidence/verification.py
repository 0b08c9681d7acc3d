"""What a verifier found: codes, counts, JSON pointers, hashes; never a text of the bundle.

Invariants
  Q1  A code's weight decides: one that is blocked or failed makes the whole failed; without such,
      one that is unverified makes it unverified; a note changes nothing.
  Q2  `overall_pass` is always false: structure does not establish meaning.
  Q3  What a reader is told to do is a fixed sentence; a version in it is digits and dots.
  Q4  At most 40 findings and 20 diagnostics are listed; totals, and the first place of each code,
      are exact.
"""

import re
from collections import Counter
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from eligibility.wire.model import COUNT_MAX, Model, Sha256

FINDINGS_MAX = 40
DIAGNOSTICS_MAX = 20

_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")

Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
Weight = Literal["blocked", "failed", "unverified", "note"]
Status = Literal["passed", "unverified", "failed"]
# What no bundle can show, however well it is made.
NOT_ESTABLISHED = (
    "that the statement asks what the reader means",
    "that the clocks were right",
    "that the ledger holds nothing else",
    "that the sources were what they are said to be",
)


class Code(StrEnum):
    """One stable code, how much it weighs, and what was found as one fixed sentence.

    Attributes:
        weight: see Q1.
        sentence: what was found.
    """

    weight: Weight
    sentence: str

    def __new__(cls, code: str, weight: Weight, sentence: str) -> "Code":
        """Make a member whose value is its code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.weight = weight
        member.sentence = sentence
        return member

    # The input is not one that can be read.
    FILE_REFUSED = (
        "file-refused",
        "blocked",
        "The file cannot be read, is no plain file, or is given as a link or an address.",
    )
    TOO_LARGE = "too-large", "blocked", "The bundle is larger than 16 MiB."
    MALFORMED = "malformed", "blocked", "The text is not JSON of the bundle's form."
    ARRAY_TOO_LONG = "array-too-long", "blocked", "A list is longer than its limit."
    NOT_CANONICAL = "not-canonical", "blocked", "The text is not its own canonical form."
    NAME_IS_A_PATH = "name-is-a-path", "blocked", "A file's name leads to another place."

    # It contradicts itself, or what the verifier was given.
    DIGEST_DIFFERS = "digest-differs", "failed", "A digest is not that of what it stands for."
    ENTRY_DIFFERS = "entry-differs", "failed", "An entry's hash is not that of its parts."
    ENTRY_OF_ANOTHER = "entry-of-another", "failed", "An entry is not about what it stands with."
    CHAIN_BROKEN = "chain-broken", "failed", "An entry is not linked to the one it follows."
    KEY_DIFFERS = "key-differs", "failed", "The keys are not those that signed."
    SIGNATURE_INVALID = "signature-invalid", "failed", "A signature was not made by its key."
    SIGNATURE_ABSENT = "signature-absent", "failed", "A key was given, and an entry is unsigned."
    KEY_NOT_TRUSTED = "key-not-trusted", "failed", "A signature is by none of the given keys."
    OBSERVATION_INCONSISTENT = (
        "observation-inconsistent",
        "failed",
        "The observation contradicts itself.",
    )
    RELEASE_DIFFERS = "release-differs", "failed", "What was released is not what is decided now."
    SNAPSHOT_DIFFERS = "snapshot-differs", "failed", "The snapshot given is not the one observed."
    SNAPSHOT_REFUSED = "snapshot-refused", "failed", "The snapshot given is not what was pinned."
    READING_DIFFERS = "reading-differs", "failed", "The engine reads the statement in another way."
    RESULT_DIFFERS = "result-differs", "failed", "The statement does not give what was observed."
    ENGINE_ABSENT = "engine-absent", "failed", "The engine is not there in the same version."
    EXECUTION_TOO_SLOW = "execution-too-slow", "failed", "The statement took longer than it may."
    EXECUTION_FAILED = "execution-failed", "failed", "The statement could not be executed."

    # It could not be checked.
    RELEASE_ABSENT = "release-absent", "unverified", "No release is recorded."
    UNSIGNED = "unsigned", "unverified", "An entry is not signed: anyone can have made it."
    NO_KEY_GIVEN = "no-key-given", "unverified", "No key was given to compare a signer with."
    INPUT_NOT_KEPT = "input-not-kept", "unverified", "What came back was malformed, and not kept."
    ENGINE_NOT_ASKED = "engine-not-asked", "unverified", "No snapshot was given to execute over."
    NOT_REPEATABLE = (
        "not-repeatable",
        "unverified",
        "The statement gives other results from time to time.",
    )
    BOUND_UNKNOWN = "bound-unknown", "unverified", "How far a sum may differ could not be found."
    WITHHELD_DIFFERS = "withheld-differs", "unverified", "A value that nothing states differs."
    SETTINGS_DIFFER = "settings-differ", "unverified", "The engine ran under other settings."

    # It is told, and changes nothing.
    ORDER_DIFFERS = "order-differs", "note", "The same rows came in another order."
    ENVELOPE_UNSIGNED = "envelope-unsigned", "note", "The bundle itself is not signed."
    TIME_RUNS_BACK = "time-runs-back", "note", "A later entry has an earlier time."
    MANIFEST_DIFFERS = "manifest-differs", "note", "The same rows were pinned another time."


class Finding(Model):
    """One thing that was found, and where: a JSON pointer, the payload taken as decoded."""

    code: Code
    at: str


class CodeCount(Model):
    """How often one code was found, and where first."""

    code: Code
    weight: Weight
    count: Count
    first: str


class Hashes(Model):
    """What the bundle is about."""

    snapshot: Sha256
    observation: Sha256
    ledger: Sha256
    observation_entry: Sha256
    release_entry: Sha256 | None


class Counts(Model):
    """How much of it there is."""

    tables: Count
    rows: Count
    columns: Count
    facts: Count
    withheld: Count
    entries: Count
    signed: Count


class Verification(Model):
    """What a bundle shows.

    Attributes:
        overall_pass: see Q2.
        structural_status: see Q1.
        blocked: whether it could not be read at all.
        bundle_sha256: of the bytes that were given; None where none could be read.
        hashes, counts: what it is about; None where it could not be read.
        codes: every code that was found, in the order of `Code`.
        findings, findings_total: what is blocked or failed.
        diagnostics, diagnostics_total: what could not be checked, and notes.
        advice: what to do about what was found.
        not_established: what no bundle can show.
    """

    overall_pass: Literal[False]
    structural_status: Status
    blocked: bool
    bundle_sha256: Sha256 | None
    hashes: Hashes | None
    counts: Counts | None
    codes: tuple[CodeCount, ...]
    findings: tuple[Finding, ...]
    findings_total: Count
    diagnostics: tuple[Finding, ...]
    diagnostics_total: Count
    advice: tuple[str, ...]
    not_established: tuple[str, ...]


class Report:
    """Findings as they are made."""

    def __init__(self) -> None:
        """Start with none."""
        self._counts: Counter[Code] = Counter()
        self._first: dict[Code, str] = {}
        self._listed: dict[bool, list[Finding]] = {True: [], False: []}
        self._advice: list[str] = []

    def add(self, code: Code, at: str) -> None:
        """Add one.

        Args:
            code: what was found.
            at: where, as a JSON pointer.
        """
        self._counts[code] += 1
        self._first.setdefault(code, at)
        bad = code.weight in ("blocked", "failed")
        if len(self._listed[bad]) < (FINDINGS_MAX if bad else DIAGNOSTICS_MAX):
            self._listed[bad].append(Finding(code=code, at=at))

    def advise(self, engine: str, version: str) -> None:
        """Say what to do where a snapshot was given and the statement was not executed (Q3).

        Args:
            engine: that the bundle says it was recorded with.
            version: of that engine.
        """
        if self._counts[Code.ENGINE_ABSENT]:
            named = _VERSION.fullmatch(version) and engine == "duckdb"
            wanted = f"duckdb {version}" if named else "the engine that recorded it"
            self._advice.append(f"Install {wanted}, and verify again.")
        if self._counts[Code.EXECUTION_TOO_SLOW]:
            self._advice.append("Verify again with a longer --timeout.")
        if self._counts[Code.EXECUTION_FAILED]:
            self._advice.append("Verify again with a larger --memory.")

    @property
    def failed(self) -> bool:
        """Whether anything is blocked or failed."""
        return bool(self._listed[True])

    def _total(self, *weights: Weight) -> int:
        return sum(count for code, count in self._counts.items() if code.weight in weights)

    def verification(
        self,
        bundle_sha256: str | None,
        hashes: Hashes | None = None,
        counts: Counts | None = None,
    ) -> Verification:
        """Give the whole result (Q1, Q4)."""
        status: Status = "failed" if self.failed else "passed"
        if status == "passed" and self._total("unverified"):
            status = "unverified"
        return Verification(
            overall_pass=False,
            structural_status=status,
            blocked=self._total("blocked") > 0,
            bundle_sha256=bundle_sha256,
            hashes=hashes,
            counts=counts,
            codes=tuple(
                CodeCount(
                    code=code,
                    weight=code.weight,
                    count=self._counts[code],
                    first=self._first[code],
                )
                for code in Code
                if self._counts[code]
            ),
            findings=tuple(self._listed[True]),
            findings_total=self._total("blocked", "failed"),
            diagnostics=tuple(self._listed[False]),
            diagnostics_total=self._total("unverified", "note"),
            advice=tuple(self._advice),
            not_established=NOT_ESTABLISHED,
        )

"""One line of a batch: a statement in, its verdicts out, and what is counted of many (specification 9).

Invariants
  L1  Every line that is not blank gives exactly one line, in its place; none ends the batch.
  L2  What is wrong with a line is told by a pointer and fixed words, never by its text.
  L3  The verdicts of a line are what `check --json` prints for its statement, byte for byte; but
      the engine is asked only where the text leaves something eligible.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eligibility import classify
from eligibility.reasons import Reason
from eligibility.sql.schema import Schema
from eligibility.sql.verdicts import Verdicts
from eligibility.wire.untrusted import EvidenceError
from evidence_adapters.cli.documents import json_bytes

if TYPE_CHECKING:
    from preview import Recorder

LINE_BYTES_MAX = 2**20

_FIELDS = frozenset({"statement", "id"})


@dataclass(slots=True)
class Tally:
    """What is counted of a batch.

    Attributes:
        eligible, partly, withheld: statements of which every output, some, or none is eligible.
        malformed: lines that are of another form.
        first_malformed: the number of the first of them.
        reasons: how many statements each code withholds, or an output of.
    """

    eligible: int = 0
    partly: int = 0
    withheld: int = 0
    malformed: int = 0
    first_malformed: int | None = None
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def statements(self) -> int:
        """How many were judged."""
        return self.eligible + self.partly + self.withheld

    def count(self, verdicts: Verdicts) -> None:
        """Count one statement."""
        outputs = verdicts.outputs
        eligible = sum(output.label is not None for output in outputs)
        if not eligible:
            self.withheld += 1
        elif eligible == len(outputs):
            self.eligible += 1
        else:
            self.partly += 1
        found = set(verdicts.reasons).union(*(output.reasons for output in outputs))
        self.reasons.update(reason.value for reason in found)

    def count_malformed(self, number: int) -> None:
        """Count a line that is of another form."""
        self.malformed += 1
        if self.first_malformed is None:
            self.first_malformed = number

    def document(self) -> dict[str, Any]:
        """Give it as plain JSON values, the most frequent reason first."""
        return {
            "statements": self.statements,
            "eligible": self.eligible,
            "partly": self.partly,
            "withheld": self.withheld,
            "malformed": self.malformed,
            "reasons": {reason.value: count for reason, count in self.by_frequency()},
        }

    def by_frequency(self) -> list[tuple[Reason, int]]:
        """Give reasons and counts, the most frequent first, in order of precedence where equal."""
        found = [(reason, self.reasons[reason.value]) for reason in Reason]
        return sorted((each for each in found if each[1]), key=lambda each: -each[1])

    def add(self, later: "Tally") -> None:
        """Add what was counted of later lines."""
        self.eligible += later.eligible
        self.partly += later.partly
        self.withheld += later.withheld
        self.malformed += later.malformed
        if self.first_malformed is None:
            self.first_malformed = later.first_malformed
        self.reasons.update(later.reasons)


class Judge:
    """Judges lines over one schema."""

    def __init__(self, schema: Schema, recorder: "Recorder | None" = None) -> None:
        """Take the tables.

        Args:
            schema: the pinned tables.
            recorder: asks the engine; None where the text alone is read.
        """
        self._schema = schema
        self._recorder = recorder

    def judged(self, data: bytes, first: int) -> tuple[bytes, Tally]:
        """Judge whole lines.

        Args:
            data: the lines, of which one that is longer than `LINE_BYTES_MAX` may be cut there.
            first: the number of the first line.

        Returns:
            A line for each that is not blank, and what was counted.

        Raises:
            PreviewError: the recorder fails, whatever the statement.
        """
        made, tally = bytearray(), Tally()
        for number, line in enumerate(data.split(b"\n"), start=first):
            if len(line) <= LINE_BYTES_MAX and not line.strip(b" \t\r"):
                continue
            try:
                statement, beside = parsed(line)
            except EvidenceError as error:
                tally.count_malformed(number)
                made += json_bytes({"line": number, "error": str(error)})
                continue
            verdicts = self._verdicts(statement)
            tally.count(verdicts)
            told = json_bytes(verdicts.model_dump(mode="json"))
            made += b'{"line": %d%b, "verdicts": %b}\n' % (number, beside, told[:-1])
        return bytes(made), tally

    def _verdicts(self, statement: str) -> Verdicts:
        alone = classify(statement, self._schema)
        if self._recorder is None or not alone.any_eligible:
            return alone
        from preview.checking import decided

        return decided(statement, self._schema, self._recorder).verdicts


# --- a line in ----------------------------------------------------------------------------------


def parsed(line: bytes) -> tuple[str, bytes]:
    """Read one line: a JSON string, or an object with `statement` and optionally `id`.

    Args:
        line: of any length and form.

    Returns:
        The statement, and its id as it stands in the line out; empty where it has none.

    Raises:
        EvidenceError: it is of another form (L2).
    """
    if len(line) > LINE_BYTES_MAX:
        raise EvidenceError("", f"this is larger than {LINE_BYTES_MAX:,} bytes")
    tree = _tree(line)
    if type(tree) is str:
        return tree, b""
    if not isinstance(tree, dict):
        raise EvidenceError("", "this is neither a string nor an object")
    if "statement" not in tree:
        raise EvidenceError("/statement", "this field is missing")
    if not _FIELDS.issuperset(tree):
        raise EvidenceError("", "there is an unknown field")
    statement = tree["statement"]
    if type(statement) is not str:
        raise EvidenceError("/statement", "this is not a string")
    return statement, _beside(tree["id"]) if "id" in tree else b""


def _beside(given: Any) -> bytes:
    if isinstance(given, _Number):
        return b', "id": ' + given.encode()
    if given is None or isinstance(given, str | bool):
        return b', "id": ' + json_bytes(given)[:-1]
    raise EvidenceError("/id", "this is not a string, a number, true, false or null")


class _Number(str):
    """A number as it was written: none is rounded."""

    __slots__ = ()


def _tree(line: bytes) -> Any:
    try:
        return json.loads(
            line.decode(),
            object_pairs_hook=_members,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_no_constant,
        )
    except EvidenceError:
        raise
    except UnicodeDecodeError:
        raise EvidenceError("", "this is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise EvidenceError("", "this is not valid JSON") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise EvidenceError("", "a key is repeated")
    return members


def _no_constant(_: str) -> None:
    raise EvidenceError("", "NaN and Infinity are not JSON")

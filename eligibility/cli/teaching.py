"""Each reason with its smallest example, and the edit that would mend it (specification 8).

The examples are corpus cases; `python -m tests.tools.pages` writes them into `examples.json`, so
that the installed program has them.
"""

import json
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from eligibility.cli.trouble import Trouble, usage
from eligibility.reasons import Reason

EXAMPLES = "examples.json"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is told of one reason.

    Attributes:
        reason: the code and its sentence.
        example: a corpus case that meets it, as `examples.json` has it; None where no statement
            alone can.
    """

    reason: Reason
    example: dict[str, Any] | None

    def document(self) -> dict[str, Any]:
        """Give it as plain JSON values."""
        return {
            "code": self.reason.value,
            "sentence": self.reason.sentence,
            "example": self.example,
        }


def listed() -> dict[str, Any]:
    """Give every code with its sentence, in order of precedence, as plain JSON values."""
    return {"reasons": [{"code": r.value, "sentence": r.sentence} for r in Reason]}


def lesson(code: str) -> Lesson:
    """Find what is told of a reason.

    Args:
        code: its code, in any case.

    Returns:
        The lesson.

    Raises:
        Trouble: there is no such code.
    """
    known = {reason.value: reason for reason in Reason}
    reason = known.get(code.lower())
    if reason is None:
        raise _unknown(code, list(known))
    return Lesson(reason, examples().get(reason.value))


def _unknown(code: str, known: list[str]) -> Trouble:
    close = get_close_matches(code.lower(), known, n=3, cutoff=0.5)
    close += [one for one in known if code and code.lower() in one and one not in close][:3]
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    return usage(f"there is no reason {code}{meant}")


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Read the examples by code."""
    text = (files("eligibility.cli") / EXAMPLES).read_text("utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found

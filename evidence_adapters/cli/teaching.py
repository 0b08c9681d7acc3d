"""The verb `reasons`: what a code means, or the codes that are near (specification 8)."""

from difflib import get_close_matches
from typing import Any

from eligibility.explaining.lessons import Explanation, explain
from eligibility.reasons import Reason
from evidence_adapters.cli.trouble import Trouble, UsageError


def listed() -> dict[str, Any]:
    """Give every code with its sentence, in order of precedence, as plain JSON values."""
    return {"reasons": [{"code": r.value, "sentence": r.sentence} for r in Reason]}


def lesson(code: str) -> Explanation:
    """Find what is told of a reason.

    Args:
        code: its code, in any case.

    Returns:
        The explanation.

    Raises:
        Trouble: there is no such code.
    """
    known = {reason.value: reason for reason in Reason}
    reason = known.get(code.lower())
    if reason is None:
        raise _unknown(code, list(known))
    return explain(reason)


def _unknown(code: str, known: list[str]) -> Trouble:
    close = get_close_matches(code.lower(), known, n=3, cutoff=0.5)
    close += [one for one in known if code and code.lower() in one and one not in close][:3]
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    return UsageError(f"there is no reason {code}{meant}")

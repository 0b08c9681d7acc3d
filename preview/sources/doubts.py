"""What a doubt says to a person: counts, lines and an option, never a cell (contract 4.1)."""

from typing import assert_never

from eligibility.manifest import Doubt


def in_words(doubt: Doubt) -> str:
    """Say what looks like more than it was read as, and what settles it.

    Args:
        doubt: as it stands in the manifest.

    Returns:
        One sentence, without a full stop.
    """
    where = f"column {doubt.column}: " if doubt.column is not None else ""
    counted = f"{doubt.values:,} of {doubt.of:,} values"
    lines = ", ".join(map(str, doubt.lines))
    at = f" (see line {lines})" if len(doubt.lines) == 1 else f" (see lines {lines})"
    at = at if doubt.lines else ""
    match doubt.code:
        case "mostly-typed":
            said = f"it is text, though {counted} are {doubt.type}{at}"
        case "one-text-for-null":
            said = f"it is text, though {counted} are {doubt.type}, and one text is the rest{at}"
        case "other-format":
            said = f"it is text, though {counted} are {doubt.type} in another format"
        case "several-offsets":
            said = f"it is text, since its {counted} have more than one offset from UTC{at}"
        case "folder-names":
            said = "the names of its folders look like columns"
        case _:
            assert_never(doubt.code)
    return f"{where}{said}" + (f"; settle it by {doubt.option}" if doubt.option else "")

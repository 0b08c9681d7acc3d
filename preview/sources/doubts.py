"""What a doubt says to a person: counts, lines and an option, never a cell (specification 4.1)."""

from typing import assert_never

from eligibility.sql.manifest import Doubt


def in_words(doubt: Doubt) -> str:
    """Say what looks like more than it was read as, and what settles it.

    Args:
        doubt: as it stands in the manifest.

    Returns:
        One sentence, without a full stop.
    """
    return said(doubt) + (f"; settle it by {doubt.option}" if doubt.option else "")


def said(doubt: Doubt) -> str:
    """Say what looks like more than it was read as.

    Args:
        doubt: as it stands in the manifest.

    Returns:
        One sentence, without a full stop, and without the option.
    """
    where = f"column {doubt.column}: " if doubt.column is not None else ""
    all_of = "its only value looks" if doubt.of == 1 else f"all {doubt.of:,} values look"
    counted = f"{doubt.values:,} of {doubt.of:,} values look"
    like = f"{all_of if doubt.values == doubt.of else counted} like {doubt.type}"
    match doubt.code:
        case "mostly-typed":
            return f"{where}it is text, though {like}{_but(doubt, 'not so')}"
        case "one-text-for-null":
            return f"{where}it is text, though {like}{_but(doubt, 'all others are one text, as')}"
        case "other-format":
            return f"{where}it is text, though {like} in another format"
        case "several-offsets":
            return f"{where}it is text, though {like}: more than one offset from UTC{_at(doubt)}"
        case "folder-names":
            return f"{where}the names of its folders look like columns"
        case _:
            assert_never(doubt.code)


def _but(doubt: Doubt, what: str) -> str:
    return f" ({what}{_at(doubt)})" if doubt.lines else ""


def _at(doubt: Doubt) -> str:
    if not doubt.lines:
        return ""
    lines = ", ".join(f"{line:,}" for line in doubt.lines)
    return f" in line {lines}" if len(doubt.lines) == 1 else f" in lines {lines}"

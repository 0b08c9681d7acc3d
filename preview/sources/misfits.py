"""Why a delimiter does not fit a text: in which line, and what to say of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a delimiter does not fit: in which line, the fields of a record until then, what it is."""

    line: int
    width: int
    said: str
    quote: bool = False


def counted(number: int) -> str:
    """Say how many fields."""
    return "1 field" if number == 1 else f"{number:,} fields"


def ragged(line: int, count: int, width: int) -> Fault:
    """Say that a record has another number of fields than the first."""
    said = f"line {line:,} has {counted(count)}, and the first record has {counted(width)}"
    return Fault(line, width, said)


def misplaced(line: int, width: int) -> Fault:
    """Say that a quote is text."""
    said = f"in line {line:,} a quote neither opens nor closes a field"
    return Fault(line, width, said, quote=True)


def malformed(line: int, width: int) -> Fault:
    """Say that more text follows a closing quote."""
    return Fault(line, width, f"in line {line:,} more text follows the quote that closes a field")


def unclosed(line: int, width: int) -> Fault:
    """Say that an opening quote is never closed."""
    return Fault(line, width, f"the quote that opens a field in line {line:,} is never closed")

"""Faults put into the readers on purpose: the generator makes a file that shows each, the judge sees it.

python -m tools.files.seeded
"""

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

from preview.sources import block, classes, delimited, shapes, structure, texts
from tools.files import campaign
from tools.files.door import Door
from tools.files.generator import Writer

SEED = 7
FILES_MAX = 5_000
STEP = 50


def search(door: Door, count: int, tally: campaign.Tally, first: int = 0) -> None:
    """Feed so many files of the seed."""
    campaign.run(door, campaign.numbered(Writer(SEED), count, None, first), tally)


def null_for_empty(parsed):
    """A quoted empty field becomes NULL."""

    def wrong(self, data, places, null):
        made = parsed(self, data, places, null)
        return [pc.if_else(pc.equal(one, ""), pa.scalar(None, pa.string()), one) for one in made]

    return wrong


def zeros_lost(normal):
    """Leading zeros are no part of a text."""

    def wrong(self, chunk, data, places):
        made = normal(self, chunk, data, places)
        columns = [pc.replace_substring_regex(one, "^0+([0-9])", "\\1") for one in made.columns]
        return pa.RecordBatch.from_arrays(columns, names=made.schema.names)

    return wrong


def spaces_lost(normal):
    """Blanks around a text are dropped."""

    def wrong(self, chunk, data, places):
        made = normal(self, chunk, data, places)
        columns = [pc.utf8_trim(one, " ") for one in made.columns]
        return pa.RecordBatch.from_arrays(columns, names=made.schema.names)

    return wrong


def marks_lost(_):
    """What looks like a byte order mark at the start of a chunk is dropped."""
    return b"no such bytes at all"


def any_type_found(found):
    """Half of the values decide the type, and the others are NULL."""

    def wrong(self, inexact_double):
        made = found(self, inexact_double)
        return shapes.Found("VARCHAR") if made.type == "BOOLEAN" else made

    return wrong


def wrong_boolean(_):
    return {**classes.OTHERS, "boolean": "(?i:true|false|yes|no)"}


def blind_to_shared_doubles(_):
    """Two numerals of one double are not noticed."""
    return lambda self, place, marks: False


def header_never_doubted(_):
    """A first record that could be data is taken for names."""
    return lambda *given: None


def quotes_never_misplaced(_):
    """A quote that is text is counted as one that opens or closes."""
    return lambda self, mark: None


def latin(_):
    """A byte that is not of the encoding is read as another character."""
    return lambda self, region, offset: None


SEEDED: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "the empty text is NULL": (delimited._Rows, "_parsed", null_for_empty),
    "leading zeros are lost": (delimited._Rows, "_batch", zeros_lost),
    "blanks are lost": (delimited._Rows, "_batch", spaces_lost),
    "marks are lost": (delimited, "_MARK", marks_lost),
    "booleans are not found": (shapes.Finder, "found", any_type_found),
    "yes is a boolean": (shapes, "OTHERS", wrong_boolean),
    "doubles are shared": (texts.Texts, "_share_doubles", blind_to_shared_doubles),
    "a header is never doubted": (delimited, "_check_header", header_never_doubted),
    "quotes are counted blindly": (block.Block, "_misplaced", quotes_never_misplaced),
    "bytes are not checked": (structure._Scanner, "_check", latin),
}


def found_after(what: str, door: Door) -> int | None:
    """Give how many files it takes to find a seeded fault; None where it is not found."""
    where, name, make = SEEDED[what]
    tally = campaign.Tally()
    with patch.object(where, name, make(getattr(where, name))):
        for first in range(0, FILES_MAX, STEP):
            search(door, STEP, tally, first)
            if tally.faults:
                return tally.files
    return None


def main() -> int:
    """Seek all of them; 0 where each is found."""
    missed = 0
    with Door() as door:
        for what in SEEDED:
            after = found_after(what, door)
            missed += after is None
            sys.stdout.write(
                f"{what}: {'not found' if after is None else f'after {after} files'}\n"
            )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())

"""The table of characters that the decision goes by: `eligibility/wire/characters.py`.

    pip install unicodedata2==16.0.0
    python -m tools.characters  writes it anew

It is written from one version of Unicode and kept in the package, because an interpreter brings
its own: what Python 3.13 would show, Python 3.11 would escape, and one of them would call an honest
bundle false. Another version of the table is another `VERSION`, which every observation records.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

VERSION = "16.0.0"
TABLE = Path(__file__).resolve().parents[1] / "eligibility" / "wire" / "characters.py"

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, as inclusive ranges; the same from
# Unicode 14.0 to 16.0. The databases that Python has lack the property.
DEFAULT_IGNORABLE: tuple[tuple[int, int], ...] = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)

_PAGE = '''"""Which characters are shown, are words, and run from right to left, in Unicode {version}.

Written by `python -m tools.characters`; not by hand, and not at run time. Each table lists,
in order, the code points at which its property begins and ends by turns: a character has it where
an odd number of them are not above it.
"""

VERSION = "{version}"

# fmt: off
{tables}
# fmt: on
'''


def is_shown(category: str, code: int) -> bool:
    """Say whether a character is shown as it is (U1 of `eligibility.wire.escape`)."""
    return (category[0] in "LMPS" or category == "Nd") and not any(
        first <= code <= last for first, last in DEFAULT_IGNORABLE
    )


def is_word(category: str) -> bool:
    """Say whether a character may stand in a name without quotes (specification 3)."""
    return category[0] in "LM" or category == "Nd"


def edges(has: Callable[[int], bool]) -> list[int]:
    """Give the code points at which a property begins and ends by turns."""
    found, before = [], False
    for code in range(sys.maxunicode + 1):
        if has(code) != before:
            found.append(code)
            before = not before
    return found + [sys.maxunicode + 1] * before


def page(database: Any) -> str:
    """Write the module.

    Args:
        database: a module with the functions of `unicodedata`.

    Returns:
        Python.
    """

    def category(code: int) -> str:
        return str(database.category(chr(code)))

    tables = {
        "SHOWN": edges(lambda code: is_shown(category(code), code)),
        "WORD": edges(lambda code: is_word(category(code))),
        "RIGHT_TO_LEFT": edges(lambda code: database.bidirectional(chr(code)) in ("R", "AL", "AN")),
    }
    return _PAGE.format(
        version=database.unidata_version,
        tables="\n".join(f"{name} = (\n{lines(numbers)}\n)" for name, numbers in tables.items()),
    )


def lines(numbers: list[int]) -> str:
    """Write numbers in lines of at most 100 characters."""
    full, line = [], "   "
    for number in numbers:
        written = f" {number},"
        if len(line + written) > 100:
            full.append(line)
            line = "   "
        line += written
    return "\n".join([*full, line])


def main() -> None:
    """Write the table, where there is a database of its version."""
    database = import_module("unicodedata2" if find_spec("unicodedata2") else "unicodedata")
    if database.unidata_version != VERSION:
        sys.exit(f"this has Unicode {database.unidata_version}: install unicodedata2=={VERSION}")
    TABLE.write_text(page(database))


if __name__ == "__main__":
    main()

"""Which characters are shown as they are, in exact text literals and in lines (contract 2, 7).

Invariants
  U1  A character is shown where Unicode gives it category L, M, Nd, P or S and it is not a
      default-ignorable code point; the plain space is judged by its place, never here.
  U2  No control, format, private, unassigned or surrogate character is ever shown.
"""

import re
import unicodedata
from functools import lru_cache

EXACT_TEXT_MAX = 64
# Which table of shown characters decided; an observation records it.
CHARACTERS_VERSION = "16.0.0"

# Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt, version 14.0, as
# inclusive ranges; `unicodedata` does not have the property.
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

_ASCII_EXACT = re.compile(r"[ -~]*")
_BEYOND_ASCII = re.compile(r"[^ -~]")


@lru_cache(maxsize=8192)
def is_shown(character: str) -> bool:
    """Say whether a character is shown as it is (U1).

    Args:
        character: exactly one code point.

    Returns:
        True for category L, M, Nd, P or S unless default-ignorable; false for every space.
    """
    category = unicodedata.category(character)
    if category[0] not in "LMPS" and category != "Nd":
        return False
    code = ord(character)
    return not any(first <= code <= last for first, last in DEFAULT_IGNORABLE)


def exact_text(text: str) -> bool:
    """Say whether a text literal denotes exactly one text to a reader (contract 2, WHERE).

    Args:
        text: the literal's value.

    Returns:
        True for at most 64 code points, each shown (U1) or a plain space that does not follow
        another.
    """
    if len(text) > EXACT_TEXT_MAX or "  " in text:
        return False
    if _ASCII_EXACT.fullmatch(text):
        return True
    return all(map(is_shown, _BEYOND_ASCII.findall(text)))

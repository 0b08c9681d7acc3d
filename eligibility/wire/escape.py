"""Which characters are shown as they are, in exact text literals and in lines (specification 2, 7).

Invariants
  U1  A character is shown where Unicode gives it category L, M, Nd, P or S and it is not a
      default-ignorable code point; the plain space is judged by its place, never here.
  U2  No control, format, private, unassigned or surrogate character is ever shown.
  U3  What a character is, `eligibility.wire.characters` says, never the interpreter, whose table is that
      of its release: every decision and every line are the same under each of them.
"""

from bisect import bisect_right
from functools import lru_cache

from eligibility.wire import characters

# Which table of characters decided; an observation records it.
CHARACTERS_VERSION = characters.VERSION


@lru_cache(maxsize=8192)
def is_shown(character: str) -> bool:
    """Say whether a character is shown as it is (U1).

    Args:
        character: exactly one code point.

    Returns:
        True for category L, M, Nd, P or S unless default-ignorable; false for every space.
    """
    return _has(characters.SHOWN, character)


def is_word(character: str) -> bool:
    """Say whether a character beyond ASCII may stand in a name without quotes (specification 3).

    Args:
        character: exactly one code point.

    Returns:
        True for category L, M or Nd.
    """
    return _has(characters.WORD, character)


def runs_back(character: str) -> bool:
    """Say whether a character is written from right to left."""
    return _has(characters.RIGHT_TO_LEFT, character)


def _has(edges: tuple[int, ...], character: str) -> bool:
    return bisect_right(edges, ord(character)) % 2 == 1

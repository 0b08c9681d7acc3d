"""The table of characters: that of one Unicode version, whatever the interpreter has."""

import re
import unicodedata
from bisect import bisect_right

import pytest

from eligibility import classify
from eligibility.reasons import Reason
from eligibility.sql.limits import problems
from eligibility.sql.literal import exact_text
from eligibility.sql.schema import Schema
from eligibility.wire import characters as table
from eligibility.wire.escape import CHARACTERS_VERSION, is_shown, is_word
from evidence_adapters.cli.visible import runs_back, visible
from tools import characters

# Characters that Unicode 15.0, 15.1 and 16.0 brought: Python 3.11 knows none of them, 3.13 not all.
LATER = {"15.0": "\U00011f04\U0001fae8\u0cf3", "15.1": "\u2ffc\U0002ebf0", "16.0": "\u1c89\ua7da"}


def test_the_table_is_that_of_its_version():
    assert characters.VERSION == CHARACTERS_VERSION == "16.0.0"
    assert unicodedata.unidata_version <= CHARACTERS_VERSION, (
        "let the table be no older than Python's"
    )


def test_every_character_that_the_interpreter_knows_is_what_the_interpreter_says():
    seen = 0
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cn":
            continue
        seen += 1
        assert is_shown.__wrapped__(character) is characters.is_shown(category, code), hex(code)
        assert is_word(character) is characters.is_word(category), hex(code)
        back = unicodedata.bidirectional(character) in ("R", "AL", "AN")
        assert runs_back(character) is (back and code > 0x7F), hex(code)
    assert seen > 280_000


@pytest.mark.parametrize("version", LATER)
def test_what_a_later_unicode_brought_is_shown_whatever_the_interpreter_has(version):
    for character in LATER[version]:
        assert is_shown(character)
        assert exact_text(character)
        assert visible(character) == character


def test_what_no_unicode_has_is_never_shown():
    for character in "\u0378\U0001faff\U000323b0\U0003fffe\U0010ffff":
        assert not is_shown(character)
        assert not is_word(character)
        assert visible(character) == f"\\u{{{ord(character):X}}}"


def test_a_letter_of_a_later_unicode_is_a_letter_of_a_statement():
    """What the parser takes for a letter is that of its interpreter; here it makes no difference."""
    schema = Schema.of({"t": {"\ua7da\u1c89": "BIGINT", "a": "BIGINT", "z\U00011f04": "BIGINT"}})
    for statement, names in {
        "SELECT \ua7da\u1c89, a FROM t": ["\ua7da\u1c89", "a"],
        "SELECT a, z\U00011f04 FROM t ORDER BY z\U00011f04 + 1": ["a", "z\U00011f04"],
        "SELECT a FROM t ORDER BY \ua7da\u1c89+1, 1": ["a"],
    }.items():
        assert problems(statement) == ()
        outputs = classify(statement, schema).outputs
        assert [output.label.column for output in outputs if output.label] == names
    for statement in ("SELECT a \u2ffc FROM t", "SELECT \U0001fae8 FROM t", "SELECT \u0378 FROM t"):
        assert problems(statement) == (Reason.CHARACTER_UNREADABLE,)
    # A quote behind a letter of ASCII that no other such letter precedes.
    for before in ("\ua7da", "\u0378", "\u00e9", " "):
        assert Reason.QUOTING_UNREADABLE in problems(f"SELECT {before}E'x' FROM t")


@pytest.mark.parametrize("name", ["SHOWN", "WORD", "RIGHT_TO_LEFT"])
def test_the_table_has_the_form_that_the_tool_gives(name):
    """The tool itself wants a database of that version, which no interpreter has to have."""
    kept = getattr(table, name)

    def has(code: int) -> bool:
        return bisect_right(kept, code) % 2 == 1

    assert tuple(characters.edges(has)) == kept
    written = re.search(rf"(?s)^{name} = \((.*?)\)", characters.TABLE.read_text(), re.MULTILINE)
    assert written is not None
    assert written[1] == f"\n{characters.lines(list(kept))}\n"

"""What is seen in a statement's text before any parser sees it."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eligibility.reasons import Reason
from eligibility.sql import limits
from eligibility.sql.limits import BRACKETS_MAX, STATEMENT_BYTES_MAX, problems, refusal

READ = [
    "SELECT a FROM t",
    "",
    "  \t\r\n ; ",
    "SELECT 'it''s' FROM t",
    'SELECT "a""b" FROM t',
    "SELECT `a``b` FROM t",
    "SELECT ''",
    "SELECT '''' FROM t",
    "SELECT 'a' 'b' FROM t",
    "SELECT '\u200b\u2028 \x01' FROM t",
    'SELECT "\u200b" FROM t',
    "SELECT a -- \u200b '( [ `\nFROM t",
    "SELECT a /* \u200b '( /* [ */ ` */ FROM t",
    "SELECT a -- a comment at the end",
    "SELECT é, 変, a\u0301, \u0661x FROM t",
    "SELECT a AS Z FROM t WHERE x='y'",
    "SELECT $1 FROM t",
    "SELECT a$b FROM t",
    "SELECT a - -1 FROM t",
    "SELECT a / 2 * 3 FROM t",
    "SELECT {'a': 1} FROM t",
    "SELECT 5 'x' FROM t",
    "(" * BRACKETS_MAX + ")" * BRACKETS_MAX,
    "([{}])" * 100,
]
UNREADABLE = {
    Reason.QUOTING_UNREADABLE: [
        "SELECT 'a",
        'SELECT "a',
        "SELECT `a",
        "SELECT 'a''",
        "SELECT a /* b",
        "SELECT a /* /* */",
        "SELECT $$a$$",
        "SELECT $x$a$x$",
        "SELECT $é1$a$é1$",
        "SELECT E'a'",
        "SELECT e'a'",
        "SELECT X'00'",
        "SELECT b'1'",
        "SELECT n'a'",
        "SELECT q'a'",
        "SELECT U&'a'",
        'SELECT u&"a"',
        "SELECT a,E'a'",
        "SELECT {# a #} a",
        "SELECT {% a %} a",
    ],
    Reason.CHARACTER_UNREADABLE: [
        f"SELECT a{character}FROM t"
        for character in "\x00\x01\x0b\x0c\x1c\x1f\x7f\x85\xa0\xad\u1680\u180e\u2000\u200b\u200c\u200d"
        "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\uffff\u20ac\u00b2\u00bd\u2160\U0001f600"
        if character != "\x00"
    ],
}
REFUSED = {
    Reason.BRACKETS_UNBALANCED: ["(", ")", "(]", "([)]", ")(", "SELECT (a FROM t", "{(}", "('("],
    Reason.BRACKETS_TOO_DEEP: ["(" * 51 + ")" * 51, "[({" * 17 + "})]" * 17],
    Reason.NOT_TEXT: ["SELECT '\0'", "\0", "SELECT '\ud800'", "\udfff"],
    Reason.STATEMENT_TOO_LONG: [
        "x" * (STATEMENT_BYTES_MAX + 1),
        "é" * (STATEMENT_BYTES_MAX // 2 + 1),
    ],
}


@pytest.mark.parametrize("text", READ)
def test_is_read(text):
    assert problems(text) == ()
    assert refusal(text) is None


@pytest.mark.parametrize(
    ("reason", "text"), [(reason, text) for reason, texts in UNREADABLE.items() for text in texts]
)
def test_is_unreadable_and_runs(reason, text):
    assert problems(text) == (reason,)
    assert refusal(text) is None


@pytest.mark.parametrize(
    ("reason", "text"), [(reason, text) for reason, texts in REFUSED.items() for text in texts]
)
def test_is_refused(reason, text):
    assert problems(text) == (reason,)
    assert refusal(text) is reason


def test_the_limit_is_in_bytes():
    for most in ("x" * STATEMENT_BYTES_MAX, "é" * (STATEMENT_BYTES_MAX // 2)):
        assert problems(most) == ()
        assert problems(most + "x") == (Reason.STATEMENT_TOO_LONG,)


def test_length_is_looked_at_before_anything_else():
    assert problems("\0(" * STATEMENT_BYTES_MAX) == (Reason.STATEMENT_TOO_LONG,)
    assert problems("\ud800" * STATEMENT_BYTES_MAX + "x") == (Reason.STATEMENT_TOO_LONG,)


def test_where_the_quoting_is_unreadable_every_bracket_counts():
    # A bracket in the dollar quotes is not known to be in quotes.
    assert refusal("SELECT $$)$$") is Reason.BRACKETS_UNBALANCED
    assert refusal("SELECT ')'") is None
    assert refusal("SELECT E'('") is Reason.BRACKETS_UNBALANCED
    assert refusal("SELECT /* (") is Reason.BRACKETS_UNBALANCED


def test_an_odd_character_hides_no_bracket():
    assert problems("SELECT \u200b(") == (Reason.BRACKETS_UNBALANCED,)


def test_only_characters_that_both_tokenizers_read_alike_pass_outside_quotes():
    for code in (*range(0x3400), *range(0x3400, sys.maxunicode + 1, 37)):
        character = chr(code)
        if character in "\t\n\r" or " " <= character <= "~" or "\ud800" <= character <= "\udfff":
            continue
        category = unicodedata.category(character)
        if category == "Cn":
            continue  # the table of the package may know it, and not this interpreter
        letter = category[0] in "LM" or category == "Nd"
        assert bool(problems(f"a{character}b")) is not letter, hex(code)


@given(st.text())
def test_total(text):
    found = problems(text)
    assert len(found) <= 1
    assert set(found) <= {*UNREADABLE, *REFUSED}
    refused = refusal(text)
    assert refused is None or found == (refused,)


@given(st.text(alphabet="ab'\"`()[]{}-/*$#%E&;\n \0\u200b\ud800", max_size=60))
def test_total_on_text_made_of_quotes(text):
    found = problems(text)
    assert len(found) <= 1
    refused = refusal(text)
    assert refused is None or found == (refused,)
    # What is in quotes changes nothing, if it holds no quote.
    if not found and "'" not in text:
        assert problems(f"'{text}'") == ()


def test_long_text_is_scanned_in_time():
    for part in ("(", "'", "''", "/*", "--", "$a", "\u200b", "E'", "{#", "a''", "/**/"):
        text = part * (STATEMENT_BYTES_MAX // len(part.encode()))
        assert len(problems(text)) <= 1


PARTS = [*"abc_ 1,.()'\"`$-/*#%{}[]&\\\n\t\0é", "''", "--", "/*", "*/", "E'", " '", "()", "U&'"]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
@example("SELECT SUM(a) FROM t WHERE b IN ('x', 'é')")
@example("a'b'")
@example("a '''b'")
@example("((a))")
def test_the_short_way_passes_nothing_that_the_long_way_does_not(text):
    if limits._EASY.fullmatch(text):
        brackets, unreadable = limits._scan(text)
        assert (limits._bracket_problem(brackets), unreadable) == (None, None)


def test_the_short_way_is_taken():
    for text in ("SELECT a, SUM(b) FROM t WHERE c = 'é' GROUP BY a", "SELECT COUNT(*)\nFROM t"):
        assert limits._EASY.fullmatch(text)
    for text in ("a'b'", "'a''b'", "((a))", "a - b", "a /* b */", '"a"', "a[1]", "é", "$$a$$"):
        assert not limits._EASY.fullmatch(text)

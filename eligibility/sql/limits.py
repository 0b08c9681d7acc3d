"""Text → checked text: every limit on a statement's text (specification 3 and 10).

Invariants
  T1  Nothing here parses SQL; the only structure seen is quotes, comments and brackets.
  T2  A statement that passes holds, outside quotes and comments, only characters that both
      tokenizers read alike, and only quotes that both read alike.
  T3  `refusal` asks for less than `problems`: what is merely hard to read still runs.
"""

import re

from eligibility.reasons import Reason
from eligibility.wire.escape import is_word

STATEMENT_BYTES_MAX = 16 * 1024
BRACKETS_MAX = 50

_SPECIAL = re.compile(
    r"""
    '[^']*(?:''[^']*)*+'      # text
  | "[^"]*(?:""[^"]*)*+"      # identifier
  | `[^`]*(?:``[^`]*)*+`      # identifier
  | --[^\n\r]*                # comment to the end of the line
  | /\*                       # comment that nests
  | \{[#%]                    # a template's marks, which one tokenizer drops
  | [()\[\]{}'"`$]            # brackets, quotes that do not close, dollar quotes
  | [^\t\n\r\x20-\x7e]        # characters to look at
    """,
    re.VERBOSE,
)
# Most statements match this and need no scan: plain characters, brackets that do not nest, and text
# in single quotes that holds no quote itself and does not follow a letter. Every character in these
# sets also passes `_SPECIAL`. Only the letters of ASCII count as letters, here and below: which other
# characters are letters depends on the interpreter's release.
_EASY_PART = r"[\t\n\r !#%&*+,.:;<=>?@0-9A-Z\\^_a-z|~]++|(?<![0-9A-Za-z_$&])'[^']*+'(?!')"
_EASY = re.compile(rf"(?:{_EASY_PART}|\((?:{_EASY_PART})*+\))*+")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_BRACKET = re.compile(r"[()\[\]{}]")
_DOLLAR_QUOTE = re.compile(r"\$(?:[A-Za-z_\x80-\U0010ffff][0-9A-Za-z_\x80-\U0010ffff]*)?\$")
# A letter right before a quote makes another kind of string: E'…', X'…', B'…', N'…', U&'…'.
_PREFIX = re.compile(r"(?:(?<![0-9A-Za-z_$])[A-Za-z]|[Uu]&)\Z")
_CLOSES = {")": "(", "]": "[", "}": "{"}


def problems(statement: str) -> tuple[Reason, ...]:
    """Say why a statement cannot be read, before any parser sees it.

    Args:
        statement: the text as it was written.

    Returns:
        One reason, the first in precedence, or none.
    """
    refused, unreadable = _examine(statement)
    reason = refused or unreadable
    return () if reason is None else (reason,)


def refusal(statement: str) -> Reason | None:
    """Say why a statement is not even run (specification 10, first row).

    Args:
        statement: the text as it was written.

    Returns:
        The reason, or None where the statement may go to the engine.
    """
    return _examine(statement)[0]


def _examine(statement: str) -> tuple[Reason | None, Reason | None]:
    """Give why the statement is not run, and why it is not readable."""
    given: object = statement  # whatever the types say, callers may hold anything
    if not isinstance(given, str):
        return Reason.NOT_TEXT, None
    # A character is at least one byte: what is longer than the limit in characters is not encoded.
    if len(statement) > STATEMENT_BYTES_MAX:
        return Reason.STATEMENT_TOO_LONG, None
    try:
        size = len(statement.encode())
    except UnicodeEncodeError:
        return Reason.NOT_TEXT, None
    if size > STATEMENT_BYTES_MAX:
        return Reason.STATEMENT_TOO_LONG, None
    if "\0" in statement:
        return Reason.NOT_TEXT, None
    if _EASY.fullmatch(statement):
        return None, None
    brackets, unreadable = _scan(statement)
    if unreadable is Reason.QUOTING_UNREADABLE:
        brackets = _BRACKET.findall(statement)
    return _bracket_problem(brackets), unreadable


def _scan(statement: str) -> tuple[list[str], Reason | None]:
    """Give the brackets outside quotes and comments, and why the text is not readable, if so."""
    brackets: list[str] = []
    odd: Reason | None = None
    at = 0
    while (match := _SPECIAL.search(statement, at)) is not None:
        found, at = match[0], match.end()
        first = found[0]
        if first in "()[]{}" and len(found) == 1:
            brackets.append(found)
        elif found == "/*":
            end = _comment_end(statement, at)
            if end is None:
                return brackets, Reason.QUOTING_UNREADABLE
            at = end
        elif first in "'\"`":
            if len(found) == 1 or _PREFIX.search(
                statement[max(0, match.start() - 3) : match.start()]
            ):
                return brackets, Reason.QUOTING_UNREADABLE
        elif first == "$":
            if _DOLLAR_QUOTE.match(statement, match.start()):
                return brackets, Reason.QUOTING_UNREADABLE
        elif first == "{":
            return brackets, Reason.QUOTING_UNREADABLE
        elif first != "-" and not is_word(first):
            odd = Reason.CHARACTER_UNREADABLE
    return brackets, odd


def _comment_end(statement: str, at: int) -> int | None:
    """Find where the nesting comment that opened before `at` ends; None where it never does."""
    depth = 1
    while (edge := _COMMENT_EDGE.search(statement, at)) is not None:
        at = edge.end()
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return at
    return None


def _bracket_problem(brackets: list[str]) -> Reason | None:
    opened: list[str] = []
    deepest = 0
    for bracket in brackets:
        if bracket not in _CLOSES:
            opened.append(bracket)
            deepest = max(deepest, len(opened))
        elif not opened or opened.pop() != _CLOSES[bracket]:
            return Reason.BRACKETS_UNBALANCED
    if opened:
        return Reason.BRACKETS_UNBALANCED
    return Reason.BRACKETS_TOO_DEEP if deepest > BRACKETS_MAX else None

"""Where things stand in a statement's text: tokens, select items, clauses.

It serves marks and edits, never a verdict: what is found here is only ever shown, or tried out with
`classify`.

Invariants
  Y1  Total: any text has a layout; what cannot be told apart is left out.
  Y2  A span is a half-open pair of positions in the text as it was written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+ | --[^\n\r]*)
  | (?P<comment>/\*)
  | (?P<text>'[^']*(?:''[^']*)*+'?)
  | (?P<name>"[^"]*(?:""[^"]*)*+"? | `[^`]*(?:``[^`]*)*+`?)
  | (?P<number>(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<sign>::|<=|>=|<>|!=|==|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")

# The words that begin a clause where they stand outside brackets.
_CLAUSES = frozenset(
    """SELECT FROM WHERE GROUP HAVING QUALIFY WINDOW ORDER LIMIT OFFSET FETCH USING UNION INTERSECT
    EXCEPT WITH""".split()
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `depth` is the number of brackets open around it."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        """The keyword it may be, in upper case; empty for a name in quotes, a text, a sign."""
        return self.text.upper() if self.kind == "word" else ""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the text: positions, and the tokens in it."""

    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        """Position of the first character."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Position behind the last character."""
        return self.tokens[-1].end


@dataclass(frozen=True, slots=True)
class Layout:
    """A statement taken apart.

    Attributes:
        text: the statement.
        tokens: all of them, comments left out; one that never closes is the last.
        items: the members of the select list, the alias included.
        clauses: the first clause of each word, the word itself included.
    """

    text: str
    tokens: tuple[Token, ...]
    items: tuple[Span, ...] = ()
    clauses: dict[str, Span] = field(default_factory=dict)

    def body(self, word: str) -> tuple[Token, ...]:
        """Give the tokens of a clause behind its words (`WHERE`, `GROUP BY`); none if it is not there."""
        span = self.clauses.get(word)
        if span is None:
            return ()
        words = 2 if [t.word for t in span.tokens[1:2]] == ["BY"] else 1
        return span.tokens[words:]

    def written(self, tokens: tuple[Token, ...]) -> str:
        """Give the text of some tokens that stand side by side."""
        return self.text[tokens[0].start : tokens[-1].end] if tokens else ""


def lay_out(statement: str) -> Layout:
    """Take a statement apart.

    Args:
        statement: any text.

    Returns:
        Its layout.
    """
    tokens = tuple(_tokens(statement))
    ends = [i for i, token in enumerate(tokens) if token.text == ";" and token.depth == 0]
    first = tokens[: ends[0]] if ends else tokens
    clauses = _clauses(first)
    listed = clauses["SELECT"].tokens[1:] if "SELECT" in clauses else ()
    return Layout(statement, tokens, tuple(split(_behind_distinct(listed), ",")), clauses)


def _tokens(statement: str) -> Iterator[Token]:
    at = depth = 0
    while (match := _TOKEN.match(statement, at)) is not None:
        kind, text, at = match.lastgroup or "", match[0], match.end()
        if kind == "comment":
            end = _comment_end(statement, at)
            if end is None:  # it never closes: what is wrong has to be somewhere
                yield Token(kind, statement[match.start() :], match.start(), len(statement), depth)
                return
            at = end
        elif kind != "blank":
            if text in _CLOSES:
                depth = max(0, depth - 1)
            yield Token(kind, text, match.start(), at, depth)
            if text in _OPENS:
                depth += 1


def _comment_end(statement: str, at: int) -> int | None:
    depth = 1
    while depth and (edge := _COMMENT_EDGE.search(statement, at)) is not None:
        at = edge.end()
        depth += 1 if edge[0] == "/*" else -1
    return None if depth else at


def _clauses(tokens: tuple[Token, ...]) -> dict[str, Span]:
    starts = [i for i, token in enumerate(tokens) if token.depth == 0 and _begins(tokens, i)]
    found: dict[str, Span] = {}
    for start, end in zip(starts, [*starts, len(tokens)][1:], strict=True):
        found.setdefault(tokens[start].word, Span(tokens[start:end]))
    return found


def _begins(tokens: tuple[Token, ...], at: int) -> bool:
    """Say whether a clause begins at a token that stands outside brackets."""
    word = tokens[at].word
    before = tokens[at - 1] if at else None
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if word not in _CLAUSES or (before is not None and before.text == "."):
        return False
    if word == "FROM":  # a IS DISTINCT FROM b
        words = [token.word for token in tokens[max(0, at - 3) : at]]
        return words[-2:] not in (["IS", "DISTINCT"], ["NOT", "DISTINCT"])
    if word in ("GROUP", "ORDER"):
        return after is not None and after.word == "BY"
    if word == "USING":  # USING SAMPLE, not that of a join
        return after is not None and after.word == "SAMPLE"
    if word == "EXCEPT":  # * EXCEPT (a)
        return before is None or before.text != "*"
    return True


def _behind_distinct(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Leave out `DISTINCT`, `DISTINCT ON (…)` and `ALL` at the head of a select list."""
    words = [token.word for token in tokens[:2]]
    if words[:1] == ["ALL"]:
        return tokens[1:]
    if words[:1] != ["DISTINCT"]:
        return tokens
    if words[1:] != ["ON"]:
        return tokens[1:]
    closed = (i for i, t in enumerate(tokens) if i > 2 and t.depth == 0 and t.text == ")")
    return tokens[next(closed, len(tokens) - 1) + 1 :]


def split(tokens: tuple[Token, ...], *at: str) -> Iterator[Span]:
    """Cut tokens at signs or words that stand outside their brackets.

    Args:
        tokens: side by side.
        *at: the signs, or words in upper case. An AND that belongs to a BETWEEN cuts nothing.

    Yields:
        The parts between, empty ones left out.
    """
    if not tokens:
        return
    depth = min(token.depth for token in tokens)
    begun, between = 0, False
    for i, token in enumerate(tokens):
        if token.depth != depth:
            continue
        if token.word == "BETWEEN":
            between = True
        elif token.text in at or (token.word and token.word in at):
            if between and token.word == "AND":
                between = False
                continue
            if tokens[begun:i]:
                yield Span(tokens[begun:i])
            begun = i + 1
    if tokens[begun:]:
        yield Span(tokens[begun:])


def unaliased(item: Span) -> tuple[Token, ...]:
    """Give the tokens of a select item without its alias, however that is written.

    Args:
        item: a member of a select list.

    Returns:
        At least one token.
    """
    tokens = item.tokens
    depth = tokens[0].depth
    if len(tokens) > 2 and tokens[1].text == ":" and tokens[0].kind in ("word", "name"):
        return tokens[2:]
    if len(tokens) > 2 and tokens[-2].word == "AS" and tokens[-2].depth == depth:
        return tokens[:-2]
    last = tokens[-1]
    if len(tokens) > 1 and last.kind in ("word", "name") and last.word != "END":
        return tokens[:-1] if ends_value(tokens[-2]) else tokens
    return tokens


# Words of an expression, behind which a name is no alias.
_INSIDE = frozenset(
    """AND OR NOT IS LIKE ILIKE GLOB IN BETWEEN COLLATE CASE WHEN THEN ELSE DISTINCT OVER FROM
    ESCAPE BY ON ASC DESC""".split()
)


def ends_value(token: Token) -> bool:
    """Say whether a value may end with a token, so that a name behind it is an alias."""
    if token.kind == "word":
        return token.word not in _INSIDE | _CLAUSES
    return token.kind in ("text", "name", "number") or token.text in _CLOSES


def name_of(token: Token) -> str:
    """Give the name that a word, or a name in quotes, stands for."""
    if token.kind != "name":
        return token.text
    quote = token.text[0]
    inner = token.text[1:-1] if token.text.endswith(quote) else token.text[1:]
    return inner.replace(quote * 2, quote)

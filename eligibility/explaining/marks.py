# ruff: noqa: S608 - statements that are classified, never executed
"""Which parts of a statement a verdict's reasons are about, and where they stand.

Where a part is at fault is found by trying it: an output, a group key or a condition is put into a
statement of its own and classified, so no rule is written twice.

Invariants
  M1  Total: any statement and any verdicts give marks, perhaps none.
  M2  A mark carries only a reason that the verdicts carry.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from eligibility.explaining.found import Mark
from eligibility.explaining.layout import Layout, Span, Token, ends_value, lay_out, split, unaliased
from eligibility.reasons import Reason, in_order
from eligibility.sql.classify import classify
from eligibility.sql.schema import Schema
from eligibility.sql.verdicts import Verdict, Verdicts
from eligibility.wire.escape import is_word

PROBES_MAX = 60

Probe = Callable[[str], Verdicts]


def marks(statement: str, verdicts: Verdicts, schema: Schema) -> tuple[Mark, ...]:
    """Find the parts of a statement that are at fault (specification 8).

    Args:
        statement: the text as it was written. One that is over the limit of a statement, 16 KiB of
            UTF-8, has no marks.
        verdicts: what `classify` decided of it.
        schema: the tables that it was decided over.

    Returns:
        The marks, by position; they may nest and touch. A reason that is about nothing in
        particular, such as `not-sql`, has none.
    """
    if Reason.STATEMENT_TOO_LONG in verdicts.reasons:
        return ()
    found = places(statement, verdicts, lambda other: classify(other, schema))
    return tuple(
        Mark(
            reason=reason,
            output=output,
            start=start,
            stop=stop,
            words=statement[start:stop].encode(errors="backslashreplace").decode(),
        )
        for start, stop, reason, output in found
    )


Place = tuple[int, int, Reason, int | None]


def places(statement: str, verdicts: Verdicts, probe: Probe) -> list[Place]:
    """Find the same as `marks`, as start, stop, reason and output.

    Args:
        statement: the text as it was written.
        verdicts: what was decided of it.
        probe: classifies another statement over the same tables.

    Returns:
        Each once, by position.
    """
    layout = lay_out(statement)
    order = {reason: place for place, reason in enumerate(Reason)}
    if verdicts.reasons:
        found = _of_statement(layout, verdicts.reasons)
    else:
        found = _of_outputs(layout, verdicts, probe)
    return sorted(set(found), key=lambda p: (p[0], p[1], order[p[2]], -1 if p[3] is None else p[3]))


# --- outputs, and what they are about -----------------------------------------------------------


def _of_outputs(layout: Layout, verdicts: Verdicts, probe: Probe) -> Iterator[Place]:
    outputs = verdicts.outputs
    if not layout.tokens:
        return
    is_star = len(layout.items) == 1 and layout.items[0].tokens[0].text == "*"
    if is_star or not layout.items:  # FROM t is SELECT * FROM t
        star = Span(layout.items[0].tokens if is_star else layout.tokens)
        for reason in in_order(reason for output in outputs for reason in output.reasons):
            yield star.start, star.end, reason, None
        return
    if len(layout.items) != len(outputs):
        return
    scope: set[Reason] = set()
    for item, output in zip(layout.items, outputs, strict=True):
        if output.label is not None:
            continue
        alone = _alone(layout, layout.written(unaliased(item)), output, probe)
        scope |= set(output.reasons) - alone
        for reason in alone:
            yield item.start, item.end, reason, output.position
    yield from _of_scope(layout, scope, probe)


def _alone(layout: Layout, item: str, output: Verdict, probe: Probe) -> set[Reason]:
    """Give those reasons of an output that it has without WHERE and GROUP BY."""
    own = set(output.reasons)
    source = layout.written(layout.body("FROM"))
    if not own & _SCOPE or not source:
        return own
    judged = probe(f"SELECT {item} FROM {source}")
    found = {reason for one in judged.outputs for reason in one.reasons} | set(judged.reasons)
    return own & found


# What an output may be withheld for although nothing is wrong with the output itself.
_SCOPE = frozenset(
    {
        Reason.COLUMN_UNKNOWN,
        Reason.QUALIFIER_UNKNOWN,
        Reason.GROUP_KEY_NOT_A_COLUMN,
        Reason.GROUP_KEY_NOT_SHOWN,
        Reason.FILTER_NOT_STATABLE,
        Reason.FILTER_TYPE,
        Reason.FILTER_NAN,
        Reason.LITERAL_NOT_EXACT,
        Reason.FILTER_TOO_LARGE,
    }
)


def _of_scope(layout: Layout, scope: set[Reason], probe: Probe) -> Iterator[Place]:
    left = set(scope)
    for clause, parts in (("WHERE", _conditions(layout)), ("GROUP", _keys(layout))):
        for start, end, text in parts:
            for reason in in_order(scope & _tried(layout, clause, text, probe)):
                left.discard(reason)
                yield start, end, reason, None
    for reason in left & {Reason.FILTER_TOO_LARGE, Reason.FILTER_NOT_STATABLE}:
        if where := layout.clauses.get("WHERE"):
            yield where.start, where.end, reason, None


def _tried(layout: Layout, clause: str, text: str, probe: Probe) -> set[Reason]:
    """Give the reasons of a statement that has one condition, or one group key, alone."""
    source = layout.written(layout.body("FROM"))
    if clause == "WHERE":
        judged = probe(f"SELECT COUNT(*) FROM {source} WHERE {text}")
    else:
        items = layout.text[layout.items[0].start : layout.items[-1].end]
        judged = probe(f"SELECT {items}, COUNT(*) FROM {source} GROUP BY {text}")
    return set(judged.outputs[-1].reasons if judged.outputs else ())


def conditions(layout: Layout) -> Iterator[tuple[Token, ...]]:
    """Give the single conditions of a WHERE clause: what AND, OR, NOT and brackets join.

    Args:
        layout: of the statement.

    Yields:
        The tokens of each condition, at most `PROBES_MAX` conditions.
    """
    waiting, given = [layout.body("WHERE")], 0
    while waiting and given < PROBES_MAX:
        tokens = waiting.pop()
        parts = [span.tokens for span in split(tokens, "AND", "OR")]
        if len(parts) > 1:
            waiting.extend(reversed(parts))
        elif tokens and tokens[0].word == "NOT":
            waiting.append(tokens[1:])
        elif len(tokens) > 2 and tokens[0].text == "(" and _closes_last(tokens):
            waiting.append(tokens[1:-1])
        elif tokens:
            given += 1
            yield tokens


def _closes_last(tokens: tuple[Token, ...]) -> bool:
    depth = tokens[0].depth
    closing = (i for i, token in enumerate(tokens) if i and token.depth == depth)
    return next(closing, 0) == len(tokens) - 1


def _conditions(layout: Layout) -> Iterator[tuple[int, int, str]]:
    for tokens in conditions(layout):
        yield tokens[0].start, tokens[-1].end, layout.written(tokens)


def _keys(layout: Layout) -> Iterator[tuple[int, int, str]]:
    for span in islice(split(layout.body("GROUP"), ","), PROBES_MAX):
        yield span.start, span.end, layout.written(span.tokens)


# --- what withholds the whole statement ---------------------------------------------------------


def _of_statement(layout: Layout, reasons: Iterable[Reason]) -> Iterator[Place]:
    for reason in reasons:
        for start, end in _PLACES.get(reason, _nowhere)(layout):
            yield start, end, reason, None


_Finder = Callable[[Layout], Iterator[tuple[int, int]]]


def _nowhere(_: Layout) -> Iterator[tuple[int, int]]:
    yield from ()


def _words(*phrases: str) -> _Finder:
    """Find phrases of keywords; a phrase that ends in `(` takes in what its brackets hold."""

    def find(layout: Layout) -> Iterator[tuple[int, int]]:
        tokens = layout.tokens
        wanted = sorted((phrase.split() for phrase in phrases), key=len, reverse=True)
        for i in range(len(tokens)):
            for phrase in wanted:
                here = tokens[i : i + len(phrase)]
                if [token.word or token.text for token in here] == phrase:
                    last = _closing(tokens, i + len(phrase) - 1) if phrase[-1] == "(" else here[-1]
                    yield here[0].start, last.end
                    break

    return find


def _closing(tokens: tuple[Token, ...], at: int) -> Token:
    later = (t for t in tokens[at + 1 :] if t.depth == tokens[at].depth)
    return next(later, tokens[-1])


def _clause(*names: str) -> _Finder:
    def find(layout: Layout) -> Iterator[tuple[int, int]]:
        for name in names:
            if span := layout.clauses.get(name):
                yield span.start, span.end

    return find


def _source(layout: Layout) -> Iterator[tuple[int, int]]:
    if tokens := layout.body("FROM"):
        yield tokens[0].start, tokens[-1].end


def _joins(layout: Layout) -> Iterator[tuple[int, int]]:
    body = layout.body("FROM")
    parts = list(split(body, ",", "JOIN"))
    for part in parts[1:]:
        yield part.start, part.end


def _subqueries(layout: Layout) -> Iterator[tuple[int, int]]:
    tokens = layout.tokens
    for i, token in enumerate(tokens[1:], start=1):
        if token.word in ("SELECT", "FROM", "WITH", "TABLE") and tokens[i - 1].text == "(":
            yield tokens[i - 1].start, _closing(tokens, i - 1).end
    yield from _words("ANY (", "ALL (", "SOME (")(layout)


def _stars(layout: Layout) -> Iterator[tuple[int, int]]:
    for item in layout.items:
        tokens = item.tokens
        for i, token in enumerate(tokens):
            times = i and tokens[i - 1].text != "." and ends_value(tokens[i - 1])
            counts = i > 1 and tokens[i - 2].word == "COUNT"
            if token.text == "*" and not times and not counts:
                yield item.start, item.end
                break


def _columns_calls(layout: Layout) -> Iterator[tuple[int, int]]:
    yield from _words("COLUMNS (")(layout)
    yield from _words("* COLUMNS (")(layout)


def _parameters(layout: Layout) -> Iterator[tuple[int, int]]:
    for token, after in zip(layout.tokens, (*layout.tokens[1:], None), strict=False):
        if token.text == "?":
            yield token.start, token.end
        elif token.text == "$" and after is not None and after.start == token.end:
            yield token.start, after.end


def _positions(layout: Layout) -> Iterator[tuple[int, int]]:
    for token, after in zip(layout.tokens, layout.tokens[1:], strict=False):
        if token.text == "#" and after.kind == "number":
            yield token.start, after.end


def _signs(layout: Layout) -> Iterator[tuple[int, int]]:
    for before, token in zip((None, *layout.tokens), layout.tokens, strict=False):
        if token.text == "[" and before is not None and before.word == "IN":
            yield before.start, token.end
        elif token.text == "+" and (before is None or not ends_value(before)):
            yield token.start, token.end


def _second_statement(layout: Layout) -> Iterator[tuple[int, int]]:
    ends = [i for i, t in enumerate(layout.tokens) if t.text == ";" and t.depth == 0]
    if ends and layout.tokens[ends[0] + 1 :]:
        yield layout.tokens[ends[0] + 1].start, layout.tokens[-1].end


def _first_word(layout: Layout) -> Iterator[tuple[int, int]]:
    for token in layout.tokens[:1]:
        yield token.start, token.end


def _first_bracket(layout: Layout) -> Iterator[tuple[int, int]]:
    for token in layout.tokens[:1]:
        if token.text == "(":
            yield token.start, _closing(layout.tokens, 0).end


def _brackets(layout: Layout) -> Iterator[tuple[int, int]]:
    """Find the brackets that have no partner."""
    partners = {")": "(", "]": "[", "}": "{"}
    opened: list[Token] = []
    for token in layout.tokens:
        if token.text in partners.values():
            opened.append(token)
        elif token.text in partners:
            if opened and opened[-1].text == partners[token.text]:
                opened.pop()
            else:
                yield token.start, token.end
    for token in opened:
        yield token.start, token.end


def _quotes(layout: Layout) -> Iterator[tuple[int, int]]:
    """Find quotes that do not close, strings behind a letter, and dollar quotes."""
    for before, token in zip((None, *layout.tokens), layout.tokens, strict=False):
        if token.kind in ("text", "name"):
            closed = len(token.text) > 1 and token.text.count(token.text[0]) % 2 == 0
            prefixed = before is not None and before.end == token.start and before.kind == "word"
            if prefixed and before is not None:
                yield before.start, token.end
            elif not closed:
                yield token.start, token.end
        elif token.text == "$" or token.kind == "comment":
            yield token.start, token.end
        elif token.text in ("#", "%") and before is not None and before.text == "{":
            yield before.start, token.end


def _odd_characters(layout: Layout) -> Iterator[tuple[int, int]]:
    for token in layout.tokens:
        if token.kind not in ("text", "name"):
            for place, character in enumerate(token.text, start=token.start):
                if _is_odd(character):
                    yield place, place + 1
    for before, after in zip((None, *layout.tokens), (*layout.tokens, None), strict=True):
        begin = before.end if before is not None else 0
        end = after.start if after is not None else len(layout.text)
        for place in range(begin, end):
            if _is_odd(layout.text[place]):
                yield place, place + 1


def _is_odd(character: str) -> bool:
    if character in "\t\n\r" or " " <= character <= "~":
        return False
    return not is_word(character)


def _not_text(layout: Layout) -> Iterator[tuple[int, int]]:
    for place, character in enumerate(layout.text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            yield place, place + 1


_PLACES: dict[Reason, _Finder] = {
    Reason.NOT_TEXT: _not_text,
    Reason.BRACKETS_UNBALANCED: _brackets,
    Reason.QUOTING_UNREADABLE: _quotes,
    Reason.CHARACTER_UNREADABLE: _odd_characters,
    Reason.TOKEN_UNREADABLE: _signs,
    Reason.SEVERAL_STATEMENTS: _second_statement,
    Reason.NOT_A_SELECT: _first_word,
    Reason.STATEMENT_PARENTHESISED: _first_bracket,
    Reason.CTE: _words("WITH", "WITH RECURSIVE"),
    Reason.SET_OPERATION: _words("UNION ALL", "UNION", "INTERSECT", "EXCEPT"),
    Reason.PIVOT: _words("PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER"),
    Reason.JOIN: _joins,
    Reason.SUBQUERY: _subqueries,
    Reason.WINDOW: _words("OVER (", "OVER", "WINDOW"),
    Reason.QUALIFY: _clause("QUALIFY"),
    Reason.SAMPLE: _words("TABLESAMPLE", "USING SAMPLE"),
    Reason.VALUES: _words("VALUES"),
    Reason.TABLE_FUNCTION: _source,
    Reason.TIME_TRAVEL: _words("AT ("),
    Reason.COLUMN_ALIAS_LIST: _source,
    Reason.PARAMETER: _parameters,
    Reason.POSITIONAL_REFERENCE: _positions,
    Reason.COLUMNS_EXPRESSION: _columns_calls,
    Reason.STAR_NOT_ALONE: _stars,
    Reason.DISTINCT_ON: _words("DISTINCT ON ("),
    Reason.GROUPING_SETS: _clause("GROUP"),
    Reason.GROUP_KEY_TYPE: _clause("GROUP"),
    Reason.LIMIT_NOT_A_NUMBER: _clause("LIMIT", "OFFSET", "FETCH"),
    Reason.TABLE_UNKNOWN: _source,
}

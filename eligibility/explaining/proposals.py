# ruff: noqa: S608 - statements that are classified, never executed
"""Edits that may make a withheld output eligible, proposed by what was found in it.

Invariants
  A1  A proposal is only that: `edits` tries it on the statement before anybody sees it.
  A2  An edit keeps the outputs before the one it is about in their places.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import get_args

from eligibility.explaining.layout import Layout, Span, Token, name_of, split, unaliased
from eligibility.explaining.marks import Place, Probe, conditions, places
from eligibility.explaining.respelling import respelled
from eligibility.reasons import Reason
from eligibility.sql.schema import Schema, Table, TablePath, casefold
from eligibility.sql.shape import Calculation
from eligibility.sql.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit, and the statement that it makes.

    Attributes:
        said: what to do, in words and SQL.
        statement: the whole statement with the edit made.
    """

    said: str
    statement: str


@dataclass(frozen=True, slots=True)
class Case:
    """What a proposal is made from.

    Attributes:
        layout: of the statement.
        verdicts: what was decided of it.
        schema: the pinned tables.
        judge: decides another statement in the same way.
        position: of the output; None for the whole statement.
    """

    layout: Layout
    verdicts: Verdicts
    schema: Schema
    judge: Probe
    position: int | None = None

    @property
    def item(self) -> Span:
        """The output's member of the select list."""
        return self.layout.items[self.position or 0]

    @property
    def made(self) -> tuple[Token, ...]:
        """The output's tokens, without its alias."""
        return unaliased(self.item)

    def table(self) -> Table | None:
        """The table that the statement reads, where it is known."""
        return self.schema.find(tuple(_source_names(self.layout)))


def proposals(case: Case, reasons: tuple[Reason, ...]) -> Iterator[Proposal]:
    """Propose edits, the likeliest first.

    Args:
        case: what is withheld, and where.
        reasons: why.

    Yields:
        Proposals that were not tried.
    """
    for reason in reasons:
        yield from _PROPOSERS.get(reason, _nothing)(case)


def _nothing(_: Case) -> Iterator[Proposal]:
    yield from ()


def _edited(case: Case, said: str, start: int, end: int, new: str) -> Proposal:
    text = case.layout.text
    return Proposal(said, text[:start] + new + text[end:])


# --- one output ---------------------------------------------------------------------------------


def _item(case: Case, said: str, new: str) -> Iterator[Proposal]:
    """Propose another text for the output, its alias kept."""
    if new:
        yield _edited(
            case,
            f"{said}: {new}" if said != "write" else f"write {new}",
            case.made[0].start,
            case.made[-1].end,
            new,
        )


def _without_cast(case: Case) -> Iterator[Proposal]:
    yield from _item(case, "drop the cast", case.layout.written(_under_cast(case.made)))


def _under_cast(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    depth = tokens[0].depth
    if tokens[0].word in ("CAST", "TRY_CAST") and len(tokens) > 2:
        inner = next(split(tokens[2:-1], "AS"), None)
        return inner.tokens if inner else ()
    ends = (i for i, t in enumerate(tokens) if t.text == "::" and t.depth == depth)
    return tokens[: next(ends, 0)]


def _without_collation(case: Case) -> Iterator[Proposal]:
    before = next(split(case.made, "COLLATE"))
    yield from _item(case, "drop the collation", case.layout.written(before.tokens))


def _column_itself(case: Case) -> Iterator[Proposal]:
    yield from _group_by_column(case)
    for name in _columns_in(case, case.made):
        yield from _item(case, "select the column itself", name)


def _columns_in(case: Case, tokens: tuple[Token, ...]) -> Iterator[str]:
    """Give the columns of the table that are named in an expression, as they are written there."""
    table = case.table()
    for i, token in enumerate(tokens):
        called = tokens[i + 1 : i + 2] and tokens[i + 1].text == "("
        if table is None or token.kind not in ("word", "name") or called:
            continue
        if table.column(name_of(token)) is not None:
            qualified = i > 1 and tokens[i - 1].text == "."
            yield case.layout.written(tokens[i - 2 if qualified else i : i + 1])


def _aggregate(case: Case) -> Iterator[Proposal]:
    """Propose the calculation over a bare column, and COUNT(*) for what counts rows."""
    tokens = case.made
    words = {"MEAN": "AVG", "COUNT_STAR": "COUNT", "COUNT_IF": "COUNT"}
    word = casefold(name_of(tokens[0])).upper()
    called = [i for i, token in enumerate(tokens) if token.text == "("]
    if "." in (token.text for token in tokens[: called[0] if called else 0]):
        word = name_of(tokens[called[0] - 1]).upper()
    name = words.get(word, word)
    if name not in get_args(Calculation) or not called:
        return
    found = case.verdicts.outputs[case.position or 0].reasons[0]
    for column in _columns_in(case, tokens[called[0] :]):
        yield from _item(case, _AGGREGATE_SAID[found], f"{name}({column})")
    if name == "COUNT":
        yield from _item(case, "count the rows", "COUNT(*)")


_AGGREGATE_SAID = {
    Reason.AGGREGATE_SPELLING: "write",
    Reason.AGGREGATE_ARGUMENT: "calculate over the column itself",
    Reason.AGGREGATE_MODIFIED: "calculate without what modifies it",
    Reason.COUNT_DISTINCT: "count the rows that have a value",
}


def _filter_to_where(case: Case) -> Iterator[Proposal]:
    """Propose FILTER's condition as WHERE, where the statement has one output and no WHERE."""
    layout, tokens = case.layout, case.made
    places = [i for i, token in enumerate(tokens) if token.word == "FILTER"]
    source = layout.clauses.get("FROM")
    if not places or source is None or len(layout.items) > 1 or "WHERE" in layout.clauses:
        return
    at = places[0]
    condition = layout.written(tokens[at + 3 : -1])
    text, end = layout.text, tokens[at - 1].end
    yield Proposal(
        f"move the condition to WHERE {condition}",
        f"{text[:end]}{text[tokens[-1].end : source.end]} WHERE {condition}{text[source.end :]}",
    )


def _similar_column(case: Case) -> Iterator[Proposal]:
    table = case.table()
    known = {casefold(column.name): column.name for column in (table.columns if table else ())}
    for token in case.made:
        if token.kind in ("word", "name") and casefold(name_of(token)) not in known:
            for close in get_close_matches(casefold(name_of(token)), known, n=3):
                new = _quoted_name(known[close])
                said = f"name a column of the table: {new}"
                yield _edited(case, said, token.start, token.end, new)


def _own_qualifier(case: Case) -> Iterator[Proposal]:
    for place in (case.made, *conditions(case.layout), case.layout.body("GROUP")):
        for i, token in enumerate(place):
            follows = place[i + 1 : i + 2] and place[i + 1].text == "."
            starts = i == 0 or place[i - 1].text != "."
            if not (follows and starts and token.kind in ("word", "name")):
                continue
            end = i
            while end + 2 < len(place) and place[end + 1].text == ".":
                end += 2
            name = case.layout.written(place[end : end + 1])
            said = f"name the column alone: {name}"
            yield _edited(case, said, place[i].start, place[end].end, name)


def _quoted_name(name: str) -> str:
    return name if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) else f'"{name}"'


# --- groups -------------------------------------------------------------------------------------


def _show_keys(case: Case) -> Iterator[Proposal]:
    names = [_quoted_name(name) for name in case.verdicts.groups]
    shown = {
        output.label.column
        for output in case.verdicts.outputs
        if output.label is not None and output.label.kind == "column"
    }
    missing = [_quoted_name(name) for name in case.verdicts.groups if name not in shown]
    end = case.layout.items[-1].end
    for keys in (missing, names):
        listed = ", ".join(keys)
        what = "key" if len(keys) == 1 else "keys"
        yield _edited(case, f"show the group {what}: {listed}", end, end, f", {listed}")


_POSITION = re.compile(r"[0-9]{1,4}")


def _group_by_column(case: Case) -> Iterator[Proposal]:
    """Propose, for each key that is an expression, the column in it, there and where it is shown."""
    layout = case.layout
    for key in split(layout.body("GROUP"), ","):
        first = key.tokens[0].text
        number = int(first) if _POSITION.fullmatch(first) else 0
        written = layout.written(key.tokens)
        shown = [
            item
            for place, item in enumerate(layout.items, start=1)
            if place == number or layout.written(unaliased(item)) == written or _named(item, key)
        ]
        inside = unaliased(shown[0]) if shown else key.tokens
        for column in _columns_in(case, inside):
            text = layout.text[: key.start] + column + layout.text[key.end :]
            for item in reversed(shown):
                text = text[: item.start] + column + text[item.end :]
            if not shown:
                end = layout.items[-1].end
                text = f"{text[:end]}, {column}{text[end:]}"
            yield Proposal(f"group by the column itself, and show it: {column}", text)


def _named(item: Span, key: Span) -> bool:
    return len(key.tokens) == 1 and casefold(name_of(item.tokens[-1])) == casefold(
        name_of(key.tokens[0])
    )


# --- conditions ---------------------------------------------------------------------------------


def _condition(case: Case) -> Iterator[Proposal]:
    """Propose every condition at fault in a form that can be stated, or left out with its AND."""
    layout = case.layout
    faulty = [
        tokens for tokens in conditions(layout) if not _is_statable(case, layout.written(tokens))
    ]
    if not faulty:
        return
    new = {tokens: _statable(case, tokens) for tokens in faulty}
    members = [span.tokens for span in split(layout.body("WHERE"), "AND")]
    where = layout.clauses["WHERE"]
    lost = [tokens for tokens in faulty if new[tokens] is None]
    if not lost:
        said = f"write {_and(filter(None, new.values()))}"
        text = layout.text
        for tokens in reversed(faulty):
            text = text[: tokens[0].start] + (new[tokens] or "") + text[tokens[-1].end :]
        yield Proposal(said, text)
    elif all(tokens in members for tokens in faulty) and len(lost) < len(members):
        kept = [new.get(member, layout.written(member)) for member in members]
        said = f"leave out {_and(map(layout.written, lost))}, which cannot be stated"
        text = f"WHERE {' AND '.join(filter(None, kept))}"
        yield _edited(case, said, where.start, where.end, text)
    else:
        said = f"leave out {layout.written(where.tokens)}, which cannot be stated"
        yield _edited(case, said, where.start, where.end, "")


def _and(texts: Iterable[str]) -> str:
    return " and ".join(texts)


def _is_statable(case: Case, condition: str) -> bool:
    source = case.layout.written(case.layout.body("FROM"))
    return case.judge(f"SELECT COUNT(*) FROM {source} WHERE {condition}").any_eligible


def _statable(case: Case, tokens: tuple[Token, ...]) -> str | None:
    """Find another way to write a condition that can be stated."""
    made = dict.fromkeys(respelled(case.layout, tokens))
    return next((new for new in made if _is_statable(case, new)), None)


# --- the whole statement ------------------------------------------------------------------------


def _source_names(layout: Layout) -> Iterator[str]:
    for i, token in enumerate(layout.body("FROM")):
        if i % 2 == 0 and token.kind in ("word", "name"):
            yield name_of(token)
        elif token.text != ".":
            return


def _other_table(case: Case) -> Iterator[Proposal]:
    names = tuple(_source_names(case.layout))
    tokens = case.layout.body("FROM")[: 2 * len(names) - 1]
    if not tokens:
        return
    paths: dict[str, list[TablePath]] = {}
    for table in case.schema.tables:
        paths.setdefault(casefold(table.path[1]), []).append(table.path)
    for path in (
        p for close in get_close_matches(casefold(names[-1]), paths) for p in paths[close]
    ):
        new = ".".join(_quoted_name(p) for p in (path if path[0] != "main" else path[1:]))
        said = f"name a pinned table: {new}"
        yield _edited(case, said, tokens[0].start, tokens[-1].end, new)


def _star_alone(case: Case) -> Iterator[Proposal]:
    items = case.layout.items
    if items:
        yield _edited(case, "select * alone", items[0].start, items[-1].end, "*")


def _marked(case: Case) -> list[Place]:
    return places(case.layout.text, case.verdicts, lambda _: case.verdicts)


def _other_characters(said: str, found: str, new: str) -> Callable[[Case], Iterator[Proposal]]:
    """Propose the statement with its marked parts, those that match, written anew."""

    def propose(case: Case) -> Iterator[Proposal]:
        text = case.layout.text
        spans = {(start, stop) for start, stop, *_ in _marked(case)}
        for start, stop in sorted(spans, reverse=True):
            text = text[:start] + re.sub(found, new, text[start:stop]) + text[stop:]
        if text != case.layout.text:
            yield Proposal(said, text)

    return propose


def _signs(case: Case) -> Iterator[Proposal]:
    yield from _other_characters("drop the plus sign", r"\+", "")(case)
    new = re.sub(r"\b(IN)\s*\[([^][]*)\]", r"\1 (\2)", case.layout.text, flags=re.IGNORECASE)
    if new != case.layout.text:
        yield Proposal("write IN with parentheses", new)


def _quoting(case: Case) -> Iterator[Proposal]:
    text = case.layout.text
    plain = re.sub(r"\b[Ee]'([^'\\]*)'", r"'\1'", text)
    plain = re.sub(r"\$(\w*)\$([^'$]*)\$\1\$", r"'\2'", plain)
    if plain != text:
        yield Proposal("write the text in single quotes", plain)


def _without(*names: str) -> Callable[[Case], Iterator[Proposal]]:
    def propose(case: Case) -> Iterator[Proposal]:
        for name in names:
            if span := case.layout.clauses.get(name):
                said = f"leave out {case.layout.written(span.tokens)}"
                yield _edited(case, said, span.start, span.end, "")

    return propose


def _whole_number(case: Case) -> Iterator[Proposal]:
    for name in ("LIMIT", "OFFSET"):
        span = case.layout.clauses.get(name)
        written = case.layout.written(span.tokens) if span else ""
        number = re.search(r"[0-9]+", written)
        if span is not None and number is not None and "%" not in written:
            new = f"{name} {number[0]}"
            yield _edited(case, f"write {new}", span.start, span.end, new)
    yield from _without("LIMIT", "OFFSET")(case)


def _one_set_of_keys(case: Case) -> Iterator[Proposal]:
    tokens = case.layout.body("GROUP")
    names = [t for t in tokens if t.kind == "name" or (t.kind == "word" and t.word not in _SETS)]
    keys = ", ".join(dict.fromkeys(token.text for token in names))
    if keys:
        said = f"group by one set of keys: {keys}"
        yield _edited(case, said, tokens[0].start, tokens[-1].end, keys)


_SETS = frozenset({"ROLLUP", "CUBE", "GROUPING", "SETS", "ALL"})


def _first_statement(case: Case) -> Iterator[Proposal]:
    for start, _, reason, _ in _marked(case):
        if reason is Reason.SEVERAL_STATEMENTS:
            yield Proposal("ask one statement at a time", case.layout.text[:start].rstrip())


def _column_or_condition(case: Case) -> Iterator[Proposal]:
    yield from _similar_column(case)
    yield from _condition(case)


def _modified(case: Case) -> Iterator[Proposal]:
    yield from _filter_to_where(case)
    yield from _aggregate(case)


_PROPOSERS: dict[Reason, Callable[[Case], Iterator[Proposal]]] = {
    Reason.CAST: _without_cast,
    Reason.COLLATION: _without_collation,
    Reason.ARITHMETIC: _column_itself,
    Reason.FUNCTION: _column_itself,
    Reason.EXPRESSION: _column_itself,
    Reason.AGGREGATE_SPELLING: _aggregate,
    Reason.AGGREGATE_ARGUMENT: _aggregate,
    Reason.AGGREGATE_MODIFIED: _modified,
    Reason.COUNT_DISTINCT: _aggregate,
    Reason.COLUMN_UNKNOWN: _column_or_condition,
    Reason.QUALIFIER_UNKNOWN: _own_qualifier,
    Reason.GROUP_KEY_NOT_SHOWN: _show_keys,
    Reason.GROUP_KEY_NOT_A_COLUMN: _group_by_column,
    Reason.FILTER_NOT_STATABLE: _condition,
    Reason.FILTER_TYPE: _condition,
    Reason.FILTER_NAN: _condition,
    Reason.LITERAL_NOT_EXACT: _condition,
    Reason.FILTER_TOO_LARGE: _condition,
    Reason.CHARACTER_UNREADABLE: _other_characters("write plain spaces", r".", " "),
    Reason.QUOTING_UNREADABLE: _quoting,
    Reason.TOKEN_UNREADABLE: _signs,
    Reason.STATEMENT_PARENTHESISED: _other_characters(
        "drop the parentheses", r"(?s)\A\((.*)\)\Z", r"\1"
    ),
    Reason.SEVERAL_STATEMENTS: _first_statement,
    Reason.STAR_NOT_ALONE: _star_alone,
    Reason.COLUMNS_EXPRESSION: _star_alone,
    Reason.POSITIONAL_REFERENCE: _other_characters("drop the number sign", "#", ""),
    Reason.SAMPLE: _without("USING"),
    Reason.QUALIFY: _without("QUALIFY"),
    Reason.GROUPING_SETS: _one_set_of_keys,
    Reason.LIMIT_NOT_A_NUMBER: _whole_number,
    Reason.TABLE_UNKNOWN: _other_table,
}

"""Checked text → what sqlglot's tree says of it; the only file that sees a tree (specification 3).

Invariants
  D1  Every node on the path to an output, the source, a group key or a filter is on an allow-list
      together with each of its non-empty arguments; anything else is named as what it is, or as
      `construct-unknown`.
  D2  Inside an opaque expression only the deny-list of D3 is looked for.
  D3  A query, window, set operation, table function, sample, `COLUMNS`, a star out of place:
      found anywhere, each withholds the whole statement.
  D4  Nothing here knows a schema: names stay as written, literals stay text.
"""

import logging
import re
import threading
import typing
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType

from eligibility.reasons import Reason, in_order
from eligibility.sql.shape import Calculation, Operator, Selection
from eligibility.sql.syntax import (
    Aggregate,
    Between,
    ColumnRef,
    Comparison,
    Condition,
    Connective,
    Found,
    InList,
    IsNull,
    KeyReading,
    Like,
    Literal,
    Not,
    OutputReading,
    Position,
    Star,
    TextReading,
)
from eligibility.wire.model import COUNT_MAX

# The largest number of rows that the engine takes for LIMIT and OFFSET.
LIMIT_MAX = 2**63 - 1


class _Dialect(DuckDB):
    """DuckDB 2.0, which takes backticks as identifier quotes too."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS = ['"', "`"]


_DIALECT = _Dialect()


class _Parsing(threading.local):
    """A tokenizer and a parser for each thread; both forget the last text when they begin anew."""

    def __init__(self) -> None:
        self.tokenizer = _DIALECT.tokenizer()
        self.parser = _DIALECT.parser()


_PARSING = _Parsing()
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


class _NoStatementInLogs(logging.Filter):
    """Keep sqlglot from logging a statement's text while it is read here."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _SILENT.get()


logging.getLogger("sqlglot").addFilter(_NoStatementInLogs())


def read(statement: str) -> TextReading:
    """Read a checked statement (specification 2 and 3).

    Args:
        statement: text that `statement.problems` found nothing against.

    Returns:
        The reading.

    Raises:
        RecursionError: where the statement is nested deeper than the stack that is left; the
            caller reads once more on a fresh one.
    """
    silent = _SILENT.set(True)
    try:
        tokens = _PARSING.tokenizer.tokenize(statement)
        if ("+" in statement or "[" in statement) and _has_unreadable_token(tokens):
            return TextReading(reasons=(Reason.TOKEN_UNREADABLE,))
        if len(tokens) > TOKENS_ALWAYS_PARSED and (reason := _too_many(tokens)) is not None:
            return TextReading(reasons=(reason,))
        trees = _PARSING.parser.parse(tokens, statement)
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001
        # Of hostile text the parser raises more than its own errors; none of it is a reading.
        return TextReading(reasons=(Reason.NOT_SQL,))
    finally:
        _SILENT.reset(silent)
    statements = [
        tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)
    ]
    if not statements:
        return TextReading(reasons=(Reason.NO_STATEMENT,))
    if len(statements) > 1:
        return TextReading(reasons=(Reason.SEVERAL_STATEMENTS,))
    root = statements[0]
    if not isinstance(root, exp.Select):
        return TextReading(reasons=in_order((*_anywhere(root), _root_reason(root))))
    return _select(root)


# --- tokens -------------------------------------------------------------------------------------

# Words that the parser tries in two ways, so that its time may double with every one more. Of the
# first four, two words withhold the statement anyway.
PARSED_MAX: tuple[tuple[frozenset[TokenType], int, Reason], ...] = (
    (frozenset({TokenType.JOIN}), 8, Reason.JOIN),
    (
        frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}),
        10,
        Reason.SET_OPERATION,
    ),
    (frozenset({TokenType.SELECT}), 12, Reason.SUBQUERY),
    (frozenset({TokenType.FROM}), 16, Reason.SUBQUERY),
    (frozenset(_DIALECT.parser_class.NESTED_TYPE_TOKENS), 10, Reason.TOO_NESTED),
    # Not doubling: each bracket behind a value copies all that stands before it.
    (frozenset({TokenType.L_BRACKET}), 64, Reason.TOO_NESTED),
    # Nor these: for each, the parser's stack may grow, and it is not ours to say how large it is.
    (
        frozenset(
            {
                TokenType.NOT,
                TokenType.DASH,
                TokenType.TILDE,
                TokenType.PARAMETER,
                TokenType.ANY,
                TokenType.CASE,
                TokenType.INTERVAL,
                TokenType.DESCRIBE,
            }
        ),
        200,
        Reason.TOO_NESTED,
    ),
)


# Among so few tokens there cannot be too many of those words: each has another token beside it.
TOKENS_ALWAYS_PARSED = 2 * min(most for _, most, _ in PARSED_MAX)


def _too_many(tokens: list[Token]) -> Reason | None:
    """Withhold, before it is parsed, what would take the parser too long."""
    # IF has no type of its own; without a bracket it is parsed like CASE.
    kinds = [TokenType.CASE if token.text.upper() == "IF" else token.token_type for token in tokens]
    for words, most, reason in PARSED_MAX:
        if sum(kind in words for kind in kinds) > most:
            return reason
    return None


# What may end an operand, so that a plus behind it stands between two.
_OPERAND_ENDS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
    TokenType.R_BRACE,
}
# Words behind which an operand starts; every other word may itself be a column's name.
_OPERAND_STARTERS = frozenset(
    """ALL AND AS ASC BETWEEN BY CASE DESC DISTINCT ELSE ESCAPE EXCEPT FETCH FILTER FROM GLOB GROUP
    HAVING ILIKE IN INTERSECT INTERVAL IS JOIN LAMBDA LIKE LIMIT NOT OFFSET ON OR ORDER QUALIFY
    RETURNING SELECT SIMILAR THEN TO UNION USING VALUES WHEN WHERE WINDOW WITH""".split()
)
# What an interpreter takes for a letter depends on its release (U3 of `eligibility.wire.escape`).
_WORD = re.compile(r"[A-Za-z_\x80-\U0010ffff][0-9A-Za-z_\x80-\U0010ffff]*")


def _has_unreadable_token(tokens: list[Token]) -> bool:
    """Find a plus in prefix position, or `IN [`: sqlglot drops the one and respells the other."""
    before: Token | None = None
    for token in tokens:
        kind = token.token_type
        if kind is TokenType.PLUS and (before is None or not _ends_operand(before)):
            return True
        if kind is TokenType.L_BRACKET and before is not None:
            if before.token_type is TokenType.IN:
                return True
        before = token
    return False


def _ends_operand(token: Token) -> bool:
    if token.token_type in _OPERAND_ENDS:
        return True
    word = token.text.rpartition(" ")[2]
    return bool(_WORD.fullmatch(word)) and word.upper() not in _OPERAND_STARTERS


# --- what withholds the whole statement wherever it stands ---------------------------------------

_ANYWHERE: tuple[tuple[type[exp.Expr], Reason], ...] = (
    (exp.With, Reason.CTE),
    (exp.SetOperation, Reason.SET_OPERATION),
    (exp.Pivot, Reason.PIVOT),
    (exp.Join, Reason.JOIN),
    (exp.Values, Reason.VALUES),
    (exp.UDTF, Reason.TABLE_FUNCTION),
    (exp.Query, Reason.SUBQUERY),
    # EXISTS, ANY and ALL: to the engine, ANY of a list is a query on it too.
    (exp.SubqueryPredicate, Reason.SUBQUERY),
    (exp.Window, Reason.WINDOW),
    (exp.WindowSpec, Reason.WINDOW),
    (exp.Qualify, Reason.QUALIFY),
    (exp.TableSample, Reason.SAMPLE),
    (exp.Columns, Reason.COLUMNS_EXPRESSION),
    (exp.DML, Reason.NOT_A_SELECT),
    (exp.DDL, Reason.NOT_A_SELECT),
    (exp.Command, Reason.NOT_A_SELECT),
)
# Withhold the whole statement in a clause; in the select list, only their own output.
_IN_CLAUSES: tuple[tuple[type[exp.Expr], Reason], ...] = (
    (exp.Placeholder, Reason.PARAMETER),
    (exp.Parameter, Reason.PARAMETER),
    (exp.SessionParameter, Reason.PARAMETER),
    (exp.PositionalColumn, Reason.POSITIONAL_REFERENCE),
)


# Behind a comparison these are predicates on a query or a list; the parser may take them for calls.
_QUANTIFIERS = frozenset({"ALL", "ANY", "SOME"})

_REASONS: dict[type[exp.Expr], Reason | None] = {}


def _reason_of(kind: type[exp.Expr]) -> Reason | None:
    """Look a node type up in both lists, once a type."""
    if kind not in _REASONS:
        listed = (reason for base, reason in (*_ANYWHERE, *_IN_CLAUSES) if issubclass(kind, base))
        _REASONS[kind] = next(listed, None)
    return _REASONS[kind]


def _anywhere(root: exp.Expr) -> Iterator[Reason]:
    """Name what stands in the tree, below its root, that withholds the whole statement (D3)."""
    bare_star = isinstance(root, exp.Select) and len(root.expressions) == 1
    clauses = isinstance(root, exp.Select) and any(
        root.args.get(name) for name in ("where", "group", "having", "order", "limit", "offset")
    )
    for node in root.walk():
        kind = type(node)
        if kind is exp.Star:
            parent = node.parent
            if isinstance(parent, exp.Count) and parent.this is node:
                continue
            alone = bare_star and parent is root and node.arg_key == "expressions"
            if not (alone and _only(node)):
                yield Reason.STAR_NOT_ALONE
        elif kind is exp.Anonymous and str(node.this).upper() in _QUANTIFIERS:
            yield Reason.SUBQUERY
        elif (reason := _reason_of(kind)) is not None and node is not root:
            if reason is Reason.SUBQUERY and _is_part(node.parent, root):
                continue
            if reason not in (Reason.PARAMETER, Reason.POSITIONAL_REFERENCE) or clauses:
                yield reason


def _is_part(parent: exp.Expr | None, root: exp.Expr) -> bool:
    """Say whether a query's parent, which is named for what it is, is what made it stand inside."""
    if isinstance(parent, (exp.CTE, exp.SetOperation)):
        return True
    return parent is root and isinstance(root, exp.Subquery)


def _root_reason(root: exp.Expr) -> Reason:
    if isinstance(root, exp.Subquery):
        return Reason.STATEMENT_PARENTHESISED
    return {
        Reason.SET_OPERATION: Reason.SET_OPERATION,
        Reason.PIVOT: Reason.PIVOT,
        Reason.VALUES: Reason.VALUES,
    }.get(_reason_of(type(root)) or Reason.NOT_A_SELECT, Reason.NOT_A_SELECT)


# --- the statement ------------------------------------------------------------------------------

_CLAUSES: dict[str, Reason | None] = {
    "expressions": None,
    "from_": None,
    "where": None,
    "group": None,
    "having": None,
    "order": None,
    "limit": None,
    "offset": None,
    "distinct": None,
    "with_": Reason.CTE,
    "joins": Reason.JOIN,
    "laterals": Reason.TABLE_FUNCTION,
    "pivots": Reason.PIVOT,
    "qualify": Reason.QUALIFY,
    "windows": Reason.WINDOW,
    "sample": Reason.SAMPLE,
    "exclude": Reason.STAR_NOT_ALONE,
}


def _select(root: exp.Select) -> TextReading:
    reasons: set[Reason] = set()
    plain = _listed(root, _CLAUSES, reasons)
    part = root.args.get
    source, alias = _source(part("from_"), reasons)
    where, order = part("where"), part("order")
    keys = _keys(part("group"), reasons)
    selection = _selection(
        bool(part("having")),
        _distinct(part("distinct"), reasons),
        bool(order),
        _limit(part("limit"), reasons),
        _offset(part("offset"), reasons),
    )
    outputs = tuple([_output(expression) for expression in root.expressions])
    condition = _where(where) if where else None
    # What was read whole holds nothing else; anything opaque is searched, and all the rest with it.
    if (
        not (plain and source)
        or reasons
        or selection.having
        or (order and any(_is_opaque(key) for key in order.expressions))
        or not _are_whole(outputs)
        or (condition is not None and not _is_whole(condition))
        or (keys and any(isinstance(key, Found) for key in keys))
    ):
        reasons.update(_anywhere(root))
    if not outputs or not (source or reasons):
        reasons.add(Reason.CONSTRUCT_UNKNOWN)
    return TextReading(
        in_order(reasons) if reasons else (), source, alias, outputs, condition, keys, selection
    )


@lru_cache(maxsize=1024)
def _selection(
    having: bool, distinct: bool, order_by: bool, limit: int | None, offset: int | None
) -> Selection:
    return Selection(
        having=having, distinct=distinct, order_by=order_by, limit=limit, offset=offset
    )


def _are_whole(outputs: tuple[tuple[str, OutputReading], ...]) -> bool:
    """Say whether every output was read to its last node, and a star stands alone."""
    for _, made in outputs:
        if isinstance(made, Found) or (isinstance(made, Star) and len(outputs) > 1):
            return False
    return True


def _is_opaque(key: exp.Expr) -> bool:
    """Say whether a key of ORDER BY is more than a column and its direction."""
    return isinstance(_column(key.this), Found) or not _only(key)


def _is_whole(condition: Condition) -> bool:
    """Say whether a condition was read to its last node."""
    if isinstance(condition, Connective):
        return all(map(_is_whole, condition.members))
    if isinstance(condition, Not):
        return _is_whole(condition.member)
    return not isinstance(condition, Found)


_UNKNOWN = Reason.CONSTRUCT_UNKNOWN  # kept here: an enum looks a member up by name each time


def _listed(node: exp.Expr, listed: dict[str, Reason | None], reasons: set[Reason]) -> bool:
    """Name the non-empty arguments of a node that are not on its list; say if there are none."""
    plain = True
    for name, value in node.args.items():
        if value is None or value is False:
            continue
        reason = listed.get(name, _UNKNOWN)
        if reason is not None and value != []:
            reasons.add(reason)
            plain = False
    return plain


# The other nodes that are read, each with all the arguments that it may have (D1).
_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(listed.split())
    for kind, listed in {
        exp.Alias: "this alias",
        exp.And: "this expression",
        exp.Avg: "this",
        exp.Between: "this low high",
        exp.Boolean: "this",
        exp.Cast: "this to",
        exp.Column: "this table",
        exp.Count: "this big_int",
        exp.DataType: "this",
        exp.EQ: "this expression",
        exp.Fetch: "direction count limit_options",
        exp.From: "this",
        exp.GT: "this expression",
        exp.GTE: "this expression",
        exp.ILike: "this expression negate",
        exp.Identifier: "this quoted",
        exp.In: "this expressions",
        exp.Is: "this expression negate",
        exp.LT: "this expression",
        exp.LTE: "this expression",
        exp.Like: "this expression negate",
        exp.Limit: "expression",
        exp.LimitOptions: "rows",
        exp.Literal: "this is_string",
        exp.Max: "this",
        exp.Min: "this",
        exp.NEQ: "this expression",
        exp.Neg: "this",
        exp.Not: "this",
        exp.Offset: "expression",
        exp.Or: "this expression",
        exp.Ordered: "this desc nulls_first",
        exp.Paren: "this",
        exp.Sum: "this",
        exp.Table: "this db catalog alias",
        exp.TableAlias: "this",
        exp.Where: "this",
    }.items()
}
_NO_ARGUMENT: frozenset[str] = frozenset()


def _only(node: exp.Expr) -> bool:
    """Say whether a node has no other non-empty argument than those listed for its type (D1)."""
    args = node.args
    listed = _ARGUMENTS.get(type(node), _NO_ARGUMENT)
    if args.keys() <= listed:
        return True
    for name, value in args.items():
        if name not in listed and value is not None and value is not False and value != []:
            return False
    return True


_TABLE_PARTS: dict[str, Reason | None] = {
    "this": None,
    "db": None,
    "catalog": None,
    "alias": None,
    "joins": Reason.JOIN,
    "laterals": Reason.TABLE_FUNCTION,
    "pivots": Reason.PIVOT,
    "sample": Reason.SAMPLE,
    "hints": Reason.COLUMN_ALIAS_LIST,
    "version": Reason.TIME_TRAVEL,
    "system_time": Reason.TIME_TRAVEL,
    "when": Reason.TIME_TRAVEL,
    "changes": Reason.TIME_TRAVEL,
    "ordinality": Reason.TABLE_FUNCTION,
    "rows_from": Reason.TABLE_FUNCTION,
}


def _source(clause: Any, reasons: set[Reason]) -> tuple[tuple[str, ...], str | None]:
    if clause is None:
        reasons.add(Reason.NO_SOURCE)
        return (), None
    table = clause.this
    if not _only(clause) or type(table) is not exp.Table:
        return (), None
    if not _only(table):
        _listed(table, _TABLE_PARTS, reasons)
    part = table.args.get
    parts = [_name(at) for at in (part("catalog"), part("db"), part("this")) if at is not None]
    names = tuple([name for name in parts if name is not None])
    if isinstance(table.this, exp.Func):
        reasons.add(Reason.TABLE_FUNCTION)
    elif len(names) != len(parts):
        reasons.add(Reason.CONSTRUCT_UNKNOWN)
    alias = part("alias")
    if alias is None:
        return names, None
    if alias.args.get("columns"):
        reasons.add(Reason.COLUMN_ALIAS_LIST)
    elif not _only(alias) or _name(alias.this) is None:
        reasons.add(Reason.CONSTRUCT_UNKNOWN)
    return names, _name(alias.this)


def _name(node: Any) -> str | None:
    """Give an identifier's name, or None for anything else."""
    if type(node) is exp.Identifier and _only(node):
        return str(node.this)
    return None


def _distinct(clause: Any, reasons: set[Reason]) -> bool:
    if clause is None:
        return False
    if not _only(clause):
        reasons.add(Reason.DISTINCT_ON)
    return True


def _limit(clause: Any, reasons: set[Reason]) -> int | None:
    if clause is None:
        return None
    count = None
    if type(clause) is exp.Limit and _only(clause):
        count = _count(clause.args.get("expression"))
    elif type(clause) is exp.Fetch and _only(clause):
        options = clause.args.get("limit_options")
        if options is None or (type(options) is exp.LimitOptions and _only(options)):
            count = _count(clause.args.get("count"))
    if count is None:
        reasons.add(Reason.LIMIT_NOT_A_NUMBER)
    return count


def _offset(clause: Any, reasons: set[Reason]) -> int | None:
    if clause is None:
        return None
    count = _count(clause.args.get("expression")) if _only(clause) else None
    if count is None:
        reasons.add(Reason.LIMIT_NOT_A_NUMBER)
    return count


def _count(node: Any) -> int | None:
    if not _is_literal(node) or node.is_string or not re.fullmatch("[0-9]{1,19}", node.this):
        return None
    count = int(node.this)
    return min(count, COUNT_MAX) if count <= LIMIT_MAX else None


def _is_literal(node: Any) -> bool:
    return type(node) is exp.Literal and _only(node)


# --- group keys ---------------------------------------------------------------------------------

_GROUPING: dict[str, Reason | None] = {
    "expressions": None,
    "all": None,
    "grouping_sets": Reason.GROUPING_SETS,
    "cube": Reason.GROUPING_SETS,
    "rollup": Reason.GROUPING_SETS,
    "totals": Reason.GROUPING_SETS,
}


def _keys(group: Any, reasons: set[Reason]) -> tuple[KeyReading, ...] | None:
    if group is None:
        return ()
    _listed(group, _GROUPING, reasons)
    if group.args.get("all"):
        if group.expressions:
            reasons.add(Reason.CONSTRUCT_UNKNOWN)
        return None
    return tuple(_key(node, reasons) for node in group.expressions)


def _key(node: exp.Expr, reasons: set[Reason]) -> KeyReading:
    if isinstance(node, (exp.Cube, exp.Rollup, exp.GroupingSets)) or (
        isinstance(node, exp.Tuple) and not node.expressions
    ):
        reasons.add(Reason.GROUPING_SETS)
    if type(node) is exp.Literal and (number := _count(node)) is not None:
        return Position(number)
    column = _column(node)
    return column if isinstance(column, ColumnRef) else Found(Reason.GROUP_KEY_NOT_A_COLUMN)


# --- outputs ------------------------------------------------------------------------------------

_CALCULATIONS: dict[type[exp.Expr], Calculation] = {
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Count: "COUNT",
}
_SPELLINGS = frozenset({"mean", "count_star", "sum", "avg", "min", "max", "count"})


def _output(node: exp.Expr) -> tuple[str, OutputReading]:
    if type(node) is exp.Alias:
        name = _name(node.args.get("alias"))
        if name is None or not _only(node):
            return "", Found(Reason.EXPRESSION)
        return name, _derivation(node.this)
    made = _derivation(node)
    return (made.name if isinstance(made, ColumnRef) else ""), made


def _derivation(node: exp.Expr) -> OutputReading:
    kind = type(node)
    if kind is exp.Star:
        return Star() if _only(node) else Found(Reason.STAR_NOT_ALONE)
    if kind is exp.Column:
        return _column(node)
    if kind is exp.Paren and type(inner := _in_brackets(node)) is exp.Column:
        return _column(inner)
    if kind in _CALCULATIONS:
        return _calculation(node, _CALCULATIONS[kind])
    return Found(_what(node))


def _in_brackets(node: exp.Expr) -> exp.Expr:
    """Give what stands in brackets, however many: there, a column is still the column."""
    while type(node) is exp.Paren and _only(node):
        node = node.this
    return node


def _column(node: exp.Expr) -> ColumnRef | Found:
    if type(node) is not exp.Column:
        return Found(Reason.EXPRESSION)
    part = node.args.get
    name, table = _name(part("this")), part("table")
    qualifier = None if table is None else _name(table)
    if name is None or (table is not None and qualifier is None):
        return Found(Reason.EXPRESSION)
    if not _only(node):
        return Found(Reason.QUALIFIER_UNKNOWN)
    return ColumnRef(name, qualifier)


def _calculation(node: exp.Expr, calculation: Calculation) -> OutputReading:
    argument = node.this
    if calculation == "COUNT":
        if type(argument) is exp.Distinct:
            return Found(Reason.COUNT_DISTINCT)
        if not _only(node):
            return Found(Reason.AGGREGATE_MODIFIED)
        if argument is None or type(argument) is exp.Literal:
            return Found(Reason.AGGREGATE_SPELLING)
        if type(argument) is exp.Star:
            known = _only(argument)
            return Aggregate("COUNT", None) if known else Found(Reason.STAR_NOT_ALONE)
    elif not _only(node) or isinstance(argument, (exp.Distinct, exp.Order)):
        return Found(Reason.AGGREGATE_MODIFIED)
    column = _column(argument) if argument is not None else None
    if isinstance(column, ColumnRef):
        return Aggregate(calculation, column)
    if isinstance(argument, exp.Order):
        return Found(Reason.AGGREGATE_MODIFIED)
    return Found(Reason.AGGREGATE_ARGUMENT)


def _what(node: exp.Expr) -> Reason:
    """Name what an output is, where it is neither a column nor a calculation."""
    if (reason := _reason_of(type(node))) is not None:
        return reason
    match node:
        case exp.Literal() | exp.Boolean() | exp.Null():
            return Reason.CONSTANT
        case exp.Neg() | exp.Cast() if isinstance(node.this, exp.Literal):
            return Reason.CONSTANT
        case exp.Cast():
            return Reason.CAST
        case exp.Collate():
            return Reason.COLLATION
        case exp.IgnoreNulls(this=exp.AnyValue()):  # what sqlglot makes of a bare any_value
            return Reason.FUNCTION
        case exp.Filter() | exp.WithinGroup() | exp.IgnoreNulls() | exp.RespectNulls():
            return Reason.AGGREGATE_MODIFIED
        case exp.Neg() | exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.IntDiv() | exp.Mod():
            return Reason.ARITHMETIC
        case exp.Pow():
            return Reason.ARITHMETIC
        case exp.Anonymous() if str(node.this).lower() in _SPELLINGS:
            return Reason.AGGREGATE_SPELLING
        case exp.Dot() if isinstance(node.expression, exp.Func):
            return _what(node.expression)
        case exp.Connector():
            return Reason.EXPRESSION
        case exp.Func():
            return Reason.FUNCTION
        case _:
            return Reason.EXPRESSION


# --- the filter ---------------------------------------------------------------------------------

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TYPED_LITERALS: dict[exp.DType, str] = {
    exp.DType.DATE: "DATE",
    exp.DType.TIME: "TIME",
    exp.DType.TIMESTAMP: "TIMESTAMP",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
    exp.DType.TIMESTAMP_S: "TIMESTAMP_S",
    exp.DType.TIMESTAMP_MS: "TIMESTAMP_MS",
    exp.DType.TIMESTAMP_NS: "TIMESTAMP_NS",
    exp.DType.UUID: "UUID",
}
_NOT_STATABLE: Condition = Found(Reason.FILTER_NOT_STATABLE)


def _where(clause: exp.Expr) -> Condition:
    return _condition(clause.this) if _only(clause) else _NOT_STATABLE


def _condition(node: exp.Expr) -> Condition:
    kind = type(node)
    if kind in _OPERATORS:
        return _comparison(node, _OPERATORS[kind])
    if (kind is exp.And or kind is exp.Or) and _only(node):
        joint: typing.Literal["and", "or"] = "and" if kind is exp.And else "or"
        return Connective(joint, tuple([_condition(member) for member in _operands(node, kind)]))
    read_one = _CONDITIONS.get(kind)
    return _NOT_STATABLE if read_one is None else read_one(node)


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Give the operands of a chain of one connector, in the order written, without recursion."""
    waiting = [node]
    while waiting:
        member = waiting.pop()
        if type(member) is kind and _only(member):
            waiting.extend((member.expression, member.this))
        else:
            yield member


def _comparison(node: exp.Expr, operator: Operator) -> Condition:
    left, right = _operand(node.this), _operand(node.expression)
    if left is None or right is None or not _only(node):
        return _NOT_STATABLE
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _NOT_STATABLE
    return Comparison(left, operator, right)


def _operand(node: Any) -> ColumnRef | Literal | None:
    if type(node) is not exp.Column:
        return _literal(node)
    column = _column(node)
    return column if isinstance(column, ColumnRef) else None


def _literal(node: Any) -> Literal | None:
    kind = type(node)
    if _is_literal(node):
        return Literal("text" if node.is_string else "number", node.this)
    if kind is exp.Boolean:
        return Literal("boolean", "true" if node.this else "false") if _only(node) else None
    inner: Any = node.this if kind in (exp.Neg, exp.Cast) else None
    if not _is_literal(inner):
        return None
    if kind is exp.Neg:
        known = _only(node) and not inner.is_string
        return Literal("number", "-" + inner.this) if known else None
    to = node.args.get("to")
    known = _only(node) and type(to) is exp.DataType and _only(to)
    form = _TYPED_LITERALS.get(to.this) if known and inner.is_string else None
    return None if form is None else Literal(form, inner.this)


def _between(node: exp.Expr) -> Condition:
    column, low, high = (_operand(node.args.get(name)) for name in ("this", "low", "high"))
    if not isinstance(column, ColumnRef) or low is None or high is None:
        return _NOT_STATABLE
    return Between(column, low, high) if _only(node) else _NOT_STATABLE


def _in(node: exp.Expr) -> Condition:
    column = _column(node.this)
    values = [_literal(member) for member in node.expressions]
    known = tuple(value for value in values if value is not None)
    if isinstance(column, Found) or not known or len(known) != len(values):
        return _NOT_STATABLE
    return InList(column, known) if _only(node) else _NOT_STATABLE


def _is(node: exp.Expr) -> Condition:
    column = _column(node.this)
    null = node.expression
    if isinstance(column, Found) or type(null) is not exp.Null or not _only(null):
        return _NOT_STATABLE
    if not _only(node):
        return _NOT_STATABLE
    return Not(IsNull(column)) if node.args.get("negate") else IsNull(column)


def _like(node: exp.Expr) -> Condition:
    column, pattern = _column(node.this), _literal(node.expression)
    if isinstance(column, Found) or pattern is None or pattern.form != "text":
        return _NOT_STATABLE
    if not _only(node):
        return _NOT_STATABLE
    matched = Like(column, pattern, fold=type(node) is exp.ILike)
    return Not(matched) if node.args.get("negate") else matched


def _bare(node: exp.Expr) -> Condition:
    column = _column(node)
    return column if isinstance(column, ColumnRef) else _NOT_STATABLE


_CONDITIONS: dict[type[exp.Expr], Callable[[exp.Expr], Condition]] = {
    exp.Paren: lambda node: _condition(node.this) if _only(node) else _NOT_STATABLE,
    exp.Not: lambda node: Not(_condition(node.this)) if _only(node) else _NOT_STATABLE,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Column: _bare,
}

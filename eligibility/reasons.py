"""Every reason why a value may not be stated, typed once (specification 8).

Invariants
  R1  A code is kebab-case, says what was found, and is never renamed or reused.
  R2  Declaration order is precedence: of several reasons the earliest is reported first.
  R3  A sentence is fixed text: no cell text, no statement text, no path.
"""

from collections.abc import Iterable
from enum import StrEnum


class Reason(StrEnum):
    """One stable code with its sentence; the order below is the order of precedence.

    Attributes:
        sentence: what was found, as one fixed English sentence.
    """

    sentence: str

    def __new__(cls, code: str, sentence: str) -> "Reason":
        """Make a member whose value is its code and which carries its sentence."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member

    # What the text is, before any parser sees it.
    STATEMENT_TOO_LONG = "statement-too-long", "The statement is longer than 16 KiB."
    NOT_TEXT = "not-text", "The statement holds a NUL or is not valid Unicode text."
    BRACKETS_UNBALANCED = "brackets-unbalanced", "The brackets of the statement do not balance."
    BRACKETS_TOO_DEEP = "brackets-too-deep", "Brackets are nested more than 50 deep."
    QUOTING_UNREADABLE = (
        "quoting-unreadable",
        "The statement uses dollar quotes, prefixed strings or a quote that never closes.",
    )
    CHARACTER_UNREADABLE = (
        "character-unreadable",
        "A character outside quotes is one that parsers disagree about.",
    )

    TOKEN_UNREADABLE = (
        "token-unreadable",
        "A plus sign before a value, or IN before a bracket, is read in two ways.",
    )

    # What kind of statement it is.
    NO_STATEMENT = "no-statement", "There is no statement in the text."
    NOT_SQL = "not-sql", "The text could not be read as SQL."
    TOO_NESTED = "too-nested", "The statement is nested too deeply to be read."
    SEVERAL_STATEMENTS = "several-statements", "The text holds more than one statement."
    NOT_A_SELECT = "not-a-select", "The statement is not a SELECT."
    STATEMENT_PARENTHESISED = "statement-parenthesised", "The whole statement is in parentheses."

    # What stands anywhere in it.
    CTE = "cte", "The statement has a WITH clause."
    SET_OPERATION = "set-operation", "The statement combines several SELECTs."
    PIVOT = "pivot", "The statement pivots or unpivots."
    JOIN = "join", "The statement reads more than one table."
    SUBQUERY = "subquery", "The statement holds a query inside the query."
    WINDOW = "window", "The statement has a window function."
    QUALIFY = "qualify", "The statement has a QUALIFY clause."
    SAMPLE = "sample", "The statement reads a sample of the rows."
    VALUES = "values", "The rows come from a VALUES list."
    TABLE_FUNCTION = "table-function", "A function makes or multiplies the rows."
    TIME_TRAVEL = "time-travel", "The statement asks for another version of the table."
    COLUMN_ALIAS_LIST = "column-alias-list", "The table's columns are renamed where it is read."
    NO_SOURCE = "no-source", "The statement reads no table."
    PARAMETER = "parameter", "The statement holds a parameter."
    POSITIONAL_REFERENCE = "positional-reference", "A column is written by its position."
    COLUMNS_EXPRESSION = "columns-expression", "The statement selects columns by a pattern."
    STAR_NOT_ALONE = "star-not-alone", "A star stands beside something else or is changed."
    DISTINCT_ON = "distinct-on", "The statement keeps one row for each key of DISTINCT ON."
    GROUPING_SETS = "grouping-sets", "The statement groups by several sets of keys."
    LIMIT_NOT_A_NUMBER = "limit-not-a-number", "LIMIT or OFFSET is not a plain whole number."
    CONSTRUCT_UNKNOWN = "construct-unknown", "The statement holds something that is not listed."
    TABLE_UNKNOWN = "table-unknown", "The table is not one of the pinned tables."

    # What the engine said of it.
    TOO_MANY_COLUMNS = "too-many-columns", "The result has more than 1,000 columns."
    ENGINE_REFUSED = (
        "engine-refused",
        "Something in the statement has effects or looks beyond its tables.",
    )
    ENGINE_FAILED = "engine-failed", "The engine could not bind the statement."
    PLAN_UNREADABLE = "plan-unreadable", "The engine's plan holds something that is not listed."

    # What one output is made of.
    CONSTANT = "constant", "The value is a constant of the statement."
    ARITHMETIC = "arithmetic", "The value is calculated from other values."
    CAST = "cast", "The value is converted to another type."
    COLLATION = "collation", "The value is read under a collation."
    AGGREGATE_SPELLING = "aggregate-spelling", "The calculation is written in an unlisted way."
    COUNT_DISTINCT = "count-distinct", "The number counts different values, not rows."
    AGGREGATE_MODIFIED = (
        "aggregate-modified",
        "The calculation has DISTINCT, FILTER, ORDER BY or more than one argument.",
    )
    AGGREGATE_ARGUMENT = (
        "aggregate-argument",
        "The calculation is not over a direct column of the table.",
    )
    FUNCTION = "function", "The value is the result of a function."
    EXPRESSION = "expression", "The value is an expression, not a direct column."
    COLUMN_UNKNOWN = "column-unknown", "The pinned table has no column of that name."
    QUALIFIER_UNKNOWN = "qualifier-unknown", "The column's qualifier is not the table read."
    TYPE_NOT_STATABLE = "type-not-statable", "Values of the column's type are not stated."
    AGGREGATE_TYPE = "aggregate-type", "The calculation is not stated for the column's type."

    # What rows an aggregate is about.
    GROUP_KEY_NOT_A_COLUMN = "group-key-not-a-column", "A group key is not a direct column."
    GROUP_KEY_TYPE = "group-key-type", "A group key has a type whose equal values look different."
    GROUP_KEY_NOT_SHOWN = "group-key-not-shown", "A group key is not among the shown columns."
    FILTER_NOT_STATABLE = "filter-not-statable", "The WHERE clause holds an unlisted condition."
    FILTER_TYPE = "filter-type", "The WHERE clause compares a type whose comparison is not stated."
    FILTER_NAN = "filter-nan", "The WHERE clause compares a float column that may hold NaN."
    LITERAL_NOT_EXACT = (
        "literal-not-exact",
        "A literal does not denote exactly one value of its column's type.",
    )
    FILTER_TOO_LARGE = (
        "filter-too-large",
        "The WHERE clause is nested over 16 levels or has over 200 literals.",
    )

    READINGS_DISAGREE = (
        "readings-disagree",
        "The text and the engine's plan do not give the same derivation.",
    )

    # What one cell holds.
    CELL_NULL = "cell-null", "The cell is NULL."
    CELL_NOT_FINITE = "cell-not-finite", "The cell is NaN or infinite."
    CELL_TOO_LONG = "cell-too-long", "The cell is longer than 512 characters."
    SUM_NOT_STABLE = (
        "sum-not-stable",
        "How far the sum of floats may be off is over a millionth of it, or not known.",
    )
    GROUP_CELL_NOT_FINITE = "group-cell-not-finite", "A group key of the row is NaN or infinite."
    GROUP_CELL_TOO_LONG = "group-cell-too-long", "A group key of the row is over 512 characters."
    LINE_TOO_LONG = "line-too-long", "The fact's line would be longer than 2,000 characters."

    # Why a release is a no-answer.
    OBSERVATION_MALFORMED = "observation-malformed", "The observation is not a valid observation."
    DIGEST_MISMATCH = "digest-mismatch", "The observation does not match its digest."
    ORIGIN_MISMATCH = "origin-mismatch", "The observation is not the one the host kept."
    PREVIEW_MALFORMED = "preview-malformed", "The returned preview is not a valid preview."
    PREVIEW_DIFFERS = "preview-differs", "The returned preview differs from the observation."
    CLAIMS_MALFORMED = "claims-malformed", "The claims are not a valid list of claims."
    CLAIM_UNKNOWN = "claim-unknown", "A claim points outside the observation."
    CLAIM_DIFFERS = "claim-differs", "A claim expects another type or text than the cell holds."
    NO_CLAIMS = "no-claims", "The list of claims is empty."
    NO_ROWS = "no-rows", "The observation holds no row."
    NOTHING_ELIGIBLE = "nothing-eligible", "No claimed cell can be stated."


PRECEDENCE: dict[Reason, int] = {reason: place for place, reason in enumerate(Reason)}


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the different reasons of `reasons` in order of precedence (R2).

    Args:
        reasons: any reasons, repeated or not.

    Returns:
        Each reason once, the first in precedence first.
    """
    return tuple(sorted(set(reasons), key=PRECEDENCE.__getitem__))

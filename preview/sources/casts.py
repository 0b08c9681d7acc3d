"""How a text becomes a value of a type, exactly or not at all (specification 4.1).

DuckDB's casts take more than they say: 1.5 becomes the INTEGER 2, `2020-01-02 junk` a DATE, and a
TIMESTAMP drops the offset or the PM of its text. What a source says must not change on the way.

Invariants
  A1  A text becomes a value only where it has one of the listed forms; all else is an error.
  A2  A float takes the nearest value of any numeral: that is what a float is. It is counted.
  A3  A format of dates is followed to the letter, over the whole text.
"""

import re
from dataclasses import dataclass

import duckdb

from eligibility.sql.types import base_name
from preview.errors import SourceError
from preview.sources.classes import NumberMarks
from preview.sources.exact_text import form_of
from preview.sources.readable import literal

_REFUSED = (
    "list",
    "array",
    "struct",
    "tuple",
    "map",
    "union",
    "variant",
    "blob",
    "bit",
    "geometry",
)

# strptime's directives that are read here, and the texts each takes.
_DIRECTIVES = {
    "d": "(?:0?[1-9]|[12][0-9]|3[01])",
    "-d": "(?:[1-9]|[12][0-9]|3[01])",
    "m": "(?:0?[1-9]|1[0-2])",
    "-m": "(?:[1-9]|1[0-2])",
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "b": "(?i:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)",
    "B": "(?i:January|February|March|April|May|June|July|August|September|October|November|December)",
    "a": "(?i:Mon|Tue|Wed|Thu|Fri|Sat|Sun)",
    "A": "(?i:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "-H": "(?:1?[0-9]|2[0-3])",
    "I": "(?:0?[1-9]|1[0-2])",
    "-I": "(?:[1-9]|1[0-2])",
    "p": "(?i:AM|PM)",
    "M": "[0-5][0-9]",
    "S": "[0-5][0-9]",
    "f": "[0-9]{6}",
    "g": "[0-9]{3}",
    "n": "[0-9]{9}",
    "z": "(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)",
    "%": "%",
}
_DAY = frozenset(("d", "-d"))
_MONTH = frozenset(("m", "-m", "b", "B"))
_YEAR = frozenset(("Y", "y"))
_HOUR_24 = frozenset(("H", "-H"))
_HOUR_12 = frozenset(("I", "-I"))


@dataclass(frozen=True, slots=True)
class Cast:
    """How the texts of a column become values.

    Attributes:
        type: the DuckDB type.
        form: the pattern that a text must have; None where the engine is told by `value` alone.
        value: SQL for the value, with `{0}` for the text.
        beyond: SQL for whether a text of that form has no such value; None where all have.
    """

    type: str
    form: str | None
    value: str
    beyond: str | None = None

    def expression(self, text: str) -> str:
        """Give SQL for the value of a text, which raises where it is not exactly one.

        Args:
            text: SQL for it.

        Returns:
            The SQL; NULL stays NULL.
        """
        value = self.value.format(text)
        if self.form is None:
            return value
        fits = f"regexp_full_match({text}, {literal(self.form)})"
        if self.beyond is not None:
            fits = f"{fits} AND NOT ({self.beyond.format(text)})"
        fault = "error('a text is not of its form')"
        return f"CASE WHEN {text} IS NULL THEN NULL WHEN {fits} THEN {value} ELSE {fault} END"

    def fault(self, text: str) -> str:
        """Give the SQL condition that a text, not NULL, is not exactly a value."""
        value = f"TRY({self.value.format(text)}) IS NULL"
        if self.beyond is not None:
            value = f"({value} OR TRY({self.beyond.format(text)}))"
        if self.form is None:
            return f"({text} IS NOT NULL AND {value})"
        fits = f"regexp_full_match({text}, {literal(self.form)})"
        return f"({text} IS NOT NULL AND (NOT {fits} OR {value}))"


def found_cast(kind: str, marks: NumberMarks) -> Cast:
    """Give the cast of texts that were all seen to be values of a type that was found."""
    if kind == "VARCHAR":
        return Cast(kind, None, "{0}")
    return Cast(kind, None, f"CAST({normal(kind, marks)} AS {kind})")


def given_cast(
    connection: duckdb.DuckDBPyConnection,
    shown: str,
    column: str,
    kind: str,
    marks: NumberMarks,
) -> Cast:
    """Give the cast to a type that was asked for.

    Args:
        connection: that knows the engine's types.
        shown: how errors name the source.
        column: the name, for errors.
        kind: the type, in any spelling.
        marks: how numbers are written.

    Returns:
        The cast.

    Raises:
        SourceError: there is no such type, or texts are not read as it.
    """
    try:
        parsed = connection.sqltype(kind)
    except duckdb.Error:
        raise SourceError(
            f"{shown}: column {column}: there is no type of the name that --type gives; "
            "give a DuckDB type, as BIGINT, DECIMAL(10,2) or DATE"
        ) from None
    if parsed.id in _REFUSED:
        raise SourceError(
            f"{shown}: column {column}: no text is read as {parsed.id.upper()}; give another --type"
        )
    name = str(parsed)
    if name == "VARCHAR":
        return Cast(name, None, "{0}")
    form = form_of(base_name(name), marks)
    value = f"CAST({normal(name, marks)} AS {name})"
    if name not in ("FLOAT", "DOUBLE"):
        return Cast(name, form, value)
    # A number beyond the largest is not near to infinity.
    return Cast(name, form, value, f"isinf({value}) AND NOT contains(lower({{0}}), 'inf')")


def normal(kind: str, marks: NumberMarks) -> str:
    """Give SQL that writes a number with a point and without groups, with `{0}` for the text."""
    text = "{0}"
    if not (kind.startswith("DECIMAL") or kind.endswith("INT") or kind in _NUMBERS):
        return text
    if marks.thousands is not None:
        text = f"replace({text}, {literal(_braced(marks.thousands))}, '')"
    if marks.decimal != ".":
        text = f"replace({text}, {literal(_braced(marks.decimal))}, '.')"
    return text


_NUMBERS = ("INTEGER", "UINTEGER", "FLOAT", "DOUBLE", "BIGNUM")


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def date_cast(shown: str, column: str, form: str, given: str | None) -> Cast:
    """Give the cast of texts by a format of dates (A3).

    Args:
        shown: how errors name the source.
        column: the name, for errors.
        form: the format, in directives of strptime.
        given: the type that was asked for; None for what the format holds.

    Returns:
        The cast.

    Raises:
        SourceError: the format is of no use, or says less than a date, a time or both.
    """
    parts = re.split(r"(%(?:-?[A-Za-z%]))", form)
    directives = [part[1:] for part in parts[1::2]]
    unknown = [part for part in directives if part not in _DIRECTIVES]
    if unknown or any("%" in part for part in parts[::2]):
        raise SourceError(
            f"{shown}: column {column}: --date-format takes the directives "
            f"{' '.join('%' + name for name in _DIRECTIVES)}"
        )
    held = set(directives)
    if len(directives) - directives.count("%") != len(held - {"%"}):
        raise SourceError(f"{shown}: column {column}: a directive of --date-format repeats")
    dated = [bool(held & some) for some in (_DAY, _MONTH, _YEAR)]
    clock = bool(held & _HOUR_24) or (bool(held & _HOUR_12) and "p" in held)
    timed = clock and "M" in held
    parts_of_time = held & (_HOUR_24 | _HOUR_12 | {"p", "M", "S", "f", "g", "n", "z"})
    if not (all(dated) or (timed and not any(dated))) or (parts_of_time and not timed):
        raise SourceError(
            f"{shown}: column {column}: --date-format says less than a date, or than a time with "
            "hours and minutes; name day, month and year, as in %d/%m/%Y"
        )
    found = _type_of(held, all(dated), timed)
    kind = given or found
    pattern = "".join(
        _DIRECTIVES[part[1:]] if place % 2 else re.escape(part) for place, part in enumerate(parts)
    )
    written = _braced(literal(form))
    if found == "TIME":
        # A time alone is read on a day of its own, and the day left out.
        value = f"CAST(strptime('2000-01-01 ' || {{0}}, {_braced(literal('%Y-%m-%d ' + form))}) AS TIME)"
    else:
        value = f"CAST(strptime({{0}}, {written}) AS {found})"
    if kind != found:
        raise SourceError(
            f"{shown}: column {column}: its --date-format makes {found}, and its --type another"
        )
    return Cast(found, pattern, value)


def _type_of(held: set[str], dated: bool, timed: bool) -> str:
    if not timed:
        return "DATE"
    if not dated:
        return "TIME"
    if "z" in held:
        return "TIMESTAMP WITH TIME ZONE"
    return "TIMESTAMP_NS" if "n" in held else "TIMESTAMP"

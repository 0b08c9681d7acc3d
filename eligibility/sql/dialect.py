"""What one engine's names, types, literals and results mean; pure (specification 2 and 9).

Invariant
  D1  A dialect says what is so; what may be stated of it, `policy` says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eligibility.sql import literal
from eligibility.sql.schema import Column, casefold
from eligibility.sql.shape import Calculation, nature
from eligibility.sql.types import type_class


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine's.

    Attributes:
        name: as `Engine.name` of an observation has it.
        casefold: gives a name as the engine compares identifiers.
        exact: gives the canonical text of the one value that a literal denotes; see
            `literal.exact`.
        keeps_column: says whether bare numerals leave a column's values as they are; see
            `literal.keeps_column`.
        not_calculated: (calculation, type) that the engine calculates in another type.
    """

    name: str
    casefold: Callable[[str], str]
    exact: Callable[[Column, str, str], str | None]
    keeps_column: Callable[[Column, Sequence[str]], bool]
    not_calculated: frozenset[tuple[Calculation, str]]

    def is_exact(self, calculation: Calculation | None, result: str) -> bool:
        """Say whether a value is the exact one.

        Args:
            calculation: of what; None for a stored value.
            result: base name of the value's type.

        Returns:
            False for what is added up in binary floats.
        """
        if calculation is None:
            return True
        return not (nature(calculation) == "added" and type_class(result) == "float")


DUCKDB = Dialect(
    name="duckdb",
    casefold=casefold,
    exact=literal.exact,
    keeps_column=literal.keeps_column,
    not_calculated=frozenset({("SUM", "UHUGEINT"), ("AVG", "UHUGEINT")}),  # added up as floats
)
DIALECTS: Mapping[str, Dialect] = {DUCKDB.name: DUCKDB}

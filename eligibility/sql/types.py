"""DuckDB's scalar types: their base names, and which class of value each holds (specification 2, 6).

A base name is what DuckDB prints, with enum members left out: `DECIMAL(18,2)`, `ENUM`.
"""

import re
from functools import lru_cache
from typing import Literal

TypeClass = Literal[
    "boolean",
    "integer",
    "decimal",
    "float",
    "text",
    "enum",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
]

INTEGER_RANGES: dict[str, tuple[int, int]] = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}

# Digits of a second that each type keeps.
FRACTION_DIGITS: dict[str, int] = {
    "TIME": 6,
    "TIME_NS": 9,
    "TIMESTAMP_S": 0,
    "TIMESTAMP_MS": 3,
    "TIMESTAMP": 6,
    "TIMESTAMP_NS": 9,
    "TIMESTAMP WITH TIME ZONE": 6,
    "TIMESTAMPTZ_NS": 9,
}

# Decimal digits that a binary float is certain to keep.
FLOAT_DIGITS: dict[str, int] = {"FLOAT": 6, "DOUBLE": 15}

_CLASSES: dict[str, TypeClass] = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(INTEGER_RANGES, "integer"),
    **dict.fromkeys(FLOAT_DIGITS, "float"),
    "VARCHAR": "text",
    "ENUM": "enum",
    "DATE": "date",
    "TIME": "time",
    "TIME_NS": "time",
    "TIME WITH TIME ZONE": "timetz",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "TIMESTAMPTZ_NS": "timestamptz",
    "INTERVAL": "interval",
    "UUID": "uuid",
}

# Other spellings of the same types, as DuckDB's `duckdb_types()` lists them.
_SPELLINGS: dict[str, str] = {
    "BOOL": "BOOLEAN",
    "LOGICAL": "BOOLEAN",
    "INT1": "TINYINT",
    "INT2": "SMALLINT",
    "INT16": "SMALLINT",
    "SHORT": "SMALLINT",
    "INT": "INTEGER",
    "INT4": "INTEGER",
    "INT32": "INTEGER",
    "INTEGRAL": "INTEGER",
    "SIGNED": "INTEGER",
    "INT8": "BIGINT",
    "INT64": "BIGINT",
    "LONG": "BIGINT",
    "OID": "BIGINT",
    "INT128": "HUGEINT",
    "UINT8": "UTINYINT",
    "UINT16": "USMALLINT",
    "UINT32": "UINTEGER",
    "UINT64": "UBIGINT",
    "UINT128": "UHUGEINT",
    "FLOAT4": "FLOAT",
    "REAL": "FLOAT",
    "FLOAT8": "DOUBLE",
    "DOUBLE PRECISION": "DOUBLE",
    "TEXT": "VARCHAR",
    "STRING": "VARCHAR",
    "CHAR": "VARCHAR",
    "BPCHAR": "VARCHAR",
    "NVARCHAR": "VARCHAR",
    "CHARACTER VARYING": "VARCHAR",
    "CHARACTER": "VARCHAR",
    "DATETIME": "TIMESTAMP",
    "TIMESTAMP_US": "TIMESTAMP",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
    "TIMETZ": "TIME WITH TIME ZONE",
    "TIME WITHOUT TIME ZONE": "TIME",
    "GUID": "UUID",
    "DEC": "DECIMAL(18,3)",
    "NUMERIC": "DECIMAL(18,3)",
    "DECIMAL": "DECIMAL(18,3)",
}

_ASCII_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DECIMAL = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\s*\(\s*([0-9]{1,2})\s*(?:,\s*([0-9]{1,2})\s*)?\)")
_SIZED_TEXT = re.compile(
    r"((?:N?VARCHAR|BPCHAR|CHAR|CHARACTER|CHARACTER VARYING))\s*\(\s*[0-9]+\s*\)"
)


@lru_cache(maxsize=1024)
def type_class(base: str) -> TypeClass | None:
    """Say which class of value a base type holds.

    Args:
        base: a base type name as DuckDB prints it.

    Returns:
        The class, or None for a type whose values are not stated (specification 2, Column).
    """
    if decimal_size(base) is not None:
        return "decimal"
    return _CLASSES.get(base)


@lru_cache(maxsize=1024)
def decimal_size(base: str) -> tuple[int, int] | None:
    """Give the width and scale of a DECIMAL type, in digits; None for any other type."""
    match = _DECIMAL.fullmatch(base)
    return (int(match[1]), int(match[2] or 0)) if match else None


def base_name(written: str) -> str:
    """Give the base name of a type as somebody may write it by hand.

    Args:
        written: a type name in any case, such as `bigint`, `text`, `numeric(10, 2)`.

    Returns:
        DuckDB's own name where it is a known spelling; else the text with the letters of ASCII in
        upper case, which then has no class and is withheld.
    """
    upper = " ".join(written.translate(_ASCII_UPPER).split())
    match = _DECIMAL.fullmatch(upper)
    if match:
        return f"DECIMAL({int(match[1])},{int(match[2] or 0)})"
    sized = _SIZED_TEXT.fullmatch(upper)
    if sized:
        return "VARCHAR"
    return _SPELLINGS.get(upper, upper)

"""The pinned data sets of the judges: what is stored is known here, before any engine saw it.

Invariants
  D1  A cell is written once, as text, in this file's values; the judges read it from here and the
      database file is filled from here. What the engine says of it is never asked.
  D2  In the tainted tables a text stands in one cell of one column of one table only (NULL and
      Boolean cells aside), and a VARCHAR names its own table, column and row.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import count
from pathlib import Path

import duckdb

import preview

Path2 = tuple[str, str]
Stored = bool | int | float | str | Fraction


@dataclass(frozen=True)
class Column:
    """One stored column.

    Attributes:
        name: native.
        kind: the DuckDB type it is created with; enum members included.
        texts: one text a row, None for NULL.
    """

    name: str
    kind: str
    texts: tuple[str | None, ...]

    @cached_property
    def base(self) -> str:
        """The type without members, fields or elements."""
        return self.kind if self.kind.startswith("DECIMAL") else self.kind.split("(")[0]

    @cached_property
    def places(self) -> dict[Stored | None, frozenset[int]]:
        """The rows of every value; NaN is one value, under the key `nan`."""
        places: dict[Stored | None, set[int]] = {}
        for row, value in enumerate(self.values):
            places.setdefault(value if value == value else "nan", set()).add(row)
        return {value: frozenset(rows) for value, rows in places.items()}

    def rows_of(self, value: Stored | None) -> frozenset[int]:
        """Give the rows that hold a value, or NULL."""
        return self.places.get(value if value == value else "nan", frozenset())

    @cached_property
    def values(self) -> tuple[Stored | None, ...]:
        """The cells as values of this language."""
        return tuple(None if text is None else value_of(self.base, text) for text in self.texts)


@dataclass(frozen=True)
class Data:
    """One stored table: (schema, table) and its columns."""

    path: Path2
    columns: tuple[Column, ...]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.columns[0].texts)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Columns by native name."""
        return {column.name: column for column in self.columns}


# --- texts to values ----------------------------------------------------------------------------

INTEGERS = frozenset(
    f"{sign}{size}"
    for sign in ("", "U")
    for size in "TINYINT SMALLINT INTEGER BIGINT HUGEINT".split()
)
FLOATS = ("FLOAT", "DOUBLE")


def value_of(base: str, text: str) -> Stored:
    """Give the value of a type's text: exact numbers, nanoseconds, days, truth, or the text."""
    if base in INTEGERS or base.startswith("DECIMAL"):
        return Fraction(text)
    if base in FLOATS:
        number = float(text)
        return struct.unpack("f", struct.pack("f", number))[0] if base == "FLOAT" else number
    if base == "BOOLEAN":
        return {"true": True, "false": False}[text.lower()]
    if base == "DATE":
        return _days(text)
    if base.startswith("TIMESTAMP"):
        return _stamp(text)
    if base in ("TIME", "TIME_NS"):
        return _clock(text)
    return text


def _days(text: str) -> int:
    year, month, day = map(int, text.split("-"))
    return date(year, month, day).toordinal()


def _clock(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    whole, _, fraction = seconds.partition(".")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 10**9 + int(
        fraction.ljust(9, "0") or 0
    )


def _stamp(text: str) -> int:
    day, _, rest = text.partition(" ")
    sign = next((mark for mark in "+-" if mark in rest), None)
    clock, _, offset = rest.partition(sign) if sign else (rest, "", "")
    if rest.endswith("Z"):
        clock = rest[:-1]
    shift = 0
    if offset:
        hours, _, minutes = offset.partition(":")
        shift = (int(hours) * 3600 + int(minutes or 0) * 60) * (1 if sign == "+" else -1)
    nanoseconds = _clock(clock) if clock else 0
    return _days(day) * 86_400 * 10**9 + nanoseconds - shift * 10**9


# --- tainted tables -----------------------------------------------------------------------------

TAINTED_ROWS = 7

# Each kind has its own region of values, so that no text stands for two cells.
_REGIONS = {
    "TINYINT": lambda n: str(n - 128),
    "UTINYINT": lambda n: str(156 + n),
    "SMALLINT": lambda n: str(n - 32_768),
    "USMALLINT": lambda n: str(60_000 + n),
    "INTEGER": lambda n: str(1_000_000 + n),
    "UINTEGER": lambda n: str(4_000_000_000 + n),
    "BIGINT": lambda n: str(5_000_000_000 + n),
    "UBIGINT": lambda n: str(18_000_000_000_000_000_000 + n),
    "HUGEINT": lambda n: str(10**30 + n),
    "UHUGEINT": lambda n: str(3 * 10**38 + n),
    "DECIMAL(4,1)": lambda n: f"{100 + n // 10}.{n % 10}",
    "DECIMAL(18,2)": lambda n: f"{70_000 + n}.25",
    "DECIMAL(38,10)": lambda n: f"{90_000 + n}.0123456789",
    "FLOAT": lambda n: f"{2_048 + n}.5",
    "DOUBLE": lambda n: f"{9_000_000 + n}.0625",
    "DATE": lambda n: date.fromordinal(693_596 + n).isoformat(),
    "TIME": lambda n: f"01:{n // 60:02}:{n % 60:02}.000001",
    "TIME_NS": lambda n: f"02:{n // 60:02}:{n % 60:02}.000000001",
    "TIME WITH TIME ZONE": lambda n: f"03:{n // 60:02}:{n % 60:02}+00",
    "TIMESTAMP": lambda n: f"2000-01-01 00:{n // 60:02}:{n % 60:02}",
    "TIMESTAMP_S": lambda n: f"2001-01-01 00:{n // 60:02}:{n % 60:02}",
    "TIMESTAMP_MS": lambda n: f"2002-01-01 00:{n // 60:02}:{n % 60:02}.125",
    "TIMESTAMP_NS": lambda n: f"2003-01-01 00:{n // 60:02}:{n % 60:02}.000000125",
    "TIMESTAMP WITH TIME ZONE": lambda n: f"2004-01-01 00:{n // 60:02}:{n % 60:02}+00",
    "INTERVAL": lambda n: f"{n + 2} days",
    "UUID": lambda n: f"00000000-0000-4000-8000-{n:012x}",
}
_SERIALS = {kind: count() for kind in (*_REGIONS, "BOOLEAN", "ENUM")}


def _tainted(path: Path2, columns: dict[str, str], nulls: bool = True) -> Data:
    made = []
    for place, (name, kind) in enumerate(columns.items()):
        texts: list[str | None] = []
        for row in range(TAINTED_ROWS):
            if kind == "VARCHAR":
                texts.append(f"{path[0]}/{path[1]}/{name}/{row}")
            elif kind == "BOOLEAN":
                texts.append("true" if (row + place) % 2 else "false")
            elif kind == "ENUM":
                texts.append(f"member {next(_SERIALS[kind])}")
            elif kind in _REGIONS:
                texts.append(_REGIONS[kind](next(_SERIALS[kind])))
            else:  # a nested or binary kind: never stated
                texts.append(None if kind != "BLOB" else f"blob{row}")
        members = ", ".join(f"'{text}'" for text in reversed(texts))
        if nulls and place % 3 == 1:
            texts[place % TAINTED_ROWS] = None
        made.append(Column(name, f"ENUM({members})" if kind == "ENUM" else kind, tuple(texts)))
    return Data(path, tuple(made))


_EVERY_KIND = {
    "bo": "BOOLEAN",
    "ti": "TINYINT",
    "uti": "UTINYINT",
    "si": "SMALLINT",
    "usi": "USMALLINT",
    "i": "INTEGER",
    "ui": "UINTEGER",
    "bi": "BIGINT",
    "ubi": "UBIGINT",
    "hi": "HUGEINT",
    "uhi": "UHUGEINT",
    "d1": "DECIMAL(4,1)",
    "d2": "DECIMAL(18,2)",
    "d3": "DECIMAL(38,10)",
    "f": "FLOAT",
    "d": "DOUBLE",
    "s": "VARCHAR",
    "en": "ENUM",
    "dt": "DATE",
    "tm": "TIME",
    "tns": "TIME_NS",
    "ttz": "TIME WITH TIME ZONE",
    "ts": "TIMESTAMP",
    "ts_s": "TIMESTAMP_S",
    "ts_ms": "TIMESTAMP_MS",
    "ts_ns": "TIMESTAMP_NS",
    "tstz": "TIMESTAMP WITH TIME ZONE",
    "iv": "INTERVAL",
    "uu": "UUID",
    "bl": "BLOB",
    "li": "INTEGER[]",
    "kinds": "STRUCT(i INTEGER, bi BIGINT)",
}

# Names that look alike, or like something else: keywords, functions, places, spaces, other letters.
_LOOK_ALIKE = (
    "a|A\u0301|\u00e1|a |k|\u212a|i\u0307|\u0130|\u0131|\uff41|\u0430|e\u0301|\u00e9|\u00c9|a\u200b"
).split("|")
_WORDS = (
    "sum|count|min|user|current_date|true|all|*|null|date|select|#1|columns|1|u.a|rowid|distinct"
).split("|")

_TAINTED_INTEGERS = dict.fromkeys("abc", "INTEGER")

TAINTED = (
    _tainted(("main", "kinds"), _EVERY_KIND),
    _tainted(
        ("main", "t"), {"a": "INTEGER", "b": "VARCHAR", "c": "INTEGER", "t": "STRUCT(a INTEGER)"}
    ),
    _tainted(("main", "T2"), {"A": "INTEGER", "B b": "VARCHAR", 'q"q': "INTEGER", "s's": "DOUBLE"}),
    _tainted(("other", "t"), {"a": "INTEGER", "b": "VARCHAR", "c": "INTEGER"}),
    _tainted(("t", "t"), {"b": "INTEGER", "a": "VARCHAR"}),
    _tainted(("snapshot", "t"), {"c": "INTEGER", "b": "VARCHAR", "a": "INTEGER"}),
    _tainted(("main", "main.t"), {"a": "INTEGER", "b": "VARCHAR"}),
    _tainted(("other", "lone"), _TAINTED_INTEGERS),
    _tainted(("main", "u"), dict.fromkeys(_LOOK_ALIKE, "INTEGER") | {"s": "VARCHAR"}),
    _tainted(("main", "words"), dict.fromkeys(_WORDS, "INTEGER") | {"s": "VARCHAR"}),
)


# --- tables for recomputation -------------------------------------------------------------------


def _cycled(rows: int, *cells: str | None) -> tuple[str | None, ...]:
    return tuple(cells[row % len(cells)] for row in range(rows))


def _numbers(path: Path2, rows: int) -> Data:
    columns = {
        "a": ("INTEGER", ("1", "2", None, "3", "-2147483648", "2147483647", "0")),
        "c": ("INTEGER", ("2", "2", "1", None, "0")),
        "ti": ("TINYINT", ("127", "-128", "1", None)),
        "ub": ("UBIGINT", ("0", "18446744073709551615", None, "1", "2")),
        "bi": ("BIGINT", ("9223372036854775807", "-9223372036854775808", None, "1")),
        "hi": ("HUGEINT", ("0", "1", "-170141183460469231731687303715884105727", None)),
        "uh": ("UHUGEINT", ("340282366920938463463374607431768211455", "0", None)),
        "d1": ("DECIMAL(4,1)", ("1.3", "1.2", "-0.1", None, "999.9", "1.0")),
        "d2": ("DECIMAL(4,1)", ("1.3", "1.2", None, "1.0")),
        "dw": ("DECIMAL(38,2)", ("0.01", "9999999999999999999999999999999999.99", None, "-0.01")),
        "f": ("FLOAT", ("0.1", "-0.0", "0.0", "16777216.0", None, "1.5")),
        "d": ("DOUBLE", ("0.1", "-0.0", "0.0", "1e16", "-1e16", None, "1.0")),
        "e": ("DOUBLE", ("0.1", "0.2", "0.3", None, "1e16")),
        "nan": ("DOUBLE", ("nan", "1.0", None, "-0.0", "2.5")),
        "inf": ("DOUBLE", ("1.0", "inf", None, "2.0", "-inf", "3.0", "4.0", "5.0", "6.0")),
        "g": ("VARCHAR", ("x", None, "y", "x", "X")),
        "h": ("INTEGER", ("1", "1", None, "2")),
        "bo": ("BOOLEAN", ("true", "false", None)),
        "bp": ("BOOLEAN", ("true", "true", "false", None, "false")),
        "z": ("INTEGER", (None,)),
    }
    return Data(
        path,
        tuple(Column(name, kind, _cycled(rows, *cells)) for name, (kind, cells) in columns.items()),
    )


_WORDS_STORED = (
    "a|A||b| a|a |1|1.4|\u0130|i|\u0131|\u00e4|\u00c4|%|_|a%|ab|it's|\\|a\\b|nan|NULL|\ud7ff|\U0001f600|"
    "\ufb01|\u1e9e|\u00df|\u03a3|\u03c2|a\u0301|\u00e1"
).split("|")


def _texts_and_times(path: Path2, rows: int) -> Data:
    members = "'z', 'a', 'm', ''"
    columns = {
        "s": ("VARCHAR", (*_WORDS_STORED, None)),
        "s2": ("VARCHAR", ("a", "A", None, "b", "1")),
        "en": (f"ENUM({members})", ("z", "a", None, "m", "")),
        "en2": (f"ENUM({members})", ("a", "a", None)),
        "dt": (
            "DATE",
            ("2020-01-01", "2020-01-02", None, "1999-12-31", "0001-01-01", "9999-12-31"),
        ),
        "dt2": ("DATE", ("2020-01-01", None, "2020-01-03")),
        "tm": ("TIME", ("00:00:00", "23:59:59.999999", "12:00:00", None, "12:00:00.5")),
        "tns": ("TIME_NS", ("12:00:00.000000001", "12:00:00", None)),
        "ts": (
            "TIMESTAMP",
            ("2020-01-01 00:00:00", "2020-01-01 23:59:59", "2020-01-01 00:00:00.000001", None),
        ),
        "ts_s": ("TIMESTAMP_S", ("2020-01-01 00:00:00", "2020-01-01 00:00:01", None)),
        "ts_ms": ("TIMESTAMP_MS", ("2020-01-01 00:00:00", "2020-01-01 00:00:00.001", None)),
        "ts_ns": (
            "TIMESTAMP_NS",
            ("2020-01-01 00:00:00", "2020-01-01 00:00:00.000000001", None, "1999-12-31 23:59:59"),
        ),
        "tz": (
            "TIMESTAMP WITH TIME ZONE",
            ("2020-01-01 00:00:00+00", "2019-12-31 22:00:00+00", None, "2020-01-01 00:00:00.5+00"),
        ),
        "uu": (
            "UUID",
            (
                "00000000-0000-4000-8000-000000000001",
                "ffffffff-ffff-4fff-bfff-ffffffffffff",
                None,
            ),
        ),
        "iv": ("INTERVAL", ("1 month", "30 days", None)),
        "n": ("INTEGER", ("1", "2", "3", None, "5", "8", "13")),
        "bo": ("BOOLEAN", ("true", None, "false", "false")),
    }
    return Data(
        path,
        tuple(Column(name, kind, _cycled(rows, *cells)) for name, (kind, cells) in columns.items()),
    )


RECOMPUTED = (
    _numbers(("main", "n"), 23),
    _texts_and_times(("main", "x"), 61),
    _numbers(("main", "n50"), 50),
    Data(("main", "n0"), (Column("a", "INTEGER", ()), Column("s", "VARCHAR", ()))),
    Data(
        ("side", "n"),
        (Column("a", "INTEGER", ("7", None, "7")), Column("g", "VARCHAR", ("x", "y", None))),
    ),
)

SETS = {"tainted": TAINTED, "recomputed": RECOMPUTED}


# --- pinning ------------------------------------------------------------------------------------


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _fill(connection: duckdb.DuckDBPyConnection, tables: tuple[Data, ...]) -> None:
    """Create the tables as `source0`, `source1`, ..., and put every cell in by a cast of its text."""
    for place, table in enumerate(tables):
        listed = ", ".join(f"{_quoted(c.name)} {c.kind}" for c in table.columns)
        connection.execute(f"CREATE TABLE source{place} ({listed})")
        casts = ", ".join(f"CAST(?::VARCHAR AS {c.kind})" for c in table.columns)
        for row in zip(*(c.texts for c in table.columns), strict=True):
            connection.execute(f"INSERT INTO source{place} VALUES ({casts})", list(row))


def pin_set(tables: tuple[Data, ...], folder: Path) -> preview.Snapshot:
    """Pin a data set below a folder, which has to be there."""
    source = folder / "source.duckdb"
    with duckdb.connect(str(source)) as connection:
        _fill(connection, tables)
    return preview.pin(
        {table.path: f"{source}::source{place}" for place, table in enumerate(tables)},
        into=folder / "pinned",
    )


def owners(tables: tuple[Data, ...]) -> Iterator[tuple[str, Path2, str, int]]:
    """Give every cell that is told by its text: (text, table, column, row)."""
    for table in tables:
        for column in table.columns:
            if column.kind != "BOOLEAN":
                for row, text in enumerate(column.texts):
                    if text is not None:
                        yield text, table.path, column.name, row

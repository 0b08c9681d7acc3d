"""Snapshots of small tables, and values of every type, for the tests that need them."""

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

import preview


def database(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
    return path


def csv(path: Path, text: str) -> Path:
    path.write_text(text, newline="")
    return path


def pin_one(source: Any, folder: Path, **options: Any) -> preview.Snapshot:
    return preview.pin({"t": source}, into=folder / os.urandom(4).hex(), **options)


def rows_of(made: preview.Snapshot, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(made.database), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'").fetchall()
        return connection.execute(query).fetchall()


def source_of(made: preview.Snapshot, table: str = "t") -> Any:
    """Give what is recorded of a table's source, of whatever kind."""
    (found,) = [one for one in made.manifest.sources if one.path == ("main", table)]
    return found


def types_of(made: preview.Snapshot) -> dict[str, str]:
    return {column.name: column.type for column in made.pins[0].columns}


def refused(source: Any, folder: Path, **options: Any) -> str:
    """Pin what cannot be pinned, see that nothing is left, and give the message."""
    with pytest.raises(preview.SourceError) as caught:
        preview.pin({"t": source}, into=folder / "refused", **options)
    assert not [path for path in folder.iterdir() if path.name.startswith((".pinning", "refused"))]
    assert str(folder) not in str(caught.value)
    return str(caught.value)


def writable(path: Path) -> Path:
    path.chmod(0o644)
    return path


def flip(path: Path, place: int) -> None:
    data = bytearray(writable(path).read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def split(listed: str) -> list[str]:
    """Split at the commas outside brackets and quotes."""
    parts, depth, quote = [""], 0, False
    for character in listed:
        quote ^= character == "'"
        if not quote:
            depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


# For each type, values that all differ, extremes among them.
VALUES = {
    "BOOLEAN": "true, false",
    "TINYINT": "-128, 0, 127",
    "SMALLINT": "-32768, 0, 32767",
    "INTEGER": "-2147483648, 0, 2147483647",
    "BIGINT": "-9223372036854775808, 0, 9223372036854775807",
    "HUGEINT": "'-170141183460469231731687303715884105728', 0, "
    "'170141183460469231731687303715884105727', '100000000000000000000000000000000000000'",
    "UTINYINT": "0, 255",
    "USMALLINT": "0, 65535",
    "UINTEGER": "0, 4294967295",
    "UBIGINT": "0, 18446744073709551615",
    "UHUGEINT": "0, '340282366920938463463374607431768211455'",
    "FLOAT": "0.0, '-0.0', 'nan', '-nan', 'inf', '-inf', 1e-45, 0.1",
    "DOUBLE": "0.0, '-0.0', 'nan', '-nan', 'inf', '-inf', 5e-324, 0.1, 0.1::FLOAT",
    "DECIMAL(1,0)": "-9, 0, 9",
    "DECIMAL(4,2)": "-99.99, 0, 99.99",
    "DECIMAL(9,0)": "-999999999, 0, 999999999",
    "DECIMAL(18,9)": "-999999999.999999999, 0, 0.000000001",
    "DECIMAL(38,0)": "'-99999999999999999999999999999999999999', 0, "
    "'99999999999999999999999999999999999999'",
    "VARCHAR": "'', ' ', 'a', chr(0), 'a' || chr(0), '🦆', 'é', 'e' || chr(769), repeat('x', 5000)",
    "BLOB": "'', '\\x00', '\\x00\\x00', '\\xFF'",
    "BIT": "'0', '1', '00', '00000000', '000000000'",
    "BIGNUM": "0, -1, 1, '-' || repeat('9', 60), repeat('9', 60)",
    "DATE": "'1970-01-01', 'infinity', '-infinity', '5877642-06-25 (BC)', '5881580-07-10'",
    "TIME": "'00:00:00', '24:00:00', '23:59:59.999999'",
    "TIME_NS": "'00:00:00', '24:00:00', '23:59:59.999999999'",
    "TIME WITH TIME ZONE": "'12:00:00+00', '12:00:00+01', '11:00:00+00', '12:00:00-15:59:59'",
    "TIMESTAMP": "'1970-01-01', 'infinity', '-infinity', '290309-12-22 (BC) 00:00:00', "
    "'1970-01-01 00:00:00.000001'",
    "TIMESTAMP_S": "'1970-01-01', 'infinity', '-infinity', '1970-01-01 00:00:01'",
    "TIMESTAMP_MS": "'1970-01-01', 'infinity', '-infinity', '1970-01-01 00:00:00.001'",
    "TIMESTAMP_NS": "'1970-01-01', 'infinity', '-infinity', '1970-01-01 00:00:00.000000001'",
    "TIMESTAMP WITH TIME ZONE": "'1970-01-01 00:00:00+00', 'infinity', '1970-01-01 00:00:00+01'",
    "TIMESTAMPTZ_NS": "'1970-01-01 00:00:00+00', '1970-01-01 00:00:00.000000001+00'",
    "INTERVAL": "INTERVAL 1 MONTH, INTERVAL 30 DAY, INTERVAL 720 HOUR, INTERVAL 0 DAY, "
    "to_microseconds(9223372036854775807), to_microseconds(9223372036854775806), "
    "to_microseconds(-9223372036854775807), INTERVAL (-13) MONTH, INTERVAL (-11) MONTH",
    "UUID": "'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    "ENUM('a', 'b', 'it''s')": "'a', 'b', 'it''s'",
    "JSON": "'1', '1.0', '\"1\"', 'null', '{\"a\":1}'",
    '"NULL"': "",
    "GEOMETRY": "'POINT(0 0)', 'POINT(0 1)', 'POINT EMPTY'",
    "INTEGER[]": "[], [NULL], [NULL, NULL], [1], [1, 2]",
    "INTEGER[][]": "[], [[]], [[], []], [NULL], [[1], [2]], [[1, 2]], [[1, 2], []]",
    "VARCHAR[]": "['a', 'b'], ['ab', ''], ['', 'ab'], ['a, b']",
    "FLOAT[2]": "[0.0, 1.0], [1.0, 0.0], [NULL, 1.0], [0.0, NULL]",
    'STRUCT(a INTEGER, "b ""c" VARCHAR)': "{'a': NULL, 'b \"c': NULL}, {'a': 1, 'b \"c': NULL}, "
    "{'a': NULL, 'b \"c': 'x'}",
    "TUPLE(INTEGER, BOOLEAN)": "row(1, true), row(1, NULL), row(NULL, true)",
    "MAP(VARCHAR, INTEGER)": "MAP {}, MAP {'a': 1}, MAP {'a': NULL}, MAP {'a': 1, 'b': 2}, "
    "MAP {'b': 2, 'a': 1}",
    "UNION(a INTEGER, b VARCHAR)": "union_value(a := 1), union_value(a := NULL::INTEGER), "
    "union_value(b := '1'), union_value(b := NULL::VARCHAR)",
    "UNION(a INTEGER, b VARCHAR)[]": "[union_value(a := NULL::INTEGER)], "
    "[union_value(b := NULL::VARCHAR)], [NULL], []",
    "STRUCT(i INTERVAL, n DOUBLE)": "{'i': INTERVAL 1 MONTH, 'n': 0.0}, "
    "{'i': INTERVAL 30 DAY, 'n': 0.0}, {'i': INTERVAL 30 DAY, 'n': '-0.0'}",
    "VARIANT": "1, 1::TINYINT, '1', DATE '2020-01-01', '2020-01-01', true, 1.0::DOUBLE, "
    "{'a': 1}, {'a': '1'}, {'b': 1}, [1], INTERVAL 1 MONTH, INTERVAL 30 DAY, 1::HUGEINT << 100, "
    "'12:00:00+02'::TIMETZ, '0101'::BIT, {'a': DATE '2020-01-01'}, {'a': '2020-01-01'}",
}

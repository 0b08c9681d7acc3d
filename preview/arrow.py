"""An observation as a typed Arrow table, for people who want to calculate with it (specification 6).

Invariants
  A1  Every value is exact. It goes from the engine's text to Arrow's own parser, never through a
      Python number or date.
  A2  A column whose type has no exact form in Arrow, or one of whose values has none, stays text
      as a whole.
"""

import re
from collections.abc import Callable, Sequence
from uuid import UUID

import pyarrow as pa

from eligibility.sql.observation import Observation
from eligibility.sql.types import decimal_size

_TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(),
    "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(),
    # Arrow has no integers of 128 bits; 39 digits hold them all.
    "HUGEINT": pa.decimal256(39, 0),
    "UHUGEINT": pa.decimal256(39, 0),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP_S": pa.timestamp("s"),
    "TIMESTAMP_MS": pa.timestamp("ms"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP_NS": pa.timestamp("ns"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    "TIMESTAMPTZ_NS": pa.timestamp("ns", "UTC"),
}
_ESCAPED = re.compile(rb"\\x([0-9A-F]{2})")

Texts = Sequence[str | None]


def to_arrow(observation: Observation) -> pa.Table:
    """Give the rows of an observation as a typed table (specification 6).

    Times of day become `time64`, HUGEINT and UHUGEINT `decimal256(39, 0)`, UUID Arrow's own, BLOB
    `binary`, ENUM plain text. These stay text: INTERVAL, TIME WITH TIME ZONE, BIT, BIGNUM, JSON,
    nested and any other types, and a column that holds what its Arrow type cannot: an infinite
    date, a year before 0 or after 9999, `24:00:00`, a timestamp outside the range of its unit.

    Args:
        observation: any observation.

    Returns:
        A table with a column for each of the observation's, by position, under the same name. The
        engine's type stands in the field's metadata, under `type`.
    """
    fields, arrays = [], []
    for column in observation.columns:
        texts = [row[column.position].text for row in observation.rows]
        array = _array(texts, column.type)
        arrays.append(array)
        fields.append(pa.field(column.name, array.type, metadata={"type": column.type}))
    return pa.table(arrays, schema=pa.schema(fields))


def _array(texts: Texts, kind: str) -> pa.Array:
    try:
        size = decimal_size(kind)
        if size is not None:
            return _cast(texts, pa.decimal128(*size))
        if kind in _TYPES:
            return _cast(texts, _TYPES[kind])
        if kind in _MADE:
            return _MADE[kind](texts)
    except (pa.ArrowInvalid, ValueError):
        pass  # A2
    return pa.array(texts, pa.string())


def _cast(texts: Texts, to: pa.DataType) -> pa.Array:
    return pa.array(texts, pa.string()).cast(to)


def _times(texts: Texts, unit: str) -> pa.Array:
    # Arrow reads no bare time of day.
    moments = [None if text is None else f"1970-01-01 {text}" for text in texts]
    return _cast(moments, pa.timestamp(unit)).cast(pa.time64(unit))


def _uuids(texts: Texts) -> pa.Array:
    values = [None if text is None else UUID(text).bytes for text in texts]
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(values, pa.binary(16)))


def _blobs(texts: Texts) -> pa.Array:
    return pa.array([None if text is None else _bytes(text) for text in texts], pa.binary())


def _bytes(text: str) -> bytes:
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode("ascii"))


_MADE: dict[str, Callable[[Texts], pa.Array]] = {
    "TIME": lambda texts: _times(texts, "us"),
    "TIME_NS": lambda texts: _times(texts, "ns"),
    "UUID": _uuids,
    "BLOB": _blobs,
    "NULL": lambda texts: pa.array(texts, pa.null()),
}

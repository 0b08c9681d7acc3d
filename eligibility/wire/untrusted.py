"""JSON that comes from outside → a boundary value, or where it is malformed (specification 10).

Invariants
  J1  JSON from outside is read by `from_json` alone: bounded in size and depth, no duplicate key,
      no NaN.
  J2  An error names a JSON pointer of schema fields and never a value.
"""

import json
import re
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

JSON_BYTES_MAX = 5 * 1024 * 1024
JSON_NESTING_MAX = 48


class EvidenceError(ValueError):
    """JSON from outside is not what it should be; `pointer` says where (specification 10)."""

    def __init__(self, pointer: str, problem: str) -> None:
        """Keep the JSON pointer and a fixed sentence that holds no value of the input."""
        super().__init__(f"{pointer or '/'}: {problem}")
        self.pointer = pointer
        self.problem = problem


Parsed = TypeVar("Parsed")
# A text without its closing quote matches up to the end of the input. Were it no match, the search
# would start again at each quote in it: quadratic time, hours for 5 MiB.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_ALL_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class _Pairs(list[tuple[str, Any]]):
    """An object's members as they were written, repeated keys included."""


def from_json(
    kind: type[Parsed] | TypeAdapter[Parsed],
    data: bytes | str,
    *,
    bytes_max: int = JSON_BYTES_MAX,
) -> Parsed:
    """Read one boundary value from JSON that comes from outside (J1).

    Args:
        kind: a boundary model, or an adapter of one.
        data: JSON text, at most `bytes_max` bytes of UTF-8.
        bytes_max: the limit, in bytes.

    Returns:
        The value.

    Raises:
        EvidenceError: for anything else; the message holds a pointer of schema fields and a
            fixed sentence.
    """
    form: Any = kind
    adapter: TypeAdapter[Parsed] = kind if isinstance(kind, TypeAdapter) else _adapter(form)
    raw = _checked_bytes(data, bytes_max)
    repeats: list[bool] = []
    plain = _loaded(raw, repeats)
    if repeats:
        _without_duplicates(_loaded(raw, None), (), _field_names(adapter))
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        raise _located(error, plain, _field_names(adapter)) from None


def _loaded(raw: bytes, repeats: list[bool] | None) -> Any:
    """Load JSON; note in `repeats` that a key is repeated, or keep all members for None."""

    def members(pairs: list[tuple[str, Any]]) -> Any:
        if repeats is None:
            return _Pairs(pairs)
        made = dict(pairs)
        if len(made) != len(pairs):
            repeats.append(True)
        return made

    try:
        return json.loads(raw, object_pairs_hook=members, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, EvidenceError):
            raise
        raise EvidenceError("", "this is not valid JSON") from None


def _checked_bytes(data: bytes | str, bytes_max: int) -> bytes:
    try:
        raw = data.encode() if isinstance(data, str) else bytes(data)
        raw.decode()
    except UnicodeError:
        raise EvidenceError("", "this is not UTF-8 text") from None
    if len(raw) > bytes_max:
        raise EvidenceError("", f"this is larger than {bytes_max} bytes")
    if _is_too_deep(raw):
        raise EvidenceError("", f"this is nested deeper than {JSON_NESTING_MAX}")
    return raw


def _is_too_deep(raw: bytes) -> bool:
    brackets = _STRING.sub(b"", raw).translate(_ALL_SQUARE, _NO_BRACKETS)
    rest = brackets
    for _ in range(JSON_NESTING_MAX):  # what is well-formed shrinks to nothing, level by level
        rest = rest.replace(b"[]", b"")
        if not rest:
            return False
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket == ord("[") else -1
        if depth > JSON_NESTING_MAX:
            return True
    return False


def _no_constant(_: str) -> None:
    raise EvidenceError("", "NaN and Infinity are not JSON")


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@lru_cache(maxsize=64)
def _field_names(adapter: TypeAdapter[Any]) -> frozenset[str]:
    schema = adapter.json_schema()
    names: set[str] = set(schema.get("properties", {}))
    for part in schema.get("$defs", {}).values():
        names.update(part.get("properties", {}))
    return frozenset(names)


def _pointer(path: tuple[str | int, ...], known: frozenset[str]) -> str:
    shown: list[str] = []
    for part in path:
        if isinstance(part, str) and part not in known:
            break
        shown.append(str(part))
    return "".join(f"/{part}" for part in shown)


def _without_duplicates(tree: Any, path: tuple[str | int, ...], known: frozenset[str]) -> Any:
    if isinstance(tree, _Pairs):
        if len({key for key, _ in tree}) != len(tree):
            raise EvidenceError(_pointer(path, known), "a key is repeated")
        return {k: _without_duplicates(v, (*path, k), known) for k, v in tree}
    if isinstance(tree, list):
        return [_without_duplicates(v, (*path, i), known) for i, v in enumerate(tree)]
    return tree


def _located(error: ValidationError, tree: Any, known: frozenset[str]) -> EvidenceError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    kind, here, path = first["type"], tree, []
    for part in first["loc"]:
        # Tags of unions stand in `loc` too; only what leads into the data is followed.
        if isinstance(here, dict) and part in here:
            here = here[part]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif not (kind == "missing" and part == first["loc"][-1]):
            continue
        path.append(part)
    if kind == "extra_forbidden":
        return EvidenceError(_pointer(tuple(path[:-1]), known), "there is an unknown field")
    if kind == "missing":
        return EvidenceError(_pointer(tuple(path), known), "this field is missing")
    return EvidenceError(_pointer(tuple(path), known), "this value is not of the right form")

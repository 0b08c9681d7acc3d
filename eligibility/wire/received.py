"""What was given, whatever it is → a boundary value, or where it is malformed (specification 7, 10).

Invariants
  I1  Nothing is believed because it has the right class. A model is written out and read back like
      JSON from outside; or, where that takes long, each of its values is looked at, and it is kept
      only where reading it back would make the very same.
  I2  The quick ways only say yes. Whatever they do not take is read in full, and only there is said
      what is wrong, and where.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import TypeAdapter

from eligibility.wire.model import COUNT_MAX, Model
from eligibility.wire.untrusted import JSON_BYTES_MAX, EvidenceError, from_json

Parsed = TypeVar("Parsed")
# Of a field: its name, the types or the texts that it may hold, and which of both these are.
_Form = tuple[str, frozenset[Any], bool]
# What a model holds besides its fields.
_STATE = attrgetter("__pydantic_extra__", "__pydantic_private__", "__pydantic_fields_set__")


def read_in_full(
    adapter: TypeAdapter[Parsed],
    given: Any,
    kind: type[Parsed] | None = None,
    *,
    member: type[Model] | None = None,
) -> Parsed | EvidenceError:
    """Read what was given (I1).

    Args:
        adapter: of what is wanted.
        given: a model, JSON text of at most 5 MiB, or what such text gives; or anything else.
        kind: the class of the model; None where a model alone is not wanted.
        member: the class of models that may stand in what was given; None for none.

    Returns:
        The value, or where it is malformed.
    """
    try:
        if isinstance(given, str | bytes):
            return from_json(adapter, given)
        if kind is not None and isinstance(given, kind):
            return adapter.validate_json(adapter.dump_json(given, warnings="error"))
        return from_json(adapter, json.dumps(given, default=partial(_plain, member)))
    except EvidenceError as error:
        return error
    except (ValueError, TypeError, RecursionError):
        return EvidenceError("", "this is not of the right form")


def _plain(member: type[Model] | None, part: object) -> object:
    if member is not None and isinstance(part, member):
        return part.model_dump(warnings=False)
    if isinstance(part, Mapping):
        return dict(part)
    raise TypeError


def is_as_written(adapter: TypeAdapter[Parsed], given: object, ours: Parsed) -> bool:
    """Say whether what was given is, to the byte, what a model of ours is written as.

    Args:
        adapter: of the model's class.
        given: anything.
        ours: a model that was read.

    Returns:
        True where reading what was given would give an equal model; false is no answer (I2).
    """
    written = adapter.dump_json(ours)
    try:
        if isinstance(given, type(ours)):
            given = adapter.dump_json(given, warnings="error")
        elif type(given) is str:
            given = given.encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return type(given) is bytes and given == written and len(written) <= JSON_BYTES_MAX


def are_as_read(
    models: Sequence[object], kind: type[Model], characters_max: int | None = None
) -> bool:
    """Say whether models are in all they hold what reading gives, whoever made them (I1).

    Args:
        models: anything.
        kind: the class that each has to have; its fields are plain texts and whole numbers.
        characters_max: how many characters all texts may have together; None for any number.

    Returns:
        True where reading each of them back would make the very same; false is no answer (I2).
    """
    if {*map(type, models)} - {kind}:
        return False
    names, required, forms = _form(kind)
    characters = 0
    try:
        held = list(map(vars, models))
        if {*map(type, held)} - {dict} or {*map(len, held)} - {len(names)}:
            return False
        for name, allowed, of_types in forms:
            values = [fields[name] for fields in held]
            kinds = {*map(type, values)}
            if kinds - {str, int, NoneType} or not allowed.issuperset(
                kinds if of_types else values
            ):
                return False
            if str in kinds:
                text = "".join([value for value in values if type(value) is str])
                text.encode()  # JSON holds no half of a character
                characters += len(text)
            if int in kinds and not _are_within(values):
                return False
        if characters_max is not None and characters > characters_max:
            return False
        return _is_whole(list(map(_STATE, models)), names, required)
    except (AttributeError, KeyError, UnicodeEncodeError):
        return False


def _are_within(values: list[Any]) -> bool:
    """Say whether JSON can hold all whole numbers among some values."""
    numbers = [value for value in values if type(value) is int]
    return min(numbers) >= -COUNT_MAX and max(numbers) <= COUNT_MAX


def _is_whole(states: list[Any], names: set[str], required: set[str]) -> bool:
    if states.count((None, None, names)) == len(states):
        return True
    return all(
        extra is None and private is None and type(given) is set and required <= given <= names
        for extra, private, given in states
    )


@lru_cache
def _form(kind: type[Model]) -> tuple[set[str], set[str], list[_Form]]:
    """Give the names of a flat model's fields, those that are required, and what each may hold."""
    fields = kind.model_fields
    assert not any(field.metadata for field in fields.values())  # or the types would not say it all
    forms = []
    for name, field in fields.items():
        of_types = get_origin(field.annotation) is not Literal
        allowed = frozenset(get_args(field.annotation) or (field.annotation,))
        forms.append((name, allowed, of_types))
    return set(fields), {name for name, field in fields.items() if field.is_required()}, forms

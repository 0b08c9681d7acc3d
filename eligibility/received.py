"""What was given to a release, whatever it is → evidence, or where it is malformed (specification 7, 10).

Invariants
  I1  Nothing is believed because it has the right class. A model is written out and read back like
      JSON from outside; or, where that takes long, each of its values is looked at, and it is kept
      only where reading it back would make the very same.
  I2  The quick ways only say yes. Whatever they do not take is read in full, and only there is said
      what is wrong, and where.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter

from eligibility.evidence import (
    CLAIMS_MAX,
    JSON_BYTES_MAX,
    ROWS_MAX,
    Cell,
    Claim,
    EvidenceError,
    Observation,
    ReturnedPreview,
    from_json,
)

# As many claims as may be, with this much text, are within `JSON_BYTES_MAX` as JSON.
_CLAIMS_TEXT_MAX = 256 * 1024

_OBSERVATION = TypeAdapter(Observation)
_PREVIEW = TypeAdapter(ReturnedPreview)
_CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(
    Annotated[tuple[Claim, ...], Field(max_length=CLAIMS_MAX)]
)

# What a cell that was read holds besides its fields.
_CELL_STATE = attrgetter("__pydantic_extra__", "__pydantic_private__", "__pydantic_fields_set__")
_CELL_STATE_READ = (None, None, {"type", "text"})

Parsed = TypeVar("Parsed")


def read_observation(given: object) -> Observation | EvidenceError:
    """Read an observation.

    Args:
        given: the model, its JSON text, or the mapping that such text gives; or anything else.

    Returns:
        The observation, or where it is malformed.
    """
    # Most of an observation is cells, and to look at them takes less than to read them.
    if type(given) is Observation and _as_read(rows := vars(given).get("rows")):
        with suppress(ValueError, TypeError, RecursionError):
            rest = _OBSERVATION.dump_json(given, exclude={"rows"}, warnings="error")
            read = _OBSERVATION.validate_json(rest[:-1] + b',"rows":[]}')
            return read.model_copy(update={"rows": rows})
    return _read(_OBSERVATION, given, Observation)


def read_preview(given: object) -> ReturnedPreview | EvidenceError:
    """Read a returned preview, in the forms of `read_observation`; or say where it is malformed."""
    return _read(_PREVIEW, given, ReturnedPreview)


def is_as_written(given: object, ours: ReturnedPreview) -> bool:
    """Say whether what was given is, to the byte, what a preview is written as.

    Args:
        given: anything.
        ours: a preview of an observation that was read.

    Returns:
        True where reading what was given would give an equal preview; false is no answer (I2).
    """
    written = _PREVIEW.dump_json(ours)
    try:
        if isinstance(given, ReturnedPreview):
            given = _PREVIEW.dump_json(given, warnings="error")
        elif type(given) is str:
            given = given.encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return type(given) is bytes and given == written and len(written) <= JSON_BYTES_MAX


def read_claims(given: object) -> tuple[Claim, ...] | EvidenceError:
    """Read claims, as a list or tuple of models or mappings, or as JSON text; or say where not."""
    return _read(_CLAIMS, given)


def sound_claims(claims: object, observation: Observation) -> list[tuple[int, int]] | None:
    """Give the claimed cells, in order, where all claims are models with nothing wrong in any.

    Args:
        claims: anything.
        observation: that was read.

    Returns:
        Each (row, column) once; None is no verdict on the claims (I2).
    """
    if not (type(claims) is list or type(claims) is tuple) or not 0 < len(claims) <= CLAIMS_MAX:
        return None
    cells, rows, columns = observation.rows, len(observation.rows), len(observation.columns)
    places, size = set[int](), 0
    for claim in claims:
        if type(claim) is not Claim:
            return None
        given = vars(claim).get  # what was never given is absent, as it would be from JSON
        row, column, kind, text = given("row"), given("column"), given("type"), given("text")
        if type(row) is not int or type(column) is not int:
            return None
        if not (0 <= row < rows and 0 <= column < columns):
            return None
        cell = cells[row][column]
        if kind is not None:
            if type(kind) is not str or kind != cell.type:
                return None
            size += len(kind)
        if text is not None:
            if type(text) is not str or text != cell.text:
                return None
            size += len(text)
        places.add(row * columns + column)
    if size > _CLAIMS_TEXT_MAX:
        return None
    return [divmod(place, columns) for place in sorted(places)]


def _as_read(rows: object) -> bool:
    """Say whether rows are in all they hold what reading gives, whoever made them (I1)."""
    if type(rows) is not tuple or len(rows) > ROWS_MAX or {*map(type, rows)} - {tuple}:
        return False
    cells = list(chain.from_iterable(rows))
    if {*map(type, cells)} - {Cell}:
        return False
    fields = list(map(vars, cells))
    try:
        kinds, texts = [held["type"] for held in fields], [held["text"] for held in fields]
        if {*map(type, fields)} - {dict} or {*map(len, fields)} - {2}:
            return False
        if {*map(type, kinds)} - {str} or {*map(type, texts)} - {str, NoneType}:
            return False
        "".join(chain(kinds, filter(None, texts))).encode()  # half a character is none
        return list(map(_CELL_STATE, cells)).count(_CELL_STATE_READ) == len(cells)
    except (AttributeError, KeyError, UnicodeEncodeError):
        return False


def _read(
    adapter: TypeAdapter[Parsed], given: Any, kind: type[Parsed] | None = None
) -> Parsed | EvidenceError:
    """Read what was given, whatever it is; a model of no other class than `kind` (I1)."""
    try:
        if isinstance(given, str | bytes):
            return from_json(adapter, given)
        if kind is not None and isinstance(given, kind):
            return adapter.validate_json(adapter.dump_json(given, warnings="error"))
        return from_json(adapter, json.dumps(given, default=_plain))
    except EvidenceError as error:
        return error
    except (ValueError, TypeError, RecursionError):
        return EvidenceError("", "this is not of the right form")


def _plain(part: object) -> object:
    if isinstance(part, Claim):
        return part.model_dump(warnings=False)
    if isinstance(part, Mapping):
        return dict(part)
    raise TypeError

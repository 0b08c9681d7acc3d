"""An observation, a returned preview or claims, as they were given → evidence (specification 7, 10).

How is said in `eligibility.wire.received`: here stands what is read, and what may be kept.
"""

from contextlib import suppress
from itertools import chain
from typing import Annotated

from pydantic import Field, TypeAdapter

from eligibility.sql.facts import CLAIMS_MAX, Claim
from eligibility.sql.observation import ROWS_MAX, Cell, Observation, ReturnedPreview
from eligibility.wire import received
from eligibility.wire.untrusted import EvidenceError

# As many claims as may be, with this much text, are within `JSON_BYTES_MAX` as JSON.
_CLAIMS_TEXT_MAX = 256 * 1024

_OBSERVATION = TypeAdapter(Observation)
_PREVIEW = TypeAdapter(ReturnedPreview)
_CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(
    Annotated[tuple[Claim, ...], Field(max_length=CLAIMS_MAX)]
)


def read_observation(given: object) -> Observation | EvidenceError:
    """Read an observation.

    Args:
        given: the model, its JSON text, or the mapping that such text gives; or anything else.

    Returns:
        The observation, or where it is malformed.
    """
    # Most of an observation is cells, and to look at them takes less than to read them.
    if type(given) is Observation and _rows_are_as_read(rows := vars(given).get("rows")):
        with suppress(ValueError, TypeError, RecursionError):
            rest = _OBSERVATION.dump_json(given, exclude={"rows"}, warnings="error")
            read = _OBSERVATION.validate_json(rest[:-1] + b',"rows":[]}')
            return read.model_copy(update={"rows": rows})
    return received.read_in_full(_OBSERVATION, given, Observation)


def _rows_are_as_read(rows: object) -> bool:
    if type(rows) is not tuple or len(rows) > ROWS_MAX or {*map(type, rows)} - {tuple}:
        return False
    return received.are_as_read(list(chain.from_iterable(rows)), Cell)


def read_preview(
    given: object, ours: ReturnedPreview | None = None
) -> ReturnedPreview | EvidenceError:
    """Read a returned preview, in the forms of `read_observation`.

    Args:
        given: anything.
        ours: the preview that it most likely is; None for none.

    Returns:
        The preview, or where it is malformed.
    """
    if ours is not None and received.is_as_written(_PREVIEW, given, ours):
        return ours
    return received.read_in_full(_PREVIEW, given, ReturnedPreview)


def read_claims(given: object) -> tuple[Claim, ...] | EvidenceError:
    """Read claims.

    Args:
        given: a list or tuple of models or mappings, or JSON text; or anything else.

    Returns:
        The claims, or where they are malformed.
    """
    if (type(given) is list or type(given) is tuple) and len(given) <= CLAIMS_MAX:
        if received.are_as_read(given, Claim, _CLAIMS_TEXT_MAX):
            return tuple(given)
    return received.read_in_full(_CLAIMS, given, member=Claim)

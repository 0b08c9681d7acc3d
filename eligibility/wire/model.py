"""The base of all that crosses a process or a file, and the one way to make one without reading it.

Invariants
  E1  Every model is frozen, strict and closed; sequences are tuples (specification 10).
  E2  What an earlier format does not have is absent from its JSON, so that its hashes stay right.
  E3  `trusted` is the only place that makes a model without validating it.
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints

# The largest whole number that canonical JSON keeps (RFC 8785).
COUNT_MAX = 2**53 - 1

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Computed = TypeVar("Computed")


def cached_property(method: Callable[[Any], Computed]) -> "functools.cached_property[Computed]":
    """Compute an attribute once, without a lock, so that no fork finds it locked.

    Python 3.11 computes under one lock for all instances. Where another thread holds it while the
    process forks, the child waits for it for ever. What is computed here may be computed twice.
    """
    made = functools.cached_property(method)
    vars(made)["lock"] = nullcontext()
    return made


class Model(BaseModel):
    """Base of all that crosses a process or a file: frozen, strict, closed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


Trusted = TypeVar("Trusted", bound=Model)
_set = object.__setattr__  # a model is frozen only after it was made


def trusted(kind: type[Trusted], fields: dict[str, Any], names: set[str]) -> Trusted:
    """Make a model of values whose form is certain, without validating them again (E3).

    Args:
        kind: a boundary model without private attributes.
        fields: every field of it by name, in order; kept, not copied.
        names: of all these fields; kept, and never changed.

    Returns:
        What `kind(**fields)` gives where each value is already of its field's type.
    """
    made = kind.__new__(kind)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", names)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def is_absent(value: object) -> bool:
    """Say whether a field is left out of JSON (E2)."""
    return value is None

"""What is found of a statement, as data: a mark, an edit. No parser is loaded for it."""

from pydantic import Field

from eligibility.reasons import Reason
from eligibility.wire.model import COUNT_MAX, Model


class Mark(Model):
    r"""One part of a statement, and one reason that is about it.

    Attributes:
        reason: what was found in it.
        output: position of the output that the part makes, zero-based; None where the part is
            about more than one: the source, a condition, a group key, a star, the whole statement.
        start, stop: where it stands, in characters of the statement, zero-based and half-open.
        words: what stands there; a surrogate, which no UTF-8 text has, is written `\udXXX`.
    """

    reason: Reason
    output: int | None = Field(ge=0, le=COUNT_MAX)
    start: int = Field(ge=0, le=COUNT_MAX)
    stop: int = Field(ge=0, le=COUNT_MAX)
    words: str


class Edit(Model):
    """A change to a statement that was tried, and makes an output eligible.

    Attributes:
        output: position of the output that it makes eligible, zero-based; None where it is for the
            whole statement, and makes any output eligible.
        title: what to do, in words and SQL.
        start, stop: what it replaces, in characters of the statement, zero-based and half-open.
        text: what stands there instead.
        statement: the whole statement with the edit made.
    """

    output: int | None = Field(ge=0, le=COUNT_MAX)
    title: str
    start: int = Field(ge=0, le=COUNT_MAX)
    stop: int = Field(ge=0, le=COUNT_MAX)
    text: str
    statement: str

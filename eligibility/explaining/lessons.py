"""A reason explained: its sentence, what to do, and its smallest example.

The examples are corpus cases; `python -m tools.pages` writes them into `examples.json`, so
that the installed package has them. They are read from there, and no other file is.
"""

from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

from eligibility.explaining.found import Edit, Mark
from eligibility.reasons import Reason
from eligibility.wire.model import Model

EXAMPLES = "examples.json"


class Twin(Model):
    """An eligible statement beside an example: itself, and what is decided of it."""

    statement: str
    verdicts: tuple[str, ...]


class Example(Model):
    """A statement that meets a reason.

    Attributes:
        statement: the smallest that the corpora have.
        said: what is to be seen in it, in words.
        before: statements that ran before it in its session.
        verdicts: what is decided of it, one line each.
        marks: the parts of it that are at fault.
        twin: an eligible statement one edit away; None where there is none.
        edit: an edit that makes it eligible; None where none was found.
    """

    statement: str
    said: str
    before: tuple[str, ...]
    verdicts: tuple[str, ...]
    marks: tuple[Mark, ...]
    twin: Twin | None
    edit: Edit | None


class Explanation(Model):
    """What is told of one reason.

    Attributes:
        code: its stable name.
        sentence: what it says.
        advice: what to do about the example, in words; None where no one edit does.
        example: None where no statement alone meets the reason.
    """

    code: Reason
    sentence: str
    advice: str | None
    example: Example | None


def explain(reason: Reason) -> Explanation:
    """Explain why a value may not be stated (specification 8).

    Args:
        reason: which; its code will do.

    Returns:
        Its sentence, what to do, and its smallest example.

    Raises:
        ValueError: there is no such code.
    """
    asked = next((each for each in Reason if each.value == reason), None)
    if asked is None:
        raise ValueError(f"there is no reason {reason}; list(Reason) has all")
    example = examples().get(asked)
    edit = None if example is None else example.edit
    advice = None if edit is None else edit.title
    return Explanation(code=asked, sentence=asked.sentence, advice=advice, example=example)


@cache
def examples() -> dict[Reason, Example]:
    """Load the examples, by reason."""
    text = (files("eligibility.explaining") / EXAMPLES).read_bytes()
    return TypeAdapter(dict[Reason, Example]).validate_json(text)

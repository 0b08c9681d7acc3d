"""What else a text may be, in another format than is found: told as a doubt, never guessed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from preview.sources.classes import DATE, NUMBERS, Class, NumberMarks


@dataclass(frozen=True, slots=True)
class Other:
    """Another way to write values of a type.

    Attributes:
        pattern: of such a text, for RE2 and Python alike.
        type: that it would be.
        options: that would read it.
        beside: the classes of values that it is found beside.
    """

    pattern: str
    type: str
    options: tuple[tuple[str, str], ...]
    beside: tuple[Class, ...] = ()


def _other_formats() -> Iterable[Other]:
    whole = "-?(?:0|[1-9][0-9]*)"
    grouped = "-?[1-9][0-9]{0,2}"
    yield Other(
        rf"{grouped}(?:,[0-9]{{3}})+(?:\.[0-9]+)?", "DECIMAL", (("--thousands", ","),), NUMBERS
    )
    yield Other(rf"{whole},[0-9]+", "DECIMAL", (("--decimal", ","),), ("whole",))
    yield Other(
        rf"{grouped}(?:\.[0-9]{{3}})+(?:,[0-9]+)?|{whole},[0-9]+",
        "DECIMAL",
        (("--decimal", ","), ("--thousands", ".")),
        ("whole",),
    )
    number = NumberMarks().shapes()["numeral"]
    yield Other(
        rf"[ \t]+(?:{number})[ \t]*|(?:{number})[ \t]+", "DECIMAL", (("--trim", ""),), NUMBERS
    )
    bare = NumberMarks(bare_exponent=True).shapes()["numeral"]
    yield Other(bare, "DOUBLE", (("--type", "DOUBLE"),), NUMBERS)
    day, month = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"
    short = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    clock = {
        "": "",
        " %H:%M": " [0-2][0-9]:[0-5][0-9]",
        " %H:%M:%S": " [0-2][0-9]:[0-5][0-9]:[0-5][0-9]",
    }
    for suffix, time in clock.items():
        kind = "TIMESTAMP" if suffix else "DATE"
        for mark in "/.-":
            point = re.escape(mark)
            yield Other(
                f"{day}{point}{month}{point}[0-9]{{4}}{time}",
                kind,
                (("--date-format", f"%d{mark}%m{mark}%Y{suffix}"),),
            )
            yield Other(
                f"{month}{point}{day}{point}[0-9]{{4}}{time}",
                kind,
                (("--date-format", f"%m{mark}%d{mark}%Y{suffix}"),),
            )
        yield Other(
            f"[0-9]{{4}}/{month}/{day}{time}", kind, (("--date-format", f"%Y/%m/%d{suffix}"),)
        )
        for mark in "- ":
            yield Other(
                f"{day}{mark}{short}{mark}[0-9]{{4}}{time}",
                kind,
                (("--date-format", f"%d{mark}%b{mark}%Y{suffix}"),),
            )
    for between in " T":
        yield Other(
            f"{DATE}{between}[0-2][0-9]:[0-5][0-9]",
            "TIMESTAMP",
            (("--date-format", f"%Y-%m-%d{between}%H:%M"),),
        )


OTHER_FORMATS = tuple(_other_formats())

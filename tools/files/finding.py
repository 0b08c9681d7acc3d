"""What the rules of specification 4.1 say of a delimited text before it is pinned.

Invariants
  F1  What must be pinned, and what must be an error, follows from the words of the specification alone.
      Where these leave room, both are right: `either`, with the reason.
  F2  Every decision that is found is one of those that are allowed here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from tools.files import machine, values
from tools.files.machine import Field, Malformed, Record
from tools.files.values import Marks

CANDIDATES = ",;\t|"
# Types that this judge can compute the values of.
GIVEN_TYPES = {
    "VARCHAR", "BOOLEAN", "DOUBLE", "FLOAT", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NS", "TIME_NS",
    values.TIMESTAMPTZ, *values.INT_RANGES,
}  # fmt: skip
ALIASES = {
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "BOOL": "BOOLEAN",
    "TIMESTAMPTZ": values.TIMESTAMPTZ,
}


@dataclass(frozen=True)
class File:
    """A file to pin, and what is asked for: keyword arguments of `ReadOptions.of`, and `strict`."""

    name: str
    data: bytes
    options: dict[str, Any] = field(default_factory=dict)
    strict: bool = False
    chunk: int | None = None


@dataclass(frozen=True)
class Expected:
    """What must become of a file, and why."""

    verdict: Literal["pin", "error", "either"]
    why: str


@dataclass(frozen=True)
class Layout:
    """How a text is cut: what was decided, or must be."""

    delimiter: str | None
    header: bool


class _Error(Exception):
    """It must be an error."""


def fold(name: str) -> str:
    """Fold ASCII case alone."""
    return "".join(chr(ord(one) + 32) if "A" <= one <= "Z" else one for one in name)


def expect(file: File) -> Expected:
    """Say what must become of a file.

    Returns:
        `pin` with what is in doubt where the rules allow it; else `error`, or `either`.
    """
    room: list[str] = []
    try:
        _expect(file, room)
    except _Error as error:
        return Expected("either" if room else "error", str(error))
    except Malformed as error:
        return Expected("either" if room else "error", f"malformed in {error}")
    return Expected("either", room[0]) if room else Expected("pin", "")


def _expect(file: File, room: list[str]) -> None:
    options = file.options
    try:
        text, codec, mark = machine.decoded(file.data, options.get("encoding"))
    except LookupError:
        raise _Error("no such codec") from None
    except UnicodeError:
        raise _Error("not of the encoding") from None
    if options.get("encoding") and not mark and codec in ("utf-16", "utf-32", "utf-8-sig"):
        room.append("an encoding with a mark, and no mark")
    if codec not in ("utf-8", "utf-16-le", "utf-16-be", "iso8859-1", "cp1252"):
        room.append("an unusual encoding")
    if file.data.startswith(b"\xff\xfe\0\0"):
        room.append("the mark may be that of UTF-32")
    if "\0" in text:
        room.append("a NUL may be refused")
    _odd_options(file, room)
    if len(file.name.rsplit(".", 1)[-1]) > 4:
        room.append("an unusual name")
    skipped = machine.without_lines(text, options.get("skip", 0))
    if not skipped:
        raise _Error("empty")
    delimiter = found_delimiter(file, skipped, room)
    made = machine.records(skipped, delimiter, options.get("comment"))
    if not made:
        raise _Error("nothing but comments")
    width = len(made[0].fields)
    if any(len(one.fields) != width for one in made):
        raise _Error("another number of fields")
    if width > 1_000:
        room.append("very many columns")
    header = options.get("header")
    _check_header(file, made, room)
    names = wanted_names(file, made[0], header is not False)
    if any(not name or "\0" in name for name in names):
        raise _Error("an empty name, or one with a NUL")
    if len(set(map(fold, names))) < width:
        raise _Error("two names are equal")
    columns = per_column(file, names)
    body = made if header is False else made[1:]
    for place, name in enumerate(names):
        fields = [one.fields[place] for one in body]
        _check_column(columns[name], fields, room)
    if file.strict:
        _check_strict(columns, names, body, room)


def _odd_options(file: File, room: list[str]) -> None:
    options = file.options
    delimiter = options.get("delimiter")
    if delimiter is not None and delimiter not in (*CANDIDATES, "none", "tab", "\\t"):
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise _Error("no delimiter")
        room.append("an unusual delimiter")
    if "comment" in options and (not options["comment"] or set(options["comment"]) & set('\r\n"')):
        room.append("an unusual comment")
    for one in options.get("null", ()):
        if set(one) & set('"\r\n'):
            room.append("an unusual text for NULL")
    for name in ("records", "partitions"):
        if options.get(name):
            room.append("an option of another kind of file")


def found_delimiter(file: File, text: str, room: list[str]) -> str | None:
    """Give the delimiter that is given, or the one that must be found; None for one column."""
    options = file.options
    given = options.get("delimiter")
    comment = options.get("comment")
    if given is not None:
        return {"none": None, "tab": "\t", "\\t": "\t"}.get(given, given)
    if file.name.lower().endswith((".tsv", ".tab")):
        return "\t"
    good = []
    for one in CANDIDATES:
        try:
            made = machine.records(text, one, comment)
        except Malformed:
            continue
        widths = {len(record.fields) for record in made}
        if len(widths) == 1 and min(widths) > 1 and not any(record.stray for record in made):
            good.append(one)
    if len(good) == 1:
        return good[0]
    if good:
        raise _Error("several delimiters")
    alone = machine.records(text, None, comment)
    outside = {
        one for record in alone for value, quoted in record.fields if not quoted for one in value
    }
    if outside & set(CANDIDATES):
        raise _Error("no delimiter fits")
    return None


def wanted_names(file: File, first: Record, header: bool) -> list[str]:
    """Give the names that the columns must have, good or bad."""
    names = first.texts() if header else [f"column{n}" for n in range(1, len(first.fields) + 1)]
    given = file.options.get("names", ())
    if given:
        if len(given) != len(names):
            raise _Error("another number of names")
        names = list(given)
    for place, name in file.options.get("name", {}).items():
        if not 1 <= place <= len(names):
            raise _Error("a name for no column")
        names[place - 1] = name
    return names


# --- columns --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What is asked for of one column."""

    marks: Marks
    trim: bool
    null: tuple[str, ...]
    type: str | None
    date_format: str | None

    def text(self, one: Field) -> str | None:
        """Give what a field says; None for NULL."""
        value, quoted = one
        value = value.strip(" \t") if self.trim else value
        return None if not quoted and (not value or value in self.null) else value


def per_column(file: File, names: Sequence[str]) -> dict[str, Asked]:
    """Give what is asked for of each column.

    Raises:
        _Error: an option names no column.
    """
    options = file.options
    by_name = {fold(name): name for name in names}

    def by_column(key: str) -> dict[str, str]:
        given = options.get(key) or {}
        given = dict.fromkeys(names, given) if isinstance(given, str) else given
        if any(fold(name) not in by_name for name in given):
            raise _Error(f"{key} of no column")
        return {by_name[fold(name)]: value for name, value in given.items()}

    decimal, thousands = by_column("decimal"), by_column("thousands")
    types, formats = by_column("types"), by_column("date_format")
    trim = options.get("trim", False)
    trim = (list(names) if trim else []) if isinstance(trim, bool) else trim
    trimmed = by_column_list(trim, by_name)
    null = options.get("null", ())
    return {
        name: Asked(
            Marks(decimal.get(name, "."), thousands.get(name)),
            name in trimmed,
            (null,) if isinstance(null, str) else tuple(null),
            canonical(types[name]) if name in types else None,
            formats.get(name),
        )
        for name in names
    }


def by_column_list(given: Sequence[str], by_name: dict[str, str]) -> set[str]:
    if any(fold(name) not in by_name for name in given):
        raise _Error("trim of no column")
    return {by_name[fold(name)] for name in given}


def canonical(kind: str) -> str:
    kind = kind.upper().replace(" ", "") if kind.upper().startswith("DEC") else kind.upper()
    return ALIASES.get(kind, kind)


def is_odd(asked: Asked) -> bool:
    """Say whether marks are such that the specification does not speak of them."""
    marks = asked.marks
    one = (marks.decimal, marks.thousands or " ")
    return marks.decimal == marks.thousands or marks.decimal not in ",." or one[1] not in ",. '_"


def _check_column(asked: Asked, fields: Sequence[Field], room: list[str]) -> None:
    texts = [one for one in map(asked.text, fields) if one is not None]
    if is_odd(asked):
        room.append("unusual marks")
    if asked.date_format is not None:
        if asked.type not in (None, "DATE", "TIMESTAMP"):
            room.append("a type beside a format")
        for text in texts:
            try:
                _, same = values.strptime(text, asked.date_format, datetime.strptime)
            except ValueError:
                raise _Error("not of the given format") from None
            if not same:
                room.append("not as the format would write it")
        if not texts:
            room.append("a format of no value")
        return
    if asked.type is None or asked.type == "VARCHAR":
        return
    if asked.type not in GIVEN_TYPES and not asked.type.startswith("DECIMAL("):
        room.append("a type that this judge does not know")
        return
    if asked.type in ("BOOLEAN", "TIME", "TIME_NS") or asked.marks != values.PLAIN:
        room.append("a given type takes what the engine takes")
    if asked.type in (values.TIMESTAMPTZ,):
        room.append("an offset need not be said")
    for text in texts:
        try:
            values.held(text, asked.type, asked.marks)
        except ValueError:
            # What only the engine knows how to read may be read, and is refused by the judge.
            if not text.isascii() or values.decimal(text.strip()) is not None:
                room.append("a number that another type would take")
            raise _Error("not of the given type") from None
        if asked.type not in values.found(texts, asked.marks):
            room.append("not as such a type is written")


# --- header ---------------------------------------------------------------------------------------


def _check_header(file: File, made: Sequence[Record], room: list[str]) -> None:
    """See whether the first record could be data, where nothing says what it is."""
    if file.options.get("header") is not None:
        return
    answer = could_be_data(file, made)
    if answer is None:
        room.append("whether the first record is like the others is not certain")
    elif answer:
        raise _Error("the first record could be data")


def could_be_data(file: File, made: Sequence[Record]) -> bool | None:
    """Say whether the first record has the shapes of the others; None where that is open."""
    special = any(
        file.options.get(key)
        for key in ("null", "decimal", "thousands", "trim", "date_format", "types")
    )
    first, body = made[0].fields, made[1:]
    answers: list[tuple[bool | None, bool]] = []
    for place, (name, _) in enumerate(first):
        texts = [
            one.fields[place][0] for one in body if one.fields[place][0] or one.fields[place][1]
        ]
        kinds, own = values.found(texts), values.found([name])
        typed = kinds != {"VARCHAR"}
        plain = not name or own == {"VARCHAR"}
        if not texts:
            answers.append((None if not plain or not name else True, False))
            if not plain:
                answers[-1] = (None, False)
        elif not typed:
            # Whether a number among texts has the shape of plain text is not said.
            answers.append((True if plain and name else None, False))
        elif "VARCHAR" in kinds or ("VARCHAR" in own and len(own) > 1):
            answers.append((None, True))
        elif not name:
            answers.append((None, True))
        elif plain:
            # A time that no type holds has its shape still, and blanks may be trimmed.
            room = values.moment(name) is not None or not name.strip(" \t")
            answers.append((None if room else False, True))
        elif values.found([name, *texts]) <= kinds | {"HUGEINT"}:
            answers.append((True, True))
        else:
            answers.append((None, True))
    if special and any(is_like is not False for is_like, _ in answers):
        # Which shape a column has under such options is not said in every case.
        return None if any(typed or file.options for _, typed in answers) else False
    if any(is_like is False for is_like, _ in answers):
        return False
    if not any(typed for _, typed in answers):
        uncertain = any(is_like is None for is_like, _ in answers)
        return None if uncertain else False
    return None if any(is_like is None for is_like, _ in answers) else True


# --- doubts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Doubts:
    """What must be told of a text column: whether, and how many values look like more."""

    must: bool
    may: bool
    values: int
    of: int


def doubts(texts: Sequence[str], marks: Marks = values.PLAIN) -> Doubts:
    """Say whether a column that was read as text is a doubt."""
    singles = [values.found([one], marks) - {"VARCHAR"} for one in texts]
    groups = (
        {"BIGINT", "HUGEINT", "DOUBLE", "DECIMAL"},
        {"BOOLEAN"},
        {"DATE"},
        {"TIME", "TIME_NS"},
        {values.TIMESTAMP, values.TIMESTAMP_NS},
        {values.TIMESTAMPTZ},
        {values.TIMETZ},
    )
    certain = [
        kinds for text, kinds in zip(texts, singles, strict=True) if _is_certain(text, marks)
    ]
    counts = [
        sum(any(kind.split("(")[0] in group for kind in kinds) for kinds in certain)
        for group in groups
    ]
    most, all_typed = max(counts, default=0), sum(map(bool, singles))
    slashed = bool(texts) and all(map(_is_slashed, texts))
    must = bool(texts) and most < len(texts) and most * 2 >= len(texts)
    may = all_typed > 0 or _maybe_other(texts) or any(_is_rounded(one, marks) for one in texts)
    return Doubts(must or slashed, may, most, len(texts))


def _is_rounded(text: str, marks: Marks) -> bool:
    """Say whether a text is a numeral that only a given type makes a number of."""
    written = values.plain(text, marks)
    if written is None or values.numbers([written]) != {"VARCHAR"}:
        return False
    return 0 < abs(float(written)) < float("inf")


def _is_certain(text: str, marks: Marks) -> bool:
    """Say whether the rules leave no room for what a text looks like: some offsets do."""
    found = values.found([text], marks)
    return "VARCHAR" not in found or len(found) == 1


def _is_slashed(text: str) -> bool:
    parts = text.split("/")
    if [len(one) for one in parts] != [2, 2, 4] or not "".join(parts).isdigit():
        return False
    day, month, year = map(int, parts)
    return text.isascii() and 1 <= day <= 12 and 1 <= month <= 12 and year >= 1000


def _maybe_other(texts: Sequence[str]) -> bool:
    """Say whether all texts may be values in some other way of writing them: no letters to speak of."""
    return bool(texts) and all(
        any(one in "0123456789" for one in text) or len(text) < 6 for text in texts
    )


def _check_strict(
    columns: dict[str, Asked], names: Sequence[str], body: Sequence[Record], room: list[str]
) -> None:
    for place, name in enumerate(names):
        asked = columns[name]
        texts = [one for record in body if (one := asked.text(record.fields[place])) is not None]
        if asked.type is not None or asked.date_format is not None:
            continue
        kinds = values.found(texts, asked.marks)
        if "VARCHAR" not in kinds:
            continue
        made = doubts(texts, asked.marks)
        if made.may and not (made.must and kinds == {"VARCHAR"}):
            room.append("it may be a doubt")
        elif made.must:
            raise _Error("a doubt, and it is strict")

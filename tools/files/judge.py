"""Whether what was pinned is the file, cell for cell, under the dialect that was recorded.

Invariants
  J1  Every cell is compared, and every name, NULL, the number of rows and their order.
  J2  What was given is recorded as given, and what was found is what the rules allow.
  J3  The machine and Python's `csv` read the same; where they do not, the judge is at fault and
      says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tools.files import finding, machine, values
from tools.files.finding import Asked, File
from tools.files.machine import Malformed, Record
from tools.files.values import Marks

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Pinned:
    """What a plain connection and plain JSON say of a pinned table.

    Attributes:
        source: the manifest's entry.
        columns: name and type, by position.
        rows: as `values.shown` asks for them, in order.
    """

    source: dict[str, Any]
    columns: list[tuple[str, str]]
    rows: list[Row]


def faults(file: File, made: Pinned) -> list[str]:
    """Compare a pinned table with its file.

    Returns:
        What is wrong, without any text of a cell; nothing where all is right.
    """
    dialect = made.source["dialect"]
    if dialect is None or dialect["kind"] != "delimited":
        return ["no dialect is recorded"]
    try:
        text, codec, mark = machine.decoded(file.data, dialect["encoding"])
    except (LookupError, UnicodeError) as error:
        return [f"the recorded encoding does not decode it: {type(error).__name__}"]
    wrong = _given_is_recorded(file, dialect)
    if mark != dialect["mark"]:
        wrong.append(f"a mark is recorded as {dialect['mark']}")
    if "encoding" not in file.options and codec != machine.decoded(file.data, None)[1]:
        wrong.append("another encoding than the file's")
    body_text = machine.without_lines(text, dialect["skip"])
    try:
        records = machine.records(body_text or "", dialect["delimiter"], dialect["comment"])
        if "delimiter" not in file.options:
            wanted = finding.found_delimiter(file, body_text or "", [])
            if wanted != dialect["delimiter"]:
                wrong.append("another delimiter than the rules find")
        wrong += _cells(file, made, records)
    except Malformed as error:
        return [*wrong, f"pinned, though malformed in {error}"]
    except finding._Error as error:
        return [*wrong, f"pinned, though {error}"]
    if dialect["comment"] is None:
        by_csv = machine.by_csv(body_text or "", dialect["delimiter"])
        if by_csv != [record.texts() for record in records]:
            wrong.append("the judge and csv read it differently")
    return wrong


def _given_is_recorded(file: File, dialect: dict[str, Any]) -> list[str]:
    options = file.options
    wrong = []
    for key, absent in (("skip", 0), ("comment", None)):
        if dialect[key] != options.get(key, absent):
            wrong.append(f"{key} is not recorded as given")
    null = options.get("null", ())
    null = (null,) if isinstance(null, str) else tuple(null)
    if set(dialect["null"]) - {""} != set(null) - {""}:
        wrong.append("null is not recorded as given")
    if "delimiter" in options:
        given = options["delimiter"]
        if dialect["delimiter"] != {"none": None, "tab": "\t", "\\t": "\t"}.get(given, given):
            wrong.append("the delimiter is not recorded as given")
    if options.get("header") is not None and dialect["header"] != options["header"]:
        wrong.append("the header is not recorded as given")
    if options.get("header") is None and not dialect["header"]:
        wrong.append("no header, though nothing says so")
    for key in ("encoding", "skip", "comment", "delimiter", "null"):
        if (key in dialect["given"]) != bool(options.get(key)):
            wrong.append(f"whether {key} was given is not recorded")
    return wrong


def _cells(file: File, made: Pinned, records: Sequence[Record]) -> list[str]:
    dialect = made.source["dialect"]
    if not records:
        return ["pinned, though there is no record"]
    width = len(records[0].fields)
    ragged = [one.line for one in records if len(one.fields) != width]
    if ragged:
        return [f"pinned, though line {ragged[0]} has another number of fields"]
    if file.options.get("header") is None and finding.could_be_data(file, records):
        return ["pinned, though the first record could be data"]
    names = finding.wanted_names(file, records[0], dialect["header"])
    body = records[1:] if dialect["header"] else records
    if [name for name, _ in made.columns] != names:
        return ["other names"]
    if [(one["name"], one["type"]) for one in dialect["columns"]] != made.columns:
        return ["the dialect's columns are not the table's"]
    if len(made.rows) != len(body):
        return [f"{len(made.rows)} rows, and {len(body)} records"]
    asked = finding.per_column(file, names)
    wrong = []
    for place, (name, kind) in enumerate(made.columns):
        texts = [asked[name].text(record.fields[place]) for record in body]
        recorded = dialect["columns"][place]
        told = [one for one in made.source["doubts"] if one["column"] == name]
        wrong += [
            f"column {place + 1}: {one}"
            for one in column(
                texts, [row[place] for row in made.rows], kind, asked[name], recorded, told
            )
        ]
    return wrong


def column(
    texts: Sequence[str | None],
    cells: Sequence[Any],
    kind: str,
    asked: Asked,
    recorded: dict[str, Any],
    told: Sequence[dict[str, Any]],
    allowed: set[str] | None = None,
) -> list[str]:
    """Compare one column, its type, what is recorded of it, and its doubts."""
    known = [one for one in texts if one is not None]
    wrong = []
    given = asked.type is not None or asked.date_format is not None
    allowed = values.found(known, asked.marks) if allowed is None else allowed
    if asked.type is not None and kind != asked.type:
        wrong.append(f"it is {kind}, and {asked.type} was given")
    if not given and kind not in allowed and not finding.is_odd(asked):
        wrong.append(f"it is {kind}, and the rules find {sorted(allowed)}")
    marks = Marks(recorded["decimal"], recorded["thousands"])
    if (marks, recorded["trim"], recorded["date_format"]) != (
        asked.marks,
        asked.trim,
        asked.date_format,
    ):
        wrong.append("marks, trim or format are not recorded as given")
    for place, (text, cell) in enumerate(zip(texts, cells, strict=True)):
        if text is None or cell is None:
            if text is not None or cell is not None:
                wrong.append(f"row {place + 1}: NULL on one side alone")
                break
            continue
        try:
            wanted = _wanted(text, kind, asked)
        except ValueError:
            wrong.append(f"row {place + 1}: a {kind}, though the text is none")
            break
        if values.told(kind, cell) != wanted:
            wrong.append(f"row {place + 1}: another value")
            break
    wrong += _rounded(known, kind, asked, recorded["rounded"])
    if not given:
        wrong += _doubts(known, kind, asked, told)
    elif told:
        wrong.append("a doubt, though the type was given")
    return wrong


def _wanted(text: str, kind: str, asked: Asked) -> Any:
    if asked.date_format is None or kind == "VARCHAR":
        return values.held(text, kind, asked.marks)
    one, _ = values.strptime(text, asked.date_format, datetime.strptime)
    assert one.days is not None  # a format reads a day
    if kind == "DATE":
        if one.nanoseconds:
            raise ValueError("a time is lost")
        return datetime.fromordinal(one.days + values._EPOCH).date().isoformat()
    full = values.Moment(one.days, one.nanoseconds or 0, one.digits, None)
    return full.instant // (1 if kind.endswith("_NS") else 1000)


def _rounded(known: Sequence[str], kind: str, asked: Asked, count: int) -> list[str]:
    if kind not in ("DOUBLE", "FLOAT"):
        return [] if not count else ["numbers are said to be rounded"]
    if kind == "FLOAT":
        return []
    written = [values.plain(one, asked.marks) for one in known]
    unequal = [
        one
        for one in written
        if one is not None
        and (number := values.decimal(one)) is not None
        and values.decimal(repr(float(one))) != number
    ]
    least = sum(not values.is_exact_double(one) for one in unequal)
    odd = len(written) - sum(one is not None for one in written)
    return [] if least <= count <= len(unequal) + odd else [f"{count} are said to be rounded"]


def _doubts(
    known: Sequence[str], kind: str, asked: Asked, told: Sequence[dict[str, Any]]
) -> list[str]:
    if kind != "VARCHAR":
        return ["a doubt of a column that is no text"] if told else []
    if finding.is_odd(asked):
        return []
    wanted = finding.doubts(known, asked.marks)
    if wanted.must and not told:
        return [f"no doubt, though {wanted.values} of {wanted.of} values are more"]
    if told and not wanted.may:
        return ["a doubt, though nothing looks like more"]
    wrong = []
    for one in told:
        if not 0 < one["values"] <= one["of"] == len(known):
            wrong.append("the counts of a doubt are not those of the column")
    return wrong

"""JSON: an array of objects, or objects one after the other (specification 4.1).

Invariants
  N1  A file is parsed once, by a parser that keeps numbers as they are written, and its values are
      put aside as texts by column. The types are found as those of delimited text are.
  N2  The columns are the union of the keys, in the order in which they first occur. A key that a
      record does not have is NULL, and counted.
  N3  A column holds values of one kind, text, number, Boolean or nested, or is text by `--type`.
  N4  Which list of a file holds the records is never guessed.
"""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import duckdb

from eligibility.sql.manifest import JsonDialect, TextColumn
from eligibility.sql.schema import casefold
from preview.errors import SourceError
from preview.sources.classes import Kind
from preview.sources.encoding import Decoded, decoded
from preview.sources.files import reading as reading_file
from preview.sources.files import unpacked, zip_member
from preview.sources.json_aside import Aside
from preview.sources.json_grammar import pointer_parts
from preview.sources.json_parser import JsonText, NoList
from preview.sources.json_tokens import TooLarge
from preview.sources.names import name_error, named
from preview.sources.options import ReadOptions
from preview.sources.readable import Readable, Reading, Told, name_fault, name_form
from preview.sources.source import Source
from preview.sources.texts import Texts, TextTable, asked_of

_LINES_SUFFIXES = (".jsonl", ".ndjson")
_SPOKEN: dict[Kind, str] = {
    "text": "a text",
    "number": "a number",
    "boolean": "a Boolean",
    "nested": "a list or an object",
}
_Layout = Literal["array", "lines"]


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    options = source.options
    file = source.files[0]
    path = unpacked(file, reading.opened(file), reading.folder, reading.max_bytes)
    text = decoded(source.shown, path, options.encoding, reading.folder)
    aside, layout = _parsed(source, text, reading)
    names, given_names = named(source.shown, aside.keys, options)
    fault = name_fault(names)
    if fault is not None:
        raise name_error(source.shown, reading.table, names, fault, aside.key_lines)
    kinds = _kinds(source, reading, names, aside)
    asked = asked_of(source.shown, names, kinds, options)
    table = TextTable(
        names=tuple(names),
        kinds=kinds,
        missing=aside.missing,
        batches=aside.batches,
        line_of=aside.line_of,
    )
    made = Texts(source.shown, table, asked, reading)
    with made.query() as query:

        def told() -> Told:
            columns, doubts = made.told(given_names)
            return Told(_dialect(options, text, layout, columns), doubts)

        yield Readable(query, told, made.fault)


def _dialect(
    options: ReadOptions, text: Decoded, layout: _Layout, columns: tuple[TextColumn, ...]
) -> JsonDialect:
    given: list[Literal["encoding", "records"]] = []
    if options.encoding is not None:
        given.append("encoding")
    if options.records is not None:
        given.append("records")
    return JsonDialect(
        encoding=text.encoding,
        mark=text.mark,
        layout=layout,
        records=options.records,
        columns=columns,
        given=tuple(given),
    )


def _kinds(
    source: Source, reading: Reading, names: Sequence[str], aside: Aside
) -> tuple[Kind, ...]:
    """Give the kind of each column (N3); what is asked to be text is, whatever it is."""
    texts = {
        casefold(name) for name, kind in source.options.types if _is_text(reading.connection, kind)
    }
    kinds: list[Kind] = []
    for name, first in zip(names, aside.kinds, strict=True):
        if casefold(name) in texts or not first:
            kinds.append("text")
            continue
        (kind, line), *others = sorted(first.items(), key=lambda one: one[1])
        for other, other_line in others:
            option = shlex.quote(f"{reading.table}.{name_form(name)}=VARCHAR")
            raise SourceError(
                f"{source.shown}: column {name}: line {line:,} holds {_SPOKEN[kind]}, and line "
                f"{other_line:,} {_SPOKEN[other]}; mend the file, or take all as text by "
                f"--type {option}"
            )
        kinds.append(kind)
    return tuple(kinds)


def _is_text(connection: duckdb.DuckDBPyConnection, kind: str) -> bool:
    try:
        return str(connection.sqltype(kind)) == "VARCHAR"
    except duckdb.Error:
        return False  # an error further on, where every such type is


# --- what holds the records -----------------------------------------------------------------------


def _parsed(source: Source, text: Decoded, reading: Reading) -> tuple[Aside, _Layout]:
    """Parse the whole text, and put its records aside."""
    shown, records = source.shown, source.options.records
    parts = None if records is None else pointer_parts(records)
    if records is not None and parts is None:
        raise SourceError(
            f"{shown}: --records takes a JSON pointer, as in /data/items, with ~1 for / in a key "
            "and ~0 for ~"
        )
    with _opened(source, text, reading) as parser, Aside(shown, reading.folder) as aside:
        first = parser.first()
        if not first:
            raise SourceError(f"{shown}: it is empty; there is no record to take keys from")
        layout: _Layout = "lines" if first == b"{" and parts is None else "array"
        if layout == "array" and parts is None and first != b"[":
            raise SourceError(
                f"{shown}: it begins with no object and no list; make it a list of objects, or "
                "objects one after the other"
            )
        try:
            for run in parser.records() if parts is None else parser.listed(parts):
                aside.add(run)
        except NoList:
            raise _no_list(source, text, reading) from None
        except TooLarge:
            # One object may hold all the records there are.
            if layout == "lines" and not aside.count:
                _check_several(source, text, reading)
            raise
        if layout == "lines" and aside.count == 1 and not _has_lines(source, reading):
            _check_several(source, text, reading)
        aside.end()
    if not aside.keys:
        raise SourceError(
            f"{shown}: it has no columns, since no record has a key; leave the file out, or say "
            "by --records where its records are"
        )
    return aside, layout


@contextmanager
def _opened(source: Source, text: Decoded, reading: Reading) -> Iterator[JsonText]:
    with ExitStack() as stack:
        with reading_file(source.shown):
            file = stack.enter_context(text.path.open("rb"))
        yield JsonText(source.shown, text, file, reading.progress)


def _has_lines(source: Source, reading: Reading) -> bool:
    """Say whether the name of the file says that it holds one object a line."""
    file = source.files[0]
    suffixes = [suffix.lower() for suffix in file.suffixes[-2:]]
    if suffixes[-1:] == [".zip"]:
        member = zip_member(reading.opened(file), source.shown)
        suffixes.append(Path(member.filename).suffix.lower())
    return any(suffix in _LINES_SUFFIXES for suffix in suffixes)


def _lists(source: Source, text: Decoded, reading: Reading) -> tuple[list[str], int]:
    """Find the lists of objects in a text: the pointers that can be shown, and how many others."""
    with _opened(source, text, reading) as parser:
        outline = parser.outline()
    shown = [shlex.quote(pointer) for pointer in outline.lists if pointer.isprintable()]
    return shown, outline.count - len(shown)


def _check_several(source: Source, text: Decoded, reading: Reading) -> None:
    """See that a text is more than one object (N4)."""
    try:
        lists, others = _lists(source, text, reading)
    except SourceError:
        return  # it is no one value
    if not lists:
        raise SourceError(
            f"{source.shown}: it is one object, and holds no list of objects; put it in [ ] to "
            "pin it as one record"
        )
    raise SourceError(
        f"{source.shown}: it is one object; say which list in it holds the records: "
        f"{_options(lists, others)}"
    )


def _options(lists: Sequence[str], others: int) -> str:
    more = f" (there are {others:,} more)" if others else ""
    return " or ".join(f"--records {pointer}" for pointer in lists) + more


def _no_list(source: Source, text: Decoded, reading: Reading) -> SourceError:
    lists, others = _lists(source, text, reading)
    held = f"say {_options(lists, others)}" if lists else "it holds no list of objects; mend it"
    return SourceError(f"{source.shown}: there is no list where --records points; {held}")

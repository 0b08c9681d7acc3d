"""How a source was read, in words for people (specification 4.1).

Invariants
  L1  All that stands in a dialect is said: what was given as given, what was found as found.
  L2  Nothing of a cell is said: options, names of columns, counts and lines alone.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from eligibility.sql.manifest import (
        DelimitedDialect,
        Dialect,
        JsonDialect,
        Origin,
        SourceFile,
        TableSource,
        TableSource1,
        TextColumn,
        TypedDialect,
    )

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_MARKS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    " ": "space",
    ".": "point",
    "'": "apostrophe",
}


def size(count: int) -> str:
    """Give a number of bytes in a unit that suits it."""
    if count < 2**10:
        return "1 byte" if count == 1 else f"{count} bytes"
    step = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 2 ** (10 * step):,.1f} {_UNITS[step - 1]}"


def origin(source: "TableSource | TableSource1") -> str:
    """Say where rows came from, and how much there was.

    Args:
        source: of a table.

    Returns:
        A phrase: name, table, number of files, size.
    """
    named = (source.name or "memory") + (f"::{source.table}" if source.table else "")
    return ", ".join((named, *_amount(source.files)))


def _amount(files: "Sequence[SourceFile]") -> Iterator[str]:
    if len(files) > 1:
        yield f"{len(files):,} files"
    if files:
        yield size(sum(file.size for file in files))


def version(found: "Origin") -> str:
    """Say which version of a source was read, or which query made it.

    Args:
        found: what a source was.

    Returns:
        A phrase.
    """
    match found.kind:
        case "delta":
            return f"version {found.version:,} of the Delta Lake table {found.table_id}"
        case "iceberg":
            return f"snapshot {found.snapshot_id} of the Iceberg table {found.table_uuid}"
        case "sqlite":
            return f"read by SQLite {found.sqlite}"
        case "postgresql":
            return f"PostgreSQL {found.server}, snapshot {found.snapshot}"
        case "prepared":
            read = ", ".join(".".join(one.path) for one in found.reads)
            return f"a query over {read}, SHA-256 {found.statement_sha256}"
        case _:
            assert_never(found)


# --- the whole text -------------------------------------------------------------------------------


def decisions(dialect: "Dialect | None") -> tuple[str, ...]:
    """Say what was decided for a whole source.

    Args:
        dialect: of a source; None for none.

    Returns:
        Short phrases; none where nothing had to be decided.
    """
    if dialect is None:
        return ()
    match dialect.kind:
        case "delimited":
            return tuple(_delimited(dialect))
        case "json":
            return tuple(_json(dialect))
        case "typed":
            return ()
        case _:
            assert_never(dialect)


def _delimited(dialect: "DelimitedDialect") -> Iterator[str]:
    yield _encoding(dialect)
    yield f"{_between(dialect.delimiter)} ({_how('delimiter' in dialect.given)})"
    if not dialect.header:
        yield "no header (given)"
    elif "header" in dialect.given:
        yield "header (given)"
    elif dialect.columns and all(column.type == "VARCHAR" for column in dialect.columns):
        yield "header (assumed over text alone; say --no-header if the first record is data)"
    else:
        yield "header (assumed)"
    if dialect.skip:
        yield f"{_lines(dialect.skip)} skipped (given)"
    if dialect.comment is not None:
        yield f"no records that begin with {text(dialect.comment)} (given)"
    if dialect.null:
        yield f"NULL also as {', '.join(map(text, dialect.null))} (given)"


def _json(dialect: "JsonDialect") -> Iterator[str]:
    yield _encoding(dialect)
    yield "one list of objects" if dialect.layout == "array" else "objects one after the other"
    if dialect.records is not None:
        yield f"the list at {text(dialect.records)} (given)"


def _encoding(dialect: "DelimitedDialect | JsonDialect") -> str:
    named = dialect.encoding + (" with a mark" if dialect.mark else "")
    return f"{named} ({_how('encoding' in dialect.given)})"


def _between(delimiter: str | None) -> str:
    if delimiter is None:
        return "one field a record"
    return f"{mark(delimiter)} between fields"


def _how(given: bool) -> str:
    return "given" if given else "found"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def mark(character: str) -> str:
    """Name a character that stands between others."""
    return _MARKS.get(character) or text(character)


def text(given: str) -> str:
    """Put what was given in quotes."""
    return "'" + given.replace("'", "''") + "'"


# --- columns --------------------------------------------------------------------------------------


def column_notes(dialect: "Dialect | None") -> dict[str, str]:
    """Say what is to be said of single columns.

    Args:
        dialect: of a source; None for none.

    Returns:
        By column a phrase; none for a column that was read as it stands.
    """
    if dialect is None:
        return {}
    match dialect.kind:
        case "delimited" | "json":
            return _of_texts(dialect.columns)
        case "typed":
            return _of_types(dialect)
        case _:
            assert_never(dialect)


def _of_types(dialect: "TypedDialect") -> dict[str, str]:
    notes = {column.name: f"from {column.source_type}" for column in dialect.columns}
    notes |= _of_texts(dialect.texts)
    for column in dialect.partitions:
        notes[column.name] = "; ".join(filter(None, ("from folder names", _notes(column))))
    return notes


def _of_texts(columns: "Sequence[TextColumn]") -> dict[str, str]:
    return {column.name: said for column in columns if (said := _notes(column))}


def _notes(column: "TextColumn") -> str:
    return ", ".join(_said(column))


def _said(column: "TextColumn") -> Iterator[str]:
    if "name" in column.given:
        yield "name given"
    if "type" in column.given:
        yield "type given"
    if column.date_format is not None:
        yield f"as {column.date_format}"
    if column.decimal != ".":
        yield f"decimal {mark(column.decimal)}"
    if column.thousands is not None:
        yield f"groups by {mark(column.thousands)}"
    if column.trim:
        yield "trimmed"
    if column.rounded:
        yield f"{column.rounded:,} rounded to the nearest"
    if column.missing:
        yield f"no key in {column.missing:,} records"


# --- format 1 -------------------------------------------------------------------------------------


def decisions_1(source: "TableSource1") -> tuple[str, ...]:
    """Say what was given for a source of a manifest of format 1, which keeps nothing else.

    Args:
        source: of a table.

    Returns:
        Short phrases; none where nothing was given.
    """
    options = source.options
    if options is None:
        return ()
    said = []
    if options.delimiter is not None:
        said.append(f"{_between(options.delimiter)} (given)")
    if options.header is not None:
        said.append("header (given)" if options.header else "no header (given)")
    if options.null:
        said.append(f"NULL also as {', '.join(map(text, options.null))} (given)")
    said += [f"{name} {kind} (given)" for name, kind in options.types]
    return (*said, "what was found is not recorded")

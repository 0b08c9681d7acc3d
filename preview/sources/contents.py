"""What a file really is, told by its first bytes, where its name says something else (specification 4)."""

from pathlib import Path
from typing import assert_never

from eligibility.sql.manifest import Format
from preview.errors import SourceError
from preview.sources.files import COMPRESSED, reading

HEAD_BYTES = 512
# The first bytes of a kind of file, what it is, and what to do.
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"SQLite format 3\0", "an SQLite database", "name a table in it, as in {name}::table"),
    (b"PAR1", "a Parquet file", "say --format parquet"),
    (b"ARROW1", "an Arrow file", "say --format arrow"),
    (b"%PDF-", "a PDF document", "export its table as CSV"),
    (
        b"PK\x03\x04",
        "a .zip archive or a spreadsheet",
        "save a sheet as CSV, or name it {name}.zip",
    ),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet of Excel 97", "save a sheet as CSV"),
    (b"\x1f\x8b", "packed by gzip", "name it {name}.gz"),
    (b"(\xb5/\xfd", "packed by zstd", "name it {name}.zst"),
)
_PAGES = (b"<!doctype html", b"<html")


def check_content(path: Path, kind: Format, *, is_given: bool) -> None:
    """See that a file is not something else than it is read as.

    Args:
        path: of it.
        kind: as what it is read.
        is_given: whether its format was given. A text may begin as some other files do, and who
            says that it is one is believed.

    Raises:
        SourceError: it is something else, or cannot be read; the message says what to do.
    """
    with reading(path.name), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    own = _its_own(kind)
    if path.suffix.lower() in COMPRESSED or (own is not None and head.startswith(own)):
        return
    found = _found(head)
    if found is not None:
        what, cure, may_be_text = found
        may_be_text = may_be_text and kind in ("csv", "json")
        if may_be_text and is_given:
            return
        cure = cure.format(name=path.name)
        if may_be_text:
            cure += f"; or say --format {kind} if it is text after all"
        raise SourceError(f"{path.name}: it is {what}, and not what its name says; {cure}")
    if kind == "parquet":
        raise SourceError(f"{path.name}: it is no Parquet file; say what it is, as in --format csv")


def _its_own(kind: Format) -> bytes | None:
    """Give how every file of a kind begins; None where such files begin in many ways."""
    match kind:
        case "parquet":
            return b"PAR1"
        case "arrow":
            return b"ARROW1"
        case "csv" | "json":
            return None
        case "arrow-table" | "duckdb" | "sqlite" | "postgresql" | "delta" | "iceberg" | "prepared":
            return None  # no file is read as one of those
        case _:
            assert_never(kind)


def _found(head: bytes) -> tuple[str, str, bool] | None:
    """Say what begins like this, what to do, and whether a text may begin so as well."""
    for start, what, cure in _KINDS:
        if head.startswith(start):
            return what, cure, start.isascii() and start.decode().isprintable()
    if head[8:12] == b"DUCK":
        return "a DuckDB database", "name a table in it, as in {name}::table", False
    if head.lstrip().lower().startswith(_PAGES):
        return "a web page", "download the file itself", True
    return None

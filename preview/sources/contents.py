"""What a file really is, told by its first bytes, where its name says something else (contract 4)."""

from pathlib import Path

from eligibility.manifest import Format
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
_ITS_OWN: dict[Format, bytes] = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_PAGES = (b"<!doctype html", b"<html")


def check_content(path: Path, kind: Format) -> None:
    """See that a file is not something else than it is read as.

    Args:
        path: of it.
        kind: as what it is read.

    Raises:
        SourceError: it is something else, or cannot be read; the message says what to do.
    """
    with reading(path.name), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    own = _ITS_OWN.get(kind)
    if path.suffix.lower() in COMPRESSED or (own is not None and head.startswith(own)):
        return
    found = next((one[1:] for one in _KINDS if head.startswith(one[0])), None)
    if found is None and head[8:12] == b"DUCK":
        found = ("a DuckDB database", "name a table in it, as in {name}::table")
    if found is None and head.lstrip().lower().startswith(_PAGES):
        found = ("a web page", "download the file itself")
    if found is not None:
        what, cure = found[0], found[1].format(name=path.name)
        raise SourceError(f"{path.name}: it is {what}, and not what its name says; {cure}")
    if kind == "parquet":
        raise SourceError(f"{path.name}: it is no Parquet file; say what it is, as in --format csv")

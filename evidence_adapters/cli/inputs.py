"""What the program is given: statements, files, schemas, sources, all within limits (specification 10).

Invariants
  N1  Nothing is read without a limit, and a path that is no readable file is `Trouble`.
  N2  A statement's bytes reach the decision unchanged; bytes that are not UTF-8 stay what they are
      (as surrogates), and the decision says so.
"""

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from eligibility.reasons import Reason
from eligibility.sql.schema import Schema
from eligibility.wire.untrusted import JSON_BYTES_MAX, EvidenceError, from_json
from evidence_adapters.cli.trouble import FILE, SCHEMA, Trouble, UsageError

STANDARD_INPUT = "-"

TableName = tuple[str, ...]


def read(path: str, limit: int = JSON_BYTES_MAX) -> bytes:
    """Read a file, or standard input for `-` (N1).

    Args:
        path: of any kind of file.
        limit: how much is read at most, in bytes.

    Returns:
        All of its bytes.

    Raises:
        Trouble: it cannot be read, or is larger.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        if path == STANDARD_INPUT and sys.stdin is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with open(path, "rb") as file:  # noqa: PTH123 - a path may not be text
                data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not the name of a file"
        raise Trouble(FILE, f"{name}: {said}") from None
    if len(data) > limit:
        raise Trouble(FILE, f"{name}: it is larger than {limit:,} bytes")
    return data


def statement(argument: str) -> str:
    """Give the statement that an argument stands for (N2).

    Args:
        argument: the text itself, or `-`.

    Returns:
        The text.

    Raises:
        Trouble: standard input cannot be read, or is larger than 5 MiB.
    """
    if argument != STANDARD_INPUT:
        return argument
    return read(STANDARD_INPUT).decode(errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is read bit by bit.

    Attributes:
        fd: its descriptor.
        name: for messages.
        size: in bytes; None where that is not known.
    """

    fd: int
    name: str
    size: int | None

    def read(self, limit: int) -> bytes:
        """Read what is there, at most `limit` bytes; nothing at its end.

        Raises:
            Trouble: it cannot be read.
        """
        try:
            return os.read(self.fd, limit)
        except OSError as error:
            raise Trouble(FILE, f"{self.name}: {error.strerror}") from None


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """Open a file, or standard input for `-`, to read it bit by bit (N1).

    Args:
        path: of any kind of file.

    Raises:
        Trouble: it cannot be opened.
    """
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise Trouble(FILE, f"standard input: {os.strerror(errno.EBADF)}")
        yield _source(sys.stdin.fileno(), "standard input")
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not the name of a file"
        raise Trouble(FILE, f"{path}: {said}") from None
    try:
        yield _source(fd, path)
    finally:
        os.close(fd)


def _source(fd: int, name: str) -> Source:
    found = os.fstat(fd)
    return Source(fd, name, found.st_size if stat.S_ISREG(found.st_mode) else None)


# --- a schema by hand ---------------------------------------------------------------------------


def schema(path: str) -> Schema:
    """Read a schema file (specification 9): JSON of what `Schema.of` takes.

    Args:
        path: of the file, or `-`. It holds an object of tables, or, for tables in several schemas,
            a list of `{"path": ["sales", "orders"], "columns": {…}}`.

    Returns:
        The schema.

    Raises:
        Trouble: it cannot be read, or is of another form.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        return Schema.of(_tables(_plain_json(read(path))))
    except EvidenceError as error:
        said = error.problem if error.pointer == "" else str(error)
    except ValueError as error:
        said = _first_line(error)
    raise Trouble(SCHEMA, f"{name}: {said}")


def _plain_json(data: bytes) -> Any:
    """Read JSON as strictly as evidence is read, into plain values."""
    from_json(TypeAdapter(Any), data)
    return json.loads(data)


def _tables(tree: Any) -> dict[str | TableName, Mapping[str, Any]]:
    if isinstance(tree, dict):
        return {name: _columns(name, columns) for name, columns in tree.items()}
    if not isinstance(tree, list):
        raise ValueError("it is neither an object of tables nor a list of them")
    tables: dict[str | TableName, Mapping[str, Any]] = {}
    for place, entry in enumerate(tree):
        if not isinstance(entry, dict) or set(entry) != {"path", "columns"}:
            raise ValueError(f"/{place}: a table has path and columns")
        path = entry["path"]
        if not isinstance(path, list) or not all(isinstance(part, str) for part in path):
            raise ValueError(f"/{place}/path: a path is a list of names")
        if tuple(path) in tables:
            raise ValueError(f"/{place}/path: the table is there already")
        tables[tuple(path)] = _columns(".".join(path), entry["columns"])
    return tables


def _columns(table: str, columns: Any) -> Mapping[str, Any]:
    if not isinstance(columns, dict) or not columns:
        raise ValueError(f"{table}: a table is an object of columns, at least one")
    for name, kind in columns.items():
        if not isinstance(kind, str) and not _is_column(kind):
            raise ValueError(
                f"{table}.{name}: a column is a type, or an object with type, nan and members"
            )
    return columns


def _is_column(kind: Any) -> bool:
    if not isinstance(kind, dict) or not {"type"} <= set(kind) <= {"type", "nan", "members"}:
        return False
    members = kind.get("members", [])
    return (
        isinstance(kind["type"], str)
        and (kind.get("nan") is None or isinstance(kind["nan"], bool))
        and isinstance(members, list)
        and all(isinstance(member, str) for member in members)
    )


def _first_line(error: ValueError) -> str:
    """Say what a model has against its values, without quoting them."""
    if isinstance(error, ValidationError):
        return error.errors(include_url=False, include_input=False)[0]["msg"]
    return str(error)


# --- what is pinned -----------------------------------------------------------------------------

_BARE = r'[^".=]+'
_PART = rf'(?:"(?:[^"]|"")+"|{_BARE})'
_NAME = re.compile(rf"{_PART}(?:\.{_PART})*")


def sources(arguments: Iterable[str]) -> dict[TableName, str]:
    """Read `NAME=SOURCE` arguments.

    Args:
        arguments: NAME is a table, or `schema.table`; a part with a dot, an equals sign or a quote
            in it stands in double quotes. SOURCE is any text.

    Returns:
        Source by table.

    Raises:
        Trouble: an argument is of another form, or a table is named twice.
    """
    found: dict[TableName, str] = {}
    for place, argument in enumerate(arguments, 1):
        path, source = name_before(argument)
        if path is None or len(path) > 2 or not source:
            # What stands there may be an address with a password in it.
            raise UsageError(f"argument {place} is not of the form NAME=SOURCE, as in t=file.csv")
        if path in found:
            raise UsageError(f"{written(path)}: the table is named twice")
        found[path] = source
    return found


def name_before(argument: str) -> tuple[TableName | None, str]:
    """Take the name before an equals sign off.

    Args:
        argument: `NAME=TEXT` or `TEXT`.

    Returns:
        The parts of the name, and what is behind it; None and the whole where no name is there.
    """
    name = _NAME.match(argument)
    if name is None or not argument.startswith("=", name.end()):
        return None, argument
    return name_of(name[0]), argument[name.end() + 1 :]


def name_of(argument: str) -> TableName | None:
    """Give the parts of a name; None for what is none."""
    if _NAME.fullmatch(argument) is None:
        return None
    return tuple(_unquoted(part[0]) for part in re.finditer(_PART, argument))


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def written(name: TableName) -> str:
    """Write a name as options and arguments take it."""
    return ".".join(
        part if re.fullmatch(_BARE, part) else '"' + part.replace('"', '""') + '"' for part in name
    )


# --- evidence -----------------------------------------------------------------------------------

_Kind = TypeVar("_Kind")


def evidence(path: str, kind: type[_Kind] | TypeAdapter[_Kind], malformed: Reason) -> _Kind:
    """Read a file of evidence (specification 10).

    Args:
        path: of the file, or `-`.
        kind: a boundary model, or an adapter of one.
        malformed: the reason to give where it is not of that form.

    Returns:
        The value.

    Raises:
        Trouble: it cannot be read, or is of another form; the message names a JSON pointer.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        return from_json(kind, read(path))
    except EvidenceError as error:
        raise Trouble(malformed.value, f"{name}: {error}") from None

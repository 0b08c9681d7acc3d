"""The options of `pin`, brought to the tables and columns they are for (specification 4.1, 9).

Invariants
  S1  An option that names a table names one that is pinned: what was given is used, or is an error.
  S2  What stands before an equals sign is the name of a table or column, never half of a text; a
      text that holds one is given behind the name of its table.
  S3  Of two that are given for one table or column none is dropped.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from eligibility.wire.model import COUNT_MAX
from evidence_adapters.cli.inputs import TableName, name_before, name_of, written
from evidence_adapters.cli.trouble import Trouble, UsageError

if TYPE_CHECKING:
    from preview import ReadOptions

_Path = tuple[str, str]
_Taken = TypeVar("_Taken")

NAMED_MAX = 10
BYTES_MAX = 2**63 - 1
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"([0-9]{1,19})([kmg]?)(?:(?<=[kmg])ib)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was written behind each option; an option without a value is an empty text."""

    skip: Sequence[str] = ()
    comment: Sequence[str] = ()
    delimiter: Sequence[str] = ()
    header: Sequence[str] = ()
    no_header: Sequence[str] = ()
    name: Sequence[str] = ()
    names: Sequence[str] = ()
    null: Sequence[str] = ()
    encoding: Sequence[str] = ()
    decimal: Sequence[str] = ()
    thousands: Sequence[str] = ()
    trim: Sequence[str] = ()
    date_format: Sequence[str] = ()
    types: Sequence[str] = ()
    records: Sequence[str] = ()
    partitions: Sequence[str] = ()
    format: Sequence[str] = ()


def read_options(given: Given, tables: Iterable[TableName]) -> "dict[TableName, ReadOptions]":
    """Say for each table what is asked for of its source.

    Args:
        given: what was written.
        tables: those that are pinned.

    Returns:
        The options by table.

    Raises:
        Trouble: an option is of another form, names a table that is not pinned, or is given twice.
    """
    from preview import ReadOptions

    known = _Tables(tables)
    format_ = known.one_each("--format", given.format, _format)
    encoding = known.one_each("--encoding", given.encoding, _text)
    skip = known.one_each("--skip", given.skip, _count)
    comment = known.one_each("--comment", given.comment, _text)
    delimiter = known.one_each("--delimiter", given.delimiter, _text)
    names = known.one_each("--names", given.names, _names)
    records = known.one_each("--records", given.records, lambda _, text: text)
    null = known.all_each("--null", given.null)
    header = known.switched(
        ("--header", given.header, True), ("--no-header", given.no_header, False)
    )
    partitions = known.switched(("--partitions", given.partitions, True))
    trim = known.marks("--trim", given.trim, valued=False)
    decimal = known.marks("--decimal", given.decimal)
    thousands = known.marks("--thousands", given.thousands)
    name = known.by_column("--name", given.name, "T.POSITION=NAME")
    types = known.by_column("--type", given.types, "T.COLUMN=TYPE")
    date_format = known.by_column("--date-format", given.date_format, "T.COLUMN=FORMAT")
    return {
        table: ReadOptions(
            format=format_.get(path),
            encoding=encoding.get(path),
            skip=skip.get(path, 0),
            comment=comment.get(path),
            delimiter=delimiter.get(path),
            header=header.get(path),
            name=tuple((_position(place), to) for place, to in name.get(path, {}).items()),
            names=names.get(path, ()),
            null=null[path],
            decimal=tuple(decimal[path].items()),
            thousands=tuple(thousands[path].items()),
            trim=tuple(trim[path]),
            date_format=tuple(date_format.get(path, {}).items()),
            types=tuple(types.get(path, {}).items()),
            records=records.get(path),
            partitions=partitions.get(path, False),
        )
        for path, table in known.by_path.items()
    }


def byte_size(text: str) -> int:
    """Read the size that `--max-bytes` takes: `500000`, `512M`, `16GiB`.

    Args:
        text: a whole number, and optionally K, M or G for 1,024 of the one before.

    Returns:
        The size in bytes, at least 1.

    Raises:
        Trouble: it is of another form, or too large.
    """
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * _UNITS[found[2].lower()] if found else 0
    if not 1 <= size <= BYTES_MAX:
        raise UsageError("--max-bytes takes a whole number of bytes, also as in 512M or 16GiB")
    return size


# --- the tables that options are for --------------------------------------------------------------


class _Tables:
    """The tables that are pinned, by their whole path."""

    def __init__(self, tables: Iterable[TableName]) -> None:
        self.by_path = {_whole(table): table for table in tables}

    # --- options of a table ---

    def one_each(
        self, option: str, arguments: Iterable[str], take: Callable[[str, str], _Taken]
    ) -> dict[_Path, _Taken]:
        """Read `[T=]VALUE` options of which a table has one; its own stands before that of all."""
        found: dict[_Path | None, _Taken] = {}
        for table, text in self._scoped(option, arguments):
            self._once(option, table, found)
            found[table] = take(option, text)
        return self._each(found)

    def all_each(self, option: str, arguments: Iterable[str]) -> dict[_Path, tuple[str, ...]]:
        """Read `[T=]TEXT` options of which a table has several: its own, and those of all."""
        found = list(self._scoped(option, arguments))
        return {
            path: tuple(dict.fromkeys(text for table, text in found if table in (None, path)))
            for path in self.by_path
        }

    def switched(self, *options: tuple[str, Sequence[str], bool]) -> dict[_Path, bool]:
        """Read `[T]` options, each of which stands for a value; a table has one of them."""
        either = " or ".join(option for option, _, _ in options)
        found: dict[_Path | None, bool] = {}
        for option, arguments, value in options:
            for argument in arguments:
                table = None if not argument else self._table(option, argument)
                self._once(either, table, found)
                found[table] = value
        return self._each(found)

    def _each(self, found: Mapping[_Path | None, _Taken]) -> dict[_Path, _Taken]:
        """Give each table its own, or else that of all."""
        every = dict.fromkeys(self.by_path, found[None]) if None in found else {}
        return every | {path: value for path, value in found.items() if path is not None}

    # --- options of a column ---

    def by_column(
        self, option: str, arguments: Iterable[str], form: str
    ) -> dict[_Path, dict[str, str]]:
        """Read `T.COLUMN=VALUE` options: value by column, by table."""
        found: dict[_Path, dict[str, str]] = {}
        for argument in arguments:
            path, text = name_before(argument)
            if path is None or not 2 <= len(path) <= 3 or not text:
                raise UsageError(f"{option} {argument}: it is not of the form {form}")
            table = self._known(option, path[:-1])
            columns = found.setdefault(table, {})
            if path[-1] in columns:
                raise UsageError(f"{option} is given twice for {written(path)}")
            columns[path[-1]] = _unicode(option, text)
        return found

    def marks(
        self, option: str, arguments: Iterable[str], *, valued: bool = True
    ) -> dict[_Path, dict[str | None, str]]:
        """Read `[T=]VALUE` and `T.COLUMN=VALUE`: value by column, None for all others, by table.

        Args:
            option: its name.
            arguments: what was written behind it.
            valued: whether there is a value, or the name alone.
        """
        every: dict[str | None, str] = {}
        own: dict[_Path, dict[str | None, str]] = {path: {} for path in self.by_path}
        for argument in arguments:
            if valued:
                path, text = name_before(argument)
                if not text:
                    raise UsageError(f"{option} {argument}: there is nothing behind it")
            else:
                path, text = name_of(argument), ""
                if argument and path is None:
                    raise UsageError(f"{option} {argument}: it is not of the form TABLE.COLUMN")
            table, column = (None, None) if path is None else self._column(option, path)
            columns = every if table is None else own[table]
            if column in columns:
                what = "" if path is None else f" for {written(path)}"
                raise UsageError(f"{option} is given twice{what}")
            columns[column] = _unicode(option, text)
        return {path: {**every, **columns} for path, columns in own.items()}

    # --- names ---

    def _scoped(self, option: str, arguments: Iterable[str]) -> Iterator[tuple[_Path | None, str]]:
        for argument in arguments:
            path, text = name_before(argument)
            table = None if path is None else self._known(option, path, scope=True)
            yield table, _unicode(option, text)

    def _table(self, option: str, argument: str) -> _Path:
        path = name_of(argument)
        if path is None:
            raise UsageError(f"{option} {argument}: it is not the name of a table")
        return self._known(option, path)

    def _column(self, option: str, path: TableName) -> tuple[_Path, str | None]:
        """Find the column that a name is of; or the table, where no such table has columns."""
        if 2 <= len(path) <= 3 and _whole(path[:-1]) in self.by_path:
            return _whole(path[:-1]), path[-1]
        return self._known(option, path), None

    def _known(self, option: str, path: TableName, *, scope: bool = False) -> _Path:
        if len(path) <= 2 and (whole := _whole(path)) in self.by_path:
            return whole
        shown = [self._shown(known) for known in sorted(self.by_path)]
        more = f" and {len(shown) - NAMED_MAX:,} more" if len(shown) > NAMED_MAX else ""
        pinned = ", ".join(shown[:NAMED_MAX]) + more
        text = (
            f"; write {option} {shown[0]}={written(path)}=… if that is a text with an equals sign"
            if scope and option in ("--null", "--comment", "--names", "--records")
            else ""
        )
        raise UsageError(
            f"{option} is given for {written(path)}, which is not pinned; pinned: {pinned}{text}"
        )

    def _shown(self, path: _Path) -> str:
        return written(self.by_path[path])

    def _once(self, option: str, table: _Path | None, found: Mapping[Any, Any]) -> None:
        if table in found:
            what = "" if table is None else f" for {self._shown(table)}"
            raise UsageError(f"{option} is given twice{what}")


def _whole(table: TableName) -> _Path:
    return ("main", table[0]) if len(table) == 1 else (table[0], table[1])


# --- values ---------------------------------------------------------------------------------------


def _unicode(option: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{option}: what is behind it is not Unicode text") from None
    return text


def _text(option: str, text: str) -> str:
    if not text:
        raise UsageError(f"{option}: there is nothing behind it")
    return text


def _count(option: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) <= COUNT_MAX):
        raise UsageError(f"{option} takes a whole number of lines, as in {option} 3")
    return int(text)


def _position(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text)):
        raise UsageError(
            "--name takes T.POSITION=NAME with a position counted from 1, as in t.1=id"
        )
    return int(text)


def _format(option: str, text: str) -> Any:
    from preview.sources.options import GivenFormat

    known = get_args(GivenFormat)
    if text not in known:
        raise UsageError(f"{option} takes one of {', '.join(known)}")
    return text


def _names(option: str, text: str) -> tuple[str, ...]:
    """Take names apart at commas; one with a comma in it stands in double quotes."""
    found: list[str] = []
    at = 0
    while True:
        name = _NAME.match(text, at)
        if name is None or not (name[1] or name[2]):
            raise _malformed_names(option)
        found.append(name[1].replace('""', '"') if name[1] is not None else name[2])
        at = name.end()
        if at == len(text):
            return tuple(found)
        if text[at] != ",":
            raise _malformed_names(option)
        at += 1


_NAME = re.compile(r'"((?:[^"]|"")*)"|([^,"]*)')


def _malformed_names(option: str) -> Trouble:
    return UsageError(f"{option} takes names with commas between, as in {option} id,day,amount")

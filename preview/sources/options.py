"""How one table's source is read, where that is asked for and not found (specification 4.1)."""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from eligibility.sql.manifest import Format
from eligibility.wire.model import COUNT_MAX, Model

# How a source is read without an option; `--format` takes these.
GivenFormat = Literal["csv", "tsv", "json", "parquet", "arrow"]
NO_DELIMITER = "none"
Pairs = tuple[tuple[str, str], ...]
Marks = tuple[tuple[str | None, str], ...]

_OF_FILES = frozenset({"format", "partitions"})
_BY_COLUMN = frozenset({"decimal", "thousands", "trim", "date_format", "types"})
_OF_NAMES = frozenset({"name", "names"})
# Every kind of source has an entry; a test walks them.
_USED: dict[Format, frozenset[str]] = {
    "csv": _OF_FILES
    | _BY_COLUMN
    | _OF_NAMES
    | {"encoding", "skip", "comment", "delimiter", "header", "null"},
    "json": _OF_FILES | _BY_COLUMN | _OF_NAMES | {"encoding", "records"},
    "parquet": _OF_FILES,
    "arrow": _OF_FILES,
    "arrow-table": frozenset(),
    "duckdb": frozenset(),
    "sqlite": _BY_COLUMN,
    "postgresql": frozenset({"types"}),
    "delta": frozenset(),
    "iceberg": frozenset(),
    "prepared": frozenset(),
}


class ReadOptions(Model):
    """What is asked for of one table's source; what is not is found, told and recorded.

    Attributes:
        format: the kind of file, where its name does not tell.
        encoding: the name of a codec, for delimited text and JSON.
        skip: physical lines to leave out at the start of delimited text.
        comment: a record that begins with this text is left out; None for no such text.
        delimiter: between the fields, one ASCII character; `none` for one field a record.
        header: whether the first record holds the names; None where it may be assumed.
        name: (position counted from 1, name) of single columns.
        names: the names of all columns; empty for none given.
        null: texts that stand for NULL where they are not quoted, beside the empty one.
        decimal: (column, mark before a fraction); None as column for all others.
        thousands: (column, mark between groups of three digits), in the same way.
        trim: columns whose texts lose spaces and tabs around them; None for all.
        date_format: (column, format of strptime).
        types: (column, DuckDB type), for delimited text and JSON.
        records: JSON pointer of the list of objects.
        partitions: whether folder names of the form `key=value` are columns.
    """

    format: GivenFormat | None = None
    encoding: str | None = None
    skip: int = Field(default=0, ge=0, le=COUNT_MAX)
    comment: str | None = Field(default=None, min_length=1)
    delimiter: str | None = Field(default=None, min_length=1)
    header: bool | None = None
    name: tuple[tuple[int, str], ...] = ()
    names: tuple[str, ...] = ()
    null: tuple[str, ...] = ()
    decimal: Marks = ()
    thousands: Marks = ()
    trim: tuple[str | None, ...] = ()
    date_format: Pairs = ()
    types: Pairs = ()
    records: str | None = None
    partitions: bool = False

    def given(self) -> dict[str, str]:
        """Give what is asked for: the names of attributes, and of the options of the program."""
        asked = {
            name: f"--{name.replace('_', '-')}"
            for name, field in type(self).model_fields.items()
            if getattr(self, name) != field.default
        }
        special = {"types": "--type", "header": "--header" if self.header else "--no-header"}
        return {name: special.get(name, flag) for name, flag in asked.items()}

    @classmethod
    def of(
        cls,
        *,
        format: GivenFormat | None = None,  # noqa: A002 - the word for it
        encoding: str | None = None,
        skip: int = 0,
        comment: str | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        name: Mapping[int, str] | None = None,
        names: Iterable[str] = (),
        null: str | Iterable[str] = (),
        decimal: str | Mapping[str, str] | None = None,
        thousands: str | Mapping[str, str] | None = None,
        trim: bool | Iterable[str] = False,
        date_format: Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        records: str | None = None,
        partitions: bool = False,
    ) -> "ReadOptions":
        """Make options by hand; each is as the attribute of its name.

        Args:
            format: the kind of file.
            encoding: the name of a codec.
            skip: physical lines to leave out.
            comment: with what a record begins that is left out.
            delimiter: between the fields, or `none`.
            header: whether the first record holds the names.
            name: name by position, counted from 1.
            names: of all columns.
            null: a text that stands for NULL, or several.
            decimal: the mark of all columns, or by column.
            thousands: the mark of all columns, or by column.
            trim: all columns, or these.
            date_format: format by column.
            types: type by column, in any spelling.
            records: JSON pointer of the list of objects.
            partitions: whether folder names are columns.

        Returns:
            The options.
        """
        return cls(
            format=format,
            encoding=encoding,
            skip=skip,
            comment=comment,
            delimiter=delimiter,
            header=header,
            name=tuple((name or {}).items()),
            names=tuple(names),
            null=(null,) if isinstance(null, str) else tuple(null),
            decimal=_marks(decimal),
            thousands=_marks(thousands),
            trim=((None,) if trim else ()) if isinstance(trim, bool) else tuple(trim),
            date_format=tuple((date_format or {}).items()),
            types=tuple((types or {}).items()),
            records=records,
            partitions=partitions,
        )


def _marks(given: str | Mapping[str, str] | None) -> Marks:
    return ((None, given),) if isinstance(given, str) else tuple((given or {}).items())


def of_no_use(tables: Iterable[tuple[Format, ReadOptions]]) -> tuple[int, str] | None:
    """Find an option that no table for which it is given has a use for.

    Args:
        tables: format of the source, and the options for it.

    Returns:
        The position of the first such table, and the option; None where there is none.
    """
    listed = list(tables)
    used = {name for kind, options in listed for name in options.given() if uses(kind, name)}
    for place, (_, options) in enumerate(listed):
        for name, flag in options.given().items():
            if name not in used:
                return place, flag
    return None


def uses(kind: Format, option: str) -> bool:
    """Say whether a kind of source has a use for an option.

    Args:
        kind: of the source.
        option: the name of an attribute of `ReadOptions`.
    """
    return option in _USED[kind]

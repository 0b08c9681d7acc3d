"""The verb `pin`: sources and options of specification 4.1 in, a snapshot out."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from evidence_adapters.cli.program import DONE, Answer
from evidence_adapters.cli.progress import progress

if TYPE_CHECKING:
    from evidence_adapters.cli.screen import Screen
    from preview import Snapshot

# Options whose value may be left out: a table or a column, or nothing for all.
_SWITCHES = frozenset({"--header", "--no-header", "--trim", "--partitions"})


class PinCommand(TyperCommand):
    """A command with options whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give each such option a value, an empty one where none is there, and parse."""
        valued = {
            option
            for parameter in self.params
            if isinstance(parameter, TyperOption) and not parameter.is_flag
            for option in parameter.opts
        }
        return super().parse_args(ctx, list(_with_values(args, valued - _SWITCHES)))


def _with_values(arguments: Sequence[str], valued: set[str]) -> Iterator[str]:
    """Write `--trim t.c` as `--trim=t.c`, and `--trim` alone as `--trim=`.

    What follows belongs to it where it is a name: a source has an equals sign, an option a dash.
    """
    from evidence_adapters.cli.inputs import name_of

    at = 0
    while at < len(arguments):
        argument, after = arguments[at], arguments[at + 1 : at + 2]
        if argument == "--":
            yield from arguments[at:]
            return
        at += 1
        if argument in _SWITCHES:
            named = after and not after[0].startswith("-") and name_of(after[0]) is not None
            yield f"{argument}={after[0] if named else ''}"
            at += bool(named)
            continue
        yield argument
        if argument in valued:
            yield from after
            at += 1


def _many(option: str, metavar: str, says: str) -> Any:
    return typer.Option(option, metavar=metavar, help=says)


_Many = list[str] | None


def pin(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="NAME=SOURCE...", help="Tables, and where their rows are."),
    ],
    into: Annotated[str, typer.Option("--into", metavar="DIR", help="The snapshot to make.")],
    format_: Annotated[
        _Many, _many("--format", "[T=]KIND", "csv, tsv, json, parquet or arrow: --format csv")
    ] = None,
    encoding: Annotated[
        _Many, _many("--encoding", "[T=]CODEC", "Of the bytes: --encoding latin-1")
    ] = None,
    skip: Annotated[
        _Many, _many("--skip", "[T=]LINES", "Lines to leave out at the start: --skip 3")
    ] = None,
    comment: Annotated[
        _Many, _many("--comment", "[T=]TEXT", "Leave out records that begin so: --comment '#'")
    ] = None,
    delimiter: Annotated[
        _Many, _many("--delimiter", "[T=]CHAR", "Between fields, tab or none: --delimiter ';'")
    ] = None,
    header: Annotated[
        _Many, _many("--header", "[T]", "The first record holds the names: --header t")
    ] = None,
    no_header: Annotated[
        _Many, _many("--no-header", "[T]", "The first record is data: --no-header")
    ] = None,
    name: Annotated[
        _Many, _many("--name", "T.POSITION=NAME", "Name one column, from 1: --name t.1=id")
    ] = None,
    names: Annotated[
        _Many, _many("--names", "[T=]NAMES", "Name all columns: --names t=id,day,price")
    ] = None,
    null: Annotated[
        _Many, _many("--null", "[T=]TEXT", "A text that is NULL too: --null NA --null -")
    ] = None,
    decimal: Annotated[
        _Many, _many("--decimal", "[T.C=]CHAR", "Mark before a fraction: --decimal t.price=,")
    ] = None,
    thousands: Annotated[
        _Many, _many("--thousands", "[T.C=]CHAR", "Between three digits: --thousands t.price=.")
    ] = None,
    trim: Annotated[
        _Many, _many("--trim", "[T.C]", "Drop blanks around texts: --trim t.price")
    ] = None,
    types: Annotated[
        _Many, _many("--type", "T.C=TYPE", "A column's DuckDB type: --type t.price=DOUBLE")
    ] = None,
    date_format: Annotated[
        _Many, _many("--date-format", "T.C=FORMAT", "As of strptime: --date-format t.day=%d/%m/%Y")
    ] = None,
    records: Annotated[
        _Many, _many("--records", "[T=]POINTER", "JSON: where the list is: --records /data/items")
    ] = None,
    partitions: Annotated[
        _Many, _many("--partitions", "[T]", "Folders k=v are columns: --partitions")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A doubt is an error: --strict")] = False,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes", metavar="SIZE", help="What a source may unpack to: --max-bytes 64GiB"
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, and nothing else.")
    ] = False,
) -> Answer:
    """Freeze tables into a snapshot.

    A snapshot is a folder with one database file and its manifest. The same rows always give the
    same snapshot id. NAME is a table, or schema.table; a name with a dot or an equals sign in it
    stands in double quotes. SOURCE is one of

    \b
      FILE                   Parquet, Arrow, CSV, TSV, JSON, NDJSON (text also
                             as .gz, .zst, or .zip of one file)
      'DIR/*.parquet'        Parquet files, in the order of their paths
      FILE.duckdb::TABLE     a table of a DuckDB or .sqlite database file
      delta:DIR[@VERSION]    a Delta Lake table
      iceberg:METADATA.json[@SNAPSHOT]
      postgresql:SERVICE::SCHEMA.TABLE
      @FILE.sql              a query over tables pinned in the same call

    How a text is read is found by stated rules, printed, and kept in the manifest; what looks like
    more than it was read as is a doubt, told with the option that settles it. Options say what is
    not to be found. T is a table of this call and C a column of it; without T an option holds for
    all tables. Options may be repeated.
    """  # noqa: D301 - the sign keeps the lines below it as they are
    from evidence_adapters.cli import inputs
    from evidence_adapters.cli.options import Given, byte_size, read_options

    named = inputs.sources(sources)
    with progress("pinning") as told:
        from preview import pin as pin_sources
        from preview.pinning import UNPACKED_BYTES_MAX

        given = Given(
            format=format_ or (),
            encoding=encoding or (),
            skip=skip or (),
            comment=comment or (),
            delimiter=delimiter or (),
            header=header or (),
            no_header=no_header or (),
            name=name or (),
            names=names or (),
            null=null or (),
            decimal=decimal or (),
            thousands=thousands or (),
            trim=trim or (),
            types=types or (),
            date_format=date_format or (),
            records=records or (),
            partitions=partitions or (),
        )
        snapshot = pin_sources(
            dict(named.items()),
            into=into,
            options=dict(read_options(given, named).items()),
            strict=strict,
            max_bytes=UNPACKED_BYTES_MAX if max_bytes is None else byte_size(max_bytes),
            progress=told,
        )

    def show(screen: "Screen") -> None:
        screen.snapshot(snapshot, into=into)

    return Answer(DONE, snapshot_document(snapshot) | {"created": snapshot.created}, show)


def snapshot_document(snapshot: "Snapshot") -> dict[str, Any]:
    """Give what `--json` prints of a snapshot."""
    return {
        "snapshot": snapshot.id,
        "manifest_sha256": snapshot.manifest_sha256,
        "tables": [pin.model_dump(mode="json") for pin in snapshot.pins],
        "sources": [source.model_dump(mode="json") for source in snapshot.manifest.sources],
    }

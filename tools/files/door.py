"""Feeds files to `pin` in this process, and reads back what was pinned by plain means.

Invariants
  P1  What is called pinned went through the whole of `pin`: read, hashed, written, verified.
  P2  It is read back by a plain connection to the database file, and the manifest as plain JSON.
  P3  A refusal is a `SourceError` of one line that holds no text of a cell; all else is a fault.
"""

import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

import preview
from eligibility.sql.manifest import TableSource
from eligibility.sql.schema import CATALOG
from eligibility.wire.canonical import canonical_bytes
from preview import pinning
from preview.snapshot import CONFIG
from preview.sources import structure
from preview.sources.files import Held
from preview.sources.options import ReadOptions
from preview.sources.readable import Lasting, Reading
from preview.sources.source import resolve
from tools.files import values
from tools.files.finding import File
from tools.files.judge import Pinned

# Where a chunk's size stands, by name: the engine reads whole records of about so many bytes.
CHUNKS: list[tuple[Any, str]] = [(structure, "CHUNK_BYTES")]


@dataclass(frozen=True)
class Refused:
    """An error, as a person reads it."""

    message: str


Outcome = Pinned | Refused


class Broken(Exception):
    """What is neither a pin nor a refusal."""


class Door:
    """A folder in memory, where there is one, and what pins into it."""

    def __init__(self) -> None:
        memory = Path("/dev/shm")  # noqa: S108  the folder made in it is private
        self._folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self._numbers = itertools.count()
        self._stack = ExitStack()
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._trial = duckdb.connect(config={**CONFIG, "threads": 1})
        self._stack.callback(self._trial.close)
        self._trial.execute("SET TimeZone = 'UTC'").fetchall()
        self._trial.execute(f"ATTACH ':memory:' AS {CATALOG}").fetchall()

    def __enter__(self) -> "Door":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def feed(self, files: Sequence[File], *, whole: bool = True) -> list[Outcome]:
        """Pin files, several in one snapshot where they are all read.

        Args:
            files: in any number; those of one chunk size are pinned together.
            whole: whether what can be read is pinned too; else it is judged as it was read, into a
                table in memory, which leaves out no step of reading.

        Returns:
            What became of each.

        Raises:
            Broken: something else than a refusal was raised; it names the file by position.
        """
        made: dict[int, Outcome] = {}
        with self._written(files) as paths:
            for chunk in dict.fromkeys(file.chunk for file in files):
                readable = []
                with chunked(chunk):
                    for place, file in enumerate(files):
                        if file.chunk != chunk:
                            continue
                        tried = self._try(file, paths[place], place)
                        if whole and isinstance(tried, Pinned):
                            readable.append(place)
                        else:
                            made[place] = tried
                    if readable:
                        chosen = [(files[place], paths[place]) for place in readable]
                        made.update(zip(readable, self._pin(chosen), strict=True))
        return [made[place] for place in range(len(files))]

    def pin_alone(self, file: File) -> Outcome:
        """Pin one file by a call of `pin`, without a trial before."""
        with self._written([file]) as (path,), chunked(file.chunk):
            try:
                return self._pin([(file, path)])[0]
            except preview.SourceError as error:
                return Refused(str(error))

    @contextmanager
    def _written(self, files: Sequence[File]) -> Iterator[list[Path]]:
        folder = self._folder / f"files{next(self._numbers)}"
        paths = []
        for place, file in enumerate(files):
            (folder / str(place)).mkdir(parents=True)
            paths.append(folder / str(place) / file.name)
            paths[-1].write_bytes(file.data)
        yield paths
        shutil.rmtree(folder)

    def _try(self, file: File, path: Path, place: int) -> Outcome:
        """Read a file as `pin` does, without a snapshot: most refusals cost little so."""
        folder = self._folder / "trial"
        folder.mkdir()
        try:
            source = resolve(str(path), ReadOptions.of(**file.options))
            with Held(lambda *_: None) as held:
                for one in source.files:
                    held.hold(one)
                reading = Reading(
                    self._trial,
                    "t",
                    folder,
                    2**30,
                    held.opened,
                    lambda *_: None,
                    held.hold,
                    held.hashed,
                    Lasting(self._stack),
                )
                told = pinning._load(("main", "t"), source, reading, folder)
            if file.strict:
                pinning._check_doubts({("main", "t"): told})
            recorded = TableSource(
                path=("main", "t"),
                format=source.format,
                name=source.name,
                table=None,
                files=(),
                dialect=told.dialect,
                doubts=told.doubts,
                origin=None,
            )
            form = json.loads(canonical_bytes(recorded))
            return _table(self._trial, form, f"{CATALOG}.main.t")
        except preview.SourceError as error:
            return Refused(str(error))
        except Exception as error:
            raise Broken(f"{place}: {type(error).__name__}: {error}") from error
        finally:
            self._trial.execute(f"DROP TABLE IF EXISTS {CATALOG}.main.t").fetchall()
            shutil.rmtree(folder)

    def _pin(self, chosen: Sequence[tuple[File, Path]]) -> list[Outcome]:
        into = self._folder / f"made{next(self._numbers)}"
        names = [f"t{place:03}" for place in range(len(chosen))]
        preview.pin(
            {name: str(path) for name, (_, path) in zip(names, chosen, strict=True)},
            into=into,
            options={
                name: ReadOptions.of(**file.options)
                for name, (file, _) in zip(names, chosen, strict=True)
            },
            strict=all(file.strict for file, _ in chosen),
        )
        try:
            return list(read_back(into))
        finally:
            shutil.rmtree(into)


@contextmanager
def chunked(size: int | None) -> Iterator[None]:
    """Let the engine read in chunks of so many bytes for a while; None for its own size."""
    with ExitStack() as stack:
        for where, name in CHUNKS if size is not None else []:
            stack.enter_context(patch.object(where, name, size))
        yield


def read_back(folder: Path) -> Iterator[Pinned]:
    """Read all tables of a snapshot by a plain connection (P2)."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    database = str(folder / "snapshot.duckdb")
    with duckdb.connect(database, read_only=True, config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'").fetchall()
        for source in manifest["sources"]:
            table = ".".join(_quoted(part) for part in source["path"])
            yield _table(connection, source, table)


def _table(connection: duckdb.DuckDBPyConnection, source: Any, table: str) -> Pinned:
    described = connection.execute(f"DESCRIBE {table}").fetchall()
    columns = [(name, kind) for name, kind, *_ in described]
    listed = ", ".join(values.shown(_quoted(name), kind) for name, kind in columns)
    # Rows come in their order; `ORDER BY rowid` would be by a column of that name.
    rows = connection.execute(f"SELECT {listed} FROM {table}").fetchall()
    return Pinned(source, columns, rows)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

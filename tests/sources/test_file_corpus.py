"""Every case of corpora/files, through the program's own options."""

from pathlib import Path
from typing import Any

import pytest

import preview
from eligibility.sql.manifest import DelimitedDialect, TableSource
from preview.sources.doubts import in_words
from tests.file_corpus import cases
from tests.pinned import rows_of
from tests.sources.options import read_options

CASES = cases()
GOOD = {str(place): case for place, case in enumerate(CASES) if case.error is None}
BAD = [case for case in CASES if case.error is not None]


def test_there_are_cases():
    assert len(GOOD) >= 40
    assert len(BAD) >= 19


def pinned(folder: Path, options: Any) -> tuple[preview.Snapshot, dict[str, TableSource]]:
    """Pin all good cases at once, each a table: a snapshot a case would be slow."""
    sources: dict[Any, Path] = {}
    for name, case in GOOD.items():
        path = folder / name / case.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(case.data)
        sources[name] = path
    made = preview.pin(
        sources, into=folder / f"made-{len(list(folder.iterdir()))}", options=options
    )
    found = [one for one in made.manifest.sources if isinstance(one, TableSource)]
    return made, {source.path[1]: source for source in found}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("corpus")


@pytest.fixture(scope="module")
def made(folder):
    return pinned(folder, {name: read_options("t", case.options) for name, case in GOOD.items()})


@pytest.mark.parametrize("name", GOOD, ids=lambda name: GOOD[name].title)
def test_what_must_be_pinned_is(name, made):
    snapshot, sources = made
    case = GOOD[name]
    (pin,) = (pin for pin in snapshot.pins if pin.path == ("main", name))
    columns = [f"{column.name} {column.type}" for column in pin.columns]
    assert ", ".join(columns) == case.columns
    rows = rows_of(snapshot, f'SELECT CAST(COLUMNS(*) AS VARCHAR) FROM "{name}"')
    assert rows == case.rows
    doubts = [f"{doubt.code} {doubt.column}" for doubt in sources[name].doubts]
    assert doubts == case.doubts


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.title)
def test_what_must_be_an_error_is(case, tmp_path):
    path = tmp_path / case.name
    path.write_bytes(case.data)
    with pytest.raises(preview.SourceError) as caught:
        preview.pin({"t": path}, into=tmp_path / "made", options=read_options("t", case.options))
    assert case.error in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == [case.name]


def test_a_doubt_is_an_error_where_that_is_asked_for(tmp_path, made):
    _, sources = made
    (name,) = (name for name, case in GOOD.items() if case.title == "a-hash-begins-a-record")
    path = tmp_path / "t.csv"
    path.write_bytes(GOOD[name].data)
    with pytest.raises(preview.SourceError) as caught:
        preview.pin({name: path}, into=tmp_path / "strict", strict=True)
    assert in_words(sources[name].doubts[0]) in str(caught.value)


def test_the_recorded_dialect_gives_the_same_tables(folder, made):
    """What was found is asked for: the same rows, and nothing left to find (manifest M2)."""
    snapshot, sources = made
    again, _ = pinned(folder, {name: _asked_for(source) for name, source in sources.items()})
    assert again.id == snapshot.id


def _asked_for(source: TableSource) -> preview.ReadOptions:
    dialect = source.dialect
    assert isinstance(dialect, DelimitedDialect)
    encoding = dialect.encoding if dialect.encoding not in ("utf-8", "utf-16-le") else None
    columns = dialect.columns
    return preview.ReadOptions(
        encoding=encoding,
        skip=dialect.skip,
        comment=dialect.comment,
        delimiter="none" if dialect.delimiter is None else dialect.delimiter,
        header=dialect.header,
        names=tuple(column.name for column in columns),
        null=dialect.null,
        decimal=tuple((c.name, c.decimal) for c in columns if c.decimal != "."),
        thousands=tuple((c.name, c.thousands) for c in columns if c.thousands),
        trim=tuple(c.name for c in columns if c.trim),
        date_format=tuple((c.name, c.date_format) for c in columns if c.date_format),
        types=tuple((c.name, c.type) for c in columns if not c.date_format),
    )

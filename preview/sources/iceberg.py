"""One snapshot of an Iceberg table (contract 9, 15.4)."""

from collections.abc import Iterator
from contextlib import contextmanager

from preview.errors import SourceError
from preview.sources.readable import Readable, Reading
from preview.sources.source import Source


@contextmanager
def readable(source: Source, reading: Reading) -> Iterator[Readable]:
    """Make it readable by SQL; see `preview.sources.kinds.readable`."""
    raise SourceError(f"{source.shown}: not read yet")
    yield Readable("")

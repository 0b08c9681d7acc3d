"""Canonical bytes are those of RFC 8785, as a library that implements all of it writes them."""

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from eligibility.sql.facts import Claim
from eligibility.sql.observation import Cell, OutputColumn, ReturnedPreview
from eligibility.wire.canonical import canonical_bytes

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)
CELLS = st.builds(Cell, type=TEXTS, text=st.none() | TEXTS)
COLUMNS = st.builds(OutputColumn, position=st.integers(0, 999), name=TEXTS, type=TEXTS)
PREVIEWS = st.builds(
    ReturnedPreview,
    columns=st.lists(COLUMNS, max_size=3).map(tuple),
    rows=st.lists(st.lists(CELLS, max_size=3).map(tuple), max_size=3).map(tuple),
    truncated=st.sampled_from([None, "rows", "bytes"]),
)


@given(PREVIEWS)
def test_any_preview(preview: ReturnedPreview) -> None:
    assert canonical_bytes(preview) == rfc8785.dumps(preview.model_dump(mode="json"))


@given(st.integers(-(2**53) + 1, 2**53 - 1), TEXTS)
def test_any_claim(place: int, text: str) -> None:
    claim = Claim(row=place, column=-place, text=text)
    assert canonical_bytes(claim) == rfc8785.dumps(claim.model_dump(mode="json"))


def test_every_character_of_the_basic_plane() -> None:
    every = "".join(chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000)
    cell = Cell(type="VARCHAR", text=every)
    assert canonical_bytes(cell) == rfc8785.dumps(cell.model_dump(mode="json"))

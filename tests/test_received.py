"""What is given to a release is read alike by the quick ways and in full (received I1, I2)."""

import json
from collections.abc import Callable
from operator import is_
from typing import Any

import pytest

from eligibility.reasons import Reason
from eligibility.sql import received
from eligibility.sql.facts import CLAIMS_MAX, Claim
from eligibility.sql.observation import ROWS_MAX, Cell, Observation, OutputColumn, ReturnedPreview
from eligibility.sql.received import read_claims, read_observation, read_preview
from eligibility.sql.release import release
from eligibility.wire.model import COUNT_MAX
from eligibility.wire.received import is_as_written, read_in_full
from eligibility.wire.untrusted import JSON_BYTES_MAX, EvidenceError
from tests.test_release import CELLS, DIRECT, observe, of, shape

FIRST = DIRECT.rows[0][0]


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Rows(tuple[Any, ...]):
    __slots__ = ()


class OtherCell(Cell):
    note: str = ""


class OtherClaim(Claim):
    note: str = ""


class OtherPreview(ReturnedPreview):
    pass


class OtherObservation(Observation):
    pass


def unchecked(kind: Any, like: Any = None, **changes: Any) -> Any:
    """A model that nothing validated."""
    return kind.model_construct(**({} if like is None else vars(like)) | changes)


def touched(model: Any, touch: Callable[[Any], object]) -> Any:
    touch(model)
    return model


def cell(**changes: Any) -> Any:
    return unchecked(Cell, FIRST, **changes)


def in_place(first: object) -> tuple[object, ...]:
    """The rows of an observation with another first cell."""
    return ((first, *DIRECT.rows[0][1:]), *DIRECT.rows[1:])


def setting(name: str, value: object) -> Callable[[Any], object]:
    return lambda model: object.__setattr__(model, name, value)


class Held(dict[str, Any]):
    """What a model holds, and says something else."""

    def __getitem__(self, name: str) -> Any:
        return {"type": "VARCHAR", "text": "other"}[name]


# --- the observation ------------------------------------------------------------------------------

NOT_KEPT: dict[str, object] = {
    "no rows at all": None,
    "a list of rows": list(DIRECT.rows),
    "rows of another class": Rows(DIRECT.rows),
    "rows that are lists": tuple(map(list, DIRECT.rows)),
    "a row of another class": (Rows(DIRECT.rows[0]), *DIRECT.rows[1:]),
    "too many rows": DIRECT.rows * ROWS_MAX,
    "no cell": in_place({"type": "VARCHAR", "text": "UA"}),
    "a cell of another class": in_place(OtherCell(type="VARCHAR", text="UA")),
    "another model": in_place(OutputColumn(position=0, name="UA", type="VARCHAR")),
    "a cell without text": in_place(unchecked(Cell, type="VARCHAR")),
    "a cell without a type": in_place(unchecked(Cell, text="UA")),
    "a cell without anything": in_place(Cell.__new__(Cell)),
    "a cell that holds more": in_place(touched(cell(), lambda one: vars(one).update(note=1))),
    "a cell that holds something else": in_place(
        touched(unchecked(Cell, type="VARCHAR"), lambda one: vars(one).update(note=1))
    ),
    "a cell that says something else": in_place(
        touched(cell(), setting("__dict__", Held(type="VARCHAR", text="UA")))
    ),
    "a cell with more fields": in_place(
        touched(cell(), setting("__pydantic_extra__", {"note": 1}))
    ),
    "a cell with secrets": in_place(touched(cell(), setting("__pydantic_private__", {"note": 1}))),
    "a cell of which less was given": in_place(
        touched(cell(), setting("__pydantic_fields_set__", {"type"}))
    ),
    "a cell that was never made whole": in_place(
        touched(Cell.__new__(Cell), lambda one: vars(one).update(vars(FIRST)))
    ),
    "a type that is none": in_place(cell(type=None)),
    "a type of another class": in_place(cell(type=Text("VARCHAR"))),
    "a text of another class": in_place(cell(text=Text("UA"))),
    "a number for a text": in_place(cell(text=5)),
    "bytes for a text": in_place(cell(text=b"UA")),
    "half a character": in_place(cell(text="\ud800")),
    "half a character in a type": in_place(cell(type="\ud800")),
}


def outcome(read: object) -> object:
    return (read.pointer, read.problem) if isinstance(read, EvidenceError) else read


def in_full(given: object) -> Any:
    return read_in_full(received._OBSERVATION, given, Observation)


@pytest.mark.parametrize("name", NOT_KEPT)
def test_rows_that_reading_would_not_make_are_not_kept(name: str) -> None:
    rows = NOT_KEPT[name]
    given = unchecked(Observation, DIRECT, rows=rows)
    read = read_observation(given)
    assert outcome(read) == outcome(in_full(given))
    assert not received._rows_are_as_read(rows)
    if isinstance(read, Observation):
        assert read.rows == DIRECT.rows
        first = read.rows[0][0]
        assert (type(first), type(first.type), type(first.text)) == (Cell, str, str)
        assert first.model_fields_set == {"type", "text"}


@pytest.mark.parametrize("observation", [DIRECT, CELLS])
def test_cells_with_nothing_wrong_are_kept(observation: Observation) -> None:
    read = read_observation(observation)
    assert isinstance(read, Observation)
    assert read == observation == in_full(observation)
    assert read.model_fields_set == set(Observation.model_fields)
    assert list(vars(read)) == list(vars(observation))
    assert all(
        one is other
        for row, same in zip(read.rows, observation.rows, strict=True)
        for one, other in zip(row, same, strict=True)
    )
    assert read is not observation
    assert read.pins[0] is not observation.pins[0]


def test_as_many_rows_as_may_be_are_kept() -> None:
    rows = (DIRECT.rows * ROWS_MAX)[:ROWS_MAX]
    assert received._rows_are_as_read(rows)
    assert not received._rows_are_as_read((*rows, rows[0]))
    assert received._rows_are_as_read(())


def test_an_observation_of_another_class_is_read_in_full() -> None:
    given = unchecked(OtherObservation, DIRECT)
    read = read_observation(given)
    assert type(read) is Observation
    assert read == DIRECT
    assert read.rows[0][0] is not FIRST
    assert isinstance(read_observation(Observation.__new__(Observation)), EvidenceError)


@pytest.mark.parametrize("field", sorted(set(Observation.model_fields) - {"rows"}))
def test_what_is_wrong_beside_the_rows_is_said(field: str) -> None:
    values: tuple[object, ...] = (None, 5, "\ud800", b"x", [], {}, True)
    for value in values:
        given = unchecked(Observation, DIRECT, **{field: value})
        assert outcome(read_observation(given)) == outcome(in_full(given))
    given = unchecked(Observation, **{n: v for n, v in vars(DIRECT).items() if n != field})
    assert outcome(read_observation(given)) == outcome(in_full(given))


# --- the preview ----------------------------------------------------------------------------------

SHOWN = DIRECT.preview()
WRITTEN = SHOWN.model_dump_json()


class OtherBytes(bytes):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = bytes.__hash__


@pytest.mark.parametrize(
    ("given", "alike"),
    [
        (SHOWN, True),
        (WRITTEN, True),
        (WRITTEN.encode(), True),
        (OtherPreview(**vars(SHOWN)), True),
        (unchecked(ReturnedPreview, SHOWN, rows=list(SHOWN.rows)), False),
        (unchecked(ReturnedPreview, SHOWN, truncated="\ud800"), False),
        (unchecked(ReturnedPreview, SHOWN, rows=in_place(cell(text=5))), False),
        (unchecked(ReturnedPreview, SHOWN, truncated="rows"), False),
        (Text(WRITTEN), False),
        (OtherBytes(b"{}"), False),
        (bytearray(WRITTEN.encode()), False),
        (memoryview(WRITTEN.encode()), False),
        (WRITTEN + " ", False),
        (WRITTEN + "\ud800", False),
        (SHOWN.model_dump(), False),
        (None, False),
    ],
)
def test_a_preview_is_as_written_or_is_read(given: object, alike: bool) -> None:
    assert is_as_written(received._PREVIEW, given, SHOWN) is alike
    in_full = read_preview(given)
    assert outcome(read_preview(given, SHOWN)) == outcome(in_full)
    if alike:
        assert in_full == SHOWN


def test_a_preview_that_is_too_large_to_be_read_is_no_preview_as_text() -> None:
    rest = len(WRITTEN) - len("c0")
    for size, alike in ((JSON_BYTES_MAX, True), (JSON_BYTES_MAX + 1, False)):
        columns = (OutputColumn(position=0, name="x" * (size - rest), type="VARCHAR"),)
        large = ReturnedPreview(
            columns=(*columns, *SHOWN.columns[1:]), rows=SHOWN.rows, truncated=None
        )
        text = large.model_dump_json()
        assert len(text) == size
        assert is_as_written(received._PREVIEW, text, large) is alike
        assert (read_preview(text) == large) is alike


# --- the claims -----------------------------------------------------------------------------------


def claim(**changes: Any) -> Any:
    plain = {"domain": "sql", "row": 0, "column": 0, "type": None, "text": None}
    return unchecked(Claim, **plain | changes)


KEPT: dict[str, list[Any]] = {
    "none": [],
    "one": [claim()],
    "in another order, one twice": [claim(row=2), claim(column=2), claim(row=2), claim(row=2)],
    "far away, as far as JSON goes": [claim(row=COUNT_MAX, column=-COUNT_MAX)],
    "with what is expected": [claim(type="VARCHAR", text="UA")],
    "nothing is given beside the place": [unchecked(Claim, row=1, column=0)],
    "as many as may be": [claim()] * CLAIMS_MAX,
}
READ: dict[str, object] = {
    "nothing": None,
    "text": "[]",
    "another domain": [claim(domain="document")],
    "a domain of another class": [claim(domain=Text("sql"))],
    "too many": [claim()] * (CLAIMS_MAX + 1),
    "one without a list": claim(),
    "another list": Rows([claim()]),
    "a mapping": [{"row": 0, "column": 0}],
    "another class": [OtherClaim(row=0, column=0)],
    "one of another class": [claim(), OtherClaim(row=0, column=0)],
    "no row": [unchecked(Claim, column=0)],
    "no column": [unchecked(Claim, row=0)],
    "a truth value as row": [claim(row=False)],
    "a truth value as column": [claim(column=False)],
    "a number of another class": [claim(row=Number(0))],
    "a column of another class": [claim(column=Number(0))],
    "a text as row": [claim(row="0")],
    "a fraction": [claim(column=0.0)],
    "a row that JSON does not hold": [claim(row=COUNT_MAX + 1)],
    "a column that JSON does not hold": [claim(column=-COUNT_MAX - 1)],
    "a row that is not written": [claim(row=10**5000)],
    "half a character": [claim(text="\ud800")],
    "a type of another class": [claim(type=Text("VARCHAR"))],
    "bytes for a type": [claim(type=b"VARCHAR")],
    "a text of another class": [claim(text=Text("UA"))],
    "bytes for a text": [claim(text=b"UA")],
    "a claim that holds more": [touched(claim(), lambda one: vars(one).update(note=1))],
    "a claim of which a place was not given": [
        touched(claim(), setting("__pydantic_fields_set__", {"row"}))
    ],
}


def claims_in_full(given: object) -> Any:
    return read_in_full(received._CLAIMS, given, member=Claim)


def is_kept(read: object, given: Any) -> bool:
    return isinstance(read, tuple) and all(map(is_, read, given)) and len(read) == len(given)


@pytest.mark.parametrize("name", KEPT)
def test_claims_with_nothing_wrong_are_kept(name: str) -> None:
    claims = KEPT[name]
    for given in (claims, tuple(claims)):
        assert is_kept(read_claims(given), claims)
        assert read_claims(given) == claims_in_full(given)


@pytest.mark.parametrize("name", READ)
def test_all_other_claims_are_read(name: str) -> None:
    given = READ[name]
    read = read_claims(given)
    assert outcome(read) == outcome(claims_in_full(given))
    assert not is_kept(read, given)


def test_claims_that_are_too_large_to_be_read_are_malformed() -> None:
    text = "x" * 60_000
    observation = observe("SELECT carrier FROM flights", shape(of("carrier")), [[text]])
    most = received._CLAIMS_TEXT_MAX // len(text)
    expecting = claim(text=text)
    for times, kept in ((most, True), (most + 1, False)):
        given = [expecting] * times
        assert is_kept(read_claims(given), given) is kept
    for times in (most, most + 1, 80):
        made = release(observation, observation.preview(), [expecting] * times)
        assert made.no_answer_reason is Reason.NOTHING_ELIGIBLE
    made = release(observation, observation.preview(), [expecting] * 100)
    assert made.no_answer_reason is Reason.CLAIMS_MALFORMED


@pytest.mark.parametrize("character", ["\u00e9", "\U0001f600", "\x01"])
def test_claims_of_sound_size_can_be_read_however_they_are_written(character: str) -> None:
    length = received._CLAIMS_TEXT_MAX // CLAIMS_MAX
    claims = [claim(type="X" * 30, text=character * length)] * CLAIMS_MAX
    assert len(json.dumps([one.model_dump() for one in claims])) < JSON_BYTES_MAX


def test_all_that_is_expected_counts_to_the_character() -> None:
    kind, text = "X" * 62_132, "x" * 100_000
    claims = [claim(type=kind, text=text), claim(text=text)]
    assert is_kept(read_claims(claims), claims)
    more = [*claims, claim(), claim()]  # 256 KiB, the domains included
    assert is_kept(read_claims(more), more)
    longer = [*more, claim(text="x")]
    assert not is_kept(read_claims(longer), longer)
    assert read_claims(longer) == tuple(longer)


# --- a whole release ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOT_KEPT)
def test_hostile_rows_release_what_they_are_or_nothing(name: str) -> None:
    made = release(unchecked(Observation, DIRECT, rows=NOT_KEPT[name]), SHOWN)
    assert all(type(fact.value.text) is str for fact in made.facts)
    assert made.facts in ((), release(DIRECT, SHOWN).facts)

"""How long does a release take, and does it grow with more than the number of cells?

    python -m benchmarks.release [--rounds N]

Every cell is claimed, with its type and text. What is released was captured in the same turn, with
another alias in every turn: nothing kept of a statement or an observation can help.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

import preview
from benchmarks import timing
from benchmarks.timing import Figure, Line, Option, Result
from eligibility import release
from eligibility.sql.facts import Claim
from eligibility.sql.observation import Observation

OPTIONS = {"rounds": Option(60, 8, "turns for each size")}
COLUMNS, ROWS = 20, 50
# As many cells as may be claimed at once at the most: 1,000.
BY_COLUMNS = tuple((columns, 25) for columns in (5, 10, 20, 40))
BY_ROWS = tuple((COLUMNS, rows) for rows in (10, 20, 30, 40, 50))
LINEAR = 1.1


def measure(asked: argparse.Namespace, folder: Path) -> Iterable[Result]:
    """Answer both."""
    with preview.Recorder(_pinned(folder)) as recorder:
        bench = Bench(recorder)
        found = bench.turns(COLUMNS, ROWS, asked.rounds)
        row = timing.row(f"{ROWS} rows of {COLUMNS} cells", found["release"], found["capture"])
        text = timing.row(
            "the same, all given as JSON text", found["release of text"], found["capture"]
        )
        yield Result(
            name="release-capture",
            question="How long does the release of 1,000 claimed cells take beside their capture?",
            own="release",
            other="capture",
            bar=1.0,
            measured=row.ratio,
            rows=(row, text),
        )
        lines = tuple(
            Line(name, "cells", bench.line(sizes, asked.rounds))
            for name, sizes in (("5 to 40 columns", BY_COLUMNS), ("10 to 50 rows", BY_ROWS))
        )
    slopes = [_of_one_cell(line) for line in lines]
    figures = [
        Figure(f"{name}, {line.name}", value, unit)
        for line, slope in zip(lines, slopes, strict=True)
        for name, value, unit in (("ratio of the times of one cell", slope, ""), *_fit(line))
    ]
    note = (
        f"Linear is taken to mean: with the most cells, one takes at most {LINEAR} times what it "
        "takes with the fewest. Less than 1 means that a part of the time does not grow at all."
    )
    yield Result(
        name="release-linear",
        question="Does the time of a release grow with more than the number of cells?",
        own="time of one cell, of the most cells",
        other="that of the fewest",
        bar=LINEAR,
        measured=max(slopes),
        figures=tuple(figures),
        lines=lines,
        notes=(note,),
    )


class Bench:
    """Captures and releases in turns; no statement is like another."""

    def __init__(self, recorder: preview.Recorder) -> None:
        """Take the recorder."""
        self._recorder = recorder
        self._number = 0

    def turns(self, columns: int, rows: int, rounds: int) -> timing.Times:
        """Time the capture of so many cells, and both kinds of release of what it gave."""
        found: timing.Times = {"capture": [], "release": [], "release of text": []}
        for number in range(timing.WARM + rounds):
            self._number += 1
            started = time.perf_counter()
            made = self._captured(self._number, columns, rows)
            taken = {"capture": time.perf_counter() - started}
            # A release comes after its capture; its two kinds take turns in being first.
            kinds = {"release": _prepared(made), "release of text": _prepared_text(made)}
            for name in sorted(kinds, reverse=number % 2 == 1):
                taken[name] = timing.timed(kinds[name])(number)
            if number >= timing.WARM:
                for name, seconds in taken.items():
                    found[name].append(seconds)
        return found

    def line(
        self, sizes: Iterable[tuple[int, int]], rounds: int
    ) -> tuple[tuple[float, float], ...]:
        """Give for each size its cells and the seconds of their release, all sizes in turns."""
        wanted = list(sizes)
        found: dict[tuple[int, int], list[float]] = {size: [] for size in wanted}
        for number in range(rounds + 1):
            for size in wanted if number % 2 else reversed(wanted):
                self._number += 1
                again = _prepared(self._captured(self._number, *size))
                seconds = timing.timed(again)(number)
                if number:
                    found[size].append(seconds)
        return tuple(
            (columns * rows, timing.quartiles(found[columns, rows])[1]) for columns, rows in wanted
        )

    def _captured(self, number: int, columns: int, rows: int) -> Observation:
        names = ", ".join(f"c{at}" for at in range(1, columns))
        return self._recorder.capture(f"SELECT c0 AS a{number}, {names} FROM wide LIMIT {rows}")


def _prepared(observation: Observation) -> timing.Work:
    """Make what a host and a model would send back, and give the release of it."""
    shown = observation.preview().model_dump_json()
    claims = _claims(observation)

    def work(_: int) -> None:
        made = release(observation, shown, claims, digest=observation.digest)
        assert len(made.facts) == len(claims)  # or less was released than is measured

    return work


def _prepared_text(observation: Observation) -> timing.Work:
    text, shown = observation.to_json(), observation.preview().model_dump_json()
    claims = "[" + ",".join(claim.model_dump_json() for claim in _claims(observation)) + "]"
    return lambda _: release(text, shown, claims, digest=observation.digest)


def _claims(observation: Observation) -> list[Claim]:
    return [
        Claim(row=row, column=column, type=cell.type, text=cell.text)
        for row, cells in enumerate(observation.rows)
        for column, cell in enumerate(cells)
    ]


def _of_one_cell(line: Line) -> float:
    (fewest, short), (most, long) = line.points[0], line.points[-1]
    return (long / most) / (short / fewest)


def _fit(line: Line) -> tuple[tuple[str, float, str], ...]:
    """Lay a straight line through the points."""
    cells, seconds = np.array(line.points).T
    slope, start = np.polyfit(cells, seconds, 1)
    left = seconds - (start + slope * cells)
    explained = 1 - float(np.sum(left**2) / np.sum((seconds - seconds.mean()) ** 2))
    return (
        ("straight line, each cell", float(slope), "s"),
        ("straight line, at no cell", float(start), "s"),
        ("straight line, share explained", explained, ""),
    )


def _pinned(folder: Path) -> preview.Snapshot:
    place = folder / "wide"
    if place.exists():
        return preview.open_snapshot(place)
    rows = range(200)
    wide = {
        f"c{at}": pa.array([f"text {row * at}" for row in rows])
        if at % 2
        else pa.array([row * 1000 + at for row in rows], pa.int32())
        for at in range(max(columns for columns, _ in BY_COLUMNS))
    }
    return preview.pin({"wide": pa.table(wide)}, into=place)


if __name__ == "__main__":
    sys.exit(timing.main("release", __doc__ or "", OPTIONS, measure))

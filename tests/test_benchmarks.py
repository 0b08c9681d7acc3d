"""The benchmarks: their page says what their results say. Nothing is timed here."""

import ast
import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from benchmarks import every, flip, page, plots, statements, timing
from benchmarks.timing import Figure, Result, Row
from eligibility import classify

if TYPE_CHECKING:  # so that their types are checked too
    from benchmarks import (  # noqa: F401
        batch,
        capture,
        ledger,
        lineage,
        opening,
        parse,
        pinning,
        real,
        release,
        size,
        starting,
    )

FOLDER = timing.ROOT / "benchmarks"


def result(**fields: object) -> Result:
    """Make a result that holds its bar."""
    made = Result(
        name="a-name",
        question="How long?",
        own="this",
        other="that <&>",
        bar=1.5,
        measured=1.25,
        rows=(
            Row("one", 0.5, 0.4, 1.25, 1.2, 1.1, 1.3, 3),
            Row("two", 0.1, 0.001, 100, 99, 98, 120, 3),
        ),
        figures=(Figure("size", 2**20, "bytes"),),
    )
    return timing.filled(made, **fields)


# --- the page -----------------------------------------------------------------------------------


def test_the_page_is_what_the_results_give():
    assert page.reports()
    assert page.stale() == []


def test_every_script_asks_a_question_and_is_run():
    scripts = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    measuring = {name for name, text in scripts.items() if "sys.exit(timing.main(" in text}
    assert measuring == set(page.SCRIPTS)
    for name in page.SCRIPTS:
        doc = ast.get_docstring(ast.parse(scripts[name])) or ""
        assert doc.splitlines()[0].endswith("?")


def test_a_result_survives_its_json():
    made = result(lines=(timing.Line("rows", "cells", ((1.0, 0.5), (2.0, 1.0))),))
    assert page.result(json.loads(json.dumps(asdict(made)))) == made


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "**1.25**, **held**; the bar is at most 1.5."),
        ({"measured": 1.75}, "**1.75**, **missed**; the bar is at most 1.5."),
        ({"measured": 1.75, "least": True}, "**1.75**, **held**; the bar is at least 1.5."),
        ({"measured": 1.25, "least": True}, "**1.25**, **missed**; the bar is at least 1.5."),
        ({"bar": None}, "**1.25**; there is no bar."),
        ({"measured": None}, "not measured."),
    ],
)
def test_a_missed_bar_is_called_one(fields, said):
    report = timing.report("parse", quick=False, failed=None) | {
        "results": [asdict(result(**fields))]
    }
    assert said in page.files([report])[page.PAGE]


def test_what_failed_and_what_was_a_trial_is_said():
    good = timing.report("parse", quick=False, failed=None)
    bad = timing.report("size", quick=True, failed="it ended with 1")
    text = page.files([good, bad])[page.PAGE]
    assert "not all could be measured: size" in text
    assert "Not all was measured: it ended with 1." in text
    assert page.TRIAL in text
    assert page.TRIAL not in page.files([good])[page.PAGE]


def test_a_script_that_fails_leaves_word_of_it(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert not every._ran("nowhere", tmp_path, quick=True)
    assert json.loads((tmp_path / "nowhere.json").read_text())["failed"] == "it ended with 1"
    assert "nowhere" in capfd.readouterr().err


# --- plots --------------------------------------------------------------------------------------


def test_no_text_leaves_its_picture_and_no_ticks_run_into_each_other(monkeypatch):
    drawn: list[Any] = []
    svg = plots._svg

    def kept(figure: Any, told: str) -> str:
        drawn.append(figure)
        return svg(figure, told)

    monkeypatch.setattr(plots, "_svg", kept)
    page.files(page.reports())
    plots.rows(result())
    for most in (13, 999, 1001, 90_000):  # times as much as the least
        rows = tuple(Row(name, n, 1, n, n, n, n, 3) for name, n in (("one", 1), ("two", most)))
        plots.rows(result(bar=None, rows=rows))
    assert len(drawn) > 5
    for figure in drawn:
        figure.draw_without_rendering()
        # Among the inches of the picture, but for what an edge is blurred by.
        outside = figure.get_tightbbox()
        assert min(outside.x0, outside.y0) > -0.02
        assert outside.x1 < figure.get_figwidth() + 0.02
        assert outside.y1 < figure.get_figheight() + 0.02
        (axes,) = figure.axes
        low, high = axes.get_xlim()
        ticks = [*axes.xaxis.get_major_ticks(), *axes.xaxis.get_minor_ticks()]
        shown = [one for one in ticks if low <= one.get_loc() <= high and one.label1.get_text()]
        places = sorted((one.label1.get_window_extent() for one in shown), key=lambda at: at.x0)
        assert len(places) > 1
        assert all(one.x1 < after.x0 for one, after in pairwise(places))


def test_plots_are_xml_say_what_they_show_and_are_the_same_each_time():
    lines = (timing.Line("rows", "cells", ((10.0, 0.5), (1000.0, 1.0))),)

    def drawn() -> list[str]:
        return [plots.rows(result()), plots.overview([result()]), plots.lines(result(lines=lines))]

    for svg in drawn():
        root = ElementTree.fromstring(svg)  # noqa: S314 - just written
        assert root.tag.endswith("}svg")
    assert "orange misses it" in drawn()[0]
    assert "powers of ten" in drawn()[0]
    assert drawn() == drawn()


# --- turns --------------------------------------------------------------------------------------


def test_turns_alternate_and_the_first_do_not_count():
    asked: list[tuple[str, int]] = []

    def work(name: str) -> Callable[[int], float]:
        def run(number: int) -> float:
            asked.append((name, number))
            return number + (0.5 if name == "a" else 0.25)

        return run

    found = timing.turns({"a": work("a"), "b": work("b")}, rounds=2, warm=1)
    assert asked == [("b", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    assert found == {"a": [1.5, 2.5], "b": [1.25, 2.25]}


def test_a_row_holds_both_kinds_of_ratio():
    row = timing.row("x", [2.0, 4.0, 9.0], [1.0, 4.0, 3.0])
    assert (row.own_s, row.other_s, row.ratio) == (4.0, 3.0, 4 / 3)
    assert (row.paired, row.low, row.high, row.rounds) == (2.0, 1.5, 2.5, 3)


def test_no_work_of_several_in_one_turn_gets_a_number_twice():
    asked: list[int] = []
    work = timing.timed(asked.append, each=3)
    for number in range(4):
        work(number)
    assert asked == list(range(12))


def test_the_simple_statements_may_all_be_stated_and_are_another_text_each_time():
    for template in statements.SIMPLE.values():
        texts = [statements.varied(template, number) for number in (0, 1, 8_999)]
        assert len(set(texts)) == 3
        assert len({len(text) for text in texts}) == 1
        for text in texts:
            assert all(o.label for o in classify(text, statements.schema()).outputs)


# --- what is called without what it needs -------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["nowhere"]])
def test_the_changer_of_bundles_says_how_it_is_called(arguments, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["flip", *arguments])
    with pytest.raises(SystemExit) as ended:
        flip.main()
    assert ended.value.code == 2
    assert "usage: python -m benchmarks.flip [-h] BUNDLE" in capsys.readouterr().err

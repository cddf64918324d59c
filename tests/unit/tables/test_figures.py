"""Tests of figures: every type is drawn, with the same bytes every time, and messages say what cannot be drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from retort.results.frames import read, run_text
from retort.tables.base import Inputs
from retort.tables.figures import style
from retort.tables.figures.base import plot_figure
from retort.tables.figures.distillations import DistillationsFigure
from retort.tables.figures.pareto import front
from retort.tables.make import make_table

from tests.tiny.edit import set_value, write
from tests.tiny.results import SCORES, change_score, frame, line, opened, paths, quiet, write_results

RENDERS = {"svg": "out.svg", "png": "out.png"}


def drawn(config: dict[str, Any], figure: str, **scores: Any) -> str:
    """Draw a figure of the variant of the tiny study and return its SVG; its frame is in out.csv."""
    write_results(config, {**SCORES, **scores})
    return redrawn(config, figure)


def redrawn(config: dict[str, Any], figure: str) -> str:
    """Draw a figure from the results that exist."""
    found, profiles = paths()
    make_table(quiet(), config, "tiny", "table1", found, profiles, "table1.csv", {})
    plot_figure(quiet(), config, "tiny", figure, found, profiles, ["table1.csv"], "out.csv", RENDERS)
    return Path("out.svg").read_text()


@pytest.mark.parametrize("figure", ["figure1", "figure2", "figure3"])
def test_a_figure_says_when_its_results_are_mixed(config: dict[str, Any], figure: str) -> None:
    assert "Mixed results" not in drawn(config, figure)
    for path in Path("results/scores").glob("*/*/1-2-3.json"):
        change_score(path, 2, device="cpu: another")
    assert "Mixed results: different devices stand behind" in redrawn(config, figure)


@pytest.mark.parametrize("figure", ["figure1", "figure2", "figure3"])
def test_the_same_bytes_every_time(config: dict[str, Any], figure: str) -> None:
    first, png = drawn(config, figure), Path("out.png").read_bytes()
    with mpl.rc_context({"lines.linewidth": 9.0, "axes.titlesize": 30}):  # of a user's matplotlibrc
        assert drawn(config, figure) == first
    assert Path("out.png").read_bytes() == png
    ET.fromstring(first)
    assert "<text" in first  # text is stored as text, not as paths
    texts = {"A &amp; &lt;b&gt;_1", "B", "gain", "20", "60", "number of the task", "Accuracy on mood, × 100"}
    assert figure != "figure3" or texts <= set(re.findall(r">([^<>]+)</text>", first))
    assert set(read("out.csv")["table"]) == {figure}


def test_the_colours_that_follow_the_scheme_are_those_of_the_style() -> None:
    colours = re.findall(r"^\S*color: ([0-9a-f]{6})$", style.STYLE.read_text(), re.MULTILINE)
    assert {f"#{colour}" for colour in colours} == {style.INK, style.MUTED, style.GRID} <= set(style.DARK)


def test_a_point_without_a_value_is_named(config: dict[str, Any]) -> None:
    text = drawn(config, "figure1", **{"tiny-attention": {"mood": [0.1, 0.2, 0.3], "rating": [0.5, None, 0.6]}})
    assert "not drawn: layer 2: diverged at step 42 (1 of 3 seeds)" in text


def test_layers_are_drawn_from_the_first_one_on(config: dict[str, Any]) -> None:
    set_value(Path(config["study"]), "papers/tiny/figure1.yaml", "points", to={0: "tiny-kd", 2: "tiny-attention"})
    ticks = re.findall(r'id="xtick_.*?<text[^>]*>([^<]+)</text>', drawn(config, "figure1"), re.DOTALL)
    assert ticks == ["0", "1", "2"]


def test_a_figure_of_which_nothing_was_run_says_why(config: dict[str, Any]) -> None:
    plot_figure(quiet(), config, "tiny", "figure1", [], [], [], "out.csv", RENDERS)
    text = Path("out.svg").read_text()
    assert "No point to draw: missing (seeds 1, 2, 3 of 3)" in text
    assert "teacher layer" not in text


def test_a_pareto_figure_without_a_complete_point_says_why(config: dict[str, Any]) -> None:
    write_results(config)
    plot_figure(quiet(), config, "tiny", "figure2", paths()[0], [], [], "out.csv", RENDERS)
    assert read("out.csv")["mean"].notna().any()
    text = Path("out.svg").read_text()
    assert "No point to draw: missing (no profile)" in text
    assert "latency" not in text


def test_a_figure_of_distillations_without_several_of_a_student_says_so(config: dict[str, Any]) -> None:
    spread = {"kind": "distillations", "title": "T", "question": "Q?", "of": "table1"}
    write(Path(config["study"]), "papers/tiny/figure1.yaml", spread)
    assert "No point to draw: no student has scores of several distillations" in drawn(config, "figure1")


@pytest.mark.parametrize("runs", [{1: [60], 7: [70]}, {1: [60, 60], 7: [70, 70]}, {1: [60, 62], 7: [70, 72]}])
def test_distillations_are_drawn_whose_fine_tunings_are_single_or_equal_or_parallel(
    config: dict[str, Any], runs: dict[int, list[float]]
) -> None:
    by_run = {(first, seed): score for first, scores in runs.items() for seed, score in enumerate(scores)}
    lines = frame([line(65.0, row="A", column="Acc.", distillations=2, by_run=run_text(by_run))])
    spread = DistillationsFigure(kind="distillations", title="T", question="Q?", of="table1")
    spread.draw(Inputs(opened(config), "tiny", "figure1"), lines, RENDERS)
    assert ("ratio" in Path("out.svg").read_text()) is (runs[1][0] < runs[1][-1])


def test_notes_are_not_wider_than_their_figure(config: dict[str, Any]) -> None:
    write_results(config)
    redrawn(config, "figure2")
    with style.figure(3.0, 2.0) as narrow:
        style.write_notes(narrow, read("out.csv"), "a remark of several words " * 9)
        (note,) = (text for text in narrow.texts if "remark" in text.get_text())
        assert note.get_window_extent().width <= narrow.bbox.width
        assert len(note.get_text().splitlines()) > 3


def test_front_keeps_what_nothing_beats_at_both() -> None:
    assert front([(3.0, 70.0), (1.0, 60.0), (2.0, 59.0), (3.0, 71.0), (4.0, 71.0)]) == [(1.0, 60.0), (3.0, 71.0)]

"""Tests of figures of effects: differences paired by seed, with their intervals, of a run or of a recorded one."""

from __future__ import annotations

import re
import statistics
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from retort.figures.effects import EffectsFigure, effect_of, half_width
from retort.results.tidy import Line
from retort.specs.config import read_config
from retort.study.load import read
from retort.tables.base import Inputs
from scipy.stats import ttest_1samp

from tests.tiny.results import line
from tests.tiny.variant import write_study

FIGURE: dict[str, Any] = {
    "kind": "effects", "title": "T", "question": "Q?", "of": "table1", "axis": "steps", "columns": {20: "c", 60: "d"},
    "curves": ["A", "B"], "effects": [{"label": "gain", "above": ["A"], "below": ["B"]}],
}  # fmt: skip
LINES = [
    line(70.0 + place, row=row, column=column, by_seed=((1, place), (2, place + 1), (3, place + 5)))
    for place, (row, column) in enumerate([("A", "c"), ("A", "d"), ("B", "c"), ("B", "d")])
]


def drawn(folder: Path, lines: list[Line]) -> str:
    """Draw lines and return the SVG."""
    svg = str(folder / "out.svg")
    inputs = Inputs(None, "p", "figure1", {}, {}, {}, remark="a remark")  # type: ignore[arg-type]  # it reads no study
    EffectsFigure.model_validate(FIGURE).draw(inputs, lines, {"svg": svg})
    return Path(svg).read_text()


def test_an_effect_is_paired_by_seed() -> None:
    above, below = {20: {1: 3.0, 2: 5.0, 3: 9.0}, 60: {1: 1.0}}, {20: {2: 1.0, 3: 2.0, 4: 7.0}, 60: {2: 1.0}}
    assert effect_of([above], [below]) == {20: {2: 4.0, 3: 7.0}}
    assert effect_of([above, below], [below]) == {20: {2: 2.0, 3: 3.5}}


def test_the_interval_is_that_of_a_t_test() -> None:
    values = [0.1, 0.5, 0.6, 1.4]
    interval = ttest_1samp(values, 0).confidence_interval(0.95)
    assert half_width(values) == pytest.approx(interval.high - statistics.mean(values))
    assert half_width([1.0]) == 0


def test_curves_and_effects_are_drawn(tmp_path: Path) -> None:
    text = drawn(tmp_path, LINES)
    ET.fromstring(text)
    found = re.findall(r">([^<>]+)</text>", text)
    assert {"A", "B", "gain", "20", "60", "steps", "Accuracy on t, × 100", "a remark"} <= set(found)
    assert drawn(tmp_path, LINES) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {20: "Acc. %", 60: "Pearsons"}}, "columns: no column is called 'Pearsons'"),
        ({"effects": [{"label": "gain", "above": ["C"], "below": ["B"]}]}, "effects: no curve is called 'C'"),
    ],
)
def test_a_mistake_gets_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = {"columns": {20: "Acc. %", 60: "Pearson"}, "curves": ["Teacher", "B"]}
    effects = [{"label": "gain", "above": ["Teacher"], "below": ["B"]}]
    content = {**FIGURE, **rows, "effects": effects, **change}
    _, problems = read(read_config(write_study(tmp_path / "study", figure1=content)))
    assert sum(f"figure1.yaml: {message}" in problem for problem in problems) == 1, problems

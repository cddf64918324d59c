"""Tests of figures of effects: differences paired by seed, with their intervals, of a run or of a recorded one."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from retort.tables.figures.effects import EffectsFigure, effect_of, half_width
from retort.tables.figures.style import BLUE, GREEN, PURPLE
from scipy.stats import ttest_1samp

from tests.tiny.edit import problems
from tests.tiny.variant import EFFECTS, write_study


def test_an_effect_is_paired_by_seed() -> None:
    above, below = {20: {1: 3.0, 2: 5.0, 3: 9.0}, 60: {1: 1.0}}, {20: {2: 1.0, 3: 2.0, 4: 7.0}, 60: {2: 1.0}}
    assert effect_of([above], [below]) == {20: {2: 4.0, 3: 7.0}}
    assert effect_of([above, below], [below]) == {20: {2: 2.0, 3: 3.5}}


def test_the_interval_is_that_of_a_t_test() -> None:
    values = [0.1, 0.5, 0.6, 1.4]
    interval = ttest_1samp(values, 0).confidence_interval(0.95)
    assert half_width(values) == pytest.approx(interval.high - statistics.mean(values))
    assert half_width([1.0]) == 0


@pytest.mark.parametrize(
    ("first_rows", "looks"),
    [(("B", "C"), [(GREEN, 1), (PURPLE, 2)]), (("A", "A"), [(BLUE, 0), (PURPLE, 1)])],
    ids=["of its curve", "of its own"],
)
def test_an_effect_looks_like_its_curve_if_no_other_does(first_rows: list[str], looks: list[tuple[str, int]]) -> None:
    effects = [{"label": row, "above": [row], "below": ["A"]} for row in first_rows]
    figure = EffectsFigure.model_validate(
        {"title": "Gains", "axis": "steps", **EFFECTS, "curves": ["A", "B", "C"], "effects": effects}
    )
    assert figure.looks() == looks


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {20: "Acc. %", 60: "Pearsons"}}, "columns: no column is called 'Pearsons'"),
        ({"effects": [{"label": "gain", "above": ["C"], "below": ["B"]}]}, "effects: no curve is called 'C'"),
    ],
)
def test_a_mistake_gets_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_study(tmp_path / "study", figure3={**EFFECTS, **change})
    assert sum(f"figure3.yaml: {message}" in problem for problem in problems(tmp_path / "study")) == 1

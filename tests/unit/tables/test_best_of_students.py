"""Tests of rows that show the best of several students: all are planned, and the best on dev is shown, marked so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.errors import StudyError
from retort.plan.plan import Plan
from retort.specs.config import read_config

from tests.tiny.edit import set_value
from tests.tiny.results import made
from tests.tiny.variant import UNREPORTED, write_one_table

SCORES = {
    "tiny-kd": {"mood": [0.7, 0.8, 0.9], "rating": [0.5, 0.5, 0.5]},
    "tiny-attention": {"mood": [0.6, 0.8, 0.7], "rating": [0.6, 0.6, 0.6]},
}
ROW = {"label": "Best", "student": "tiny-kd", "best_of": ["tiny-attention"]}


@pytest.fixture
def config(here: Path) -> dict[str, Any]:
    """Write a study whose only row is the best of two students, on tasks that are scored on dev."""
    written = write_one_table(here / "study", {**UNREPORTED, "rows": [ROW]})
    for task in ("mood", "rating"):
        set_value(here / "study", f"tasks/{task}.yaml", "evaluation_split", to="dev")
    return written


def test_each_column_shows_the_student_that_is_best_on_dev_and_says_so(config: dict[str, Any]) -> None:
    lines, texts = made(config, **SCORES)
    shown = {line.column: line for line in lines}
    assert (shown["Acc. %"].student, shown["Acc. %"].mean) == ("tiny-kd", pytest.approx(80))
    assert (shown["Pearson"].student, shown["Pearson"].mean) == ("tiny-attention", pytest.approx(60))
    assert shown["Pearson"].note.startswith("the best on dev of 2 students: tiny-attention")
    assert all("the best on dev of 2 students: tiny-kd" in text for text in (texts["md"], texts["html"]))
    assert {student for student, _ in Plan(read_config(config)).pairs} == {"tiny-kd", "tiny-attention"}


def test_a_test_score_must_not_choose_a_student(config: dict[str, Any], tmp_path: Path) -> None:
    set_value(tmp_path / "study", "tasks/mood.yaml", "evaluation_split", to="test")
    with pytest.raises(StudyError, match="row 'Best': best_of: 'mood' is scored on 'test', which must not choose"):
        Plan(read_config(config))

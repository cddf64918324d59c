"""Tests of the trials of a grid: files that do not hold one trial of each point have one line with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from retort.checksums import REMEDY
from retort.errors import RetortError
from retort.settings.trainings import PointSettings
from retort.settings.trials import Trial, choose_point

POINTS = [PointSettings(learning_rate=rate) for rate in (0.1, 0.2)]
LINES = [json.dumps(Trial(number, point, dev=number / 10).as_json()) for number, point in enumerate(POINTS, start=1)]
TRIALS = {
    "empty": ("", "holds trials of points none, not of each of 2"),
    "twice the same": (f"{LINES[0]}\n{LINES[0]}\n{LINES[1]}", "holds trials of points 1, 1, 2, not"),
    "one too many": ("\n".join([*LINES, LINES[1].replace('"number": 2', '"number": 3')]), "of points 1, 2, 3, not"),
    "cut line": (f"{LINES[0]}\n{LINES[1][:20]}", "1-of-1.jsonl:2 is no trial"),
    "no metric": (f"{LINES[0]}\n" + LINES[1].replace('"dev"', '"test"'), "1-of-1.jsonl:2 is no trial"),
    "metric is a word": (LINES[0].replace("0.1}", '"high"}'), "1-of-1.jsonl:1 is no trial"),
    "another point": (f"{LINES[0]}\n" + LINES[1].replace(": 0.2,", ": 0.9,", 1), "trial 2 is of another point"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", TRIALS)
def test_a_grid_with_other_trials_than_its_points_is_refused(mistake: str, tmp_path: Path) -> None:
    path = tmp_path / "1-of-1.jsonl"
    path.write_text("\n".join(LINES))
    assert choose_point([str(path)], POINTS) == POINTS[1]
    content, said = TRIALS[mistake]
    path.write_text(content)
    with pytest.raises(RetortError) as refused:
        choose_point([str(path)], POINTS)
    assert said in str(refused.value)
    assert str(refused.value).endswith(REMEDY)

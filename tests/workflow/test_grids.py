"""Grids of a teacher and of task-specific students: every point is tried, the best on dev trained with each seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.job.steps import read_steps

from tests.conftest import read_json, snakemake
from tests.tiny.edit import PAPER, STUDENTS, TASK, change
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow

WEIGHT, RATE = "stages.1.terms.2.weight", "learning_rate"
SCORE, OF_TEACHER = "results/scores/tiny-kd/mood/1-2.json", "results/scores/tiny-teacher/mood/1.json"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with a grid of four points for the student 'kd', and one of two for its teacher."""
    study = make_study(tmp_path_factory.mktemp("tuned"))
    change(
        study / "study",
        STUDENTS,
        "kd:\n",
        f"kd:\n  grid: {{{RATE}: [1.0e-3, 1.0e-2], {WEIGHT}: [0.1, 1000], seed: 3}}\n",
    )
    change(study / "study", PAPER, "protocol: short", "protocol: taught")
    short = (study / "study/protocols/short.yaml").read_text()
    (study / "study/protocols/taught.yaml").write_text(f"{short}grids: {{mood: {{steps: [3, 6]}}}}\n")
    change(study / "study", TASK, "title:", "jobs: {grid_parts: 2}\ntitle:")
    snakemake(study, SCORE)
    return study


def trials(study: Path, name: str) -> list[dict[str, Any]]:
    """Return the trials of all parts of a grid on 'mood', in the order of its points."""
    files = sorted((study / "results/trials" / name / "mood").glob("*-of-2.jsonl"))
    assert len(files) == 2
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return sorted(lines, key=lambda line: int(line["number"]))


def test_the_steps_of_a_grid_tell_their_point(tuned: Path) -> None:
    files = sorted((tuned / "results/logs/run_grid_on_task").glob("tiny-kd.mood.*.steps.jsonl"))
    last = sorted(line["point"] for path in files for line in read_steps(path) if line["step"] == line["steps"])
    assert [path.name for path in files] == [f"tiny-kd.mood.{part}.2.steps.jsonl" for part in (1, 2)]
    assert last == [1, 2, 3, 4]


def test_every_point_is_tried_and_the_best_on_dev_is_trained(tuned: Path) -> None:
    tried = trials(tuned, "tiny-kd")
    assert [(line[RATE], line[WEIGHT]) for line in tried] == [(1e-3, 0.1), (1e-3, 1000), (1e-2, 0.1), (1e-2, 1000)]
    best = max(tried, key=lambda line: line["dev"])  # the first of equal ones
    scores: Any = read_json(tuned / SCORE)
    for score in scores:
        assert score["chosen"] == {RATE: best[RATE], WEIGHT: best[WEIGHT]}
        assert len(score["settings"]["grid"]["stages"]) == len(score["settings"]["grid"]["points"]) == 4


def test_a_teacher_is_tuned_before_its_students_learn(tuned: Path) -> None:
    tried = trials(tuned, "tiny-teacher")
    assert [line["steps"] for line in tried] == [3, 6]
    best = max(tried, key=lambda line: line["dev"])
    assert read_json(tuned / OF_TEACHER)[0]["chosen"] == {"steps": best["steps"]}


def test_a_point_trains_as_a_student_with_its_values(tuned: Path, tmp_path: Path) -> None:
    """The student with the values of the chosen point in its file, and without a grid, has the same scores."""
    chosen: Any = read_json(tuned / SCORE)[0]["chosen"]
    study = make_study(tmp_path)
    change(
        study / "study",
        STUDENTS,
        "{objective: supervised, weight: 0.5}",
        f"{{objective: supervised, weight: {chosen[WEIGHT]}}}",
    )
    change(study / "study", STUDENTS, "[{data: task, ", f"[{{data: task, schedule: {{learning_rate: {chosen[RATE]}}}, ")
    taught: Any = read_json(tuned / OF_TEACHER)[0]["chosen"]
    short = (study / "study/protocols/short.yaml").read_text()
    change(study / "study", PAPER, "protocol: short", "protocol: taught")
    (study / "study/protocols/taught.yaml").write_text(short.replace("steps: 6", f"steps: {taught['steps']}"))
    snakemake(study, SCORE)
    mine, other = ([score["metrics"] for score in read_json(folder / SCORE)] for folder in (study, tuned))
    assert mine == other

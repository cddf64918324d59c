"""Tests of how many jobs a grid is divided among."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.plan import plan
from retort.plan.plan import Plan
from retort.specs.config import Config

from tests.tiny.edit import PROTOCOL, TASK, set_value

NAMES = SimpleNamespace(student="tiny-predicting", task="mood")
FOLDER = Path("results/trials/tiny-predicting/mood")


def parts(study_folder: Path) -> int:
    plan = Plan(Config(papers=["tiny"], study=str(study_folder)))
    paths = plan.grid_parts(NAMES)
    assert paths == [f"{FOLDER}/{part}-of-{len(paths)}.jsonl" for part in range(1, len(paths) + 1)]
    return len(paths)


@pytest.fixture
def grid(study_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the tiny study, whose grid has six points, in the current folder of a run."""
    monkeypatch.chdir(tmp_path)
    set_value(study_folder, PROTOCOL, "grid", "learning_rate", to=[0.001, 0.002, 0.003])
    set_value(study_folder, PROTOCOL, "grid", "batch_size", to=[8, 16])
    return study_folder


def test_the_work_decides(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts(grid) == 1
    # six points of 6 steps of 8 or 16 rows of 16 tokens; 6 FLOPs for each of the weights of a layer of 16 x 32
    work = 6 * (4 * 16**2 + 2 * 16 * 32) * 3 * 6 * (8 + 16) * 16
    for most, expected in ((work, 1), (work - 1, 2), (work / 3.5, 4), (1, 6)):
        monkeypatch.setattr(plan, "WORK", most)
        assert parts(grid) == expected


def test_the_task_may_decide(grid: Path) -> None:
    for said, expected in ((3, 3), (9, 6)):
        set_value(grid, TASK, "jobs", to={"grid_parts": said})
        assert parts(grid) == expected


def test_a_finished_grid_keeps_its_parts(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FOLDER.mkdir(parents=True)
    for part in (1, 2, 3):
        (FOLDER / f"{part}-of-4.jsonl").write_text("")
    assert parts(grid) == 1
    (FOLDER / "4-of-4.jsonl").write_text("")
    assert parts(grid) == 4
    monkeypatch.setattr(plan, "WORK", 1)
    assert parts(grid) == 4
    set_value(grid, TASK, "jobs", to={"grid_parts": 2})
    assert parts(grid) == 2


def test_no_grid_has_no_parts(grid: Path) -> None:
    set_value(grid, PROTOCOL, "grid", to=None)
    assert parts(grid) == 0

"""Two papers as data, in shape: grids over weights, temperatures and stages, a narrow student.

Their numbers are not here. They are planned, costed and rehearsed, so that whatever they are built from keeps working.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from retort.cli import main
from retort.cost.jobs import Jobs
from retort.plan.plan import Plan
from retort.specs.config import ROOT, read_config

SHAPES = Path(__file__).parent / "shapes"
OWN = ("tasks", "models", "corpora", "sources", "scales")  # of the repository, which the shapes use


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a study of the two papers alone."""
    folder = tmp_path_factory.mktemp("shapes") / "study"
    for name in OWN:
        shutil.copytree(ROOT / "workflow" / name, folder / name)
    shutil.copytree(SHAPES / "protocols", folder / "protocols")
    for name in ("pkd", "tinybert"):
        shutil.copytree(SHAPES / name, folder / "papers" / name)
    for scale in (folder / "scales").glob("reduced*.yaml"):
        lines = [line for line in scale.read_text().splitlines() if "_of: " not in line]  # those name other papers
        scale.write_text("\n".join(lines))
    return folder


def planned(study: Path, scale: str) -> Jobs:
    """Return the jobs of the study at a scale."""
    return Jobs(
        Plan(read_config({"papers": ["pkd", "tinybert"], "scale": scale, "study": str(study), "data_dir": None}))
    )


def points(jobs: Jobs, name: str) -> int:
    """Return the number of points of the grid of a student or teacher on 'mrpc'."""
    settings = jobs.estimates.settings
    specific = settings.distillations.get(name) or settings.teachers.get(name)
    return len(specific["mrpc"].grid.points if specific else settings.grids[name]["mrpc"].points)


def test_every_point_of_every_grid_is_planned_and_has_its_price(study: Path) -> None:
    jobs = planned(study, "paper")
    expected = {"pkd-bert": 4, "pkd-finetuned-3": 2, "pkd-kd-6": 18, "pkd-skip-6": 54, "pkd-last-3": 54,
                "tinybert-general": 4, "tinybert-plain": 6}  # fmt: skip
    assert {name: points(jobs, name) for name in expected} == expected
    tables = [f"results/tables/{paper}/table1.csv" for paper in ("pkd", "tinybert")]
    hours: dict[str, float] = {}
    for job in jobs.behind(tables):
        rule, name = job.rule.name, next(iter(vars(job.wildcards).values()), "")
        hours[f"{rule} {name}"] = hours.get(f"{rule} {name}", 0) + job.estimate.work.flops
    one, grid = hours["distill_on_task pkd-skip-6"], hours["run_grid_on_task pkd-skip-6"]
    assert grid == pytest.approx(54 * one, rel=0.1)  # the best point is trained once more


def test_a_reduced_scale_keeps_the_axes_that_it_does_not_set(study: Path) -> None:
    jobs = planned(study, "reduced")
    assert jobs.estimates.settings.teachers["pkd-bert"]["mrpc"].grid is None
    skip = jobs.estimates.settings.distillations["pkd-skip-6"]["mrpc"].grid
    assert len(skip.points) == 27
    assert "learning_rate" not in dict(skip.points[0])
    assert jobs.estimates.settings.distillations["tinybert-plain"]["mrpc"].grid is None


@pytest.mark.slow
def test_both_are_rehearsed_without_a_failure(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # as jobs set it: so it is unset again at the end
    config = tmp_path / "config.yaml"
    config.write_text(f"study: {study}\nprecision: float32\n")
    assert main(["rehearse", "--config", str(config), "--folder", str(tmp_path / "here")]) == 0
    told = capsys.readouterr()
    assert ", 0 failed;" in told.out
    trials = (tmp_path / "here/results/trials/pkd-skip-6/mrpc").glob("*.jsonl")
    assert sum(len(path.read_text().splitlines()) for path in trials) == 2

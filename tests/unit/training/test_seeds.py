"""Tests of results of finished seeds that outlive their job."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import Maker, place_of, read, take
from retort.job.attempts import KEPT
from retort.job.context import job, this_code
from retort.run.rehearsal.in_process import Described
from retort.training.stages.kept_seeds import each_seed

from tests.rule_job import rule_job

MODEL = Path("results/teachers/t/mood/model")
SCORE = "results/scores/s/mood/seed-{}.json"
OLD = Maker(commit="a", code="1")


@pytest.fixture(autouse=True)
def results(folder: Path) -> None:
    """Work in a folder with the results that the seeds are trained from."""
    make(MODEL, "weights")


def make(path: Path, text: str) -> None:
    """Make a folder, with its checksums, as a job does."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "file").write_text(text)
    take(path, "job", this_code(), (), {})


def seeds_job(*seeds: int, settings: str = "short", **more: Any) -> Described:
    """Return a job that trains seeds, in a folder of results as Snakemake leaves it: without its outputs."""
    label = f"{seeds[0]}-{seeds[-1]}"
    scores = [SCORE.format(seed) for seed in seeds]
    outputs = {"scores": scores, "answers": [path.replace(".json", ".answers.json") for path in scores]}
    outputs |= more.pop("outputs", {})
    for path in (path for paths in outputs.values() for path in paths):
        Path(path).unlink(missing_ok=True) if path.endswith(".json") else shutil.rmtree(path, ignore_errors=True)
    return rule_job(
        rule="finetune_student",
        log=[f"finetune_student.s.mood.{label}.log"],
        input=[str(MODEL)],
        output=outputs,
        wildcards={"student": "s", "task": "mood"},
        params={"settings": {"schedule": settings}} | more,
    )


def trained(asked: Described, fails_at: int = 0) -> dict[int, str | None]:
    """Run a job of seeds, and return the seeds that it trains, with the folders for their weights.

    The score of a seed says under which job it was trained.
    """
    done: dict[int, str | None] = {}
    with job(asked) as running:
        for own, score, weights in each_seed(running, asked):
            done[score.seed] = weights
            own.checkpoints.mkdir(parents=True)
            if score.seed == fails_at:
                raise ZeroDivisionError
            Path(score.file).parent.mkdir(parents=True, exist_ok=True)
            Path(score.file).write_text(f"{score.seed} of {own.name}")
            Path(score.answers).write_text(f"answers of {score.seed}")
            if weights:
                Path(weights).mkdir(parents=True)
                Path(weights, "model").write_text(f"weights of {score.seed}")
                own.resumed_from.add(OLD)
    return done


def numbers(*seeds: int, **more: Any) -> list[int]:
    """Run a job of seeds, and return the numbers of those that it trains."""
    return list(trained(seeds_job(*seeds, **more)))


def test_a_further_seed_is_trained_alone() -> None:
    assert numbers(1, 2) == [1, 2]
    paths = [Path(SCORE.format(seed)) for seed in (1, 2)]
    before = [(path.read_bytes(), place_of(path).read_bytes()) for path in paths]
    for path in paths:
        place_of(path).unlink()
    assert numbers(1, 2, 3) == [3]
    assert [(path.read_bytes(), place_of(path).read_bytes()) for path in paths] == before
    assert Path(SCORE.format(3)).read_text() == "3 of finetune_student(s, mood, 3)"
    assert paths[0].with_name("seed-1.answers.json").read_text() == "answers of 1"
    found = read(paths[0])
    assert found is not None
    assert found.job == "finetune_student(s, mood, 1)"
    assert found.parents.keys() == {str(MODEL)}
    assert "seed 2 was trained before\n" in Path("finetune_student.s.mood.1-3.log").read_text()


def test_a_job_that_fails_keeps_the_seeds_that_are_done() -> None:
    with pytest.raises(ZeroDivisionError):
        trained(seeds_job(1, 2, 3), fails_at=2)
    checkpoints = [Path(f"results/checkpoints/scores.s.mood.seed-{seed}") for seed in (1, 2)]
    assert [path.exists() for path in checkpoints] == [False, True]
    shutil.rmtree(checkpoints[1])
    assert numbers(1, 2, 3) == [2, 3]


KEPT_SCORE = KEPT / "scores.s.mood.seed-1/seed-1.json"
CHANGES: dict[str, Callable[[], Any]] = {
    "other inputs": lambda: make(MODEL, "other weights"),
    "a damaged score": lambda: KEPT_SCORE.write_text(KEPT_SCORE.read_text().replace("1 of", "7 of")),
    "damaged checksums": lambda: place_of(KEPT_SCORE).write_text("{}"),
    "killed while they were kept": lambda: KEPT_SCORE.with_name("key.json").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_as_it_was_is_trained_again(change: str) -> None:
    trained(seeds_job(1))
    CHANGES[change]()
    assert numbers(1) == [1]
    assert numbers(1) == []


def test_other_settings_are_another_training() -> None:
    trained(seeds_job(1))
    assert numbers(1) == []
    assert numbers(1, settings="long") == [1]
    assert numbers(1) == [1]


def test_a_seed_whose_weights_are_read_is_trained_for_them() -> None:
    folders = [f"results/students/s/mood/seed-{seed}" for seed in (1, 2)]
    weights: dict[str, Any] = {"outputs": {"weights": folders}, "reads_weights": [1]}
    assert trained(seeds_job(1, 2, **weights)) == {1: folders[0], 2: None}
    assert Path(folders[1]).is_dir()  # Snakemake expects it
    assert numbers(1, 2, **weights) == [1]
    found = read(Path(folders[0]))
    assert found is not None
    assert (found.job, found.files.keys()) == ("finetune_student(s, mood, 1)", {"model"})
    assert OLD in found.ancestors
    assert numbers(1, 2, **(weights | {"reads_weights": []})) == []

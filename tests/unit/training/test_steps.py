"""Tests of the file of steps of a job: what a line holds, and that a training that goes on writes no step twice."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from retort.job.context import RunningJob
from retort.job.steps import StepsFile, read_steps, steps_file
from retort.training import loop, optim
from retort.training.checkpoint import Checkpoint
from retort.training.how.micro_batches import Division
from retort.training.training_run import LOGGED, Progress, Training, TrainingRun

from tests.job_settings import schedule
from tests.unit.training.runs import SCHEDULE, Dropped, run_of

FILE = Path("rule.a.steps.jsonl")
LONG = schedule(steps=32, batch_size=4)
pytestmark = pytest.mark.usefixtures("folder")


def trained(
    run: TrainingRun, checkpoint: Checkpoint | None = None, seed: int = 3, stages: int = 1, **more: Any
) -> list[dict[str, Any]]:
    """Train a run in a job with a log, and return the lines of its file of steps."""
    with Path("rule.a.log").open("a", encoding="utf-8") as log:
        progress = Progress.of(RunningJob("job", log, **more), seed, stages)
        checkpoint = checkpoint or Checkpoint("state", {}, 1e9)
        loop.train([Training(run, seed, checkpoint, progress, "float32", "cpu", Division())], "cpu")
    return read_steps(FILE)


def test_a_line_holds_what_was_measured() -> None:
    run = run_of(Dropped())
    run.after_step = lambda step: {4: 0.25, 8: math.nan}.get(step)
    scored, undefined, first, last = trained(run)
    value, norm, at = (first.pop(key) for key in ("loss", "grad_norm", "at"))
    assert value > 0 < norm
    assert at == pytest.approx(time.time(), abs=60)
    for line in (first, last):  # 4 x 5 positions a batch
        assert line.pop("tokens_per_second") / line.pop("steps_per_second") == pytest.approx(20, rel=1e-4)
    assert first == {
        "job": "job", "seed": 3, "stage": 1, "stages": 1, "steps": 12, "step": 10, "terms": {"square": value},
        "learning_rate": float(f"{optim.rate(10, 12, SCHEDULE):.6g}"),
    }  # fmt: skip
    assert last["step"] == 12
    assert [(line["step"], line["dev"]) for line in (scored, undefined)] == [(4, 0.25), (8, None)]
    assert "NaN" not in FILE.read_text()


def test_a_training_that_goes_on_writes_no_step_twice() -> None:
    with pytest.raises(KeyboardInterrupt):
        trained(run_of(Dropped(), stop=26, rates=LONG), Checkpoint("state", {}, 0.0))
    with FILE.open("a", encoding="utf-8") as cut:
        cut.write('{"seed": 3, "stage": 1, "st')  # by a kill
    assert Checkpoint("state", {}, 1e9).state.step == 25  # type: ignore[union-attr]
    (at_10, at_20, *_) = read_steps(FILE)
    lines = trained(run_of(Dropped(), rates=LONG))
    assert [line["step"] for line in lines] == [10, 20, 30, 32]
    assert lines[:2] == [at_10, at_20]
    assert (
        lines[2]["steps_per_second"]
        < lines[2]["tokens_per_second"]
        == pytest.approx(20 * lines[2]["steps_per_second"], rel=1e-4)
    )  # of five steps


def test_a_training_that_begins_anew_replaces_its_own_lines_alone() -> None:
    for seed, point in ((3, 1), (3, 2), (4, 1)):
        trained(run_of(Dropped()), Checkpoint(f"{seed}-{point}", {}, 1e9), seed, point=point)
    second = run_of(Dropped())
    second.number = 2
    trained(second, Checkpoint("second", {}, 1e9), 3, stages=2, point=1)
    lines = trained(run_of(Dropped()), Checkpoint("anew", {}, 1e9), 3, stages=2, point=1)
    places = [(line["seed"], line["point"], line["stage"], line["step"]) for line in lines]
    assert sorted(places) == [(seed, point, 1, step) for seed, point in ((3, 1), (3, 2), (4, 1)) for step in (10, 12)]
    assert places[-1] == (3, 1, 1, 12)  # the latest lines are the last


@pytest.mark.parametrize("more", [{"rank": 1, "processes": 2}, {}])
def test_one_process_writes_and_so_does_none_without_a_log_on_disk(more: dict[str, int]) -> None:
    if more:
        assert trained(run_of(Dropped()), **more) == []
    else:
        StepsFile().add(LOGGED, {"loss": 1.0})
    assert not FILE.exists()


def test_the_file_lies_next_to_the_log() -> None:
    assert steps_file("results/logs/rule/kd.mood.1-2.log") == Path("results/logs/rule/kd.mood.1-2.steps.jsonl")

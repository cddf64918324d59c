"""Tests of training runs that take turns on the same batches: each ends as it does alone."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch
from retort.batch import Batch
from retort.engine.attempts import Interrupted
from retort.models.recorder import Key
from retort.training.checkpoint import Checkpoint
from retort.training.distillation import TeacherOfCompanions
from retort.training.loop import train
from retort.training.training_run import Training, TrainingRun

from tests.job_settings import schedule
from tests.unit.training import runs
from tests.unit.training.runs import Dropped, Numbered, same, short_after, training_of

RATES = (0.01, 0.02, 0.03)
STEPS = (12, 5, 9)


def run_of(number: int, stop: int | None = None, bad: int | None = None) -> TrainingRun:
    """Return one of three training runs with dropout; step `stop` raises, step `bad` and all later ones give NaN."""
    rates = schedule(steps=STEPS[number], batch_size=4, learning_rate=RATES[number], warmup_ratio=0.25)
    run = runs.run_of(Dropped(number), stop, bad, rates)
    run.number = number + 1  # so that their dropout differs
    return run


def training(folder: Path, number: int, run: TrainingRun | None = None, every: float = 1e9) -> Training:
    return training_of(run or run_of(number), Checkpoint(folder / str(number), {"run": number}, every))


def steps_in(folder: Path) -> list[int]:
    """Return the steps after which the three runs would go on."""
    return [training(folder, number).step for number in range(3)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[TrainingRun]:
    """Return the three runs after each was trained alone."""
    trained = [run_of(number) for number in range(3)]
    for run in trained:
        runs.train(run, tmp_path_factory.mktemp("alone"))
    return trained


def goes_on_as_alone(folder: Path, alone: list[TrainingRun]) -> bool:
    """Train the three runs from where they are; return whether each ends in the bytes of a run alone."""
    trainings = [training(folder, number) for number in range(3)]
    train(trainings, "cpu")
    return all(same(each.run, other) for each, other in zip(trainings, alone, strict=True))


def test_a_run_that_diverges_leaves_the_others_alone(alone: list[TrainingRun], tmp_path: Path) -> None:
    trainings = [training(tmp_path, 0), training(tmp_path, 1, run_of(1, bad=3)), training(tmp_path, 2)]
    train(trainings, "cpu")
    assert [each.diverged and each.diverged.step for each in trainings] == [None, 3, None]
    assert same(trainings[0].run, alone[0])
    assert same(trainings[2].run, alone[2])


def test_a_due_checkpoint_ends_no_training(tmp_path: Path) -> None:
    """It goes on to the next line of the log, in which all processes of a training ask."""
    each = training(tmp_path, 0, run_of(0, bad=3), every=0.0)
    train([each], "cpu")
    assert each.diverged is not None
    assert (each.diverged.step, each.step) == (3, 10)
    assert training(tmp_path, 0).step == 2  # no state after the divergence


def test_ahead_of_a_limit_all_write_their_states_and_go_on_to_the_same_bytes(
    alone: list[TrainingRun], tmp_path: Path
) -> None:
    for stop, steps in ((4, [4, 4, 4]), (2, [6, 5, 6]), (2, [8, 5, 8])):  # the second run ends, and takes no step twice
        with pytest.raises(Interrupted, match=f"after step {steps[0]};"):
            train([training(tmp_path, number) for number in range(3)], "cpu", clock=short_after(stop))
        assert steps_in(tmp_path) == steps
    assert goes_on_as_alone(tmp_path, alone)


@pytest.mark.parametrize("stop", [4, 11])  # before the log asks for the loss, and after
def test_a_divergence_is_seen_ahead_of_a_limit(stop: int, tmp_path: Path) -> None:
    trainings = [training(tmp_path, 0), training(tmp_path, 2, run_of(2, bad=3))]
    with pytest.raises(Interrupted, match=f"after step {stop};"):
        train(trainings, "cpu", clock=short_after(stop))
    assert [each.diverged and each.diverged.step for each in trainings] == [None, 3]
    assert Checkpoint(tmp_path / "2", {"run": 2}, 0.0).state is None


def test_a_teacher_makes_one_pass_over_a_batch_and_its_activations_go_with_it() -> None:
    seen: list[Batch] = []

    def teacher(batch: Batch) -> dict[Key, torch.Tensor]:
        seen.append(batch)
        return {("hidden", 1): batch.input_ids * 2}

    shared, (first, second) = TeacherOfCompanions(teacher), (Numbered()[0], Numbered()[0])
    assert shared(first) is shared(first)
    assert shared(second) is not shared(first)
    assert len(seen) == 2
    seen.clear()
    del first
    gc.collect()
    assert len(shared.kept) == 1

"""Tests of training runs that take turns on the same batches: each ends as it does alone."""

from __future__ import annotations

import gc
import io
import shutil
from pathlib import Path

import pytest
import torch
from retort.batch import Batch
from retort.engine.attempts import Interrupted
from retort.models.recorder import Key
from retort.training.checkpoint import Checkpoint
from retort.training.distillation import SharedPass
from retort.training.loop import Training, TrainingRun, train, train_together
from retort.training.progress import Progress

from tests.job_settings import schedule
from tests.unit.training.test_training import Dropped, Numbered, short_after

RATES = (0.01, 0.02, 0.03)
STEPS = (12, 5, 9)


def run_of(number: int, stop: int | None = None, bad: int | None = None) -> TrainingRun:
    """Return one of three training runs with dropout; step `stop` raises, step `bad` and all later ones give NaN."""
    torch.manual_seed(number)
    model, taken = Dropped(), 0

    def loss(batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        nonlocal taken
        taken += 1
        if taken == stop:
            raise KeyboardInterrupt
        value = model(batch.input_ids)
        return (value * float("nan") if bad and taken >= bad else value), {"square": value.detach()}

    rates = schedule(steps=STEPS[number], batch_size=4, learning_rate=RATES[number], warmup_ratio=0.25)
    return TrainingRun(modules=[model], schedule=rates, steps=STEPS[number], batches=Numbered(), loss=loss)


def training(folder: Path, number: int, run: TrainingRun, every: float = 1e9) -> Training:
    checkpoint = Checkpoint(folder / str(number), {"run": number}, every)
    return Training(run, 7, checkpoint, Progress("job", io.StringIO()), "float32", "cpu")


def weights(run: TrainingRun) -> list[torch.Tensor]:
    return list(run.modules[0].state_dict().values())


def same(mine: TrainingRun, other: TrainingRun) -> bool:
    return all(map(torch.equal, weights(mine), weights(other)))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[TrainingRun]:
    """Return the three runs after each was trained alone."""
    runs = [run_of(number) for number in range(3)]
    for run in runs:
        train(run, 7, Checkpoint(tmp_path_factory.mktemp("alone"), {}, 1e9), Progress("job", io.StringIO()),
              "float32", "cpu")  # fmt: skip
    return runs


def test_each_run_ends_in_the_bytes_of_a_run_alone(alone: list[TrainingRun], tmp_path: Path) -> None:
    runs = [run_of(number) for number in range(3)]
    train_together([training(tmp_path, number, run) for number, run in enumerate(runs)], "cpu")
    assert all(map(same, runs, alone))
    assert not same(runs[0], run_of(0))


def test_a_killed_job_goes_on_to_the_same_bytes(alone: list[TrainingRun], tmp_path: Path) -> None:
    def steps_after_kill() -> list[int]:
        """Return the steps of the states that are left of a job that is killed at its fourth step."""
        cut = [run_of(0), run_of(1), run_of(2, stop=4)]
        with pytest.raises(KeyboardInterrupt):
            train_together([training(tmp_path, number, run, 0.0) for number, run in enumerate(cut)], "cpu")
        return [training(tmp_path, number, run_of(number)).step for number in range(3)]

    assert steps_after_kill() == [3, 3, 3]
    shutil.copytree(tmp_path / "2", tmp_path / "older")
    assert steps_after_kill() == [6, 4, 6]  # the second run has ended, without a state after its last step
    shutil.rmtree(tmp_path / "1")
    shutil.rmtree(tmp_path / "2")
    (tmp_path / "older").rename(tmp_path / "2")
    again = [run_of(number) for number in range(3)]
    trainings = [training(tmp_path, number, run) for number, run in enumerate(again)]
    assert [each.step for each in trainings] == [6, 0, 3]
    train_together(trainings, "cpu")
    assert all(map(same, again, alone))


def test_a_run_that_diverges_leaves_the_others_alone(alone: list[TrainingRun], tmp_path: Path) -> None:
    runs = [run_of(0), run_of(1, bad=3), run_of(2)]
    trainings = [training(tmp_path, number, run) for number, run in enumerate(runs)]
    train_together(trainings, "cpu")
    assert [each.diverged and each.diverged.step for each in trainings] == [None, 3, None]
    assert same(runs[0], alone[0])
    assert same(runs[2], alone[2])


def test_a_due_checkpoint_ends_no_training(tmp_path: Path) -> None:
    seen: list[int] = []
    each = training(tmp_path, 0, run_of(0, bad=3), every=0.0)
    each.run.on_divergence = lambda error: seen.append(each.step)
    train_together([each], "cpu")
    assert seen == [10]  # at the next line of the log, in which all processes of a training ask
    state = Checkpoint(tmp_path / "0", {"run": 0}, 0.0).state
    assert state is not None
    assert state.step == 2  # none after the divergence


def test_ahead_of_a_limit_all_write_their_states_and_go_on_to_the_same_bytes(
    alone: list[TrainingRun], tmp_path: Path
) -> None:
    for stop, steps in ((4, [4, 4, 4]), (2, [6, 4, 6])):  # the second run ends, without a state after its last step
        cut = [training(tmp_path, number, run_of(number)) for number in range(3)]
        with pytest.raises(Interrupted, match=f"after step {steps[0]};"):
            train_together(cut, "cpu", clock=short_after(stop))
        assert [training(tmp_path, number, run_of(number)).step for number in range(3)] == steps
    runs = [run_of(number) for number in range(3)]
    train_together([training(tmp_path, number, run) for number, run in enumerate(runs)], "cpu")
    assert all(map(same, runs, alone))


@pytest.mark.parametrize("stop", [4, 11])  # before the log asks for the loss, and after
def test_a_divergence_outlives_a_limit(stop: int, tmp_path: Path) -> None:
    runs, seen = [run_of(0), run_of(2, bad=3)], list[int]()
    trainings = [training(tmp_path, number, run) for number, run in enumerate(runs)]
    runs[1].on_divergence = lambda error: seen.append(error.step)
    with pytest.raises(Interrupted, match=f"after step {stop};"):
        train_together(trainings, "cpu", clock=short_after(stop))
    assert seen == [3]


def test_a_run_that_resumes_at_its_end_takes_no_step(alone: list[TrainingRun], tmp_path: Path) -> None:
    first = training(tmp_path, 1, run_of(1))
    first.run.on_end = lambda run, state: first.checkpoint.write(run.number, run.steps, state)
    train_together([first, training(tmp_path, 0, run_of(0))], "cpu")
    again = run_of(1, stop=1)
    torch.manual_seed(99)
    train(again, 7, Checkpoint(tmp_path / "1", {"run": 1}, 1e9), Progress("job", io.StringIO()), "float32", "cpu")
    assert same(again, alone[1])


def test_batches_that_no_run_needs_are_not_made(tmp_path: Path) -> None:
    made: list[int] = []

    class Noted(Numbered):
        def __getitem__(self, number: int) -> Batch:
            made.append(number)
            return super().__getitem__(number)

    with pytest.raises(Interrupted):
        train_together([training(tmp_path, 0, run_of(0))], "cpu", clock=short_after(8))
    late = run_of(0)
    late.batches = Noted()
    train_together([training(tmp_path, 0, late), training(tmp_path, 1, run_of(1))], "cpu")
    assert made == [*range(5), *range(8, 12)]


def test_a_teacher_makes_one_pass_over_a_batch_and_its_activations_go_with_it() -> None:
    seen: list[Batch] = []

    def teacher(batch: Batch) -> dict[Key, torch.Tensor]:
        seen.append(batch)
        return {("hidden", 1): batch.input_ids * 2}

    shared, (first, second) = SharedPass(teacher), (Numbered()[0], Numbered()[0])
    assert shared(first) is shared(first)
    assert shared(second) is not shared(first)
    assert len(seen) == 2
    seen.clear()
    del first
    gc.collect()
    assert len(shared.kept) == 1

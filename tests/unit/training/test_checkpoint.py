"""Tests of when and how the state of a training is written: ahead of a limit, seldom enough, in little memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from retort.engine.attempts import NEVER, Clock, Interrupted
from retort.training import checkpoint
from retort.training import checkpoint as checkpoints
from retort.training.checkpoint import Checkpoint, ReadCheckpoint, StoredTensors, are_due, write_groups, write_interval
from retort.training.loop import train

from tests.unit.training.test_training import Dropped, made, part, progress, short_after


def job(folder: Path, clock: Clock, workers: int = 0) -> Dropped:
    """Train a model twice, as a job of two stages does, from where it was ended; return the model."""
    model, checkpoint = made(), Checkpoint(folder, {}, 1e9)
    for number in (1, 2):
        if not checkpoint.past(number):
            run = part(model)
            run.number = number
            train(run, 7, checkpoint, progress(), "float32", "cpu", workers, clock=clock)
    return model


def same(one: Dropped, other: Dropped) -> bool:
    states = one.state_dict(), other.state_dict()
    return all(torch.equal(x, states[1][name]) for name, x in states[0].items())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("questions", "step"), [(5, 5), (12, 1), (17, 5)])  # in a stage, at its end, in the next
def test_a_job_ahead_of_its_limit_writes_its_state_and_goes_on(
    questions: int, step: int, workers: int, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted, match=f"its time limit ended it after step {step}; its state is kept"):
        job(tmp_path / "cut", short_after(questions), workers)
    state = Checkpoint(tmp_path / "cut", {}, 1e9).state
    assert state is not None
    assert (state.run, state.step) == (1 if questions < 12 else 2, step)
    assert same(job(tmp_path / "cut", NEVER), job(tmp_path / "whole", NEVER))


def test_a_job_that_begins_ahead_of_its_limit_takes_a_step_each_time(tmp_path: Path) -> None:
    for step in [*range(1, 12), *range(1, 12)]:
        with pytest.raises(Interrupted, match=f"after step {step};"):
            job(tmp_path / "cut", Clock(end=0.0))
    assert same(job(tmp_path / "cut", Clock(end=0.0)), job(tmp_path / "whole", NEVER))


def test_the_next_write_waits_fifty_times_as_long_as_those_of_a_job_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(folder: Path, name: str, tensors: dict[str, torch.Tensor]) -> dict[str, str]:
        time.sleep(0.1)
        return write_groups(folder, name, tensors)

    monkeypatch.setattr(checkpoints, "write_groups", slow)
    checkpoint = Checkpoint(tmp_path, {}, 2.0)
    checkpoint.write(1, 1, {"weight": torch.ones(3)})
    assert 5.0 <= write_interval([checkpoint]) < 20.0
    assert not are_due([checkpoint])
    beside = Checkpoint(tmp_path / "beside", {}, 2.0)
    beside.write(1, 1, {"weight": torch.ones(3)})
    assert write_interval([checkpoint, beside]) == write_interval([checkpoint]) + write_interval([beside])


def test_the_setting_is_the_least_wait(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {}, 1e6)
    checkpoint.write(1, 1, {"weight": torch.ones(3)})
    assert write_interval([checkpoint] * 8) == 1e6
    assert are_due([Checkpoint(tmp_path, {}, 0.0)])
    assert not are_due([ReadCheckpoint(tmp_path, {}, 0.0)])


def test_the_first_write_of_a_large_state_waits_too(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {}, 20.0)
    checkpoint.expect({"small": torch.nn.Parameter(torch.ones(3))})
    assert write_interval([checkpoint]) == 20.0
    checkpoint.expect({"large": torch.nn.Parameter(torch.empty(335_000_000, device="meta"))})
    assert write_interval([checkpoint]) > 600.0  # 4 GB
    checkpoint.write(1, 1, {"weight": torch.ones(3)})
    checkpoint.expect({"large": torch.nn.Parameter(torch.empty(335_000_000, device="meta"))})
    assert write_interval([checkpoint]) == 20.0  # what was measured counts


def test_a_state_is_written_in_groups_and_read_tensor_by_tensor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "GROUP", 100)
    tensors = {"a": torch.arange(20.0), "b": torch.arange(5), "c": torch.rand(2, 2), "d": torch.rand(90)}
    files = write_groups(tmp_path, "state", tensors)
    assert [list(group) for group in checkpoint.groups(tensors)] == [["a"], ["b", "c"], ["d"]]
    assert sorted(files) == sorted(path.name for path in tmp_path.iterdir())
    stored = StoredTensors([tmp_path / name for name in files])
    assert set(stored) == set(tensors)
    assert all(torch.equal(stored[name], tensor) for name, tensor in tensors.items())


def test_one_lost_group_makes_a_state_useless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "GROUP", 8)
    Checkpoint(tmp_path, {}, 0.0).write(1, 4, {"a": torch.ones(4), "b": torch.ones(4)})
    assert Checkpoint(tmp_path, {}, 0.0).state is not None
    (tmp_path / "run-1-step-4.2.safetensors").unlink()
    assert Checkpoint(tmp_path, {}, 0.0).state is None

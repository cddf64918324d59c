"""Tests of when and how the state of a training is written: on a signal, seldom enough, and in little memory."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.signals import SIGNALS, Interrupted, kept_for_next_training
from retort.training import checkpoint as checkpoints
from retort.training import state_files
from retort.training.checkpoint import Checkpoint, ReadCheckpoint, are_due, write_interval
from retort.training.loop import train
from retort.training.state_files import StoredTensors, write_groups

from tests.unit.training.test_training import made, part, progress


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_writes_the_state_and_ends_the_training(number: signal.Signals, workers: int, tmp_path: Path) -> None:
    whole, cut, again, before = made(), made(), made(), signal.getsignal(number)
    train(part(whole), 7, Checkpoint(tmp_path / "whole", {}, 1e9), progress(), "float32", "cpu")
    run, steps = part(cut), []

    def loss(batch: Batch, inner: Any = run.loss) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        steps.append(batch)
        if len(steps) == 5:
            os.kill(os.getpid(), number)
        result: tuple[torch.Tensor, dict[str, torch.Tensor]] = inner(batch)
        return result

    run.loss = loss
    with pytest.raises(Interrupted, match=f"{number.name} ended it after step 5") as caught:
        train(run, 7, Checkpoint(tmp_path / "cut", {}, 1e9), progress(), "float32", "cpu", workers)
    assert caught.value.ahead_of_limit == (number is signal.SIGURG)
    assert signal.getsignal(number) is before
    train(part(again), 7, Checkpoint(tmp_path / "cut", {}, 1e9), progress(), "float32", "cpu")
    for one, other in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_signal_between_two_trainings_ends_the_next_one(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGURG)
    with kept_for_next_training():
        os.kill(os.getpid(), signal.SIGURG)
        with pytest.raises(Interrupted, match="SIGURG ended it after step 1"):
            train(part(made()), 7, Checkpoint(tmp_path / "cut", {}, 1e9), progress(), "float32", "cpu")
        train(part(made()), 7, Checkpoint(tmp_path / "cut", {}, 1e9), progress(), "float32", "cpu")
        os.kill(os.getpid(), signal.SIGURG)
    assert signal.getsignal(signal.SIGURG) is before
    train(part(made()), 7, Checkpoint(tmp_path / "whole", {}, 1e9), progress(), "float32", "cpu")


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
    monkeypatch.setattr(state_files, "GROUP", 100)
    tensors = {"a": torch.arange(20.0), "b": torch.arange(5), "c": torch.rand(2, 2), "d": torch.rand(90)}
    files = write_groups(tmp_path, "state", tensors)
    assert [list(group) for group in state_files.groups(tensors)] == [["a"], ["b", "c"], ["d"]]
    assert sorted(files) == sorted(path.name for path in tmp_path.iterdir())
    stored = StoredTensors([tmp_path / name for name in files])
    assert set(stored) == set(tensors)
    assert all(torch.equal(stored[name], tensor) for name, tensor in tensors.items())


def test_one_lost_group_makes_a_state_useless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_files, "GROUP", 8)
    Checkpoint(tmp_path, {}, 0.0).write(1, 4, {"a": torch.ones(4), "b": torch.ones(4)})
    assert Checkpoint(tmp_path, {}, 0.0).state is not None
    (tmp_path / "run-1-step-4.2.safetensors").unlink()
    assert Checkpoint(tmp_path, {}, 0.0).state is None

"""Tests of when and how the state of a training is written: seldom enough, in little memory, never half."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.training import checkpoint as module
from retort.training.checkpoint import Checkpoint, RandomState, are_due, pack, write_interval

STATE = {"weight.a": torch.ones(3)}


def test_the_next_write_waits_sixty_times_as_long_as_those_of_a_job_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = module.digest_of_file
    monkeypatch.setattr(module, "digest_of_file", lambda path: time.sleep(0.1) or digest(path))
    checkpoint, beside = Checkpoint(tmp_path, {}, 2.0), Checkpoint(tmp_path / "beside", {}, 2.0)
    for each in (checkpoint, beside):
        each.write(1, 1, STATE)
    assert 6.0 <= write_interval([checkpoint]) < 20.0
    assert not are_due([checkpoint])
    assert write_interval([checkpoint, beside]) == write_interval([checkpoint]) + write_interval([beside])
    assert write_interval([Checkpoint(tmp_path, {}, 1e6)] * 8) == 1e6
    assert are_due([Checkpoint(tmp_path, {}, 0.0)])


def test_a_process_that_does_not_write_leaves_no_file(tmp_path: Path) -> None:
    reader = Checkpoint(tmp_path, {}, 0.0, writes=False)
    reader.write(1, 1, STATE)
    reader.note("done")
    assert not are_due([reader])
    assert not list(tmp_path.iterdir())


def test_a_state_is_written_in_groups_and_a_lost_one_makes_it_useless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GROUP", 100)
    tensors = {"a": torch.arange(20.0), "b": torch.arange(5), "c": torch.rand(2, 2), "d": torch.rand(90)}
    assert list(module.groups(tensors)) == [["a"], ["b", "c"], ["d"]]
    Checkpoint(tmp_path, {}, 0.0).write(1, 4, tensors)
    state = Checkpoint(tmp_path, {}, 0.0).state
    assert state is not None
    assert [file.name for file in state.files] == [f"run-1-step-4.{number}.safetensors" for number in (1, 2, 3)]
    state.files[1].unlink()
    assert Checkpoint(tmp_path, {}, 0.0).state is None


def test_a_training_on_the_cpu_leaves_the_gpu_of_the_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin_to_use_gpu(*_: Any) -> None:
        pytest.fail("it begins to use the GPU")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "_lazy_init", begin_to_use_gpu)
    assert RandomState().cuda is None
    module = torch.nn.Linear(1, 1)
    assert "random.cuda" not in pack(dict(module.named_parameters()), {}, torch.optim.AdamW(module.parameters()))

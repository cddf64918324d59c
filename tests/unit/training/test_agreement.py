"""Tests of several processes of a training of which one looks at the clock first: all end after the same step."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.engine.attempts import NEVER, Clock, Interrupted
from retort.engine.job import Job
from retort.training.checkpoint import Checkpoint, ReadCheckpoint
from retort.training.how import processes
from retort.training.how.launch import on_every_gpu
from retort.training.loop import train
from retort.training.progress import Progress
from retort.training.setup import division_of
from safetensors.torch import save_file

from tests.unit.training.test_parts import MIXED, distillation

VALUES = ["über", 0.1, None, [True, 1e-9], "x" * (processes.WIDTH - 2)]


@on_every_gpu
def exchange(job: Job, folder: str) -> None:
    """Gather values in this process, one of several, and write what it received."""
    gathered = [processes.gather(value if job.rank else job.rank) for value in VALUES]
    (Path(folder) / f"process-{job.rank}").write_text(json.dumps(gathered))
    with pytest.raises(ValueError, match="1025 bytes for another process; 1024 is the most"):
        processes.gather("x" * (processes.WIDTH - 1))


@pytest.mark.slow
@pytest.mark.usefixtures("forked_processes")
def test_processes_receive_the_values_of_all_by_rank(tmp_path: Path) -> None:
    exchange(Job("job", (tmp_path / "log").open("a"), threads=2, gpus=2), str(tmp_path))
    for rank in range(2):
        assert json.loads((tmp_path / f"process-{rank}").read_text()) == [[0, value] for value in VALUES]


def test_a_process_alone_receives_its_own_value() -> None:
    assert processes.gather("alone") == ["alone"]


@on_every_gpu
def train_here(job: Job, folder: str) -> None:
    """Train a run in this process, one of several, of which only the last one looks at the clock of the job."""
    torch.set_num_threads(1)
    run, path = distillation(MIXED), Path(folder)
    run.after_step = lambda step: (path / f"process-{job.rank}").write_text(str(step)) and None
    checkpoint = (Checkpoint if job.writes else ReadCheckpoint)(path / "state", {}, 1e9)
    clock = job.clock if job.rank == job.processes - 1 else NEVER
    train(run, 7, checkpoint, Progress("job", io.StringIO()), "float32", "cpu", 0, division_of(job), clock)
    if job.writes:
        save_file({key: x.clone() for key, x in run.modules[0].state_dict().items()}, path / "student.safetensors")


def trained(folder: Path, clock: Clock = NEVER) -> bytes:
    """Train in two processes, and return the file of the student's weights."""
    folder.mkdir(exist_ok=True)
    train_here(Job("job", (folder / "log").open("a"), threads=2, gpus=2, clock=clock), str(folder))
    return (folder / "student.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("own", "other", "asked"),
    [
        (8.0, 8.0, [1, 2, 3, 4]),  # steps as long as those of a large batch
        (0.01, 0.01, [1, 301, 601, 901]),
        (0.01, 1.5, [1, 3, 5, 7]),  # the slower process counts
    ],
)
def test_processes_ask_each_other_every_few_seconds(
    own: float, other: float, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, steps = 0.0, list[int]()

    def gather(mine: Any) -> list[Any]:
        """Answer as two processes of which the time of the other one is short after a while."""
        steps.append(step)
        return [mine, [len(steps) == len(asked), other]]

    monkeypatch.setattr(processes, "are_several", lambda: True)
    monkeypatch.setattr(processes, "gather", gather)
    monkeypatch.setattr(processes.time, "monotonic", lambda: now)
    agrees, step = processes.Agreement(NEVER), 0
    for step in range(1, asked[-1] + 1):
        now += own
        assert agrees.after_step() == (step == asked[-1])
    assert steps == asked


@pytest.mark.slow
@pytest.mark.usefixtures("forked_processes")
def test_the_clock_of_one_process_makes_all_write_one_state_and_end(tmp_path: Path) -> None:
    for step in (1, 2):
        with pytest.raises(Interrupted, match=f"after step {step};"):
            trained(tmp_path / "cut", Clock(end=0.0))
        assert [(tmp_path / "cut" / f"process-{rank}").read_text() for rank in range(2)] == [str(step)] * 2
        state = Checkpoint(tmp_path / "cut/state", {}, 1e9).state
        assert state is not None
        assert state.step == step
    assert trained(tmp_path / "cut") == trained(tmp_path / "whole")

"""Tests of the processes that prepare batches: how many a job has, and that they end with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from retort.engine.job import job

from tests.rule_job import rule_job

TRAINING = """
import multiprocessing, sys, time
import torch
from retort.batch import Batch
from retort.training.how.micro_batches import Division

class Batches(torch.utils.data.Dataset):
    def __getitem__(self, number):
        values = torch.full((2, 3), number)
        return Batch(values, values, values > 0)


batches = Division().load(Batches(), 0, 1000, "cpu", 2)
next(batches), next(batches)  # a batch of each worker: only then both know the process that they must not outlive
print(*[child.pid for child in multiprocessing.active_children()], flush=True)
time.sleep(60)
"""


def runs(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_workers_end_when_the_job_is_killed() -> None:
    command = [sys.executable, "-c", TRAINING]
    trainings = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    workers: list[int] = []
    for training, sent in zip(trainings, (signal.SIGTERM, signal.SIGKILL), strict=True):
        assert training.stdout
        pids = [int(pid) for pid in training.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(runs, pids))
        workers += pids
        training.send_signal(sent)
        training.wait()
    end = time.monotonic() + 30
    while any(map(runs, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(runs, workers))


@pytest.mark.parametrize(
    ("gpu", "cuda", "config", "expected"),
    [(0, True, {}, 0), (1, True, {}, 2), (0, False, {"dataloader_num_workers": 3}, 3),
     (1, True, {"dataloader_num_workers": 0}, 0)],
)  # fmt: skip
def test_a_job_with_a_gpu_has_two_unless_the_configuration_says_otherwise(
    gpu: int, cuda: bool, config: dict[str, int | None], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: cuda)
    monkeypatch.setattr("torch.cuda.device_count", lambda: int(cuda))
    made = {"log": ["job.log"], "output": ["results/made"]}
    with job(rule_job(resources={"gpu": gpu}, config=config, **made)) as running:
        assert running.num_workers == expected

"""Tests of trainings that several processes share, over gloo on the CPU."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.engine.attempts import Attempt, attempt
from retort.engine.job import Job
from retort.errors import Diverged, RetortError
from retort.training.checkpoint import Checkpoint, ReadCheckpoint
from retort.training.how import processes
from retort.training.how.launch import on_every_gpu
from retort.training.how.parts import UNDIVIDED, Division
from retort.training.loop import TrainingRun, train
from retort.training.progress import Progress
from retort.training.setup import division_of
from safetensors.torch import load_file, save_file
from torch.utils.data import Dataset

from tests.unit.training.test_parts import MASKED, MIXED, SHORT, Texts, assert_close, distillation

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_processes")]

TOGETHER = 4


class Few(Dataset[Batch]):
    """Batches of three rows: too few for four processes."""

    def __getitem__(self, number: int) -> Batch:
        return Texts(False)[number].part(0, 3)


def few(terms: list[dict[str, Any]]) -> TrainingRun:
    """Return a distillation on batches of three rows."""
    run = distillation(terms)
    run.batches = Few()
    return run


def cut(numbers: range) -> TrainingRun:
    """Return a distillation that has these batches alone: it ends with an error after them."""
    run = distillation(MIXED)
    run.batches = {number: Texts(False)[number] for number in numbers}  # type: ignore[assignment]
    return run


RUNS = {
    "mixed": lambda: distillation(MIXED),
    "short": lambda: distillation(SHORT),
    "masked": lambda: distillation(MASKED, masked=True),
    "few": lambda: few(MIXED),
    "resumed": lambda: distillation(MIXED),
}


def trained(run: TrainingRun, checkpoint: Checkpoint, division: Division) -> tuple[dict[str, torch.Tensor], str]:
    """Train a run; return its weights and buffers, and its log."""
    log = io.StringIO()
    train(run, 7, checkpoint, Progress("job", log), "float32", "cpu", division=division)
    modules = enumerate(run.modules)
    return {
        f"{number}.{key}": x for number, module in modules for key, x in module.state_dict().items()
    }, log.getvalue()


@on_every_gpu
def train_all(job: Job, folder: str, micro_batch: int | None) -> None:
    """Train all runs in this process, one of several; the first writes the weights."""
    torch.set_num_threads(1)
    job.micro_batch = micro_batch
    for name, make in RUNS.items():
        made = Checkpoint if job.writes else ReadCheckpoint
        weights, log = trained(make(), made(Path(folder) / f"state-{name}", {}, 1e9), division_of(job))
        if job.writes:
            save_file({key: x.clone() for key, x in weights.items()}, f"{folder}/{name}.safetensors")  # some are tied
            job.log.write(log)


@on_every_gpu
def train_on(job: Job, folder: str, numbers: range) -> None:
    """Train a run on these batches in this process, one of several; the first writes a checkpoint after each."""
    torch.set_num_threads(1)
    made = Checkpoint if job.writes else ReadCheckpoint
    with contextlib.suppress(KeyError):
        trained(cut(numbers), made(Path(folder), {}, 0.0), division_of(job))


@on_every_gpu
def diverge(job: Job, folder: str) -> None:
    """Train a run whose loss is infinite at its second step in the last process alone; one writes checkpoints."""
    run = distillation(SHORT)
    loss = run.loss
    student = loss.student  # type: ignore[attr-defined]
    seen: list[int] = []

    def infinite(batch: Batch) -> Any:
        seen.append(1)
        factor = float("inf") if job.rank == job.processes - 1 and len(seen) == 2 else 1.0
        return {key: factor * x for key, x in student(batch).items()}

    object.__setattr__(loss, "student", infinite)
    made = Checkpoint if job.writes else ReadCheckpoint
    try:
        trained(run, made(Path(folder), {}, 0.0), division_of(job))
    except Diverged as error:
        torch.distributed.barrier()  # which all processes reach, or none
        raise RetortError(f"process {job.rank} ends at step {error.step}", "as it should") from error


@on_every_gpu
def fail(job: Job) -> None:
    """Fail in the last process alone; the others wait for it."""
    if job.rank == job.processes - 1:
        raise MemoryError("\nno room for the gradients\nat all")
    torch.distributed.barrier()


@on_every_gpu
def list_open_ports(job: Job, folder: str) -> None:
    """Write down the ports of this process and its parent on which everybody who reaches the machine may connect."""
    processes = [Path("/proc", str(number)) for number in (os.getpid(), os.getppid())]
    opened = {file.stat().st_ino for process in processes for file in (process / "fd").glob("*") if file.exists()}
    lines = [line for table in ("tcp", "tcp6") for line in Path("/proc/self/net", table).read_text().splitlines()[1:]]
    ports = [(fields[1], fields[3], int(fields[9])) for fields in map(str.split, lines)]  # address, state, inode
    listening = [address for address, state, inode in ports if state == "0A" and inode in opened]
    every = [address for address in listening if not address.split(":")[0].strip("0")]
    Path(folder, f"ports-{job.rank}").write_text("\n".join(every))
    torch.distributed.barrier()


def job_of(folder: Path, gpus: int) -> Job:
    """Return a job with a log on disk that has no GPU, and as many processes as if it had some."""
    return Job("job", (folder / "log").open("a"), threads=2, gpus=gpus)


@pytest.mark.parametrize(("gpus", "micro_batch"), [(2, 2), (TOGETHER, None)])
def test_processes_train_the_weights_of_one(gpus: int, micro_batch: int | None, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        trained(cut(range(2)), Checkpoint(tmp_path / "state-resumed", {}, 0.0), UNDIVIDED)
    expected = {}
    for name, make in RUNS.items():
        if name != "resumed":
            expected[name] = trained(make(), Checkpoint(tmp_path / f"whole-{name}", {}, 1e9), UNDIVIDED)
    train_all(job_of(tmp_path, gpus), str(tmp_path), micro_batch)
    for name, (weights, _) in expected.items():
        assert_close(weights, load_file(tmp_path / f"{name}.safetensors"))
    assert_close(expected["mixed"][0], load_file(tmp_path / "resumed.safetensors"))
    log = (tmp_path / "log").read_text()
    assert log.startswith(expected["mixed"][1])  # the loss that is told is that of the whole batch
    assert "4 steps, resumed at step 2" in log


def test_fewer_processes_go_on_from_the_checkpoint_of_more(tmp_path: Path) -> None:
    whole, _ = trained(distillation(MIXED), Checkpoint(tmp_path / "whole", {}, 1e9), UNDIVIDED)
    for gpus, numbers in ((TOGETHER, range(1)), (2, range(1, 3))):
        train_on(job_of(tmp_path, gpus), str(tmp_path / "state"), numbers)
        state = Checkpoint(tmp_path / "state", {}, 0.0).state
        assert state is not None
        assert state.step == numbers.stop
    last, log = trained(distillation(MIXED), Checkpoint(tmp_path / "state", {}, 0.0), UNDIVIDED)
    assert_close(whole, last)
    assert "4 steps, resumed at step 3" in log


def test_all_processes_end_at_a_divergence_of_one(tmp_path: Path) -> None:
    with pytest.raises(RetortError) as caught:
        diverge(job_of(tmp_path, 2), str(tmp_path / "state"))
    assert str(caught.value) == "process 0 ends at step 2; as it should"


def test_the_reason_of_a_failure_is_that_of_the_process_that_failed_first(tmp_path: Path) -> None:
    reason = "process 1: MemoryError: no room for the gradients"
    with pytest.raises(RuntimeError, match=reason), attempt(tmp_path / "attempt", []):
        fail(job_of(tmp_path, 2))
    kept = Attempt.read(tmp_path / "attempt")
    assert kept is not None
    assert kept.reason == reason
    assert "in fail\n" in (tmp_path / "log").read_text()


@pytest.mark.skipif(not Path("/proc/self/net").exists(), reason="this system has no /proc")
def test_processes_open_no_port_for_everybody(tmp_path: Path) -> None:
    list_open_ports(job_of(tmp_path, 2), str(tmp_path))
    assert [(tmp_path / f"ports-{rank}").read_text() for rank in range(2)] == ["", ""]


def test_a_job_with_one_gpu_runs_in_its_own_process() -> None:
    ran = []
    for gpus in (0, 1):
        on_every_gpu(lambda job: ran.append(job.gpus))(Job("job", io.StringIO(), gpus=gpus))  # type: ignore[arg-type]
    assert ran == [0, 1]


def test_buckets_hold_tensors_of_one_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BUCKET", 10)
    tensors = [torch.zeros(size) for size in (4, 6, 1, 30, 2)] + [torch.zeros(3).double()]
    assert [[len(x) for x in bucket] for bucket in processes.buckets(tensors)] == [[4, 6], [1], [30], [2], [3]]

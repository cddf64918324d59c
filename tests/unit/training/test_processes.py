"""Tests of trainings that several processes share, over gloo on the CPU."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.atomic import replacing_file
from retort.batch import Batch
from retort.errors import Diverged, RetortError
from retort.job.attempts import NEVER, Attempt, Clock, Interrupted, attempt
from retort.job.context import RunningJob
from retort.training.checkpoint import Checkpoint
from retort.training.how import processes
from retort.training.how.launch import on_every_gpu
from retort.training.how.micro_batches import Division
from retort.training.training_run import TrainingRun
from safetensors.torch import load_file, save_file

from tests.unit.training.runs import state_of, train
from tests.unit.training.test_micro_batches import MASKED, MIXED, SHORT, Texts, assert_close, distillation

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_processes")]

MANY = 4
FORK = multiprocessing.get_context("fork")  # imports nothing again


class Numbers(torch.utils.data.Dataset[Batch]):
    """Batches of their own numbers."""

    def __getitem__(self, number: int) -> Batch:
        values = torch.full((2, 3), number)
        return Batch(values, values, values > 0)


def prepare_batches(told: Connection) -> None:
    """Tell the numbers of two workers that prepare batches, once each has prepared one and knows this process."""
    batches = Division().load(Numbers(), 0, 1000, "cpu", 2)
    next(batches), next(batches)
    told.send([child.pid for child in multiprocessing.active_children()])
    time.sleep(60)


def runs(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for at most a minute."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def cut(numbers: range) -> TrainingRun:
    """Return a distillation that has these batches alone: it ends with an error after them."""
    run = distillation(MIXED)
    run.batches = {number: Texts(False)[number] for number in numbers}  # type: ignore[assignment]
    return run


RUNS = {
    "mixed": lambda: distillation(MIXED),
    "short": lambda: distillation(SHORT),
    "masked": lambda: distillation(MASKED, masked=True),
    "resumed": lambda: distillation(MIXED),
}


def trained(
    run: TrainingRun, folder: Path, job: RunningJob | None = None, micro_batch: int | None = None, every: float = 1e9
) -> tuple[dict[str, torch.Tensor], str]:
    """Train a run, alone or in a process of a job; return its weights and buffers, and its log."""
    own = job or RunningJob("job", io.StringIO())
    checkpoint = Checkpoint(folder, {}, every, writes=own.writes)
    log = train(run, checkpoint, Division(micro_batch, own.rank, own.processes), clock=own.clock)
    return state_of(run), log


def open_ports() -> list[str]:
    """Return the ports of this process and its parent on which everybody who reaches the machine may connect."""
    both = [Path("/proc", str(number)) for number in (os.getpid(), os.getppid())]
    opened = {file.stat().st_ino for process in both for file in (process / "fd").glob("*") if file.exists()}
    lines = [line for table in ("tcp", "tcp6") for line in Path("/proc/self/net", table).read_text().splitlines()[1:]]
    ports = [(fields[1], fields[3], int(fields[9])) for fields in map(str.split, lines)]  # address, state, inode
    listening = [address for address, state, inode in ports if state == "0A" and inode in opened]
    return [address for address in listening if not address.split(":")[0].strip("0")]


@on_every_gpu
def train_all(job: RunningJob, folder: str, micro_batch: int | None) -> None:
    """Train all runs in this process, one of several; the first writes the weights."""
    torch.set_num_threads(1)
    assert processes.gather_values(["über", job.rank]) == [["über", rank] for rank in range(job.processes)]
    assert not Path("/proc/self/net").exists() or not open_ports()
    for name, make in RUNS.items():
        weights, log = trained(make(), Path(folder) / f"state-{name}", job, micro_batch)
        if job.writes:
            save_file({key: x.clone() for key, x in weights.items()}, f"{folder}/{name}.safetensors")  # some are tied
            job.log.write(log)


@on_every_gpu
def diverge(job: RunningJob, folder: str) -> None:
    """Train a run whose loss is infinite at its second step in the last process alone; one writes checkpoints."""
    run = distillation(SHORT)
    student = run.loss.student
    seen: list[int] = []

    def infinite(batch: Batch) -> Any:
        seen.append(1)
        factor = float("inf") if job.rank == job.processes - 1 and len(seen) == 2 else 1.0
        return {key: factor * x for key, x in student(batch).items()}

    object.__setattr__(run.loss, "student", infinite)
    try:
        trained(run, Path(folder), job, 0.0)
    except Diverged as error:
        torch.distributed.barrier()  # which all processes reach, or none
        raise RetortError(f"process {job.rank} ends at step {error.step}", "as it should") from error


@on_every_gpu
def train_to_the_limit(job: RunningJob, folder: str) -> None:
    """Train a run in this process, one of several, of which only the last one looks at the clock of the job."""
    torch.set_num_threads(1)
    run, path = distillation(MIXED), Path(folder)
    run.after_step = lambda step: (path / f"process-{job.rank}").write_text(str(step)) and None
    if job.rank < job.processes - 1:
        job.clock = NEVER
    weights, _ = trained(run, path / "state", job)
    if job.writes:
        save_file({key: x.clone() for key, x in weights.items()}, path / "student.safetensors")


@on_every_gpu
def die(job: RunningJob) -> None:
    """Be killed in the last process alone; the others wait for it."""
    if job.rank == job.processes - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@on_every_gpu
def sleep(job: RunningJob, folder: str) -> None:
    """Sleep; a file holds the number of this process."""
    with replacing_file(Path(folder, f"begun-{job.rank}")) as part:
        part.write_text(str(os.getpid()))
    time.sleep(60)


@on_every_gpu
def fail(job: RunningJob) -> None:
    """Fail in the last process alone; the others wait for it."""
    if job.rank == job.processes - 1:
        raise MemoryError("\nno room for the gradients\nat all")
    torch.distributed.barrier()


def job_of(folder: Path, gpus: int = 2, clock: Clock = NEVER) -> RunningJob:
    """Return a job with a log on disk that has no GPU, and as many processes as if it had some."""
    folder.mkdir(exist_ok=True)
    return RunningJob("job", (folder / "log").open("a"), threads=2, gpus=gpus, clock=clock)


@pytest.mark.parametrize(("gpus", "micro_batch"), [(2, 2), (MANY, None)])
def test_processes_train_the_weights_of_one(gpus: int, micro_batch: int | None, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        trained(cut(range(2)), tmp_path / "state-resumed", every=0.0)
    expected = {name: trained(make(), tmp_path / f"whole-{name}") for name, make in RUNS.items() if name != "resumed"}
    train_all(job_of(tmp_path, gpus), str(tmp_path), micro_batch)
    for name, (weights, _) in expected.items():
        assert_close(weights, load_file(tmp_path / f"{name}.safetensors"))
    assert_close(expected["mixed"][0], load_file(tmp_path / "resumed.safetensors"))
    log = (tmp_path / "log").read_text()
    assert log.startswith(expected["mixed"][1])  # the loss that is told is that of the whole batch
    assert "4 steps, resumed at step 2" in log  # one process had taken two


def test_all_processes_end_at_a_divergence_of_one(tmp_path: Path) -> None:
    with pytest.raises(RetortError) as caught:
        diverge(job_of(tmp_path), str(tmp_path / "state"))
    assert str(caught.value) == "process 0 ends at step 2; as it should"


def test_the_reason_of_a_failure_is_that_of_the_process_that_failed_first(tmp_path: Path) -> None:
    reason = "process 1: MemoryError: no room for the gradients"
    with pytest.raises(RuntimeError, match=reason), attempt(tmp_path / "attempt"):
        fail(job_of(tmp_path))
    kept = Attempt.read(tmp_path / "attempt")
    assert kept is not None
    assert kept.reason == reason
    assert "in fail\n" in (tmp_path / "log").read_text()


def test_a_process_that_is_killed_is_told_and_the_others_are_ended(tmp_path: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match="process 1 terminated with signal SIGKILL"):
        die(job_of(tmp_path))
    assert time.monotonic() - begun < 30.0


def test_workers_end_when_the_job_is_killed() -> None:
    workers: list[int] = []
    for sent in (signal.SIGTERM, signal.SIGKILL):
        ours, theirs = FORK.Pipe()
        training = FORK.Process(target=prepare_batches, args=[theirs])
        training.start()
        theirs.close()  # a training that fails is told by the end of the pipe
        pids = ours.recv()
        assert len(pids) == 2
        assert all(map(runs, pids))
        workers += pids
        assert training.pid
        os.kill(training.pid, sent)
        training.join()
    wait_until(lambda: not any(map(runs, workers)))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_when_their_parent_does(sent: signal.Signals, tmp_path: Path) -> None:
    parent = FORK.Process(target=lambda: sleep(job_of(tmp_path), str(tmp_path)))
    parent.start()
    begun = [tmp_path / f"begun-{rank}" for rank in range(2)]
    wait_until(lambda: all(path.exists() for path in begun))
    assert parent.pid
    os.kill(parent.pid, sent)
    parent.join()
    assert parent.exitcode == -sent
    wait_until(lambda: not any(runs(int(path.read_text())) for path in begun))


@pytest.mark.parametrize(
    ("own", "other", "asked"),
    [(8.0, 8.0, [1, 2, 3, 4]), (0.01, 0.01, [1, 301, 601]), (0.01, 1.5, [1, 3, 5, 7])],  # the slower process counts
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
    monkeypatch.setattr(processes, "gather_values", gather)
    monkeypatch.setattr(processes.time, "monotonic", lambda: now)
    agrees, step = processes.Agreement(NEVER), 0
    for step in range(1, asked[-1] + 1):
        now += own
        assert agrees.after_step() == (step == asked[-1])
    assert steps == asked


def test_the_clock_of_one_process_makes_all_write_one_state_and_end(tmp_path: Path) -> None:
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    for step in (1, 2):
        with pytest.raises(Interrupted, match=f"after step {step};"):
            train_to_the_limit(job_of(cut, clock=Clock(end=0.0)), str(cut))
        assert [(cut / f"process-{rank}").read_text() for rank in range(2)] == [str(step)] * 2
        state = Checkpoint(cut / "state", {}, 1e9).state
        assert state is not None
        assert state.step == step
    for folder in (cut, whole):
        train_to_the_limit(job_of(folder), str(folder))
    assert (cut / "student.safetensors").read_bytes() == (whole / "student.safetensors").read_bytes()

"""Tests of what `retort status` tells of runs: from what they and their jobs leave, without a change of anything."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from retort.cli import main
from retort.job import attempts, gpus
from retort.job.attempts import KILLED, Attempt, attempt, file_of, slug_of
from retort.job.locks import hold_claim, living_owner
from retort.job.planned_run import PlannedJob
from retort.job.steps import steps_file
from retort.run import run_folder

pytestmark = pytest.mark.usefixtures("folder")
TRAIN, OTHER, DONE, KEPT, WAITS = (
    f"results/logs/{name}.log" for name in ("train/kd.mood.1-2", "train/a.mood.1", "encode/mood", "encode/b", "make/t")
)
STEPS = {"job": "train.kd.mood.1-2", "seed": 2, "stage": 1, "stages": 2, "steps": 40}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Claim a run of five jobs for this process, and return its name."""
    monkeypatch.setattr(gpus, "FOLDER", tmp_path / "gpus")
    monkeypatch.setattr(gpus, "_cards", lambda: [gpus.Card("3", "GPU-77", 0.0, 0.0)])
    Path("results/old").mkdir(parents=True)
    os.utime("results/old", (1, 1))
    jobs = {TRAIN: "seeds=1-2,student=kd,task=mood", OTHER: "seeds=1", DONE: "", KEPT: "", WAITS: ""}
    outputs = {DONE: ("results/made",), KEPT: ("results/old",)}
    planned = frozenset(
        PlannedJob(f"rule:{wildcards}", log, 10.0, outputs.get(log, ("results/none",)))
        for log, wildcards in jobs.items()
    )
    run_folder.claim(run_folder.RunWork(planned))
    Path("results/made").mkdir()
    yield os.environ[attempts.RUN]
    end_run()


def end_run() -> None:
    """End the runs of this process."""
    for claim in run_folder._claims.values():
        claim.close()


@contextlib.contextmanager
def at_work(log: str) -> Iterator[None]:
    """Be at work on a job, on a GPU."""
    claim = hold_claim(attempts.LOCKS / slug_of(log), log)
    with claim, attempt(file_of(log)), hold_claim(gpus.FOLDER / "GPU-77", "a GPU"):
        yield


def write_steps(log: str, *lines: dict[str, Any]) -> None:
    """Write the file of steps of a job."""
    steps_file(log).parent.mkdir(parents=True, exist_ok=True)
    steps_file(log).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def fail(log: str, error: BaseException) -> None:
    """Begin an attempt at a job that fails."""
    with contextlib.suppress(type(error)), attempt(file_of(log)):
        raise error


def told(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """Return the exit status of `retort status`, and what it has printed."""
    capsys.readouterr()
    return main(["status", *options]), capsys.readouterr().out


def everything() -> dict[str, tuple[int, bytes]]:
    """Return each file of this folder with its time and content."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in Path().rglob("*") if path.is_file()}


def test_a_run_at_work(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    fail(OTHER, OSError("no \x1b[31mluck"))
    with at_work(TRAIN):
        line = {**STEPS, "step": 10, "loss": 1.5, "at": time.time() + 1}
        old = {**line, "seed": 1, "stage": 2, "step": 40, "at": 1.0}  # of an earlier attempt
        write_steps(TRAIN, old, {**line, "steps_per_second": 2.0})
        write_steps("results/logs/train/companion.log", {**line, "dev": 0.5, "at": line["at"] + 1})
        write_steps("results/logs/train/other.log", {**line, "job": "train.other", "step": 7, "at": line["at"] + 2})
        before = everything()
        status, lines = told(capsys)
        as_json = json.loads(told(capsys, "--json")[1])
        assert everything() == before
    assert status == 1
    head, running, failed, log, waiting = lines.splitlines()
    assert head.startswith(f"process {os.getpid()} on ")
    assert ": 1 of 5 jobs done, 1 running, 1 failed, 2 waiting; about 0 s left" in head
    assert running.startswith(
        "  running: train(kd, mood, 1-2), seed 2, stage 1 of 2, step 10 of 40, 15 s left of this training, GPU 3, proc"
    )
    assert failed == r"  failed:  train(a, mood, 1): no \x1b[31mluck"
    assert log.strip() == f"log: {OTHER}"
    assert waiting == "  waiting: 1 encode, 1 make"  # what an earlier run has made counts as waiting
    jobs = {job["log"]: job for job in as_json[0]["jobs"]}
    assert jobs[TRAIN]["training"] == {**line, "dev": 0.5, "at": line["at"] + 1}
    assert (jobs[TRAIN]["state"], jobs[TRAIN]["share"], jobs[DONE]["share"]) == ("running", 10 / 40 / 4, 1.0)


def test_a_run_that_has_ended_keeps_its_failures(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    Attempt(run).write(file_of(TRAIN))  # a kill lets it say nothing
    fail(OTHER, OSError("no luck"))
    Attempt("an earlier run", "bad luck").write(file_of(WAITS))
    end_run()
    status, lines = told(capsys)
    assert status == 1
    assert "the run of 20" in lines
    assert "has ended: 1 of 5 jobs done, 0 running, 2 failed, 2 not run\n" in lines
    assert KILLED in lines
    assert "bad luck" not in lines


def test_a_job_that_is_silent_is_told(
    run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_work(TRAIN):
        write_steps(TRAIN)
        monkeypatch.setattr("retort.cli.status.SILENT", -1.0)
        assert "no line for 0 s" in told(capsys)[1]


def test_the_claim_of_a_dead_process_of_this_machine_counts_no_more(tmp_path: Path) -> None:
    path = tmp_path / "claim"
    with hold_claim(path, "a job"):
        held = path.read_text()
        owner = living_owner(path)
        assert owner
        assert owner["pid"] == str(os.getpid())
    assert living_owner(path) is None
    dead = held.replace(f'"pid": "{os.getpid()}"', '"pid": "4194304"')  # above the largest number of a process
    path.write_text(dead)
    assert living_owner(path) is None
    path.write_text(dead.replace(f'"machine": "{owner["machine"]}"', '"machine": "another"'))
    assert living_owner(path)
    assert path.exists()


def test_without_a_run_there_is_nothing_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys) == (0, "no run has begun in this folder: results/runs lists none\n")


def test_curves_for_tensorboard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            self.folder = folder

        def add_scalar(self, *scalar: Any) -> None:
            written.append((self.folder, *scalar))

        def close(self) -> None:
            pass

    lines = [{**STEPS, "stage": stage, "step": 7, "loss": 1.5, "terms": {"kl": 0.5}, "at": 9.0} for stage in (1, 2)]
    write_steps(TRAIN, *lines)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert main(["status", "--tensorboard", "curves"]) == 2
    assert "retort status: TensorBoard is not installed; pip install tensorboard" in capsys.readouterr().err
    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    assert told(capsys, "--tensorboard", "curves")[1].startswith("curves of 1 jobs written; to see them: tensorboard ")
    assert written == [
        (f"curves/train.kd.mood.1-2/seed-2.stage-{stage}", tag, value, 7, 9.0)
        for stage in (1, 2)
        for tag, value in (("loss", 1.5), ("kl", 0.5))
    ]

"""Tests of how often Snakemake starts a job again."""

from __future__ import annotations

import contextlib
import json
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort import attempts, handover
from retort.attempts import attempt
from retort.plan import retries
from retort.signals import Interrupted
from snakemake.jobs import Job
from snakemake.scheduling.job_scheduler import JobScheduler

RETRIES = 6


@pytest.fixture(autouse=True)
def one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of results, in a run of Snakemake, in a Slurm job that has ended."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(attempts.RUN, "run-1")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    attempts.LOCKS.mkdir(parents=True)


def job(attempt: int = 1, rule: str = "rule", **resources: Any) -> Any:
    """Return a job of the plan."""
    plan: dict[str, Any] = {"rule": SimpleNamespace(name=rule), "wildcards": ["a"], "params": {}}
    return SimpleNamespace(**plan, resources=resources, attempt=attempt)


def ends(error: BaseException, step: int, rule: str = "rule") -> None:
    """Begin an attempt that gets to a step and ends with an error."""
    state = attempts.CHECKPOINTS / f"{rule}.a"
    state.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(type(error)), attempt(attempts.LOCKS / f"{rule}.a.attempt", [state]):
        (state / "state.json").write_text(json.dumps({"run": 1, "step": step}))
        raise error


def test_a_job_is_given_up_before_it_is_submitted_in_vain() -> None:
    assert retries.allowed(job(), RETRIES) == RETRIES  # it has left no word
    ends(OSError("no luck"), step=1)
    assert retries.allowed(job(), RETRIES) == RETRIES
    ends(OSError("no luck"), step=1)
    assert retries.allowed(job(), RETRIES) == RETRIES
    ends(OSError("no luck"), step=1)
    assert retries.allowed(job(), RETRIES) == 0


def test_a_job_that_trains_for_others_is_started_once_more_to_leave_them_to_their_own() -> None:
    for number in (1, 2, 3):
        ends(OSError("no luck"), step=1, rule="distill_together")
        assert retries.allowed(job(number, "distill_together"), 0) == number  # it may start for the next time


def test_failures_of_a_run_before_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ends(OSError("no luck"), step=1)
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert retries.allowed(job(), RETRIES) == RETRIES


def test_a_training_is_submitted_for_each_of_its_parts() -> None:
    for number in range(1, 3 * RETRIES):
        ends(Interrupted(signal.SIGURG, number), step=number)
        assert retries.allowed(job(number), RETRIES) > number - 1  # as Snakemake compares
        assert retries.allowed(job(number), 0) == 0  # nobody asked for retries
    ends(OSError("no luck"), step=number + 1)
    assert retries.allowed(job(number + 1), RETRIES) == RETRIES


def test_parts_that_met_their_time_limit_are_no_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    file = attempts.file_of("rule.a")

    def ends_in(slurm_job: str, error: BaseException, step: int) -> None:
        monkeypatch.setenv("SLURM_JOB_ID", slurm_job)
        ends(error, step)

    def tries(attempt: int) -> set[int]:
        """Return what Snakemake finds, and what the process of the job finds that it submits."""
        found = set[int]()
        for slurm_job in ("", "99"):
            monkeypatch.setenv("SLURM_JOB_ID", slurm_job)
            found.add(attempts.tries(file, attempt))
        return found

    limit = Interrupted(signal.SIGURG, 1)
    assert tries(2) == {2}  # the first was killed before it left a word
    ends_in("11", limit, step=1)
    assert attempts.tries(file, 1) == 1  # where Slurm queues it again
    ends_in("11", limit, step=2)
    assert tries(2) == {1}
    ends_in("12", OSError("no luck"), step=3)
    assert tries(3) == {2}
    ends_in("13", KeyboardInterrupt(), step=4)  # it leaves no word, like one that is killed
    assert tries(4) == {3}
    ends_in("14", limit, step=5)
    assert tries(5) == {3}
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert tries(2) == {2}


def test_jobs_that_share_a_slurm_job_start_again_only_for_those_that_have_failed() -> None:
    model = Path("results/model")
    model.mkdir()
    handover.offer(attempts.LOCKS / "rule.a", "key", [model], always=True)
    assert retries.allowed(job(in_turn=1), RETRIES) == 0
    assert retries.allowed(job(), RETRIES) == RETRIES  # it may take them over


def test_snakemake_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "restart_times", Job.restart_times)
    retries.adapt_snakemake()
    failing = Job.__new__(Job)
    failing.rule = SimpleNamespace(restart_times=RETRIES)
    monkeypatch.setattr(retries, "allowed", lambda job, retries: (job, retries))
    assert failing.restart_times == (failing, RETRIES)
    assert "restart_times" in JobScheduler._handle_error.__code__.co_names

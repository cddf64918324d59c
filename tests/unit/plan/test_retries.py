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
from retort.plan.retries import Restarts
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
    assert Restarts().allowed(job(), RETRIES) == RETRIES  # it has left no word
    ends(OSError("no luck"), step=1)
    assert Restarts().allowed(job(), RETRIES) == RETRIES
    ends(OSError("no luck"), step=1)
    assert Restarts().allowed(job(), RETRIES) == RETRIES
    ends(OSError("no luck"), step=1)
    assert Restarts().allowed(job(), RETRIES) == 0


def test_a_job_that_trains_for_others_is_started_once_more_to_leave_them_to_their_own() -> None:
    for number in (1, 2, 3):
        ends(OSError("no luck"), step=1, rule="distill_together")
        assert Restarts().allowed(job(number, "distill_together"), 0) == number  # it may start for the next time


def test_failures_of_a_run_before_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ends(OSError("no luck"), step=1)
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert Restarts().allowed(job(), RETRIES) == RETRIES


@pytest.mark.parametrize("error", [Interrupted(signal.SIGURG, 1), OSError("no luck"), KeyboardInterrupt()])
def test_a_job_that_gets_further_is_started_as_often_as_it_takes(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It meets its limit, fails, or is killed; the last one leaves no word, as after a preemption or a lost node."""
    restarts = Restarts()
    for number in range(1, 3 * RETRIES):
        monkeypatch.setenv("SLURM_JOB_ID", str(number))
        ends(error, step=number)
        assert restarts.allowed(job(number), RETRIES) > number - 1  # as Snakemake compares
        assert restarts.allowed(job(number), 0) == 0  # nobody asked for retries
    for again, allowed in ((1, True), (2, False)):  # without a step forward
        monkeypatch.setenv("SLURM_JOB_ID", str(number + again))
        ends(error, step=number)
        assert (restarts.allowed(job(number + again), RETRIES) >= number + again) == allowed


@pytest.mark.parametrize("rule", ["rule", "distill_together"])
def test_starts_that_never_ran_come_to_an_end(rule: str) -> None:
    """Of a job that got further before, too."""
    restarts = Restarts()
    assert [restarts.allowed(job(number, rule), RETRIES) >= number for number in (5, 6, 7)] == [True, True, False]
    for number in (8, 9):
        ends(OSError("no luck"), number, rule)
        assert restarts.allowed(job(number, rule), RETRIES) >= number
    unnoted = range(10, 10 + RETRIES)
    assert [restarts.allowed(job(number, rule), RETRIES) >= number for number in unnoted] == [True] * 5 + [False]


def test_jobs_that_share_a_slurm_job_start_again_only_for_those_that_have_failed() -> None:
    model = Path("results/model")
    model.mkdir()
    handover.offer(attempts.LOCKS / "rule.a", "key", [model], always=True)
    assert Restarts().allowed(job(in_turn=1), RETRIES) == 0
    assert Restarts().allowed(job(), RETRIES) == RETRIES  # it may take them over


def test_snakemake_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "restart_times", Job.restart_times)
    retries.adapt_snakemake()
    failing = Job.__new__(Job)
    failing.rule = SimpleNamespace(restart_times=RETRIES)
    monkeypatch.setattr(Restarts, "allowed", lambda self, job, retries: (job, retries))
    assert failing.restart_times == (failing, RETRIES)
    assert "restart_times" in JobScheduler._handle_error.__code__.co_names

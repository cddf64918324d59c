"""Tests that a Slurm job is noticed that neither sacct nor squeue knows any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort import attempts
from retort.plan import slurm_status


@pytest.fixture(autouse=True)
def slurm_knows(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what squeue says of jobs that are asked for by their ids, which a test may fill in."""
    known: dict[str, str] = {}
    monkeypatch.setattr(slurm_status.slurm, "states_of", lambda jobs: {job: known[job] for job in jobs if job in known})
    return known


def asked(*answers: dict[str, str] | None, submitted: Iterable[str] | None = None) -> list[dict[str, str] | None]:
    """Return what the plugin is told when Slurm gives these answers of jobs that were submitted before."""
    given, watch = iter(answers), slurm_status.Watch()
    jobs = {job for answer in answers for job in answer or {}} if submitted is None else submitted
    watch.note_active(lambda executor, jobs: None)(None, [SimpleNamespace(external_jobid=job) for job in jobs])

    async def query(command: str, logger: Any) -> slurm_status.Answer:
        answer = next(given)
        return answer, None if answer is None else 0.1

    told = watch.report_lost(query)
    return [asyncio.run(told("squeue", None))[0] for _ in answers]


def test_a_job_that_is_gone_for_good_has_ended() -> None:
    told = asked({"1": "RUNNING", "2": "RUNNING"}, {"1": "RUNNING"}, {"1": "RUNNING"}, {"1": "COMPLETED"})
    assert told[:3] == [{"1": "RUNNING", "2": "RUNNING"}, {"1": "RUNNING"}, {"1": "RUNNING"}]
    assert told[3] == {"1": "COMPLETED", "2": "UNKNOWN"}


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "COMPLETED", "FAILED"])
def test_a_job_that_the_database_lacks_is_asked_of_slurm(state: str, slurm_knows: dict[str, str]) -> None:
    slurm_knows["1"] = state
    told = asked({"1": "RUNNING"}, *[{}] * slurm_status.ANSWERS, {"1": "RUNNING"})
    assert told == [{"1": "RUNNING"}, *[{}] * (slurm_status.ANSWERS - 1), {"1": state}, {"1": "RUNNING"}]


def test_a_job_is_not_gone_while_slurm_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_status.slurm, "states_of", lambda jobs: None)
    assert asked({"1": "RUNNING"}, *[{}] * slurm_status.PATIENCE)[-1] == {}


def test_slurm_is_not_asked_of_jobs_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_status.slurm, "states_of", lambda jobs: pytest.fail("it asks"))
    asked({"1": "COMPLETED"}, *[{}] * slurm_status.PATIENCE, submitted=())


def test_a_job_that_comes_back_and_answers_that_fail_do_not_count() -> None:
    told = asked({"1": "RUNNING"}, {}, None, {}, {"1": "PENDING"}, {}, {})
    assert told == [{"1": "RUNNING"}, {}, {}, {}, {"1": "PENDING"}, {}, {}]


@pytest.mark.parametrize("answer", [{"1": "RUNNING"}, None])
def test_the_plugin_keeps_its_jobs_while_the_database_is_out_of_reach(
    answer: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It forgets those that it does not yield, and Snakemake would wait for them for ever."""
    plugin = adapted(monkeypatch)

    async def query(command: str, logger: Any) -> slurm_status.Answer:
        return answer, None if answer is None else 0.1

    monkeypatch.setattr(plugin, "query_job_status", slurm_status.Watch().report_lost(query))
    jobs = [SimpleNamespace(external_jobid="1", aux={})]

    async def active() -> list[Any]:
        return [job async for job in plugin.Executor.check_active_jobs(executor(), jobs)]

    assert asyncio.run(active()) == jobs


def executor() -> Any:
    """Return what the plugin's check of its jobs reads of its executor."""
    settings = SimpleNamespace(init_seconds_before_status_checks=5, status_attempts=5)
    counts = dict.fromkeys(["calls", "failures", "total_seconds", "max_seconds"], 0)
    return SimpleNamespace(
        **{f"_status_query_{name}": count for name, count in counts.items()},
        _status_query_min_seconds=None,
        _status_query_cycle_rows=[],
        workflow=SimpleNamespace(executor_settings=settings),
        get_status_command=lambda: "squeue",
        status_rate_limiter=contextlib.nullcontext(),
        logger=logging.getLogger(__name__),
        run_uuid="run",
        next_seconds_between_status_checks=5,
    )


@pytest.mark.parametrize("status", ["PREEMPTED", "NODE_FAIL"])
def test_a_job_that_slurm_does_not_queue_again_is_tried_again_as_one_that_was_lost(
    status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = asked(*[{"1": status, "2": "FAILED"}] * slurm_status.PATIENCE)
    assert [answer["1"] for answer in told] == [status] * (slurm_status.PATIENCE - 1) + ["FAILED"]
    assert [path.name for path in attempts.LOST.iterdir()] == ["1"]


def test_a_lost_job_that_slurm_forgets_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = asked({"1": "PREEMPTED", "2": "RUNNING"}, *[{}] * slurm_status.ANSWERS, submitted=("1", "2"))
    assert told[-1] == {"1": "UNKNOWN", "2": "UNKNOWN"}
    assert [path.name for path in attempts.LOST.iterdir()] == ["1"]


@pytest.mark.parametrize("status", ["PREEMPTED", "NODE_FAIL"])
def test_a_job_that_slurm_queues_again_has_not_failed(status: str) -> None:
    answers = [*[{"1": status}] * (slurm_status.PATIENCE - 1), {"1": "PENDING"}, {"1": status}]
    assert asked(*answers) == answers


def test_a_job_that_slurm_forgot_before_it_was_asked_has_ended() -> None:
    late = asked({}, {"1": "PENDING"}, {}, {}, submitted=("1",))
    assert late == [{}, {"1": "PENDING"}, {}, {}]
    told = asked(*[{"2": "RUNNING"}] * slurm_status.PATIENCE, submitted=("1", "2"))
    assert told[:-1] == [{"2": "RUNNING"}] * (slurm_status.PATIENCE - 1)
    assert told[-1] == {"1": "UNKNOWN", "2": "RUNNING"}


def test_the_jobs_of_an_array_are_not_missed() -> None:
    answers = [{"7": "PENDING"}] * slurm_status.PATIENCE
    assert asked(*answers, submitted=("7_1", "7_2")) == answers


@pytest.mark.parametrize(("setting", "excluded"), [(None, []), ("node1, node2", ["node1", "node2"])])
def test_a_node_that_was_lost_is_used_again(
    setting: str | None, excluded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("run_uuid", "slurm_logfile", "comment_str", "account", "partition", "workdir")
    settings = SimpleNamespace(
        exclude_failed_nodes=setting, requeue=False, no_requeue=False, qos=None, reservation=None
    )
    command = adapted(monkeypatch).get_submit_command(
        SimpleNamespace(resources={}, threads=1),
        dict.fromkeys(names, "name"),
        settings=settings,
        failed_nodes={"None assigned", "node3"},
    )
    assert ("--exclude" in command) == bool(excluded)
    assert re.findall(r"node\d", command) in (excluded, excluded[::-1])


def test_the_plugin_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import snakemake_executor_plugin_slurm

    check = snakemake_executor_plugin_slurm.Executor.check_active_jobs
    plugin = adapted(monkeypatch)
    assert plugin.Executor.check_active_jobs.__module__ == slurm_status.__name__
    for name in ("query_job_status", "get_submit_command"):
        assert getattr(plugin, name).__module__ == slurm_status.__name__
    assert "query_job_status" in check.__code__.co_names
    assert "get_submit_command" in plugin.Executor.run_job.__code__.co_names


def adapted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the plugin, adapted until the test has ended."""
    import snakemake_executor_plugin_slurm as plugin

    for name in ("query_job_status", "get_submit_command"):
        monkeypatch.setattr(plugin, name, getattr(plugin, name))
    monkeypatch.setattr(plugin.Executor, "check_active_jobs", plugin.Executor.check_active_jobs)
    slurm_status.adapt_plugin()
    return plugin

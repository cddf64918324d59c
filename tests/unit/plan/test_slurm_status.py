"""Tests that a Slurm job is noticed that neither sacct nor squeue knows any more."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest
from retort.plan import slurm_status


def asked(*answers: dict[str, str] | None, submitted: tuple[str, ...] = ()) -> list[dict[str, str] | None]:
    """Return what the plugin is told when Slurm gives these answers, and it has submitted these jobs before."""
    given, watch = iter(answers), slurm_status.Watch()
    watch.of_submitted(lambda executor, jobs: None)(None, [SimpleNamespace(external_jobid=job) for job in submitted])

    async def query(command: str, logger: Any) -> slurm_status.Answer:
        answer = next(given)
        return answer, None if answer is None else 0.1

    told = watch.noticing(query)
    return [asyncio.run(told("squeue", None))[0] for _ in answers]


def test_a_job_that_is_gone_for_good_has_ended() -> None:
    told = asked({"1": "RUNNING", "2": "RUNNING"}, {"1": "RUNNING"}, {"1": "RUNNING"}, {"1": "COMPLETED"})
    assert told[:3] == [{"1": "RUNNING", "2": "RUNNING"}, {"1": "RUNNING"}, {"1": "RUNNING"}]
    assert told[3] == {"1": "COMPLETED", "2": "UNKNOWN"}


def test_a_job_that_comes_back_and_answers_that_fail_do_not_count() -> None:
    told = asked({"1": "RUNNING"}, {}, None, {}, {"1": "PENDING"}, {}, {})
    assert told == [{"1": "RUNNING"}, {}, None, {}, {"1": "PENDING"}, {}, {}]


def test_a_job_that_someone_cancelled_is_cancelled() -> None:
    assert asked({"1": "CANCELLED by 1000", "2": "OUT_OF_MEMORY"}) == [{"1": "CANCELLED", "2": "OUT_OF_MEMORY"}]


@pytest.mark.parametrize("status", ["PREEMPTED", "NODE_FAIL"])
def test_a_job_that_slurm_does_not_queue_again_has_failed(status: str) -> None:
    told = asked(*[{"1": status}] * slurm_status.PATIENCE)
    assert told == [{"1": status}] * (slurm_status.PATIENCE - 1) + [{"1": "FAILED"}]


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

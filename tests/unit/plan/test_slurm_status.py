"""Tests that a Slurm job is noticed that neither sacct nor squeue knows any more."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest
from retort.plan import slurm_status


def asked(*answers: dict[str, str] | None) -> list[dict[str, str] | None]:
    """Return what the plugin is told when Slurm gives these answers."""
    given = iter(answers)

    async def query(command: str, logger: Any) -> slurm_status.Answer:
        answer = next(given)
        return answer, None if answer is None else 0.1

    told = slurm_status.noticing(query)
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
    plugin = adapted(monkeypatch)
    for name in ("query_job_status", "get_submit_command"):
        assert getattr(plugin, name).__module__ == slurm_status.__name__
    assert "query_job_status" in plugin.Executor.check_active_jobs.__code__.co_names
    assert "get_submit_command" in plugin.Executor.run_job.__code__.co_names


def adapted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the plugin, adapted until the test has ended."""
    import snakemake_executor_plugin_slurm as plugin

    for name in ("query_job_status", "get_submit_command"):
        monkeypatch.setattr(plugin, name, getattr(plugin, name))
    slurm_status.adapt_plugin()
    return plugin

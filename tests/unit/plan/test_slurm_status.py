"""Tests that a Slurm job is noticed that neither sacct nor squeue knows any more."""

from __future__ import annotations

import asyncio
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


def test_the_plugin_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import snakemake_executor_plugin_slurm as plugin

    before = plugin.query_job_status
    monkeypatch.setattr(plugin, "query_job_status", before)
    slurm_status.notice_lost_jobs()
    assert plugin.query_job_status is not before
    assert "query_job_status" in plugin.Executor.check_active_jobs.__code__.co_names

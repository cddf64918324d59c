"""Notice Slurm jobs that nobody knows any more, those that were cancelled, and go on after the loss of a node.

The executor plugin asks sacct or squeue for the status of its jobs, and waits for ever for a job that is not in the
answer: after its end squeue forgets a job, and so does a Slurm that lost its state. A job that was there, and is absent
from several answers in a row, is handed on as one that has ended: Snakemake then looks for its results, and counts it
as failed if they are not there. And sacct says who cancelled a job, 'CANCELLED by 0', which the plugin takes for a
status of jobs at work.

After the loss of a node the plugin excludes it from all further submissions, also when it is back. While the job that
ran there waits in the queue, sacct says 'None assigned' instead of a node, and every submission that excludes that
fails. Slurm knows which nodes it has, so nothing is excluded but what the user says.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from retort.plan.slurm_step import PLUGIN

ANSWERS = 3  # in a row, from which a job is absent
ENDED = "UNKNOWN"  # the status with which the plugin lets Snakemake look for the results

Answer = tuple[dict[str, str] | None, float | None]
Query = Callable[[str, Any], Awaitable[Answer]]


def adapt_plugin() -> None:
    """Let the plugin notice lost and cancelled jobs and use all nodes, if this process has loaded it."""
    plugin = sys.modules.get(PLUGIN)
    if plugin is not None:
        plugin.query_job_status = noticing(plugin.query_job_status)  # type: ignore[attr-defined]
        plugin.get_submit_command = on_all_nodes(plugin.get_submit_command)  # type: ignore[attr-defined]


def on_all_nodes(submit_command: Callable[..., str]) -> Callable[..., str]:
    """Return a function that makes the command of a submission, and excludes no nodes but those of the settings."""

    def make(job: Any, params: Any, settings: Any, failed_nodes: set[str]) -> str:
        names = (name.strip() for name in (settings.exclude_failed_nodes or "").split(","))
        return submit_command(job, params, settings=settings, failed_nodes=set(filter(None, names)))

    return make


def noticing(query: Query) -> Query:
    """Return a query that also tells which jobs are gone: in an earlier answer, and absent from the last ones.

    Args:
        query: asks for the status of all jobs of a run; returns job -> status and the seconds it took, or twice None.
    """
    absent: Counter[str] = Counter()  # job -> in how many answers in a row it was absent

    async def ask(command: str, logger: Any) -> Answer:
        statuses, seconds = await query(command, logger)
        if statuses is None:
            return statuses, seconds
        statuses = {job: status.split()[0] for job, status in statuses.items() if status}  # 'CANCELLED by 0'
        for job in statuses:
            absent[job] = 0
        for job in absent.keys() - statuses.keys():
            absent[job] += 1
        return statuses | {job: ENDED for job, count in absent.items() if count >= ANSWERS}, seconds

    return ask

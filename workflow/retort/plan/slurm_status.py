"""Notice Slurm jobs that nobody knows any more, those that were cancelled, and go on after the loss of a node.

The executor plugin asks sacct or squeue for the status of its jobs, and waits for ever for a job that is not in the
answer: after its end squeue forgets a job, and so does a Slurm that lost its state. A job that was there, and is absent
from several answers in a row, is asked for by its id: the database behind sacct may lack a job that is at work. One
that Slurm does not know either is handed on as one that has ended: Snakemake then looks for its results, and counts it
as failed if they are not there. So is a job that Slurm forgot before it was first asked. And sacct says who cancelled a
job, 'CANCELLED by 0', which the plugin takes for a status of jobs at work.

If sacct or squeue fails as often as the plugin asks in a row, the plugin forgets all of its jobs, and the run waits for
ever. It is given an answer without jobs instead, after which it waits for the next.

A job that was preempted, or lost its node, is left to Slurm, which queues it again. Where Slurm is set up to end it
instead, its status stays as it is for ever: after a number of answers in a row it counts as failed.

After the loss of a node the plugin excludes it from all further submissions, also when it is back. While the job that
ran there waits in the queue, sacct says 'None assigned' instead of a node, and every submission that excludes that
fails. Slurm knows which nodes it has, so nothing is excluded but what the user says.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from retort import slurm
from retort.plan.slurm_step import PLUGIN

ANSWERS = 3  # in a row, from which a job is absent
PATIENCE = 10  # the same for a job that was in no answer yet, or that Slurm may still queue again
ENDED = "UNKNOWN"  # the status with which the plugin lets Snakemake look for the results
LOST = ("PREEMPTED", "NODE_FAIL")  # statuses of a job that Slurm queues again, or ends

Answer = tuple[dict[str, str] | None, float | None]
Query = Callable[[str, Any], Awaitable[Answer]]


def adapt_plugin() -> None:
    """Let the plugin notice lost and cancelled jobs and use all nodes, if this process has loaded it."""
    plugin = sys.modules.get(PLUGIN)
    if plugin is not None:
        watch = Watch()
        plugin.query_job_status = watch.noticing(plugin.query_job_status)  # type: ignore[attr-defined]
        plugin.Executor.check_active_jobs = watch.of_submitted(plugin.Executor.check_active_jobs)
        plugin.get_submit_command = on_all_nodes(plugin.get_submit_command)  # type: ignore[attr-defined]


def on_all_nodes(submit_command: Callable[..., str]) -> Callable[..., str]:
    """Return a function that makes the command of a submission, and excludes no nodes but those of the settings."""

    def make(job: Any, params: Any, settings: Any, failed_nodes: set[str]) -> str:
        names = (name.strip() for name in (settings.exclude_failed_nodes or "").split(","))
        return submit_command(job, params, settings=settings, failed_nodes=set(filter(None, names)))

    return make


class Watch:
    """What the answers of Slurm said of each job of a run, so far."""

    def __init__(self) -> None:
        self.active: set[str] = set()  # the jobs that the plugin waits for
        self.absent: Counter[str] = Counter()  # job -> in how many answers in a row it was absent
        self.lost: Counter[str] = Counter()  # job -> in how many answers in a row it was lost
        self.seen: set[str] = set()

    def of_submitted(self, check: Callable[[Any, list[Any]], Any]) -> Callable[[Any, list[Any]], Any]:
        """Return the plugin's check of its jobs, which also notes which they are: no answer may ever hold one.

        Args:
            check: checks the status of the jobs that are at work or wait.
        """

        def checked(executor: Any, jobs: list[Any]) -> Any:
            self.active = {str(job.external_jobid) for job in jobs}
            return check(executor, jobs)

        return checked

    def noticing(self, query: Query) -> Query:
        """Return a query that also tells which jobs are gone, and which are lost for good.

        Args:
            query: asks for the status of all jobs of a run; returns job -> status and the seconds it took, or twice
                None if that failed.
        """

        async def ask(command: str, logger: Any) -> Answer:
            statuses, seconds = await query(command, logger)
            if statuses is None:
                return {}, 0.0
            statuses = {job: status.split()[0] for job, status in statuses.items() if status}  # 'CANCELLED by 0'
            statuses |= await asyncio.to_thread(self._of_missing, statuses)
            self.lost = Counter({job: self.lost[job] + 1 for job, status in statuses.items() if status in LOST})
            failed = {job: "FAILED" for job, count in self.lost.items() if count >= PATIENCE}
            return statuses | failed, seconds

        return ask

    def _of_missing(self, statuses: dict[str, str]) -> dict[str, str]:
        """Count an answer, and return the statuses of the jobs that are absent for long, as Slurm itself has them."""
        self.seen |= statuses.keys()
        self.absent = Counter({job: self.absent[job] + 1 for job in self.active - statuses.keys()})
        missing = [job for job, count in self.absent.items() if count >= self._patience(job)]
        known = slurm.states_of(missing) if missing else {}
        return {} if known is None else dict.fromkeys(missing, ENDED) | known

    def _patience(self, job: str) -> float:
        """Return from how many answers in a row a job may be absent."""
        if job in self.seen:
            return ANSWERS
        return PATIENCE if job.isdigit() else math.inf  # for a part of an array, an answer may hold the whole

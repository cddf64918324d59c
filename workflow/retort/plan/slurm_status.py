"""Notice Slurm jobs that nobody knows any more, those that were cancelled, and go on after the loss of a node.

The executor plugin asks sacct or squeue for the status of its jobs, and waits for ever for a job that is not in the
answer: after its end squeue forgets a job, and so does a Slurm that lost its state. A job that was there, and is absent
from several answers in a row, is handed on as one that has ended: Snakemake then looks for its results, and counts it
as failed if they are not there. So is a job that Slurm forgot before it was first asked. And sacct says who cancelled a
job, 'CANCELLED by 0', which the plugin takes for a status of jobs at work.

A job that was preempted, or lost its node, is left to Slurm, which queues it again. Where Slurm is set up to end it
instead, its status stays as it is for ever: after a number of answers in a row it counts as failed.

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
        self.absent: Counter[str] = Counter()  # job -> in how many answers in a row it was absent
        self.lost: Counter[str] = Counter()  # job -> in how many answers in a row it was lost
        self.seen: set[str] = set()

    def of_submitted(self, check: Callable[[Any, list[Any]], Any]) -> Callable[[Any, list[Any]], Any]:
        """Return the plugin's check of its jobs, which also notes all of them: no answer may ever hold one.

        Args:
            check: checks the status of the jobs that are at work or wait.
        """

        def checked(executor: Any, jobs: list[Any]) -> Any:
            for job in jobs:
                if str(job.external_jobid).isdigit():  # no part of an array, for which an answer may hold the whole
                    self.absent[job.external_jobid] += 0
            return check(executor, jobs)

        return checked

    def noticing(self, query: Query) -> Query:
        """Return a query that also tells which jobs are gone, and which are lost for good.

        Args:
            query: asks for the status of all jobs of a run; returns job -> status and the seconds it took, or twice
                None.
        """

        async def ask(command: str, logger: Any) -> Answer:
            statuses, seconds = await query(command, logger)
            if statuses is None:
                return statuses, seconds
            statuses = {job: status.split()[0] for job, status in statuses.items() if status}  # 'CANCELLED by 0'
            self._count(statuses)
            gone = dict.fromkeys(filter(self._is_gone, self.absent), ENDED)
            failed = {job: "FAILED" for job, count in self.lost.items() if count >= PATIENCE}
            return statuses | gone | failed, seconds

        return ask

    def _count(self, statuses: dict[str, str]) -> None:
        """Count an answer of Slurm, in which each job has a word as its status."""
        self.seen |= statuses.keys()
        for job in self.absent.keys() | statuses.keys():
            self.absent[job] = 0 if job in statuses else self.absent[job] + 1
        self.lost = Counter({job: self.lost[job] + 1 for job, status in statuses.items() if status in LOST})

    def _is_gone(self, job: str) -> bool:
        return self.absent[job] >= (ANSWERS if job in self.seen else PATIENCE)

"""Notice Slurm jobs that are lost or cancelled, and go on after the loss of a node.

The executor plugin asks sacct or squeue for the status of its jobs, and waits for ever in four cases, which are mended:

- A job is missing in the answers: squeue forgets a job after its end, as does a Slurm that lost its state. If it is
  missing several times in a row, Slurm is asked for its id, because the database behind sacct may lack a running job.
  A job that Slurm does not know counts as ended: Snakemake looks for its results, and lets it fail without them.
- A job was cancelled: sacct says by whom ('CANCELLED by 0'), and the plugin takes that for the status of a running job.
- sacct or squeue fails: after several failures in a row, the plugin forgets its jobs. It gets an answer without jobs
  instead, and asks again.
- A job was preempted or lost its node, and Slurm is set up to end it instead of queueing it again: its status never
  changes. After several such answers in a row it is reported as failed, so that Snakemake starts it again; it is also
  noted, since it counts as no failure of the job (`attempts`).

After the loss of a node, the plugin excludes that node from all further submissions, even when it is back. While the
lost job waits in the queue, sacct says 'None assigned' for its node, and a submission that excludes this name fails.
Slurm knows which nodes it has, so only nodes that the user names are excluded.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from retort import slurm
from retort.attempts import note_lost
from retort.plan.slurm_step import PLUGIN

ANSWERS = 3  # in a row without a job, after which it counts as lost
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
        plugin.query_job_status = watch.report_lost(plugin.query_job_status)  # type: ignore[attr-defined]
        plugin.Executor.check_active_jobs = watch.note_active(plugin.Executor.check_active_jobs)
        plugin.get_submit_command = exclude_only_given_nodes(plugin.get_submit_command)  # type: ignore[attr-defined]


def exclude_only_given_nodes(submit_command: Callable[..., str]) -> Callable[..., str]:
    """Wrap the function that makes the command of a submission: it excludes only the nodes that the settings name."""

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
        self.latest: dict[str, str] = {}  # job -> its latest status

    def note_active(self, check: Callable[[Any, list[Any]], Any]) -> Callable[[Any, list[Any]], Any]:
        """Wrap the plugin's check of its jobs: it also notes which these are, as some may never be in an answer.

        Args:
            check: checks the status of the jobs that run or wait.
        """

        def checked(executor: Any, jobs: list[Any]) -> Any:
            self.active = {str(job.external_jobid) for job in jobs}
            return check(executor, jobs)

        return checked

    def report_lost(self, query: Query) -> Query:
        """Wrap a query for the status of jobs: its answer also has the jobs that are missing or lost for good.

        Args:
            query: asks for the status of all jobs of a run; returns job -> status and the seconds it took, or
                (None, None) if that failed.
        """

        async def ask(command: str, logger: Any) -> Answer:
            statuses, seconds = await query(command, logger)
            if statuses is None:
                return {}, 0.0
            statuses = {job: status.split()[0] for job, status in statuses.items() if status}  # 'CANCELLED by 0'
            statuses |= await asyncio.to_thread(self._find_missing, statuses)
            self.lost = Counter({job: self.lost[job] + 1 for job, status in statuses.items() if status in LOST})
            lost = [job for job, count in self.lost.items() if count >= PATIENCE]
            forgotten = [job for job, status in statuses.items() if status == ENDED and self.latest.get(job) in LOST]
            for job in (*lost, *forgotten):
                note_lost(job)
            self.latest |= statuses
            return statuses | dict.fromkeys(lost, "FAILED"), seconds

        return ask

    def _find_missing(self, statuses: dict[str, str]) -> dict[str, str]:
        """Count the jobs that are absent from an answer; return the status of those absent too often, by their id."""
        self.absent = Counter({job: self.absent[job] + 1 for job in self.active - statuses.keys()})
        missing = [job for job, count in self.absent.items() if count >= self._patience(job)]
        known = slurm.states_of(missing) if missing else {}
        return {} if known is None else dict.fromkeys(missing, ENDED) | known

    def _patience(self, job: str) -> float:
        """Return the number of answers in a row without a job after which it is missing."""
        if job in self.latest:
            return ANSWERS
        return PATIENCE if job.isdigit() else math.inf  # for a part of an array, an answer may hold the whole

"""How often Snakemake starts a failed job again, given `retries` and the notes that the job keeps of its attempts.

A job that has failed twice without a step forward is not started again: it would give up at once, after it has waited
for a GPU. A job that gets further may be started more often than `retries`: a training meets its time limit where Slurm
refuses to queue it again, is preempted, or loses its node. So `retries` only counts starts without a note, such as
submissions that Slurm refuses, since the last start with one. A job that trains for others is started until it is
given up; each student is then trained by its own job.
"""

from __future__ import annotations

from typing import Any

from snakemake.jobs import Job

from retort import attempts, handover
from retort.attempts import Attempt
from retort.job_names import slug_of
from retort.jobs import IN_TURN


def adapt_snakemake() -> None:
    """Let Snakemake ask `Restarts` whenever a job has failed how often it may be started again."""
    retries, restarts = Job.restart_times.fget, Restarts()
    Job.restart_times = property(lambda job: restarts.allowed(job, retries(job)))


class Restarts:
    """How often the jobs of a run may be started again."""

    def __init__(self) -> None:
        self.noted: dict[str, tuple[Attempt, int]] = {}  # job -> its latest attempt, and at which start that was found

    def allowed(self, job: Any, retries: int) -> int:
        """Return how often a failed job may be started again in all, its restarts so far included.

        Args:
            job: Snakemake's job; of jobs that share a Slurm job, the largest number counts.
            retries: how often the user lets it be started again.
        """
        slug = slug_of(job)
        if job.resources.get(IN_TURN) and handover.is_kept(attempts.LOCKS / slug):
            return 0  # it has succeeded: a job beside it has failed
        folders = attempts.checkpoint_folders(job.rule.name, slug, job.params.get("settings", ()))
        failed = attempts.latest_failure(attempts.file_of(slug), folders)
        if failed is None:
            return retries
        if job.rule.name in attempts.TRAINS_FOR:
            retries = max(retries, 1)
        elif failed.failures >= attempts.MAX_FAILURES:
            return 0
        return retries and retries + self._start_of(slug, failed, job.attempt) - 1

    def _start_of(self, slug: str, latest: Attempt, start: int) -> int:
        """Return the start of a job at which its latest attempt was found first; later starts have left no note."""
        if self.noted.get(slug, (None, 0))[0] != latest:
            self.noted[slug] = latest, start
        return self.noted[slug][1]

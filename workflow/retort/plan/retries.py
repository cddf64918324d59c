"""How often Snakemake starts a job again (`retries`), given what the job itself has noted of its attempts.

A job that has failed twice without a step forward would be given up as soon as it starts, but on a cluster each start
is a submission, which waits for a GPU. And a training that met its time limit has not failed: where Slurm refuses to
queue it again, each of its parts is a submission, of which a long training needs more than `retries`. A job that trains
for others is started until it is given up, and then leaves them to their own jobs.
"""

from __future__ import annotations

from typing import Any

from snakemake.jobs import Job

from retort import attempts, handover
from retort.job_names import slug_of
from retort.jobs import IN_TURN


def adapt_snakemake() -> None:
    """Let Snakemake ask how often a job may be started again; it does so whenever one has failed."""
    retries = Job.restart_times.fget
    Job.restart_times = property(lambda job: allowed(job, retries(job)))


def allowed(job: Any, retries: int) -> int:
    """Return how often a job that has failed may be started again in all, those times that it was included.

    Args:
        job: Snakemake's job; of jobs that share a Slurm job, the largest number counts.
        retries: how often the user lets it be started again.
    """
    slug = slug_of(job)
    if job.resources.get(IN_TURN) and handover.is_kept(attempts.LOCKS / slug):
        return 0  # it has succeeded: a job beside it has failed
    folders = attempts.written_by(job.rule.name, slug, job.params.get("settings", ()))
    failed = attempts.failed(attempts.file_of(slug), folders)
    if failed is None:
        return retries
    trains_for_others = job.rule.name in attempts.TRAINS_FOR
    if failed.failures >= attempts.MOST and not trains_for_others:
        return 0
    goes_on = retries and failed.at_limit and not failed.failures
    return max(retries, job.attempt) if goes_on or trains_for_others else retries

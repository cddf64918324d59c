"""Let a run go on after failures among jobs that share a Slurm job, and before such jobs.

Snakemake takes jobs that share a Slurm job for one: if one of them fails, all have failed, and no job that depends on
any of them begins. Nor do they begin if one of them depends on a job that has failed. Here, each of them that succeeded
counts as finished, and those that depend on a failed job are taken from the group, so that the others can begin.

A job alone may count as failed, too, although it succeeded: a shared file system may show its results too late.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snakemake.exceptions import RuleException, WorkflowError
from snakemake.jobs import GroupJob
from snakemake.scheduling.job_scheduler import JobScheduler

from retort import handover
from retort.attempts import LOCKS
from retort.job_names import expand_groups, slug_of


def adapt_snakemake() -> None:
    """Let Snakemake's scheduler go on after such failures."""
    JobScheduler._error_jobs = go_on_after(JobScheduler._error_jobs)


def go_on_after(handle_errors: Callable[[Any], None]) -> Callable[[Any], None]:
    """Wrap the function that handles jobs with an error: it also handles the jobs beside them and after them.

    Args:
        handle_errors: lets the scheduler start each job with an error again, or note it as failed.
    """
    handled = set[Any]()

    def handle(scheduler: Any) -> None:
        handle_errors(scheduler)
        new, dag = scheduler.failed - handled, scheduler.workflow.dag
        if not new:
            return
        handled.update(new)
        scheduler.workflow.async_run(_finish_successful(scheduler, set(expand_groups(new))))
        failed = [job for job in expand_groups(new) if not dag.finished(job)]
        if not failed:
            scheduler.failed -= new
            scheduler._errors = bool(scheduler.failed)
        _take_from_groups(dag, set(dag.bfs(dag.depending, *failed, stop=dag.finished)))

    return handle


async def _finish_successful(scheduler: Any, jobs: set[Any]) -> None:
    """Put back the results of the jobs that kept them, and let those begin that depend on them.

    A job that depends on another comes after it, since Snakemake sets the times of their results.
    """
    dag = scheduler.workflow.dag
    for job in itertools.chain.from_iterable(dag.toposorted(jobs)):
        with contextlib.suppress(OSError, WorkflowError, RuleException):  # the job stays failed
            if handover.restore(LOCKS / slug_of(job), list(map(Path, job.output))):
                await job.postprocess(check_output_mtime=False)
                dag.register_running({job})
                await dag.finish(job)
                scheduler.finished_jobs += 1


def _take_from_groups(dag: Any, waiting: set[Any]) -> None:
    """Make new groups without the jobs that wait for a failed one, and let those begin whose inputs are there.

    A waiting job keeps its group, which never begins; the others may have left that group after an earlier failure.
    """
    for group in {dag.get_job_group(job) for job in waiting} - {None} - dag._running - dag._ready_jobs:
        rest = frozenset(job for job in group.jobs - waiting if dag.get_job_group(job) is group)
        if rest:  # Snakemake's factory of groups would return one that others have been merged into
            smaller = GroupJob(group.groupid, rest, dag.workflow.global_resources)
            smaller.finalize()
            dag._group.update(dict.fromkeys(rest, smaller))
            dag.update_ready(rest)

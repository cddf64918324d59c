"""Repairs of faults of Snakemake: all that is set of it, each with the fault and the versions that have it.

A test shows each fault, and fails as soon as Snakemake has mended it.
"""

from __future__ import annotations

import contextlib
import signal
from typing import Any

from snakemake.persistence import PersistenceBase

DEFAULT_LIMIT = (100, 1.0)  # jobs that Snakemake starts in so many seconds, at most


def look_once(scheduler: Any) -> None:
    """Lift Snakemake's own limit of started jobs a second, so that it looks for jobs once after each job.

    The fault, of Snakemake 9.20 to 9.27 (`JobScheduler.schedule`): after each look for jobs that can start, a timer
    asks for one more look a second later, also if the limit was not reached. Each job that ends adds a look, which goes
    on for ever: after 1,000 jobs, there are 1,000 looks a second, and each weighs all jobs that are ready. No option
    turns the limit off.

    For upstream: "JobScheduler.schedule re-schedules itself after every round while a job rate limiter exists, so the
    number of rounds per second grows by one with each finished job. Proposal: call `_schedule_reevalutation` only if
    `get_free_jobs()` was the reason for not selecting a ready job."

    Args:
        scheduler: Snakemake's scheduler of a run that is about to begin; another limit than its own stays.
    """
    limit = scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == DEFAULT_LIMIT:
        scheduler.job_rate_limiter = None


def end_once() -> None:
    """Let the first Ctrl-C end a run, and ignore the next ones.

    The fault, of Snakemake 9.26 to 9.27 (`JobScheduler.schedule`): while it ends its jobs after a first Ctrl-C, a
    second one breaks that off. What follows is a traceback of asyncio, and jobs on a cluster may stay.

    For upstream: "A second SIGINT during `executor.cancel()` ends in 'RuntimeError: This event loop is already
    running'. Proposal: ignore SIGINT from the first one on, or catch KeyboardInterrupt around `cancel`."
    """

    def end(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background ignores it
        with contextlib.suppress(ValueError):  # Snakemake runs in a thread of another program
            signal.signal(signal.SIGINT, end)


def compare_with_known() -> None:
    """Let Snakemake compare a job with the last one also if the job has an output that the last one did not have.

    The fault, of Snakemake 9.20 to 9.27 (`PersistenceBase.has_metadata`): it asks for a record of every output. So a
    job that has one more output since it ran, such as weights that are to be kept from now on, is never compared: other
    settings, inputs or code re-run nothing.

    For upstream: "has_metadata is false as soon as one output has no record, although params_changed and the other
    comparisons skip such outputs. Proposal: `any` in place of `all`."
    """

    def has_metadata(self: Any, job: Any) -> bool:
        return any(self.metadata(path) is not None for path in job.output)

    PersistenceBase.has_metadata = has_metadata

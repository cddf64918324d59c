"""After a run with failures: say what failed, and make the tables and pages that wait for it, with what there is.

Their cells say `failed`. They are dated long ago, so that the next run makes them anew once it has tried the failed
jobs again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from retort.cost.jobs import PRINTING, Job, Jobs
from retort.errors import escape_controls
from retort.job.attempts import failure_reason
from retort.plan.plan import Plan
from retort.run.rehearsal.in_process import run_job
from retort.specs.config import read_config

LONG_AGO = (1, 1)  # access and modification time of what is made without some of its inputs


def failed_jobs(jobs: Jobs, targets: Iterable[str]) -> dict[str, str]:
    """Return job -> '<log of a failed job>: why it failed', for the jobs that failed and those that wait for them.

    Args:
        jobs: the jobs of the plan.
        targets: the files that the run was asked for.
    """
    reasons = dict[str, str]()
    for job in jobs.behind(targets):
        if why := failure_reason(job.key):
            reasons[job.key] = escape_controls(f"{job.key}: {why}")
        elif waits := [reasons[need.key] for path in job.inputs if (need := jobs.at(path)) and need.key in reasons]:
            reasons[job.key] = waits[0]
    return reasons


def print_what_there_is(jobs: Jobs, config: dict[str, Any], targets: list[str]) -> None:
    """Print a line for each failed job of this run; make the tables and pages that wait for one.

    Do nothing if no job has failed: the user has stopped the run.

    Args:
        jobs: the jobs of the run, as it has planned them.
        config: its configuration.
        targets: the files that it was asked for.
    """
    reasons = failed_jobs(jobs, targets)
    if not reasons:
        return
    waiting = {key for key, reason in reasons.items() if not reason.startswith(f"{key}: ")}
    failed = sorted({reasons[key] for key in reasons.keys() - waiting})
    plural = "s" * (len(failed) != 1)
    _say(f"{len(failed)} job{plural} failed; cells that need the results say 'failed', everything else is made:")
    for reason in failed:
        _say(f"  {reason}")
    not_made = {
        path: reasons[job.key]
        for job in jobs.by_key.values()
        if job.key in reasons and job.rule.name not in PRINTING
        for path in job.outputs
    }
    run_sources = {**jobs.plan.config.run_sources.model_dump(mode="json"), "failed": not_made}
    config = {**config, "companions": {}, "run_sources": run_sources}
    here = Jobs(Plan(read_config(config)))
    for job in here.behind(targets):
        if job.rule.name in PRINTING and job.key in waiting and not _make(job, config):
            _say(f"{job.key}: it could not be made, see there")


def _make(job: Job, config: dict[str, Any]) -> bool:
    """Make a table or page here, dated long ago; return whether that succeeded."""
    made = run_job(job, config)
    for path in filter(os.path.exists, job.outputs):
        os.utime(path, LONG_AGO)
    return made and all(map(Path.exists, map(Path, job.outputs)))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

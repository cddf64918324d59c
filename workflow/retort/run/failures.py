"""After a run with failures: say what failed, and make the tables and pages that wait for it, with what there is.

What failed is known from the notes that the jobs leave. What waits for it is made from the plan that the run has, by
the scripts of the same rules as in success. Its cells say `failed`. It is dated long ago, so that the next run makes it
anew once it has tried the failed jobs again.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from retort.cost.jobs import PRINTING, Job, Jobs
from retort.errors import escape_controls, explain_error, first_line
from retort.job.attempts import failure_reason
from retort.results.planned_study import kept_open
from retort.run.rehearsal.in_process import run_job

LONG_AGO = (1, 1)  # access and modification time of what is made without some of its inputs
NEEDS_ALL = {"make_table", "plot_figure"}  # kinds of rules that print nothing without one of their inputs


def failed_jobs(jobs: Jobs, targets: Iterable[str]) -> dict[str, str]:
    """Return job -> '<log of a failed job>: why it failed', for the jobs that failed and those that wait for them.

    A job stands behind those that it waits for.

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
        config: its configuration, as its jobs read it.
        targets: the files that it was asked for.
    """
    reasons = failed_jobs(jobs, targets)
    if not reasons:
        return
    own = {key for key, reason in reasons.items() if reason.startswith(f"{key}: ")}  # those that failed themselves
    failed = sorted({reasons[key] for key in own})
    plural = "s" * (len(failed) != 1)
    _say(f"{len(failed)} job{plural} failed; cells that need the results say 'failed', everything else is made:")
    for reason in failed:
        _say(f"  {reason}")
    waiting = [job for key in reasons if (job := jobs.by_key[key]).rule.name in PRINTING and key not in own]
    plan = jobs.plan
    not_made = plan.config.run_sources.failed
    for key in reasons.keys() - {job.key for job in waiting}:
        not_made.update(dict.fromkeys(jobs.by_key[key].outputs, reasons[key]))
    config = {**config, "run_sources": plan.config.run_sources.model_dump(mode="json") | {"failed": not_made}}
    with kept_open(config, plan.study):
        for job in waiting:
            missing = [path for path in job.rule.input_paths(job.wildcards) if not Path(path).exists()]
            leave_out = missing and job.rule.name in NEEDS_ALL
            if why := reasons[job.key] if leave_out else _make(job, config, missing):
                _say(f"left out: {job.key}, since {why}" if leave_out else why)
                _forget(job)
                not_made.update(dict.fromkeys(job.outputs, why))


def _make(job: Job, config: dict[str, Any], missing: list[str]) -> str:
    """Make a table or page here, dated long ago, without its missing inputs; return why it could not be made.

    What is said of it goes to its log.
    """
    try:
        Path(job.key).parent.mkdir(parents=True, exist_ok=True)
        with open(job.key, "a", encoding="utf-8") as log, contextlib.redirect_stderr(log):
            made = run_job(job, config, without=missing)
        for path in filter(os.path.exists, job.outputs):
            os.utime(path, LONG_AGO)
    except OSError as error:
        return f"{job.key}: {explain_error(error) or first_line(error)}"
    return (
        "" if made and all(map(os.path.exists, job.outputs)) else f"{job.key}: {failure_reason(job.key) or 'see there'}"
    )


def _forget(job: Job) -> None:
    """Remove what an earlier run has made of a job, so that no page shows it."""
    for path in map(Path, job.outputs):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

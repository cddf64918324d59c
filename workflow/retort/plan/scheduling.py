"""How a run is scheduled: what is made first, what is there early, and which hooks begin and end it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from snakemake.jobs import Job

# Snakemake's own, sys.maxsize, is more than the solver of its scheduler can weigh: it fails, or ignores priorities
FIRST = 100
DEFAULT_LIMIT = (100, 1.0)  # jobs that Snakemake starts in so many seconds, at most


def make_first(dag: Any, files: Iterable[str]) -> None:
    """Give some files and all that they are made from a higher priority, as `snakemake --prioritize` does.

    A Snakefile can give a rule a priority, but not the jobs behind one of its files. It has no scheduling settings
    either: Snakemake adds them after it has read the Snakefile.

    Args:
        dag: the jobs of a run that is about to begin.
        files: the paths of the files.
    """
    dag.priorityfiles.update(files)
    Job.HIGHEST_PRIORITY = FIRST
    dag.update_priority()


def start_at_once(scheduler: Any) -> None:
    """Let Snakemake start jobs as soon as they fit, unless another limit than its own was asked for.

    With its limit of 100 jobs a second, Snakemake 9.27 looks for jobs again a second after each look, and each job that
    ends adds a look a second: after 1,000 jobs, the looks take more than a core.

    Args:
        scheduler: Snakemake's scheduler of a run that is about to begin.
    """
    limit = scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == DEFAULT_LIMIT:
        scheduler.job_rate_limiter = None


def expect_early(dag: Any, rule: str) -> bool:
    """Let other jobs write the outputs of a rule before its own job replaces them, without a warning of Snakemake.

    Args:
        dag: the jobs of a run that is about to begin.
        rule: the name of the rule.

    Returns:
        Whether the run has a job of the rule.
    """
    jobs = [job for job in dag.needrun_jobs() if job.rule.name == rule]
    for job in jobs:
        dag.reason(job).missing_output.clear()
    return bool(jobs)


def run_hooks_of_module(workflow: Any) -> None:
    """Make the hooks of a Snakefile that is used as a module those of the run; Snakemake runs only the main file's."""
    hooks = workflow.globals
    workflow._onstart = lambda log: hooks["onstart"]()
    workflow._onsuccess = lambda log: hooks["onsuccess"]()
    workflow._onerror = lambda log: hooks["onerror"]()

"""How a run is scheduled: what is made first, what is there early, and which hooks begin and end it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def make_first(workflow: Any, files: Iterable[str]) -> None:
    """Give some files and all that they are made from the highest priority, as `snakemake --prioritize` does.

    A Snakefile can give a rule a priority, but not the jobs behind one of its files.

    Args:
        workflow: Snakemake's workflow; a job on another machine has no scheduling settings.
        files: the paths of the files.
    """
    settings = workflow.scheduling_settings
    if settings is not None:
        settings.prioritytargets = frozenset({*settings.prioritytargets, *files})


def expect_early(dag: Any, rule: str) -> None:
    """Let other jobs write the outputs of a rule before its own job replaces them, without a warning of Snakemake.

    Args:
        dag: the jobs of a run that is about to begin.
        rule: the name of the rule.
    """
    for job in dag.needrun_jobs():
        if job.rule.name == rule:
            dag.reason(job).missing_output.clear()


def run_hooks_of_module(workflow: Any) -> None:
    """Make the hooks of a Snakefile that is used as a module those of the run; Snakemake runs only the main file's."""
    hooks = workflow.globals
    workflow._onstart = lambda log: hooks["onstart"]()
    workflow._onsuccess = lambda log: hooks["onsuccess"]()
    workflow._onerror = lambda log: hooks["onerror"]()

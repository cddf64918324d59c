"""Names of jobs: for the terminal, and for the files that belong to a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def shown(rule: str, wildcards: Iterable[Any]) -> str:
    """Return a job's name for the terminal: 'rule(wildcard, ...)', as in 'finetune_student(kd, rte, 1)'."""
    values = ", ".join(map(str, wildcards))
    return rule + (f"({values})" if values else "")


def slug(rule: str, wildcards: Iterable[Any]) -> str:
    """Return the name of a job's files: 'rule.wildcard...', as in 'finetune_student.kd.movies.1'."""
    return ".".join([rule, *map(str, wildcards)])


def slug_of(job: Any) -> str:
    """Return the slug of a job of Snakemake's plan."""
    return slug(job.rule.name, job.wildcards)


def expand_groups(jobs: Iterable[Any]) -> Iterator[Any]:
    """Yield jobs of Snakemake's plan, and the members of a group in place of the group."""
    for job in jobs:
        yield from job.jobs if job.is_group() else [job]

"""The first line of the script of every rule: it imports little, for a job that a fork runs ends here."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from retort.job import forkserver

if TYPE_CHECKING:
    from retort.job.context import RunningJob


def job(snakemake: Any) -> AbstractContextManager[RunningJob]:
    """Return the context of a job, unless a server of forks takes it over; this process then ends as the fork does."""
    forkserver.hand_over()
    from retort.job import context

    return context.job(snakemake)


def download(snakemake: Any) -> AbstractContextManager[RunningJob]:
    """Return the context of a job that downloads: it alone sees access tokens, in a process of its own."""
    from retort.job import context

    return context.job(snakemake, hidden=())

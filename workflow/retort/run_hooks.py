"""What the Snakefile does around the jobs of a run: before it is planned, when it starts, and at its end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from retort import forkserver, handover
from retort.attempts import LOCKS
from retort.checksums import RESULTS, TIMESTAMP
from retort.job_names import slug_of
from retort.jobs import STAMPS, TOKENS

FEW = 3  # jobs for which a server would cost more than it saves


def start_forkserver(jobs: int) -> None:
    """Start a server that forks the jobs of this run, unless they are too few to pay for it."""
    if jobs > FEW:
        forkserver.start(_environment(), forkserver.PRELOADED)


def start_forkserver_on_node(jobs: int) -> None:
    """Start a server that forks the jobs that share this Slurm job, if it has several: most of them train."""
    if jobs > 1:
        forkserver.start(_environment(), forkserver.ON_NODES)


def _environment() -> dict[str, str]:
    """Return the environment variables of a server."""
    kept = {name: value for name, value in os.environ.items() if name not in TOKENS}
    # numpy's threads would not survive a fork; the hub's library reads its variable when it is imported
    return kept | {"OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def share_package() -> None:
    """Add this package to PYTHONPATH, so that jobs find it in environments where it is not installed."""
    package = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))


def remove_activations() -> None:
    """Delete the recorded activations; the folders stay, so that Snakemake does not record them anew for nobody."""
    for path in RESULTS.glob("activations/*/*/*"):
        if path.name != TIMESTAMP:
            path.unlink()


def keep_going() -> None:
    """Make the process that runs the jobs of a Slurm job go on after a failure, as `--keep-going` does."""
    from snakemake.scheduling.job_scheduler import JobScheduler

    JobScheduler.keepgoing = property(lambda scheduler: True, lambda scheduler, value: None)


def remove_kept_results(dag: Any) -> None:
    """Delete what jobs kept for another attempt; after a run without failures all results are in their places."""
    for job in dag.jobs:
        handover.forget(LOCKS / slug_of(job))


def ignore_script_times() -> None:
    """Make Snakemake plan no job because a script is newer than a result: a fresh clone makes all of them newer.

    Scripts only translate, and a change of meaning raises a version, which is in the params. `--rerun-triggers mtime
    params input software-env` says the same, but a Snakefile cannot set it.
    """
    import snakemake.jobs

    snakemake.jobs.get_script_mtime = lambda path: 0.0


def ignore_stamps() -> None:
    """Make Snakemake plan no job because a stamp joins its inputs or leaves them: a finished job waits for none.

    Snakemake runs a job again when the set of its inputs has changed. `ancient` would not help: a job that runs hides
    the changes of all jobs behind an edge that is `ancient`.
    """
    from snakemake.persistence import PersistenceBase

    inputs = PersistenceBase._input
    PersistenceBase._input = lambda self, job: [path for path in inputs(self, job) if Path(path).parent != STAMPS]

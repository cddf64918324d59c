"""What the Snakefile does around the jobs of a run: before it is planned, at its start and at its end."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from retort import forkserver, handover, signals
from retort.attempts import LOCKS
from retort.checksums import RESULTS, TIMESTAMP
from retort.job_names import slug_of
from retort.jobs import STAMPS, TOKENS

FEW = 3  # jobs: the start of a server would take longer than it saves


def start_forkserver(jobs: int) -> None:
    """Start a server that forks the jobs of this run, unless they are too few."""
    if jobs > FEW:
        forkserver.start(_server_environment(), forkserver.PRELOADED)


def start_forkserver_on_node(jobs: int) -> None:
    """Start a server that forks the jobs that share this Slurm job, if there are several."""
    if jobs > 1:
        forkserver.start(_server_environment(), forkserver.ON_NODES)


def _server_environment() -> dict[str, str]:
    """Return the environment variables of a server: this process's without tokens, and settings of libraries."""
    kept = {name: value for name, value in os.environ.items() if name not in TOKENS}
    # numpy's threads would not survive a fork; the hub's library reads its variable when it is imported
    return kept | {"OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def share_package() -> None:
    """Add this package to PYTHONPATH, so that jobs also find it in environments where it is not installed."""
    package = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))


def remove_activations() -> None:
    """Delete the recorded activations, but keep their folders: without them, Snakemake would record again."""
    for path in RESULTS.glob("activations/*/*/*"):
        if path.name != TIMESTAMP:
            path.unlink()


def keep_going() -> None:
    """Make the process that runs the jobs of a Slurm job go on after a failure, as `--keep-going` does."""
    from snakemake.scheduling.job_scheduler import JobScheduler

    JobScheduler.keepgoing = property(lambda scheduler: True, lambda scheduler, value: None)


def pass_signals_on() -> None:
    """Make the process that runs the jobs of a Slurm job send its signals on to them.

    Where Slurm tracks processes by cgroups (ProctrackType=proctrack/cgroup), it signals only the first process of a
    step, this one; all others get nothing but SIGKILL.
    """
    from snakemake.scheduling.job_scheduler import JobScheduler

    signal.signal(signals.AHEAD_OF_LIMIT, signals.pass_on)
    end = JobScheduler.exit_gracefully  # on SIGTERM

    def pass_on_and_end(scheduler: Any, *arguments: Any) -> None:
        signals.pass_on(signal.SIGTERM)
        end(scheduler, *arguments)

    JobScheduler.exit_gracefully = pass_on_and_end


def remove_kept_results(dag: Any) -> None:
    """Delete the results that jobs kept for another attempt: after a run without failures, nobody needs them."""
    for job in dag.jobs:
        handover.forget(LOCKS / slug_of(job))


def ignore_script_times() -> None:
    """Keep Snakemake from re-running a job because its script is newer than its result, as all are in a fresh clone.

    Scripts only pass arguments on, and a change of meaning raises a version, which is in the params. The option
    `--rerun-triggers mtime params input software-env` does the same, but a Snakefile cannot set it.
    """
    import snakemake.jobs

    snakemake.jobs.get_script_mtime = lambda path: 0.0


def ignore_stamps() -> None:
    """Keep Snakemake from re-running a job because stamps were added to its inputs or removed from them.

    Snakemake runs a job again when the set of its inputs has changed, and a finished job has no stamps to wait for.
    `ancient` would not help: behind an `ancient` input, Snakemake does not see what else has changed.
    """
    from snakemake.persistence import PersistenceBase

    inputs = PersistenceBase._input
    PersistenceBase._input = lambda self, job: [path for path in inputs(self, job) if Path(path).parent != STAMPS]

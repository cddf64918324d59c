"""What a job asks of the Slurm that runs it, by Slurm's own commands."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator

# states in which no process of a job is left; that of a lost node is none of them, as the node may only be out of reach
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}
END = 120.0  # seconds within which Slurm ends a job that it queues again


def job_id() -> str:
    """Return the id of the Slurm job to which this process belongs; empty outside Slurm."""
    return os.environ.get("SLURM_JOB_ID", "")


def cluster() -> str:
    """Return the name of the cluster whose Slurm runs this process; empty outside Slurm."""
    return os.environ.get("SLURM_CLUSTER_NAME", "")


def has_ended(job: str, ours: bool = True) -> bool:
    """Return whether Slurm says that a job has ended, or does not know it any more; False if it gives no answer.

    Args:
        job: its id.
        ours: whether this account submitted it. Slurm may keep the jobs of others private (PrivateData): it then
            answers as for a job that it does not know.
    """
    states = states_of([job])
    if not states:
        return ours and states is not None
    return all(state in ENDED for state in states.values())


def states_of(jobs: Iterable[str]) -> dict[str, str] | None:
    """Return the states of those jobs that Slurm knows, also of some that have ended; None if it gives no answer.

    Slurm knows a job for MinJobAge seconds after its end.

    Args:
        jobs: the ids of the jobs, at least one.
    """
    ids = list(jobs)
    command = ["squeue", "--noheader", "--states=all", "--format=%i %T", "--jobs", ",".join(ids)]
    # variables such as SQUEUE_PARTITION would leave out jobs
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:  # of several ids it leaves out those that it does not know; for a single one that is an error
        return {} if "Invalid job id" in done.stderr else None
    states = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip())
    return states if states or len(ids) > 1 else None


def queue_again(after: str = "") -> bool:
    """Queue the job of this process again under its id, so that whoever waits for it waits on; wait for its end.

    Args:
        after: the id of another job, after whose end this one may start; empty to start as soon as there is room.

    Returns:
        False if Slurm refuses, or if there is none. If it agrees, it ends this process, and nothing is returned.
    """
    own = job_id()
    if not own:
        return False
    with _ignoring_sigterm():
        if not _scontrol("requeue", own):
            return False
        if after:  # not before: Slurm changes no dependency of a job at work
            _scontrol("update", f"JobId={own}", f"Dependency=afterany:{after}")
        time.sleep(END)
    return False


@contextlib.contextmanager
def _ignoring_sigterm() -> Iterator[None]:
    """Ignore the signal with which Slurm begins to end a job; one that cannot be ignored follows some seconds later."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _scontrol(*arguments: str) -> bool:
    """Run a command of scontrol; print what it says if it fails."""
    try:
        done = subprocess.run(["scontrol", *arguments], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"scontrol {' '.join(arguments)}: {error}", file=sys.stderr, flush=True)
        return False
    if done.returncode:
        print(f"scontrol {' '.join(arguments)}: {done.stderr.strip()}", file=sys.stderr, flush=True)
    return done.returncode == 0

"""Ask Slurm about jobs, and queue jobs again, by Slurm's own commands."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator

# states in which no process of a job is left; not NODE_FAIL, as the node may live and only be out of reach
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}
END = 120.0  # seconds within which Slurm ends a job that it queues again


def job_id() -> str:
    """Return the id of the Slurm job to which this process belongs; empty outside Slurm."""
    return os.environ.get("SLURM_JOB_ID", "")


def cluster() -> str:
    """Return the name of the cluster whose Slurm runs this process; empty outside Slurm."""
    return os.environ.get("SLURM_CLUSTER_NAME", "")


def has_ended(job: str, ours: bool = True) -> bool:
    """Return whether a job has ended or is unknown to Slurm; False if Slurm does not answer.

    Args:
        job: the id of the job.
        ours: whether this user account submitted it. Jobs of others may be private (PrivateData), and then look
            unknown: for them, unknown does not count as ended.
    """
    states = states_of([job])
    if not states:
        return ours and states is not None
    return all(state in ENDED for state in states.values())


def states_of(jobs: Iterable[str]) -> dict[str, str] | None:
    """Return job id -> state for the jobs that Slurm knows; None if Slurm does not answer.

    Slurm knows a job until MinJobAge seconds after its end.

    Args:
        jobs: the ids of the jobs, at least one.
    """
    ids = list(jobs)
    command = ["squeue", "--noheader", "--states=all", "--format=%i %T", "--jobs", ",".join(ids)]
    # variables such as SQUEUE_PARTITION would filter the jobs
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:  # squeue skips an unknown id among several ids; a single unknown id is an error
        return {} if "Invalid job id" in done.stderr else None
    states = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip())
    return states if states or len(ids) > 1 else None


def queue_again(after: str = "") -> bool:
    """Queue this process's Slurm job again, under the same id, so that those who wait for the job go on waiting.

    Args:
        after: the id of another job that must end before this one may start; empty for none.

    Returns:
        False if Slurm refuses, or outside Slurm. If Slurm agrees, it ends this process, and nothing is returned.
    """
    own = job_id()
    if not own:
        return False
    with _ignoring_sigterm():
        if not _scontrol("requeue", own):
            return False
        if after:  # only now: Slurm changes no dependency of a running job
            _scontrol("update", f"JobId={own}", f"Dependency=afterany:{after}")
        time.sleep(END)  # until Slurm ends this process
    return False


@contextlib.contextmanager
def _ignoring_sigterm() -> Iterator[None]:
    """Ignore SIGTERM, with which Slurm begins to end a job; SIGKILL follows some seconds later."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _scontrol(*arguments: str) -> bool:
    """Run a scontrol command and return whether it succeeded; print its error if not."""
    try:
        done = subprocess.run(["scontrol", *arguments], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"scontrol {' '.join(arguments)}: {error}", file=sys.stderr, flush=True)
        return False
    if done.returncode:
        print(f"scontrol {' '.join(arguments)}: {done.stderr.strip()}", file=sys.stderr, flush=True)
    return done.returncode == 0

"""Ask Slurm about jobs, and queue a job again, by Slurm's own commands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

UNKNOWN = "UNKNOWN"  # the state of a job that Slurm does not know
LOST = frozenset(("NODE_FAIL", "PREEMPTED"))  # states of a job that Slurm may queue again; the node may still live
# states in which no process of a job is left
ENDED = frozenset(("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"))


def job_id() -> str:
    """Return the id of the Slurm job to which this process belongs; empty outside Slurm."""
    return os.environ.get("SLURM_JOB_ID", "")


def end_time() -> float | None:
    """Return when Slurm ends this process's job, in the seconds of `time.time`; None if that is unknown."""
    if not job_id():
        return None
    # Slurm before 23.02 does not set the variable
    end = os.environ.get("SLURM_JOB_END_TIME") or _ask("squeue", "--noheader", f"--jobs={job_id()}", "--format=%e")
    return float(end) if end and end.strip().isdigit() else None


def requeue() -> bool:
    """Queue this process's job again under the same id; Slurm then ends the process. Return False if it refuses."""
    return bool(job_id()) and _ask("scontrol", "requeue", job_id(), errors=None) is not None


def cancel(name: str, everywhere: bool = False) -> bool:
    """End all jobs of a name, as `states` knows them; return False if Slurm does not answer."""
    return _ask("scancel", f"--name={name}", *(["--clusters=all"] if everywhere else [])) is not None


def word(state: str) -> str:
    """Return the first word of a state, without who cancelled the job and the reason."""
    return state.partition(" ")[0]


def states(name: str, jobs: Iterable[str], everywhere: bool = False) -> dict[str, str] | None:
    """Return job id -> state, which a reason may follow; None if Slurm does not answer.

    A job is known by its name and its id, because a Slurm that lost its records gives the same ids again.

    Args:
        name: the name of the jobs.
        jobs: their ids.
        everywhere: whether they may be on another cluster than this one.
    """
    rows = _table("squeue", name, everywhere, "--states=all", "--format=%i|%T|%r")
    if rows is None:
        return None
    found, listed = dict.fromkeys(jobs, UNKNOWN), _with_reasons(rows)
    if forgotten := [job for job in found if job not in listed]:
        asked = (f"--jobs={','.join(forgotten)}", "--format=JobIDRaw,State,Reason")
        recorded = _with_reasons(_table("sacct", name, everywhere, "--allocations", "--parsable2", *asked) or [])
        # the database may take a job that Slurm lost for one that runs
        listed |= {job: state for job, state in recorded.items() if word(state) in ENDED | LOST}
    return found | {job: state for job, state in listed.items() if job in found}


def find(name: str, comment: str, everywhere: bool = False) -> list[str] | None:
    """Return the ids of the jobs with a name and a comment, as `states` knows them; None if Slurm does not answer."""
    listed = _table("squeue", name, everywhere, "--states=all", "--format=%i|%T|%k")
    if listed is None:
        return None
    asked = ("--allocations", "--parsable2", "--starttime=now-1days", "--format=JobIDRaw,State,Comment")
    recorded = _table("sacct", name, everywhere, *asked) or []  # not every database keeps comments
    return list(dict.fromkeys(job for job, _, noted in listed + recorded if noted == comment))


def _with_reasons(rows: list[list[str]]) -> dict[str, str]:
    """Return job id -> state, which a reason may follow."""
    return {job: state if reason in ("", "None") else f"{state} ({reason})" for job, state, reason in rows}


def _table(command: str, name: str, everywhere: bool, *asked: str) -> list[list[str]] | None:
    """Return the three values that a command prints of each job with a name; None if it fails."""
    answer = _ask(command, "--noheader", f"--name={name}", *(["--clusters=all"] if everywhere else []), *asked)
    return None if answer is None else [line.split("|") for line in answer.splitlines() if line.count("|") == 2]


def _ask(*command: str, errors: int | None = subprocess.DEVNULL) -> str | None:
    """Return what a command of Slurm prints; None if it fails or takes a minute."""
    # variables such as SQUEUE_PARTITION would leave out jobs
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    variables = kept | {"SLURM_TIME_FORMAT": "%s"}
    try:
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, check=True, timeout=60, env=variables
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None

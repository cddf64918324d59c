"""Run the jobs of a plan in this process, so that nothing is imported twice and a short training takes little time.

A file notes what each job was made from when it ran. So a rehearsal that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort import machine
from retort.checksums import digest_of
from retort.cost.jobs import Job
from retort.rehearsal.in_process import described_paths, params_of, run_job

NOTES = Path("results/rehearsed.txt")  # lines '<digest> <job>'; the last line of a job counts
UNFINISHED = "-"  # the digest of a job that has begun


@dataclass(frozen=True)
class Ran:
    """A job that has run.

    Args:
        job: the job.
        seconds: its CPU time.
        peak: the peak memory of the process during the job, in MB; without /proc, the peak since the process began.
        failed: whether it failed.
    """

    job: Job
    seconds: float
    peak: float
    failed: bool


def run(jobs: Iterable[Job], config: dict[str, Any]) -> Iterator[Ran | None]:
    """Run jobs, and yield what each took; None for a job that was done already, and one whose inputs are not there.

    Args:
        jobs: the jobs, each after those that it depends on.
        config: the configuration that their scripts read.
    """
    notes, lost = _read_notes(), set[str]()
    for job in jobs:
        outputs = described_paths(job)
        if lost.intersection(job.needs):
            lost.update(outputs)
            yield None
        elif notes.get(job.key) == (origin := _origin(job)) and all(map(os.path.exists, outputs)):
            yield None
        else:
            _note(job, UNFINISHED)
            ran = _run(job, outputs, config)
            lost.update(outputs if ran.failed else ())
            _note(job, UNFINISHED if ran.failed else origin)
            yield ran


def _run(job: Job, outputs: list[str], config: dict[str, Any]) -> Ran:
    """Run a job, with its standard error in its log."""
    for path in outputs:
        _remove(Path(path))
    gc.collect()  # models have reference cycles
    gc.freeze()  # leave imported modules out of later collections, which would take a second each
    machine.reset_max_rss()
    begun = time.process_time()
    Path(job.key).parent.mkdir(parents=True, exist_ok=True)
    with open(job.key, "a", encoding="utf-8") as log, contextlib.redirect_stderr(log):
        made = run_job(job, config) and all(map(os.path.exists, outputs))
    return Ran(job, time.process_time() - begun, machine.max_rss_mb(), not made)


def _remove(path: Path) -> None:
    """Remove an output of an earlier run of a job: a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _origin(job: Job) -> str:
    """Return a digest of what a job is made from: its params, and the times of change of its inputs."""
    times = {str(path): path.stat().st_mtime_ns for path in map(Path, job.needs) if path.exists()}
    return digest_of([params_of(job), times])


def _read_notes() -> dict[str, str]:
    """Return job -> digest of what it was made from."""
    lines = NOTES.read_text(encoding="utf-8").splitlines() if NOTES.is_file() else []
    return {key: digest for digest, _, key in (line.partition(" ") for line in lines)}


def _note(job: Job, digest: str) -> None:
    """Note what a job was made from; a line that is cut off when the process is killed counts for no job."""
    with open(NOTES, "a", encoding="utf-8") as stream:
        stream.write(f"{digest} {job.key}\n")

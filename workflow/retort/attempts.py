"""Count the attempts of a run at a job, and give a job up that fails twice without progress.

Snakemake attempts a job again (`retries`). So does Slurm, which queues a job again at its time limit, after the loss of
a node and after a preemption. There is no limit while its trainings make progress. A lost node or a preemption does not
count as a failure: it ends the job without an error, and the job keeps its Slurm id.

How an attempt ended also tells whether the next one needs more RAM, or fewer rows at once on the GPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from retort import slurm
from retort.atomic import remove_leftovers, write_text
from retort.errors import RetortError, first_line, lines_of
from retort.signals import Interrupted

RUN = "RETORT_RUN_STARTED"  # the environment variable with the unique name of this run of Snakemake
LATEST = Path("results/runs/latest")  # the file that names the latest run
LOST = Path("results/runs/lost")  # the folder with an empty file for each Slurm job of the latest run that was lost
LOCKS = Path("results/.locks")  # the folder with the locks of jobs and the records of their attempts
WAITING = ".waiting"  # suffix of a folder in LOCKS with a file for each Slurm job that waits for a lock
CHECKPOINTS = Path("results/checkpoints")  # the parent of the jobs' checkpoint folders
# rule -> rule for which it trains: a job of the first makes the last checkpoints for the jobs that its settings name
TRAINS_FOR = {"distill_together": "distill_student"}
MAX_FAILURES = 2  # without progress
KILLED = "it was killed: for want of memory or of time, or by someone"
# error messages of torch, Python and the system about too little GPU memory or RAM
GPU_TOO_SMALL = re.compile(r"(CUDA|HIP)\b.*out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED")
RAM_TOO_SMALL = re.compile(r"\bMemoryError|an(no|')t allocate memory|Unable to allocate|malloc of size|SIGKILL|Killed")


class GivenUp(RetortError):
    """A job failed too often without progress."""


@dataclass(frozen=True)
class Attempt:
    """The latest attempt at a job.

    Args:
        run: the name of the run of Snakemake, from the environment variable `RUN`.
        slurm_job: the id of the Slurm job; empty outside Slurm.
        position: how far the job's trainings were when the attempt began, see `position`.
        failures: number of earlier attempts that failed at this position.
        reason: why the attempt failed; empty while it runs, and also if it was killed.
        ram: number of earlier attempts of this run that may have ended for lack of RAM.
        gpu_memory: number of earlier attempts that ended for lack of GPU memory.
    """

    run: str
    slurm_job: str
    position: str
    failures: int = 0
    reason: str = ""
    ram: int = 0
    gpu_memory: int = 0

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read an attempt from a file; return None if the file is missing or damaged."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, path: Path) -> None:
        """Write the attempt to a file, atomically."""
        write_text(path, json.dumps(asdict(self)) + "\n")

    def failures_before(self, new: Attempt) -> int:
        """Return how many attempts before a new one failed at its position, this one included."""
        if (self.run, self.position) != (new.run, new.position):
            return 0
        return self.failures + (not self._was_lost_before(new))

    def short_of_ram_before(self, new: Attempt) -> int:
        """Return how many attempts before a new one may have ended for lack of RAM, this one included.

        One that was killed may have, unless it made progress or Slurm queued it again.
        """
        if self.run != new.run:
            return 0
        was_killed = not self.reason and self.position == new.position and not self._was_lost_before(new)
        return self.ram + (was_killed or bool(RAM_TOO_SMALL.search(self.reason)))

    def short_of_gpu_memory_before(self, new: Attempt) -> int:
        """Return how many attempts before a new one ended for lack of GPU memory, this one included.

        Attempts of an earlier run count if the new one goes on with its training.
        """
        if self.run != new.run and not new.position.strip("0. "):
            return 0
        return self.gpu_memory + bool(GPU_TOO_SMALL.search(self.reason))

    def _was_lost_before(self, new: Attempt) -> bool:
        """Return whether this attempt lost its node or was preempted.

        If Slurm, and not Snakemake, started the new attempt, both have the same Slurm id. Else the id is noted.
        """
        if not self.slurm_job:
            return False
        return (not self.reason and self.slurm_job == new.slurm_job) or (LOST / self.slurm_job).exists()


def note_lost(slurm_job: str) -> None:
    """Note that a Slurm job lost its node or was preempted, and that Slurm does not queue it again."""
    LOST.mkdir(parents=True, exist_ok=True)
    (LOST / slurm_job).touch()


def begin_run() -> None:
    """Give this run of Snakemake a unique name; set it in the environment, for the jobs, and write it to `LATEST`."""
    shutil.rmtree(LOST, ignore_errors=True)
    os.environ[RUN] = f"{time.time_ns()}-{os.getpid()}"
    write_text(LATEST, os.environ[RUN])
    for folder in (LATEST.parent, LOCKS):
        remove_leftovers(folder)
    for folder in LOCKS.glob(f"*{WAITING}"):  # jobs of older runs end when they have waited, without any work
        shutil.rmtree(folder, ignore_errors=True)


def is_latest_run() -> bool:
    """Return whether the run of this job is the latest; another Snakemake may have begun a run since."""
    try:
        return LATEST.read_text(encoding="utf-8") == os.environ.get(RUN, "")
    except (OSError, ValueError):  # the file is missing or damaged, so no later run is known
        return True


@contextlib.contextmanager
def attempt(path: Path, checkpoints: Iterable[Path]) -> Iterator[None]:
    """Count the block as an attempt at a job.

    Args:
        path: the file that holds the latest attempt; it is deleted when the job has succeeded.
        checkpoints: the folders of the checkpoints that the job writes, which show its progress.

    Raises:
        GivenUp: the job failed twice in this run without progress.
    """
    begun = _begin(path, _positions(checkpoints))
    try:
        yield
    except Exception as error:
        with contextlib.suppress(OSError):  # the disk may be full
            replace(begun, reason=reason_of(error)).write(path)
        raise
    path.unlink(missing_ok=True)


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, and the line that says that the GPU's memory was too small.

    That line is a later one where an error names where it was caught, as those of NCCL and of worker threads do.
    """
    first = first_line(error)
    telling = next(filter(GPU_TOO_SMALL.search, lines_of(error)), first)
    return first if telling == first else f"{first} {telling}"


def _begin(path: Path, here: str) -> Attempt:
    """Write down and return an attempt that begins at a position; raise `GivenUp` if there were too many failures."""
    old = Attempt.read(path) if os.environ.get(RUN) else None
    begun = _new_attempt(old, here)
    if begun.failures >= MAX_FAILURES:
        reason = (old and old.reason) or KILLED
        raise GivenUp(f"given up after {begun.failures} failures without a step forward; the last one: {reason}")
    begun.write(path)
    return begun


def _new_attempt(old: Attempt | None, here: str) -> Attempt:
    """Return an attempt that begins at a position; its counts follow from the latest attempt."""
    new = Attempt(os.environ.get(RUN, ""), slurm.job_id(), here)
    if old is None:
        return new
    return replace(
        new,
        failures=old.failures_before(new),
        ram=old.short_of_ram_before(new),
        gpu_memory=old.short_of_gpu_memory_before(new),
    )


def counts_as_done(rule: str, error: Exception) -> bool:
    """Return whether a failed job counts as done, because the jobs for which it trains can do the rest.

    So a student that cannot be trained does not stop its companions: each goes on alone, and only that student fails.
    On Slurm, the node may be the cause: the job fails and is started again, until it is given up. Elsewhere it counts
    as done at the first error.

    Args:
        rule: the rule of the job.
        error: the error that ended the job.
    """
    if rule not in TRAINS_FOR or isinstance(error, Interrupted):
        return False
    return isinstance(error, GivenUp) or not slurm.job_id()


def latest_failure(path: Path, checkpoints: Iterable[Path]) -> Attempt | None:
    """Return the latest attempt of this run at a job that failed, with the failures at the job's present position.

    Args:
        path: the file that holds the latest attempt.
        checkpoints: the folders of the checkpoints that the job writes.

    Returns:
        The attempt; None if there is none, or the job has succeeded.
    """
    latest, here = Attempt.read(path), Attempt(os.environ.get(RUN, ""), "", _positions(checkpoints))
    if latest is None or latest.run != here.run:
        return None
    return replace(latest, failures=latest.failures_before(here))


def file_of(slug: str) -> Path:
    """Return the file that holds the latest attempt at the job with this slug."""
    return LOCKS / f"{slug}.attempt"


def next_attempt(path: Path, checkpoints: Iterable[Path]) -> Attempt:
    """Return the attempt at a job that would begin now; its `ram` and `gpu_memory` say how much memory it needs.

    The process that plans the job and the process that runs it get the same.

    Args:
        path: the file that holds the latest attempt.
        checkpoints: the folders of the checkpoints that the job writes.
    """
    old = Attempt.read(path)
    # without an old attempt, the position is not needed: most of thousands of jobs have none
    return _new_attempt(old, _positions(checkpoints) if old else "")


def checkpoint_folders(rule: str, slug: str, settings: Iterable[str]) -> list[Path]:
    """Return the folders of the checkpoints that a job writes: its own, and those of the jobs for which it trains.

    Args:
        rule: the rule of the job.
        slug: the slug of the job.
        settings: the keys of its settings, which name the jobs for which it trains.
    """
    others = [f"{TRAINS_FOR[rule]}.{name}" for name in settings] if rule in TRAINS_FOR else []
    return [CHECKPOINTS / each for each in (slug, *others)]


def _positions(checkpoints: Iterable[Path]) -> str:
    return " ".join(map(position, checkpoints))


def position(checkpoints: Path) -> str:
    """Return the progress of a job as 'n.r.s': n trainings have finished, and the state is of training r, step s."""
    try:
        header = json.loads((checkpoints / "state.json").read_text(encoding="utf-8"))
        state = f"{header['run']}.{header['step']}"
    except (OSError, ValueError, KeyError, TypeError):
        state = "0.0"
    try:
        notes = len((checkpoints / "notes.jsonl").read_bytes().splitlines())
    except OSError:
        notes = 0
    return f"{notes}.{state}"

"""The attempts of a run at a job: one that fails twice without a step forward is given up.

A job is attempted again by Snakemake (`retries`), or by Slurm, which queues it again at its limit, after the loss of a
node and after a preemption. As long as its trainings get further, that may go on. A lost node and a preemption end a
job without a word and keep its Slurm id; they count as no failure.

How an attempt ended also says whether the next one needs more memory, or a GPU that holds fewer rows at once.
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
from retort.errors import RetortError, first_line
from retort.signals import Interrupted

RUN = "RETORT_RUN_STARTED"  # the environment variable that tells a run of Snakemake from all others
LATEST = Path("results/runs/latest")  # the file that names the latest run
LOCKS = Path("results/.locks")  # the folder of the locks of jobs, and of what is known of their attempts
WAITING = ".waiting"  # ending of a folder there with a file for each Slurm job that waits for a lock
CHECKPOINTS = Path("results/checkpoints")  # the folder of the folders with the checkpoints of jobs
# a rule whose jobs train for jobs of another one, each up to its last checkpoint: those that its settings name
TRAINS_FOR = {"distill_together": "distill_student"}
MOST = 2  # failures without a step forward
KILLED = "it was killed: for want of memory or of time, or by someone"
# how errors begin that say that a GPU's memory, or the RAM, was too small: those of torch, of Python and of the system
GPU_TOO_SMALL = re.compile(r"(CUDA|HIP)\b.*out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED")
RAM_TOO_SMALL = re.compile(r"\bMemoryError|an(no|')t allocate memory|Unable to allocate|malloc of size|SIGKILL|Killed")


class GivenUp(RetortError):
    """A job failed too often without a step forward."""


@dataclass(frozen=True)
class Attempt:
    """The latest attempt at a job.

    Args:
        run: the run of Snakemake, as its environment names it.
        slurm_job: the id of the Slurm job; empty outside Slurm.
        position: how far the job's trainings had got when it began.
        failures: how many attempts before it failed at this position.
        reason: why it failed; empty while it is at work, and for ever if it was killed.
        ram: how many attempts of this run before it may have ended for want of RAM.
        gpu_memory: how many attempts before it ended for want of a GPU's memory.
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
        """Return the attempt that a file holds; None if it holds none."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, path: Path) -> None:
        """Write the attempt to a file, atomically."""
        write_text(path, json.dumps(asdict(self)) + "\n")

    def failures_before(self, new: Attempt) -> int:
        """Return how many attempts failed at the position of a new one, this one included."""
        if (self.run, self.position) != (new.run, new.position):
            return 0
        was_lost = not self.reason and self._in_slurm_job_of(new)
        return self.failures + (not was_lost)

    def short_of_ram_before(self, new: Attempt) -> int:
        """Return how many attempts may have ended for want of RAM before a new one, this one included.

        One that was killed may have, unless it had got further, or Slurm has queued it again.
        """
        if self.run != new.run:
            return 0
        was_killed = not self.reason and self.position == new.position and not self._in_slurm_job_of(new)
        return self.ram + (was_killed or bool(RAM_TOO_SMALL.search(self.reason)))

    def short_of_gpu_memory_before(self, new: Attempt) -> int:
        """Return how many attempts ended for want of a GPU's memory before a new one, this one included.

        Those of a run before count as long as its training goes on.
        """
        if self.run != new.run and not new.position.strip("0. "):
            return 0
        return self.gpu_memory + bool(GPU_TOO_SMALL.search(self.reason))

    def _in_slurm_job_of(self, new: Attempt) -> bool:
        """Return whether Slurm has queued the job again for a new attempt, which is none of Snakemake's."""
        return bool(self.slurm_job) and self.slurm_job == new.slurm_job


def begin_run() -> None:
    """Give this run of Snakemake a name of its own, which its jobs have in their environment, and write it down."""
    os.environ[RUN] = f"{time.time_ns()}-{os.getpid()}"
    write_text(LATEST, os.environ[RUN])
    for folder in (LATEST.parent, LOCKS):
        remove_leftovers(folder)
    for folder in LOCKS.glob(f"*{WAITING}"):  # what waits in an older run ends without the work
        shutil.rmtree(folder, ignore_errors=True)


def of_latest_run() -> bool:
    """Return whether the run of this job is the latest; another Snakemake may have begun a run since."""
    try:
        return LATEST.read_text(encoding="utf-8") == os.environ.get(RUN, "")
    except (OSError, ValueError):  # it is gone, or damaged: it names no other run
        return True


@contextlib.contextmanager
def attempt(path: Path, checkpoints: Iterable[Path]) -> Iterator[None]:
    """Count the attempt at a job that the block is.

    Args:
        path: the file that holds the latest attempt; it is gone when the job has succeeded.
        checkpoints: the folders of the checkpoints that the job writes, which say how far it has got.

    Raises:
        GivenUp: the job failed twice in this run without a step forward.
    """
    begun = _begin(path, _positions(checkpoints))
    try:
        yield
    except Exception as error:
        with contextlib.suppress(OSError):  # the disk may be full
            replace(begun, reason=first_line(error)).write(path)
        raise
    path.unlink(missing_ok=True)


def _begin(path: Path, here: str) -> Attempt:
    """Note that an attempt begins at a position, and return it; raise an error if it is one too many."""
    old = Attempt.read(path) if os.environ.get(RUN) else None
    begun = _after(old, here)
    if begun.failures >= MOST:
        reason = (old and old.reason) or KILLED
        raise GivenUp(f"given up after {begun.failures} failures without a step forward; the last one: {reason}")
    begun.write(path)
    return begun


def _after(old: Attempt | None, here: str) -> Attempt:
    """Return an attempt that begins at a position, with what is known of those before it."""
    new = Attempt(os.environ.get(RUN, ""), slurm.job_id(), here)
    if old is None:
        return new
    return replace(
        new,
        failures=old.failures_before(new),
        ram=old.short_of_ram_before(new),
        gpu_memory=old.short_of_gpu_memory_before(new),
    )


def leaves_the_rest(rule: str, error: Exception) -> bool:
    """Return whether a failed job counts as done, because the jobs for which it trains can do all that is left.

    So one student that cannot be trained costs its companions no result: each goes on alone, and only that one fails.
    An error while Slurm runs the job may be of that node or that hour: the job fails and is started again, until it is
    given up. Elsewhere it leaves them at once.

    Args:
        rule: the rule of the job.
        error: what ended it.
    """
    return (
        rule in TRAINS_FOR and not isinstance(error, Interrupted) and (isinstance(error, GivenUp) or not slurm.job_id())
    )


def failed(path: Path, checkpoints: Iterable[Path]) -> Attempt | None:
    """Return the latest attempt of this run at a job that has failed, with all failures where the job stands now.

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
    """Return the file that holds the latest attempt at a job, by the name of its files."""
    return LOCKS / f"{slug}.attempt"


def next_of(path: Path, checkpoints: Iterable[Path]) -> Attempt:
    """Return the attempt at a job that would begin now, which knows for which of them a memory was too small.

    The process that plans the job and that of the job itself find the same.

    Args:
        path: the file that holds the latest attempt.
        checkpoints: the folders of the checkpoints that the job writes.
    """
    old = Attempt.read(path)
    return _after(old, _positions(checkpoints) if old else "")  # of thousands of jobs, few have failed


def written_by(rule: str, slug: str, settings: Iterable[str]) -> list[Path]:
    """Return the folders of the checkpoints that a job writes: its own, and those of the jobs that it trains for.

    Args:
        rule: its rule.
        slug: the name of its own folder.
        settings: the keys of its settings.
    """
    others = [f"{TRAINS_FOR[rule]}.{name}" for name in settings] if rule in TRAINS_FOR else []
    return [CHECKPOINTS / each for each in (slug, *others)]


def _positions(checkpoints: Iterable[Path]) -> str:
    return " ".join(map(position, checkpoints))


def position(checkpoints: Path) -> str:
    """Return how far a training has got: training run and step of its checkpoint, number of finished training runs."""
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

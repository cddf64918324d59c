"""Count the attempts of a run at a job, and give a job up that fails twice without progress.

Snakemake attempts a failed job again (`retries` of a profile). Slurm queues a job again after the loss of a node or a
preemption, under the same id and without an error: that is no failure. A new run tries every job again.

A training that comes near the time limit of its job writes its state and ends, so that it can go on later.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from retort.atomic import write_text
from retort.engine import slurm
from retort.errors import RetortError, first_line, lines_of

RUN = "RETORT_RUN_STARTED"  # the environment variable with the unique name of this run of Snakemake
LOCKS = Path("results/.locks")  # the folder with the claims of jobs and the notes of their attempts
CHECKPOINTS, KEPT = Path("results/checkpoints"), Path("results/kept")
INTERRUPTED = 128 + signal.SIGINT  # the exit status of a job that Ctrl-C ended
MAX_FAILURES = 2  # without progress
LEAD = 120.0  # seconds before the limit of a job in which a small state is written
WRITING_SPEED = 100  # MB a second, of a busy file system
LAST_PART = 5  # the lead is at most the last fifth of the time
KILLED = "it was killed: for want of memory or of time, or by someone"
# error messages of torch about too little GPU memory
GPU_TOO_SMALL = re.compile(r"(CUDA|HIP)\b.*out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED")


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
        gpu_memory: number of earlier attempts that ended for lack of GPU memory.
    """

    run: str
    slurm_job: str
    position: str
    failures: int = 0
    reason: str = ""
    gpu_memory: int = 0

    @classmethod
    def read(cls, path: Path) -> Attempt | None:
        """Read an attempt from a file; return None if the file is missing or damaged."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, path: Path) -> None:
        """Write the attempt to a file, atomically."""
        write_text(path, json.dumps(asdict(self)) + "\n")

    def next(self, position: str) -> Attempt:
        """Return the attempt that follows this one, at a position; its counts include this one."""
        new = Attempt(os.environ.get(RUN, ""), slurm.job_id(), position)
        queued_again = not self.reason and self.slurm_job and self.slurm_job == new.slurm_job
        same = (self.run, self.position) == (new.run, new.position)
        # a training that goes on keeps its parts of a batch in a new run, too: other parts draw other dropout
        goes_on = self.run == new.run or bool(position.strip("0. "))
        return replace(
            new,
            failures=self.failures + (not queued_again) if same else 0,
            gpu_memory=self.gpu_memory + bool(GPU_TOO_SMALL.search(self.reason)) if goes_on else 0,
        )


def slug_of(log: str) -> str:
    """Return the name of a job's files: 'results/logs/rule/a.b.log' becomes 'rule.a.b'."""
    *_, rule, name = ("", *Path(log).with_suffix("").parts)
    return name if rule in ("", "logs") else f"{rule}.{name}"


def file_of(log: str) -> Path:
    """Return the file that holds the latest attempt at the job with this log."""
    return LOCKS / f"{slug_of(log)}.attempt"


@contextlib.contextmanager
def attempt(path: Path, results: Iterable[Path]) -> Iterator[Attempt]:
    """Count the block as an attempt at a job, and yield the attempt.

    Args:
        path: the file that holds the latest attempt; it is deleted when the job has succeeded, or the user stops it.
        results: the results of the job: their checkpoints show its progress.

    Raises:
        GivenUp: the job failed twice in this run without progress.
    """
    old = Attempt.read(path) if os.environ.get(RUN) else None
    begun = (old or Attempt("", "", "")).next(" ".join(position(checkpoints_of(result)) for result in results))
    if begun.failures >= MAX_FAILURES:
        reason = (old and old.reason) or KILLED
        raise GivenUp(f"given up after {begun.failures} failures without a step forward; the last one: {reason}")
    begun.write(path)
    try:
        yield begun
    except Exception as error:
        with contextlib.suppress(OSError):  # the disk may be full
            replace(begun, reason=reason_of(error)).write(path)
        raise
    except KeyboardInterrupt:
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, and the line that says that the GPU's memory was too small.

    That line is a later one where an error names where it was caught, as those of NCCL and of worker threads do.
    """
    first = first_line(error)
    telling = next(filter(GPU_TOO_SMALL.search, lines_of(error)), first)
    return first if telling == first else f"{first} {telling}"


def note_refusal(log: str, reason: str) -> None:
    """Note why a job never came to run, or ended without a word of its own.

    Args:
        log: the path of the job's log.
        reason: what Slurm said.
    """
    path, run = file_of(log), os.environ.get(RUN, "")
    latest = Attempt.read(path)
    if latest is None or latest.run != run:  # the failures of another run do not count
        latest = Attempt(run, "", "", gpu_memory=latest.gpu_memory if latest else 0)
    if not latest.reason:
        replace(latest, reason=reason).write(path)


def failure(log: str) -> str:
    """Return why a job of this run has failed; empty if it has not."""
    noted = Attempt.read(file_of(log))
    return (noted.reason or KILLED) if noted and noted.run == os.environ.get(RUN) else ""


def checkpoints_of(result: Path | str) -> Path:
    """Return the folder with the checkpoints of a result: a training is known by what it makes, whoever trains it."""
    return CHECKPOINTS / ".".join(Path(result).parts[1:]).removesuffix(".json")


def position(checkpoints: Path) -> str:
    """Return the progress of a training as 'n.r.s': n trainings have finished, and the state is of training r, step s.

    It is 'kept' if the whole result is kept (`stages.kept_seeds`).
    """
    if (KEPT / checkpoints.name).is_dir():
        return "kept"
    notes, state = 0, "0.0"
    with contextlib.suppress(OSError):
        notes = len((checkpoints / "notes.jsonl").read_bytes().splitlines())
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        header = json.loads((checkpoints / "state.json").read_text(encoding="utf-8"))
        state = f"{header['run']}.{header['step']}"
    return f"{notes}.{state}"


class Interrupted(RetortError):
    """A training ended ahead of the time limit of its job; its state is written.

    Args:
        step: the last step of the training, counted from 1.
    """

    def __init__(self, step: int) -> None:
        super().__init__(f"its time limit ended it after step {step}", "its state is kept: run again and it goes on")


@dataclass(frozen=True)
class Clock:
    """The time that a job has.

    Args:
        end: when the job is ended, in the seconds of `time.time`; None for never.
        lead: the last seconds before the end, in which the job writes its state.
    """

    end: float | None = None
    lead: float = LEAD

    def is_short(self) -> bool:
        """Return whether it is time to write the state and to end."""
        return self.end is not None and time.time() >= self.end - self.lead


NEVER = Clock()


def clock_of(runtime_minutes: int, mem_mb: int, end: float | None, began: float) -> Clock:
    """Return the clock of a job: its lead is long enough to write as much as its memory, but a part of its time.

    Args:
        runtime_minutes: the time limit that the job asked for; 0 for none.
        mem_mb: the memory that the job asked for, in MB.
        end: when Slurm ends the job; None if that is unknown, to count the limit from the beginning.
        began: when the job began.
    """
    if end is None and not runtime_minutes:
        return NEVER
    end = began + 60 * runtime_minutes if end is None else end
    return Clock(end, min(LEAD + mem_mb / WRITING_SPEED, (end - began) / LAST_PART))

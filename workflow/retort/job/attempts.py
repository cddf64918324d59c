"""Note why attempts at a job failed, for cells that need its result.

Snakemake attempts a failed job again (`retries` of a profile), and Slurm after the loss of a node or a preemption.

A training that comes near the time limit of its job writes its state and ends, so that it can go on later.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from retort.atomic import write_text
from retort.errors import RetortError, explain_error, first_line

RUN = "RETORT_RUN_STARTED"  # the environment variable with the unique name of this run of Snakemake
LOCKS = Path("results/.locks")  # the folder with the claims of jobs and the notes of their attempts
CHECKPOINTS, KEPT = Path("results/checkpoints"), Path("results/kept")
INTERRUPTED = 128 + signal.SIGINT  # the exit status of a job that Ctrl-C ended
LEAD = 120.0  # seconds before the limit of a job in which a small state is written
WRITING_SPEED = 100  # MB a second, of a busy file system
LAST_PART = 5  # the lead is at most the last fifth of the time
KILLED = "it was killed: for want of memory or of time, or by someone"


@dataclass(frozen=True)
class Attempt:
    """The latest attempt at a job.

    Args:
        run: the name of the run of Snakemake, from the environment variable `RUN`.
        reason: why the attempt failed; empty while it runs, and also if it was killed.
    """

    run: str
    reason: str = ""

    @classmethod
    def read(cls, path: Path) -> Attempt | None:
        """Read an attempt from a file; return None if the file is missing or damaged."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    @classmethod
    def of_this_run(cls) -> Attempt:
        """Return an attempt of this run that begins."""
        return cls(os.environ.get(RUN, ""))

    def write(self, path: Path) -> None:
        """Write the attempt to a file, atomically."""
        write_text(path, json.dumps(asdict(self)) + "\n")


def slug_of(log: str) -> str:
    """Return the name of a job's files: 'results/logs/rule/a.b.log' becomes 'rule.a.b'."""
    *_, rule, name = ("", *Path(log).with_suffix("").parts)
    return name if rule in ("", "logs") else f"{rule}.{name}"


def file_of(log: str) -> Path:
    """Return the file that holds the latest attempt at the job with this log."""
    return LOCKS / f"{slug_of(log)}.attempt"


@contextlib.contextmanager
def attempt(path: Path) -> Iterator[Attempt]:
    """Note the block as an attempt at a job, and yield the attempt.

    Args:
        path: the file that holds the latest attempt; it is deleted when the job has succeeded, or the user stops it.
    """
    begun = Attempt.of_this_run()
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
    """Return an error as one line: what the user can correct, or else the first line of its message."""
    return " ".join((explain_error(error) or first_line(error)).split())


def note_refusal(log: str, reason: str) -> None:
    """Note why a job never came to run, or ended without a word of its own.

    Args:
        log: the path of the job's log.
        reason: what Slurm said.
    """
    path, latest = file_of(log), Attempt.read(file_of(log))
    if latest is None or latest.run != os.environ.get(RUN, ""):  # the reasons of another run do not count
        latest = Attempt.of_this_run()
    if not latest.reason:
        replace(latest, reason=reason).write(path)


def forget_running() -> None:
    """Delete the notes of the jobs of this run that were running: the user has stopped it, so they have not failed."""
    for path in LOCKS.glob("*.attempt"):
        if Attempt.read(path) == Attempt.of_this_run():
            path.unlink(missing_ok=True)


def failure_reason(log: str) -> str:
    """Return why a job of this run has failed; empty if it has not."""
    noted = Attempt.read(file_of(log))
    return (noted.reason or KILLED) if noted and noted.run == os.environ.get(RUN) else ""


def checkpoints_of(result: Path | str) -> Path:
    """Return the folder with the checkpoints of a result: a training is known by what it makes, whoever trains it."""
    return CHECKPOINTS / ".".join(Path(result).parts[1:]).removesuffix(".json")


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

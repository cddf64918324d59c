"""The time limit of a job: a training that comes near it writes its state and ends, so that it can go on later."""

from __future__ import annotations

import time
from dataclasses import dataclass

from retort.errors import RetortError

LEAD = 120.0  # seconds before the limit in which a small state is written
WRITING_SPEED = 100  # MB a second, of a busy file system
LAST_PART = 5  # the lead is at most the last fifth of the time


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

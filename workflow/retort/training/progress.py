"""Report the progress of training: a line on the terminal every few seconds, all loss terms in the log."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TextIO

EVERY = 10.0  # seconds between two lines on the terminal
LOGGED = 10  # steps between two lines in the log


class Progress:
    """The progress of one job.

    Args:
        name: the name of the job, for the terminal.
        log: the log file, for the loss terms.
        runs: number of training runs of the job.
    """

    def __init__(self, name: str, log: TextIO, runs: int = 1) -> None:
        self.name, self.log, self.runs = name, log, runs
        self.number, self.steps, self.first = 1, 1, 0
        self.started = self.reported = time.monotonic()

    def _say(self, text: str) -> None:
        """Print a line on the terminal."""
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)

    @property
    def _run(self) -> str:
        """The beginning of lines about the current training run; empty if the job has only one."""
        return f"stage {self.number} of {self.runs}, " if self.runs > 1 else ""

    def begin(self, number: int, start: int, steps: int) -> None:
        """Report that a training run begins after `start` steps: more than 0 if it is resumed, all if it is done."""
        self.number, self.steps, self.first = number, steps, start
        self.started = self.reported = time.monotonic()
        resumed = f", resumed at step {start}" if start else ""
        self.log.write(f"{self._run}{steps} steps{resumed}\n")
        if start:
            self._say(f"{self._run}resumed at step {start} of {steps}")
        if start == steps:
            self.end(start)

    def is_logged(self, step: int) -> bool:
        """Return whether the log gets a line about a step: every LOGGED steps, and at the last."""
        return step % LOGGED == 0 or step == self.steps

    def is_due(self, step: int) -> bool:
        """Return whether a finished step is reported, in the log or, every EVERY seconds, on the terminal."""
        return self.is_logged(step) or time.monotonic() - self.reported >= EVERY

    def step(self, step: int, loss: float, terms: Mapping[str, float]) -> None:
        """Report a finished step that is due."""
        if self.is_logged(step):
            values = "  ".join(f"{name} {value:.5f}" for name, value in terms.items())
            self.log.write(f"step {step:5d}  loss {loss:.5f}  {values}\n")
            self.log.flush()
        now = time.monotonic()
        if now - self.reported >= EVERY:
            self.reported = now
            left = (now - self.started) / max(1, step - self.first) * (self.steps - step)  # seconds
            self._say(f"{self._run}step {step} of {self.steps}, loss {loss:.3f}, {left:.0f} s left")

    def end(self, step: int) -> None:
        """Log that a training run is done."""
        self.log.write(f"{self._run}done after step {step}\n")
        self.log.flush()

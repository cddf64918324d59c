"""What a training tells: a line to the terminal now and then, every loss term to the log."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TextIO

EVERY = 10.0  # seconds between two lines on the terminal
LOGGED = 10  # steps between two lines in the log


class Progress:
    """One job's progress.

    Args:
        name: what is trained, as the terminal shows it.
        log: where the loss terms go.
        parts: trainings that the job has.
    """

    def __init__(self, name: str, log: TextIO, parts: int = 1) -> None:
        self.name, self.log, self.parts = name, log, parts
        self.number, self.steps, self.first = 1, 1, 0
        self.started = self.shown = time.monotonic()

    def _say(self, text: str) -> None:
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)

    @property
    def _part(self) -> str:
        return f"stage {self.number} of {self.parts}, " if self.parts > 1 else ""

    def begin(self, number: int, start: int, steps: int) -> None:
        """Nothing; a part begins, after `start` steps that a killed job had done."""
        self.number, self.steps, self.first = number, steps, start
        self.started = self.shown = time.monotonic()
        resumed = f", resumed at step {start}" if start else ""
        self.log.write(f"{self._part}{steps} steps{resumed}\n")
        if start:
            self._say(f"{self._part}resumed at step {start} of {steps}")

    def step(self, step: int, loss: float, terms: Mapping[str, object]) -> None:
        """Nothing; one more step is done."""
        if step % LOGGED == 0 or step == self.steps:
            shown = "  ".join(f"{name} {float(value):.5f}" for name, value in terms.items())  # type: ignore[arg-type]
            self.log.write(f"step {step:5d}  loss {loss:.5f}  {shown}\n")
            self.log.flush()
        now = time.monotonic()
        if now - self.shown >= EVERY:
            self.shown = now
            left = (now - self.started) / max(1, step - self.first) * (self.steps - step)
            self._say(f"{self._part}step {step} of {self.steps}, loss {loss:.3f}, {left:.0f} s left")

    def end(self, step: int) -> None:
        """Nothing; a part is done."""
        self.log.write(f"{self._part}done after step {step}\n")
        self.log.flush()

"""Print the progress of a rehearsal: a bar on a terminal, a line for each failure, and a summary."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from retort.engine.attempts import failure
from retort.rehearsal.run import Ran

WIDTH = 30  # characters of the bar
CLEAR_LINE = "\r\033[K"  # clears a terminal's line
EVERY = 60  # seconds between two lines without a terminal


class Progress:
    """Print the progress of a rehearsal to standard error.

    Args:
        total: the number of jobs.
    """

    def __init__(self, total: int) -> None:
        self.total, self.begun, self.printed = total, time.monotonic(), time.monotonic()
        self.passed = 0  # jobs that have run, were done already, or could not run
        self.ran: list[Ran] = []
        self.on_terminal = sys.stderr.isatty()

    @property
    def failed(self) -> int:
        """The number of jobs that failed."""
        return sum(ran.failed for ran in self.ran)

    def __call__(self, ran: Ran | None) -> None:
        """Print the state of the rehearsal after a job that has run, and a line if it failed."""
        self.passed += 1
        if ran is None:
            return
        self.ran.append(ran)
        if ran.failed:
            why = failure(ran.job.key) or "without a word"
            self._print(f"failed: {ran.job.name}: {why[:160]}\n  look at {Path(ran.job.key).absolute()}")
        if self.on_terminal:
            print(f"{CLEAR_LINE}{self._state()}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.printed > EVERY:
            self.printed = time.monotonic()
            self._print(self._state())

    def end(self) -> None:
        """End the line of the bar, so that further output begins on a new line."""
        if self.on_terminal and self.ran:
            print(file=sys.stderr, flush=True)

    def _print(self, line: str) -> None:
        print(f"{CLEAR_LINE}{line}" if self.on_terminal else line, file=sys.stderr, flush=True)

    def _state(self) -> str:
        bar = "#" * (WIDTH * self.passed // self.total)
        left = (time.monotonic() - self.begun) / len(self.ran) * (self.total - self.passed) / 60
        return f"[{bar:<{WIDTH}}] {self.passed} of {self.total} jobs, {self.failed} failed, {left:.0f} min left"


def summary(jobs: list[Ran]) -> Iterator[str]:
    """Yield a line for each kind of job with their number and CPU time, and one with the peak memory."""
    by_kind = defaultdict[str, list[Ran]](list)
    for ran in jobs:
        by_kind[ran.job.rule.kind].append(ran)
    width = max(map(len, by_kind), default=0)
    yield f"{'rule':<{width}}  jobs  CPU seconds  longest"
    for kind, done in sorted(by_kind.items(), key=lambda item: -sum(ran.seconds for ran in item[1])):
        seconds = [ran.seconds for ran in done]
        yield f"{kind:<{width}}  {len(done):>4}  {sum(seconds):>11.1f}  {max(seconds):>7.1f}"
    if jobs:
        yield f"The process held {max(ran.peak for ran in jobs):,.0f} MB at most."

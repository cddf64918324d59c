"""Print the progress of a rehearsal: a bar on a terminal, a line for each failure, and a summary."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from retort.rehearsal.run import Done

WIDTH = 30  # characters of the bar
CLEAR_LINE = "\r\033[K"  # clears a terminal's line
EVERY = 60  # seconds between two lines without a terminal


class Progress:
    """Print the progress of a rehearsal to standard error.

    Args:
        folder: the folder of the rehearsal, for the paths of logs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.begun, self.printed = folder, time.monotonic(), time.monotonic()
        self.done = self.failed = 0
        self.on_terminal = sys.stderr.isatty()

    def __call__(self, job: Done, total: int) -> None:
        """Print a line if the job failed, and the state of the rehearsal."""
        self.done += 1
        if job.failed:
            self.failed += 1
            self._print(failure(job, self.folder))
        if self.on_terminal:
            print(f"{CLEAR_LINE}{self._state(total)}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.printed > EVERY:
            self.printed = time.monotonic()
            self._print(self._state(total))

    def warn(self, text: str) -> None:
        """Print a warning of Snakemake."""
        if text.strip():
            self._print(text)

    def end(self) -> None:
        """End the line of the bar, so that further output begins on a new line."""
        if self.on_terminal and self.done:
            print(file=sys.stderr, flush=True)

    def _print(self, line: str) -> None:
        print(f"{CLEAR_LINE}{line}" if self.on_terminal else line, file=sys.stderr, flush=True)

    def _state(self, total: int) -> str:
        total = max(total, self.done)
        bar = "#" * (WIDTH * self.done // total)
        left = (time.monotonic() - self.begun) / self.done * (total - self.done) / 60
        return f"[{bar:<{WIDTH}}] {self.done} of {total} jobs, {self.failed} failed, {left:.0f} min left"


def failure(job: Done, folder: Path) -> str:
    """Return a message about a failed job: rule, wildcards, the last line of its log, and the path of the log."""
    path = folder / job.log
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "no log")
    return f"failed: {job.rule}({', '.join(job.wildcards)}): {last[:160]}\n  look at {path}"


def summary(jobs: list[Done]) -> Iterator[str]:
    """Yield a line for each rule with its number of jobs and their CPU time, and one with the peak memory."""
    by_rule = defaultdict[str, list[Done]](list)
    for job in jobs:
        by_rule[job.rule].append(job)
    width = max(map(len, by_rule), default=0)
    yield f"{'rule':<{width}}  jobs  CPU seconds  longest"
    for rule, done in sorted(by_rule.items(), key=lambda item: -sum(job.seconds for job in item[1])):
        seconds = [job.seconds for job in done]
        yield f"{rule:<{width}}  {len(done):>4}  {sum(seconds):>11.1f}  {max(seconds):>7.1f}"
    if jobs:
        yield f"The process held {max(job.peak for job in jobs):,.0f} MB at most."

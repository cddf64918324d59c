"""The steps of the trainings of a job, as lines of JSON next to its log: for curves, and to see how far a job is.

`python.md` says what a line holds. The file is no output of the job: Snakemake neither knows nor deletes it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retort.atomic import write_text

Line = Mapping[str, Any]
SUFFIX = ".steps.jsonl"
DIGITS = 6  # of each number


def steps_file(log: Path | str) -> Path:
    """Return the file of the steps of the job with this log."""
    return Path(log).with_suffix(SUFFIX)


def steps_files() -> list[Path]:
    """Return the files of the steps of all jobs."""
    return sorted(Path("results/logs").rglob(f"*{SUFFIX}"))


def read_steps(path: Path) -> list[Line]:
    """Return the lines of a file of steps, without what a kill has cut; none if there is no file."""
    lines = []
    try:
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if text.endswith("}"):
                lines.append(json.loads(text))
    except (OSError, ValueError):
        pass
    return lines


class StepsFile:
    """The steps of the training runs of one training, in the file of its job.

    Args:
        path: the file; None to write nothing.
        job: the job, as its files are named; of a student next to others, that of all.
        place: what tells the training from others of the job: its seed, and the point of a grid.
    """

    def __init__(self, path: Path | None = None, job: str = "", **place: int) -> None:
        self.path, self.job, self.place = path, job, place

    def begin(self, step: int, **run: int) -> None:
        """Begin a training run after a step, and drop what an earlier attempt, or other settings, wrote of later ones.

        Args:
            step: the number of steps that are taken; more than 0 if it is resumed.
            run: the stage, the number of stages, and the number of steps.
        """
        self.run, self.step, self.time = run, step, time.monotonic()
        if self.path and self.path.exists():
            kept = [line for line in read_steps(self.path) if not self._is_later(line)]
            write_text(self.path, "".join(f"{json.dumps(line)}\n" for line in kept))  # without what a kill has cut

    def _is_later(self, line: Line) -> bool:
        is_own = all(line.get(name) == value for name, value in self.place.items())
        return is_own and (line["stage"], line["step"]) > (self.run["stage"], self.step)

    def add(self, step: int, values: Line, tokens: int = 0) -> None:
        """Add a line about a step.

        Args:
            step: its number, from 1.
            values: what was measured.
            tokens: those of the steps since the line before; 0 for a line that tells no speed.
        """
        if not self.path:
            return
        if tokens:
            now = time.monotonic()
            seconds, taken = max(now - self.time, 1e-9), step - self.step
            values = {**values, "tokens_per_second": tokens / seconds, "steps_per_second": taken / seconds}
            self.step, self.time = step, now
        values = _rounded(values) | {"at": round(time.time(), 1)}
        line = {"job": self.job, **self.place, **self.run, "step": step, **values}
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(f"{json.dumps(line)}\n")


def _rounded(value: Any) -> Any:
    """Return a number, or those of a mapping, in few digits; None for one that JSON does not know, such as NaN."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None

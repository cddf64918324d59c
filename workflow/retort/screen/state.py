"""The state of a run: finished jobs, running jobs, and an estimate of the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RunningJob:
    """A job that is running.

    Args:
        rule: the rule of the job.
        wildcards: the values of its wildcards.
        started: when it started, in seconds of the clock.
    """

    rule: str
    wildcards: tuple[str, ...]
    started: float

    @property
    def name(self) -> str:
        """The name of the job, such as 'distill_on_task(pocket-kd, movies, 1)'."""
        return f"{self.rule}({', '.join(self.wildcards)})" if self.wildcards else self.rule


@dataclass
class RunState:
    """The jobs of a run.

    Args:
        clock: returns the time in seconds.
        total: number of jobs of the run.
        done: number of jobs that have succeeded.
        failed: number of jobs that have failed.
        running: Snakemake's number of a job -> the running job.
    """

    clock: Callable[[], float] = time.monotonic
    total: int = 0
    done: int = 0
    failed: int = 0
    running: dict[int, RunningJob] = field(default_factory=dict)
    _left: dict[str, int] = field(default_factory=dict)  # rule -> jobs that have not ended
    _took: dict[str, list[float]] = field(default_factory=dict)  # rule -> seconds of its jobs that have ended
    _began: float = 0.0

    def begin(self, jobs: Mapping[str, int]) -> None:
        """Begin a run with these numbers of jobs by rule, and of all jobs by 'total'; the rule 'all' takes no time."""
        self.total = int(jobs.get("total", 0))
        self._left = {rule: count for rule, count in jobs.items() if rule not in ("total", "all")}
        self._began = self.clock()

    def start(self, job: int, rule: str, wildcards: Mapping[str, str]) -> None:
        """Note that a job starts."""
        self.running[job] = RunningJob(rule, tuple(map(str, wildcards.values())), self.clock())

    def finish(self, job: int) -> None:
        """Note that a job has succeeded."""
        self.done += 1
        ended = self._end(job)
        if ended:
            self._took.setdefault(ended.rule, []).append(self.clock() - ended.started)

    def fail(self, job: int) -> RunningJob | None:
        """Note that a job has failed, and return it; None if it was not running."""
        self.failed += 1
        return self._end(job)

    def _end(self, job: int) -> RunningJob | None:
        ended = self.running.pop(job, None)
        if ended and self._left.get(ended.rule):
            self._left[ended.rule] -= 1
        return ended

    @property
    def elapsed(self) -> float:
        """The seconds since the run began."""
        return self.clock() - self._began if self.total else 0.0

    def seconds_left(self) -> float | None:
        """Estimate the seconds until the end of the run; return None before a job has ended.

        A job is expected to take the mean time of its rule so far, or of all jobs if none of its rule has ended. As
        many jobs as now are expected to run at once.
        """
        every = [seconds for took in self._took.values() for seconds in took]
        if not every:
            return None
        mean = sum(every) / len(every)
        means = {rule: sum(took) / len(took) for rule, took in self._took.items()}
        work = sum(count * means.get(rule, mean) for rule, count in self._left.items())
        begun = sum(min(self.clock() - job.started, means.get(job.rule, mean)) for job in self.running.values())
        return max(0.0, work - begun) / max(1, len(self.running))

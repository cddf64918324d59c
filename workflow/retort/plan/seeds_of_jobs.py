"""The number of jobs that share the points of a grid; no result depends on it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from retort.plan.plan import Plan
from retort.study.questions import seeds_of

# Which seeds of a student are trained in one job, one after another.


Hours = Callable[[str, str], float]  # predicted hours of a student on a task under one seed


class SeedJobs:
    """The seeds of each student's jobs: all of them in one, or in as many jobs as `hours_of_seeds` asks for.

    The seeds of a student are divided alike on all of its tasks: by the task that takes longest.

    Args:
        plan: the plan of the study.
        hours: predicts the hours of a student on a task under one seed.
    """

    def __init__(self, plan: Plan, hours: Hours = lambda student, task: 0.0) -> None:
        self.plan, self.hours = plan, hours

    @cached_property
    def divided(self) -> dict[str, int]:
        """Student -> number of jobs of its seeds, for students with several; all processes of a run read the same."""
        decided, most = self.plan.config.seeds_divided, self.plan.config.hours_of_seeds
        if decided is not None:
            return decided
        jobs = {} if most is None else {name: self._jobs(name, most) for name in self.plan.study.running}
        return {name: number for name, number in jobs.items() if number > 1}

    def _jobs(self, student: str, most: float) -> int:
        longest = max((self.hours(student, task) for name, task in self.plan.pairs if name == student), default=0.0)
        count = len(seeds_of(self.plan.study, student))
        each = max(1, int(most // longest) if longest else count)
        return math.ceil(count / each)

    def jobs(self, student: str) -> list[tuple[int, ...]]:
        """Return the seeds of each job of a student on a task, in order."""
        seeds, number = seeds_of(self.plan.study, student), self.divided.get(student, 1)
        each = math.ceil(len(seeds) / number)
        return [tuple(seeds[first : first + each]) for first in range(0, len(seeds), each)]

    def of(self, students: Iterable[str]) -> dict[tuple[int, ...], list[str]]:
        """Return seeds of a job -> the students among these that have such jobs."""
        by_seeds = defaultdict[tuple[int, ...], list[str]](list)
        for student in students:
            for seeds in self.jobs(student):
                by_seeds[seeds].append(student)
        return dict(by_seeds)

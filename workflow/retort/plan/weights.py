"""Whose weights are read after they are scored; those of all other students of a task are never written."""

from __future__ import annotations

import functools
from typing import Any

from retort.plan.plan import Plan
from retort.study.cells import sent_runs


class Weights:
    """The plan of the weights of fine-tuned students.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def read(self, wildcards: Any) -> int:
        """Return 1 if the weights of one run of a student are read: by the user, or to answer test sets; else 0.

        It is a resource, which never makes a job run again. The rule declares the output for all of its jobs.
        """
        answers = self.plan.sends and wildcards.task in self.plan.settings.predictions
        sent = answers and (wildcards.student, int(wildcards.seed)) in self._sent
        return int(self.plan.config.keep_weights or sent)

    @functools.cached_property
    def _sent(self) -> set[tuple[str, int]]:
        """Student and seed of the runs whose answers a server gets, on every task that the student is scored on."""
        study = self.plan.study
        runs = {run for exhibit in study.exhibits.values() for run in sent_runs(study, exhibit)}
        return {(student, seed) for student, _, seed in runs}

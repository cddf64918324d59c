"""Decide whose weights are written: those of fine-tuned students that something reads after scoring."""

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

        The rule declares the output for all of its jobs. This is a resource, because another value never makes a job
        run again.
        """
        answers = self.plan.sends and wildcards.task in self.plan.settings.predictions
        sent = answers and (wildcards.student, int(wildcards.seed)) in self._sent
        return int(self.plan.config.keep_weights or sent)

    @functools.cached_property
    def _sent(self) -> set[tuple[str, int]]:
        """The (student, seed) runs whose answers on test sets are sent to a server."""
        study = self.plan.study
        runs = {run for exhibit in study.exhibits.values() for run in sent_runs(study, exhibit)}
        return {(student, seed) for student, _, seed in runs}

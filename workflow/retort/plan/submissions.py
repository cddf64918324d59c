"""Resolve the settings of a submission to the GLUE server: of the predictions on test sets, and of their zip."""

from __future__ import annotations

import functools
from typing import Any

from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.study.cells import sent_runs, served, submission_address
from retort.study.questions import seeds_of, submitted_sources

# The files that answers on test sets are made from: the input functions of workflow/rules/submissions.smk.


Wildcards = Any


class Submit:
    """The plan of the answers on test sets whose labels only a server has.

    Tables ask for these files at scale 'paper'. At other scales they are made only when the user asks for them by name.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def of_table(self, wildcards: Wildcards) -> list[str]:
        """Return the zip files of the students in a table that only a server can score; none below scale 'paper'."""
        study = self.plan.study
        pairs = served(study, study.exhibits[wildcards.paper, wildcards.table]) if self.plan.sends else []
        zips = dict.fromkeys(submission_address(study, student) for student, _ in pairs)
        return [path for path in zips if path not in study.config.run_sources.failed]

    def sources(self, wildcards: Wildcards) -> list[str]:
        """Return the folders of the sources of a task's test sets."""
        return [self.plan.folder_of(source) for source in submitted_sources(self.plan.study.tasks[wildcards.task])]

    def test_sets(self, wildcards: Wildcards) -> str:
        """Return the folder of a task's encoded test sets, with the tokenizer of a student or teacher."""
        return f"results/test_sets/{wildcards.task}/{self.plan.tokenizer_of(wildcards.student)}"

    def weights(self, wildcards: Wildcards) -> str:
        """Return the weights of a student or teacher that is fine-tuned on a task.

        Raises:
            RetortError: the weights of the student are not kept.
        """
        name, task = wildcards.student, wildcards.task
        if name in self.plan.study.teachers:
            return f"results/teachers/{name}/{task}/model"
        if not self.plan.keeps:
            raise RetortError(f"the weights of '{name}' on '{task}' are not kept", "set keep_weights: true")
        return f"results/students/{name}/{task}/seed-{wildcards.seed}"

    def read_weights(self, wildcards: Wildcards) -> list[int]:
        """Return the seeds of a student on a task whose weights are read: by the user, or to answer test sets."""
        if self.plan.config.keep_weights:
            return seeds_of(self.plan.study, wildcards.student)
        answers = self.plan.sends and wildcards.task in self.plan.settings.predictions
        return [seed for student, seed in self._sent if student == wildcards.student] if answers else []

    @functools.cached_property
    def _sent(self) -> set[tuple[str, int]]:
        """The (student, seed) runs whose answers on test sets are sent to a server."""
        study = self.plan.study
        runs = {run for exhibit in study.exhibits.values() for run in sent_runs(study, exhibit)}
        return {(student, seed) for student, _, seed in runs}

    def answers(self, wildcards: Wildcards) -> list[str]:
        """Return the answers of a student or teacher on the test sets of every task that it is scored on.

        Raises:
            RetortError: it is scored on no task that has a submission.
        """
        name, scored = wildcards.student, self.plan.pairs
        tasks = [task for task in sorted(self.plan.settings.predictions) if (name, task) in scored]
        if not tasks:
            raise RetortError(f"'{name}' is scored on no task that has a submission", "see `retort list`")
        return [f"results/answers/{name}/seed-{wildcards.seed}/{task}.json" for task in tasks]

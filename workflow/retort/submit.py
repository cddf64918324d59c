"""Which files the answers on test sets are made from: the input functions of workflow/rules/submissions.smk."""

from __future__ import annotations

from typing import Any

from retort.errors import RetortError
from retort.plan import Plan
from retort.specs.submission import tested

Wildcards = Any


class Submit:
    """The part of the plan that is carried out only when a submission is asked for by name.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def sources(self, wildcards: Wildcards) -> list[str]:
        """The sources of a task's test sets."""
        spec = self.plan.book.tasks[wildcards.task]
        names = [spec.splits[split].source or spec.source for split in tested(spec)]
        return [f"results/sources/{source}" for source in dict.fromkeys(names)]

    def weights(self, wildcards: Wildcards) -> str:
        """The weights of a student or teacher, fine-tuned on a task.

        Raises:
            RetortError: a student's weights are not kept.
        """
        name, task = wildcards.student, wildcards.task
        if name in self.plan.book.teachers:
            return f"results/teachers/{name}/{task}/model"
        if not self.plan.config.keep_weights:
            raise RetortError(f"the weights of '{name}' on '{task}' are not kept", "set keep_weights: true")
        return f"results/students/{name}/{task}/seed-{wildcards.seed}"

    def answers(self, wildcards: Wildcards) -> list[str]:
        """A student's or teacher's answers on the test sets of every task that it is scored on.

        Raises:
            RetortError: there is none.
        """
        name, scored = wildcards.student, {(cell.student, cell.task) for cell in self.plan.list}
        tasks = [task for task in sorted(self.plan.settings["tests"]) if (name, task) in scored]
        if not tasks:
            raise RetortError(f"'{name}' is scored on no task that has a submission", "see `retort list`")
        return [f"results/answers/{name}/seed-{wildcards.seed}/{task}.json" for task in tasks]

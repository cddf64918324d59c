"""What decides the verdicts of a table besides the files that it reads: a question of workflow/rules/tables.smk."""

from __future__ import annotations

from typing import Any

from retort.plan.plan import Plan
from retort.plan.versions import VERSIONS

Wildcards = Any


class Verdicts:
    """The plan of the verdicts.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.study = plan.study

    def settings(self, wildcards: Wildcards) -> list[Any]:
        """Return the version of the verdicts, and the points that the paper's own file sets for them."""
        paper = self.study.papers[wildcards.paper]
        return [VERSIONS["verdicts"], *(level and level.points for level in (paper.margin, paper.assumed_std))]

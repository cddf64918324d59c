"""Which tables have verdicts on scores, and what decides these verdicts besides the files that a table reads."""

from __future__ import annotations

from typing import Any

from retort.plan.plan import Plan
from retort.plan.versions import VERSIONS

Wildcards = Any


class Verdicts:
    """The plan of the verdicts, and of the figures that show them.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study = plan, plan.study
        self._scored = {(cell.paper, cell.table) for cell in plan.list}

    def settings(self, wildcards: Wildcards) -> list[Any]:
        """Return the version of the verdicts, and the points that the paper's own file sets for them."""
        paper = self.study.papers[wildcards.paper]
        return [VERSIONS["verdicts"], *(level and level.points for level in (paper.margin, paper.assumed_std))]

    def is_drawn(self, paper: str, name: str) -> bool:
        """Return whether a figure shows the verdicts of a table: scores are computed here, and some are published."""
        exhibit = self.study.exhibits[paper, name]
        published = exhibit.compared_rows() and any(cell.number for cell in exhibit.published_cells())
        return bool(published) and (paper, name) in self._scored

    def of_paper(self, paper: str) -> list[str]:
        """Return the figures of the verdicts of a paper's tables."""
        return [f"reports/{paper}/{name}.svg" for name in self.study.exhibits_of(paper) if self.is_drawn(paper, name)]

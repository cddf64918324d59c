"""The files that tables, figures and claims read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.plan.origins import relative_to_here
from retort.plan.plan import Plan
from retort.study.cells import Cell, profile_address, profiled, score_address, sent_runs
from retort.study.study import Study

Wildcards = Any


def recorded_files(study: Study, paper: str) -> list[str]:
    """Return the recorded runs of a paper, and their scales, which say whether a run still has their settings."""
    recorded = sorted((study.folder / "papers" / paper).glob("recorded/*.yaml"))
    scales = [study.folder / "scales" / path.name for path in recorded]
    return list(map(relative_to_here, [*recorded, *filter(Path.is_file, scales)]))


class Exhibits:
    """The plan of the tables and figures. Methods that take wildcards are input functions of rules.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study = plan, plan.study

    def exhibit_file(self, paper: str, name: str) -> str:
        """Return the YAML file of a table or figure.

        Raises:
            RetortError: the paper has none of this name.
        """
        if (paper, name) not in self.study.exhibits:
            there = ", ".join(self.study.exhibits_of(paper))
            raise RetortError(f"no table or figure of '{paper}' is called '{name}'", f"there are: {there}")
        return relative_to_here(self.study.files["exhibits", f"{paper}/{name}"])

    def _cells(self, paper: str, name: str) -> list[Cell]:
        """Return the cells of a table or figure; for one that compares tables, the cells of those tables."""
        names = self.study.exhibits[paper, name].compares() or [name]
        return [cell for cell in self.plan.cells if cell.paper == paper and cell.table in names]

    def scores(self, paper: str, name: str) -> list[str]:
        """Return the score files that a table or figure reads."""
        read = {(cell.student, cell.task, cell.seed) for cell in self._cells(paper, name)}
        sent = sent_runs(self.study, self.study.exhibits[paper, name]) if self.plan.sends else set()
        return sorted({score_address(*run) for run in read | sent} - self.plan.config.run_sources.failed.keys())

    def profiles(self, paper: str, name: str) -> list[str]:
        """Return the profile files that a table or figure reads."""
        paths = {profile_address(student) for student in profiled(self.study, self.study.exhibits[paper, name])}
        return sorted(paths - self.plan.config.run_sources.failed.keys())

    def table_file(self, wildcards: Wildcards) -> str:
        """Return the YAML file of a table."""
        return self.exhibit_file(wildcards.paper, wildcards.table)

    def table_scores(self, wildcards: Wildcards) -> list[str]:
        """Return the score files of a table."""
        return self.scores(wildcards.paper, wildcards.table)

    def table_profiles(self, wildcards: Wildcards) -> list[str]:
        """Return the profile files of a table."""
        return self.profiles(wildcards.paper, wildcards.table)

    def figure_file(self, wildcards: Wildcards) -> str:
        """Return the YAML file of a figure."""
        return self.exhibit_file(wildcards.paper, wildcards.figure)

    def figure_scores(self, wildcards: Wildcards) -> list[str]:
        """Return the score files of a figure."""
        return self.scores(wildcards.paper, wildcards.figure)

    def figure_profiles(self, wildcards: Wildcards) -> list[str]:
        """Return the profile files of a figure."""
        return self.profiles(wildcards.paper, wildcards.figure)

    def figure_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tidy CSV files of the tables that a figure draws; empty if it draws none."""
        names = self.study.exhibits[wildcards.paper, wildcards.figure].draws()
        return [f"results/tables/{wildcards.paper}/{name}.csv" for name in names]

    def claims_files(self, wildcards: Wildcards) -> list[str]:
        """Return the YAML file of a paper's claims, and the recorded runs on which they are judged, too."""
        claims = relative_to_here(self.study.folder / "papers" / wildcards.paper / "claims.yaml")
        return [claims, *recorded_files(self.study, wildcards.paper)]

    def claim_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the tidy CSV files from which a paper's claims are judged."""
        names = sorted({name for claim in self.study.claims.get(wildcards.paper, {}).values() for name in claim.tables})
        return [f"results/tables/{wildcards.paper}/{name}.csv" for name in names]

"""The params of the rules of tables and figures: what their results depend on besides input files."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any

from retort.plan.settings_cells import our_text, readable_settings
from retort.plan.versions import VERSIONS
from retort.specs.exhibit import Exhibit
from retort.study.cells import left_out
from retort.study.load import open_written
from retort.study.study import Study

Wildcards = Any


class ExhibitParams:
    """The params of the rules of tables and figures.

    Args:
        study: the study, with what this run leaves out.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    def compares(self, wildcards: Wildcards) -> list[Any]:
        """Return what a table of paired tests uses of each table that it compares; empty for other tables.

        For each table these are [student, label, baseline] of every row with a student, followed by the (task, metric)
        pairs that the first of these rows shows.
        """
        compared = [(table, self._rows(table)) for table in self._compared(wildcards.paper, wildcards.table)]
        return [
            [[row.student, row.label, row.baseline] for row in rows]
            + [list(pair) for row in rows[:1] for pair in table.metrics_of(row.student)]
            for table, rows in compared
        ]

    def verdicts(self, wildcards: Wildcards) -> list[Any]:
        """Return the version of the verdicts, the points that the paper's own file sets for them, and recorded numbers.

        The numbers are those of a recorded run at this scale, if there is one.
        """
        paper = self.study.papers[wildcards.paper]
        points = [level and level.points for level in (paper.margin, paper.assumed_std)]
        recording = self.study.recordings.get((wildcards.paper, self.study.config.scale))
        recorded = [recording.tables.get(wildcards.table, {}), recording.replacements] if recording else []
        return [VERSIONS["verdicts"], *points, *recorded]

    @cached_property
    def written(self) -> Study:
        """The study as its files have it, without the changes of the scale."""
        return open_written(self.study.config)

    def settings(self, wildcards: Wildcards) -> list[str]:
        """Return what a table shows of our settings: the texts of its settings cells, and digests for its costs."""
        exhibit = self.study.exhibits[wildcards.paper, wildcards.table]
        texts = [our_text(self.written, wildcards.paper, cell) for cell in exhibit.settings_cells()]
        return [*texts, *(_digest(readable_settings(self.written, *pair)) for pair in exhibit.trainings())]

    def left_out_of_table(self, wildcards: Wildcards) -> list[str]:
        """Return why this run leaves cells of a table out; empty if it makes them all."""
        return self._left_out(wildcards.paper, wildcards.table)

    def left_out_of_figure(self, wildcards: Wildcards) -> list[str]:
        """Return why this run leaves points of a figure out; empty if it makes them all."""
        return self._left_out(wildcards.paper, wildcards.figure)

    def _compared(self, paper: str, name: str) -> list[Exhibit]:
        return [self.study.exhibits[paper, other] for other in self.study.exhibits[paper, name].compares()]

    def _rows(self, table: Exhibit) -> list[Any]:
        return [row for row in table.compared_rows().values() if row.student]

    def _left_out(self, paper: str, name: str) -> list[str]:
        exhibits = [self.study.exhibits[paper, name], *self._compared(paper, name)]
        return sorted({reason for exhibit in exhibits for reason in left_out(self.study, exhibit)})


def _digest(settings: Any) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

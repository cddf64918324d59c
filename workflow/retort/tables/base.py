"""What every kind of table adds to an exhibit: how its lines are collected, printed and counted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from retort.results.collect import BestTrials, Scores, read_best, read_profiles, read_scores
from retort.results.environments import mixed_warning
from retort.results.planned_study import planned_study
from retort.results.score_files import Record
from retort.results.tidy import Line, read
from retort.specs.exhibit import Exhibit
from retort.study.cells import gridded
from retort.study.load import open_written
from retort.study.study import Study
from retort.tables.layout import Sheet


@dataclass(frozen=True)
class Inputs:
    """The inputs of a table or figure: its study, paper and name, and the contents of the files that it reads.

    Args:
        study: the study.
        paper: the paper of the table or figure.
        name: its name.
        scores: the scores that have been run.
        profiles: student or teacher -> its profile.
        tables: the tidy lines of the tables that it reads.
        trials: the best trials of grids, which verdicts compare with published ones.
        remark: a sentence for readers on the runs behind its numbers; may be empty.
    """

    study: Study
    paper: str
    name: str
    scores: Scores = field(default_factory=dict)
    profiles: Mapping[str, Record] = field(default_factory=dict)
    tables: Mapping[str, list[Line]] = field(default_factory=dict)
    trials: BestTrials = field(default_factory=dict)
    remark: str = ""

    @property
    def written(self) -> Study:
        """The study as its files describe it, without the changes that a scale makes."""
        return self.study if self.study.is_as_written else open_written(self.study.config)


def read_inputs(
    config: dict[str, Any],
    paper: str,
    name: str,
    scores: Iterable[str],
    profiles: Iterable[str],
    tables: Iterable[str] = (),
) -> Inputs:
    """Read the files that a table or figure is made from.

    Raises:
        RetortError: a score or profile was made with other settings than the study's.
    """
    study = planned_study(config)
    exhibit = study.exhibits[paper, name]
    shown = [name, *exhibit.compares(), *exhibit.drawn_tables()]
    return Inputs(
        study, paper, name, read_scores(study, scores), read_profiles(study, profiles),
        {Path(path).stem: read(path) for path in tables}, read_best(study, gridded(study, exhibit)),
        mixed_warning(study, paper, shown),
    )  # fmt: skip


Recorded = tuple[str, str, Line]  # the two keys under which `published` holds a number, and the line that has it


class Table(Exhibit):
    """The base of all kinds of tables; a kind is a file of `retort/tables/kinds`."""

    @abstractmethod
    def collect(self, inputs: Inputs) -> list[Line]:
        """Return the tidy lines of the table."""

    @abstractmethod
    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the tidy lines as the content of a printed table."""

    def verdicts(self, lines: list[Line]) -> dict[tuple[str, str], str]:
        """Return (row, column) -> the verdict on the cell; an empty string if it has none."""
        return {(line.row, line.column): line.verdict for line in lines}

    def recorded(self, study: Study, paper: str, lines: list[Line]) -> list[Recorded] | None:
        """Return what is recorded of a run as the table's `published`; None for a kind that records nothing."""
        return None


def table_of(study: Study, paper: str, name: str) -> Table:
    """Return a table of a study."""
    return cast(Table, study.exhibits[paper, name])  # files called table*.yaml are read as kinds of tables only

"""What every kind of table adds to an exhibit: how its lines are collected, reported and counted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from retort.results.collect import BestTrials, Scores, read_best, read_profiles, read_scores
from retort.results.environments import mixed_warning
from retort.results.frames import KEY, read
from retort.results.planned_study import planned_study
from retort.results.score_files import Record
from retort.specs.exhibit import Exhibit
from retort.study.cells import gridded
from retort.study.study import Study
from retort.tables.layout import Sheet

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class Inputs:
    """The inputs of a table or figure: its study, paper and name, and the contents of the files that it reads.

    Args:
        study: the study.
        paper: the paper of the table or figure.
        name: its name.
        scores: the scores that have been run.
        profiles: student or teacher -> its profile.
        tables: the frames of the tables that it reads.
        trials: the best trials of grids, which verdicts compare with reported ones.
        remark: a sentence for readers on the runs behind its numbers; may be empty.
    """

    study: Study
    paper: str
    name: str
    scores: Scores = field(default_factory=dict)
    profiles: Mapping[str, Record] = field(default_factory=dict)
    tables: Mapping[str, DataFrame] = field(default_factory=dict)
    trials: BestTrials = field(default_factory=dict)
    remark: str = ""


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


class Table(Exhibit):
    """The base of all kinds of tables; a kind is a file of `retort/tables/kinds`."""

    @abstractmethod
    def collect(self, inputs: Inputs) -> DataFrame:
        """Return the frame of the table: a line for each cell."""

    @abstractmethod
    def lay_out(self, frame: DataFrame) -> Sheet:
        """Lay out the frame as the content of a reported table."""

    def verdicts(self, frame: DataFrame) -> Series[str]:
        """Return the verdict on each cell, by row and column; an empty string if it has none."""
        return frame.set_index(KEY)["verdict"]

    def recorded(self, study: Study, paper: str, frame: DataFrame) -> DataFrame | None:
        """Return the lines that are recorded of a run as the table's `reported`; None for a kind that records nothing.

        Their `row` and `column` are the two keys under which `reported` holds the number.
        """
        return None


def table_of(study: Study, paper: str, name: str) -> Table:
    """Return a table of a study."""
    return cast(Table, study.exhibits[paper, name])  # files called table*.yaml are read as kinds of tables only

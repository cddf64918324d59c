"""Made-up results of whole papers: for each cell that is run a score near the reported one, drawn with a seed.

A score has the deviation that is shown next to it, or that follows from the one of its average. Where there is none,
verdicts assume one. So that they are not tested with what they assume, such a score has a deviation that is reported of
another one, drawn by lot.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

from pandas import DataFrame
from retort.plan.plan import Plan
from retort.results.collect import Scores
from retort.settings.trainings import ProfileSettings
from retort.specs.exhibit import scored_metrics
from retort.specs.reported import Number
from retort.study.cells import expand, sent_runs
from retort.study.study import Study
from retort.tables.base import Inputs, table_of

Score = tuple[str, str, str]  # student, task, metric


@dataclass(frozen=True)
class ReportedMean:
    """A reported number with the scores of one student that it is a mean over: often one.

    Args:
        scores: (student, task, metric) of each of them.
        number: the number.
        computed: whether the scores are reported in other columns of its row.
    """

    scores: list[Score]
    number: Number
    computed: bool


def reported_means(study: Study) -> list[ReportedMean]:
    """Return every mean of scores that the papers report; those of the fewest scores come first."""
    means = []
    for (paper, _), exhibit in study.exhibits.items():
        cells = {(cell.row, cell.column): cell for cell in exhibit.cells()}
        for reported in exhibit.reported_cells() if not study.papers[paper].ours else ():
            cell = cells.get((reported.row, reported.column))
            if cell and reported.number:
                columns = [cells[cell.row, column] for column in cell.spec.mean_of]
                scores = [(one.student, *pair) for one in (cell, *columns) for pair in one.scored]
                means += [ReportedMean(scores, reported.number, bool(columns))] if scores else []
    return sorted(means, key=lambda mean: len(mean.scores))


class Deviations:
    """The deviation of each score over seeds: as reported, else by lot.

    - A score that is reported with its deviation has that one.
    - A score within a mean over k tasks that is reported with its deviation s has s sqrt(k), as of independent tasks.
      The languages of a task are scored on the same training, so they count as one.
    - Any other has a reported deviation of the same task and metric, if there are any, else of any cell: drawn by lot.

    Args:
        means: what the papers report.
    """

    def __init__(self, means: list[ReportedMean]) -> None:
        self.reported: dict[Score, float] = {}
        self.of_tasks: dict[tuple[str, str], list[float]] = {}
        self.all: list[float] = []
        for mean in means:
            if (std := mean.number.std) is None:
                continue
            self.all.append(std)
            for score in mean.scores:
                self.reported.setdefault(score, std * math.sqrt(len({task for _, task, _ in mean.scores})))
            if len(mean.scores) == 1:
                self.of_tasks.setdefault(mean.scores[0][1:], []).append(std)

    def of(self, score: Score) -> float:
        """Return the deviation of a score."""
        if score in self.reported:
            return self.reported[score]
        return random.Random(f"deviation of {score}").choice(self.of_tasks.get(score[1:], self.all))


def made_up(study: Study, shift: float = 0.0) -> Scores:
    """Return a score for every cell of every table, as if it was read from its file.

    Each score is drawn around its reported mean, or that of the mean over tasks in which it is reported, from a
    generator with a seed of its own.

    Args:
        study: the study.
        shift: points by which all our true means differ from the reported ones.
    """
    means, scores = reported_means(study), Scores()
    deviations = Deviations(means)
    reported: dict[Score, float] = {}
    for mean in means:
        for score in mean.scores if not mean.computed else ():
            reported.setdefault(score, mean.number.value)
    runs = {(cell.student, cell.task, cell.seed) for cell in expand(study)}
    for exhibit in study.exhibits.values():
        runs |= sent_runs(study, exhibit)
    metrics: dict[str, set[str]] = {}
    for exhibit in study.exhibits.values():
        for task, metric in scored_metrics(exhibit):
            metrics.setdefault(task, set()).add(metric)
    for student, task, seed in sorted(runs):
        draw = random.Random(f"{student} {task} {seed}")
        values = {}
        for metric in sorted(metrics[task]):
            score = (student, task, metric)
            values[metric] = (reported.get(score, 70.0) + shift + draw.gauss(0, deviations.of(score))) / 100
        record = {"student": student, "task": task, "seed": seed, "status": "ok", "metrics": values}
        scores[student, task, seed] = record
    return scores


def lines_of(study: Study, scores: Scores) -> dict[tuple[str, str], DataFrame]:
    """Return the frame of every table of scores that a paper reports."""
    return {
        (paper, name): table_of(study, paper, name).collect(Inputs(study, paper, name, scores))
        for (paper, name), exhibit in sorted(study.exhibits.items())
        if exhibit.compared_rows() and not study.papers[paper].ours
    }


def profile_of(job: ProfileSettings) -> dict[str, Any]:
    """Return the profile that a job with these settings makes on a machine without a GPU."""
    sizes = {"parameters": 30_000, "without_embeddings": 20_000, "without_pooler": 29_000}
    times = [1.0, 1.1, 1.2, 1.3, 1.4]
    return {
        **sizes,
        "latency_ms": times,
        "further": {timing.name: times for timing in job.further or []},
        "device": "cpu: any",
    }


def all_lines(plan: Plan) -> dict[tuple[str, str], DataFrame]:
    """Return the lines of every table and figure once all jobs of a plan have ended well."""
    study, scores, lines = plan.study, made_up(plan.study), dict[tuple[str, str], DataFrame]()
    profiles = {name: profile_of(job) for name, job in plan.settings.profiles.items()}
    for paper, name in sorted(study.exhibits, key=lambda key: bool(study.exhibits[key].drawn_tables())):
        exhibit: Any = study.exhibits[paper, name]
        others = {
            table: found for (slug, table), found in lines.items() if slug == paper
        }  # which some of the last read
        inputs = Inputs(study, paper, name, scores, profiles, others)
        lines[paper, name] = exhibit.collect(inputs)
    return lines

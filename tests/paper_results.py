"""Made-up results of whole papers: for each cell that is run a score near the printed one, drawn with a seed."""

from __future__ import annotations

import random

from retort.specs.config import Config
from retort.study.cells import expand, sent_runs
from retort.study.load import open_whole
from retort.study.study import Study
from retort.tables.base import Inputs, table_of
from retort.tables.collect import Scores
from retort.tables.tidy import Line, Status

UNITS = {"parameters": "M", "latency": "ms", "speed-up": "times", "change": "%"}
STD = 0.6  # points: the deviation over seeds of a score for which the study gives none


def whole_study() -> Study:
    """Return the study of every paper at the papers' own scale."""
    return open_whole(Config(scale="paper"))


def printed_scores(study: Study) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return (student, task, metric) -> mean and deviation: those of the first cell that prints it alone.

    The mean of a score that is printed only within a mean over tasks is that mean. A deviation that is not printed is
    the one that the column assumes, else STD.
    """
    scores: dict[tuple[str, str, str], tuple[float, float]] = {}
    printed = [
        (cell, numbers[cell.row, cell.column])
        for exhibit in study.exhibits.values()
        for numbers in [{(one.row, one.column): one.number for one in exhibit.published_cells() if one.number}]
        for cell in exhibit.cells()
        if (cell.row, cell.column) in numbers
    ]
    for cell, number in sorted(printed, key=lambda pair: len(pair[0].scored) > 1):  # those alone come first
        assumed = cell.spec.assumed_std.points if cell.spec.assumed_std else STD
        std = assumed if number.std is None or len(cell.scored) > 1 else number.std
        for task, metric in cell.scored:
            scores.setdefault((cell.student, task, metric), (number.value, std))
    return scores


def made_up(study: Study, shift: float = 0.0) -> Scores:
    """Return a score for every cell of every table, as if it was read from its file.

    Each score is drawn around the printed mean with the printed deviation, from a generator with a seed of its own.

    Args:
        study: the study.
        shift: points by which all our true means differ from the printed ones.
    """
    printed, scores = printed_scores(study), Scores()
    runs = {(cell.student, cell.task, cell.seed) for cell in expand(study)}
    for exhibit in study.exhibits.values():
        runs |= sent_runs(study, exhibit)
    metrics: dict[str, set[str]] = {}
    for exhibit in study.exhibits.values():
        for task, metric in exhibit.metrics():
            metrics.setdefault(task, set()).add(metric)
    for student, task, seed in sorted(runs):
        draw = random.Random(f"{student} {task} {seed}")
        values = {}
        for metric in sorted(metrics[task]):
            mean, std = printed.get((student, task, metric), (70.0, STD))
            values[metric] = (mean + shift + draw.gauss(0, std)) / 100
        record = {"student": student, "task": task, "seed": seed, "status": "ok", "metrics": values}
        scores[student, task, seed] = record
    return scores


def lines_of(study: Study, scores: Scores) -> dict[tuple[str, str], list[Line]]:
    """Return the tidy lines of every table of scores that a paper prints."""
    return {
        (paper, name): table_of(study, paper, name).collect(Inputs(study, paper, name, scores))
        for (paper, name), exhibit in sorted(study.exhibits.items())
        if exhibit.compared_rows() and not study.papers[paper].ours
    }


def filled(study: Study) -> dict[tuple[str, str], list[Line]]:
    """Return the tidy lines of every table and figure of the papers, each cell of ours with a number.

    Scores are drawn as in `made_up`; sizes and times are those that are printed; points of figures, which print none,
    are drawn around 80. Cells that only a test server can score keep our score on dev, quoted rows have no number.
    """
    lines = lines_of(study, made_up(study))
    for (paper, name), exhibit in study.exhibits.items():
        if study.papers[paper].ours:
            continue
        if name.startswith("table") and exhibit.kind == "training-cost":  # computed from settings: nothing is made up
            lines[paper, name] = table_of(study, paper, name).collect(Inputs(study, paper, name))
            continue
        known = {(line.row, line.column): line for line in lines.get((paper, name), [])}
        printed = {(cell.row, cell.column): cell.number for cell in exhibit.published_cells() if cell.number}
        for cell in exhibit.cells():
            key, number = (cell.row, cell.column), printed.get((cell.row, cell.column))
            if key in known and known[key].status is not Status.MISSING:
                continue
            if number is None and not name.startswith("figure"):
                continue
            mean = number.value if number else random.Random(f"{paper} {name} {cell.row}").gauss(80, STD)
            known[key] = Line(paper, name, *key, cell.student, cell.task, cell.metric, UNITS.get(cell.metric, "x100"),
                              mean=mean, n=1)  # fmt: skip
        lines[paper, name] = list(known.values())
    return lines

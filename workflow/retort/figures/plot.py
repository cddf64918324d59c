"""Make one figure: collect its points, write them as a tidy CSV, read that back, and draw it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from retort.engine.job import Job
from retort.figures.base import figure_of
from retort.results.collect import read_profiles, read_scores
from retort.results.environments import mixed_warning
from retort.results.tidy import Line, read, withhold_verdicts, write
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.tables.base import Inputs


def plot_figure(
    job: Job,
    config: dict[str, Any],
    paper: str,
    figure: str,
    scores: Iterable[str],
    profiles: Iterable[str],
    tables: Iterable[str],
    csv: str,
    renders: dict[str, str],
) -> None:
    """Write the tidy CSV of a figure, and the figure in each requested file format.

    Raises:
        RetortError: a score or profile was made with other settings than the study's.
    """
    study = open_study(read_config(config))
    inputs = Inputs(
        study,
        paper,
        figure,
        read_scores(study, scores),
        read_profiles(study, profiles),
        {Path(path).stem: read(path) for path in tables},
        remark=mixed_warning(study, paper, study.exhibits[paper, figure].compares() or [figure]),
    )
    job.say(f"{len(draw_figure(inputs, csv, renders))} values")


def draw_figure(inputs: Inputs, csv: Path | str, renders: dict[str, str]) -> list[Line]:
    """Write the tidy CSV of a figure, read it back, and draw it in each file format; return the lines."""
    spec = figure_of(inputs.study, inputs.paper, inputs.name)
    write(csv, withhold_verdicts(inputs.study, inputs.paper, spec.collect(inputs)))
    lines = read(csv)
    spec.render(inputs, lines, renders)
    return lines

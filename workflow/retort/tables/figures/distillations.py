"""Figures of the spread between distillations of students, and between the fine-tunings of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from retort.formatters import number
from retort.judgement.components import variance_components
from retort.results.frames import lines_of, scores_by_run
from retort.specs.base import Name, check_known
from retort.specs.exhibit import StudyNames, exhibits_of, figure_kind
from retort.tables.base import Inputs
from retort.tables.figures.base import Figure
from retort.tables.figures.style import BLUE, INK, MUTED, figure, save, save_empty_figure, write_notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

NO_SPREAD = "No point to draw: no student has scores of several distillations"
OFFSET = 0.5  # from the row of a student to the ends of its distillations, of the distance of two rows


@figure_kind
class DistillationsFigure(Figure):
    """A figure of each score of a table by student and distillation; students need as many distillations each."""

    kind: Literal["distillations"] = Field(description="which kind of figure this is")
    of: Name = Field(description="a table of scores")

    def drawn_tables(self) -> list[str]:
        """Return the table that is drawn."""
        return [self.of]

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line if the table is no table of scores of the paper."""
        tables = exhibits_of(study, paper)
        yield from check_known("of", "table", [self.of], [name for name in tables if tables[name].compared_rows()])

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return the lines of the table, with the figure's name in its place."""
        return inputs.tables[self.of].assign(table=inputs.name)

    def draw(self, inputs: Inputs, frame: DataFrame, renders: dict[str, str]) -> None:
        """Draw and save the figure: a panel a column, a line a student; large dots are distillations."""
        there = frame[frame["distillations"] > 1]
        if there.empty:
            save_empty_figure(NO_SPREAD, renders)
            return
        columns = list(there["column"].unique())
        with figure(3.1 * len(columns) + 0.9, 3.6) as drawn:
            for axes, column in zip(
                drawn.subplots(1, len(columns), sharey=True, squeeze=False)[0], columns, strict=True
            ):
                _panel(axes, column, there[there["column"] == column])
            write_notes(drawn, frame, inputs.remark)
            save(drawn, renders)


def _panel(axes: Axes, column: str, lines: DataFrame) -> None:
    """Draw the scores of a column: each student's mean, its distillations, and the fine-tunings of each."""
    rows = [(line.row, scores_by_run(line.by_run)) for line in lines_of(lines)]
    for place, (_, runs) in enumerate(rows):
        seeds = list(dict.fromkeys(first for first, _ in runs))
        for at, seed in enumerate(seeds):
            y = place + OFFSET * ((at + 0.5) / len(seeds) - 0.5) * 1.5
            scores = [score for (first, _), score in runs.items() if first == seed]
            axes.plot(scores, [y] * len(scores), "-", color=MUTED, linewidth=0.8, zorder=1)
            axes.plot(scores, [y] * len(scores), "o", color=MUTED, markersize=2.2, zorder=2)
            axes.plot(sum(scores) / len(scores), y, "o", color=BLUE, markersize=5.5, zorder=3)
        mean = sum(runs.values()) / len(runs)
        axes.plot([mean, mean], [place - 0.42, place + 0.42], color=INK, linewidth=1.6, zorder=4)
    axes.set_yticks(range(len(rows)), [row for row, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_title(f"{column}\n{_spread([runs for _, runs in rows])}", fontsize=9)
    axes.set_xlabel("score, × 100")


def _spread(rows: list[dict[tuple[int, int], float]]) -> str:
    """Return both deviations and their ratio as text; empty if the runs of the students do not match.

    It is empty, too, if no fine-tunings of a distillation differ, or each has a single one.
    """
    import numpy as np

    if any(row.keys() != rows[0].keys() for row in rows):
        return ""
    first = list(dict.fromkeys(seed for seed, _ in rows[0]))
    scores = np.array([list(row.values()) for row in rows]).reshape(len(rows), len(first), -1)
    if not np.ptp(scores, axis=2).any():
        return ""
    found = variance_components(scores)
    ratio = " to ".join(number(end, 1) for end in found.ratio[1:])
    return (
        f"distillations ± {number(found.distillations, 2)}, fine-tunings ± {number(found.finetunings, 2)}\n"
        f"ratio {number(found.ratio[0], 2)} ({ratio})"
    )

"""Figures of curves of scores, and of effects: how far some of the curves lie above others, paired by seed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from retort.judgement.difference import mean_is_zero
from retort.results.frames import lines_of, scores_by_seed
from retort.specs.base import Distinct, Label, Name, Spec, Text, Whole, check_known
from retort.specs.exhibit import StudyNames, exhibits_of, figure_kind
from retort.tables.base import Inputs
from retort.tables.figures.base import Figure
from retort.tables.figures.style import MUTED, SERIES, figure, points, save, write_notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

STYLES = ("o-", "s--", "^:", "D-.")
APART = 1.02  # a curve is drawn so much to the right of the one before it
Place = Annotated[Whole, Field(ge=1, le=100_000_000)]
Scores = dict[int, float]  # seed -> score


class Effect(Spec):
    """An effect: the mean of some rows less the mean of others."""

    label: Label = Field(description="as reported")
    above: Distinct[Text] = Field(min_length=1, description="rows whose mean is taken")
    below: Distinct[Text] = Field(min_length=1, description="rows whose mean is taken off")


@figure_kind
class EffectsFigure(Figure):
    """A figure of a table: a curve a row in one panel, and differences of rows, paired by seed, in another."""

    kind: Literal["effects"] = Field(description="which kind of figure this is")
    of: Name = Field(description="a table of scores")
    axis: Text = Field(description="what the numbers of the columns are; the axis is logarithmic")
    columns: dict[Place, Text] = Field(min_length=2, description="number on the axis -> column of the table")
    curves: Distinct[Text] = Field(min_length=2, max_length=len(SERIES), description="rows of the table")
    effects: list[Effect] = Field(min_length=1, max_length=len(SERIES), description="what the second panel shows")

    def drawn_tables(self) -> list[str]:
        """Return the table that it shows."""
        return [self.of]

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each table, row, column or curve that does not exist."""
        tables = exhibits_of(study, paper)
        yield from check_known("of", "table", [self.of], tables)
        if self.of in tables:
            known = tables[self.of].rows_and_columns()
            yield from check_known("curves", "row", self.curves, known)
            columns = {column for row in known.values() for column in row}
            yield from check_known("columns", "column", self.columns.values(), columns)
        for effect in self.effects:
            yield from check_known("effects", "curve", [*effect.above, *effect.below], self.curves)

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return the lines of the drawn cells, with the figure's name instead of the table's."""
        drawn = {(row, column) for row in self.curves for column in self.columns.values()}
        frame = inputs.tables[self.of]
        shown = [cell in drawn for cell in zip(frame["row"], frame["column"], strict=True)]
        return frame[shown].assign(table=inputs.name).reset_index(drop=True)

    def draw(self, inputs: Inputs, frame: DataFrame, renders: dict[str, str]) -> None:
        """Draw and save the figure: bars are 95 % intervals over seeds, those of effects from paired differences."""
        there = list(lines_of(frame[frame["mean"].notna()]))
        found = {(line.row, line.column): scores_by_seed(line.by_seed) or {0: line.mean} for line in there}
        curves = {
            row: {x: found[row, column] for x, column in sorted(self.columns.items()) if (row, column) in found}
            for row in self.curves
        }
        with figure(8.2, 3.9) as drawn:
            left, right = drawn.subplots(1, 2)
            for place, (label, curve) in enumerate(curves.items()):
                _curve(left, label, curve, SERIES[place], place)
            for effect, (color, place) in zip(self.effects, self.looks(), strict=True):
                apart = effect_of([curves[name] for name in effect.above], [curves[name] for name in effect.below])
                _curve(right, effect.label, apart, color, place)
            right.axhline(0, color=MUTED, linewidth=1, zorder=1)
            ticks = sorted(self.columns)
            for axes, ylabel in (
                (left, f"{there[0].metric.capitalize()} on {there[0].task}, × 100"),
                (right, "difference, points"),
            ):
                axes.set(xscale="log", xlabel=self.axis, ylabel=ylabel)
                axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
                axes.set_xticks([], minor=True)
                axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False, fontsize=8.5)
            write_notes(drawn, frame, inputs.remark)
            save(drawn, renders)

    def looks(self) -> list[tuple[str, int]]:
        """Return the colour of each effect, and the place of its style: those of its curve, if no other has it."""
        places = [self.curves.index(effect.above[0]) for effect in self.effects]
        if len({*places}) == len(places):
            return [(SERIES[place], place) for place in places]
        return [(SERIES[-1 - place], place) for place in range(len(places))]


def effect_of(above: list[dict[int, Scores]], below: list[dict[int, Scores]]) -> dict[int, Scores]:
    """Return the mean of some curves less the mean of others, at each place and under each seed that all have."""
    every = [*above, *below]
    places = [x for x in every[0] if all(x in curve for curve in every)]
    shared = {x: sorted(set.intersection(*(set(curve[x]) for curve in every))) for x in places}
    return {x: {seed: _mean(above, x, seed) - _mean(below, x, seed) for seed in shared[x]} for x in places if shared[x]}


def _mean(curves: list[dict[int, Scores]], x: int, seed: int) -> float:
    return statistics.mean(curve[x][seed] for curve in curves)


def half_width(values: list[float]) -> float:
    """Return half of the 95 % interval of a mean (Student's t); 0 for a single value, or for equal ones."""
    apart = mean_is_zero([values]).difference
    return float(apart.interval()[1] - apart.value) if apart else 0.0


def _curve(axes: Axes, label: str, curve: dict[int, Scores], color: str, place: int) -> None:
    values = [list(scores.values()) for scores in curve.values()]
    means, bars = [statistics.mean(each) for each in values], [half_width(each) for each in values]
    nearby = [x * APART**place for x in curve]  # so that no bar hides another
    points(axes, nearby, means, yerr=bars, fmt=STYLES[place], color=color, linewidth=1.6, label=label)

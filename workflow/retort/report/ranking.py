"""Dot plots that rank the rows of a table of scores: reported, a recorded run and this run, over the same columns.

Sides that share no column have a panel each, and so do numbers of others. The pages draw them as inline SVG
(`rank` in ranking.html): places are in percent of a panel, so text keeps its size.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from retort.formatters import number
from retort.judgement.difference import VariancePart, welch_difference
from retort.judgement.judge import Facts, Side
from retort.results.frames import lines_of
from retort.specs.exhibit import Exhibit
from retort.specs.rows import CellSpec
from retort.study.reasons import HAS_VALUE

if TYPE_CHECKING:
    from pandas import DataFrame

LEAST_ROWS = 3  # of a plot: two rows are ranked by reading their table
PLACES = 0.04  # free part of a panel at either end
NEARLY = 0.9  # of the rows
LISTED = 4  # up to so many columns are named on an axis; more are only counted


Cell = tuple[float, float | None, int]  # mean, standard deviation, number of runs


@dataclass(frozen=True)
class RankedMean:
    """A mean with the parts of its variance; None if its spread is not known."""

    value: float
    parts: Sequence[VariancePart] | None = None

    @classmethod
    def of(cls, cells: Sequence[Cell], less: Sequence[Cell] = ()) -> RankedMean:
        """Return the mean of some cells, less that of others; the runs of all are independent."""
        value = statistics.mean(mean for mean, _, _ in cells)
        if less:
            value -= statistics.mean(mean for mean, _, _ in less)
        spread = [(std, runs) for _, std, runs in (*cells, *less) if std is not None and runs > 1]
        if len(spread) < len(cells) + len(less):
            return cls(value)
        return cls(value, [VariancePart(std**2 / runs / len(cells) ** 2, runs - 1) for std, runs in spread])

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval; None if the spread is not known."""
        if self.parts is None or not sum(part.variance for part in self.parts):
            return None
        low, high = welch_difference(self.value, self.parts).interval()
        return float(low), float(high)

    @property
    def text(self) -> str:
        """The mean, with its interval if it has one."""
        ends = self.interval
        return number(self.value, 1) + (f" ({number(ends[0], 1)} to {number(ends[1], 1)})" if ends else "")


Points = Mapping[str, list[tuple[str, str, RankedMean]]]  # row -> class in page.css, words before the number, score


@dataclass(frozen=True)
class Panel:
    """One panel: what its axis shows, the sides that it shows, the points of its rows, and the ends of its axis.

    Args:
        title: the name of the axis.
        legend: class in page.css -> side in words.
    """

    title: str
    legend: Mapping[str, str]
    points: Points
    low: float
    high: float

    def spoken(self, row: str) -> str:
        """Return the points of a row as text."""
        return ", ".join(f"{words}{score.text}" for _, words, score in self.points[row])

    def place(self, value: float) -> float:
        """Return the place of a value in percent of the panel."""
        wide = (self.high - self.low or 1.0) / (1 - 2 * PLACES)
        return float(round(100 * (PLACES + (value - self.low) / wide), 1))

    @cached_property
    def ticks(self) -> list[tuple[float, str]]:
        """The place and the label of each tick."""
        from matplotlib.ticker import MaxNLocator

        nearby = (self.high - self.low) * PLACES
        ticks = [float(tick) for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(self.low, self.high)]
        ticks = [tick for tick in ticks if self.low - nearby <= tick <= self.high + nearby]
        decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0]))) if ticks[1:] else 1
        return [(self.place(tick), number(tick, decimals)) for tick in ticks]


@dataclass(frozen=True)
class Plot:
    """A dot plot: rows from top to bottom, and panels from left to right."""

    rows: list[str]
    panels: list[Panel]

    @property
    def alternative(self) -> str:
        """The plot as text: the rows of each panel in the order of the plot."""
        return ". ".join(
            f"{' and '.join(panel.legend.values())}{': ' * bool(panel.legend)}{panel.title}: "
            + "; ".join(f"{row} {panel.spoken(row)}" for row in self.rows if row in panel.points)
            for panel in self.panels
        )


def panel_of(title: str, legend: Mapping[str, str], points: Points, zero: bool = False) -> Panel:
    """Return a panel on an axis that holds all of its points and intervals, and zero if asked."""
    scores = [score for row in points.values() for _, _, score in row]
    reached = [end for score in scores for end in (score.value, *(score.interval or ()))] + [0.0] * zero
    return Panel(title, legend, points, min(reached), max(reached))


# --- the ranking of a table


def cell_of(facts: Facts) -> Cell:
    """Return what is plotted of a cell that has a number."""
    return facts["value"], None if math.isnan(facts["std"]) else facts["std"], facts["n"]


ScoresOfRows = dict[str, dict[str, Cell]]  # row -> column -> cell


def scores_of_rows(side: Side, table: str) -> ScoresOfRows:
    """Return the scores that a side has in a table, as plots rank them."""
    rows: ScoresOfRows = {}
    for (name, row, column), facts in side.numbers.items():
        if name == table and facts["unit"] == "x100":
            rows.setdefault(row, {})[column] = cell_of(facts)
    return rows


def _sides(frame: DataFrame, runs: int) -> dict[str, ScoresOfRows]:
    """Return the cells as reported, of the recorded run and of this run, without those that have no number."""
    sides: dict[str, ScoresOfRows] = {"reported": {}, "recorded": {}, "ours": {}}
    for line in lines_of(frame):
        mean = line.mean if line.status in HAS_VALUE else None
        given = {
            "reported": (line.reported, line.reported_std, line.reported_n),
            "recorded": (line.recorded, line.recorded_std, runs),
            "ours": (mean, line.std, line.n),
        }
        for side, (value, std, count) in given.items():
            if value is not None:
                sides[side].setdefault(line.row, {})[line.column] = (value, std, count)
    return sides


def _averaged(exhibit: Exhibit) -> tuple[str, list[str]]:
    """Return the name of the column of means, and the columns behind it; no name and no columns if there is not one."""
    specs = [cell.spec for cell in exhibit.cells()]
    means = list(dict.fromkeys((spec.name, *spec.mean_of) for spec in specs if spec.mean_of))
    return (means[0][0], list(means[0][1:])) if len(means) == 1 else ("", [])


def _columns(cells: ScoresOfRows, mean: str, behind: list[str]) -> list[str]:
    """Return the columns behind the score of each row; without a column of means, those that nearly all rows have."""
    counts = Counter(column for of_row in cells.values() for column in of_row)
    if counts[mean]:
        return [column for column in behind if counts[column]]
    return [column for column, count in counts.items() if count >= NEARLY * max(counts.values())]


def _ranked(cells: ScoresOfRows, mean: str, kept: list[str]) -> dict[str, RankedMean]:
    """Return row -> score: the mean that is reported, if one is named, or that of columns."""
    scores = {}
    for row, of_row in cells.items():
        if mean in of_row or (all(column in of_row for column in kept) and not mean):
            over = RankedMean.of([of_row[column] for column in kept if column in of_row] or [of_row[mean]])
            own = RankedMean.of([of_row[mean]]) if mean in of_row else over
            scores[row] = own if own.parts else RankedMean(own.value, over.parts)
    return scores


def _comparable(frame: DataFrame, specs: Mapping[tuple[str, str], CellSpec]) -> bool:
    """Return whether all rows measure the same in each column."""
    cells = [specs[key] for key in zip(frame["row"], frame["column"], strict=True) if key in specs]
    measured = {(one.column, one.task, one.metric, *one.tasks.items()) for one in cells if one.student}
    return len({column for column, *_ in measured}) == len(measured)


def ranking(
    exhibit: Exhibit,
    frame: DataFrame,
    titles: Mapping[str, str],
    runs: int = 0,
    others: Mapping[str, ScoresOfRows] | None = None,
) -> Plot | None:
    """Return the dot plot of a table of scores, best row first; None for a table that ranks nothing.

    Args:
        exhibit: the table.
        frame: its frame.
        titles: the name of each side: 'reported', 'recorded' and 'ours'.
        runs: the number of runs behind a recorded mean.
        others: who replicated rows -> their numbers; these have a panel of their own, next to what is reported.
    """
    if not exhibit.compared_rows():
        return None
    specs = {(cell.row, cell.column): cell for cell in exhibit.cells()}
    scored = frame[frame["unit"] == "x100"]
    if not _comparable(scored, specs):
        return None
    mean, behind = _averaged(exhibit)
    sides = {side: cells for side, cells in _sides(scored, runs).items() if cells}
    over = {side: _columns(cells, mean, behind) for side, cells in sides.items()}
    ranked = {
        side: _ranked(cells, mean if any(mean in of_row for of_row in cells.values()) else "", over[side])
        for side, cells in sides.items()
    }
    shown = [side for side, scores in ranked.items() if _has_order(scores)]
    shared = [column for column in over[shown[0]] if all(column in over[side] for side in shown)] if shown else []
    if shared and any(over[side] != shared for side in shown):  # a mean over more columns is another mean
        again = {side: _ranked(sides[side], "", shared) for side in shown}
        if all(map(_has_order, again.values())):
            ranked, over = again, dict.fromkeys(shown, shared)
    together = [shown] if shared and all(over[side] == shared for side in shown) else [[side] for side in shown]
    panels = [
        panel_of(
            f"score × 100, {_named(over[group[0]])}",
            {side: titles[side] for side in group},
            _points({side: ranked[side] for side in group}, titles),
        )
        for group in together
    ]
    order = {row: score.value for side in reversed(shown) for row, score in ranked[side].items()}
    if panels and (replicated := _replicated(sides.get("reported", {}), others or {}, titles, order)):
        panels.append(replicated)
    return Plot(sorted(order, key=lambda row: -order[row]), panels) if panels else None


def _replicated(
    reported: ScoresOfRows, others: Mapping[str, ScoresOfRows], titles: Mapping[str, str], shown: Collection[str]
) -> Panel | None:
    """Return a panel of what others have next to what is reported, over the columns that compare the most cells."""
    whole = {
        (who, row): [column for column in reported.get(row, {}) if column in cells]
        for who, rows in others.items()
        for row, cells in rows.items()
        if row in shown
    }

    def compared(columns: list[str]) -> tuple[int, int]:
        return len(columns) * sum({*columns} <= {*each} for each in whole.values()), len(columns)

    kept = max(whole.values(), key=compared, default=[])
    if not kept:
        return None
    points = _points(
        {"reported": {row: one for row, one in _ranked(reported, "", kept).items() if row in shown}}, titles
    )
    for (who, row), columns in whole.items():
        if {*kept} <= {*columns}:
            mean = RankedMean.of([others[who][row][column] for column in kept])
            points[row].append(("replicated", f"{who} ", mean))
    legend = {"reported": titles["reported"], "replicated": "replicated by others"}
    return panel_of(f"score × 100, {_named(kept)}", legend, points)


def _has_order(scores: Mapping[str, RankedMean]) -> bool:
    """Return whether there are enough rows to rank, not all of one score."""
    return len(scores) >= LEAST_ROWS and len({score.value for score in scores.values()}) > 1


def _named(columns: list[str]) -> str:
    """Return the columns over which a score is, in words."""
    names = ", ".join(columns)
    return f"mean of {names if len(columns) <= LISTED else f'{len(columns)} columns'}" if columns[1:] else names


def _points(ranked: Mapping[str, Mapping[str, RankedMean]], titles: Mapping[str, str]) -> Points:
    """Return the points of each row; where several sides stand in a panel, each says which it is."""
    points: dict[str, list[tuple[str, str, RankedMean]]] = {}
    for side, scores in ranked.items():
        for row, score in scores.items():
            points.setdefault(row, []).append((side, f"{titles[side]} " if len(ranked) > 1 else "", score))
    return points

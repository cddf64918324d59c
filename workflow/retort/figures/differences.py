"""Draw the verdicts of a table as a forest plot: a panel for each column, a difference with interval for each row.

This is no kind of figure: each table with verdicts gets such a plot, without a YAML file.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from retort.engine.job import Job
from retort.figures.style import BLUE, GREEN, GRID, INK, MUTED, ORANGE, figure, save, save_empty_figure
from retort.judgement.verdicts import AGREES, DIFFERS, INCONCLUSIVE, REPEATS, REPRODUCES
from retort.results.tidy import Line, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# verdict -> its marker; shape and filling tell the verdicts apart in greyscale too
MARKERS: dict[str, dict[str, Any]] = {
    REPEATS: {"color": GREEN, "marker": "s", "markerfacecolor": GREEN},
    REPRODUCES: {"color": GREEN, "marker": "s", "markerfacecolor": "none"},
    AGREES: {"color": GREEN, "marker": "o", "markerfacecolor": GREEN},
    INCONCLUSIVE: {"color": BLUE, "marker": "o", "markerfacecolor": "none"},
    DIFFERS: {"color": ORANGE, "marker": "D", "markerfacecolor": ORANGE},
}
MOST_PANELS = 4  # in a row of panels
PANEL, ROW, LETTER = 1.75, 0.22, 0.075  # inches: width of a panel, height of a row, width of a letter of a label
TITLE, WIDEST = 0.16, 21  # inches: height of a line of a title; letters of such a line
LONGEST = 48  # letters of a label; longer ones are shortened in the middle
SHOWN = 2.5  # a panel reaches at least so many margins from zero


def plot_verdicts(job: Job, csv: str, renders: dict[str, str]) -> None:
    """Draw the verdicts of the table in a tidy CSV, in each requested file format."""
    lines = read(csv)
    judged = [line for line in lines if line.low is not None]
    if judged:
        _forest(judged, renders)
    else:
        save_empty_figure(lines, renders)
    job.say(f"{len(judged)} differences")


def _forest(judged: list[Line], renders: dict[str, str]) -> None:
    """Draw judged scores and save the plot."""
    rows = list(dict.fromkeys(line.row for line in judged))
    columns = list(dict.fromkeys(line.column for line in judged))
    across = min(MOST_PANELS, len(columns))
    down = -(-len(columns) // across)
    titles = {column: _title(column) for column in columns}
    above = TITLE * max(title.count("\n") for title in titles.values())
    width = LETTER * min(LONGEST, max(map(len, rows))) + 0.3 + PANEL * across
    with figure(width, 0.8 + down * (0.8 + above + ROW * len(rows))) as drawn:
        grid = drawn.subplots(down, across, squeeze=False, sharey=True)
        for axes, column in zip(grid.flat, columns, strict=False):
            _panel(axes, titles[column], [line for line in judged if line.column == column], rows)
        for axes in grid.flat[len(columns) :]:
            axes.set_visible(False)
        grid[0, 0].set_ylim(len(rows) - 0.4, -0.6)
        grid[0, 0].set_yticks(range(len(rows)), [_short(row) for row in rows])
        drawn.supxlabel("ours less published, × 100", fontsize=10)
        drawn.legend(handles=_legend(judged), loc="outside upper left", ncols=4, frameon=False, fontsize=9)
        save(drawn, renders)


def _reach(lines: list[Line]) -> float:
    """Return how far a panel reaches from zero: all differences lie inside it, ends of intervals may not.

    Each panel has its own scale, since the spread of one task can be a hundred times that of another.
    """
    apart = max(abs((line.mean or 0.0) - (line.published or 0.0)) for line in lines)
    ends = sorted(max(abs(line.low or 0.0), abs(line.high or 0.0)) for line in lines)
    common = ends[int(0.9 * (len(ends) - 1))]
    return max(1.1 * apart, min(common, 2 * max(apart, 1.0)), SHOWN * min(line.margin or 1.0 for line in lines))


def _short(label: str) -> str:
    keep = (LONGEST - 1) // 2
    return label if len(label) <= LONGEST else f"{label[:keep]}…{label[-keep:]}"


def _title(column: str) -> str:
    """Return the name of a column, broken into lines that fit the width of a panel."""
    return "\n".join(line for part in column.split(": ") for line in textwrap.wrap(part, WIDEST))


def _panel(axes: Axes, title: str, lines: list[Line], rows: list[str]) -> None:
    """Draw the differences of one column; the grey band is the margin."""
    margin, reach = lines[0].margin or 0.0, _reach(lines)
    axes.set_xlim(-reach, reach)
    axes.axvspan(-margin, margin, color=GRID, zorder=0, linewidth=0)
    axes.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    for line in lines:
        value = (line.mean or 0.0) - (line.published or 0.0)
        below, above = value - (line.low or 0.0), (line.high or 0.0) - value
        errors = [[max(below, 0.0)], [max(above, 0.0)]]  # an interval without width may be off by rounding
        axes.errorbar(
            value, rows.index(line.row), xerr=errors, markersize=5, elinewidth=1.2, capsize=0, zorder=3,
            **MARKERS[line.verdict],
        )  # fmt: skip
    axes.set_title(title, loc="left", fontsize=9, fontweight="bold", color=INK)
    axes.grid(visible=False, axis="y")
    axes.tick_params(labelsize=9)


def _legend(lines: list[Line]) -> list[object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    verdicts = {line.verdict for line in lines}
    handles: list[object] = [
        Line2D([], [], linestyle="", markersize=6, label=verdict, **look)
        for verdict, look in MARKERS.items()
        if verdict in verdicts
    ]
    margins = sorted({line.margin for line in lines if line.margin})
    return [*handles, Patch(color=GRID, label=f"margin: {' or '.join(f'±{margin:g}' for margin in margins)}")]

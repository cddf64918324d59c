"""Figures of the p-values of a table of paired tests as heat maps: a panel for each compared table and test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from retort.figures.base import Figure
from retort.figures.style import INK, MUTED, PAPER, figure, save
from retort.formatters import p_value
from retort.judgement.difference import DRAWN, FIXED, PairedTest
from retort.results.tidy import Line
from retort.specs.base import Name
from retort.specs.exhibit import StudyNames, check_known, exhibits_of, figure_kind
from retort.tables.base import Inputs
from retort.tables.kinds.paired_tests import matrix
from retort.tables.layout import label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# (upper bound of p, its name, colour of the cell, colour of its text); the last bound is above every p-value.
LEVELS = [
    (0.001, "p < 0.001", "#084a8c", "#fdfdfd"),
    (0.01, "p < 0.01", "#3380b8", "#fdfdfd"),
    (0.05, "p < 0.05", "#b5d4ea", "#0e141a"),
    (2.0, "p ≥ 0.05", "#eef1f4", INK),
]
CELL = 0.46  # inches


@figure_kind
class TestsFigure(Figure):
    """A figure that shows a table of paired tests as a heat map."""

    kind: Literal["tests"] = Field(description="which kind of figure this is")
    of: Name = Field(description="a table of paired tests")

    def drawn_tables(self) -> list[str]:
        """Return the table that it shows."""
        return [self.of]

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line if `of` is not a table of paired tests."""
        names, tables = exhibits_of(study, paper)
        yield from check_known("of", "table", [self.of], names)
        if self.of in tables and not tables[self.of].compares():
            yield f"of: '{self.of}' is not a table of kind 'paired-tests'"

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return the lines of the drawn table, with the figure's name instead of the table's."""
        return [replace(line, table=inputs.name) for line in inputs.tables[self.of]]

    def draw(self, inputs: Inputs, lines: list[Line], renders: dict[str, str]) -> None:
        """Draw and save the figure: uncorrected p-values above each diagonal, those after Holm's correction below."""
        panels = _panels(lines)
        sizes = [len(matrix(panel, test)[0]) for _, panel, test in panels]
        with figure(2.6 + CELL * max(sizes), 0.7 + sum(CELL * size + 0.6 for size in sizes)) as drawn:
            grid = drawn.subplots(len(panels), 1, squeeze=False, height_ratios=sizes)
            for axes, (title, panel, test) in zip(grid[:, 0], panels, strict=True):
                _panel(axes, title, panel, test)
                axes.set_xlim(-0.5, max(sizes) - 0.5)
                axes.set_anchor("W")
            _legend(drawn)
            save(drawn, renders)


def level(p: float) -> tuple[str, str]:
    """Return the colour of a p-value's cell and the colour of the text on it."""
    return next((color, ink) for bound, _, color, ink in LEVELS if p < bound)


def short(value: float) -> str:
    """Return a p-value short enough for its cell: '.042', '.30' or '<.001'."""
    text = p_value(value, 3).replace("0.", ".", 1)
    return text if value < 0.0995 else f"{value:.2f}".replace("0.", ".", 1)


def _panels(lines: list[Line]) -> list[tuple[str, list[Line], PairedTest]]:
    """Return (title, lines, test) of each panel: tasks fixed, and tasks drawn if that test has a value."""
    panels = []
    for table in dict.fromkeys(line.task for line in lines):
        of_table = [line for line in lines if line.task == table]
        measured = {line.metric for line in of_table if line.mean is not None}
        tests = [FIXED, *([DRAWN] if DRAWN.metric in measured else [])]
        panels += [(f"{label_of(table)}, {test.title}", of_table, test) for test in tests]
    return panels


def _panel(axes: Axes, title: str, lines: list[Line], test: PairedTest) -> None:
    from matplotlib.patches import Rectangle

    labels, cells = matrix(lines, test)
    for (row, column), line in cells.items():
        color, ink = level(line.mean) if line.mean is not None else (PAPER, MUTED)
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=color, edgecolor=PAPER, linewidth=2))
        text = "–" if line.mean is None else short(line.mean)
        axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
    count = range(len(labels))
    axes.set(xlim=(-0.5, len(labels) - 0.5), ylim=(len(labels) - 0.5, -0.5), aspect="equal")
    axes.set_xticks(count, [str(i + 1) for i in count])
    axes.set_yticks(count, [f"{label}\u2002{i + 1}" for i, label in enumerate(labels)])
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, labelsize=9)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _legend(drawn: Drawing) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=color, label=name) for _, name, color, _ in LEVELS]
    drawn.legend(handles=handles, loc="outside lower right", ncols=4, frameon=False, fontsize=9, handlelength=1.2)

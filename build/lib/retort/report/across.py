"""The table across papers: the effect of each row against a baseline of its own table, on each side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retort.formatters import signed
from retort.report.outcome import RUN, Files
from retort.report.ranking import Cell, Plot, Score, panel_of
from retort.results.tidy import HAS_VALUE, read
from retort.specs.paper import Across, Compared
from retort.study.study import Study
from retort.tables.recordings import is_outdated, recordings_of

Cells = dict[tuple[str, str], Cell]  # by row and column
LOOKS = {"print": "print", "recorded": "recorded, smaller", "ours": "this run"}


@dataclass(frozen=True)
class Column:
    """The effects of one table on one side.

    Args:
        paper: the name of the paper.
        number: the place of the paper among all, by which its colour is chosen.
        title: the title of the paper.
        table: the table that has the numbers.
        about: what its students share.
        look: the side: 'print', 'recorded' or 'ours'.
        effects: row of the table across papers -> its effect.
    """

    paper: str
    number: int
    title: str
    table: str
    about: str
    look: str
    effects: dict[str, Score]

    @property
    def choice(self) -> tuple[int, str]:
        """The number and title of the paper."""
        return self.number, self.title

    @property
    def side(self) -> str:
        """The side in words."""
        return LOOKS[self.look]

    def text(self, row: str) -> str:
        """Return the effect of a row with half of its 95 % interval, such as '+5.7 ± 0.6'; a dash without one."""
        if (score := self.effects.get(row)) is None:
            return "–"
        ends = score.interval
        return signed(score.value, 1) + (f" ± {(ends[1] - ends[0]) / 2:.1f}" if ends else "")


@dataclass(frozen=True)
class Question:
    """One question: its rows, its columns, and the plot of all effects."""

    name: str
    title: str
    rows: list[str]
    columns: list[Column]
    plot: Plot


def _sides(study: Study, one: Compared, files: Files) -> Iterator[tuple[str, Cells]]:
    """Yield the numbers of a table on each side: in print, recorded at each scale, and in the current run."""
    published = study.exhibits[one.paper, one.table].published_cells()
    numbers = [(cell, cell.number) for cell in published if cell.number]
    yield "print", {(cell.row, cell.column): (of.value, of.std, cell.runs) for cell, of in numbers}
    for scale, recording in recordings_of(study, one.paper).items():
        if not is_outdated(study, one.paper, scale):
            rows = recording.tables.get(one.table, {})
            every = {(row, column): of for row, columns in rows.items() for column, of in columns.items()}
            yield "recorded", {key: (of[0], of[1] if of[1:] else None, recording.runs) for key, of in every.items()}
    if (path := files.tidy(one.paper, one.table)).is_file():
        lines = [line for line in read(path) if line.status in HAS_VALUE and line.mean is not None]
        yield "ours", {(line.row, line.column): (line.mean or 0.0, line.std, line.n) for line in lines}


def _effect(cells: Cells, row: str, one: Compared) -> Score | None:
    """Return the mean over columns of a row less that of the baseline; None if no column has both.

    Runs of both rows count as independent, also where they share their seeds: the interval is then too wide.
    """
    pairs = [((row, column), (one.baseline, column)) for column in one.over]
    both = [(Score.of(cells[own]), Score.of(cells[other])) for own, other in pairs if own in cells and other in cells]
    if not both:
        return None
    return Score.mean([own.less(other) for own, other in both])


def questions(study: Study, shown: list[str], files: Files = RUN) -> list[Question]:
    """Return the questions of the table across papers, each with the papers that are shown."""
    return [found for name, spec in study.across.items() if (found := _question(study, name, spec, shown, files))]


def _question(study: Study, name: str, spec: Across, shown: list[str], files: Files) -> Question | None:
    columns: dict[tuple[str, str, str, str], Column] = {}
    for one in spec.compared:
        for look, cells in _sides(study, one, files) if one.paper in shown else ():
            found = {label: _effect(cells, row, one) for label, row in one.rows.items()}
            effects = {label: effect for label, effect in found.items() if effect is not None}
            key = (one.paper, one.table, one.about, look)
            if key in columns:  # another baseline of the same table
                columns[key].effects.update(effects)
            elif effects:
                number, title = shown.index(one.paper), study.papers[one.paper].title
                columns[key] = Column(one.paper, number, title, one.table, one.about, look, effects)
    every = dict.fromkeys(row for one in spec.compared for row in one.rows)
    rows = [row for row in every if any(row in column.effects for column in columns.values())]
    if not rows:
        return None
    points = {
        row: [
            (f"{one.look} of-{one.number}", f"{one.title}, {one.about}, {one.side}: ", one.effects[row])
            for one in columns.values()
            if row in one.effects
        ]
        for row in rows
    }
    return Question(
        name, spec.title, rows, list(columns.values()), Plot(rows, [panel_of("", "points, × 100", points, zero=True)])
    )

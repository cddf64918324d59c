"""The table across papers: the effect of each row against a baseline of its own table, on each side."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from retort.formatters import signed_number
from retort.judgement.certainty import seed_scores
from retort.judgement.judge import Facts, Key, our_numbers, reported_numbers
from retort.judgement.recorded import side_of_recording
from retort.report.outcome import RUN, Files
from retort.report.ranking import Plot, RankedMean, panel_of
from retort.results.frames import read
from retort.specs.paper import Across, Compared
from retort.study.study import Study
from retort.tables.recordings import is_outdated, recordings_of

Cells = Mapping[Key, Facts]
LOOKS = {"reported": "reported", "record": "recorded run", "recorded": "smaller models", "ours": "this run"}


@dataclass(frozen=True)
class EffectColumn:
    """The effects of one table on one side.

    Args:
        one: the table that has the numbers, and what its students share.
        number: the place of the paper among all, by which its colour is chosen.
        title: the title of the paper.
        look: the side: a key of `LOOKS`; 'record' is that of a study of ours.
        effects: row of the table across papers -> its effect.
    """

    one: Compared
    number: int
    title: str
    look: str
    effects: dict[str, RankedMean]

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
        return signed_number(score.value, 1) + (f" ± {(ends[1] - ends[0]) / 2:.1f}" if ends else "")


@dataclass(frozen=True)
class Question:
    """One question: its rows, its columns, and the plot of all effects."""

    name: str
    title: str
    rows: list[str]
    columns: list[EffectColumn]
    plot: Plot


def _sides(study: Study, one: Compared, files: Files) -> Iterator[tuple[str, Cells]]:
    """Yield the numbers of a table on each side: as reported, recorded at each scale, and in the current run."""
    exhibits = {one.table: study.exhibits[one.paper, one.table]}
    yield "record" if study.papers[one.paper].ours else "reported", reported_numbers(exhibits).numbers
    for scale, (recording, _) in recordings_of(study, one.paper).items():
        if not is_outdated(study, one.paper, scale):
            yield "recorded", side_of_recording(study, one.paper, recording).numbers
    if (path := files.csv(one.paper, one.table)).is_file():
        yield "ours", our_numbers(exhibits, {one.table: read(path)}).numbers


def _effect(cells: Cells, row: str, one: Compared) -> RankedMean | None:
    """Return the mean over columns of a row less that of the baseline; None if no column has both.

    Rows that share their seeds are compared under each seed, and the interval is that of the mean of these differences.
    """
    keys = [((one.table, row, column), (one.table, one.baseline, column)) for column in one.over]
    both = [(cells[own], cells[other]) for own, other in keys if own in cells and other in cells]
    if not both:
        return None
    scores = seed_scores(cell["by_seed"] for pair in both for cell in pair)  # [cells, seeds]
    if scores.shape[1] > 1 and not np.isnan(scores).any():
        means = (scores[::2] - scores[1::2]).mean(axis=0).tolist()
        return RankedMean.of([(statistics.mean(means), statistics.stdev(means), len(means))])
    own, others = ([_spread(cell) for cell in cells] for cells in zip(*both, strict=True))
    return RankedMean.of(own, others)


def _spread(cell: Facts) -> tuple[float, float | None, int]:
    return cell["value"], None if np.isnan(cell["std"]) else cell["std"], cell["n"]


def questions(study: Study, shown: list[str], files: Files = RUN) -> list[Question]:
    """Return the questions of the table across papers, each with the papers that are shown."""
    return [found for name, spec in study.across.items() if (found := _question(study, name, spec, shown, files))]


def _question(study: Study, name: str, spec: Across, shown: list[str], files: Files) -> Question | None:
    columns: dict[tuple[str, str, str, str], EffectColumn] = {}
    for one in spec.compared:
        for look, cells in _sides(study, one, files) if one.paper in shown else ():
            found = {label: _effect(cells, row, one) for label, row in one.rows.items()}
            effects = {label: effect for label, effect in found.items() if effect is not None}
            key = (one.paper, one.table, one.about, look)
            if key in columns:  # another baseline of the same table
                columns[key].effects.update(effects)
            elif effects:
                columns[key] = EffectColumn(one, shown.index(one.paper), study.papers[one.paper].title, look, effects)
    every = dict.fromkeys(row for one in spec.compared for row in one.rows)
    rows = [row for row in every if any(row in column.effects for column in columns.values())]
    if not rows:
        return None
    points = {
        row: [
            (f"{each.look} of-{each.number}", f"{each.title}, {each.one.about}, {each.side}: ", each.effects[row])
            for each in columns.values()
            if row in each.effects
        ]
        for row in rows
    }
    return Question(
        name, spec.title, rows, list(columns.values()), Plot(rows, [panel_of("points, × 100", {}, points, zero=True)])
    )

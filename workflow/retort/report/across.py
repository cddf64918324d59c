"""The table across papers: the effect of each row against a baseline of its own table, on each side."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from retort.formatters import signed_number
from retort.judgement.certainty import seed_scores
from retort.judgement.judge import Facts, Key, Side, our_numbers, reported_numbers
from retort.judgement.recorded import side_of_recording
from retort.report.outcome import RUN, Files
from retort.report.ranking import Plot, RankedMean, cell_of, panel_of
from retort.results.frames import for_claims, read
from retort.specs.across import Across, Compared
from retort.study.study import Study
from retort.tables.recordings import is_outdated, recordings_of
from retort.tables.replications import replicated_sides

Cells = Mapping[Key, Facts]


@dataclass(frozen=True)
class EffectColumn:
    """The effects of one table on one side.

    Args:
        look: its class in page.css: 'reported', 'replicated', 'recorded' or 'ours'; 'record' is of a study of ours.
        effects: row of the table across papers -> its effect.
    """

    look: str
    effects: dict[str, RankedMean]

    def text(self, row: str) -> str:
        """Return the effect of a row with half of its 95 % interval, such as '+5.7 ± 0.6'; a dash without one."""
        if (score := self.effects.get(row)) is None:
            return "–"
        ends = score.interval
        return signed_number(score.value, 1) + (f" ± {(ends[1] - ends[0]) / 2:.1f}" if ends else "")


@dataclass(frozen=True)
class EffectTable:
    """The effects of the rows of one table against a baseline of it, with a column a side.

    Args:
        one: the table that has the numbers, and what its students share.
        number: the place of the paper among those of all questions, by which its colour is chosen.
        title: the title of the paper.
        columns: the side in words -> its effects.
    """

    one: Compared
    number: int
    title: str
    columns: dict[str, EffectColumn]

    @property
    def choice(self) -> tuple[int, str]:
        """The number and title of the paper."""
        return self.number, self.title

    @property
    def rows(self) -> list[str]:
        """The rows that have an effect on any side."""
        return list(dict.fromkeys(row for column in self.columns.values() for row in column.effects))


@dataclass(frozen=True)
class Question:
    """One question: a table for each baseline, and the plot of all effects."""

    name: str
    title: str
    tables: list[EffectTable]
    plot: Plot


def _sides(study: Study, one: Compared, others: Mapping[str, Side], files: Files) -> Iterator[tuple[str, str, Cells]]:
    """Yield the numbers of a table on each side, with its class and its name in words."""
    exhibits, ours = {one.table: study.exhibits[one.paper, one.table]}, study.papers[one.paper].ours
    yield *(("record", "recorded run") if ours else ("reported", "reported")), reported_numbers(exhibits).numbers
    for who, side in others.items():
        yield "replicated", f"replicated by {who}", side.numbers
    for scale, (recording, _) in recordings_of(study, one.paper).items():
        if not is_outdated(study, one.paper, scale):
            yield "recorded", "smaller models", side_of_recording(study, one.paper, recording).numbers
    if (path := files.csv(one.paper, one.table)).is_file():
        ran = for_claims(study, {one.table: read(path)})  # without the numbers of a rehearsal
        scale = f", scale {study.config.scale}" if study.scale.replacements and not ours else ""
        yield "ours", f"this run{scale}", our_numbers(exhibits, ran).numbers


def _average_column(study: Study, one: Compared) -> str:
    """Return the column with a table's own averages over the compared columns; empty if it has none."""
    cells = study.exhibits[one.paper, one.table].cells()
    return next((cell.column for cell in cells if {*cell.spec.mean_of} == {*one.over}), "")


def _effect(cells: Cells, row: str, one: Compared, average: str = "") -> RankedMean | None:
    """Return the mean over columns of a row less that of the baseline; None if no column has both.

    Rows that share their seeds are compared under each seed, and the interval is that of the mean of these differences.
    The averages that a paper reports itself, in the column `average`, take the place of means over its columns.
    """
    keys = [((one.table, row, column), (one.table, one.baseline, column)) for column in one.over]
    both = [(cells[own], cells[other]) for own, other in keys if own in cells and other in cells]
    if not both:
        return None
    scores = seed_scores(cell["by_seed"] for pair in both for cell in pair)  # [cells, seeds]
    if scores.shape[1] > 1 and not np.isnan(scores).any():
        means = (scores[::2] - scores[1::2]).mean(axis=0).tolist()
        return RankedMean.of([(statistics.mean(means), statistics.stdev(means), len(means))])
    own, others = (list(map(cell_of, cells)) for cells in zip(*both, strict=True))
    averages = [cells[key]["value"] for label in (row, one.baseline) if (key := (one.table, label, average)) in cells]
    found = RankedMean.of(own, others)
    return replace(found, value=averages[0] - averages[1]) if len(averages) == 2 else found


def questions(study: Study, shown: list[str], files: Files = RUN) -> list[Question]:
    """Return the questions of the table across papers, each with the papers that are shown."""
    papers = dict.fromkeys(one.paper for spec in study.across.values() for one in spec.compared)
    others = {paper: replicated_sides(study, paper) for paper in papers if paper in shown}
    every = (_question(study, name, spec, others, files) for name, spec in study.across.items())
    return [question for question in every if question]


def _question(
    study: Study, name: str, spec: Across, others: Mapping[str, Mapping[str, Side]], files: Files
) -> Question | None:
    tables: dict[tuple[str, str, str], EffectTable] = {}
    for one in spec.compared:
        for look, side, cells in _sides(study, one, others[one.paper], files) if one.paper in others else ():
            average = _average_column(study, one) if look == "reported" else ""
            found = {label: _effect(cells, row, one, average) for label, row in one.rows.items()}
            effects = {label: effect for label, effect in found.items() if effect is not None}
            if effects:
                of_paper = EffectTable(one, list(others).index(one.paper), study.papers[one.paper].title, {})
                table = tables.setdefault((one.paper, one.table, one.about), of_paper)
                table.columns.setdefault(side, EffectColumn(look, {})).effects.update(effects)
    points: dict[str, list[tuple[str, str, RankedMean]]] = {
        row: [] for one in spec.compared for row in one.rows if any(row in table.rows for table in tables.values())
    }
    for table in tables.values():
        for side, column in table.columns.items():
            for row, effect in column.effects.items():
                told = f"{table.title}, {table.one.about}, {side}: "
                points[row].append((f"{column.look} of-{table.number}", told, effect))
    legend = {f"of-{table.number}": table.title for table in tables.values()}
    plot = Plot(list(points), [panel_of("points", legend, points, zero=True)]) if points else None
    return Question(name, spec.title, list(tables.values()), plot) if plot else None

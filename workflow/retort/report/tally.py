"""Count the results of a paper: cells measured and not, cells that agree, claims that hold."""

from __future__ import annotations

from dataclasses import dataclass

from retort.report.files import RUN, Files
from retort.study.study import Study
from retort.tables.base import Table, table_of
from retort.tables.claims import HOLDS, OPEN, judge_all
from retort.tables.layout import OF_THE_SHAPE, counts_of
from retort.tables.rehearsed import for_claims
from retort.tables.tidy import Line, Status, read


@dataclass(frozen=True)
class Tally:
    """Counts over the tables of one paper or of several.

    Args:
        tables: number of tables.
        figures: number of figures.
        measured: cells with a value of ours.
        not_run: cells that this scale does not run, or that have no student yet.
        without: all other cells without a value of ours: quoted from other work, diverged, missing.
        agrees: measured cells that agree with the published values.
        differs: measured cells that differ from them.
        inconclusive: measured cells of which neither is shown.
        counted: numbers that need no run and stand beside printed ones: settings, sizes, counts.
        as_printed: those of them that agree with the printed ones.
        held: claims that hold on the published numbers, out of `claims`.
        open: claims that the published numbers cannot decide.
        holds: claims that hold on our numbers.
        undecided: claims that our numbers cannot decide, since one is missing.
        claims: number of claims.
    """

    tables: int = 0
    figures: int = 0
    measured: int = 0
    not_run: int = 0
    without: int = 0
    agrees: int = 0
    differs: int = 0
    inconclusive: int = 0
    counted: int = 0
    as_printed: int = 0
    held: int = 0
    open: int = 0
    holds: int = 0
    undecided: int = 0
    claims: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return the sums of the counts of both."""
        return Tally(*(a + b for a, b in zip(self._counts(), other._counts(), strict=True)))

    def _counts(self) -> list[int]:
        return list(vars(self).values())

    @property
    def judged(self) -> int:
        """The number of cells with a verdict."""
        return self.agrees + self.differs + self.inconclusive

    @property
    def cells(self) -> int:
        """The number of cells of all tables of models."""
        return self.measured + self.not_run + self.without


@dataclass(frozen=True)
class Part:
    """One part of a bar: how many cells or claims have a state; `look` names its colour in page.css."""

    look: str
    label: str
    count: int


def cell_parts(counted: Tally) -> list[Part]:
    """Return the cells of a paper by their state, as the parts of a bar; states that no cell has are left out."""
    unjudged = max(0, counted.measured - counted.judged)
    parts = [
        Part("agrees", "agree", counted.agrees),
        Part("inconclusive", "inconclusive", counted.inconclusive),
        Part("differs", "differ", counted.differs),
        Part("measured", "measured, without a verdict", unjudged),
        Part("without", "without a value", counted.without),
        Part("not-run", "not run at this scale", counted.not_run),
    ]
    return [part for part in parts if part.count]


def claim_parts(counted: Tally, side: str) -> list[Part]:
    """Return the claims of a paper by their verdict on the numbers of a side: 'published' or 'ours'."""
    holds, undecided = {"published": (counted.held, counted.open), "ours": (counted.holds, counted.undecided)}[side]
    parts = [
        Part("agrees", "hold", holds),
        Part("differs", "do not hold", counted.claims - holds - undecided),
        Part("not-run", "cannot be decided", undecided),
    ]
    return [part for part in parts if part.count]


def _cells(table: Table, lines: list[Line]) -> Tally:
    """Count the cells of a table: those that a run measures, and apart from them those that follow from the study."""
    cells = [line for line in table.tallied(lines) if line.unit not in OF_THE_SHAPE]
    measured = sum(line.mean is not None for line in cells)
    not_run = sum(line.status in (Status.NOT_RUN, Status.PLANNED) for line in cells)
    verdicts = table.verdicts(lines)
    judged = [verdicts.pop((line.row, line.column), "") for line in cells]
    others = counts_of(verdicts.values())
    return Tally(
        measured=measured, not_run=not_run, without=len(cells) - measured - not_run, **counts_of(judged),
        counted=sum(others.values()), as_printed=others["agrees"],
    )  # fmt: skip


def _claims(study: Study, paper: str, files: Files) -> Tally:
    names = sorted({name for claim in study.claims.get(paper, {}).values() for name in claim.tables})
    if not names or not all(files.tidy(paper, name).is_file() for name in names):
        count = len(study.claims.get(paper, {}))
        return Tally(undecided=count, claims=count)
    judged = judge_all(study, paper, for_claims(study, {name: read(files.tidy(paper, name)) for name in names}))
    return Tally(
        held=sum(item.published.verdict == HOLDS for item in judged),
        open=sum(item.published.verdict == OPEN for item in judged),
        holds=sum(item.ours.verdict == HOLDS for item in judged),
        undecided=sum(item.ours.verdict == OPEN for item in judged),
        claims=len(judged),
    )


def tally(study: Study, paper: str, files: Files = RUN) -> Tally:
    """Return the counts of a paper, from its tidy CSVs; p-values are not counted, as they are computed from cells.

    Tables that are still to come count no cells, and claims on them are not judged.
    """
    total = _claims(study, paper, files)
    for name in study.exhibits_of(paper):
        if not name.startswith("table"):
            total += Tally(figures=1)
            continue
        total += Tally(tables=1)
        if files.tidy(paper, name).is_file():
            total += _cells(table_of(study, paper, name), read(files.tidy(paper, name)))
    return total

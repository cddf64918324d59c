"""Count the results of a paper: cells measured and not, cells that agree, claims that hold."""

from __future__ import annotations

from dataclasses import dataclass

from retort.report.html import tidy
from retort.study.study import Study
from retort.tables.base import table_of
from retort.tables.claims import HOLDS, OPEN, judge_all
from retort.tables.layout import OF_THE_SHAPE, counts_of
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
        agrees: cells that agree with the published values.
        differs: cells that differ from them.
        inconclusive: cells of which neither is shown.
        held: claims that hold on the published numbers, out of `claims`.
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
    held: int = 0
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


def _cells(lines: list[Line]) -> Tally:
    counted = [line for line in lines if line.unit not in OF_THE_SHAPE]
    measured = sum(line.mean is not None for line in counted)
    not_run = sum(line.status in (Status.NOT_RUN, Status.PLANNED) for line in counted)
    return Tally(measured=measured, not_run=not_run, without=len(counted) - measured - not_run)


def _claims(study: Study, paper: str) -> Tally:
    if not study.claims.get(paper):
        return Tally()
    names = {name for claim in study.claims[paper].values() for name in claim.tables}
    judged = judge_all(study, paper, {name: read(tidy(paper, name)) for name in sorted(names)})
    return Tally(
        held=sum(item.published.verdict == HOLDS for item in judged),
        holds=sum(item.ours.verdict == HOLDS for item in judged),
        undecided=sum(item.ours.verdict == OPEN for item in judged),
        claims=len(judged),
    )


def tally(study: Study, paper: str) -> Tally:
    """Return the counts of a paper, from its tidy CSVs; p-values are not counted, as they are computed from cells."""
    total = _claims(study, paper)
    for name in study.exhibits_of(paper):
        if not name.startswith("table"):
            total += Tally(figures=1)
            continue
        table, lines = table_of(study, paper, name), read(tidy(paper, name))
        counts = counts_of(table.verdicts(lines).values())
        total += Tally(tables=1, **counts) + _cells(table.tallied(lines))
    return total

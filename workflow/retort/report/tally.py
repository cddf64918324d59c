"""Count the results of a paper: cells measured and not, cells that agree, claims that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from retort.report.outcome import RUN, ClaimCounts, Files, Opening
from retort.results.tidy import Line, Status, for_claims, read
from retort.study.study import Study
from retort.tables.base import Table, table_of
from retort.tables.claims import FAILS, HOLDS, NOT_SO_FAR, OPEN, SO_FAR, judge_all
from retort.tables.layout import SHAPE_UNITS, counts_of


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
        inconclusive: measured cells with the verdict 'inconclusive'.
        counted: values that need no run and are compared with printed ones: settings, sizes, counts.
        as_printed: how many of `counted` agree.
        published: how many claims have each outcome on the published numbers.
        ours: how many claims have each outcome on our numbers.
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
    published: ClaimCounts = field(default_factory=ClaimCounts)
    ours: ClaimCounts = field(default_factory=ClaimCounts)

    def __add__(self, other: Tally) -> Tally:
        """Return the sums of the counts of both."""
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def claims(self) -> int:
        """The number of claims."""
        return self.ours.claims

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
    """One part of a bar: how many cells or claims have a state; `look` names its colour and pattern in page.css."""

    look: str
    label: str
    count: int


def cell_parts(counted: Tally) -> list[Part]:
    """Return the parts of a bar of cells by state, without empty parts."""
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


def claim_parts(counted: ClaimCounts) -> list[Part]:
    """Return the parts of a bar of claims by outcome, without empty parts."""
    parts = [
        Part("agrees", "hold", counted.hold),
        Part("so-far", "hold so far", counted.so_far),
        Part("inconclusive", "undecided", counted.undecided),
        Part("not-so-far", "do not hold so far", counted.not_so_far),
        Part("differs", "do not hold", counted.fail),
        Part("not-run", "cannot be decided", counted.without),
    ]
    return [part for part in parts if part.count]


def recorded_parts(recorded: int, cells: int) -> list[Part]:
    """Return the parts of a bar of cells by whether a recorded run has their number, without empty parts."""
    parts = [Part("measured", "measured", recorded), Part("not-run", "not in the recorded run", cells - recorded)]
    return [part for part in parts if part.count > 0]


def _cells(table: Table, lines: list[Line]) -> Tally:
    """Count the cells of a table that a run measures and, separately, those that need no run."""
    cells = [line for line in table.lines_to_count(lines) if line.unit not in SHAPE_UNITS]
    measured = sum(line.mean is not None for line in cells)
    not_run = sum(line.status in (Status.NOT_RUN, Status.PLANNED) for line in cells)
    verdicts = table.verdicts(lines)
    counted = counts_of(verdicts.pop((line.row, line.column), "") for line in cells)
    others = counts_of(verdicts.values())
    return Tally(
        measured=measured, not_run=not_run, without=len(cells) - measured - not_run,
        agrees=counted["agrees"], differs=counted["differs"], inconclusive=counted["inconclusive"],
        counted=sum(others.values()), as_printed=others["agrees"],
    )  # fmt: skip


def _claims(study: Study, paper: str, found: list[Opening], files: Files) -> Tally:
    claims = study.claims.get(paper, {})
    names = sorted({name for claim in claims.values() for name in claim.tables})
    without = ClaimCounts(without=len(claims))
    ours = next((one.counts for one in found if one.run is None), without)
    if not names or not all(files.tidy(paper, name).is_file() for name in names):
        return Tally(published=without, ours=ours)
    judged = judge_all(study, paper, for_claims(study, {name: read(files.tidy(paper, name)) for name in names}))
    return Tally(published=published_counts(item.published.verdict for item in judged), ours=ours)


def published_counts(verdicts: Iterable[str]) -> ClaimCounts:
    """Return how many claims have each verdict on the published numbers; these are judged by means alone."""
    counted = Counter(verdicts)
    return ClaimCounts(
        hold=counted[HOLDS], fail=counted[FAILS],
        so_far=counted[SO_FAR], not_so_far=counted[NOT_SO_FAR], without=counted[OPEN],
    )  # fmt: skip


def tally(study: Study, paper: str, found: list[Opening], files: Files = RUN) -> Tally:
    """Return the counts of a paper, from its tidy CSVs; p-values do not count, since they are computed from cells.

    A table without a file yet has no cells. If a table of the claims is missing, no claim is judged.

    Args:
        study: the study.
        paper: the paper.
        found: the outcomes of its claims.
        files: where its tables and figures lie.
    """
    total = _claims(study, paper, found, files)
    for name in study.exhibits_of(paper):
        if not name.startswith("table"):
            total += Tally(figures=1)
            continue
        total += Tally(tables=1)
        if files.tidy(paper, name).is_file():
            total += _cells(table_of(study, paper, name), read(files.tidy(paper, name)))
    return total

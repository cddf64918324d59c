"""Outcomes of a paper: its claims at the top of its page, and the counts of its cells and claims on the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.judgement.certainty import Outcome, outcomes, side_of_recording
from retort.judgement.judge import Kind, Side, ours, published
from retort.results.tidy import Line, Status, for_claims, read
from retort.specs.paper import Statement
from retort.study.study import Study
from retort.tables.base import Table, table_of
from retort.tables.claims import judge_all
from retort.tables.layout import SHAPE_UNITS, counts_of
from retort.tables.recordings import has_scores, is_outdated, recorded_tasks, recordings_of, source_of


@dataclass(frozen=True)
class Files:
    """The files from which pages are made.

    Args:
        root: the folder that holds `results` and `reports`.
    """

    root: Path = Path()

    def tidy(self, paper: str, name: str) -> Path:
        """Return the path of the tidy CSV of a table or figure."""
        return self.root / f"results/tables/{paper}/{name}.csv"

    def printed(self, paper: str, name: str) -> Path:
        """Return the path of a table, or of the claims, as HTML."""
        return self.root / f"reports/{paper}/{name}.html"

    def drawn(self, paper: str, name: str) -> Path:
        """Return the path of a figure."""
        return self.root / f"reports/{paper}/{name}.svg"

    def of_tables(self, study: Study, paper: str) -> list[Line]:
        """Return the tidy lines of a paper's tables, if their files exist."""
        paths = [self.tidy(paper, name) for name in study.exhibits_of(paper) if name.startswith("table")]
        return [line for path in paths if path.is_file() for line in read(path)]

    def of_claims(self, study: Study, paper: str) -> dict[str, list[Line]]:
        """Return the tidy lines of the tables that a paper's claims read, if their files exist."""
        names = sorted({name for claim in study.claims.get(paper, {}).values() for name in claim.tables})
        return {name: read(self.tidy(paper, name)) for name in names if self.tidy(paper, name).is_file()}


RUN = Files()  # the files of the run in the current folder
ClaimCounts = Counter[Kind]  # outcome -> how many claims have it
HEADINGS = {
    Kind.HOLDS: "Hold",
    Kind.FAILS: "Do not hold",
    Kind.UNDECIDED: "Undecided",
    Kind.HOLDS_SO_FAR: "Hold so far",
    Kind.FAILS_SO_FAR: "Do not hold so far",
}


@dataclass(frozen=True)
class OpeningClaim:
    """A claim in the lists at the top of a page: its name, what it says, and a remark, such as its number."""

    name: str
    says: str
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The outcomes of a paper's claims at one scale, as its page opens with them.

    Args:
        scale: the scale of the numbers; empty for the recorded run of a study of ours.
        outdated: whether the numbers come from a recorded run with other settings than the scale has now.
        learnt: what a study of ours learnt, in sentences that its numbers decide; empty for printed papers.
        groups: heading -> the claims below it.
        counts: how many claims have each outcome.
        scored: whether there is a score of ours; if not, only claims about sizes and costs have numbers.
        run: where the numbers of a recorded run come from: machine, date and commit; None for those of this page.
        model: the teacher of the recorded run, if the scale replaces the printed ones.
        tasks: the recorded tasks, each with the splits that were read in part.
        whole: whether all other splits are known to have been read in full; None for the numbers of this page.
        cells: how many cells are recorded.
        runs: the number of runs behind a mean; 0 if students differ.
    """

    scale: str
    groups: dict[str, list[OpeningClaim]]
    counts: ClaimCounts
    learnt: str = ""
    scored: bool = True
    run: str | None = None
    model: str = ""
    tasks: list[str] = field(default_factory=list)
    whole: bool | None = None
    cells: int = 0
    runs: int = 0
    outdated: bool = False

    @property
    def shown(self) -> bool:
        """Whether the page opens with it: there are scores, and a claim has an outcome."""
        return self.scored and self.counts.total() > self.counts[Kind.WITHOUT]


def openings(study: Study, paper: str, files: Files = RUN) -> list[Opening]:
    """Return the outcomes of a paper's claims: in this run, then in each recorded run."""
    tables = for_claims(study, files.of_claims(study, paper))
    scored = any(map(has_scores, tables.values()))
    side = ours({name: study.exhibits[paper, name] for name in tables}, tables)
    found = [_opening(study, paper, side, scale=study.config.scale, scored=scored)]
    for scale, recording in recordings_of(study, paper).items():
        found.append(_opening(
            study, paper, side_of_recording(study, paper, recording),
            scale=scale, run=source_of(recording), model=recording.replacements.get("model", ""),
            tasks=recorded_tasks(study, paper, recording), whole=recording.samples is not None,
            cells=sum(len(columns) for rows in recording.tables.values() for columns in rows.values()),
            runs=recording.runs, outdated=is_outdated(study, paper, scale),
        ))  # fmt: skip
    return [*found, *_recorded_of_ours(study, paper)] if not scored else found


def _recorded_of_ours(study: Study, paper: str) -> list[Opening]:
    """Return the outcomes on the recorded run of a study of ours, which a run that leaves it out shows in its place."""
    record = study.record_of(paper)
    if not record:
        return []
    exhibits = {name: study.exhibits[paper, name] for name in record.tables}
    tasks = sorted({task for exhibit in exhibits.values() for task, _ in exhibit.metrics()})
    about = {"scale": "", "run": source_of(record), "tasks": tasks, "whole": True, "runs": record.runs}
    return [_opening(study, paper, published(exhibits), **about)]


def _opening(study: Study, paper: str, side: Side, **about: Any) -> Opening:
    """Decide a paper's claims on the numbers of a side; claims that cannot be decided are only counted."""
    claims, found = study.claims.get(paper, {}), outcomes(study, paper, side)
    groups = {
        heading: [_listed(name, claims[name], one) for name, one in found.items() if one.kind is kind]
        for kind, heading in HEADINGS.items()
    }
    counts = ClaimCounts(one.kind for one in found.values())
    listed = {heading: listed for heading, listed in groups.items() if listed}
    return Opening(groups=listed, counts=counts, learnt=_learnt(claims, found), **about)


def _learnt(claims: Mapping[str, Statement], found: Mapping[str, Outcome]) -> str:
    """Return what each decided claim with a contrary says: the claim itself if it holds, else its contrary."""
    said = {Kind.HOLDS: "says", Kind.FAILS: "contrary"}
    decided = [name for name, one in found.items() if one.kind in said and claims[name].contrary]
    return " ".join(getattr(claims[name], said[found[name].kind]) for name in decided)


def _listed(name: str, statement: Statement, one: Outcome) -> OpeningClaim:
    stated = f"the text says {statement.number}" if statement.number else ""
    return OpeningClaim(name, statement.says, "; ".join(filter(None, (stated, _remark(one)))))


def _remark(one: Outcome) -> str:
    """Return what the line of a claim says of its evidence: the cells that are known so far, or runs, and pairs."""
    return "; ".join(filter(None, (_needed(one), _paired(one.removed))))


def _paired(removed: float | None) -> str:
    """Return what pairs of runs with the same seeds do to the variance of a claim's differences, as text."""
    if removed is None:
        return ""
    return f"pairs by seed {'remove' if removed >= 0 else 'add'} {abs(removed):.0%} of the variance".replace("%", " %")


def _needed(one: Outcome) -> str:
    """Return on how many cells a claim is judged so far, or how many runs would decide it; empty if it is decided."""
    if one.kind is not Kind.UNDECIDED:
        return f"on {one.known}" if one.known else ""
    if one.runs is None:
        return "the deviation of one of its numbers is not known"
    if not one.runs:
        return "more than 256 runs of each student would be needed"
    return f"{one.runs} runs of each student would decide it"


# --- counts


@dataclass(frozen=True)
class Tally:
    """Counts over the tables of one paper or of several.

    Args:
        tables: number of tables.
        figures: number of figures.
        measured: cells with a value of ours.
        not_run: cells that this scale does not run, or that have no student yet.
        without: all other cells without a value of ours: quoted from other work, diverged, missing.
        repeats: measured cells that have the digits of the recorded run.
        reproduces: measured cells that reproduce it under the same seeds.
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
    repeats: int = 0
    reproduces: int = 0
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
        return self.ours.total()

    @property
    def judged(self) -> int:
        """The number of cells with a verdict."""
        return self.confirmed + self.differs + self.inconclusive

    @property
    def confirmed(self) -> int:
        """The number of cells that repeat or reproduce a recorded run, or agree with the published values."""
        return self.repeats + self.reproduces + self.agrees

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
    """Return the parts of a bar of cells by state."""
    return _parts(
        ("agrees", "repeat the recorded run", counted.repeats),
        ("agrees", "reproduce it", counted.reproduces),
        ("agrees", "agree", counted.agrees),
        ("inconclusive", "inconclusive", counted.inconclusive),
        ("differs", "differ", counted.differs),
        ("measured", "measured, without a verdict", counted.measured - counted.judged),
        ("without", "without a value", counted.without),
        ("not-run", "not run at this scale", counted.not_run),
    )


def claim_parts(counted: ClaimCounts) -> list[Part]:
    """Return the parts of a bar of claims by outcome."""
    return _parts(
        ("agrees", "hold", counted[Kind.HOLDS]),
        ("so-far", "hold so far", counted[Kind.HOLDS_SO_FAR]),
        ("inconclusive", "undecided", counted[Kind.UNDECIDED]),
        ("not-so-far", "do not hold so far", counted[Kind.FAILS_SO_FAR]),
        ("differs", "do not hold", counted[Kind.FAILS]),
        ("not-run", "cannot be decided", counted[Kind.WITHOUT]),
    )


def recorded_parts(recorded: int, cells: int) -> list[Part]:
    """Return the parts of a bar of cells by whether a recorded run has their number."""
    return _parts(("measured", "measured", recorded), ("not-run", "not in the recorded run", cells - recorded))


def _parts(*parts: tuple[str, str, int]) -> list[Part]:
    return [Part(look, label, count) for look, label, count in parts if count > 0]


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


def _cells(table: Table, lines: list[Line]) -> Tally:
    """Count the cells of a table that a run measures and, separately, those that need no run."""
    cells = [line for line in table.lines_to_count(lines) if line.unit not in SHAPE_UNITS]
    measured = sum(line.mean is not None for line in cells)
    not_run = sum(line.status in (Status.NOT_RUN, Status.LEFT_OUT, Status.PLANNED) for line in cells)
    verdicts = table.verdicts(lines)
    counted = counts_of(verdicts.pop((line.row, line.column), "") for line in cells)
    others = counts_of(verdicts.values())
    return Tally(
        measured=measured, not_run=not_run, without=len(cells) - measured - not_run,
        repeats=counted["repeats"], reproduces=counted["reproduces"], agrees=counted["agrees"],
        differs=counted["differs"], inconclusive=counted["inconclusive"],
        counted=sum(others.values()), as_printed=others["agrees"],
    )  # fmt: skip


def _claims(study: Study, paper: str, found: list[Opening], files: Files) -> Tally:
    claims = study.claims.get(paper, {})
    without = ClaimCounts({Kind.WITHOUT: len(claims)})
    ours = next((one.counts for one in found if one.run is None), without)
    tables = files.of_claims(study, paper)
    if not tables or any(name not in tables for claim in claims.values() for name in claim.tables):
        return Tally(published=without, ours=ours)
    judged = judge_all(study, paper, for_claims(study, tables))
    return Tally(published=ClaimCounts(one.published.verdict for one in judged), ours=ours)

"""Outcomes of a paper: its claims at the top of its page, and the counts of its cells and claims on the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.judgement.judge import Kind
from retort.judgement.recorded import Order, at_floor, order_of
from retort.results.tidy import Line, Status, for_claims, read
from retort.specs.paper import Recording
from retort.study.study import Study
from retort.tables.base import Table, table_of
from retort.tables.claims import (
    OURS,
    SMALLER,
    Judged,
    Judgement,
    Smaller,
    Words,
    judge_all,
    judge_print,
    of_claims,
    smaller_runs,
)
from retort.tables.layout import SHAPE_UNITS, counts_of, label_of
from retort.tables.recordings import has_scores, is_outdated, recorded_tasks, source_of


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
        counts: how many claims have each outcome; those that need no run are in `computed`.
        computed: the same of the claims that need no run.
        conditions: for smaller models: at which length and on which teacher; empty for the paper's own.
        orders: table -> how the order of its rows agrees with print.
        stuck: which tasks decide nothing, each as a sentence.
        surprise: what differs most from what print says, as a sentence.
        scored: whether there is a score of ours; if not, only claims about sizes and costs have numbers.
        source: of a recorded run, in words: where, when, how often and on what it was run; empty for this page's own.
        date: the date of a recorded run.
    """

    scale: str
    groups: dict[str, list[OpeningClaim]]
    counts: ClaimCounts
    computed: ClaimCounts
    learnt: list[str] = field(default_factory=list)
    conditions: str = ""
    orders: dict[str, str] = field(default_factory=dict)
    stuck: list[str] = field(default_factory=list)
    surprise: str = ""
    scored: bool = True
    source: str = ""
    date: str = ""
    outdated: bool = False

    @property
    def shown(self) -> bool:
        """Whether the page opens with it: there are scores, and a claim has an outcome."""
        return self.scored and self.counts.total() > self.counts[Kind.WITHOUT]

    @property
    def words(self) -> Words:
        """The words for outcomes: a run of smaller models has its own."""
        return SMALLER if self.conditions else OURS


def openings(study: Study, paper: str, files: Files = RUN, judged: list[Judged] | None = None) -> list[Opening]:
    """Return the outcomes of a paper's claims: in this run, then in each recorded run.

    Args:
        study: the study.
        paper: the paper.
        files: where its tables and figures lie.
        judged: its claims, if they are judged already.
    """
    tables = for_claims(study, files.of_claims(study, paper))
    judged = judge_all(study, paper, tables) if judged is None else judged
    own = [(item, item.ours) for item in judged]
    conditions = next((one.conditions for _, one in own if one.conditions), "")
    scored = any(map(has_scores, tables.values()))
    found = [_opening(own, scale=study.config.scale, scored=scored, conditions=conditions)]
    for run in smaller_runs(study, paper):
        scale, recording = run.scale.partition(",")[0], run.recording
        orders = {name: order_of(study, paper, name, recording) for name in recording.tables}
        found.append(_opening(
            [(item, item.recorded.get(run.scale, Judgement(Kind.WITHOUT))) for item in judged], list(orders.items()),
            scale=scale, date=recording.run.get("date", ""), conditions=run.conditions,
            source=_source(recording, recorded_tasks(study, paper, recording), recording.samples is not None),
            outdated=is_outdated(study, paper, scale),
            orders=_order_words(study, paper, run, orders),
            stuck=list(dict.fromkeys(
                text for name in recording.tables for text in at_floor(study, paper, name, recording).values()
            )),
        ))  # fmt: skip
    return [*found, *_recorded_of_ours(study, paper, judged)] if not scored else found


def _order_words(study: Study, paper: str, run: Smaller, orders: Mapping[str, Order | None]) -> dict[str, str]:
    """Return table -> how the order of its rows agrees with print in a recorded run, and after more steps."""
    longer = run.longer
    words = {name: f"{order.words} ({order})" for name, order in orders.items() if order}
    for name in words if longer else ():
        if longer and name in longer.recording.tables and (more := order_of(study, paper, name, longer.recording)):
            words[name] += f", {longer.conditions}: {more.words} ({more})"
    return words


def _recorded_of_ours(study: Study, paper: str, judged: list[Judged]) -> list[Opening]:
    """Return the outcomes on the recorded run of a study of ours, which a run that leaves it out shows in its place."""
    record = study.record_of(paper)
    if not record:
        return []
    judge = judge_print(study, paper, record.tables)
    tasks = sorted({task for name in record.tables for task, _ in study.exhibits[paper, name].metrics()})
    return [_opening(
        [(item, judge(item.claim)) for item in judged],
        scale="", source=_source(record, tasks, whole=True), date=record.run.get("date", ""),
    )]  # fmt: skip


def _source(recording: Recording, tasks: list[str], whole: bool) -> str:
    """Return where, when, how often and on what a recorded run was made, as text.

    Args:
        recording: the recorded run.
        tasks: its tasks, each with the splits that were read in part.
        whole: whether all other splits are known to have been read in full.
    """
    parts = [source_of(recording), f"{recording.runs} runs of each student"]
    parts += [f"teacher: {recording.replacements['model']}"] if recording.replacements.get("model") else []
    parts += [f"tasks: {', '.join(tasks)}", *(["how many rows of them were read is not recorded"] if not whole else [])]
    return f"{'; '.join(parts)}. An average is over {'this one' if len(tasks) == 1 else 'these'} alone."


def _opening(
    found: list[tuple[Judged, Judgement]], ordered: Sequence[tuple[str, Order | None]] = (), **about: Any
) -> Opening:
    """Sort a paper's claims by their outcomes on one side; claims without numbers are only counted."""
    groups: dict[str, list[OpeningClaim]] = {}
    words = SMALLER if about.get("conditions") else OURS
    for kind, word in words.items():
        listed = [_listed(item, one) for item, one in found if one.verdict is kind and not one.computed]
        if listed and kind is not Kind.WITHOUT:
            groups[of_claims(len(listed), word).capitalize()] = listed
    counts, computed = (ClaimCounts(one.verdict for _, one in found if one.computed is of) for of in (False, True))
    return Opening(
        groups=groups,
        counts=counts,
        computed=computed,
        surprise=_surprise(found, ordered),
        learnt=_learnt(found),
        **about,
    )


def _learnt(found: list[tuple[Judged, Judgement]]) -> list[str]:
    """Return what each decided claim with a contrary says: the claim itself if it holds, else its contrary."""
    said = {Kind.HOLDS: "says", Kind.FAILS: "contrary"}
    decided = [(item.claim, said[one.verdict]) for item, one in found if one.verdict in said and item.claim.contrary]
    return [getattr(claim, which) for claim, which in decided]


def _surprise(found: list[tuple[Judged, Judgement]], ordered: Sequence[tuple[str, Order | None]]) -> str:
    """Return the first claim that print bears out and ours does not, else the row that moved most; empty if none."""
    for kind in (Kind.FAILS, Kind.TURNS):
        for item, one in found:
            if one.verdict is kind and item.published.verdict is Kind.HOLDS and not one.computed:
                return f"{one.word}: \u201c{item.claim.says.removesuffix('.')}\u201d"
    moved = [(name, *order.moved) for name, order in ordered if order and order.moved[1] != order.moved[2]]
    if not moved:
        return ""
    name, row, here, there = max(moved, key=lambda one: abs(one[2] - one[3]))
    return f"{row} of {label_of(name)} is in place {here} here and {there} in print"


def _listed(item: Judged, one: Judgement) -> OpeningClaim:
    stated = f"the text says {item.claim.number}" if item.claim.number else ""
    return OpeningClaim(item.name, item.claim.says, "; ".join(filter(None, (stated, one.remark))))


# --- counts


@dataclass(frozen=True)
class Tally:
    """Counts over the tables of one paper or of several.

    Args:
        cells: cells that a run measures.
        measured: those with a value of ours.
        not_run: those that this scale does not run, or that have no student yet.
        repeats: measured cells that have the digits of the recorded run.
        reproduces: measured cells that reproduce it under the same seeds.
        agrees: measured cells that agree with the published values.
        differs: measured cells that differ from them.
        inconclusive: measured cells with the verdict 'inconclusive'.
        counted: values that need no run and are compared with printed ones: settings, sizes, counts.
        as_printed: how many of `counted` agree.
        published: how many claims the published numbers themselves bear out, contradict, ...
        computed: how many of those that need no run have each outcome.
    """

    cells: int = 0
    measured: int = 0
    not_run: int = 0
    repeats: int = 0
    reproduces: int = 0
    agrees: int = 0
    differs: int = 0
    inconclusive: int = 0
    counted: int = 0
    as_printed: int = 0
    published: ClaimCounts = field(default_factory=ClaimCounts)
    computed: ClaimCounts = field(default_factory=ClaimCounts)

    def __add__(self, other: Tally) -> Tally:
        """Return the sums of the counts of both."""
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def claims(self) -> int:
        """The number of claims."""
        return self.published.total()

    @property
    def judged(self) -> int:
        """The number of cells with a verdict."""
        return self.confirmed + self.differs + self.inconclusive

    @property
    def confirmed(self) -> int:
        """The number of cells that repeat or reproduce a recorded run, or agree with the published values."""
        return self.repeats + self.reproduces + self.agrees


def tally(study: Study, paper: str, found: list[Opening], files: Files = RUN) -> Tally:
    """Return the counts of a paper, from its tidy CSVs; p-values do not count, since they are computed from cells.

    Args:
        study: the study.
        paper: the paper.
        found: the outcomes of its claims.
        files: where its tables and figures lie.
    """
    total = _claims(study, paper, found)
    for name in study.exhibits_of(paper):
        if name.startswith("table") and files.tidy(paper, name).is_file():
            total += _cells(table_of(study, paper, name), read(files.tidy(paper, name)))
    return total


def _cells(table: Table, lines: list[Line]) -> Tally:
    """Count the cells of a table that a run measures and, separately, those that need no run."""
    cells = [line for line in table.lines_to_count(lines) if line.unit not in SHAPE_UNITS]
    not_run = sum(line.status in (Status.NOT_RUN, Status.LEFT_OUT, Status.PLANNED) for line in cells)
    verdicts = table.verdicts(lines)
    counted = counts_of(verdicts.pop((line.row, line.column), "") for line in cells)
    others = counts_of(verdicts.values())
    return Tally(
        cells=len(cells), measured=sum(line.mean is not None for line in cells), not_run=not_run,
        repeats=counted["repeats"], reproduces=counted["reproduces"], agrees=counted["agrees"],
        differs=counted["differs"], inconclusive=counted["inconclusive"],
        counted=sum(others.values()), as_printed=others["agrees"],
    )  # fmt: skip


def _claims(study: Study, paper: str, found: list[Opening]) -> Tally:
    claims = study.claims.get(paper, {})
    judge = judge_print(study, paper, {name for claim in claims.values() for name in claim.tables})
    on_print = ClaimCounts(judge(claim).verdict for claim in claims.values())
    return Tally(published=on_print, computed=sum((one.computed for one in found if not one.source), ClaimCounts()))

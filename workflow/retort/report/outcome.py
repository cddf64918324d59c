"""What came out of a paper: its claims on each run, the counts of its cells, and a summary of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from retort.judgement.judge import Kind
from retort.judgement.recorded import Order, at_floor, order_of
from retort.results.frames import concatenated, for_claims, read
from retort.specs.exhibit import scored_metrics
from retort.specs.paper import Recording
from retort.study.reasons import Status
from retort.study.study import Study
from retort.tables.base import Table, table_of
from retort.tables.claims import (
    OURS,
    PRINT,
    SMALLER,
    Judged,
    Judgement,
    Smaller,
    Words,
    counts_in_words,
    of_claims,
    read_judged,
    smaller_runs,
)
from retort.tables.layout import SHAPE_UNITS, counts_of, label_of
from retort.tables.recordings import compared_with_record, has_scores, is_outdated, recorded_tasks, source_of
from retort.tables.replications import in_a_word

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Files:
    """The files from which pages are made.

    Args:
        root: the folder that holds `results` and `reports`.
    """

    root: Path = Path()

    def csv(self, paper: str, name: str) -> Path:
        """Return the path of the CSV of a table or figure."""
        return self.root / f"results/tables/{paper}/{name}.csv"

    def judged(self, paper: str) -> Path:
        """Return the path of the judgements of a paper's claims."""
        return self.root / f"results/tables/{paper}/claims.json"

    def printed(self, paper: str, name: str) -> Path:
        """Return the path of a table, or of the claims, as HTML."""
        return self.root / f"reports/{paper}/{name}.html"

    def drawn(self, paper: str, name: str) -> Path:
        """Return the path of a figure."""
        return self.root / f"reports/{paper}/{name}.svg"


RUN = Files()  # the files of the run in the current folder
ClaimCounts = Counter[Kind]  # outcome -> how many claims have it


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The outcomes of a paper's claims on one run, as its page opens with them.

    Args:
        found: each claim with its judgement.
        scale: the scale of the numbers; empty for the recorded run of a study of ours.
        outdated: whether the numbers come from a recorded run with other settings than the scale has now.
        conditions: for smaller models: at which length and on which teacher; empty for the paper's own.
        orders: table -> how the order of its rows agrees with print.
        moved: the row whose place differs most from that in print, as a sentence.
        stuck: which tasks decide nothing, each as a sentence.
        scored: whether there is a score of ours; if not, only claims about sizes and costs have numbers.
        source: of a recorded run, in words: where, when, how often and on what it was run; empty for this page's own.
        date: the date of a recorded run.
    """

    found: list[tuple[Judged, Judgement]]
    scale: str
    outdated: bool = False
    conditions: str = ""
    orders: Mapping[str, str] = field(default_factory=dict)
    moved: str = ""
    stuck: Sequence[str] = ()
    scored: bool = True
    source: str = ""
    date: str = ""

    @property
    def words(self) -> Words:
        """The words for outcomes: a run of smaller models has its own."""
        return SMALLER if self.conditions else OURS

    @property
    def counts(self) -> ClaimCounts:
        """How many claims have each outcome, without those that need no run."""
        return ClaimCounts(one.verdict for _, one in self.found if not one.computed)

    @property
    def computed(self) -> ClaimCounts:
        """How many of the claims that need no run have each outcome."""
        return ClaimCounts(one.verdict for _, one in self.found if one.computed)

    @property
    def shown(self) -> bool:
        """Whether the page opens with it: there are scores, and a claim has an outcome."""
        return self.scored and self.counts.total() > self.counts[Kind.WITHOUT]

    @property
    def groups(self) -> dict[str, list[tuple[Judged, Judgement]]]:
        """Heading -> the claims below it; claims without numbers, and those that need no run, are only counted."""
        by_kind = {
            kind: [pair for pair in self.found if pair[1].verdict is kind and not pair[1].computed] for kind in Kind
        }
        shown = {kind: word for kind, word in self.words.items() if by_kind[kind] and kind is not Kind.WITHOUT}
        return {of_claims(len(by_kind[kind]), word).capitalize(): by_kind[kind] for kind, word in shown.items()}

    @property
    def surprise(self) -> str:
        """The first claim that print bears out and the run does not, else the row that moved most; empty if none."""
        for kind in (Kind.FAILS, Kind.TURNS):
            for item, one in self.found:
                if one.verdict is kind and item.published.verdict is Kind.HOLDS and not one.computed:
                    return f"{one.word}: \u201c{item.claim.says.removesuffix('.')}\u201d"
        return self.moved

    @property
    def learnt(self) -> list[str]:
        """What each decided claim with a contrary says: the claim itself if it holds, else its contrary."""
        claims = [(item.claim, one.verdict) for item, one in self.found if item.claim.contrary]
        decided = [(claim, kind) for claim, kind in claims if kind in (Kind.HOLDS, Kind.FAILS)]
        return [claim.says if kind is Kind.HOLDS else claim.contrary for claim, kind in decided]


@dataclass(frozen=True)
class Tally:
    """Counts over the tables of one paper or of several.

    Args:
        cells: cells that a run measures.
        measured: those with a value of ours.
        not_run: those that this scale does not run, or that have no student yet.
        verdicts: verdict -> how many measured cells have it.
        counted: values that need no run and are compared with printed ones: settings, sizes, counts.
        as_printed: how many of `counted` agree.
        published: how many claims the published numbers themselves bear out, contradict, ...
        computed: how many of those that need no run have each outcome.
    """

    cells: int = 0
    measured: int = 0
    not_run: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    as_printed: int = 0
    published: ClaimCounts = field(default_factory=ClaimCounts)
    computed: ClaimCounts = field(default_factory=ClaimCounts)

    def __add__(self, other: Tally) -> Tally:
        """Return the sums of the counts of both."""
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def judged(self) -> int:
        """The number of cells with a verdict."""
        return self.verdicts.total()

    @property
    def confirmed(self) -> int:
        """The number of cells that repeat or reproduce a recorded run, or agree with the published values."""
        return sum(self.verdicts[verdict] for verdict in ("repeats", "reproduces", "agrees"))


def cells_of(table: Table, frame: DataFrame) -> Tally:
    """Count the cells of a table that a run measures and, separately, those that need no run.

    P-values do not count, since they are computed from cells.
    """
    verdicts = table.verdicts(frame).to_numpy()
    run = ~frame["unit"].isin(SHAPE_UNITS) & bool(table.cells())
    cells, others = frame[run], counts_of(verdicts[~run])
    return Tally(
        cells=len(cells),
        measured=int(cells["mean"].notna().sum()),
        not_run=int((cells["status"] == Status.NOT_RUN).sum()),
        verdicts=Counter(counts_of(verdicts[run])),
        counted=sum(others.values()),
        as_printed=others["agrees"],
    )


@dataclass(frozen=True)
class Summary:
    """What was run of a paper, and what came out.

    Args:
        verdict: the outcome in a sentence or two.
        details: the sentences behind it.
        learnt: what a study of ours learnt, in sentences.
    """

    verdict: str
    details: list[str] = field(default_factory=list)
    learnt: list[str] = field(default_factory=list)


@dataclass
class Shown:
    """A paper as its page and the index show it; what is read for both is read once.

    Args:
        study: the study.
        paper: the paper.
        files: where its tables and figures lie.
        devices: the devices of the run.
    """

    study: Study
    paper: str
    files: Files = RUN
    devices: Sequence[str] = ()

    @cached_property
    def frames(self) -> dict[str, DataFrame]:
        """The frames of its tables and figures, by name, if their files exist."""
        paths = {name: self.files.csv(self.paper, name) for name in self.study.exhibits_of(self.paper)}
        return {name: read(path) for name, path in paths.items() if path.is_file()}

    @property
    def tables(self) -> dict[str, DataFrame]:
        """The frames of its tables, by name."""
        return {name: frame for name, frame in self.frames.items() if name.startswith("table")}

    @cached_property
    def of_claims(self) -> dict[str, DataFrame]:
        """The frames on which its claims are judged, by table or figure."""
        names = sorted({name for claim in self.study.claims.get(self.paper, {}).values() for name in claim.tables})
        return for_claims(self.study, {name: self.frames[name] for name in names if name in self.frames})

    @cached_property
    def judged(self) -> list[Judged]:
        """Its claims as judged; none if they could not be."""
        return read_judged(self.study, self.paper, self.files.judged(self.paper))

    @cached_property
    def openings(self) -> list[Opening]:
        """The outcomes of its claims: in this run, then in each recorded run."""
        own = [(item, item.ours) for item in self.judged]
        conditions = next((one.conditions for _, one in own if one.conditions), "")
        scored = any(map(has_scores, self.of_claims.values()))
        found = [Opening(found=own, scale=self.study.scale_of(self.paper), scored=scored, conditions=conditions)]
        found += [self._on_smaller(run) for run in smaller_runs(self.study, self.paper)]
        record = self.study.record_of(self.paper)
        if record and not scored:  # it stands in the place of a run of the study of ours
            exhibits = [self.study.exhibits[self.paper, name] for name in record.tables]
            tasks = sorted({task for exhibit in exhibits for task, _ in scored_metrics(exhibit)})
            source, date = _source(record, tasks, whole=True), record.run.get("date", "")
            printed = [(item, item.published) for item in self.judged]
            found.append(Opening(found=printed, scale="", source=source, date=date))
        return found

    def _on_smaller(self, run: Smaller) -> Opening:
        """Return the outcomes on a recorded run of smaller models."""
        study, paper, recording = self.study, self.paper, run.recording
        scale = run.scale.partition(",")[0]
        orders = {name: order_of(study, paper, name, recording) for name in recording.tables}
        stuck = [text for name in recording.tables for text in at_floor(study, paper, name, recording).values()]
        source = _source(recording, recorded_tasks(study, paper, recording), recording.samples is not None)
        if run.longer:
            source += f" {run.longer.conditions.capitalize()}: {source_of(run.longer.recording)}."
        return Opening(
            found=[(item, item.recorded.get(run.scale, Judgement(Kind.WITHOUT))) for item in self.judged],
            scale=scale,
            outdated=is_outdated(study, paper, scale),
            conditions=run.conditions,
            orders=_orders(study, paper, run, orders),
            moved=_moved(orders),
            stuck=list(dict.fromkeys(stuck)),
            source=source,
            date=recording.run.get("date", ""),
        )

    @cached_property
    def tally(self) -> Tally:
        """The counts of its cells and claims."""
        tables = {name: table_of(self.study, self.paper, name) for name in self.tables}
        computed = sum((one.computed for one in self.openings if not one.source), ClaimCounts())
        claims = Tally(published=ClaimCounts(item.published.verdict for item in self.judged), computed=computed)
        return sum((cells_of(table, self.frames[name]) for name, table in tables.items()), claims)

    @cached_property
    def summary(self) -> Summary:
        """What was run, and what came out."""
        (own, *recorded), counted = self.openings, self.tally
        if self.study.papers[self.paper].ours:
            learnt = next((one.learnt for one in self.openings if one.learnt), [])
            if counted.measured or not recorded:
                compared = compared_with_record(self.study, self.paper, concatenated(self.tables), self.devices)
                return Summary(f"{compared} {_claims(own)}".strip() or "Not run yet.", learnt=learnt)
            return Summary(f"Recorded {recorded[0].date}, not run here. {_claims(recorded[0])}", learnt=learnt)
        verdict = self._run(own) if counted.measured else "Not run at its own scale."
        others = [_claims(one, "On smaller models, claims") for one in recorded]
        details = [*_details(own, recorded, counted), *in_a_word(self.study, self.paper)]
        return Summary(" ".join(filter(None, [verdict, *others])), details)

    def _run(self, own: Opening) -> str:
        """Return what this run made of a printed paper."""
        smaller, counted = f", {own.conditions}" if own.conditions else "", self.tally
        cells = f"{counted.measured:,} of {counted.cells:,} cells measured"
        judged = f", {counted.confirmed} agree, {counted.verdicts['differs']} differ" if counted.judged else ""
        return f"Run at scale {own.scale}{smaller}: {cells}{judged}. {_claims(own)}".strip()


def _orders(study: Study, paper: str, run: Smaller, orders: Mapping[str, Order | None]) -> dict[str, str]:
    """Return table -> how the order of its rows agrees with print in a recorded run, and after more steps."""
    words = {name: f"{order.words} ({order})" for name, order in orders.items() if order}
    longer = run.longer
    for name in words if longer else ():
        if longer and name in longer.recording.tables and (more := order_of(study, paper, name, longer.recording)):
            words[name] += f", {longer.conditions}: {more.words} ({more})"
    return words


def _moved(orders: Mapping[str, Order | None]) -> str:
    """Return the row of a recorded run whose place differs most from that in print, as a sentence; empty if none."""
    moved = [(name, *order.moved) for name, order in orders.items() if order and order.moved[1] != order.moved[2]]
    if not moved:
        return ""
    name, row, here, there = max(moved, key=lambda one: abs(one[2] - one[3]))
    return f"{row} of {label_of(name)} is in place {here} here and {there} in print"


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


def _claims(one: Opening, before: str = "Claims") -> str:
    """Return a sentence with how many claims have each outcome; empty without claims."""
    return f"{before}: {counts_in_words(one.counts, one.words)}." if one.counts.total() else ""


def _details(own: Opening, recorded: list[Opening], counted: Tally) -> Iterator[str]:
    """Yield the sentences behind the verdict on a printed paper."""
    if counted.published:
        yield f"Claims by its own numbers: {counts_in_words(counted.published, PRINT)}."
    if counted.computed:
        yield f"Claims computed, without a run: {counts_in_words(counted.computed, OURS)}."
    for one in [own, *recorded]:
        if one.source:
            outdated = ", with other settings than now" if one.outdated else ""
            yield f"The smaller models: {one.conditions} (recorded {one.date or 'earlier'}{outdated})."
        yield from (f"{label_of(name)} against print: {text}." for name, text in one.orders.items())
        yield from (f"{text}." for text in one.stuck)
        if one.surprise:
            yield f"Largest surprise: {one.surprise}."

"""What came out of a paper: its claims on each run, the counts of its cells, and a summary of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from retort.judgement.claims import Judgement
from retort.judgement.judge import Kind, Side
from retort.judgement.recorded import Order, at_floor, order_of
from retort.judgement.verdicts import AGREES, EXACT, REPRODUCED
from retort.results.frames import concatenated, for_claims, read
from retort.specs.paper import Paper
from retort.study.reasons import Status
from retort.study.study import Study
from retort.tables.base import Table, table_of
from retort.tables.claims import ClaimSide, Judged, Smaller, claim_sides, read_judged, smaller_runs
from retort.tables.layout import SHAPE_UNITS, counts_of, label_of
from retort.tables.recordings import compared_with_record, has_scores
from retort.tables.replications import in_a_word, replicated_sides

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

    def rendered(self, paper: str, name: str) -> Path:
        """Return the path of a table, or of the claims, as HTML."""
        return self.root / f"reports/{paper}/{name}.html"

    def drawn(self, paper: str, name: str) -> Path:
        """Return the path of a figure."""
        return self.root / f"reports/{paper}/{name}.svg"


RUN = Files()  # the files of the run in the current folder


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The outcomes of a paper's claims on one side: by its own numbers, in this run, or in a recorded one.

    Args:
        title: the run in words.
        claims: the claims.
        side: their column in the table of claims; None if none has an outcome here.
        orders: table -> how the order of its rows agrees with the reported numbers.
        moved: the row whose place differs most from the reported one, as a sentence.
        stuck: which tasks decide nothing, each as a sentence.
        date: the date of a recorded run.
    """

    title: str
    claims: Sequence[Judged]
    side: ClaimSide | None
    orders: Mapping[str, str] = field(default_factory=dict)
    moved: str = ""
    stuck: Sequence[str] = ()
    date: str = ""

    @property
    def found(self) -> list[tuple[Judged, Judgement]]:
        """Each claim with its judgement here; none if no claim has an outcome."""
        return list(zip(self.claims, self.side.judgements, strict=True)) if self.side else []

    def told(self, before: str, of_claims: str) -> list[Sentence]:
        """Return a sentence about the run and, if claims have an outcome, how many have each."""
        return [Sentence(before), *([Sentence(of_claims, self.side.counts, ".")] if self.side else [])]

    @property
    def surprise(self) -> str:
        """The first claim that the reported numbers alone support, else the row that moved most; empty if none."""
        for kind in (Kind.NOT_SUPPORTED, Kind.BY_LENGTH):
            for item, one in self.found:
                if one.verdict is kind and item.reported.verdict is Kind.SUPPORTED and not one.computed:
                    return f"{one.verdict}: \u201c{item.claim.says.removesuffix('.')}\u201d"
        return self.moved

    @property
    def learnt(self) -> list[str]:
        """What each decided claim with a contrary says: the claim itself if it holds, else its contrary."""
        claims = [(item.claim, one.verdict) for item, one in self.found if item.claim.contrary]
        decided = [(claim, kind) for claim, kind in claims if kind.is_decided]
        return [claim.says if kind is Kind.SUPPORTED else claim.contrary for claim, kind in decided]


@dataclass(frozen=True)
class Tally:
    """Counts over the tables of one paper or of several.

    Args:
        cells: cells that a run measures.
        measured: those with a value of ours.
        not_run: those that this scale does not run, or that have no student yet.
        verdicts: verdict -> how many measured cells have it.
        counted: values that need no run and are compared with reported ones: settings, sizes, counts.
        as_reported: how many of `counted` agree.
    """

    cells: int = 0
    measured: int = 0
    not_run: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    as_reported: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return the sums of the counts of both."""
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def judged(self) -> int:
        """The number of cells with a verdict."""
        return self.verdicts.total()

    @property
    def reproduced(self) -> int:
        """The number of cells that reproduce a recorded run, exactly or not."""
        return self.verdicts[EXACT] + self.verdicts[REPRODUCED]

    @property
    def confirmed(self) -> int:
        """The number of cells that reproduce a recorded run, or agree with the reported values."""
        return self.reproduced + self.verdicts[AGREES]


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
        as_reported=others["agrees"],
    )


@dataclass(frozen=True)
class Sentence:
    """A sentence of what was found, with counts that lead to their claims.

    Args:
        before: its beginning.
        counts: each count in words, with its anchor.
        after: its end.
    """

    before: str
    counts: Sequence[tuple[str, str]] = ()
    after: str = ""


@dataclass(frozen=True)
class Summary:
    """What was found of a paper.

    Args:
        found: the first sentences.
        details: the sentences behind them.
        learnt: what a study of ours learnt, in sentences.
    """

    found: list[Sentence]
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

    @property
    def spec(self) -> Paper:
        """What its file says of it."""
        return self.study.papers[self.paper]

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
    def replicated(self) -> dict[str, Side]:
        """What others have of its cells: who -> their numbers."""
        return replicated_sides(self.study, self.paper)

    @cached_property
    def sides(self) -> dict[str, ClaimSide]:
        """The columns of the table of its claims, by the last part of their anchors."""
        prefix = f"{self.paper}-claims-"
        return {one.anchor.removeprefix(prefix): one for one in claim_sides(self.study, self.paper, self.judged)}

    @cached_property
    def openings(self) -> list[Opening]:
        """The outcomes of its claims: in this run, then in each recorded run."""
        side, scored = self.sides.get("ours"), any(map(has_scores, self.of_claims.values()))
        conditions = side.conditions if side else ""
        title = ", ".join(filter(None, (f"This run, at scale {self.study.scale_of(self.paper)}", conditions)))
        found = [Opening(title=title, claims=self.judged, side=side if scored else None)]
        found += [self._on_smaller(run) for run in smaller_runs(self.study, self.paper)]
        record = self.study.record_of(self.paper)
        if record and not scored:  # it stands in the place of a run of the study of ours
            side, date = self.sides.get("record"), record.run.get("date", "")
            found.append(Opening(title="The recorded run", claims=self.judged, side=side, date=date))
        return found

    def _on_smaller(self, run: Smaller) -> Opening:
        """Return the outcomes on a recorded run of smaller models."""
        study, paper, recording = self.study, self.paper, run.recording
        orders = {name: order_of(study, paper, name, recording) for name in recording.tables}
        stuck = [text for name in recording.tables for text in at_floor(study, paper, name, recording).values()]
        scale, _, outdated = run.scale.partition(", ")
        return Opening(
            title=f"Smaller models, {run.conditions}{', ' * bool(outdated)}{outdated}",
            claims=self.judged,
            side=self.sides.get(f"at-{scale}"),
            orders=_orders(study, paper, run, orders),
            moved=_moved(orders),
            stuck=list(dict.fromkeys(stuck)),
            date=recording.run.get("date", ""),
        )

    @cached_property
    def tally(self) -> Tally:
        """The counts of its cells."""
        tables = {name: table_of(self.study, self.paper, name) for name in self.tables}
        return sum((cells_of(table, self.frames[name]) for name, table in tables.items()), Tally())

    @property
    def unrun(self) -> bool:
        """Whether nothing of it was run, neither here nor in a recorded run."""
        return not self.tally.measured and len(self.openings) == 1

    @cached_property
    def summary(self) -> Summary:
        """What was found."""
        (own, *recorded), counted = self.openings, self.tally
        if self.spec.ours:
            learnt = next((one.learnt for one in self.openings if one.learnt), [])
            if counted.measured or not recorded:
                compared = compared_with_record(self.study, self.paper, concatenated(self.tables), self.devices)
                return Summary(own.told(compared or "Not run yet.", "Claims: "), learnt=learnt)
            one = recorded[0]
            return Summary(one.told(f"Recorded {one.date}, not run here.", "Claims: "), learnt=learnt)
        found, of_claims = list[Sentence](), f"Of {len(self.judged)} claim{'s' * (len(self.judged) != 1)}"
        if counted.measured:
            judged = f", {counted.confirmed} agree, {counted.verdicts['differs']} differ" if counted.judged else ""
            cells = f"{counted.measured:,} of {counted.cells:,} cells measured{judged}"
            found += own.told(f"{own.title}: {cells}.", f"{of_claims}: ")
        elif self.unrun:
            found.append(Sentence("Nothing of it was run: its tables show what is reported."))
        for one in recorded:  # with the order of the rows of its first table
            order = next((f": the {text}" for text in one.orders.values()), " were trained")
            found += one.told(f"{one.title}{order}.", f"{of_claims}, on these models: ")
            found += [] if one.side or not one.claims else [Sentence("No claim was tested on them.")]
        if reported := self.sides.get("reported"):
            found.append(Sentence("By its own numbers: ", reported.counts, "."))
        found += [Sentence(text) for text in in_a_word(self.study, self.paper)]
        return Summary(found, [text for one in self.openings for text in _details(one)])


def _orders(study: Study, paper: str, run: Smaller, orders: Mapping[str, Order | None]) -> dict[str, str]:
    """Return table -> in which order its rows come in a run and after more steps, as a clause."""
    words = {
        name: f"rows of {label_of(name).lower()} come {order.words} ({order})"
        for name, order in orders.items()
        if order
    }
    longer = run.longer
    for name in words if longer else ():
        if longer and name in longer.recording.tables and (more := order_of(study, paper, name, longer.recording)):
            words[name] += f"; {longer.conditions}, {more.words} ({more})"
    return words


def _moved(orders: Mapping[str, Order | None]) -> str:
    """Return the row of a recorded run whose place differs most from the reported one, as a sentence; empty if none."""
    moved = [(name, *order.moved) for name, order in orders.items() if order and order.moved[1] != order.moved[2]]
    if not moved:
        return ""
    name, row, here, there = max(moved, key=lambda one: abs(one[2] - one[3]))
    return f"{row} of {label_of(name)} is in place {here} here and {there} in the paper"


def _details(one: Opening) -> Iterator[str]:
    """Yield the sentences behind what a run of a published paper found."""
    yield from (f"The {text}." for text in list(one.orders.values())[1:])
    yield from (f"{text}." for text in one.stuck)
    if one.surprise:
        yield f"Largest surprise: {one.surprise}."

"""Outcomes of a paper's claims: the lists at the top of its page, and the counts on the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from retort.judgement.certainty import Kind, Outcome, outcomes, side_of_recording
from retort.judgement.judge import Side, ours
from retort.results.tidy import Line, for_claims, read
from retort.specs.paper import Recording, Statement
from retort.study.study import Study
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
        """Return the path of a figure, or of the plot of a table's verdicts."""
        return self.root / f"reports/{paper}/{name}.svg"


RUN = Files()  # the files of the run in the current folder
HEADINGS = {
    Kind.HOLDS: "Hold",
    Kind.FAILS: "Do not hold",
    Kind.UNDECIDED: "Undecided",
    Kind.HOLDS_SO_FAR: "Hold so far",
    Kind.FAILS_SO_FAR: "Do not hold so far",
}


@dataclass(frozen=True)
class ClaimCounts:
    """How many claims of a paper, or of several, are have each outcome; the names are those of `certainty.Kind`."""

    hold: int = 0
    fail: int = 0
    undecided: int = 0
    so_far: int = 0
    not_so_far: int = 0
    without: int = 0

    def __add__(self, other: ClaimCounts) -> ClaimCounts:
        """Return the sums of the counts of both."""
        return ClaimCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def claims(self) -> int:
        """The number of claims."""
        return sum(astuple(self))


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
        scale: the scale of the numbers.
        outdated: whether the numbers come from a recorded run with other settings than the scale has now.
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
        return self.scored and self.counts.claims > self.counts.without


def _claims_of_side(study: Study, paper: str, side: Side) -> dict[str, Any]:
    """Decide a paper's claims on the numbers of a side; return `groups` and `counts` of `Opening`."""
    found = outcomes(study, paper, side)
    counts = ClaimCounts(**Counter(one.kind.value for one in found.values()))
    return {"groups": _groups(study.claims.get(paper, {}), found), "counts": counts}


def _groups(statements: Mapping[str, Statement], found: Mapping[str, Outcome]) -> dict[str, list[OpeningClaim]]:
    """Return heading -> claims with this outcome; claims that cannot be decided are left out."""
    groups = {
        heading: [
            _opening_claim(name, statements[name], _remark(one)) for name, one in found.items() if one.kind is kind
        ]
        for kind, heading in HEADINGS.items()
    }
    return {heading: claims for heading, claims in groups.items() if claims}


def _opening_claim(name: str, statement: Statement, remark: str) -> OpeningClaim:
    stated = f"the text says {statement.number}" if statement.number else ""
    return OpeningClaim(name, statement.says, "; ".join(filter(None, (stated, remark))))


def _remark(one: Outcome) -> str:
    """Return on how many cells a claim is judged so far, or how many runs would decide it; empty if it is decided."""
    if one.kind is not Kind.UNDECIDED:
        return f"on {one.known}" if one.known else ""
    if one.runs is None:
        return "the deviation of one of its numbers is not known"
    if not one.runs:
        return "more than 256 runs of each student would be needed"
    return f"{one.runs} runs of each student would decide it"


def openings(study: Study, paper: str, files: Files = RUN) -> list[Opening]:
    """Return the outcomes of a paper's claims: in this run, then in each recorded run."""
    tables = for_claims(study, _tables(study, paper, files))
    exhibits = {name: study.exhibits[paper, name] for name in tables}
    claims = _claims_of_side(study, paper, ours(exhibits, tables))
    here = Opening(scale=study.config.scale, scored=any(map(has_scores, tables.values())), **claims)
    recorded = recordings_of(study, paper).items()
    return [here, *(_recorded(study, paper, scale, recording) for scale, recording in recorded)]


def _recorded(study: Study, paper: str, scale: str, recording: Recording) -> Opening:
    return Opening(
        scale=scale,
        **_claims_of_side(study, paper, side_of_recording(study, paper, recording)),
        run=source_of(recording),
        model=recording.replacements.get("model", ""),
        tasks=recorded_tasks(study, paper, recording),
        whole=recording.samples is not None,
        cells=sum(len(columns) for rows in recording.tables.values() for columns in rows.values()),
        runs=recording.runs,
        outdated=is_outdated(study, paper, scale),
    )


def _tables(study: Study, paper: str, files: Files) -> dict[str, list[Line]]:
    """Return the tidy lines of the tables that a paper's claims read, if their files exist."""
    names = sorted({name for claim in study.claims.get(paper, {}).values() for name in claim.tables})
    return {name: read(files.tidy(paper, name)) for name in names if files.tidy(paper, name).is_file()}

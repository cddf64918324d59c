"""What came out of a paper's claims: the lines with which its page opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from retort.report.files import RUN, Files
from retort.study.study import Study
from retort.tables.outcomes import Sorted, outcomes, side_of_lines, side_of_recording, sort_claims
from retort.tables.recordings import has_scores, source_of
from retort.tables.rehearsed import for_claims
from retort.tables.tidy import Line, read


@dataclass(frozen=True)
class Opened:
    """A claim as the opening names it: its anchor on the page, and what it says."""

    name: str
    says: str
    runs: int | None = None


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What came out of a paper's claims at one scale.

    Args:
        scale: the scale of the numbers.
        run: where the numbers of a recorded run come from: machine, date and commit; empty for those of this page.
        model: the teacher of the recorded run, if the scale replaces the printed ones.
        tasks: what the recorded run ran of the paper's tasks, if not all.
        runs: over how many runs a mean is; 0 where students differ.
        hold: the claims that hold.
        fail: the claims that do not.
        undecided: the claims that the luck of the runs may have turned, with the runs that would decide them.
        without: how many claims lack a number.
    """

    scale: str
    run: str = ""
    model: str = ""
    tasks: list[str] = field(default_factory=list)
    runs: int = 0
    hold: list[Opened]
    fail: list[Opened]
    undecided: list[Opened]
    without: int

    @property
    def claims(self) -> int:
        """The number of claims."""
        return len(self.numbered) + self.without

    @property
    def numbered(self) -> list[Opened]:
        """The claims that have their numbers."""
        return [*self.hold, *self.fail, *self.undecided]


def _opening(study: Study, paper: str, claims: Sorted, **origin: Any) -> Opening:
    texts = study.claims.get(paper, {})

    def named(names: list[str]) -> list[Opened]:
        return [Opened(name, texts[name].says) for name in names if name in texts]

    undecided = [Opened(name, texts[name].says, runs) for name, runs in claims.undecided.items() if name in texts]
    return Opening(
        hold=named(claims.hold), fail=named(claims.fail), undecided=undecided, without=len(claims.without), **origin
    )


def openings(study: Study, paper: str, files: Files = RUN) -> list[Opening]:
    """Return what came out of a paper's claims: in this run if it has scores, then in each recorded run."""
    found = []
    tables = for_claims(study, _tables(study, paper, files))
    if any(map(has_scores, tables.values())):
        claims = sort_claims(outcomes(study, paper, side_of_lines(study, paper, tables)))
        found.append(_opening(study, paper, claims, scale=study.config.scale))
    for (slug, scale), recording in study.recordings.items():
        if slug == paper:
            claims = sort_claims(outcomes(study, paper, side_of_recording(study, paper, recording)))
            replaced = {key: value for key, value in recording.replacements.items() if key in ("model", "tasks")}
            origin = {"run": source_of(recording), "runs": recording.runs, **replaced}
            found.append(_opening(study, paper, claims, scale=scale, **origin))
    return [opening for opening in found if opening.numbered]


def _tables(study: Study, paper: str, files: Files) -> dict[str, list[Line]]:
    """Return the tidy lines of the tables that a paper's claims read, without those that are still to come."""
    names = sorted({name for claim in study.claims.get(paper, {}).values() for name in claim.tables})
    return {name: read(files.tidy(paper, name)) for name in names if files.tidy(paper, name).is_file()}

"""What comes first on a paper's page and stands beside it on the index: a verdict, and the sentences behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from retort.report.outcome import Opening, Tally
from retort.study.study import Study
from retort.tables.claims import OURS, PRINT, counts_in_words
from retort.tables.layout import label_of


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


def summary_of(study: Study, paper: str, found: list[Opening], counted: Tally, compared: str = "") -> Summary:
    """Return what was run of a paper, and what came out.

    Args:
        study: the study.
        paper: the paper.
        found: the outcomes of its claims: of this run, then of each recorded run.
        counted: its counts.
        compared: how the run of a study of ours meets its record.
    """
    own, recorded = found[0], found[1:]
    if study.papers[paper].ours:
        learnt = next((one.learnt for one in found if one.learnt), [])
        if counted.measured or not recorded:
            return Summary(f"{compared} {_claims(own)}".strip() or "Not run yet.", learnt=learnt)
        return Summary(f"Recorded {recorded[0].date}, not run here. {_claims(recorded[0])}", learnt=learnt)
    verdict = _run(study, own, counted) if counted.measured else "Not run at its own scale."
    others = [_claims(one, "On smaller models, claims") for one in recorded]
    return Summary(" ".join(filter(None, [verdict, *others])), list(_details(own, recorded, counted)))


def _claims(one: Opening, before: str = "Claims") -> str:
    """Return a sentence with how many claims have each outcome; empty without claims."""
    return f"{before}: {counts_in_words(one.counts, one.words)}." if one.counts.total() else ""


def _run(study: Study, own: Opening, counted: Tally) -> str:
    """Return what this run made of a printed paper."""
    smaller = f", {own.conditions}" if own.conditions else ""
    cells = f"{counted.measured:,} of {counted.cells:,} cells measured"
    judged = f", {counted.confirmed} agree, {counted.differs} differ" if counted.judged else ""
    return f"Run at scale {study.config.scale}{smaller}: {cells}{judged}. {_claims(own)}".strip()


def _details(own: Opening, recorded: list[Opening], counted: Tally) -> Iterator[str]:
    """Yield the sentences behind the verdict on a printed paper."""
    if counted.claims:
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

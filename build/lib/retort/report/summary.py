"""The sentences that come first on a paper's page and stand beside it on the index, made from its results."""

from __future__ import annotations

from retort.report.outcome import Opening, Tally
from retort.study.study import Study
from retort.tables.claims import OURS, PRINT, counts_in_words
from retort.tables.layout import label_of


def summary_of(study: Study, paper: str, found: list[Opening], counted: Tally, compared: str = "") -> str:
    """Return what was run of a paper, and what came out, in a few sentences.

    Args:
        study: the study.
        paper: the paper.
        found: the outcomes of its claims: of this run, then of each recorded run.
        counted: its counts.
        compared: how the run of a study of ours meets its record.
    """
    own = [one for one in found if one.run is None]
    if study.papers[paper].ours:
        recorded = (f"Not run here; recorded {one.date}. {_learnt(one)}" for one in found if one.run is not None)
        parts = [compared, *map(_learnt, own)] if counted.measured else [*recorded] or ["Not run yet."]
        return " ".join(filter(None, parts))
    computed = counts_in_words(counted.computed, OURS)
    return " ".join(filter(None, [
        *(_run(study, one, counted) for one in own),
        f"Computed, without a run: {computed}." if computed else "",
        *(_recorded(one) for one in found if one.run is not None),
    ]))  # fmt: skip


def _run(study: Study, one: Opening, counted: Tally) -> str:
    """Return what this run made of a printed paper."""
    if not counted.measured:
        by = f"; its own numbers leave {counted.claims} claims {counts_in_words(counted.published, PRINT)}"
        return f"Not run at its own scale{by if counted.claims else ''}."
    smaller = f", {one.conditions}" if one.conditions else ""
    cells = f"{counted.measured:,} of {counted.cells:,} cells measured"
    judged = f", {counted.confirmed} agree, {counted.differs} differ" if counted.judged else ""
    claims = f"; claims: {counts_in_words(one.counts, one.words)}" if one.counts.total() else ""
    return f"Run at scale {study.config.scale}{smaller}: {cells}{judged}{claims}.{_surprise(one)}"


def _recorded(one: Opening) -> str:
    """Return what a recorded run of smaller models says, beside the paper's own numbers."""
    orders = [f"{label_of(name)}: {text}" for name, text in one.orders.items()]
    claims = [f"claims: {counts_in_words(one.counts, one.words)}"] if one.counts.total() else []
    outdated = ", with other settings than now" if one.outdated else ""
    said = "; ".join([*orders, *one.stuck, *claims])
    return f"On smaller models, {one.conditions} (recorded {one.date or 'earlier'}{outdated}): {said}.{_surprise(one)}"


def _surprise(one: Opening) -> str:
    return f" Largest surprise: {one.surprise}." if one.surprise else ""


def _learnt(one: Opening) -> str:
    """Return how many claims of a study of ours are decided, and what was learnt."""
    claims = f"Claims: {counts_in_words(one.counts, one.words)}." if one.counts else ""
    return " ".join(filter(None, (claims, f"What was learnt: {one.learnt}" if one.learnt else "")))

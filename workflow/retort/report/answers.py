"""The answers that the index opens with: what to use, who says so, and how sure that is by the outcomes of claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from retort.judgement.claims import Judgement
from retort.judgement.judge import Kind
from retort.report.across import Question
from retort.report.outcome import Shown
from retort.report.page import PageExhibit, exhibit, heading
from retort.specs.across import Answer, Basis
from retort.tables.claims import NO_OUTCOME, Judged

REPORTED, REPLICATED, SMALLER, OURS = "reported", "replicated", "on smaller models", "in this run"
# a side -> what comes after 'supported'
SIDES = {REPORTED: "by the reported numbers", REPLICATED: "by numbers of others", SMALLER: SMALLER, OURS: OURS}
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class SideOutcome:
    """What one side says of a claim on which an answer rests.

    Args:
        side: one of `SIDES`.
        judgement: the judgement of the claim on this side.
        runs: of each student, of a recorded run; 0 if not told.
        agrees: whether the outcome is the one on which the answer rests; None if it is neither that nor the opposite.
    """

    side: str
    judgement: Judgement
    runs: int
    agrees: bool | None


@dataclass(frozen=True)
class AnswerSource:
    """A paper or study behind an answer, with its tables and figures, and what each side says of its claims."""

    shown: Shown
    exhibits: list[PageExhibit]
    claims: list[tuple[Judged, list[SideOutcome]]]

    def on_side(self, side: str) -> list[SideOutcome]:
        """Return what one side says of its claims."""
        return [one for _, outcomes in self.claims for one in outcomes if one.side == side]


@dataclass(frozen=True)
class Answered:
    """An answer as the index shows it.

    Args:
        name: its name, for its anchor.
        spec: the question and the answer.
        sources: who is behind it.
        question: the question across papers whose plot shows it; else None.
        figure: the figure that shows it; else None.
    """

    name: str
    spec: Answer
    sources: list[AnswerSource]
    question: Question | None = None
    figure: PageExhibit | None = None

    @property
    def sure(self) -> str:
        """How sure the answer is, as a phrase of what each side says."""
        if not any(one.claims for one in self.sources):
            ours = sum(one.shown.spec.ours for one in self.sources)
            papers = len(self.sources) - ours
            told = [f"reported by {_counted(papers, 'paper', 'papers')}"] if papers else []
            told += [f"measured by {_counted(ours, 'study', 'studies')} of ours"] if ours else []
            return _sentence([*told, "no claim tests it"])
        found = {side: [said for one in self.sources if (said := one.on_side(side))] for side in SIDES}
        told = [_told(side, of_sources) for side, of_sources in found.items() if of_sources]
        if not found[SMALLER] and not found[OURS]:
            told.append("not tested by us")
        if not found[REPORTED]:
            told.append("no paper tests it")
        return _sentence(told)

    @property
    def contradicted(self) -> list[str]:
        """What says the opposite of the answer: the claim and the side."""
        return [
            f"\u201c{item.claim.says.removesuffix('.')}\u201d is {one.judgement.verdict} {SIDES[one.side]}"
            for source in self.sources
            for item, outcomes in source.claims
            for one in outcomes
            if one.agrees is False
        ]


def _sentence(phrases: Sequence[str]) -> str:
    """Return phrases as one sentence."""
    text = "; ".join(phrases)
    return f"{text[0].upper()}{text[1:]}."


def _counted(count: int, one: str, many: str) -> str:
    """Return a count with its noun, in words up to nine."""
    return f"{NUMBERS[count] if count < len(NUMBERS) else count} {one if count == 1 else many}"


def _told(side: str, of_sources: Sequence[Sequence[SideOutcome]]) -> str:
    """Return what one side says of an answer, as a phrase, from the outcomes of each source that has some."""
    outcomes, words = [*chain.from_iterable(of_sources)], SIDES[side]
    papers = sum(any(one.agrees for one in of_source) for of_source in of_sources)
    agree, against, count = (sum(one.agrees is wanted for one in outcomes) for wanted in (True, False, None))
    count += agree + against
    runs = sorted({one.runs for one in outcomes if one.runs})
    seeds = f"{runs[0]}{f' to {runs[-1]}' if runs[1:] else ''} seed{'s' * (runs != [1])}" if runs else ""
    part = f"{agree} of {count} claims agree" if agree < count else ""
    if part and not agree:
        opening, part = f"inconclusive {words}" if not against else "", ""
    elif side == REPORTED:
        opening = f"{_counted(papers, 'paper reports', 'papers report')} it{' in part' * bool(part)}"
    else:
        opening = f"supported{' in part' * bool(part)} {words}"
    details = ", ".join(filter(None, (part, seeds)))
    opposed = f"contradicted {words} by {_counted(against, 'claim', 'claims')}" if against else ""
    return ", but ".join(filter(None, (opening + (f" ({details})" if opening and details else ""), opposed)))


def _sides_of(shown: Shown, item: Judged) -> Iterator[tuple[str, Judgement, int]]:
    """Yield each side with numbers of a claim, its judgement, and the runs behind a recorded one."""
    ours, study = shown.spec.ours, shown.study
    if not ours:
        yield REPORTED, item.reported, 0
    yield from ((REPLICATED, one, 0) for one in item.replicated.values())
    if item.ours.verdict is not Kind.NOT_TESTED and not item.ours.computed:
        yield SMALLER if ours or item.ours.conditions else OURS, item.ours, 0
    elif ours:
        record = study.record_of(shown.paper)
        yield SMALLER, item.reported, record.runs if record else 0
    for scale, one in item.recorded.items() if item.ours.verdict is Kind.NOT_TESTED else ():
        yield SMALLER, one, study.recordings[shown.paper, scale.partition(", ")[0]].runs


def _said(shown: Shown, item: Judged, wanted: Kind) -> Iterator[SideOutcome]:
    """Yield what each side says of a claim, and whether that is the outcome on which an answer rests."""
    for side, judgement, runs in _sides_of(shown, item):
        kind = judgement.verdict
        if kind in NO_OUTCOME or (wanted is Kind.BY_LENGTH and side == REPORTED):  # a paper has one length
            continue
        yield SideOutcome(side, judgement, runs, True if kind is wanted else False if kind.is_decided else None)


def _source(shown: Shown, basis: Basis) -> AnswerSource:
    judged, named = {item.name: item for item in shown.judged}, basis.claims.items()
    claims = [(judged[name], [*_said(shown, judged[name], Kind(kind))]) for name, kind in named if name in judged]
    return AnswerSource(shown, [heading(shown.study, basis.paper, name) for name in basis.exhibits], claims)


def answers(specs: Mapping[str, Answer], papers: Mapping[str, Shown], questions: Iterable[Question]) -> list[Answered]:
    """Return the answers of which a paper or study is shown, each with what says so and its picture.

    Args:
        specs: the answers by name.
        papers: the papers that are shown.
        questions: the questions of the tables across papers.
    """
    found, plots = [], {question.name: question for question in questions}
    for name, spec in specs.items():
        sources = [_source(papers[one.paper], one) for one in spec.rests_on if one.paper in papers]
        slug, _, figure = spec.picture.partition("/")
        drawn = exhibit(papers[slug], figure, None) if figure and slug in papers else None
        if sources:
            found.append(Answered(name, spec, sources, plots.get(spec.picture), drawn))
    return found

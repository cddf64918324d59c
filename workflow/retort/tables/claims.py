"""Judge each claim of a paper on the reported numbers and on ours, and print the numbers that decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from retort.atomic import write_text
from retort.errors import RetortError
from retort.formatters import condition_text
from retort.job.context import RunningJob
from retort.judgement.certainty import LEVEL, Assumed, assumed_by, level_of_look
from retort.judgement.claims import Judgement, judge_reported, judge_runs
from retort.judgement.judge import (
    Kind,
    Side,
    coverage_of,
    our_numbers,
    recomputed_averages,
    recorded_numbers,
    reported_numbers,
)
from retort.judgement.recorded import conditions_of, side_of_recording
from retort.results.environments import mixed_warning
from retort.results.frames import AGAIN, for_claims, read
from retort.results.planned_study import planned_study
from retort.specs import catalogue
from retort.specs.loading import shown
from retort.specs.paper import Recording, Statement
from retort.study.study import Study
from retort.tables.measure import units_of
from retort.tables.recordings import OUTDATED, is_outdated, recordings_of, replacements_of
from retort.tables.render import TEMPLATES, document
from retort.tables.replications import replicated_sides

if TYPE_CHECKING:
    from pandas import DataFrame

NO_OUTCOME = (Kind.NOT_TESTED, Kind.NOT_REPORTED)
LISTED = 6  # up to so many columns are listed by name; more are only counted


@dataclass(frozen=True)
class Judgements:
    """The judgements of a claim: on the reported numbers, on ours, on recorded ones, and on those of others.

    Args:
        recorded: scale -> the judgement on our recorded run at that scale, if it has a number of the claim. If the
            scale has other settings now, the key says so after a comma.
        otherwise: another reading of the claim -> its judgement on the reported numbers.
        replicated: who replicated the cells of the claim -> the judgement on their numbers, which are never ours.
    """

    reported: Judgement
    ours: Judgement
    recorded: dict[str, Judgement]
    otherwise: dict[str, Judgement]
    replicated: dict[str, Judgement] = field(default_factory=dict)


STORED = TypeAdapter(dict[str, Judgements])  # the judgements of a paper's claims by name, as JSON


@dataclass(frozen=True, kw_only=True)
class Judged(Judgements):
    """A claim with its judgements."""

    name: str
    claim: Statement

    @property
    def test(self) -> str:
        """The condition that the comparison checks, with the columns that it reads."""
        if self.claim.undecided:
            return "No comparison"
        columns = list(dict.fromkeys(column for group in self.claim.cells for column in group.columns))
        summary = condition_text(catalogue.comparisons()[self.claim.compare].summary).removesuffix(".")
        columns_named = ", ".join(columns) if len(columns) <= LISTED else f"{len(columns)} columns"
        return f"Checked on {columns_named}: {summary[0].lower()}{summary[1:]}"


@dataclass(frozen=True)
class Smaller:
    """A recorded run of smaller models, as claims are judged on it.

    Args:
        recording: the run.
        scale: its scale, with a remark if that has other settings now.
        conditions: at which length and on which teacher it is.
        side: its numbers.
        assumed: what is assumed of the spread of its runs.
        tasks: the tasks that a recorded run with more steps has too.
        short: the numbers of this run on these tasks.
        longer: the run with more steps, with its numbers on them; None if there is none.
    """

    recording: Recording
    scale: str
    conditions: str
    side: Side
    assumed: Assumed
    tasks: Sequence[str] = ()
    short: Side | None = None
    longer: Smaller | None = None

    def judge(self, name: str, claim: Statement) -> Judgement:
        """Return the judgement of a claim on this run and, if it is decided, on the longer one."""
        found, length = judge_runs(claim, self.side, self.assumed, self.conditions), ""
        if found.verdict.is_decided:
            found, length = self._at_both_lengths(found, claim)
        cause = f"Known cause: {self.recording.causes[name]}" if name in self.recording.causes else ""
        return replace(found, further=tuple(filter(None, (length, cause))))

    def _at_both_lengths(self, found: Judgement, claim: Statement) -> tuple[Judgement, str]:
        """Return what is found, which may turn with length, and a sentence on the tasks that both lengths have."""
        if not self.longer or not self.short or not coverage_of(claim, self.longer.side).known:
            return found, "It was not run at a second length."
        short = judge_runs(claim, self.short, self.assumed, self.conditions)
        long = judge_runs(claim, self.longer.side, self.longer.assumed, self.conditions)
        at = ((self.conditions, short), (f"{self.longer.conditions}, {self.longer.recording.runs} runs", long))
        told = "; ".join(
            f"{where}: {one.verdict}{', ' * bool(one.remark)}{one.remark} ({one.numbers})" for where, one in at
        )
        turned = None not in (short.points_to, long.points_to) and short.points_to is not long.points_to
        found = replace(found, verdict=Kind.BY_LENGTH) if turned else found
        return found, f"On {', '.join(self.tasks)} alone, {told}."


def smaller_runs(study: Study, paper: str) -> list[Smaller]:
    """Return the recorded runs of a paper, each with the run of more steps, if one is recorded."""

    def on(scale: str, run: Recording, tasks: Sequence[str] | None = None) -> Smaller:
        conditions = conditions_of(study, paper, run.replacements, run.tables)
        assumed = assumed_by(study, paper, run.distillations)
        return Smaller(run, scale, conditions, side_of_recording(study, paper, run, tasks), assumed)

    runs = []
    for scale, (one, more) in recordings_of(study, paper).items():
        run = on(f"{scale}, {OUTDATED}" if is_outdated(study, paper, scale) else scale, one)
        if more:
            tasks = [task for task in more.replacements.get("tasks", []) if task in one.replacements.get("tasks", [])]
            longer = on(scale, more, tasks)
            longer = replace(longer, conditions=longer.conditions.partition(", on a teacher")[0])
            run = replace(run, tasks=tasks, short=on(scale, one, tasks).side, longer=longer)
        runs.append(run)
    return runs


def judge_all(study: Study, paper: str, tables: Mapping[str, DataFrame]) -> list[Judged]:
    """Judge every claim of a paper on the frames of its tables."""
    exhibits = {name: study.exhibits[paper, name] for name in tables}
    own, recorded, assumed = our_numbers(exhibits, tables), smaller_runs(study, paper), assumed_by(study, paper)
    replaced, on_reported = replacements_of(study.scale, paper), judge_on_reported(study, paper)
    others = replicated_sides(study, paper)
    conditions = conditions_of(study, paper, replaced, exhibits) if replaced else ""
    return [
        Judged(
            on_reported(claim),
            judge_runs(claim, own, assumed, conditions, level_of_look(claim, own) if study.config.budget else LEVEL),
            {run.scale: run.judge(name, claim) for run in recorded if coverage_of(claim, run.side).known},
            {reading.says: on_reported(claim.read_as(reading)) for reading in claim.other_readings.values()},
            dict(_by_others(claim, others, assumed)),
            name=name,
            claim=claim,
        )
        for name, claim in study.claims.get(paper, {}).items()
    ]


def _by_others(claim: Statement, sides: Mapping[str, Side], assumed: Assumed) -> Iterator[tuple[str, Judgement]]:
    """Yield who has numbers of all cells of a claim, or of enough to decide it, with the judgement on them."""
    for who, side in sides.items():
        coverage = coverage_of(claim, side)
        undecided = (Kind.NOT_TESTED,) if coverage.known == coverage.cells else (Kind.NOT_TESTED, Kind.INCONCLUSIVE)
        if coverage.known and (found := judge_runs(claim, side, assumed)).verdict not in undecided:
            yield who, found


def judge_on_reported(study: Study, paper: str) -> Callable[[Statement], Judgement]:
    """Return a function that judges a claim on reported numbers; those of a study of ours are judged as runs."""
    names = {name for claim in study.claims.get(paper, {}).values() for name in claim.tables}
    exhibits = {name: study.exhibits[paper, name] for name in names}
    if study.papers[paper].ours:
        record, recorded = study.record_of(paper), recorded_numbers(exhibits, units_of(exhibits))
        assumed = assumed_by(study, paper, record.distillations if record else None)
        return lambda claim: judge_runs(claim, recorded, assumed)
    reported = reported_numbers(exhibits)
    with_recomputed = recomputed_averages(reported, exhibits)
    return lambda claim: judge_reported(claim, reported, with_recomputed)


class OutcomeCount(NamedTuple):
    """How many claims have one outcome on a side, in words, and the anchor of the count above their table."""

    text: str
    anchor: str


@dataclass(frozen=True)
class ClaimSide:
    """One side on which all claims of a paper are judged: a column of their table, and its counts.

    Args:
        anchor: with which the anchors of its counts begin.
        title: the head of the column.
        judgements: of each claim, in the order of the claims.
        conditions: for smaller models: at which length and on which teacher.
    """

    anchor: str
    title: str
    judgements: Sequence[Judgement]
    conditions: str = ""

    @staticmethod
    def outcome_of(one: Judgement) -> str:
        """Return the outcome of a claim in words; that of one that needs no run is another one."""
        return one.verdict + " by settings alone" * one.computed

    def anchor_of(self, one: Judgement) -> str:
        """Return the anchor of the count in which a claim is counted."""
        return f"{self.anchor}-{self.outcome_of(one).replace(' ', '-')}"

    @property
    def counts(self) -> list[OutcomeCount]:
        """How many claims have each outcome; each claim is in one count."""
        alike: dict[str, list[Judgement]] = {}
        for one in sorted(self.judgements, key=lambda one: (one.computed, [*Kind].index(one.verdict))):
            alike.setdefault(self.outcome_of(one), []).append(one)
        return [
            OutcomeCount(
                f"{len(same)} {word.replace('depends', 'depend') if len(same) > 1 else word}", self.anchor_of(same[0])
            )
            for word, same in alike.items()
        ]


def claim_sides(study: Study, paper: str, claims: Sequence[Judged]) -> list[ClaimSide]:
    """Return the sides on which a claim of a paper has an outcome, as columns from left to right.

    A claim that needs no run has its outcome on each side of ours; it alone makes no column next to another one of
    ours.
    """
    without, own = Judgement(Kind.NOT_TESTED), [item.ours for item in claims]
    scales = {scale: one.conditions for item in claims for scale, one in item.recorded.items()}
    name, title = ("record", "Recorded run") if study.papers[paper].ours else ("reported", "Reported")
    reported = ClaimSide(f"{paper}-claims-{name}", title, [item.reported for item in claims])
    smaller = [
        ClaimSide(
            f"{paper}-claims-at-{scale.partition(', ')[0]}", "Smaller models",
            [item.ours if item.ours.computed else item.recorded.get(scale, without) for item in claims],
            ", ".join(filter(None, (conditions, scale.partition(", ")[2]))),
        )
        for scale, conditions in scales.items()
    ]  # fmt: skip
    others = [
        ClaimSide(
            f"{paper}-claims-by-{n}", f"Replicated by {who}", [item.replicated.get(who, without) for item in claims]
        )
        for n, who in enumerate(dict.fromkeys(who for item in claims for who in item.replicated), 1)
    ]
    conditions = next((one.conditions for one in own if one.conditions), "")
    ran = any(one.verdict is not Kind.NOT_TESTED and not one.computed for one in own)
    this_run = ClaimSide(f"{paper}-claims-ours", "This run" if ran else "Without a run", own, conditions)
    computed = not smaller and any(one.computed for one in own)
    reported_any = any(one.verdict not in NO_OUTCOME for one in reported.judgements)
    return [*[reported] * reported_any, *others, *smaller, *[this_run] * (ran or computed)]


def counts(claims: Sequence[Judged], sides: Iterable[ClaimSide]) -> str:
    """Return sentences with the number of claims, and how many have each outcome on each side."""
    told = [
        f"{', '.join(filter(None, (side.title, side.conditions)))}: {', '.join(one.text for one in side.counts)}."
        for side in sides
    ]
    return " ".join([f"Claims: {len(claims)}.", *told])


def check_claims(
    job: RunningJob,
    config: dict[str, Any],
    paper: str,
    tables: Iterable[str],
    judged: str,
    renders: Mapping[str, str],
) -> None:
    """Judge the claims of a paper; write them as Markdown and HTML, and their judgements as JSON, for pages.

    Args:
        job: the running job.
        config: the configuration.
        paper: the paper.
        tables: the paths of the tables that its claims read.
        judged: the path of the judgements.
        renders: format ('md', 'html') -> path.
    """
    study = planned_study(config)
    frames = {Path(path).stem: read(path) for path in tables}
    claims = judge_all(study, paper, for_claims(study, frames))
    write_text(judged, STORED.dump_json({one.name: one for one in claims}, indent=1).decode())
    rule = (TEMPLATES / "rule.txt").read_text(encoding="utf-8").split()
    sides = claim_sides(study, paper, claims)
    values = {"paper": paper, "title": study.papers[paper].title, "claims": claims, "sides": sides,
              "rule": " ".join(filter(None, [mixed_warning(study, paper, frames), *rule])),
              "file": shown(study.folders[paper] / "claims.yaml", study.config.study_folders)}  # fmt: skip
    for ending, path in renders.items():
        write_text(path, document(f"claims.{ending}", **values))
    job.say(counts(claims, sides))


def read_judged(study: Study, paper: str, path: Path) -> list[Judged]:
    """Return the claims of a paper as `check_claims` has judged them; none if it could not.

    Raises:
        RetortError: the file holds other claims.
    """
    if not path.is_file():
        return []
    claims = study.claims.get(paper, {})
    try:
        found = STORED.validate_json(path.read_text(encoding="utf-8"))
        return [Judged(**vars(one), name=name, claim=claims[name]) for name, one in found.items()]
    except (ValidationError, KeyError):
        raise RetortError(f"{path} holds other claims than those of '{paper}'", AGAIN) from None

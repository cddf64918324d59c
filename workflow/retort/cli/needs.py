"""What it takes to decide claims: students, tasks and seeds, for `retort budget` and `retort cost --claims`."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from retort.cost.budget import NONE, Prices, Runs, joined_runs
from retort.cost.overview import align_columns, rounded_hours, selected_exhibits
from retort.cost.speed import speed_of_device
from retort.judgement.certainty import FIRST, LOOKS, AsIf, assumed_by, claim_outcome, level_of_look, shares_of
from retort.judgement.comparisons import Reached
from retort.judgement.judge import Facts, Key, Side, claim_frame, decide_statement, our_numbers, reported_numbers
from retort.plan.plan import Plan
from retort.results import frames
from retort.specs.config import Config, read_config
from retort.specs.exhibit import Exhibit
from retort.specs.paper import Statement
from retort.specs.rows import AssumedSpread
from retort.study.cells import sent_tasks
from retort.study.reasons import not_run, unscored
from retort.study.study import Study

SEEDS = (2, 3, 4, 6, 10, 20)  # of each student; what needs more is out of reach
SURER = 1.43  # times the deviations: (z(97.5 %) + z(80 %)) / z(97.5 %), so that a claim is decided with a power of 80 %

DECIDED, OPEN = "decided", "open"  # by the scores that are there; by further runs
FAR, UNKNOWN = "out of reach", "not reported"  # by more than 20 seeds; there is no reported difference to expect
CANNOT = "not ours"  # its numbers are of others' models, or it has none
WITHOUT = "no training"  # sizes, times of passes and quoted numbers are all that it reads
EXPECTED = (
    f"Seeds, or distillations of students that have one: the fewest of {SEEDS[0]} to {SEEDS[-1]} that decide a claim "
    "with a power of about 80 %, if differences are as reported, or as in the scores that are there, and deviations as "
    "reported, or as assumed by the table (0.6 points by default)."
)


@dataclass(frozen=True)
class Claim:
    """A claim, and what it takes to decide it.

    Args:
        paper: its paper.
        name: its name there.
        state: `DECIDED`, `OPEN`, `FAR`, `UNKNOWN` or `CANNOT`.
        runs: what decides an open claim.
        in_abstract: whether the abstract makes it.
        tables: the tables with its numbers.
    """

    paper: str
    name: str
    state: str
    runs: Runs
    in_abstract: bool = False
    tables: tuple[str, ...] = ()


def claims_of(study: Study) -> Iterator[Claim]:
    """Yield the claims of all papers that are run."""
    for paper in study.running_papers:
        statements = study.claims.get(paper, {})
        exhibits = {name: study.exhibits[paper, name] for name in study.exhibits_of(paper)}
        reported = reported_numbers(exhibits)
        for name, claim in statements.items():
            state, runs = _needs(study, paper, claim, {table: exhibits[table] for table in claim.tables}, reported)
            yield Claim(paper, name, state, runs, claim.where.startswith("abstract"), tuple(claim.tables))


def _needs(
    study: Study, paper: str, claim: Statement, exhibits: Mapping[str, Exhibit], reported: Side
) -> tuple[str, Runs]:
    """Return the state of a claim, and what decides it."""
    if not claim.compare:
        return CANNOT, {}
    files = {name: Path(f"results/tables/{paper}/{name}.csv") for name in exhibits}
    lines = {name: frames.read(path) for name, path in files.items() if path.is_file()}
    own = our_numbers(exhibits, frames.for_claims(study, lines))
    if claim_outcome(claim, own, assumed_by(study, paper), level_of_look(claim, own)).kind.is_decided:
        return DECIDED, {}
    trained = {key: runs for key in claim.keys if (runs := _runs_of(study, exhibits[key[0]], key)) is not None}
    once = {key for key in trained if _is_sent(study, exhibits[key[0]], key)}
    here = {tuple(key) for key in own.cells_of(claim).numbered.keys}
    expected: dict[Key, Facts] = {}
    for key, runs in trained.items():
        if key in here:
            expected[key] = _wider(own.numbers[key])
        elif key in reported.numbers:
            unit = "x100" if runs else ""
            expected[key] = {**reported.numbers[key], "n": 0, "unit": unit, "std": math.nan, "by_seed": ()}
    if trained and not any(trained.values()):
        return OPEN, {}
    side = Side(claim_frame(expected), Reached)
    verdict = decide_statement(claim, side)
    if isinstance(verdict, str) or verdict.supported is None:
        return (UNKNOWN if len(expected) < len(trained) else CANNOT), {}
    every: Runs = reduce(joined_runs, (runs for key, runs in trained.items() if key in expected), NONE)

    prior = assumed_by(study, paper)
    distilled = claim.about == "method" and any(prior(key).student for key in trained)

    def decided(seeds: int) -> bool:
        def assumed(key: Key) -> AssumedSpread:
            known, before = reported.numbers[key]["std"] if key in reported.numbers else math.nan, prior(key)
            std = SURER * (known if known > 0 else before.std) * (seeds**0.5 if key in once else 1)
            return replace(before, std=std, distillation_std=SURER * before.distillation_std)

        as_if = AsIf(distillations=seeds) if distilled else AsIf(seeds)
        shares = shares_of(claim, side, assumed, as_if, LOOKS[1], resamples=FIRST)
        return shares.shows_true if verdict.supported else shares.shows_false

    there = max((1 if prior(key).student else own.numbers[key]["n"] for key in here), default=0)
    further = [seeds for seeds in SEEDS if seeds > there or there <= 1]
    if not further or not decided(further[-1]):
        return FAR, {}
    seeds = further[bisect.bisect_left(further[:-1], True, key=decided)]
    return OPEN, {name: (tasks, 1 if name in study.teachers else seeds) for name, (tasks, _) in every.items()}


def _runs_of(study: Study, exhibit: Exhibit, key: Key) -> Runs | None:
    """Return what is trained for a cell, under one seed; None if this scale cannot measure it."""
    cells = {(cell.row, cell.column): cell for cell in exhibit.cells()}
    if key[1:] not in cells:
        return {} if exhibit.trainings() else None  # costs are computed
    parts = [cells[key[1:]]]
    if first := parts[0].spec.mean_of or [name for name in (parts[0].spec.change_from,) if name]:
        parts = [cells[key[1], column] for column in (*first, *filter(None, [parts[0].before]))]
    if any(not cell.student for cell in parts):
        return None
    pairs = [(student, task) for cell in parts for student in cell.students for task, _ in cell.scored]
    able = [pair for pair in pairs if not unscored(study, *pair)]
    if (pairs and not able) or any(not_run(study, cell.student) for cell in parts):
        return None
    runs: Runs = reduce(joined_runs, ({student: (frozenset([task]), 1)} for student, task in able), NONE)
    return runs


def _is_sent(study: Study, exhibit: Exhibit, key: Key) -> bool:
    """Return whether a server scores a cell, so that our score on dev of one run stands in for it."""
    return any(bool(sent_tasks(study, cell)) for cell in exhibit.cells() if (cell.row, cell.column) == key[1:])


def _wider(cell: Facts) -> Facts:
    """Return a cell of ours with its spread times `SURER`."""
    mean = cell["value"]
    by_seed = tuple((seed, mean + SURER * (score - mean)) for seed, score in cell["by_seed"])
    return {**cell, "std": SURER * cell["std"], "by_seed": by_seed}


def prices_of(config: Config, flops: float | None) -> Prices:
    """Return the prices of everything that a configuration can run, each student trained without companions."""
    alone = read_config({**config.model_dump(), "budget": None, "companions": {}}, config.file)
    return Prices(Plan(alone), speed_of_device(flops, config.gpus > 0, alone))


def lines_of_claims(config: Config, names: list[str], flops: float | None) -> Iterator[str]:
    """Yield the lines of `cost --claims`: the seeds and hours of each claim, alone and next to the others.

    Args:
        config: the checked configuration.
        names: each 'paper' or 'paper/table'; all papers of the configuration if empty.
        flops: FLOPs per second of one device; None for the measured speed, or a guess without one.
    """
    prices = prices_of(config, flops)
    study = prices.plan.study
    shown = set(selected_exhibits(study, names))
    claims = [claim for claim in claims_of(study) if shown & {(claim.paper, table) for table in claim.tables}]
    rows = [["claim", "seeds", f"{'GPU' if config.gpus else 'CPU'} hours", "next to the others", ""]]
    every = prices.hours(reduce(joined_runs, (claim.runs for claim in claims), NONE))
    for claim in claims:
        others = reduce(joined_runs, (other.runs for other in claims if other is not claim), NONE)
        hours = prices.hours(claim.runs), every - prices.hours(others)
        cells = (
            [str(max(seeds for _, seeds in claim.runs.values())), *map(rounded_hours, hours)]
            if claim.runs
            else ["-"] * 3
        )
        rows.append([f"{claim.paper}/{claim.name}", *cells, claim.state])
    yield from (*align_columns(rows), "")
    yield f"Hours of what is still to run, each student trained alone. {EXPECTED}"

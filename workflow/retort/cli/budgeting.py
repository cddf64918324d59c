"""The verb `budget`, which chooses what to run for some hours and writes it as a configuration."""

from __future__ import annotations

import argparse
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from retort.atomic import write_text
from retort.cli.base import CONFIG, argument, positive_number, verb, wrapped_line
from retort.cli.measuring import OF_COST, config_of_call
from retort.cli.needs import CANNOT, DECIDED, EXPECTED, FAR, OPEN, UNKNOWN, WITHOUT, Claim, claims_of, prices_of
from retort.cost.budget import Demand, Prices, Runs, choose_runs, includes_runs, joined_runs, steps_of
from retort.cost.overview import align_columns, rounded_hours
from retort.errors import RetortError
from retort.judgement.certainty import FIRST_RUNS
from retort.registry import unknown_name
from retort.specs.config import SET_BY_RUN, Config, content_of
from retort.study.distillations import has_distillation
from retort.study.questions import seeds_of
from retort.study.study import Study
from retort.tables.figures.style import SERIES, figure, save

FILE = "budget.yaml"
ABSTRACT = "abstract"
CURVES = "budget.svg"
LINES = ("-", "--", ":", "-.")  # a style for all colours, then the next one
FROM = 1.0  # hours at the left end of their axis
HEADING = "# Written by `retort budget {hours:g}`; run it with: snakemake --profile slurm --configfile {file}\n"
AGAIN = "the claims that are open after these seeds get the hours that are left: ask again then"


def _weights(given: Iterable[str], papers: Iterable[str]) -> dict[str, float]:
    """Return paper or 'abstract' -> weight, from texts such as 'wang2023=2'.

    Raises:
        RetortError: there is no such paper, or the weight is no number above 0.
    """
    weights = {}
    for name, _, number in (text.partition("=") for text in given):
        if name not in (known := [*papers, ABSTRACT]):
            raise unknown_name("paper", name, known)
        if not number.replace(".", "", 1).isdecimal() or not float(number):
            raise RetortError(f"--weight {name}={number}: no number above 0", f"write {name}=2, for twice")
        weights[name] = float(number)
    return weights


@verb(
    "budget",
    argument(
        "hours", type=positive_number, nargs="?", metavar="HOURS", help="on one device, with what finished runs took"
    ),
    argument("what", nargs="*", metavar="paper", help="only these (default: the papers of the configuration)"),
    *OF_COST,
    argument(
        "--weight", action="append", default=[], metavar="NAME=2", help="claims of a paper, or 'abstract', count so"
    ),
    argument(
        "--curves", nargs="*", metavar="paper", help="draw what any hours decide, for the pages and README.md, and stop"
    ),
    argument("--output", default=FILE, help="the configuration that is written (default: %(default)s)"),
)
def budget(arguments: argparse.Namespace) -> int:
    """Choose the students, tasks and seeds that decide most claims for some hours, and write a configuration."""
    if arguments.curves is not None:
        arguments.what += arguments.curves
    elif not arguments.hours:
        raise RetortError("no hours are given", "give those of one device, such as: retort budget 200")
    config = config_of_call(arguments)
    prices = prices_of(config, arguments.flops)
    weights = _weights(arguments.weight, prices.plan.study.running_papers)
    claims, begun = list(claims_of(prices.plan.study)), prices.begun()
    demands = [
        Demand(
            f"{claim.paper}/{claim.name}",
            claim.runs,
            weights.get(claim.paper, 1.0) * (weights.get(ABSTRACT, 1.0) if claim.in_abstract else 1.0),
        )
        for claim in claims
        if claim.state == OPEN
    ]
    if arguments.curves is not None:
        _draw(prices.plan.study, _curves(prices, claims, demands), together=not arguments.what)
        return 0
    spent = prices.spent()
    # a student has the same seeds on all of its tasks, also on those that are begun
    runs = choose_runs(demands, lambda more: prices.hours(joined_runs(more, begun)), arguments.hours - spent)
    chosen = {demand.name for demand in demands if includes_runs(runs, demand.runs)}
    runs = prices.with_what_is_free(joined_runs(runs, begun))
    # the first two seeds of a student without scores
    now = {name: (tasks, seeds if name in begun else min(seeds, FIRST_RUNS)) for name, (tasks, seeds) in runs.items()}
    heading = HEADING.format(hours=arguments.hours, file=arguments.output)
    content = yaml.safe_dump(
        _content(config, prices, arguments.hours, now),
        sort_keys=False, allow_unicode=True, width=118, default_flow_style=None,
    )  # fmt: skip
    write_text(arguments.output, heading + content)
    print(*align_columns(_rows(claims, chosen)), "", sep="\n")
    trainings = sum(len(tasks) for tasks, _ in now.values())
    summary = (
        f"{arguments.output}: {trainings} trainings on tasks, of {len(now)} students and teachers; "
        f"{rounded_hours(prices.hours(now))} hours. All seeds of the choice take {rounded_hours(prices.hours(runs))} "
        f"of {arguments.hours:g} hours, and finished runs took {rounded_hours(spent)}."
    )
    first = f"It holds the first {FIRST_RUNS} seeds of what is new; {AGAIN}." if now != runs else ""
    print(*map(wrapped_line, filter(None, [summary, first, EXPECTED])), sep="\n")
    return 0


def _curves(prices: Prices, claims: Iterable[Claim], demands: Sequence[Demand]) -> dict[str, list[list[float]]]:
    """Return paper -> the hours and the number of decided claims after each addition, the first without hours."""
    curves = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        own = [demand for demand in demands if demand.name.startswith(f"{paper}/")]
        known = sum(claim.state == DECIDED for claim in claims if claim.paper == paper)
        curves[paper] = [
            [round(prices.hours(runs), 1), known + sum(includes_runs(runs, demand.runs) for demand in own)]
            for runs in ({}, *steps_of(own, prices.hours))
        ]
    return curves


def _draw(study: Study, curves: Mapping[str, Sequence[Sequence[float]]], together: bool) -> None:
    """Draw the curve of each paper into its folder, and all of them together next to those of the first folder.

    Args:
        study: the study.
        curves: the curves by paper.
        together: whether they are those of all papers, and drawn together.

    Raises:
        RetortError: no paper has a claim.
    """
    if not curves:
        raise RetortError("--curves: no paper that is named has a claim", "name one with a claims.yaml")
    if together:
        draw_curves(curves, {"svg": str(study.config.study_folders[0] / "papers" / CURVES)})
    for paper, curve in curves.items():
        draw_curves({paper: curve}, {"svg": str(study.folders[paper] / CURVES)})


def draw_curves(curves: Mapping[str, Sequence[Sequence[float]]], renders: dict[str, str]) -> None:
    """Draw and save curves, each with its name at its end; hours are on a logarithmic axis, from `FROM` on.

    Args:
        curves: paper -> (hours, claims decided), ascending.
        renders: file format ('svg', 'png') -> path.
    """
    end = 1.3 * max(FROM, *(curve[-1][0] for curve in curves.values()))
    with figure(6.2, 3.4) as drawn:
        axes = drawn.subplots()
        looks = itertools.cycle(itertools.product(LINES, SERIES))
        for (line, color), (name, curve) in zip(looks, curves.items(), strict=False):
            hours, decided = zip(*((max(taken, FROM), count) for taken, count in curve), strict=True)
            axes.step([*hours, end], [*decided, decided[-1]], where="post", linestyle=line, color=color, linewidth=1.8)
            axes.annotate(
                name, (end, decided[-1]), (5, 0), textcoords="offset points", va="center", color=color, fontsize=9
            )
        axes.set(xscale="log", xlim=(FROM, end), ylim=(0, None))
        axes.set(xlabel="GPU hours (log scale), the papers' own settings", ylabel="claims decided")
        axes.xaxis.set_major_formatter("{x:,g}")
        save(drawn, renders)


def _content(config: Config, prices: Prices, hours: float, runs: Runs) -> dict[str, object]:
    """Return the content of a configuration that makes some runs and no others."""
    every, left = defaultdict[str, set[str]](set), {}
    for name, task in prices.pairs:
        every[name].add(task)
    spent = prices.hours(runs)
    for name, tasks in sorted(every.items()):
        if tasks - runs.get(name, (frozenset(), 0))[0]:
            left[name] = float(f"{prices.hours(joined_runs(runs, prices.whole(name, tasks))) - spent:.2g}")
    chosen = {name: _chosen(prices.plan.study, name, *of) for name, of in sorted(runs.items())}
    return {**_kept(config), "budget": {"hours": hours, "runs": chosen, "left_out": left}}


def _kept(config: Config) -> dict[str, object]:
    """Return the keys of a configuration without which its file would be read as another one.

    A key that the file lacks has its value in the `config.yaml` of the current folder, else the default.
    """
    below = content_of(Path(CONFIG)) if Path(CONFIG).exists() else {}
    every, changed = (
        config.model_dump(mode="json", exclude_defaults=changed, exclude={*SET_BY_RUN, "budget"})
        for changed in (False, True)
    )
    return {key: value for key, value in every.items() if key in changed or below.get(key, value) != value}


def _chosen(study: Study, name: str, tasks: Iterable[str], count: int) -> dict[str, object]:
    """Return what a configuration says of a student or teacher: its tasks, and its seeds or distillations."""
    if has_distillation(study, name):
        return {"seeds": len(seeds_of(study, name)), "distillations": count, "tasks": sorted(tasks)}
    return {"seeds": count, "tasks": sorted(tasks)}


def _rows(claims: Iterable[Claim], chosen: set[str]) -> list[list[str]]:
    """Return a table of the claims of each paper by what becomes of them, and the total."""
    within, beyond = "in the budget", "not in the budget"
    columns = [WITHOUT, DECIDED, within, beyond, FAR, UNKNOWN, CANNOT]
    counts = defaultdict[str, Counter[str]](Counter)
    for claim in claims:
        state = within if f"{claim.paper}/{claim.name}" in chosen else beyond
        column = claim.state if claim.state != OPEN else state if claim.runs else WITHOUT
        for paper in (claim.paper, "total"):
            counts[paper][column] += 1
    total = counts.pop("total", Counter())
    named = [*counts.items(), ("total", total)]
    return [["claims", *columns], *([paper, *(str(count[name]) for name in columns)] for paper, count in named)]

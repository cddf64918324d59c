"""The verb `cost`, which estimates the jobs and hours of a study before anything runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retort.cli.base import argument, config_of, verb
from retort.errors import RetortError
from retort.registry import unknown
from retort.specs import catalogue
from retort.specs.base import Settings
from retort.specs.config import Config, read_config
from retort.study.load import with_every_paper


def _config(arguments: argparse.Namespace) -> Config:
    """Return the configuration with the papers and the scale of the call, if it names any.

    Raises:
        RetortError: there is no such paper or scale.
    """
    config = config_of(arguments)
    papers, every = list(dict.fromkeys(name.partition("/")[0] for name in arguments.what)), with_every_paper(config)
    for paper in papers:
        if paper not in (every.papers or []):
            raise unknown("paper", paper, every.papers or [])
    changed: Settings = {"papers": papers} if papers else {}
    changed |= {"scale": arguments.scale} if arguments.scale else {}
    return read_config({**config.model_dump(), **changed}, config.file, {"scale": "--scale"} if arguments.scale else {})


@verb(
    "cost",
    argument("what", nargs="*", metavar="paper[/table]", help="only these (default: the papers of the configuration)"),
    argument("--scale", help="instead of the configuration's"),
    argument("--flops", type=float, help="FLOPs a second of one device, such as 60e12, instead of a measurement"),
    argument("--calibrate", action="store_true", help="measure this machine for a minute first, and keep it"),
)
def cost(arguments: argparse.Namespace) -> int:
    """Print the jobs and hours that each table takes, what is done already, and the assumptions behind the estimate."""
    from retort.cost import overview  # imported late: it imports the plan, and so Snakemake
    from retort.cost.speed import STORED

    config = _config(arguments)
    if arguments.calibrate:
        from retort.bench.calibrate import calibrate

        calibrate(config.resolved_precision(), config.gpus > 0, STORED)
    for line in overview.lines(config, arguments.what, arguments.flops):
        print(line, flush=True)
    return 0


# The verb `bench`, which measures the time and memory of objectives.


SIZES = "layers,heads,hidden,intermediate"


def _read_sizes(text: str) -> tuple[Any, ...]:
    """Return the four sizes of an encoder, from a text such as '6,12,384,1536'."""
    numbers = tuple(int(number) for number in text.split(",") if number.strip().isdigit())
    if len(numbers) != 4 or min(numbers) < 1 or numbers[2] % numbers[1]:
        raise RetortError(f"'{text}' is no encoder", f"write four whole numbers {SIZES}, such as 6,12,384,1536")
    return numbers


@verb(
    "bench",
    argument("what", choices=["objectives"], help="what is timed"),
    argument("names", nargs="*", help="only these objectives (default: all)"),
    argument("--teacher", default="12,12,768,3072", help=f"{SIZES} (default: %(default)s)"),
    argument("--student", default="6,12,384,1536", help=f"{SIZES} (default: %(default)s)"),
    argument("--batch", type=int, default=16, help="examples a step (default: %(default)s)"),
    argument("--length", type=int, default=128, help="tokens an example (default: %(default)s)"),
    argument(
        "--repeats", type=int, default=5, help="pairs of steps of which the median is taken (default: %(default)s)"
    ),
)
def bench(arguments: argparse.Namespace) -> int:
    """Print the time and peak memory of a training step with each objective, as ratios to a step with a zero loss."""
    known = catalogue.objectives()
    for name in arguments.names:
        if name not in known:
            raise unknown("objective", name, known)
    sizes = _read_sizes(arguments.teacher), _read_sizes(arguments.student)
    from retort.bench import objective_costs as measured

    precision = config_of(arguments).resolved_precision()
    for device in measured.devices():
        setting = measured.Setting(*sizes, arguments.batch, arguments.length, precision, device, arguments.repeats)
        for line in measured.lines(setting, measured.measure(setting, arguments.names or list(known))):
            print(line, flush=True)
        print()
    return 0


# The verb `rehearse`, which runs every job of the papers' plan in miniature, in one process.


if TYPE_CHECKING:
    from retort.plan.plan import Plan

FOLDER = "results/rehearsal"


def _rehearsal_config(arguments: argparse.Namespace) -> Config:
    """Return the configuration at scale `rehearsal`, with all papers: the widths of models depend on all students.

    Settings for a cluster, for a GPU, and for published data and models are reset.
    """
    config = config_of(arguments)
    content = config.model_dump(exclude={"run_sources"})
    precision = "auto" if content["precision"] == "tf32" else content["precision"]
    unset = dict.fromkeys(("papers", "data_dir", "models_dir", "cluster", "hours_of_seeds"))
    return read_config({**content, **unset, "scale": "rehearsal", "precision": precision}, config.file)


def _targets(plan: Plan, papers: list[str], distinct: bool) -> list[str]:
    """Return the files that a call asks for.

    Raises:
        RetortError: there is no such paper.
    """
    from retort.rehearsal.rehearse import distinct_trainings

    strange = [paper for paper in papers if paper not in plan.study.papers]
    if strange:
        raise unknown("paper", strange[0], plan.study.papers)
    if not distinct:
        return [f"reports/{paper}/index.html" for paper in papers] or ["reports/index.html"]
    chosen = {address: plan.study.paper_of(address.split("/")[2]) for address in distinct_trainings(plan)}
    return [address for address, paper in chosen.items() if not papers or paper in papers]


def _content(plan: Plan) -> dict[str, Any]:
    """Return the configuration of the jobs: made students keep their companions, so that jobs stay the same."""
    from retort.cost.resources import fits_one_job
    from retort.plan.sharing import jobs_of

    together = enumerate(jobs_of(plan, plan.task_agnostic, fits_one_job(plan)), start=1)
    companions = {f"{plan.study.students[names[0]].teacher}.{number}": names for number, names in together}
    return {**plan.config.model_dump(mode="json"), "study": str(plan.config.folder), "companions": companions}


@verb(
    "rehearse",
    argument("papers", nargs="*", metavar="paper", help="only these (default: all printed papers)"),
    argument("--distinct", action="store_true", help="one training of each distinct combination, and no table"),
    argument("--folder", default=FOLDER, help=f"where it runs, with results/ and reports/ of its own ({FOLDER})"),
)
def rehearse(arguments: argparse.Namespace) -> int:
    """Run every job of the papers in miniature on made data, in one process, and tell what fails."""
    from retort.engine.attempts import LOCKS  # imported late: they import Snakemake
    from retort.engine.locks import claimed
    from retort.plan.plan import Plan

    plan, folder = Plan(_rehearsal_config(arguments)), Path(arguments.folder)
    targets = _targets(plan, arguments.papers, arguments.distinct)
    if not targets:
        print(f"no student of {', '.join(arguments.papers) or 'these papers'} is trained")
        return 0
    content = _content(plan)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder), claimed(LOCKS / "rehearsal", f"a rehearsal in {folder}"):
        return _rehearse(content, targets, arguments)


def _rehearse(content: dict[str, Any], targets: list[str], arguments: argparse.Namespace) -> int:
    """Run the jobs behind some files in the current folder; return the exit status."""
    from retort.cost.jobs import Jobs
    from retort.cost.overview import of_one_process
    from retort.engine.attempts import RUN
    from retort.engine.failures import print_what_there_is
    from retort.engine.workflow import guard_scale
    from retort.plan.plan import Plan
    from retort.rehearsal.rehearse import Ran, run, summary, with_progress

    plan = Plan(read_config(content))
    guard_scale(plan.study)
    os.environ[RUN] = f"{time.time_ns()}-{os.getpid()}"  # the attempts at jobs are counted by run
    jobs = Jobs(plan)
    ordered = jobs.in_order(targets)
    ran: list[Ran] = []
    try:
        for each in with_progress(run(ordered, content), len(ordered)):
            ran.append(each)
    except KeyboardInterrupt:
        print(f"stopped after {len(ran)} jobs; run it again to go on", file=sys.stderr)
        return 1
    print(*summary(ran), sep="\n")
    where = ""
    if not arguments.distinct:
        print_what_there_is(jobs, content, targets)
        print("", *of_one_process(plan, arguments.papers), sep="\n")
        where = f"; the pages are in {Path('reports').absolute()}"
    failed = sum(each.failed for each in ran)
    print(f"{len(ran)} jobs, {failed} failed{where}")
    return min(failed, 1)

"""The verb `rehearse`, which runs every job of the papers' plan in miniature, in one process."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from retort.atomic import write_json
from retort.cli.base import argument, config_of, verb
from retort.registry import unknown
from retort.specs.config import ROOT, Config, read_config

if TYPE_CHECKING:
    from retort.plan.plan import Plan
    from retort.rehearsal.run import Rehearsal

FOLDER = "results/rehearsal"


def _config(arguments: argparse.Namespace) -> Config:
    """Return the configuration at scale `rehearsal`, with all papers: the widths of models depend on all students.

    Settings for a cluster, for a GPU, and for published data and models are reset.
    """
    config = config_of(arguments)
    content = config.model_dump(exclude={"run_sources"})
    precision = "auto" if content["precision"] == "tf32" else content["precision"]
    without: dict[str, None] = dict.fromkeys(("papers", "data_dir", "models_dir", "cluster"))
    return read_config({**content, **without, "scale": "rehearsal", "precision": precision}, config.file)


def _targets(plan: Plan, papers: list[str], distinct: bool) -> list[str]:
    """Return the Snakemake targets of a call; empty for all.

    Raises:
        RetortError: there is no such paper.
    """
    from retort.rehearsal.distinct import distinct_trainings

    strange = [paper for paper in papers if paper not in plan.study.papers]
    if strange:
        raise unknown("paper", strange[0], plan.study.papers)
    if not distinct:
        return [f"reports/{paper}/index.html" for paper in papers]
    chosen = {address: plan.study.paper_of(address.split("/")[2]) for address in distinct_trainings(plan)}
    return [address for address, paper in chosen.items() if not papers or paper in papers]


@verb(
    "rehearse",
    argument("papers", nargs="*", metavar="paper", help="only these (default: all printed papers)"),
    argument("--distinct", action="store_true", help="one training of each distinct combination, and no table"),
    argument("--folder", default=FOLDER, help=f"where it runs, with results/ and reports/ of its own ({FOLDER})"),
    argument("--unlock", action="store_true", help="remove the lock that a rehearsal has left which was killed"),
)
def rehearse(arguments: argparse.Namespace) -> int:
    """Run every job of the papers in miniature on made data, in one process, and tell what fails."""
    from retort.cost.report import of_one_process  # imported late: they import Snakemake
    from retort.plan.plan import Plan
    from retort.rehearsal.progress import Progress, summary
    from retort.rehearsal.run import Rehearsal, run

    config, folder = _config(arguments), Path(arguments.folder).absolute()
    plan = Plan(config)
    targets = _targets(plan, arguments.papers, arguments.distinct)
    if arguments.distinct and not targets:
        print(f"no student of {', '.join(arguments.papers) or 'these papers'} is trained")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    file, content = folder / "config.json", config.model_dump(mode="json", exclude={"run_sources"})
    write_json(file, {**content, "study": str(config.folder)})
    progress, pages = Progress(folder), _pages(folder)
    rehearsal = Rehearsal(progress, progress.warn)
    unlock = ["--unlock"] if arguments.unlock else []
    status = run(rehearsal, [*_arguments(folder, file), *unlock, *(["--", *targets] if targets else [])])
    progress.end()
    if arguments.unlock:
        return min(status, 1)
    if rehearsal.jobs:
        print(*summary(rehearsal.jobs), sep="\n")
    made = not arguments.distinct and (not status or _pages(folder) != pages)
    if made:
        with contextlib.chdir(folder):
            print("", *of_one_process(plan, arguments.papers), sep="\n")
    _tell_end(rehearsal, status, folder, made)
    return min(status, 1)


def _tell_end(rehearsal: Rehearsal, status: int, folder: Path, made: bool) -> None:
    """Print how a rehearsal ended, and where the pages are if it made them."""
    if status:
        stopped = "stopped; run it again to go on"
        error = f"Snakemake ended with an error; its own log is in {folder}/.snakemake/log"
        print(stopped if rehearsal.stopped else error, file=sys.stderr)
    where = f"; the pages are in {folder / 'reports'}" if made else ""
    print(f"{len(rehearsal.jobs)} jobs, {rehearsal.failed} failed{where}")


def _pages(folder: Path) -> dict[Path, int]:
    """Return page -> time of modification, to see which pages a run has made, even if some of its jobs failed."""
    return {page: page.stat().st_mtime_ns for page in folder.glob("reports/**/index.html")}


def _arguments(folder: Path, config: Path) -> list[str]:
    """Return the arguments of Snakemake: one job at a time, with the greedy scheduler, which is the fastest."""
    from retort.plan.failed_jobs import QUIET

    options = ["--cores", "1", "--scheduler", "greedy", "--keep-going", "--rerun-incomplete", *QUIET]
    return ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder), "--configfile", str(config), *options]

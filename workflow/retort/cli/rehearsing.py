"""The verb `rehearse`, which runs every job of the papers' plan in miniature, in one process."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from retort.cli.base import argument, config_of, verb
from retort.cost.jobs import Jobs
from retort.cost.resources import fits_one_job
from retort.job.attempts import LOCKS, RUN
from retort.job.locks import hold_claim
from retort.plan.plan import Plan
from retort.plan.sharing import jobs_of
from retort.registry import unknown_name
from retort.results.planned_study import kept_open
from retort.run.failures import print_what_there_is
from retort.run.rehearsal.rehearse import distinct_trainings, run, with_progress
from retort.run.workflow import mark_scale
from retort.specs.base import working_in
from retort.specs.config import Config, read_config
from retort.study.questions import licences_of
from retort.study.yaml_files import is_ours

FOLDER = "results/rehearsal"


def rehearsal_config(arguments: argparse.Namespace) -> Config:
    """Return the configuration at scale `rehearsal`, with all published papers: models are as wide as students need.

    If it is asked for a study of ours, only what it is asked for is read. Settings for a cluster, for a GPU, and for
    released data are reset. Of released models, a folder in `models_dir` may be the only one to tell the sizes.

    Raises:
        RetortError: there is no such paper.
    """
    config = config_of(arguments)
    folders = {path.name: path for path in config.files("papers/*") if path.is_dir()}
    if strange := [paper for paper in arguments.papers if paper not in folders]:
        raise unknown_name("paper", strange[0], folders)
    own = any(is_ours(folders[paper] / "paper.yaml") for paper in arguments.papers)
    content = config.model_dump(exclude={"run_sources"})
    precision = "auto" if content["precision"] == "tf32" else content["precision"]
    unset = dict.fromkeys(("papers", "data_dir", "cluster", "hours_of_seeds"))
    papers = {"papers": arguments.papers} if own else {}
    return read_config({**content, **unset, **papers, "scale": "rehearsal", "precision": precision}, config.file)


def _targets(plan: Plan, papers: list[str], distinct: bool) -> list[str]:
    """Return the files that a call asks for."""
    if not distinct:
        return [f"reports/{paper}/index.html" for paper in papers] or ["reports/index.html"]
    chosen = {address: plan.study.paper_of(address.split("/")[2]) for address in distinct_trainings(plan)}
    return [address for address, paper in chosen.items() if not papers or paper in papers]


def _content(plan: Plan) -> dict[str, object]:
    """Return the configuration of the jobs: made students keep their companions, so that jobs stay the same."""
    together = enumerate(jobs_of(plan, plan.task_agnostic, fits_one_job(plan)), start=1)
    companions = {f"{plan.study.students[names[0]].teacher}.{number}": names for number, names in together}
    folders = [str(folder) for folder in plan.config.study_folders]
    licences = licences_of(plan.study).model_dump(mode="json")
    return {**plan.config.model_dump(mode="json"), "study": folders, "companions": companions, "licences": licences}


@verb(
    "rehearse",
    argument("papers", nargs="*", metavar="paper", help="only these, also your own (default: all published papers)"),
    argument(
        "--distinct",
        action="store_true",
        help="few trainings that meet each objective, mapping, start, family and task, and no table",
    ),
    argument("--folder", default=FOLDER, help=f"where it runs, with results/ and reports/ of its own ({FOLDER})"),
)
def rehearse(arguments: argparse.Namespace) -> int:
    """Run every job of the papers in miniature on made data, in one process, and tell what fails."""
    plan, folder = Plan(rehearsal_config(arguments)), Path(arguments.folder)
    targets = _targets(plan, arguments.papers, arguments.distinct)
    if not targets:
        print(f"no student of {', '.join(arguments.papers) or 'these papers'} is trained")
        return 0
    content = _content(plan)
    folder.mkdir(parents=True, exist_ok=True)
    with working_in(folder), hold_claim(LOCKS / "rehearsal", f"a rehearsal in {folder}"):
        return _rehearse(content, targets, arguments)


def _rehearse(content: dict[str, object], targets: list[str], arguments: argparse.Namespace) -> int:
    """Run the jobs behind some files in the current folder; return the exit status."""
    plan = Plan(read_config(content))
    mark_scale(plan.study)
    os.environ[RUN] = f"{time.time_ns()}-{os.getpid()}"  # the attempts at jobs are counted by run
    jobs = Jobs(plan)
    ordered = list(jobs.behind(targets))
    ran: list[bool] = []
    try:
        with kept_open(content, plan.study):
            for made in with_progress(run(ordered, content), len(ordered)):
                ran.append(made)
    except KeyboardInterrupt:
        print(f"stopped after {len(ran)} jobs; run it again to go on", file=sys.stderr)
        return 1
    where = ""
    if not arguments.distinct:
        print_what_there_is(jobs, content, targets)
        where = f"; the pages are in {Path('reports').absolute()}"
    failed = ran.count(False)
    print(f"{len(ran)} jobs, {failed} failed{where}")
    return min(failed, 1)

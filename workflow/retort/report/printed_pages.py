"""Write the pages of papers that are not run: printed tables, recorded runs, claims, and predicted cost.

Nothing of these papers is run, so one process makes all tables, figures and pages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from retort.atomic import write_text
from retort.cost.jobs import Jobs
from retort.cost.overview import bills_of, hours_of, selected_exhibits, targets_of, with_models
from retort.cost.speed import speed_of_device
from retort.job.context import RunningJob
from retort.plan.exhibits import unrun_papers
from retort.plan.plan import Plan
from retort.report.index import ENTRIES, entry_of
from retort.report.outcome import Files, Shown
from retort.report.page import Planned, settings_of, write_paper
from retort.results.tidy import Line
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.base import Inputs
from retort.tables.claims import print_claims
from retort.tables.figures.base import draw_figure
from retort.tables.make import print_table
from retort.tables.recordings import as_recorded

ASSUMED = "One device at {flops:.3g} FLOP/s: {origin}. `retort cost --scale paper {paper}` says what else is assumed."


def make_printed_pages(job: RunningJob, config: dict[str, Any], to: Iterable[str], entries: str) -> None:
    """Write the pages of the papers that are not run, and their entries of the index.

    Args:
        job: the running job.
        config: the configuration.
        to: the paths of the pages, each in the folder of its paper.
        entries: the path of the JSON file with the entries of the index.
    """
    papers = unrun_papers(open_study(read_config(config)))
    study = open_study(read_config({**config, "papers": papers}))
    study.not_run = dict.fromkeys((*study.students, *study.teachers), "") | study.not_run
    plan = Plan(read_config({**config, "papers": papers, "scale": "paper"}))
    jobs, kept = Jobs(plan), {}
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        for path in to:
            paper = Path(path).parent.name
            _print_exhibits(study, paper, files, plan.study)
            shown = Shown(study, paper, files)
            if shown.judged:
                claims = {"html": str(files.printed(paper, "claims"))}
                print_claims(study, paper, shown.judged, shown.of_claims, claims)
            settings = settings_of(plan.study, paper)
            size = write_paper(shown, path, settings=settings, **_plan_and_cost(plan, jobs, paper))
            kept[paper] = entry_of(shown)
            job.say(f"{path}: {len(study.exhibits_of(paper))} tables and figures as printed, {size} KB")
    write_text(entries, ENTRIES.dump_json(kept, indent=1).decode())


def _print_exhibits(study: Study, paper: str, files: Files, written: Study) -> None:
    """Write the tidy CSV of each table and figure of a paper, and its HTML or SVG."""
    tables: dict[str, list[Line]] = {}
    names = sorted(study.exhibits_of(paper), key=lambda name: (bool(study.exhibits[paper, name].drawn_tables()), name))
    for name in names:
        inputs, csv = Inputs(study, paper, name, tables=tables, as_written=written), files.tidy(paper, name)
        if name.startswith("table"):
            html = {"html": files.printed(paper, name)}
            tables[name] = print_table(inputs, csv, html, as_recorded(study, paper, name))
        else:
            draw_figure(inputs, csv, {"svg": str(files.drawn(paper, name))})


def _plan_and_cost(plan: Plan, jobs: Jobs, paper: str) -> dict[str, Any]:
    """Return what a paper would take if it were run as printed: `planned` and `assumption` of its page.

    A study of ours is run on a CPU within minutes.
    """
    if plan.study.papers[paper].ours:
        return {}
    speed = speed_of_device(None, gpu=True, config=plan.config)
    targets = targets_of(plan, selected_exhibits(plan.study, [paper]), whole=False)
    planned = []
    for bill in bills_of(jobs, targets)[:-1]:  # without the total
        own, shared = with_models(bill.own), with_models(bill.shared)
        if own or shared:
            table = bill.name.partition("/")[2]
            planned.append(Planned(table, len(bill.own), hours_of(own, speed), hours_of(shared, speed)))
    return {"planned": planned, "assumption": ASSUMED.format(flops=speed.flops, origin=speed.origin, paper=paper)}

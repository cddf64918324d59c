"""Write the page of a paper: tables, figures, claims, contradictions in its numbers, settings, cost, provenance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from retort.audit import Finding, audit
from retort.engine.job import Job
from retort.plan import resolve
from retort.plan.deviations import deviations_of
from retort.report.html import article, exhibit, picture, write_page
from retort.report.outcome import Shown
from retort.results.environments import Run, Spent, collect_runs, costs_of, environments_of
from retort.specs.config import read_config
from retort.study.cells import expand
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.layout import label_of


def findings(study: Study, paper: str) -> list[tuple[str, Finding]]:
    """Return (check, finding) of the audit of this paper alone.

    Contradictions with another paper are only on the page of the audit, so that this page depends on its own paper.
    """
    own = {key: exhibit for key, exhibit in study.exhibits.items() if key[0] == paper}
    alone = replace(
        study,
        papers={paper: study.papers[paper]},
        exhibits=own,
        statements={paper: study.statements.get(paper, {})},
    )
    return [(name, finding) for name, result in audit(alone).items() for finding in result.findings]


def place_of(study: Study, finding: Finding) -> tuple[str, str]:
    """Return the file and the key in it that a finding comes from: of its statement, else of its table's print."""
    paper, said = finding.paper, finding.printed
    folder = f"workflow/papers/{paper}"
    for file, statements in (("claims", study.claims), ("audit", study.statements)):
        for name, one in statements.get(paper, {}).items():
            if said.startswith(one.says.removesuffix(".")):
                return f"{folder}/{file}.yaml", name
    named = [name for name in study.exhibits_of(paper) if finding.where.startswith(f"{label_of(name)},")]
    return (f"{folder}/{named[0]}.yaml", "printed") if named else (f"{folder}/paper.yaml", "tables")


@dataclass(frozen=True)
class Planned:
    """The predicted cost of a table or figure on one device.

    Args:
        jobs: jobs that no earlier table or figure of the paper needs.
        hours: hours of these jobs.
        shared: hours of jobs that an earlier table or figure needs too.
    """

    name: str
    jobs: int
    hours: float
    shared: float


def write_paper(
    shown: Shown, to: str, *, settings: list[Settings], runs: Sequence[Run] = (), cost: Sequence[Spent] = (),
    planned: Sequence[Planned] = (), assumption: str = "",
) -> int:  # fmt: skip
    """Write the page of a paper to `to`, as one self-contained file, and return its size in KB.

    Args:
        shown: the paper.
        to: the path of the page.
        settings: the settings of students and teachers.
        runs: the results behind tables and figures.
        cost: the measured cost of tables and figures.
        planned: the predicted cost, if nothing is run.
        assumption: what `planned` assumes.
    """
    study, paper, spec = shown.study, shown.paper, shown.study.papers[shown.paper]
    curve = study.folder / "papers" / paper / "budget.svg"
    return write_page(
        to, "paper.html", slug=paper, paper=spec, scale=study.config.scale, record=study.record_of(paper),
        summary=shown.summary, tally=shown.tally,
        openings=[one for one in shown.openings if one.shown],
        exhibits=[exhibit(shown, name) for name in study.exhibits_of(paper)],
        claims=article(shown.files.printed(paper, "claims")) if study.claims.get(paper) else None,
        findings=[] if spec.ours else [(check, one, place_of(study, one)) for check, one in findings(study, paper)],
        deviations=sorted(deviations_of(study, paper).items(), key=lambda item: -len(item[1])),
        students=sum(study.paper_of(name) == paper for name in study.students),
        settings=settings, cost=cost, planned=planned, assumption=assumption,
        budget=picture(curve) if curve.is_file() else "", origin=environments_of(runs),
    )  # fmt: skip


def make_page(job: Job, config: dict[str, Any], paper: str, to: str) -> None:
    """Write the paper's page to `to`, as one self-contained file."""
    study = open_study(read_config(config))
    runs = [run for run in collect_runs(study) if run.paper == paper]
    settings, cost = settings_of(study, paper), costs_of(study, paper, runs)
    shown = Shown(study, paper, devices=environments_of(runs).devices)
    size = write_paper(shown, to, settings=settings, runs=runs, cost=cost)
    job.say(f"{to}: {len(study.exhibits_of(paper))} tables and figures, {size} KB")


@dataclass(frozen=True)
class Settings:
    """The settings of one student or teacher as JSON."""

    name: str
    title: str
    text: str


def settings_of(study: Study, paper: str) -> list[Settings]:
    """Return the settings of every student and teacher in the paper's tables, each on the first of its tasks."""
    tasks: dict[str, str] = {}
    for cell in expand(study):
        if cell.paper == paper:
            tasks.setdefault(cell.student, cell.task)
    return [_settings(study, name, tasks[name]) for name in (*study.teachers, *study.students) if name in tasks]


def _settings(study: Study, name: str, task: str) -> Settings:
    stamped = resolve.score(study, name, task).as_json()
    if name in study.students:
        stamped["teacher"] = study.students[name].teacher  # its settings are listed as an entry of their own
        if "task" in stamped:
            stamped["task"] = task
    spec: Any = study.students.get(name) or study.teachers[name]
    text = json.dumps(stamped, indent=2, ensure_ascii=False)
    return Settings(name, spec.title, f"{name} on {task}\n{text}")

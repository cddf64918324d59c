"""Write the page of a paper: tables, figures, claims, contradictions in its numbers, settings, cost, provenance."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retort.audit import Finding, audit
from retort.jobs import Job
from retort.plan import resolve
from retort.report.html import article, with_verdicts, write_page
from retort.report.tally import tally
from retort.specs.config import read_config
from retort.study.cells import expand
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.origin import collect_runs, origin, spent


@dataclass(frozen=True)
class Settings:
    """The settings of one student or teacher, as JSON."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Choice:
    """A choice made where a paper does not say what it did: what it decides, and the students that it concerns."""

    text: str
    of: list[str]
    students: list[str]


def _settings(study: Study, paper: str) -> list[Settings]:
    """Return the settings of every student and teacher in the paper's tables, each on the first of its tasks."""
    tasks: dict[str, str] = {}
    for cell in expand(study):
        if cell.paper == paper:
            tasks.setdefault(cell.student, cell.task)
    settings = []
    for name in (name for name in (*study.teachers, *study.students) if name in tasks):
        task = tasks[name]
        stamped = resolve.score(study, name, task).as_json()
        if name in study.students:
            stamped["teacher"] = study.students[name].teacher  # its settings are listed as an entry of their own
            if "task" in stamped:
                stamped["task"] = task
        spec: Any = study.students.get(name) or study.teachers[name]
        text = json.dumps(stamped, indent=2, ensure_ascii=False)
        settings.append(Settings(name, spec.title, f"{name} on {task}\n{text}"))
    return settings


def students_of(study: Study, paper: str) -> list[str]:
    """Return the names of the students defined by a paper itself, not by another paper of the study."""
    return [name for name in study.students if study.paper_of(name) == paper]


def deviations(study: Study, paper: str) -> list[Choice]:
    """Return the choices made for a paper's students, each once; the one that concerns most students comes first."""
    shared: dict[str, Choice] = {}
    for name in students_of(study, paper):
        for one in study.students[name].deviations:
            shared.setdefault(one.text, Choice(one.text, one.of, [])).students.append(name)
    return sorted(shared.values(), key=lambda choice: -len(choice.students))


def findings(study: Study, paper: str) -> list[tuple[str, Finding]]:
    """Return (check, finding) for every number that the paper's other numbers, data sets or text contradict.

    Contradictions with another paper appear only in the audit, so that a page depends on its own paper alone.
    """
    own = {key: exhibit for key, exhibit in study.exhibits.items() if key[0] == paper}
    alone = replace(
        study,
        papers={paper: study.papers[paper]},
        exhibits=own,
        statements={paper: study.statements.get(paper, {})},
    )
    return [(name, finding) for name, result in audit(alone).items() for finding in result.findings]


def make_page(job: Job, config: dict[str, Any], paper: str, to: str) -> None:
    """Write the paper's page to `to`, as one self-contained file."""
    study = open_study(read_config(config))
    spec, runs = study.papers[paper], [run for run in collect_runs(study) if run.paper == paper]
    size = write_page(
        to, "paper.html", slug=paper, paper=spec, scale=study.config.scale,
        tally=tally(study, paper),
        exhibits=[with_verdicts(study, paper, name) for name in study.exhibits_of(paper)],
        claims=article(Path(f"reports/{paper}/claims.html")) if study.claims.get(paper) else None,
        findings=[] if spec.ours else findings(study, paper),
        deviations=deviations(study, paper), students=len(students_of(study, paper)),
        settings=_settings(study, paper), spent=spent(study, paper, runs), origin=origin(runs),
    )  # fmt: skip
    job.say(f"{to}: {len(study.exhibits_of(paper))} tables and figures, {size} KB")

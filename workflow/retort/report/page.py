"""Write the page of a paper: tables, figures, claims, contradictions in its numbers, settings, cost, provenance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from retort.audit import Finding, audit
from retort.engine.job import Job
from retort.report.html import article, with_verdicts, write_page
from retort.report.outcome import RUN, Files, Opening, openings
from retort.report.students import Settings, settings_of
from retort.report.tally import tally
from retort.results.environments import Run, Spent, collect_runs, costs_of, origin
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study


@dataclass(frozen=True)
class Choice:
    """A choice of ours where a paper is silent: its text, the settings or cells that it decides, and its students."""

    text: str
    of: list[str]
    students: list[str]


def students_of(study: Study, paper: str) -> list[str]:
    """Return the names of the students defined by a paper itself, not by another paper of the study."""
    return [name for name in study.students if study.paper_of(name) == paper]


def deviations(study: Study, paper: str) -> list[Choice]:
    """Return the choices for a paper's students, each once, those that concern most students first."""
    shared: dict[str, Choice] = {}
    for name in students_of(study, paper):
        for one in study.students[name].deviations:
            shared.setdefault(one.text, Choice(one.text, one.of, [])).students.append(name)
    return sorted(shared.values(), key=lambda choice: -len(choice.students))


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


@dataclass(frozen=True)
class Background:
    """The contents of a page besides tables, figures and claims.

    Args:
        settings: the settings of students and teachers.
        runs: the results behind tables and figures.
        cost: the measured cost of tables and figures.
        planned: the predicted cost, if nothing is run.
        assumption: what `planned` assumes.
    """

    settings: list[Settings]
    runs: list[Run] = field(default_factory=list)
    cost: list[Spent] = field(default_factory=list)
    planned: list[Planned] = field(default_factory=list)
    assumption: str = ""


def write_paper(
    study: Study, paper: str, background: Background, found: list[Opening], to: str, files: Files = RUN
) -> int:
    """Write the page of a paper to `to`, as one self-contained file, and return its size in KB.

    Args:
        study: the study.
        paper: the paper.
        background: the other contents of the page.
        found: the outcomes of its claims.
        to: the path of the page.
        files: where its tables and figures lie.
    """
    spec = study.papers[paper]
    return write_page(
        to, "paper.html", slug=paper, paper=spec, scale=study.config.scale,
        tally=tally(study, paper, found, files), openings=[one for one in found if one.shown],
        exhibits=[with_verdicts(study, paper, name, files) for name in study.exhibits_of(paper)],
        claims=article(files.printed(paper, "claims")) if study.claims.get(paper) else None,
        findings=[] if spec.ours else findings(study, paper),
        deviations=deviations(study, paper), students=len(students_of(study, paper)),
        background=background, origin=origin(background.runs),
    )  # fmt: skip


def make_page(job: Job, config: dict[str, Any], paper: str, to: str) -> None:
    """Write the paper's page to `to`, as one self-contained file."""
    study = open_study(read_config(config))
    runs = [run for run in collect_runs(study) if run.paper == paper]
    background = Background(settings_of(study, paper, runs), runs, costs_of(study, paper, runs))
    size = write_paper(study, paper, background, openings(study, paper), to)
    job.say(f"{to}: {len(study.exhibits_of(paper))} tables and figures, {size} KB")

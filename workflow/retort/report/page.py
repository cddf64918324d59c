"""Write the page of a paper: tables, figures, claims, contradictions in its numbers, settings, cost, provenance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retort.audit import Finding, audit
from retort.jobs import Job
from retort.report.html import article, with_verdicts, write_page
from retort.report.settings import settings_of
from retort.report.tally import tally
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.origin import collect_runs, origin, spent


@dataclass(frozen=True)
class Deviation:
    """A choice made where a paper does not say what it did, with the students that it concerns."""

    text: str
    students: list[str]


def students_of(study: Study, paper: str) -> list[str]:
    """Return the names of the students defined by a paper itself, not by another paper of the study."""
    return [name for name in study.students if study.paper_of(name) == paper]


def deviations(study: Study, paper: str) -> list[Deviation]:
    """Return the choices made for a paper's students, each once; the one that concerns most students comes first."""
    shared: dict[str, list[str]] = {}
    for name in students_of(study, paper):
        for text in study.students[name].deviations:
            shared.setdefault(text, []).append(name)
    return [Deviation(text, names) for text, names in sorted(shared.items(), key=lambda pair: -len(pair[1]))]


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
        settings=settings_of(study, paper, runs), spent=spent(study, paper, runs), origin=origin(runs),
    )  # fmt: skip
    job.say(f"{to}: {len(study.exhibits_of(paper))} tables and figures, {size} KB")

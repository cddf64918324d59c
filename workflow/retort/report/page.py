"""Write the page of a paper: tables, figures, claims, contradictions in its numbers, settings, cost, provenance."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retort.audit import Finding, audit
from retort.jobs import Job
from retort.report.origin import collect_runs, origin, spent
from retort.report.parts import article, exhibit, write_page
from retort.report.tally import tally
from retort.specs import settings as resolve
from retort.specs.book import Book, open_book
from retort.specs.config import read_config
from retort.specs.expand import expand


@dataclass(frozen=True)
class Settings:
    """The settings of one student or teacher, as JSON."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Deviation:
    """A choice made where a paper does not say what it did, with the students that it concerns."""

    text: str
    students: list[str]


def _settings(book: Book, paper: str) -> list[Settings]:
    """Return the settings of every student and teacher in the paper's tables, each on the first of its tasks."""
    tasks: dict[str, str] = {}
    for cell in expand(book):
        if cell.paper == paper:
            tasks.setdefault(cell.student, cell.task)
    found = []
    for name in (name for name in (*book.teachers, *book.students) if name in tasks):
        task = tasks[name]
        stamped = resolve.score(book, name, task)
        if name in book.students:
            stamped["teacher"] = book.students[name].teacher  # its settings are listed as an entry of their own
            if "task" in stamped:
                stamped["task"] = task
        spec: Any = book.students.get(name) or book.teachers[name]
        text = json.dumps(stamped, indent=2, ensure_ascii=False)
        found.append(Settings(name, spec.title, f"{name} on {task}\n{text}"))
    return found


def students_of(book: Book, paper: str) -> list[str]:
    """Return the names of the students defined by a paper itself, not by another paper of the study."""
    return [name for name in book.students if book.paper_of(name) == paper]


def deviations(book: Book, paper: str) -> list[Deviation]:
    """Return the choices made for a paper's students, each once; the one that concerns most students comes first."""
    shared: dict[str, list[str]] = {}
    for name in students_of(book, paper):
        for text in book.students[name].deviations:
            shared.setdefault(text, []).append(name)
    return [Deviation(text, names) for text, names in sorted(shared.items(), key=lambda pair: -len(pair[1]))]


def findings(book: Book, paper: str) -> list[tuple[str, Finding]]:
    """Return (check, finding) for every number that the paper's other numbers, data sets or words contradict.

    Contradictions with another paper appear only in the audit, so that a page depends on its own paper alone.
    """
    own = {key: shown for key, shown in book.exhibits.items() if key[0] == paper}
    alone = replace(
        book,
        papers={paper: book.papers[paper]},
        exhibits=own,
        statements={paper: book.statements.get(paper, {})},
    )
    return [(name, found) for name, looked in audit(alone).items() for found in looked.findings]


def make_page(job: Job, config: dict[str, Any], paper: str, to: str) -> None:
    """Write the paper's page to `to`, as one self-contained file."""
    book = open_book(read_config(config))
    spec, runs = book.papers[paper], [run for run in collect_runs(book) if run.paper == paper]
    size = write_page(
        to, "paper.html", slug=paper, paper=spec, scale=book.config.scale,
        tally=tally(book, paper),
        exhibits=[exhibit(book, paper, name) for name in book.shown(paper)],
        claims=article(Path(f"reports/{paper}/claims.html")) if book.claims.get(paper) else None,
        findings=[] if spec.ours else findings(book, paper),
        deviations=deviations(book, paper), students=len(students_of(book, paper)),
        settings=_settings(book, paper), spent=spent(book, paper, runs), origin=origin(runs),
    )  # fmt: skip
    job.say(f"{to}: {len(book.shown(paper))} tables and figures, {size} KB")

"""The book: every task, model, protocol, student, table and figure of a study, checked as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.errors import BookError
from retort.registry import unknown
from retort.specs import load
from retort.specs.audit import Facts, Statement
from retort.specs.config import Config
from retort.specs.corpus import Corpus
from retort.specs.model import Model
from retort.specs.protocol import Protocol
from retort.specs.source import Source
from retort.specs.student import Student, Teacher
from retort.specs.table import Claim, Figure, Paper, Table
from retort.specs.task import Task

FOLDERS: dict[str, Any] = {
    "sources": Source,
    "models": Model,
    "tasks": Task,
    "corpora": Corpus,
    "protocols": Protocol,
}


@dataclass
class Book:
    """All specs by name. Students and teachers are `<paper>-<slug>`; exhibits are (paper, table or figure)."""

    folder: Path
    config: Config
    sources: dict[str, Source] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    corpora: dict[str, Corpus] = field(default_factory=dict)
    protocols: dict[str, Protocol] = field(default_factory=dict)
    papers: dict[str, Paper] = field(default_factory=dict)
    students: dict[str, Student] = field(default_factory=dict)
    teachers: dict[str, Teacher] = field(default_factory=dict)
    exhibits: dict[tuple[str, str], Table | Figure] = field(default_factory=dict)
    claims: dict[str, dict[str, Claim]] = field(default_factory=dict)
    statements: dict[str, dict[str, Statement]] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    files: dict[tuple[str, str], Path] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)  # kinds of which an entry could not be read

    def model_of(self, teacher: str) -> Model:
        """The pre-trained model behind a teacher."""
        return self.models[self.teachers[teacher].model]

    def shown(self, paper: str) -> list[str]:
        """The paper's tables and figures in the order of the report."""
        return self.papers[paper].show


def _read_paper(book: Book, path: Path, problems: load.Problems) -> None:
    slug = path.name
    before = len(problems.lines)
    paper = load.one(path / "paper.yaml", Paper, problems) if (path / "paper.yaml").is_file() else None
    if paper is None:
        if not (path / "paper.yaml").is_file():
            problems.add(path, "has no paper.yaml")
        book.broken |= {"student", "teacher"}
        return
    book.papers[slug] = paper
    for name, teacher in paper.teachers.items():
        if f"{slug}-{name}" in book.teachers:
            problems.add(path / "paper.yaml", f"another paper's teacher is called '{slug}-{name}'; rename one")
        book.teachers[f"{slug}-{name}"] = teacher
        book.files["teachers", f"{slug}-{name}"] = path / "paper.yaml"
    if (path / "students.yaml").is_file():
        for name, student in load.named(path / "students.yaml", Student, problems).items():
            if f"{slug}-{name}" in book.students:
                problems.add(path / "students.yaml", f"another paper's student is called '{slug}-{name}'; rename one")
            book.students[f"{slug}-{name}"] = student
            book.files["students", f"{slug}-{name}"] = path / "students.yaml"
    if len(problems.lines) > before:
        book.broken.add("student")
    if (path / "claims.yaml").is_file():
        book.claims[slug] = load.named(path / "claims.yaml", Claim, problems)
    if (path / "audit.yaml").is_file():
        book.statements[slug] = load.named(path / "audit.yaml", Statement, problems)
    for pattern, kind in (("table*.yaml", Table), ("figure*.yaml", Figure)):
        for file in sorted(path.glob(pattern)):
            exhibit = load.one(file, kind, problems)
            problems.attempt(file, "file name", load.checked_name, file.stem)
            if exhibit is not None:
                book.exhibits[slug, file.stem] = exhibit
            book.files["exhibits", f"{slug}/{file.stem}"] = file


def _checked(config: Config) -> tuple[Book, load.Problems]:
    """The book with every problem of its files, but for sources that cannot be had."""
    from retort.specs.check import check

    book = Book(folder=config.folder, config=config)
    problems = load.Problems(config.folder)
    if not config.folder.is_dir():
        problems.add("config.yaml", f"study: there is no folder {config.study}")
        return book, problems
    for name, kind in FOLDERS.items():
        before = len(problems.lines)
        found = load.folder(config.folder / name, kind, problems)
        if len(problems.lines) > before:
            book.broken.add({"corpora": "corpus"}.get(name, name.removesuffix("s")))
        setattr(book, name, found)
        book.files.update({(name, key): config.folder / name / f"{key}.yaml" for key in found})
    if (config.folder / "facts.yaml").is_file():
        book.facts = load.named(config.folder / "facts.yaml", Facts, problems)
    there = {path.name: path for path in sorted((config.folder / "papers").glob("*")) if path.is_dir()}
    for slug in config.papers:
        if slug in there:
            _read_paper(book, there[slug], problems)
        else:
            problems.add("config.yaml", f"papers: {unknown('paper', slug, there)}")
    check(book, problems)
    return book, problems


def read(config: Config) -> tuple[Book, list[str]]:
    """The book and every problem found in it; with problems, the book may lack entries."""
    from retort.specs.needs import check_sources

    book, problems = _checked(config)
    if not problems.lines:
        check_sources(book, problems)
    return book, problems.lines


def open_whole(config: Config) -> Book:
    """The book of every paper of the study's folder, whatever `papers` names, to be read and not run: no source needed.

    Raises:
        BookError: with every problem of every file.
    """
    there = sorted(path.parent.name for path in (config.folder / "papers").glob("*/paper.yaml"))
    book, problems = _checked(config.model_copy(update={"papers": there or config.papers}))
    if problems.lines:
        raise BookError(problems.lines)
    return book


def open_book(config: Config) -> Book:
    """The book, free of problems.

    Raises:
        BookError: with every problem of every file.
    """
    book, problems = read(config)
    if problems:
        raise BookError(problems)
    return book

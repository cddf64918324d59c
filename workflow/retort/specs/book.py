"""The study: all tasks, models, protocols, students, tables and figures, read from YAML and checked together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.errors import BookError, RetortError
from retort.registry import unknown
from retort.specs import load
from retort.specs.audit import Facts, Statement
from retort.specs.base import read_yaml
from retort.specs.config import ROOT, Config
from retort.specs.corpus import Corpus
from retort.specs.model import Model
from retort.specs.protocol import Protocol
from retort.specs.scale import Scale
from retort.specs.source import Source
from retort.specs.student import Student, Teacher
from retort.specs.table import Figure, Paper, Table
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
    """A study: all specs by name.

    A student or teacher is called `<paper>-<slug>`. The key of a table or figure is (paper, name of the file).
    """

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
    claims: dict[str, dict[str, Statement]] = field(default_factory=dict)
    statements: dict[str, dict[str, Statement]] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    scale: Scale = field(default_factory=lambda: Scale(title="as printed"))
    idle: dict[str, str] = field(default_factory=dict)  # student or teacher not run at this scale -> why
    files: dict[tuple[str, str], Path] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)  # types of entries, such as 'task', with an unreadable file

    def model_of(self, teacher: str) -> Model:
        """Return the pre-trained model of a teacher."""
        return self.models[self.teachers[teacher].model]

    def paper_of(self, name: str) -> str:
        """Return the paper to which a student or teacher belongs."""
        return self.files["students" if name in self.students else "teachers", name].parent.name

    def is_printed(self, name: str) -> bool:
        """Return whether a student or teacher belongs to a printed paper, and not to one of our own studies."""
        return not self.papers[self.paper_of(name)].ours

    @property
    def running(self) -> dict[str, Student]:
        """The students that run at this scale."""
        return {name: student for name, student in self.students.items() if name not in self.idle}

    def runs_task(self, name: str, task: str) -> bool:
        """Return whether the scale runs a task for a student or teacher.

        Only a scaled study leaves tasks out, and only for students and teachers of printed papers.
        """
        smaller = self.scale.smaller
        return smaller is None or task in smaller.tasks or not self.is_printed(name)

    def shown(self, paper: str) -> list[str]:
        """Return the names of a paper's tables and figures in the order of the report."""
        return self.papers[paper].show


def _read_paper(book: Book, path: Path, problems: load.Problems) -> None:
    """Read one paper's folder into the study."""
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
        book.claims[slug] = load.named(path / "claims.yaml", Statement, problems)
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
    """Read the study and check all of its files; return it with every problem found.

    Sources that are not available are not checked here.
    """
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
    book.scale = _scale(config, problems)
    for slug in config.papers or _of_scale(there, book.scale):
        if slug in there:
            _read_paper(book, there[slug], problems)
        else:
            problems.add("config.yaml", f"papers: {unknown('paper', slug, there)}")
    check(book, problems)
    return book, problems


def read(config: Config) -> tuple[Book, list[str]]:
    """Read the study, apply the scale, and check the sources; return it with every problem found.

    If there are problems, the study may lack entries.
    """
    from retort.specs.needs import check_sources
    from retort.specs.smaller import fit

    book, problems = _checked(config)
    if not problems.lines:
        fit(book)
        check_sources(book, problems)
    return book, problems.lines


def _scale(config: Config, problems: load.Problems) -> Scale:
    """Return the scale of the configuration; a study without a folder `scales` uses those of the repository."""
    folder = config.folder / "scales"
    place = folder if folder.is_dir() else ROOT / "workflow" / "scales"
    scales: dict[str, Scale] = load.folder(place, Scale, problems)
    return scales.get(config.scale, Scale(title=config.scale))


def is_ours(path: Path) -> bool:
    """Return whether a `paper.yaml` describes one of our own studies (`ours: true`).

    A missing or unreadable file gives False; other checks report it.
    """
    try:
        return bool((read_yaml(path) or {}).get("ours"))
    except (OSError, RetortError):
        return False


def _of_scale(there: dict[str, Path], scale: Scale) -> list[str]:
    """Return the papers that a scale runs by default: either our own studies or the printed papers."""
    return [name for name, path in there.items() if is_ours(path / "paper.yaml") == (scale.papers == "ours")]


def open_written(config: Config) -> Book:
    """Return the study as its files describe it, without the changes that a scale makes.

    It is meant for reading, not for running, so no source needs to be available.

    Raises:
        BookError: the files have problems; the error lists every problem of every file.
    """
    book, problems = _checked(config)
    if problems.lines:
        raise BookError(problems.lines)
    return book


def open_whole(config: Config) -> Book:
    """Return the same as `open_written`, with every paper in the study's folder, whatever `papers` names.

    Raises:
        BookError: the files have problems; the error lists every problem of every file.
    """
    return open_written(with_every_paper(config))


def with_every_paper(config: Config) -> Config:
    """Return the configuration with every paper in the study's folder, whatever `papers` names."""
    there = sorted(path.parent.name for path in (config.folder / "papers").glob("*/paper.yaml"))
    return config.model_copy(update={"papers": there or config.papers})


def open_book(config: Config) -> Book:
    """Read the study and return it if it has no problems.

    Raises:
        BookError: the files have problems; the error lists every problem of every file.
    """
    book, problems = read(config)
    if problems:
        raise BookError(problems)
    return book

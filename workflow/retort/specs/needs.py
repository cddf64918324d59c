"""Find the sources that a study requires, so that a missing one is reported before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from retort.specs.expand import expand, profiled, served
from retort.specs.load import Problems
from retort.specs.reading import check_forms
from retort.specs.source import SETTING, FolderSource, HubSource, form_of, in_force
from retort.specs.submission import tested_sources

if TYPE_CHECKING:
    from retort.specs.book import Book


def _lineage(book: Book, student: str) -> list[str]:
    found: list[str] = []
    parent: str | None = student
    while parent is not None and parent in book.students and parent not in found:
        found.append(parent)
        parent = book.students[parent].initialisation.student
    return found


def _of_student(book: Book, name: str) -> set[str]:
    if name in book.teachers:
        return {book.model_of(name).source}
    line = [book.students[one] for one in _lineage(book, name)]
    corpora = {stage.data for student in line for stage in student.stages if stage.data != "task"}
    found = {part.source for corpus in corpora for part in book.corpora[corpus].parts}
    starts = [student.initialisation.checkpoint for student in line]
    models = [book.model_of(line[0].teacher), *(book.models[start] for start in starts if start)]
    return found | {model.source for model in models}


def sends(book: Book) -> bool:
    """Return whether tables require the zips for servers: only at scale `paper`; at others users may ask for them."""
    return book.config.scale == "paper"


def submitted(book: Book) -> list[tuple[str, str]]:
    """Return the (student, task) pairs that some table of the study shows and only a server can score."""
    pairs = [pair for shown in book.exhibits.values() for pair in served(book, shown)]
    return list(dict.fromkeys(pairs))


def tasks(book: Book) -> set[str]:
    """Return the names of the tasks on which some cell of the study is scored, here or by a server."""
    return {cell.task for cell in expand(book)} | {task for _, task in submitted(book) if sends(book)}


def _of_task(book: Book, name: str, sent: bool) -> set[str]:
    task = book.tasks[name]
    return {*task.sources, *(tested_sources(task) if sent else ())}


def sources(book: Book) -> set[str]:
    """Return the names of the sources that the cells and profiles of the study are made from."""
    cells, sent = expand(book), submitted(book) if sends(book) else []
    students = {cell.student for cell in cells} | {student for student, _ in sent}
    students |= {name for shown in book.exhibits.values() for name in profiled(book, shown)}
    answered = {task for _, task in sent}
    found = {source for task in tasks(book) for source in _of_task(book, task, task in answered)}
    return found.union(*(_of_student(book, student) for student in students))


def check_sources(book: Book, problems: Problems) -> None:
    """Add a problem for each hub commit without a note of where it was read, and each task that cannot be read."""
    for name, source in book.sources.items():
        if isinstance(source, HubSource) and source.hub.commit and not source.hub.found:
            problems.add(book.files["sources", name], "hub.found: say where the commit was read")
    check_forms(book, tasks(book), problems)


def lacking(book: Book, names: Iterable[str] | None = None) -> list[str]:
    """Return one line for each required source that is not available: its commit is unknown, or its folder is missing.

    Args:
        book: a study without problems. Even if sources are missing, its printed numbers can be read and its jobs
            planned.
        names: the required sources; None for all that the cells and profiles of the study are made from.
    """
    problems = Problems(book.folder)
    for name in sorted(sources(book) if names is None else names):
        source, path = book.sources[name], book.files["sources", name]
        if not isinstance(source, HubSource):
            continue
        folder = in_force(source, book.config)
        setting = SETTING[source.hub.kind]
        if isinstance(folder, FolderSource) and not Path(folder.path).is_dir():
            problems.add(path, f"local: {setting} holds no folder {source.local}; put it there, or set {setting}: null")
        if form_of(source, book.config) == "hub" and source.hub.commit is None:
            local = f", or give {setting} in config.yaml" if source.local else ""
            problems.add(path, f"hub.commit: none is known; run `retort pin {name}` once{local}")
    return problems.lines

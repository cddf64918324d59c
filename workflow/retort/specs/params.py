"""Collect the settings of every job of a study, under the names by which the Snakemake rules look them up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from retort.specs import settings as resolve
from retort.specs.reading import readable
from retort.specs.submission import submission, tests

if TYPE_CHECKING:
    from retort.specs.book import Book

Settings = dict[str, Any]


def _of_teachers(book: Book, tasks: list[str]) -> tuple[Settings, Settings]:
    teachers: Settings = {name: {} for name in book.teachers}
    taps: Settings = {name: {} for name in book.teachers}
    for name in book.teachers:
        for task in tasks:
            teachers[name][task] = resolve.teacher(book, name, task)
            taps[name][task] = resolve.taps(book, name, task)
        for corpus in book.corpora:
            teachers[name][corpus] = resolve.teacher(book, name, corpus)
    return teachers, taps


def params(book: Book, pairs: Iterable[tuple[str, str]]) -> Settings:
    """Return the settings of every job: type of job -> name, or student or teacher and task -> settings.

    Args:
        book: the study.
        pairs: the (student or teacher, task) pairs that are trained.
    """
    tasks = [name for name, task in book.tasks.items() if readable(book, name, task.used)]
    teachers, taps = _of_teachers(book, tasks)
    pairs, roads = list(pairs), {name: student.road for name, student in book.running.items()}

    def by_pair(road: str, of: Callable[[Book, str, str], Settings]) -> Settings:
        found: Settings = {name: {} for name in roads if roads[name] == road}
        for student, task in pairs:
            if student in found:
                found[student][task] = of(book, student, task)
        return found

    return {
        "sources": {name: resolve.source(book, name) for name in book.sources},
        "tasks": {name: resolve.task(book, name) for name in tasks},
        "corpora": {name: resolve.corpus(book, name) for name in book.corpora},
        "teachers": teachers,
        "taps": taps,
        "distillations": by_pair("task", resolve.on_task),
        "students": {name: resolve.on_corpus(book, name) for name in roads if roads[name] == "corpus"},
        "grids": by_pair("corpus", resolve.grid),
        "finetunings": by_pair("corpus", resolve.finetune),
        "tests": tests(book),
        "submission": submission(book),
        "profiles": {name: resolve.profile(book, name) for name in (*book.running, *book.teachers)},
    }

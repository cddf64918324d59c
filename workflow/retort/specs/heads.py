"""Whose masked-LM head a task-agnostic student reads, where it learns its teacher's output distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retort.specs import catalogue

if TYPE_CHECKING:
    from retort.specs.book import Book


def read_on(book: Book, name: str) -> str | None:
    """The corpus on which a stage of a student reads the teacher's output distribution; None where no stage does."""
    objectives = catalogue.objectives()
    for stage in book.students[name].stages:
        if stage.data != "task" and any(objectives[term.objective].level == "output" for term in stage.terms):
            return stage.data
    return None


def fitted_on(book: Book, name: str) -> str | None:
    """The corpus on which the teacher is given a new head for a student; None where it has its own, or none is read."""
    return None if book.model_of(book.students[name].teacher).masked_lm else read_on(book, name)


def published(book: Book, name: str) -> dict[str, str]:
    """What the settings of a student say of a head that comes with the teacher; nothing where that is not read."""
    return {"head": "published"} if read_on(book, name) and not fitted_on(book, name) else {}

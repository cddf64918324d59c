"""Choose the masked-LM head of the teacher for a task-agnostic student that learns its output distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retort.specs import catalogue

if TYPE_CHECKING:
    from retort.specs.book import Book


def read_on(book: Book, name: str) -> str | None:
    """Return the corpus on which a student's stage reads the teacher's output distribution; None if no stage does."""
    objectives = catalogue.objectives()
    for stage in book.students[name].stages:
        if stage.data != "task" and any(objectives[term.objective].level == "output" for term in stage.terms):
            return stage.data
    return None


def fitted_on(book: Book, name: str) -> str | None:
    """Return the corpus on which the teacher gets a new masked-LM head for a student.

    None means that the teacher's model comes with a head, or that no stage of the student reads one.
    """
    return None if book.model_of(book.students[name].teacher).masked_lm else read_on(book, name)


def published(book: Book, name: str) -> dict[str, str]:
    """Return `{"head": "published"}` if a student reads the head of its teacher's model, else an empty dict."""
    return {"head": "published"} if read_on(book, name) and not fitted_on(book, name) else {}

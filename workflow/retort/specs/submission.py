"""What a submission to the GLUE server is made of: settings of the answers on test sets, and of their zip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retort.specs import settings as resolve
from retort.specs.reading import readable
from retort.specs.task import Task

if TYPE_CHECKING:
    from retort.specs.book import Book

Settings = dict[str, Any]


def tested(spec: Task) -> list[str]:
    """The splits whose answers a submission holds."""
    return list(dict.fromkeys(spec.pieces[piece][0] for piece in spec.submission.files)) if spec.submission else []


def tested_sources(spec: Task) -> list[str]:
    """The sources of those splits."""
    return list(dict.fromkeys(spec.splits[split].source or spec.source for split in tested(spec)))


def tests(book: Book) -> dict[str, Settings]:
    """The settings of the answers on the test sets of each task that has some."""
    return {
        name: {
            "task": resolve.task(book, name, tested(spec)),
            "precision": book.config.resolved_precision(),
            "stage": resolve.STAGES["predict"],
        }
        for name, spec in book.tasks.items()
        if spec.submission and readable(book, name, tested(spec))
    }


def submission(book: Book) -> Settings:
    """The settings of a zip: every file that the server takes; those of each task, and how its labels are written."""
    found: dict[str, Settings] = {
        name: {
            "files": spec.submission.files,
            "words": spec.submission.words or spec.labels,
            "bounds": list(spec.bounds) if spec.bounds else None,
        }
        for name, spec in book.tasks.items()
        if spec.submission
    }
    return {"tasks": found, "wanted": sorted(file for about in found.values() for file in about["files"].values())}

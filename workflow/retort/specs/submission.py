"""Resolve the settings of a submission to the GLUE server: of the predictions on test sets, and of their zip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retort.specs import settings as resolve
from retort.specs.reading import readable
from retort.specs.task import Task

if TYPE_CHECKING:
    from retort.specs.book import Book

Settings = dict[str, Any]


def tested(spec: Task) -> list[str]:
    """Return the splits whose predictions a submission holds."""
    return list(dict.fromkeys(spec.pieces[piece][0] for piece in spec.submission.files)) if spec.submission else []


def tested_sources(spec: Task) -> list[str]:
    """Return the sources of the splits whose predictions a submission holds."""
    return list(dict.fromkeys(spec.splits[split].source or spec.source for split in tested(spec)))


def tests(book: Book) -> dict[str, Settings]:
    """Return the settings of the test-set predictions: task -> settings, for each task that can be submitted."""
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
    """Return the settings of a zip: all files that the server takes, and the files and label names of each task."""
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

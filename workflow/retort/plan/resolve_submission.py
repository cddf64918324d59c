"""Resolve the settings of a submission to the GLUE server: of the predictions on test sets, and of their zip."""

from __future__ import annotations

from typing import Any

from retort.plan import resolve
from retort.study.questions import tested
from retort.study.reading import readable
from retort.study.study import Study

Settings = dict[str, Any]


def tests(study: Study) -> dict[str, Settings]:
    """Return the settings of the test-set predictions: task -> settings, for each task that can be submitted."""
    return {
        name: {
            "task": resolve.task(study, name, tested(spec)),
            "precision": study.config.resolved_precision(),
            "stage": resolve.STAGES["predict"],
        }
        for name, spec in study.tasks.items()
        if spec.submission and readable(study, name, tested(spec))
    }


def submission(study: Study) -> Settings:
    """Return the settings of a zip: all files that the server takes, and the files and label names of each task."""
    found: dict[str, Settings] = {
        name: {
            "files": spec.submission.files,
            "words": spec.submission.words or spec.labels,
            "bounds": list(spec.bounds) if spec.bounds else None,
        }
        for name, spec in study.tasks.items()
        if spec.submission
    }
    return {"tasks": found, "wanted": sorted(file for about in found.values() for file in about["files"].values())}

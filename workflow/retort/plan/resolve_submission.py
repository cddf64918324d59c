"""Resolve the settings of a submission to the GLUE server: of the predictions on test sets, and of their zip."""

from __future__ import annotations

from retort.plan import resolve_data
from retort.plan.versions import VERSIONS
from retort.settings import PredictionSettings, SubmissionSettings, SubmittedTask, TokenizedTaskSettings
from retort.study.questions import submitted_splits
from retort.study.reading import readable
from retort.study.study import Study


def predictions(study: Study) -> dict[str, PredictionSettings]:
    """Return the settings of the test-set predictions: task -> settings, for each task that can be submitted."""
    return {
        name: PredictionSettings(
            task=resolve_data.task(study, name, submitted_splits(spec)),
            precision=study.config.resolved_precision(),
            stage=VERSIONS["predict"],
        )
        for name, spec in study.tasks.items()
        if spec.submission and readable(study, name, submitted_splits(spec))
    }


def test_sets(study: Study, model_name: str, name: str) -> TokenizedTaskSettings:
    """Return the settings of a task's test sets, encoded with the tokenizer of a model."""
    task = resolve_data.task(study, name, submitted_splits(study.tasks[name]))
    return TokenizedTaskSettings(task=task, tokenizer=resolve_data.tokenizer(study, model_name))


def submission(study: Study) -> SubmissionSettings:
    """Return the settings of a zip: all files that the server takes, and the files and label names of each task."""
    tasks = {
        name: SubmittedTask(
            files=spec.submission.files,
            label_names=spec.submission.label_names or spec.labels,
            bounds=spec.bounds,
        )
        for name, spec in study.tasks.items()
        if spec.submission
    }
    return SubmissionSettings(
        tasks=tasks, server_files=sorted(file for task in tasks.values() for file in task.files.values())
    )

"""Predictions on test sets without labels, and the zip file of predictions for the GLUE server."""

from __future__ import annotations

import json
from pathlib import Path

from retort.atomic import write_json
from retort.data.encoded import Encoded
from retort.job.context import RunningJob
from retort.settings.trainings import PredictionSettings, SubmissionSettings
from retort.tasks import task_type_of
from retort.tasks.answers import submission_text, write_zip


def predict_test(
    job: RunningJob,
    settings: PredictionSettings,
    encoded_folder: str,
    weights_folder: str,
    answers_file: str,
) -> None:
    """Predict a task's test sets with a fine-tuned model and write the answers by encoded split.

    All answers of a model that diverged are None; its weights are not those of a whole training.

    Args:
        job: the running job.
        settings: the settings of the predictions.
        encoded_folder: the folder of the encoded test sets.
        weights_folder: the folder of the fine-tuned model.
        answers_file: the file to write: encoded split (a split, or one subset of it) -> answers.
    """
    import numpy as np

    from retort.models import build, weights
    from retort.training.evaluate import predict_logits
    from retort.training.setup import head_of, set_seed

    set_seed(job, 0)
    task = settings.task
    task_type, answers = task_type_of(task), {}
    model = None if weights.is_noted(weights_folder) else build.load(weights_folder, *head_of(task))
    for name in (name for split in task.splits or {} for name in task.encoded_splits(split)):
        rows = Encoded.load(encoded_folder, name)
        width = task_type.width(task, rows)
        logits = np.full((len(rows), *width), np.nan)
        if model is not None:
            logits = predict_logits(model, rows, width, settings.precision, job.device)
        answers[name] = task_type.answers(logits, rows)
    write_json(answers_file, answers, indent=None)
    job.say(f"{sum(map(len, answers.values())):,} answers  ({job.seconds():.0f} s)")


def weights_of_seed(folder: str, seed: str) -> str:
    """Return the folder of the weights of a seed, among those of a job's seeds; a teacher has no other."""
    own = Path(folder) / f"seed-{seed}"
    return str(own) if own.is_dir() else folder


def write_submission(job: RunningJob, settings: SubmissionSettings, answers_files: list[str], output: str) -> None:
    """Write a zip with one file for each test set whose answers exist, and report the files that are missing.

    A test set has no file if an answer is None, which is so where the model diverged.

    Args:
        job: the running job.
        settings: the tasks of the submission, and the names of all files that the server takes.
        answers_files: the files that predict_test wrote, each named after its task.
        output: the zip file to write.
    """
    files, diverged = dict[str, str](), list[str]()
    for path in map(Path, answers_files):
        task, answers = settings.tasks[path.stem], json.loads(path.read_text())
        for encoded_split, name in task.files.items():
            if None in answers[encoded_split]:
                diverged.append(name)
            else:
                files[name] = submission_text(answers[encoded_split], task)
    write_zip(Path(output), files)
    absent = sorted({*settings.server_files} - {*files, *diverged})
    without = f", without those of models that diverged: {', '.join(sorted(diverged))}" if diverged else ""
    job.say(f"{len(files)} files{without}" + (f"; the server also takes {', '.join(absent)}" if absent else ""))

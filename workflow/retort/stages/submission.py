"""Predictions on test sets without labels, and the zip file of predictions that the GLUE server takes."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from retort.data.encoded import Encoded, encode_task
from retort.errors import RetortError
from retort.jobs import Job, write_json
from retort.study.reading import pieces_of
from retort.tasks import task_type_of

STAMP = (1980, 1, 1, 0, 0, 0)  # the date of every file in the zip, so that the same answers give the same bytes


def predict_test(
    job: Job, settings: dict[str, Any], source: list[str], vocabulary: str, weights: str, answers: str
) -> None:
    """Predict a task's test sets with a fine-tuned model and write the answers to `answers`, by piece.

    A piece is a split, or one subset of a split that has subsets.
    """
    from retort.models import build
    from retort.training.evaluate import predict
    from retort.training.setup import head_of, set_seed

    set_seed(job, 0)
    task = settings["task"]
    task_type, given = task_type_of(task), {}
    model = build.load(weights, *head_of(task))
    folders = {Path(folder).name: Path(folder) for folder in source}
    with tempfile.TemporaryDirectory() as scratch:
        encode_task(task, task_type, folders, Path(vocabulary) / "tokenizer.json", Path(scratch), job.say)
        for piece in (piece for split in task["splits"] for piece in pieces_of(task, split)):
            rows = Encoded.load(scratch, piece)
            logits = predict(model, rows, task_type.width(task, rows), settings["precision"], job.device)
            given[piece] = task_type.answers(logits, rows)
    write_json(answers, given, indent=None)
    job.say(f"{sum(map(len, given.values())):,} answers  ({job.seconds():.0f} s)")


def written(answers: list[Any], words: list[str], bounds: list[float] | None) -> str:
    """Return the text of one file of a submission: a header, then a line `index<TAB>prediction` for each answer.

    Args:
        answers: label numbers, or the numbers of a regression.
        words: the label names as the server spells them; empty for a regression.
        bounds: the least and the greatest number that the server takes, to which others are clipped; None: no bounds.

    Raises:
        RetortError: an answer is None, because the model diverged.
    """
    if None in answers:
        raise RetortError(f"answer {answers.index(None)} is no number", "the model diverged")
    least, greatest = bounds or (float("-inf"), float("inf"))
    shown = [words[answer] if words else f"{min(max(answer, least), greatest):.3f}" for answer in answers]
    return "".join(f"{line}\n" for line in ["index\tprediction", *(f"{i}\t{word}" for i, word in enumerate(shown))])


def write_submission(job: Job, settings: dict[str, Any], answers: list[str], to: str) -> None:
    """Write a zip with one file for each test set whose answers are given, and report the files that are missing.

    Args:
        job: the running job.
        settings: `tasks`, for each task its file names by piece, its label names and its bounds; and `wanted`, the
            names of all files that the server takes.
        answers: the files that predict_test wrote, each named after its task.
        to: the zip file to write.
    """
    files: dict[str, str] = {}
    for path in map(Path, answers):
        about, given = settings["tasks"][path.stem], json.loads(path.read_text())
        for piece, name in about["files"].items():
            files[name] = written(given[piece], about["words"], about["bounds"])
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, STAMP), files[name], zipfile.ZIP_DEFLATED)
    absent = sorted({*settings["wanted"]} - {*files})
    job.say(f"{len(files)} files" + (f"; the server also takes {', '.join(absent)}" if absent else ""))

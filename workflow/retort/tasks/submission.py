"""The files of a submission to the GLUE server."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.settings import SubmittedTask

STAMP = (1980, 1, 1, 0, 0, 0)  # the date of every file in the zip, so that the same answers give the same bytes


def submission_text(answers: list[Any], task: SubmittedTask) -> str:
    """Return the text of one file of a submission: a header, then a line `index<TAB>prediction` for each answer.

    Args:
        answers: label numbers, or the numbers of a regression, which are clipped to the bounds of the task.
        task: the settings of the task.

    Raises:
        RetortError: an answer is None, because the model diverged.
    """
    if None in answers:
        raise RetortError(f"answer {answers.index(None)} is no number", "the model diverged")
    least, greatest = task.bounds or (float("-inf"), float("inf"))
    names = task.label_names
    predictions = [names[answer] if names else f"{min(max(answer, least), greatest):.3f}" for answer in answers]
    return "".join(f"{line}\n" for line in ["index\tprediction", *(f"{i}\t{p}" for i, p in enumerate(predictions))])


def write_zip(path: Path, files: dict[str, str]) -> None:
    """Write a zip file of texts by name; the same texts give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, STAMP), files[name], zipfile.ZIP_DEFLATED)

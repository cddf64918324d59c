"""The stage that keeps a task-agnostic student, whichever job has distilled it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from retort.checksums import TIMESTAMP
from retort.engine.job import Job
from retort.errors import RetortError

REASON = "failed.txt"  # the file in place of a student that could not be distilled


def note_failure(output: str, reason: str) -> None:
    """Write in the folder of a student why it could not be distilled, while its companions were."""
    Path(output).mkdir(parents=True, exist_ok=True)
    (Path(output) / REASON).write_text(f"{reason}\n", encoding="utf-8")


def save_student(job: Job, folder: str, output: str) -> None:
    """Link the files of a distilled student into the folder `output`, with the checksums that were taken of them.

    Raises:
        RetortError: the student could not be distilled.
    """
    reason = Path(folder) / REASON
    if reason.is_file():
        raise RetortError(reason.read_text(encoding="utf-8").strip())
    shutil.copytree(folder, output, copy_function=_link, ignore=shutil.ignore_patterns(TIMESTAMP), dirs_exist_ok=True)
    job.taken.add(output)


def _link(file: str, to: str) -> None:
    """Hard-link a file; copy it with its times if the file system has no links between folders."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)

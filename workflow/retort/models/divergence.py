"""Notes beside the weights of students whose training diverged: their weights are those before that step.

A job that would train such a student further raises `Diverged` with the same step, so that its cells say `diverged`.
"""

from __future__ import annotations

import json
from pathlib import Path

from retort.atomic import write_json
from retort.errors import Diverged

NOTE = "diverged.json"


def note(folder: Path | str, diverged: Diverged) -> None:
    """Write a note beside the weights of a student that its training diverged."""
    write_json(Path(folder) / NOTE, {"step": diverged.step})


def note_result(folder: Path | str, result: object) -> None:
    """Write a note beside the weights of a training if its result is a divergence."""
    if isinstance(result, Diverged):
        note(folder, result)


def check(*folders: Path | str | None) -> None:
    """Check that no model in these folders diverged.

    Raises:
        Diverged: one of them did, at the step that the error has.
    """
    for folder in (folder for folder in folders if folder):
        if is_noted(folder):
            raise Diverged(json.loads((Path(folder) / NOTE).read_text(encoding="utf-8"))["step"])


def is_noted(folder: Path | str) -> bool:
    """Return whether a note beside the weights in a folder says that their training diverged."""
    return (Path(folder) / NOTE).is_file()

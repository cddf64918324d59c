"""A student whose training diverged: its weights are those before that step, and a note says so.

What would be trained from it counts as diverged at that step, so that its cells say `diverged`, and nothing waits.
"""

from __future__ import annotations

import json
from pathlib import Path

from retort.atomic import write_json
from retort.errors import Diverged

NOTE = "diverged.json"


def note(folder: Path | str, diverged: Diverged) -> None:
    """Note beside the weights of a student that its training diverged."""
    write_json(Path(folder) / NOTE, {"step": diverged.step})


def note_result(folder: Path | str, result: object) -> None:
    """Note beside the weights of a training that it diverged, if that is its result."""
    if isinstance(result, Diverged):
        note(folder, result)


def check(*folders: Path | str | None) -> None:
    """Check that no model in these folders diverged.

    Raises:
        Diverged: one of them did; the error has its step.
    """
    for folder in (folder for folder in folders if folder):
        if is_noted(folder):
            raise Diverged(json.loads((Path(folder) / NOTE).read_text(encoding="utf-8"))["step"])


def is_noted(folder: Path | str) -> bool:
    """Return whether the training of the weights in a folder is noted as one that diverged."""
    return (Path(folder) / NOTE).is_file()

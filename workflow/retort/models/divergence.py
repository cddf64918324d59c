"""A task-agnostic student whose training diverged: its weights are those before that step, and a note says so.

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


def check(*folders: Path | str | None) -> None:
    """Check that no model in these folders diverged.

    Raises:
        Diverged: one of them did; the error has its step.
    """
    for path in (Path(folder) / NOTE for folder in folders if folder):
        if path.is_file():
            raise Diverged(json.loads(path.read_text(encoding="utf-8"))["step"])

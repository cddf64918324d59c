"""Scale guard: keep results of one scale from being overwritten by runs at another scale.

The path of a score does not contain the scale, so runs at two scales would write the same files.
"""

from __future__ import annotations

from pathlib import Path

from retort.atomic import write_text
from retort.errors import RetortError
from retort.study.study import Study

MARK = Path("results/scale")


def guard_scale(study: Study) -> None:
    """Mark the folder of results with the scale at which the students of printed papers run in it.

    Do nothing if the scale runs no student of a printed paper.

    Raises:
        RetortError: the folder is already marked with another scale.
    """
    scale = study.config.scale
    if not any(map(study.is_printed, study.running)):
        return
    held = MARK.read_text(encoding="utf-8").strip() if MARK.is_file() else scale
    if held != scale:
        raise RetortError(
            f"results/ holds runs at scale {held}, which runs at scale {scale} would overwrite",
            "move results/ away, or work in another checkout",
        )
    write_text(MARK, f"{scale}\n")

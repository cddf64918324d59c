"""The configuration with which the run of a job was planned: YAML files may be edited while the run lasts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from retort.attempts import of_latest_run
from retort.errors import RetortError

VARIABLE = "RETORT_RUN"  # the environment variable that names the folder of a run


def of_this_run() -> dict[str, Any]:
    """Return the configuration with which the run of this job was planned; empty if the environment names no run.

    Raises:
        RetortError: the folder of the run is gone; or another run has begun, whose jobs do what this one would: it ends
            before Snakemake deletes results, to make them again.
    """
    if VARIABLE not in os.environ:
        return {}
    if not of_latest_run():
        raise RetortError("snakemake was started again since this job was queued", "the new run has a job of its own")
    path = Path(os.environ[VARIABLE]) / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RetortError(
            f"{path}, with which this job was planned, cannot be read ({error})", "run snakemake again: it plans anew"
        ) from None
    return config

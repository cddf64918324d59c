"""The configuration with which the run of a job was planned: YAML files may be edited while the run lasts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from retort.attempts import is_latest_run
from retort.errors import RetortError

VARIABLE = "RETORT_RUN"  # the environment variable that names the folder of a run


def of_this_run() -> dict[str, Any]:
    """Return the configuration with which the run of this job was planned; empty if the environment names no run.

    Raises:
        RetortError: the configuration cannot be read; or a newer run has begun, which has a job of its own for this
            one's results.
    """
    if VARIABLE not in os.environ:
        return {}
    if not is_latest_run():
        raise RetortError("snakemake was started again since this job was queued", "the new run has a job of its own")
    path = Path(os.environ[VARIABLE]) / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RetortError(
            f"{path}, with which this job was planned, cannot be read ({error})", "run snakemake again: it plans anew"
        ) from None
    return config

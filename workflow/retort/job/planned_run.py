"""The run that a job belongs to: its name, and the settings with which it was planned.

A job starts minutes or days after its run was planned. So it reads the configuration that the run has kept, in a folder
that the environment of the job names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from retort.errors import RetortError
from retort.job.attempts import RUN

FOLDER = Path("results/runs")
LATEST = FOLDER / "latest"  # the file that names the latest run
VARIABLE = "RETORT_RUN"  # the environment variable that names the folder of a run
DECIDED = "RETORT_DECIDED"  # the same with what a run has decided, for jobs of a run that keeps no folder


def is_job() -> bool:
    """Return whether a run has started this process: the settings are decided."""
    return VARIABLE in os.environ or DECIDED in os.environ


def is_latest() -> bool:
    """Return whether the run of this job is the latest; another Snakemake may have begun a run since."""
    try:
        return LATEST.read_text(encoding="utf-8") == os.environ.get(RUN, "")
    except (OSError, ValueError):  # the file is missing or damaged, so no later run is known
        return True


def configuration() -> dict[str, object]:
    """Return the configuration with which the run of this job was planned; empty if no run has started this process.

    Raises:
        RetortError: the configuration cannot be read; or a newer run has begun, which has a job of its own for this
            one's results.
    """
    if VARIABLE not in os.environ:
        return dict(json.loads(os.environ.get(DECIDED, "{}")))
    if not is_latest():
        raise RetortError("snakemake was started again since this job was queued", "the new run has a job of its own")
    path = Path(os.environ[VARIABLE]) / "config.json"
    try:
        config: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RetortError(
            f"{path}, with which this job was planned, cannot be read ({error})", "run snakemake again: it plans anew"
        ) from None
    return config

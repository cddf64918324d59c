"""The run that a job belongs to: its name, and the settings with which it was planned.

A job starts minutes or days after its run was planned. So it reads the configuration that the run has kept, in a folder
that the environment of the job names.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from retort.errors import RetortError
from retort.job.attempts import RUN

FOLDER = Path("results/runs")
TARGETS = "--target-jobs"  # the option of Snakemake by which it names jobs
JOBS = ".jobs"  # suffix of the file that lists what a run has planned, under the run's name
SEPARATOR = "\t"  # of what a line of this list holds
VARIABLE = "RETORT_RUN"  # the environment variable that names the folder of a run
DECIDED = "RETORT_DECIDED"  # the same with what a run has decided, for jobs of a run that keeps no folder


def is_job() -> bool:
    """Return whether a run has started this process: the settings are decided."""
    return VARIABLE in os.environ or DECIDED in os.environ


def name_of(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return the name of a job in the list of what a run has planned, as `snakemake --target-jobs` takes it."""
    return f"{rule}:{','.join(sorted(f'{key}={value}' for key, value in wildcards.items()))}"


@dataclass(frozen=True)
class PlannedJob:
    """A job that a run has planned.

    Args:
        name: its name, see `name_of`.
        log: the path of its log.
        seconds: how long it is expected to take on one device; 0 if it is not known.
        outputs: the files and folders that it makes, without those that are deleted once they are read.
    """

    name: str
    log: str = ""
    seconds: float = 0.0
    outputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return its line in the list of what a run has planned."""
        return SEPARATOR.join([self.name, self.log, f"{self.seconds:.1f}", *self.outputs])


def jobs_of(path: Path) -> list[PlannedJob]:
    """Return the jobs of a list of what a run has planned; 1.0.0 wrote lists of names alone, which are left out."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    fields = (line.split(SEPARATOR) for line in lines if SEPARATOR in line)
    return [PlannedJob(name, log, float(seconds), tuple(outputs)) for name, log, seconds, *outputs in fields]


def is_latest(job: str) -> bool:
    """Return whether no later run has planned this job of the run; a killed run may leave jobs in a queue."""
    own = os.environ.get(RUN)
    later = [path for path in FOLDER.glob(f"*{JOBS}") if own and path.stem > own]
    return not any(job == other.name for path in later for other in jobs_of(path))


def check_latest(arguments: list[str]) -> None:
    """Check that no later run has planned the jobs for which a run has started a Snakemake of their own.

    It is called before this Snakemake deletes what the later run may have made.

    Args:
        arguments: those of this process; Snakemake tells a Snakefile nowhere else which jobs it is to run.

    Raises:
        RetortError: one has.
    """
    behind = arguments[arguments.index(TARGETS) + 1 :] if TARGETS in arguments else []
    given = [name.partition(":") for name in itertools.takewhile(lambda each: not each.startswith("--"), behind)]
    if not all(is_latest(f"{rule}:{','.join(sorted(pairs.split(',')))}") for rule, _, pairs in given):
        raise RetortError("snakemake was started again since this job was queued", "the new run has a job of its own")


def plan() -> str:
    """Return what stands for the configuration and the YAML files of the run; empty if no run has kept them."""
    return Path(os.environ.get(VARIABLE, "")).name


def began() -> float | None:
    """Return when the run listed what it has planned, by the clock of the file system; None if it keeps no list."""
    try:
        return (FOLDER / f"{os.environ.get(RUN, '')}{JOBS}").stat().st_mtime
    except OSError:
        return None


def configuration() -> dict[str, object]:
    """Return the configuration with which the run of this job was planned; empty if no run has started this process.

    Raises:
        RetortError: the configuration cannot be read.
    """
    if VARIABLE not in os.environ:
        return dict(json.loads(os.environ.get(DECIDED, "{}")))
    path = Path(os.environ[VARIABLE]) / "config.json"
    try:
        config: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RetortError(
            f"{path}, with which this job was planned, cannot be read ({error})", "run snakemake again: it plans anew"
        ) from None
    return config

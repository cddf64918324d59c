"""A run of Snakemake: the versions it needs, its name, and the settings that its jobs read.

A job starts minutes or days after the run was planned. So the run keeps the configuration and the YAML files that it
was planned with, in a folder named after their content, and the environment of its jobs names that folder.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from retort import machine
from retort.atomic import remove_leftovers, write_json, write_text
from retort.checksums import digest_of
from retort.errors import RetortError
from retort.job.attempts import LOCKS, RUN
from retort.job.planned_run import DECIDED, FOLDER, LATEST, VARIABLE
from retort.specs.config import Config

LOCKED = Path(".snakemake/locks")  # Snakemake's own locks, of a run that is at work or was killed
KEPT_SECONDS = 30 * 24 * 3600.0  # a job may wait long in a queue

# The oldest and the newest of each are tested (tests/workflow/test_versions.py). Snakemake before 9.26 tells of each
# failed job twice; the plugin before 2.8 does not tell when a job starts.
BOUNDS = {"snakemake": ">=9.26,<9.28", "snakemake-executor-plugin-slurm": ">=2.8,<2.9"}


def check_versions() -> None:
    """Check that the installed versions are within the bounds; a package that is not installed is not used.

    Raises:
        RetortError: one is not.
    """
    for name, bounds in BOUNDS.items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if not SpecifierSet(bounds).contains(installed, prereleases=True):
            hint = f"install another version: pip install '{name}{bounds}'"
            raise RetortError(f"{name} {installed} is installed, and this workflow needs {name}{bounds}", hint)


def decide(**decided: Any) -> None:
    """Tell the jobs to come what the run has decided.

    `begin` tells them more, but it is called in a hook, and Snakemake runs no hooks of a workflow that is a module.
    """
    os.environ[DECIDED] = json.dumps(decided)


def files_of(checked: Config) -> dict[str, str]:
    """Return path -> content of the files of a study, and of its cluster's: read when the run is planned.

    These are YAML files, and pictures that pages show, such as those of recorded runs.
    """
    every = (*checked.folder.rglob("*.yaml"), *checked.folder.glob("papers/*/**/*.svg"))
    paths = sorted(filter(Path.is_file, every))
    files = {f"study/{path.relative_to(checked.folder)}": path.read_text(encoding="utf-8") for path in paths}
    return files | ({"cluster.yaml": Path(checked.cluster).read_text(encoding="utf-8")} if checked.cluster else {})


def begin(config: dict[str, Any], files: dict[str, str]) -> None:
    """Keep what a run was planned with, give the run a unique name, and tell both to the jobs to come.

    Args:
        config: the configuration, with all that the run has decided.
        files: what `files_of` returned when the run was planned.
    """
    folder = FOLDER / digest_of([config, files])[:16]  # equal runs share it
    for name, text in files.items():
        write_text(folder / name, text)
    places = {"study": folder / "study", "cluster": folder / "cluster.yaml"}
    kept = {key: str(path.absolute()) for key, path in places.items() if config.get(key)}
    write_json(folder / "config.json", {**config, **kept})
    os.utime(folder)
    os.environ[VARIABLE] = str(folder)
    os.environ[RUN] = f"{machine.name()}-{time.time_ns()}-{os.getpid()}"
    write_text(LATEST, os.environ[RUN])
    for each in (FOLDER, LOCKS):
        remove_leftovers(each)
    for other in FOLDER.iterdir():
        if other.is_dir() and time.time() - other.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True)

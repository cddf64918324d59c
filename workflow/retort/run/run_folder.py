"""A run of Snakemake: the versions it needs, its name, and the settings that its jobs read.

A job starts minutes or days after the run was planned. So the run keeps the configuration and the YAML files that it
was planned with, in a folder named after their content, and the environment of its jobs names that folder.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from retort import machine, own_code
from retort.atomic import remove_leftovers, write_json, write_text
from retort.checksums import digest_of
from retort.errors import RetortError
from retort.job import planned_run
from retort.job.attempts import LOCKS, RUN
from retort.job.locks import hold_claim, holder_of
from retort.job.planned_run import DECIDED, FOLDER, VARIABLE, PlannedJob
from retort.specs.config import Config
from retort.study.yaml_files import FILES

CLAIM = "run."  # prefix of the claims of runs, among those of jobs
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


def check_disk() -> None:
    """Check that this folder can be written, before Snakemake tells it in a traceback.

    Raises:
        OSError: it cannot.
    """
    try:
        with tempfile.TemporaryFile(dir=Path.cwd()) as probe:
            probe.write(bytes(2**16))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(Path.cwd())) from None


def decide(**decided: Any) -> None:
    """Tell the jobs to come what the run has decided.

    `begin` tells them more, but it is called in a hook, and Snakemake runs no hooks of a workflow that is a module.
    """
    os.environ[DECIDED] = json.dumps(decided)


def files_of(checked: Config) -> dict[str, str]:
    """Return path -> content of the files of a study, and of its cluster's: read when the run is planned.

    These are YAML files, Python files of the study, and pictures that pages show, such as those of recorded runs.
    """
    patterns = (*FILES, "papers/*/**/*.yaml", "papers/*/**/*.svg", *(f"{name}/*.py" for name in own_code.FOLDERS))
    files = {
        str(copy_of(number, folder) / path.relative_to(folder)): path.read_text(encoding="utf-8")
        for number, folder in enumerate(checked.study_folders)
        for path in sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    }
    return files | ({"cluster.yaml": Path(checked.cluster).read_text(encoding="utf-8")} if checked.cluster else {})


def copy_of(number: int, folder: Path) -> Path:
    """Return where a run keeps one of the study's folders, by its place among them; messages show its own name."""
    return Path("study", str(number), folder.name)


@dataclass(frozen=True)
class RunWork:
    """What a run is about to do.

    Args:
        jobs: its jobs.
        makes: the files and folders that they make.
        reads: those that they read.
    """

    jobs: frozenset[PlannedJob] = frozenset()
    makes: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()

    @classmethod
    def of(cls, jobs: Iterable[Any], seconds: Mapping[str, float]) -> RunWork:
        """Return what Snakemake's jobs are about to do.

        Args:
            jobs: the jobs.
            seconds: log of a job -> how long it is expected to take.
        """
        every = [job for job in jobs if job.output]
        planned = frozenset(
            PlannedJob(
                planned_run.name_of(job.rule.name, dict(job.wildcards.items())),
                log := next(iter(job.log), ""),
                seconds.get(log, 0.0),
                tuple(str(path) for path in job.output if path not in job.temp_output),
            )
            for job in every
        )
        makes, reads = (
            {str(path) for job in every for path in paths(job)} for paths in map(attrgetter, ("output", "input"))
        )
        return cls(planned, frozenset(makes), frozenset(reads))


def others_at_work() -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield (process, what it makes, what it reads) of each other run that is at work in this folder."""
    for path in LOCKS.glob(f"{CLAIM}*"):
        if path not in _claims and (other := holder_of(path)):
            lines = path.read_text(encoding="utf-8").splitlines()[1:]
            makes, reads = ({line[1:] for line in lines if line.startswith(mark)} for mark in "><")
            yield other.who, makes, reads


def claim(planned: RunWork) -> None:
    """Claim what a run is about to do, until this process ends, and give the run a unique name.

    Runs in one folder leave each other alone unless one makes what the other makes or reads.

    Raises:
        RetortError: a run that is at work does.
    """
    name = f"{time.time_ns()}-{machine.name()}-{os.getpid()}"
    own = LOCKS / f"{CLAIM}{name}"
    files = [*(f">{path}" for path in planned.makes), *(f"<{path}" for path in planned.reads)]
    _claims[own] = contextlib.ExitStack()  # before the look at others: of two that begin at once, none misses the other
    atexit.register(_claims[own].close)
    _claims[own].enter_context(hold_claim(own, "a run", "\n".join([*files, ""])))
    for who, makes, reads in others_at_work():
        if both := sorted(planned.makes & (makes | reads) | planned.reads & makes):
            _claims.pop(own).close()
            more = f" and {len(both) - 1} more" * (len(both) > 1)
            hint = "wait for its end, or ask for other files"
            raise RetortError(f"another run is at work on {both[0]}{more}: {who}", hint)
    write_text(FOLDER / f"{name}{planned_run.JOBS}", "".join(f"{job}\n" for job in sorted(map(str, planned.jobs))))
    os.environ[RUN] = name


_claims: dict[Path, contextlib.ExitStack] = {}  # of this process, which holds them to its end


def begin(config: dict[str, Any], checked: Config, files: dict[str, str]) -> None:
    """Keep what a run was planned with, and tell it to the jobs to come.

    Args:
        config: the configuration, with all that the run has decided.
        checked: the same, checked.
        files: what `files_of` returned when the run was planned.
    """
    folder = FOLDER / digest_of([config, files])[:16]  # equal runs share it
    for name, text in files.items():
        write_text(folder / name, text)
    copies = [folder.absolute() / copy_of(*numbered) for numbered in enumerate(checked.study_folders)]
    for copy in copies:
        (copy / "papers").mkdir(parents=True, exist_ok=True)  # which may be empty
    cluster = {"cluster": str(folder.absolute() / "cluster.yaml")} if checked.cluster else {}
    write_json(folder / "config.json", {**config, "study": [*map(str, copies)], **cluster})
    own_code.read_from(copies)
    os.utime(folder)
    os.environ[VARIABLE] = str(folder)
    for each in (FOLDER, LOCKS):
        remove_leftovers(each)
    at_work = next(others_at_work(), None)  # a run may take longer than folders are kept
    for other in FOLDER.iterdir() if not at_work else ():
        if time.time() - other.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink(missing_ok=True)

"""What runs of Snakemake are at, from what they and their jobs leave in results/: for `retort status`.

Nothing is written or locked here, so anybody may look at any time.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from retort.errors import escape_controls
from retort.job import gpus, planned_run
from retort.job.attempts import KILLED, LOCKS, Attempt, file_of, slug_of
from retort.job.context import shown
from retort.job.locks import living_owner
from retort.job.planned_run import FOLDER, JOBS, PlannedJob
from retort.job.steps import SUFFIX, Line, read_steps, steps_file, steps_files
from retort.run.run_folder import CLAIM

RUNNING, FAILED, WAITING, DONE = "running", "failed", "waiting", "done"
SEEDS = re.compile(r"\bseeds=([\d-]+)")  # in the name of a planned job
ENOUGH = 0.1  # the part of a run after which its pace tells when it ends
TRAINING = ("seed", "point", "stage")  # what tells a training from others of its job, in a line of steps


@dataclass(frozen=True)
class JobStatus:
    """A job of a run.

    Args:
        name: what it does and of what.
        log: its log.
        state: 'running', 'failed', 'waiting' or 'done'; what waits when its run has ended was not run.
        predicted_seconds: how long it was expected to take on one device; 0 if it is not known.
        who: the process that runs it, with its machine; empty if none does.
        gpus: the GPUs that it has claimed on this machine.
        reason: why it failed.
        training: the last line of its file of steps, see python.md; empty without one of this attempt.
        seconds_left: of this training, at the speed of its last steps; None if that is not known.
        seconds_silent: since the last line of its log or file of steps; None if it does not run.
        share: how much of it is done, from 0 to 1; 0 for one that runs and does not tell.
    """

    name: str
    log: str
    state: str
    predicted_seconds: float
    who: str = ""
    gpus: tuple[str, ...] = ()
    reason: str = ""
    training: Line | None = None
    seconds_left: float | None = None
    seconds_silent: float | None = None
    share: float = 0.0


@dataclass(frozen=True)
class RunStatus:
    """A run of Snakemake.

    Args:
        who: the process that runs it, with its machine; empty if it has ended.
        began: when it began, in the seconds of `time.time`.
        jobs: its jobs; those that nothing had to do for are none of them.
        seconds_left: at the pace of this run; None if it has ended, or not done a tenth yet.
    """

    who: str
    began: float
    jobs: list[JobStatus]
    seconds_left: float | None

    def in_state(self, state: str) -> list[JobStatus]:
        """Return its jobs in a state."""
        return [job for job in self.jobs if job.state == state]


def find_runs() -> Iterator[RunStatus]:
    """Yield each run that is at work in this folder, oldest first; if none is, the latest one."""
    owners = {path.name.removeprefix(CLAIM): living_owner(path) for path in LOCKS.glob(f"{CLAIM}*")}
    planned = sorted(path.stem for path in FOLDER.glob(f"*{JOBS}"))
    for name in [each for each in planned if owners.get(each)] or planned[-1:]:
        yield _run(name, (owners.get(name) or {}).get("who", ""))


def _run(name: str, who: str) -> RunStatus:
    began = int(name.partition("-")[0]) / 1e9
    planned = planned_run.jobs_of(FOLDER / f"{name}{JOBS}")
    files = {steps_file(job.log) for job in planned}
    jobs = [_job(job, name, began, files) for job in planned]
    total, elapsed = sum(job.predicted_seconds for job in jobs), time.time() - began
    done = sum(job.share * job.predicted_seconds for job in jobs)
    return RunStatus(who, began, jobs, elapsed * (total - done) / done if who and done > ENOUGH * total else None)


def _job(job: PlannedJob, run: str, began: float, files: Container[Path]) -> JobStatus:
    """Return the status of a job of a run that began at a time, whose jobs have these files of steps."""
    owner, noted, name = living_owner(LOCKS / slug_of(job.log)), Attempt.read(file_of(job.log)), shown(job.log)
    if noted and noted.run == run:
        if owner:
            return _running(job, name, owner, files)
        return JobStatus(name, job.log, FAILED, job.seconds, reason=escape_controls(noted.reason or KILLED))
    # Snakemake deletes the outputs of a job before it begins; a fork may leave its log as it was
    times = [_changed(path) for path in job.outputs]
    done = all(times) and max(*times, _changed(job.log), 0.0) >= began
    return JobStatus(name, job.log, DONE if done else WAITING, job.seconds, share=float(done))


def _running(job: PlannedJob, name: str, owner: dict[str, str], of_jobs: Container[Path]) -> JobStatus:
    began, own = float(owner.get("since", 0)), slug_of(job.log)
    nearby = (path for path in Path(job.log).parent.glob(f"*{SUFFIX}") if path not in of_jobs)  # those of companions
    files = [path for path in (steps_file(job.log), *nearby) if _changed(path) >= began]
    every = (line for path in files for line in read_steps(path) if line["job"] == own and line["at"] >= began)
    lines = sorted(every, key=lambda line: float(line["at"]))
    timed = next((line for line in reversed(lines) if "steps_per_second" in line), None)
    training = lines[-1] if lines else None
    left = (timed["steps"] - timed["step"]) / timed["steps_per_second"] if timed else None
    silent = time.time() - max(_changed(job.log), *(line["at"] for line in lines[-1:]), began)
    held, share = tuple(gpus.held_by(owner)), _share(job, lines)
    return JobStatus(name, job.log, RUNNING, job.seconds, owner["who"], held, "", training, left, silent, share)


def _share(job: PlannedJob, lines: list[Line]) -> float:
    """Return how much of a running job its steps say to be done; 0 for a grid, whose points they do not count."""
    if not lines or "point" in lines[-1]:
        return 0.0
    seeds = SEEDS.search(job.name)
    trainings = lines[-1]["stages"] * (1 + seeds[1].count("-") if seeds else 1)
    before = len({_training(line) for line in lines}) - 1
    share: float = (before + lines[-1]["step"] / lines[-1]["steps"]) / trainings
    return min(1.0, share)


def _training(line: Line) -> tuple[tuple[str, int], ...]:
    """Return which training of its job a line of steps is about."""
    return tuple((key, line[key]) for key in TRAINING if key in line)


def _changed(path: Path | str) -> float:
    """Return when a file or folder was written last; 0 if it is not there."""
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return 0.0


def training_in_words(line: Line) -> str:
    """Return which step of which training a line of a file of steps is about."""
    point = f"point {line['point']}, " if "point" in line else ""
    stage = f"stage {line['stage']} of {line['stages']}, " if line["stages"] > 1 else ""
    return f"seed {line['seed']}, {point}{stage}step {line['step']} of {line['steps']}"


def write_curves(folder: Path) -> Iterator[Path]:
    """Write every file of steps below results/logs as the event files of TensorBoard, and yield the folder of each.

    Raises:
        ImportError: TensorBoard is not installed.
    """
    from torch.utils.tensorboard import SummaryWriter

    for path in steps_files():
        job = slug_of(str(path).replace(SUFFIX, ".log"))
        for training, lines in itertools.groupby(read_steps(path), _training):
            name = ".".join(f"{key}-{value}" for key, value in training)
            writer = SummaryWriter(str(folder / job / name), purge_step=0)
            for line in lines:
                for tag, value in (line | line.get("terms", {})).items():
                    if isinstance(value, float) and tag != "at":
                        writer.add_scalar(tag, value, line["step"], line["at"])
            writer.close()
        yield path

"""What every training needs before its first step: seed, checkpoint, progress lines, head and rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from retort.data.encoded import Encoded
from retort.engine.job import Job, this_code
from retort.settings import Settings, TaskSettings
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint, ReadCheckpoint
from retort.training.division import UNDIVIDED, Division
from retort.training.loop import TrainingRun, train
from retort.training.parts import InParts
from retort.training.processes import ALONE, Group
from retort.training.progress import Progress

LOGITS = ("logits", None)


def set_seed(job: Job, seed: int) -> None:
    """Set torch's number of threads to the job's, and the seed of initial weights."""
    torch.set_num_threads(job.threads)
    torch.manual_seed(seed)


def checkpoint_of(job: Job, settings: Settings, seed: int, *inputs: Any) -> Checkpoint:
    """Return the job's checkpoint; a state is ignored if it was written with other arguments or other input files.

    Args:
        job: the running job.
        settings: the settings of the job.
        seed: the seed of the job.
        *inputs: further JSON values on which the training depends.
    """
    maker, contents = this_code(), [parent.sha256 for parent in job.parents.values()]
    key = [settings.as_json(), seed, contents, *inputs]
    checkpoint_type = Checkpoint if job.writes else ReadCheckpoint
    checkpoint = checkpoint_type(job.checkpoints, key, job.checkpoint_seconds, maker, job.say)
    job.resumed_from |= {other for other in checkpoint.makers if other != maker}
    if job.resumed_from:
        job.say("goes on from a checkpoint of other code; the score says so")
    return checkpoint


def division_of(job: Job) -> Division:
    """Return how a job divides its batches: among its processes, and into parts of at most `micro_batch` rows."""
    if job.processes == 1 and job.micro_batch is None:
        return UNDIVIDED
    return InParts(job.micro_batch, ALONE if job.processes == 1 else Group())


def head_of(task: TaskSettings) -> tuple[str, int]:
    """Return the head that a task needs: its name in models/build.py, and its number of outputs."""
    task_type = task_type_of(task)
    return task_type.head, task_type.outputs(task)


def training_rows(encoded_folder: Path | str, task: TaskSettings) -> Encoded:
    """Load the rows of the split that a task is trained on."""
    return Encoded.load(encoded_folder, task.train_split)


def progress_of(job: Job, runs: int = 1) -> Progress:
    """Return the progress of a job with this number of training runs."""
    return Progress(job.name, job.log, runs)


def train_in(
    job: Job, run: TrainingRun, seed: int, precision: str, checkpoint: Checkpoint, progress: Progress | None = None
) -> None:
    """Train the modules of a training run in place, with the device, workers, division of batches and time of a job.

    Args:
        job: the running job.
        run: the training run.
        seed: seed of the dropout.
        precision: 'bfloat16', 'tf32' or 'float32', see `train`.
        checkpoint: the job's checkpoint.
        progress: where steps and losses are reported; None for that of a job with one training run.

    Raises:
        Diverged: the loss or a gradient became NaN or infinite.
        Interrupted: the time of the job is short; the state is written.
    """
    progress = progress or progress_of(job)
    division = division_of(job)
    train(run, seed, checkpoint, progress, precision, job.device, job.num_workers, division, job.clock)

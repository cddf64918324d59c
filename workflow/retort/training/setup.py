"""What every training needs before its first step: seed, checkpoint, progress lines, steps of its schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from retort.data.encoded import Encoded
from retort.jobs import Job
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint
from retort.training.progress import Progress

LOGITS = ("logits", None)


def set_seed(job: Job, seed: int) -> None:
    """Set torch's threads to those of the job, and the seed from which initial weights are drawn."""
    torch.set_num_threads(job.threads)
    torch.manual_seed(seed)


def checkpoint_of(job: Job, settings: Any, seed: int) -> Checkpoint:
    """Return the job's checkpoint, from which it resumes after a kill; other settings or another seed start anew."""
    return Checkpoint(job.checkpoints, [settings, seed], job.checkpoint_seconds)


def head_of(task: dict[str, Any]) -> tuple[str, int]:
    """Return the head that a task needs: its name in models/build.py, and its number of outputs."""
    task_type = task_type_of(task)
    return task_type.head, task_type.outputs(task)


def stepped(schedule: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return the schedule with `steps` computed from its epochs: an epoch is the whole batches that the rows fill."""
    if "epochs" not in schedule:
        return schedule
    return {**schedule, "steps": max(1, round(schedule["epochs"] * (rows // min(schedule["batch_size"], rows))))}


def training_rows(encoded: Path | str, task: dict[str, Any]) -> Encoded:
    """Load the rows of the split that a task is trained on."""
    return Encoded.load(encoded, task["train_split"])


def progress_of(job: Job, runs: int = 1) -> Progress:
    """Return what prints the progress of a job that has `parts` training runs."""
    return Progress(job.name, job.log, runs)

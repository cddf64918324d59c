"""What every training needs before its first step: seed, checkpoint, progress lines, head and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from retort.data.encoded import Encoded
from retort.engine.job import Job, this_code
from retort.objectives import WeightedSum
from retort.objectives.relation_forms.choice import agree, choose_ahead
from retort.provenance import device_name
from retort.settings import Settings, TaskSettings
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint, ReadCheckpoint
from retort.training.how.parts import UNDIVIDED, Division, InParts
from retort.training.how.processes import ALONE, Group, gather
from retort.training.loop import TrainingRun, train
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


# Record how the steps of a training were taken: on which device, in which parts, with which form of the relations.
#
# A training may be resumed in another way. Its checkpoint and its score file name every way once.


RELATIONS = "relations"  # the key of the form that computed the relations, with the reason for it


def parts_of(job: Job) -> dict[str, int]:
    """Return the most rows at once and the number of GPUs of a job that divides its batches; else an empty dict."""
    return {
        **({} if job.micro_batch is None else {"micro_batch": job.micro_batch}),
        **({} if job.processes == 1 else {"gpus": job.processes}),
    }


def forms(origins: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the forms that have computed the relations of a training, in order, each once; old states name none."""
    return list(dict.fromkeys(origin[RELATIONS] for origin in origins if RELATIONS in origin))


def begin(job: Job, checkpoint: Checkpoint, loss: WeightedSum, device: torch.device) -> None:
    """Choose and log the form of the relations in a loss, and record in the checkpoint how the next steps are taken.

    All processes of a training take the same form.

    Args:
        job: the running job.
        checkpoint: the checkpoint of the training; its last form is chosen again if it works on this device.
        loss: the loss of the steps.
        device: the device of the steps.
    """
    before = next(reversed(forms(checkpoint.origins)), "")
    form = choose_ahead(device, before) if loss.holds_relations else ""
    if form:
        form = agree(device, form, gather(form))
        other = f"; before, by {before}" if before not in ("", form) else ""
        job.log.write(f"relations computed by {form}{other}\n")
        job.log.flush()
    relations = {RELATIONS: form} if form else {}
    checkpoint.note_origin({"device": device_name(job.device), **parts_of(job), **relations})

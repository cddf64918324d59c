"""What every training of a job needs: seed, checkpoint, division of batches, and a record of how its steps are taken.

A training may be resumed on another device, in other parts, or with another form of the relations. Its checkpoint and
its score file name every way once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from retort.job.context import RunningJob
from retort.objectives import WeightedSum
from retort.objectives.relation_forms.choice import agree_on_form, choose_ahead
from retort.provenance import device_name
from retort.settings.inputs import JobSettings, TaskSettings
from retort.specs.protocol import Schedule
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint
from retort.training.how.micro_batches import Division
from retort.training.how.processes import gather_values
from retort.training.loop import train
from retort.training.training_run import Progress, Training, TrainingRun

LOGITS = ("logits", None)
RELATIONS = "relations"  # the key of the form that computed the relations, with the reason for it


def set_seed(job: RunningJob, seed: int) -> None:
    """Set torch's number of threads to the job's, and the seed of initial weights."""
    torch.set_num_threads(job.threads)
    torch.manual_seed(seed)


def head_of(task: TaskSettings) -> tuple[str, int]:
    """Return the head that a task needs: its name in models/build.py, and its number of outputs."""
    task_type = task_type_of(task)
    return task_type.head, task_type.outputs(task)


def checkpoint_of(job: RunningJob, settings: JobSettings, seed: int, *inputs: Any) -> Checkpoint:
    """Return the job's checkpoint; a state is ignored if it was written with other arguments or other input files.

    Args:
        job: the running job.
        settings: the settings of the job.
        seed: the seed of the job.
        *inputs: further JSON values on which the training depends.
    """
    maker, contents = job.maker, [parent.sha256 for parent in job.parents.values()]
    key = [settings.as_json(), seed, contents, *inputs]
    checkpoint = Checkpoint(job.checkpoints, key, job.checkpoint_seconds, maker, job.say, job.writes)
    job.resumed_from |= {other for other in checkpoint.makers if other != maker}
    if job.resumed_from:
        job.say("goes on from a checkpoint of other code; the score says so")
    return checkpoint


def division_of(job: RunningJob, schedule: Schedule) -> Division:
    """Return how the batches of a training are divided: among the processes of its job, and into micro-batches."""
    return Division(schedule.micro_batch, job.rank, job.processes)


def training_of(
    job: RunningJob, run: TrainingRun, seed: int, precision: str, checkpoint: Checkpoint, progress: Progress
) -> Training:
    """Return a training run in progress on the device of a job, with its batches divided."""
    division = division_of(job, run.schedule)
    training = Training(run, seed, checkpoint, progress, precision, job.device, division)
    if 0 < training.step < run.steps:
        job.say(f"resumed at step {training.step} of {run.steps}")
    return training


def train_in(
    job: RunningJob,
    run: TrainingRun,
    seed: int,
    precision: str,
    checkpoint: Checkpoint,
) -> None:
    """Train the modules of a training run in place, with the device, workers, division of batches and time of a job.

    Args:
        job: the running job.
        run: the training run.
        seed: seed of the dropout.
        precision: 'bfloat16', 'tf32' or 'float32', see `Training`.
        checkpoint: the job's checkpoint.

    Raises:
        Diverged: the loss or a gradient became NaN or infinite.
        Interrupted: the time of the job is short; the state is written.
    """
    training = training_of(job, run, seed, precision, checkpoint, Progress.of(job, seed))
    train([training], job.device, job.num_workers, job.clock)
    if training.diverged:
        raise training.diverged


def parts_of(job: RunningJob) -> dict[str, int]:
    """Return the number of GPUs of a job that divides its batches among several; else an empty dict."""
    return {} if job.processes == 1 else {"gpus": job.processes}


def forms_used(conditions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the forms that have computed the relations of a training, in order, each once; old states name none."""
    return list(dict.fromkeys(each[RELATIONS] for each in conditions if RELATIONS in each))


def begin_training(job: RunningJob, checkpoint: Checkpoint, loss: WeightedSum, device: torch.device) -> None:
    """Choose and log the form of the relations in a loss, and record in the checkpoint how the next steps are taken.

    All processes of a training take the same form.

    Args:
        job: the running job.
        checkpoint: the checkpoint of the training; its last form is chosen again if it works on this device.
        loss: the loss of the steps.
        device: the device of the steps.
    """
    before = next(reversed(forms_used(checkpoint.conditions)), "")
    form = choose_ahead(device, before) if loss.holds_relations else ""
    if form:
        form = agree_on_form(device, form, gather_values(form))
        other = f"; before, by {before}" if before not in ("", form) else ""
        job.log.write(f"relations computed by {form}{other}\n")
        job.log.flush()
    relations = {RELATIONS: form} if form else {}
    checkpoint.note_conditions({"device": device_name(job.device), **parts_of(job), **relations})

"""Fine-tuning on labels as a training run."""

from __future__ import annotations

from typing import Any

from torch import nn

from retort.data.collate import batches
from retort.data.encoded import Encoded
from retort.models import build
from retort.models.recorder import Recorder
from retort.objectives.compose import Sum, compose
from retort.tasks import task_type_of
from retort.training.loop import TrainingRun
from retort.training.setup import LOGITS, stepped


def supervised(
    model: nn.Module, encoded: Encoded, schedule: dict[str, Any], task: dict[str, Any], seed: int
) -> TrainingRun:
    """Return a training run that fine-tunes a model on a task, with the loss of the labels only."""
    task_type, encoded = task_type_of(task), encoded.cut(schedule.get("max_length"))
    shape = build.shape_of(model, task_type.outputs(task))
    loss: Sum = compose([{"objective": task_type.loss}], shape, shape, 1, 1)
    recorder = Recorder(model, {LOGITS})
    return TrainingRun(
        modules=[model],
        schedule=stepped(schedule, len(encoded)),
        batches=lambda start: batches(encoded, schedule["batch_size"], seed, start),
        loss=lambda batch: loss(recorder(batch), {}, batch),
        close=recorder.close,
    )

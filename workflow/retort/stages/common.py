"""What several stages share: a job set up for torch, supervised parts, scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from retort.data.collate import batches, in_order
from retort.data.tasks import Encoded
from retort.errors import Diverged
from retort.jobs import Job, write_json
from retort.kinds import kind_of
from retort.models import build
from retort.models.taps import Reader
from retort.objectives.compose import Sum, compose
from retort.provenance import stamp
from retort.training.checkpoint import Checkpoint
from retort.training.loop import Part
from retort.training.progress import Progress

LOGITS = ("logits", None)


def prepare(job: Job, seed: int) -> None:
    """Nothing; torch has the job's threads and the seed that first weights are drawn from."""
    torch.set_num_threads(job.threads)
    torch.manual_seed(seed)


def checkpoint_of(job: Job, settings: Any, seed: int) -> Checkpoint:
    """Where the job keeps its state for resuming."""
    return Checkpoint(job.checkpoints, [settings, seed], job.checkpoint_seconds)


def head_of(task: dict[str, Any]) -> tuple[str, int]:
    """A task's head: its name in models/build.py, and its outputs."""
    kind = kind_of(task)
    return kind.head, kind.outputs(task)


def supervised(model: nn.Module, encoded: Encoded, schedule: dict[str, Any], task: dict[str, Any], seed: int) -> Part:
    """Fine-tuning as a part: the labels' loss alone."""
    kind = kind_of(task)
    shape = build.shape_of(model, kind.outputs(task))
    loss: Sum = compose([{"objective": kind.loss}], shape, shape, 1, 1)
    reader = Reader(model, {LOGITS})
    return Part(
        modules=[model],
        schedule=schedule,
        batches=lambda start: batches(encoded, schedule["batch_size"], seed, start),
        loss=lambda batch: loss(reader(batch), {}, batch),
        close=reader.close,
    )


@torch.no_grad()
def predict(model: nn.Module, encoded: Encoded, width: tuple[int, ...], precision: str, device: str) -> np.ndarray:
    """(rows, *width) logits of every row, in the order of the split; dropout is off."""
    model.eval().to(device)
    reader = Reader(model, {LOGITS})
    found = torch.zeros(len(encoded), *width)
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
        for rows, batch in in_order(encoded, 64):
            given = reader(batch.to(device))[LOGITS].float().cpu()
            found[(rows, *(slice(size) for size in given.shape[1:]))] = given
    reader.close()
    logits: np.ndarray = found.numpy()
    return logits


def measure(
    model: nn.Module, folder: Path | str, split: str, task: dict[str, Any], precision: str, device: str
) -> dict[str, float]:
    """Every metric that the task's kind has, on one split."""
    kind, encoded = kind_of(task), Encoded.load(folder, split)
    logits = predict(model, encoded, kind.width(task, encoded), precision, device)
    return kind.scores(kind.answers(logits, encoded), kind.truth(encoded))


def write_score(
    job: Job,
    path: str,
    student: str,
    task: str,
    seed: int,
    settings: Any,
    metrics: dict[str, float] | Diverged,
    **more: Any,
) -> None:
    """Nothing; the score stands at its address, with all that a reader needs to trust it."""
    diverged = metrics if isinstance(metrics, Diverged) else None
    write_json(
        path,
        {
            "student": student,
            "task": task,
            "seed": seed,
            "split": "test",
            "status": "diverged" if diverged else "ok",
            "step": diverged.step if diverged else None,
            "metrics": {} if isinstance(metrics, Diverged) else metrics,
            **more,
            "settings": settings,
            "seconds": job.seconds(),
            **stamp(job.device, job.threads),
        },
    )
    shown = f"diverged at step {diverged.step}" if diverged else _line(metrics)
    job.say(f"{shown}  ({job.seconds():.0f} s)")


def _line(metrics: Any) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def progress_of(job: Job, parts: int = 1) -> Progress:
    """The job's progress lines."""
    return Progress(job.name, job.log, parts)

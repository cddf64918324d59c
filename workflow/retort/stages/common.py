"""Functions that several stages share: torch set-up, supervised training runs, predictions and score files."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
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
from retort.specs.expand import answers_address
from retort.specs.reading import pieces_of
from retort.specs.task import ALL
from retort.training.checkpoint import Checkpoint
from retort.training.loop import Part
from retort.training.progress import Progress

LOGITS = ("logits", None)


def prepare(job: Job, seed: int) -> None:
    """Set torch's threads to those of the job, and the seed from which initial weights are drawn."""
    torch.set_num_threads(job.threads)
    torch.manual_seed(seed)


def checkpoint_of(job: Job, settings: Any, seed: int) -> Checkpoint:
    """Return the job's checkpoint, from which it resumes after a kill; other settings or another seed start anew."""
    return Checkpoint(job.checkpoints, [settings, seed], job.checkpoint_seconds)


def head_of(task: dict[str, Any]) -> tuple[str, int]:
    """Return the head that a task needs: its name in models/build.py, and its number of outputs."""
    kind = kind_of(task)
    return kind.head, kind.outputs(task)


def stepped(schedule: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return the schedule with `steps` computed from its epochs: an epoch is the whole batches that the rows fill."""
    if "epochs" not in schedule:
        return schedule
    return {**schedule, "steps": max(1, round(schedule["epochs"] * (rows // min(schedule["batch_size"], rows))))}


def supervised(model: nn.Module, encoded: Encoded, schedule: dict[str, Any], task: dict[str, Any], seed: int) -> Part:
    """Return a training run that fine-tunes a model on a task, with the loss of the labels only."""
    kind, encoded = kind_of(task), encoded.cut(schedule.get("max_length"))
    shape = build.shape_of(model, kind.outputs(task))
    loss: Sum = compose([{"objective": kind.loss}], shape, shape, 1, 1)
    reader = Reader(model, {LOGITS})
    return Part(
        modules=[model],
        schedule=stepped(schedule, len(encoded)),
        batches=lambda start: batches(encoded, schedule["batch_size"], seed, start),
        loss=lambda batch: loss(reader(batch), {}, batch),
        close=reader.close,
    )


@torch.no_grad()
def predict(model: nn.Module, encoded: Encoded, width: tuple[int, ...], precision: str, device: str) -> np.ndarray:
    """Return the (rows, *width) logits of every row of a split, in the order of the split, without dropout."""
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


@dataclass
class Measured:
    """The metrics and answers of a model on one split.

    A piece is a split, or one subset of a split that has subsets (such as languages).

    Args:
        split: the name of the split.
        metrics: metric by name; with subsets also by subset, as 'accuracy/de', and 'accuracy/all' over the rows of all.
        answers: for each piece, the model's answers and the true ones; every metric can be computed again from them.
        about: `sample`, the (rows, rows of the whole set) of each sampled piece; `unlabelled`, the pieces without
            labels; each only where there are any.
    """

    split: str
    metrics: dict[str, float]
    answers: dict[str, dict[str, Any]]
    about: dict[str, Any]


def training_rows(encoded: Path | str, task: dict[str, Any]) -> Encoded:
    """Load the rows of the split that a task is trained on."""
    return Encoded.load(encoded, task["train_on"])


def measure(
    model: nn.Module, folder: Path | str, split: str, task: dict[str, Any], precision: str, device: str
) -> Measured:
    """Measure every metric of the task type on one split; with subsets, for each subset and for all rows together."""
    kind, about = kind_of(task), json.loads((Path(folder) / "rows.json").read_text())
    answers: dict[str, dict[str, Any]] = {}
    for name in pieces_of(task, split):
        encoded = Encoded.load(folder, name)
        logits = predict(model, encoded, kind.width(task, encoded), precision, device)
        truth = None if name in about["unlabelled"] else kind.truth(encoded)
        answers[name] = {"answers": kind.answers(logits, encoded), "truth": truth}
    used = {*answers, task["train_on"], *pieces_of(task, task["choose_on"])}
    told = {
        "sample": {name: rows for name, rows in about["sample"].items() if name in used},
        "unlabelled": [name for name in answers if name in about["unlabelled"]],
    }
    return Measured(split, metrics_of(task, split, answers), answers, {key: told[key] for key in told if told[key]})


def metrics_of(task: dict[str, Any], split: str, answers: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Compute the metrics of stored answers, as `measure` returns them; there are none where the labels are unknown."""
    kind = kind_of(task)
    parts = {name.removeprefix(split).removeprefix("-"): given for name, given in answers.items()}
    if list(parts) != [""]:
        whole = [given["truth"] for given in answers.values()]
        joint = None if None in whole else list(itertools.chain(*whole))
        parts[ALL] = {"answers": list(itertools.chain(*(g["answers"] for g in answers.values()))), "truth": joint}
    return {
        f"{name}/{part}" if part else name: value
        for part, given in parts.items()
        if given["truth"] is not None
        for name, value in kind.scores(given["answers"], given["truth"]).items()
    }


def write_score(
    job: Job, path: str, student: str, task: str, seed: int, settings: Any, result: Measured | Diverged, **more: Any
) -> None:
    """Write a score file, and the answers that it was computed from to a file beside it.

    The score file also holds the settings, the seed, the time, the device and the versions, so that it can be checked.
    A training run that diverged is recorded with the status 'diverged' and its step, without metrics.
    """
    diverged = result if isinstance(result, Diverged) else None
    measured = result if isinstance(result, Measured) else Measured("", {}, {}, {})
    write_json(answers_address(path), measured.answers, indent=None)
    write_json(
        path,
        {
            "student": student,
            "task": task,
            "seed": seed,
            "split": measured.split or None,
            "status": "diverged" if diverged else "ok",
            "step": diverged.step if diverged else None,
            "metrics": measured.metrics,
            **measured.about,
            **more,
            "settings": settings,
            "seconds": job.seconds(),
            **stamp(job.device, job.threads),
        },
    )
    shown = f"diverged at step {diverged.step}" if diverged else _line(measured.metrics)
    job.say(f"{shown}  ({job.seconds():.0f} s)")


def _line(metrics: dict[str, float]) -> str:
    whole = {name: value for name, value in metrics.items() if name.endswith(f"/{ALL}")} or metrics
    return "  ".join(f"{name} {value:.4f}" for name, value in whole.items())


def progress_of(job: Job, parts: int = 1) -> Progress:
    """Return what prints the progress of a job that has `parts` training runs."""
    return Progress(job.name, job.log, parts)

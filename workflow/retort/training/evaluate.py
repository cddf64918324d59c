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

from retort.data.collate import in_order
from retort.data.encoded import Encoded
from retort.errors import Diverged
from retort.jobs import Job, write_json
from retort.models.recorder import Recorder
from retort.provenance import stamp
from retort.specs.task import ALL
from retort.study.cells import answers_address
from retort.study.reading import pieces_of
from retort.tasks import task_type_of
from retort.training.setup import LOGITS


@torch.no_grad()
def predict(model: nn.Module, encoded: Encoded, width: tuple[int, ...], precision: str, device: str) -> np.ndarray:
    """Return the (rows, *width) logits of every row of a split, in the order of the split, without dropout."""
    model.eval().to(device)
    recorder = Recorder(model, {LOGITS})
    found = torch.zeros(len(encoded), *width)
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
        for rows, batch in in_order(encoded, 64):
            given = recorder(batch.to(device))[LOGITS].float().cpu()
            found[(rows, *(slice(size) for size in given.shape[1:]))] = given
    recorder.close()
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


def measure(
    model: nn.Module, folder: Path | str, split: str, task: dict[str, Any], precision: str, device: str
) -> Measured:
    """Measure every metric of the task type on one split; with subsets, for each subset and for all rows together."""
    task_type, about = task_type_of(task), json.loads((Path(folder) / "rows.json").read_text())
    answers: dict[str, dict[str, Any]] = {}
    for name in pieces_of(task, split):
        encoded = Encoded.load(folder, name)
        logits = predict(model, encoded, task_type.width(task, encoded), precision, device)
        truth = None if name in about["unlabelled"] else task_type.truth(encoded)
        answers[name] = {"answers": task_type.answers(logits, encoded), "truth": truth}
    used = {*answers, task["train_split"], *pieces_of(task, task["validation_split"])}
    told = {
        "sample": {name: rows for name, rows in about["sample"].items() if name in used},
        "unlabelled": [name for name in answers if name in about["unlabelled"]],
    }
    return Measured(split, metrics_of(task, split, answers), answers, {key: told[key] for key in told if told[key]})


def metrics_of(task: dict[str, Any], split: str, answers: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Compute the metrics of stored answers, as `measure` returns them; there are none where the labels are unknown."""
    task_type = task_type_of(task)
    parts = {name.removeprefix(split).removeprefix("-"): given for name, given in answers.items()}
    if list(parts) != [""]:
        whole = [given["truth"] for given in answers.values()]
        joint = None if None in whole else list(itertools.chain(*whole))
        parts[ALL] = {"answers": list(itertools.chain(*(g["answers"] for g in answers.values()))), "truth": joint}
    return {
        f"{name}/{part}" if part else name: value
        for part, given in parts.items()
        if given["truth"] is not None
        for name, value in task_type.scores(given["answers"], given["truth"]).items()
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

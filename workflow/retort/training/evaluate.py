"""Evaluation: predictions of a model on a split, their metrics, and score files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from retort.atomic import write_json
from retort.checksums import sha256, with_digest
from retort.data.batches import in_order
from retort.data.encoded import Encoded, RowCounts
from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.machine import float32_products
from retort.models.card import About
from retort.models.recorder import Recorder
from retort.provenance import peak_memory, run_environment
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import PointSettings, ScoreSettings
from retort.specs.task import ALL
from retort.tasks import task_type_of
from retort.tasks.answers import ModelAnswers, metrics_of
from retort.training.setup import LOGITS, RELATIONS, forms_used, parts_of


@torch.no_grad()
def predict_logits(
    model: nn.Module, encoded: Encoded, width: tuple[int, ...], precision: str, device: str
) -> np.ndarray:
    """Return the logits (rows, *width) of all rows of a split, in the order of the split, without dropout."""
    model.eval().to(device)
    recorder = Recorder(model, {LOGITS})
    all_logits = torch.zeros(len(encoded), *width)  # (rows, *width)
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"), float32_products(precision):
        for rows, batch in in_order(encoded, 64):
            batch_logits = recorder(batch.to(device))[LOGITS].float().cpu()
            # logits of a batch of shorter rows may have fewer columns; the others stay 0
            where = (rows, *(slice(size) for size in batch_logits.shape[1:]))
            all_logits[where] = batch_logits  # type: ignore[index]
    recorder.close()
    logits: np.ndarray = all_logits.numpy()
    return logits


@dataclass(frozen=True)
class Measured:
    """The metrics and answers of a model on one split.

    Args:
        split: the name of the split.
        metrics: metric by name; with subsets, one for each ('accuracy/de') and one over all rows ('accuracy/all').
        answers: answers by encoded split (a split, or one subset of it), from which all metrics can be computed again.
        sample: encoded split -> (rows, rows of the whole set), for splits of which only a sample was read.
        unlabelled: the encoded splits without labels.
    """

    split: str
    metrics: dict[str, float]
    answers: dict[str, ModelAnswers]
    sample: dict[str, tuple[int, int]]
    unlabelled: list[str]


def measure(
    model: nn.Module, encoded_folder: Path | str, split: str, task: TaskSettings, precision: str, device: str
) -> Measured:
    """Measure every metric of the task type on one split; with subsets, for each subset and for all rows together."""
    task_type, counts = task_type_of(task), RowCounts.read(encoded_folder)
    answers: dict[str, ModelAnswers] = {}
    for name in task.encoded_splits(split):
        encoded = Encoded.load(encoded_folder, name)
        logits = predict_logits(model, encoded, task_type.width(task, encoded), precision, device)
        truth = task_type.truth(encoded) if encoded.labelled else None
        answers[name] = ModelAnswers(task_type.answers(logits, encoded), truth)
    used = {*answers, task.train_split, *task.encoded_splits(task.validation_split)}
    return Measured(
        split=split,
        metrics=metrics_of(task, split, answers),
        answers=answers,
        sample={name: rows for name, rows in counts.sample.items() if name in used},
        unlabelled=[name for name, stored in answers.items() if stored.truth is None],
    )


def dev_score(
    model: nn.Module, encoded_folder: Path | str, metric: str, task: TaskSettings, precision: str, device: str
) -> float:
    """Return a metric of a model on the validation split, which decides between epochs and grid points."""
    return measure(model, encoded_folder, task.validation_split, task, precision, device).metrics[metric]


def evaluate_model(job: RunningJob, model: nn.Module, encoded_folder: Path | str, settings: ScoreSettings) -> Measured:
    """Measure every metric on the task's evaluation split, for the reported score."""
    task = settings.task
    return measure(model, encoded_folder, task.evaluation_split, task, settings.precision, job.device)


@dataclass(frozen=True)
class ScoreToWrite:
    """The model of a score, and the files to which the score is written.

    Args:
        student: the name of the student or teacher.
        task: the name of the task.
        seed: the seed of the training.
        file: the file of the score, until it is gathered with those of the other seeds of its job.
        answers: the file of the answers that the score is computed from.
    """

    student: str
    task: str
    seed: int
    file: str
    answers: str

    @property
    def title(self) -> str:
        """The model in words, such as 'kd on movies, seed 1'."""
        return f"{self.student} on {self.task}, seed {self.seed}"

    def about(
        self,
        result: Measured | Diverged,
        licences: Mapping[str, str],
        conditions: Sequence[Mapping[str, Any]] = (),
    ) -> About:
        """Return what the model's card says; see `About`."""
        if isinstance(result, Diverged):
            return About(self.title, licences, conditions)
        return About(self.title, licences, conditions, self.task, self.seed, result.split, result.metrics)


def write_score(
    job: RunningJob,
    to_write: ScoreToWrite,
    settings: ScoreSettings,
    result: Measured | Diverged,
    chosen: PointSettings | None = None,
    conditions: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write a score file, and next to it a file with the answers that the score was computed from.

    The score file also holds its settings and its origin, and the checksums of itself and of the answers. After a
    divergence it has the status 'diverged' and the step, and no metrics.

    Args:
        job: the running job.
        to_write: the model, and the files to write.
        settings: the settings of the job.
        result: the measurement, or the divergence.
        chosen: the point of the grid that was trained; None for a training without a grid.
        conditions: how the steps of the training were taken, see `Checkpoint.conditions`.
    """
    if not job.writes:
        return
    fields: dict[str, object]
    if isinstance(result, Diverged):
        fields = {"split": None, "status": "diverged", "step": result.step, "metrics": {}}
        answers, line = dict[str, object](), f"diverged at step {result.step}"
    else:
        fields = {"split": result.split, "status": "ok", "step": None, "metrics": result.metrics}
        fields |= {key: value for key in ("sample", "unlabelled") if (value := getattr(result, key))}
        answers = {name: asdict(stored) for name, stored in result.answers.items()}
        line = _format_metrics(result.metrics)
    relations = forms_used(conditions)
    score = {
        "student": to_write.student,
        "task": to_write.task,
        "seed": to_write.seed,
        **fields,
        **({} if chosen is None else {"chosen": chosen.as_json()}),
        "settings": settings.as_json(),
        "seconds": job.seconds(),
        **peak_memory(job.device),
        **run_environment(job.device, job.threads, job.objectives),
        **parts_of(job),
        **({RELATIONS: "; then ".join(relations)} if relations else {}),
        **job.lineage(),
    }
    write_json(to_write.answers, answers, indent=None)
    write_json(to_write.file, with_digest({**score, "answers_sha256": sha256(Path(to_write.answers))}))
    job.say(f"{line}  ({job.seconds():.0f} s)")


def _format_metrics(metrics: dict[str, float]) -> str:
    """Return the metrics in a line; with subsets only those over all rows."""
    whole = {name: value for name, value in metrics.items() if name.endswith(f"/{ALL}")} or metrics
    return "  ".join(f"{name} {value:.4f}" for name, value in whole.items())

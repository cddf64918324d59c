"""Training runs without a teacher: fine-tuning on labels, the points of a grid, and fitting of a masked-LM head.

A grid of hyper-parameters is tried in parts. The best point is chosen on the validation split.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.checksums import remedy
from retort.data.batches import MaskedBatches, TaskBatches
from retort.data.encoded import Encoded
from retort.engine.job import Job
from retort.errors import Diverged, RetortError
from retort.models import build, weights
from retort.models.recorder import Recorder
from retort.objectives import single_loss
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import (
    GridSettings,
    PointSettings,
    SearchSettings,
    TeacherHeadSettings,
    TeacherSettings,
)
from retort.specs.protocol import Schedule, steps_per_epoch
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import dev_score
from retort.training.how.micro_batches import Comparison
from retort.training.setup import LOGITS, head_of, set_seed, train_in
from retort.training.training_run import Progress, TrainingRun


@dataclass(frozen=True)
class Trial:
    """A point of a grid that was tried.

    Args:
        number: the number of the point in the whole grid, from 1.
        point: the point.
        dev: the metric on the validation split; None if the training diverged.
        step: the step at which the training diverged; None if it did not.
    """

    number: int
    point: PointSettings
    dev: float | None = None
    step: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the trial as a line of a trials file: number, point, status, and the metric or the step."""
        outcome = {"status": "ok", "dev": self.dev} if self.step is None else {"status": "diverged", "step": self.step}
        return {"number": self.number, **self.point.as_json(), **outcome}

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> Trial:
        """Return the trial of a line of a trials file.

        Raises:
            ValueError: a key is missing or unknown, or the metric is no number.
        """
        point = {key: value for key, value in line.items() if key not in {"number", "status", "dev", "step"}}
        outcome = {key: value for key, value in line.items() if key in {"dev", "step"}}
        needed = {"ok": "dev", "diverged": "step"}[line["status"]]
        if list(outcome) != [needed] or not isinstance(outcome[needed], (int, float)):
            raise ValueError(f"status {line['status']} with {outcome}")
        return cls(int(line["number"]), PointSettings(**point), **outcome)


def part_of(points: list[PointSettings], part: int, parts: int) -> list[tuple[int, PointSettings]]:
    """Return (number, point) for the points of one of the `parts` parts of a grid.

    Parts and points are counted from 1. A part holds every `parts`-th point, so that all parts cost about the same. The
    number of a point in the whole grid seeds its training, so results do not depend on the number of parts.
    """
    return list(enumerate(points, start=1))[part - 1 :: parts]


def choose(trials_files: list[str], points: list[PointSettings]) -> PointSettings:
    """Return the grid point with the best dev metric; on a tie, the first in the grid's order.

    Without a grid, return a point that changes nothing.

    Args:
        trials_files: the trials of all parts of the grid; empty without a grid.
        points: the points of the whole grid.

    Raises:
        Diverged: every point diverged; the error has the step of the first point.
        RetortError: the files do not hold exactly one trial of each point.
    """
    if not trials_files:
        return PointSettings()
    trials = read_trials(trials_files, points)
    scored = [(trial.dev, trial.point) for trial in trials if trial.dev is not None and math.isfinite(trial.dev)]
    if not scored:
        raise Diverged(trials[0].step or 0)
    return max(scored, key=lambda pair: pair[0])[1]


def best_of(trials_files: list[str], grid: SearchSettings | None) -> tuple[PointSettings, Diverged | None]:
    """Return the best point of a grid; or the first one, with its divergence, if every point diverged.

    Raises:
        RetortError: the files do not hold exactly one trial of each point.
    """
    points = grid.points if grid else [PointSettings()]
    try:
        return choose(trials_files, points), None
    except Diverged as error:
        return points[0], error


def read_trials(trials_files: list[str], points: list[PointSettings]) -> list[Trial]:
    """Return the trials of all parts of a grid, in the order of its points.

    Raises:
        RetortError: a line is no trial, or the files do not hold exactly one trial of each point of the grid.
    """
    unsorted = (trial for path in trials_files for trial in _read_file(Path(path)))
    trials = sorted(unsorted, key=lambda trial: trial.number)
    folder = Path(trials_files[0]).parent
    numbers = [trial.number for trial in trials]
    if numbers != list(range(1, len(points) + 1)):
        listed = ", ".join(map(str, numbers)) or "none"
        raise RetortError(f"{folder} holds trials of points {listed}, not of each of {len(points)}", remedy(folder))
    for trial, point in zip(trials, points, strict=True):
        if trial.point != point:
            raise RetortError(f"{folder}: trial {trial.number} is of another point than the study's", remedy(folder))
    return trials


def _read_file(path: Path) -> list[Trial]:
    """Return the trials of one file."""
    trials = []
    for number, line in enumerate(_read_lines(path), start=1):
        try:
            trials.append(Trial.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RetortError(f"{path}:{number} is no trial of a grid", remedy(path)) from None
    return trials


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RetortError(f"{path} cannot be read ({error})", remedy(path)) from None


def read_lines(trials_files: list[str]) -> list[str]:
    """Return the lines in the trials files of all parts of a grid."""
    return [line for path in trials_files for line in _read_lines(Path(path))]


class BestWeights(nn.Module):
    """Keep the weights with which a model scored best, as buffers, so that checkpoints hold them.

    Args:
        model: the model that is trained.
        score: scores the model on the validation split; a higher score is better.
        every: the number of steps of an epoch.
        steps: the number of steps of the run; the model is scored after the last one, too.
    """

    best: Tensor

    def __init__(self, model: nn.Module, score: Callable[[], float], every: int, steps: int) -> None:
        super().__init__()
        self.score, self.every, self.steps = score, every, steps
        self.train_model = model.train  # the model itself, as an attribute, would become a submodule
        self.weights = list(model.parameters())
        self.register_buffer("best", torch.tensor(-math.inf, dtype=torch.float64))
        for number, weight in enumerate(self.weights):
            self.register_buffer(f"weight_{number}", torch.empty_like(weight, requires_grad=False))

    @torch.no_grad()
    def after_step(self, step: int) -> None:
        """Score the model if a step, counted from 1, ends an epoch; after the last step, load the best weights."""
        if step % self.every and step < self.steps:
            return
        score = self.score()
        self.train_model()
        if score > self.best.item():  # False for NaN: an undefined score is never the best
            self.best.fill_(score)
            for number, weight in enumerate(self.weights):
                self.get_buffer(f"weight_{number}").copy_(weight)
        if step == self.steps and self.best.isfinite():
            for number, weight in enumerate(self.weights):
                weight.copy_(self.get_buffer(f"weight_{number}"))


def keep_best(run: TrainingRun, model: nn.Module, score: Callable[[], float], rows: int) -> None:
    """Make a training run end with the weights of its best epoch.

    Args:
        run: the training run.
        model: the model that it trains.
        score: scores the model on the validation split.
        rows: the number of training rows, from which the steps of an epoch follow.
    """
    best = BestWeights(model, score, steps_per_epoch(rows, run.schedule.batch_size), run.steps)
    run.modules.append(best)  # so that checkpoints hold its buffers
    run.after_step = best.after_step


def supervised(model: nn.Module, encoded: Encoded, schedule: Schedule, task: TaskSettings, seed: int) -> TrainingRun:
    """Return a training run that fine-tunes a model on the labels of a task."""
    task_type, rows = task_type_of(task), encoded.cut(schedule.max_length)
    length = schedule.padded_to(task.max_length)
    batches = TaskBatches(rows, schedule.batch_size, seed, schedule.group_by_length, length)
    return _on_logits(model, task_type.loss, task_type.outputs(task), schedule, batches, len(rows))


def masked_lm_head(model: nn.Module, blocks_folder: Path | str, settings: TeacherHeadSettings) -> TrainingRun:
    """Return a training run that fits the masked-LM head of a model on a corpus; freeze the encoder."""
    build.prepare(model, ["encoder"], 0.0)
    schedule, probability = settings.schedule, settings.corpus.masking.probability
    batches = MaskedBatches(blocks_folder, probability, schedule.batch_size, settings.seed)
    return _on_logits(model, "masked-lm", settings.model.vocabulary, schedule, batches, len(batches.blocks))


def _on_logits(
    model: nn.Module, objective: str, outputs: int, schedule: Schedule, batches: Dataset[Batch], rows: int
) -> TrainingRun:
    """Return a training run of a model whose loss compares its logits with the labels of a batch."""
    recorder = Recorder(model, {LOGITS})
    loss = Comparison(single_loss(objective, build.shape_of(model, outputs)), recorder)
    steps = schedule.steps_on(rows)
    return TrainingRun([model], schedule, steps, batches, loss, close=recorder.close)


def fine_tuning(
    job: Job,
    model: nn.Module,
    encoded_folder: str,
    settings: TeacherSettings | GridSettings,
    schedule: Schedule,
    seed: int,
    best: str | None,
) -> TrainingRun:
    """Prepare a model for a schedule, and return a training run that fine-tunes it on an encoded task.

    Args:
        job: the running job.
        model: the model with its head, on the device of the job.
        encoded_folder: the folder of the encoded task.
        settings: the settings that hold the task and the precision.
        schedule: the schedule.
        seed: seed of the order of the batches and of dropout.
        best: the metric on dev that decides which epoch's weights are kept; None to keep the last weights.
    """
    build.prepare(model, schedule.freeze, schedule.dropout)
    rows = Encoded.load(encoded_folder, settings.task.train_split)
    run = supervised(model, rows, schedule, settings.task, seed)
    if best:
        score = partial(dev_score, model, encoded_folder, best, settings.task, settings.precision, job.device)
        keep_best(run, model, score, len(rows))
    return run


def finetune_at(
    job: Job,
    settings: GridSettings,
    point: PointSettings,
    student_folder: str,
    encoded_folder: str,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress | None = None,
    number: int = 1,
) -> nn.Module:
    """Fine-tune a student with the hyper-parameters of a grid point, and return the model.

    Args:
        job: the running job.
        settings: the settings of the grid.
        point: the point.
        student_folder: the folder of the distilled student.
        encoded_folder: the folder of the encoded task.
        seed: seed of the head's initial weights, the order of the batches and dropout.
        checkpoint: the job's checkpoint.
        progress: the job's progress; None if it has this training run alone.
        number: the position of the training run in its job, from 1.

    Raises:
        Diverged: the fine-tuning diverged, or the distillation of the student had.
    """
    weights.check_not_diverged(student_folder)
    set_seed(job, seed)
    model = build.load(student_folder, *head_of(settings.task)).to(job.device)
    schedule = point.applied_to(settings.schedule)
    best = settings.metric_for_best_model if schedule.load_best_model_at_end else None
    run = fine_tuning(job, model, encoded_folder, settings, schedule, seed, best)
    run.number = number
    train_in(job, run, seed, settings.precision, checkpoint, progress)
    run.close()
    return model

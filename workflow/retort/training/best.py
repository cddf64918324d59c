"""The weights of the best epoch: a training run scores the model after each epoch and ends with the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from retort.specs.protocol import steps_per_epoch
from retort.training.loop import TrainingRun


class BestWeights(nn.Module):
    """Keeps the weights with which a model scored best, as buffers, so that a resumed run goes on with them.

    Args:
        model: the model that is trained.
        score: scores it on the validation split; a higher score is better.
        every: the number of steps of an epoch.
        steps: the number of steps of the run; the model is scored after the last one, too.
    """

    best: Tensor

    def __init__(self, model: nn.Module, score: Callable[[], float], every: int, steps: int) -> None:
        super().__init__()
        self.score, self.every, self.steps = score, every, steps
        self.train_model = model.train  # the model itself, as an attribute, would be a part of this module
        self.weights = list(model.parameters())
        self.register_buffer("best", torch.tensor(-math.inf, dtype=torch.float64))
        for number, weight in enumerate(self.weights):
            self.register_buffer(f"weight_{number}", torch.empty_like(weight, requires_grad=False))

    @torch.no_grad()
    def after_step(self, step: int) -> None:
        """Score the model if an epoch has ended after this step, counted from 1; after the last one take the best."""
        if step % self.every and step < self.steps:
            return
        score = self.score()
        self.train_model()
        if score > self.best.item():  # never for NaN: a score that is not defined is not the best
            self.best.fill_(score)
            for number, weight in enumerate(self.weights):
                self.get_buffer(f"weight_{number}").copy_(weight)
        if step == self.steps and self.best.isfinite():
            for number, weight in enumerate(self.weights):
                weight.copy_(self.get_buffer(f"weight_{number}"))


def keep_best(run: TrainingRun, model: nn.Module, score: Callable[[], float], rows: int) -> None:
    """Let a training run of a model on this number of rows end with the weights of its best epoch."""
    best = BestWeights(model, score, steps_per_epoch(rows, run.schedule.batch_size), run.steps)
    run.modules.append(best)  # so that checkpoints hold what it keeps
    run.after_step = best.after_step

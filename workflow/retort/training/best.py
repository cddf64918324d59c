"""The weights of the best epoch: a training run scores the model after each epoch and ends with the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from retort.specs.protocol import steps_per_epoch
from retort.training.loop import TrainingRun


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

"""AdamW with linear warm-up and decay."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from retort.errors import RetortError
from retort.specs.protocol import Schedule


def adamw(weights: Iterable[nn.Parameter], schedule: Schedule) -> torch.optim.AdamW:
    """Return AdamW for the weights that are not frozen; biases and layer norms have no weight decay, as in BERT."""
    trained = [p for p in weights if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": schedule.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},  # vectors: biases and layer norms
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=schedule.learning_rate,
        betas=schedule.betas,
        eps=schedule.epsilon,
        fused=True,
    )


def rate(step: int, steps: int, schedule: Schedule) -> float:
    """Return the learning rate of a step, counted from 1.

    With n steps, w of them warm-up, and peak rate r: r * step / w up to step w, then r * (n - step + 1) / (n - w + 1),
    which would reach zero at step n + 1. `decay_steps` replaces n after the warm-up. The type
    'constant_with_warmup' keeps r after the warm-up.
    """
    warm = max(1, round(schedule.warmup_ratio * steps))  # w >= 1
    if step <= warm:
        return schedule.learning_rate * (step / warm)
    if schedule.lr_scheduler_type == "constant_with_warmup":
        return schedule.learning_rate
    last = schedule.decay_steps or steps
    return schedule.learning_rate * (max(0, last - step + 1) / (last - warm + 1))


def check_decay(schedule: Schedule, steps: int, where: str = "") -> None:
    """Check that the learning rate is above zero up to the last step.

    Args:
        schedule: the schedule of a training.
        steps: the number of its steps, which for epochs follows from the rows.
        where: the beginning of the error, such as 'stage 2: '.

    Raises:
        RetortError: the rate would be zero earlier.
    """
    if schedule.decay_steps is not None and schedule.decay_steps < steps:
        what = f"{where}decay_steps: {schedule.decay_steps} is below the {steps} steps of the training"
        raise RetortError(what, f"give at least {steps}, or leave it out")


def set_rate(optimiser: torch.optim.Optimizer, value: float) -> None:
    """Set the learning rate of every parameter group."""
    for group in optimiser.param_groups:
        group["lr"] = value


def clip_grad_norm(weights: Iterable[nn.Parameter], largest: float) -> Tensor:
    """Scale the gradients to a joint norm of at most `largest` (0: no limit); return the norm before as a scalar."""
    return torch.nn.utils.clip_grad_norm_(list(weights), largest or math.inf)


def update(optimiser: torch.optim.Optimizer, found_inf: Tensor) -> None:
    """Update the weights and drop the gradients; if `found_inf` is 1, only drop the gradients."""
    optimiser.found_inf = found_inf  # type: ignore[attr-defined] # what GradScaler gives to a fused optimiser
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)

"""AdamW with linear warm-up and decay; weights that take no gradient never reach the optimiser."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn


def parameters(*modules: nn.Module) -> dict[str, nn.Parameter]:
    """Every parameter, frozen ones too, by a name that is unique over the modules."""
    return {
        f"{index}.{name}": parameter
        for index, module in enumerate(modules)
        for name, parameter in module.named_parameters()
    }


def buffers(*modules: nn.Module) -> dict[str, torch.Tensor]:
    """The buffers, such as memory banks, by a name that is unique over the modules."""
    return {
        f"{index}.{name}": buffer for index, module in enumerate(modules) for name, buffer in module.named_buffers()
    }


def adamw(weights: Iterable[nn.Parameter], schedule: dict[str, Any]) -> torch.optim.AdamW:
    """The optimiser of the weights that take a gradient; biases and layer norms have no weight decay, as in BERT."""
    trained = [p for p in weights if p.requires_grad]
    plain = [p for p in trained if p.ndim < 2]
    decayed = [p for p in trained if p.ndim >= 2]
    groups = [
        {"params": decayed, "weight_decay": schedule["weight_decay"]},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=schedule["learning_rate"],
        betas=tuple(schedule["betas"]),
        eps=schedule["epsilon"],
        fused=True,
    )


def rate(step: int, schedule: dict[str, Any]) -> float:
    """The learning rate of a step (from 1): linear up over the warm-up, then linear down to zero."""
    steps, warm = schedule["steps"], max(1, round(schedule["warmup"] * schedule["steps"]))
    if step <= warm:
        share = step / warm
    else:
        share = max(0, steps - step + 1) / (steps - warm + 1)
    return float(schedule["learning_rate"]) * share


def set_rate(optimiser: torch.optim.Optimizer, value: float) -> None:
    """Nothing; every group has the rate."""
    for group in optimiser.param_groups:
        group["lr"] = value


def clip(weights: Iterable[nn.Parameter], largest: float) -> float:
    """The gradient's norm before it was cut to at most `largest`, where that is not 0."""
    return float(torch.nn.utils.clip_grad_norm_(list(weights), largest or math.inf))

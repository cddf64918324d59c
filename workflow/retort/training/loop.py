"""The training loop: the only one, whatever is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from retort.errors import Diverged
from retort.objectives.base import Batch
from retort.training import optim
from retort.training.checkpoint import Checkpoint, pack, unpack
from retort.training.progress import Progress

Loss = Callable[[Batch], tuple[Tensor, dict[str, Tensor]]]


@dataclass
class Part:
    """One training of a job; a job of two stages has two.

    Args:
        modules: what is trained; parameters that take no gradient stay out.
        schedule: steps, rates and the rest, as in specs/protocol.py.
        batches: given the number of batches to leave out, the batches from there on.
        loss: a batch to (loss, its terms by name); the only thing in which teachers, distillation and
            fine-tuning differ.
        number: the part's place in its job, from 1.
        before: steps of earlier parts, for the step at which a loss diverged.
        close: called when the part is done, to leave the modules without hooks.
    """

    modules: list[nn.Module]
    schedule: dict[str, Any]
    batches: Callable[[int], Iterator[Batch]]
    loss: Loss
    number: int = 1
    before: int = 0
    close: Callable[[], None] = lambda: None


def train(part: Part, seed: int, checkpoint: Checkpoint, progress: Progress, precision: str, device: str) -> None:
    """Nothing; the part's modules are trained, from the checkpoint's step on if it holds this part.

    Raises:
        Diverged: the loss became NaN or infinite, or a gradient did.
    """
    found = checkpoint.found
    parameters, buffers = optim.parameters(*part.modules), optim.buffers(*part.modules)
    optimiser = optim.adamw(parameters.values(), part.schedule)
    torch.manual_seed(seed * 1000 + part.number)  # dropout; a part of its own, so that parts can be resumed
    start = 0
    if found is not None and found["part"] == part.number:
        start = found["step"]
        unpack(found["tensors"], parameters, buffers, optimiser)
    for module in part.modules:
        module.train()
    steps = part.schedule["steps"]
    progress.begin(part.number, start, steps)
    for step, batch in zip(range(start + 1, steps + 1), part.batches(start), strict=False):
        optim.set_rate(optimiser, optim.rate(step, part.schedule))
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            loss, terms = part.loss(batch.to(device))
        loss.backward()  # type: ignore[no-untyped-call]
        value = loss.detach().item()
        norm = optim.clip(parameters.values(), part.schedule["clip"])
        if not (math.isfinite(value) and math.isfinite(norm)):
            raise Diverged(part.before + step)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        progress.step(step, value, terms)
        if checkpoint.due and step < steps:
            checkpoint.write(part.number, step, pack(parameters, buffers, optimiser))
    progress.end(steps)

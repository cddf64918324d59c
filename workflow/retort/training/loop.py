"""The training loop, used for teachers, distillation and fine-tuning alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.errors import Diverged
from retort.specs.protocol import Schedule
from retort.training import optim
from retort.training.checkpoint import Checkpoint, State, pack, unpack
from retort.training.loader import loaded
from retort.training.progress import Progress

Loss = Callable[[Batch], tuple[Tensor, dict[str, Tensor]]]


@dataclass
class TrainingRun:
    """One training run of a job; a job of two stages has two.

    Args:
        modules: the modules to train; parameters that take no gradient are left alone.
        schedule: learning rate and the other settings, as in specs/protocol.py.
        steps: the number of steps.
        batches: the batch of each step by its number, from 0; `data` has those of tasks and of corpora.
        loss: a function from a batch to (loss, its terms by name); the only thing in which teachers, distillation and
            fine-tuning differ.
        number: the position of the training run in its job, from 1.
        steps_before: steps of the job's earlier training runs, added to the step that is reported if the loss diverges.
        close: called when the training run is done, to remove the hooks from the modules.
        after_step: called after each step with its number, from 1.
    """

    modules: list[nn.Module]
    schedule: Schedule
    steps: int
    batches: Dataset[Batch]
    loss: Loss
    number: int = 1
    steps_before: int = 0
    close: Callable[[], None] = lambda: None
    after_step: Callable[[int], None] = lambda step: None


def train(
    run: TrainingRun,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
    precision: str,
    device: str,
    num_workers: int = 0,
) -> None:
    """Train the modules of a training run in place, from the checkpoint's step if it holds a state of this run.

    Args:
        run: what is trained, on which batches and with which loss.
        seed: seed of the dropout.
        checkpoint: where the state is read from and written to.
        progress: where steps and losses are reported.
        precision: 'bfloat16' runs the forward pass under autocast; weights and moments are always in float32.
        device: 'cpu' or 'cuda'.
        num_workers: processes that prepare batches beside the training; no number depends on it.

    Raises:
        Diverged: the loss or a gradient became NaN or infinite.
    """
    parameters, buffers = optim.parameters(*run.modules), optim.buffers(*run.modules)
    optimiser = optim.adamw(parameters.values(), run.schedule)
    torch.manual_seed(seed * 1000 + run.number)  # for dropout; each run has its own, so that a job can resume at any
    start = _resumed(run, checkpoint.state, parameters, buffers, optimiser)
    for module in run.modules:
        module.train()
    progress.begin(run.number, start, run.steps)
    # closed also after an error, so that the processes that prepare batches end with the training
    with closing(loaded(run.batches, start, run.steps, device, num_workers)) as batches:
        for step, batch in enumerate(batches, start + 1):
            value, terms = _step(run, step, batch, parameters, optimiser, precision, device)
            run.after_step(step)
            progress.step(step, value, terms)
            if checkpoint.due and step < run.steps:
                checkpoint.write(run.number, step, pack(parameters, buffers, optimiser))
    progress.end(run.steps)


def _step(
    run: TrainingRun,
    step: int,
    batch: Batch,
    parameters: dict[str, nn.Parameter],
    optimiser: torch.optim.Optimizer,
    precision: str,
    device: str,
) -> tuple[float, dict[str, Tensor]]:
    """Take a step on a batch, and return the loss and its terms by name; raise `Diverged` if it is not finite."""
    optim.set_rate(optimiser, optim.rate(step, run.steps, run.schedule))
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
        loss, terms = run.loss(batch)  # scalar, scalars by name
    loss.backward()  # type: ignore[no-untyped-call]
    value = loss.detach().item()
    # of all gradients together, before clipping
    norm = optim.clip_grad_norm(parameters.values(), run.schedule.max_grad_norm)
    # before the update: a NaN must not reach the weights
    if not (math.isfinite(value) and math.isfinite(norm)):
        raise Diverged(run.steps_before + step)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return value, terms


def _resumed(
    run: TrainingRun,
    state: State | None,
    parameters: dict[str, nn.Parameter],
    buffers: dict[str, Tensor],
    optimiser: torch.optim.Optimizer,
) -> int:
    """Restore a state of this run and return its step; return 0 if there is none, or it is of another run."""
    if state is None or state.run != run.number:
        return 0
    unpack(state.tensors, parameters, buffers, optimiser)
    return state.step

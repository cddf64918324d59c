"""The training loop, used for teachers, distillation and fine-tuning alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.engine.attempts import NEVER, Clock, Interrupted
from retort.errors import Diverged
from retort.machine import float32_products
from retort.specs.protocol import Schedule
from retort.training import optim
from retort.training.checkpoint import Checkpoint, are_due, pack, unpack
from retort.training.how.parts import UNDIVIDED, Division, Loss
from retort.training.how.processes import Agreement
from retort.training.loader import RandomState, load_batches
from retort.training.progress import Progress


@dataclass
class TrainingRun:
    """One training run of a job; a job of two stages has two.

    Args:
        modules: the modules to train; parameters that take no gradient are left alone.
        schedule: learning rate and the other settings, as in specs/protocol.py.
        steps: the number of steps.
        batches: the batch of each step by its number, from 0; package `data` has data sets for tasks and corpora.
        loss: batch -> (loss, its terms by name); only the loss differs between teachers, distillation and fine-tuning.
            To train on parts of batches, it must be a `Comparison`.
        number: the position of the training run in its job, from 1.
        steps_before: steps of the job's earlier training runs, added to the step that a divergence reports.
        close: called when the training run is done, to remove the hooks from the modules.
        after_step: called after each step with its number, from 1.
        on_end: called after the last step with the run and its state.
        on_divergence: called with the error if the loss or a gradient became NaN or infinite.
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
    on_end: OnEnd | None = None
    on_divergence: Callable[[Diverged], None] = lambda error: None


OnEnd = Callable[[TrainingRun, dict[str, Tensor]], None]  # takes a finished run and its state, tensors by name


def train(
    run: TrainingRun,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
    precision: str,
    device: str,
    num_workers: int = 0,
    division: Division = UNDIVIDED,
    clock: Clock = NEVER,
) -> None:
    """Train the modules of a training run in place; resume if the checkpoint holds a state of this run.

    Args:
        run: the training run.
        seed: seed of the dropout.
        checkpoint: where the state is read from and written to.
        progress: where steps and losses are reported.
        precision: 'bfloat16' runs the forward pass under autocast, 'tf32' multiplies matrices on a GPU in TF32, and
            'float32' does neither. Weights and moments are always in float32.
        device: 'cpu' or 'cuda'.
        num_workers: processes that prepare batches; results do not depend on it.
        division: how batches are divided among passes through the device.
        clock: the time that the job has; a training takes one step in any case.

    Raises:
        Diverged: the loss or a gradient became NaN or infinite.
        Interrupted: the time is short; the state is written.
    """
    training = Training(run, seed, checkpoint, progress, precision, device, division)
    train_together([training], device, num_workers, clock)
    if training.diverged:
        raise training.diverged


def train_together(trainings: Sequence[Training], device: str, num_workers: int = 0, clock: Clock = NEVER) -> None:
    """Train companions, training runs on the same batches: on each batch, each takes a step.

    Each ends in the same bytes as if trained alone. They may have different numbers of steps, or resume at different
    steps. A run that diverges takes no further step; the others go on.

    Args:
        trainings: the training runs, with equal batches.
        device: 'cpu' or 'cuda'.
        num_workers: processes that prepare batches; results do not depend on it.
        clock: the time that the job has.

    Raises:
        Interrupted: the time is short; all states are written.
    """
    agreement = Agreement(clock)
    while left := [training.left for training in trainings if training.left]:
        first, stop = min(numbers.start for numbers in left), max(numbers.stop for numbers in left)
        # `closing` ends the processes that prepare batches, also after an error
        with closing(load_batches(trainings[0].batches, first, stop, device, num_workers)) as batches:
            for number, batch in enumerate(batches, first):
                for training in trainings:
                    if number in training.left:
                        training.take(batch)
                ends = agreement.after_step()
                if ends:
                    for training in trainings:
                        training.see_divergence()
                going_on = [training for training in trainings if number + 1 in training.left]
                if not going_on:  # others may go on from a later step
                    break
                if ends or are_due([training.checkpoint for training in going_on]):
                    for training in going_on:
                        training.save()
                if ends:
                    raise Interrupted(number + 1)


class Training:
    """A training run in progress, alone or beside companions.

    A step only queues its work on the device. What reads the loss or a divergence waits for the device.

    Args:
        run: the training run.
        seed: seed of the dropout.
        checkpoint: where its state is read from and written to.
        progress: where its steps and losses are reported.
        precision: 'bfloat16', 'tf32' or 'float32', see `train`.
        device: 'cpu' or 'cuda'.
        division: how batches are divided among passes through the device.

    Attributes:
        step: the number of steps taken.
        diverged: the error with its step, if the loss or a gradient became NaN or infinite; else None.
    """

    def __init__(
        self,
        run: TrainingRun,
        seed: int,
        checkpoint: Checkpoint,
        progress: Progress,
        precision: str,
        device: str,
        division: Division = UNDIVIDED,
    ) -> None:
        self.run, self.checkpoint, self.progress = run, checkpoint, progress
        self.seed, self.precision, self.division = seed * 1000 + run.number, precision, division
        self.parameters, self.buffers = optim.parameters(*run.modules), optim.buffers(*run.modules)
        self.optimiser = optim.adamw(self.parameters.values(), run.schedule)
        self.autocast = partial(torch.autocast, device, torch.bfloat16, enabled=precision == "bfloat16")
        self.loss, self.terms = torch.zeros((), device=device), dict[str, Tensor]()  # of the last step
        self.bad_step = torch.zeros((), dtype=torch.int64, device=device)  # the first that diverged; 0 for none
        self.diverged: Diverged | None = None
        torch.manual_seed(self.seed)  # for dropout; each run has its own seed, so that a job can resume at any run
        self.step, state = 0, checkpoint.state
        if state and state.run == run.number:
            unpack(state.tensors, self.parameters, self.buffers, self.optimiser)
            self.step = state.step
        checkpoint.expect(self.parameters)
        self.random = RandomState()
        for module in run.modules:
            module.train()
        progress.begin(run.number, self.step, run.steps)

    @property
    def batches(self) -> Dataset[Any]:
        """The batches by number, in the form that `take` takes."""
        return self.division.batches(self.run.batches)

    @property
    def left(self) -> range:
        """The numbers, from 0, of the batches that are left."""
        return range(0) if self.diverged else range(self.step, self.run.steps)

    def take(self, batch: Any) -> None:
        """Take the next step, on its batch, and report it; after a divergence, change no weight."""
        run, weights = self.run, self.parameters.values()
        self.step += 1
        with self.random.in_use():
            optim.set_rate(self.optimiser, optim.rate(self.step, run.steps, run.schedule))
            self.division.seed_dropout(self.seed, self.step)
            with float32_products(self.precision):
                self.loss, self.terms = self.division.backward(run.loss, batch, self.autocast, weights)
            norm = optim.clip_grad_norm(weights, run.schedule.max_grad_norm)  # before clipping
            is_bad = ~(self.loss.isfinite() & norm.isfinite())
            self.bad_step = torch.where(is_bad & (self.bad_step == 0), self.step, self.bad_step)
            # a NaN must not reach weights or moments: the host may ask for it some steps later
            optim.update(self.optimiser, found_inf=(self.bad_step > 0).float())
            run.after_step(self.step)
            if self.progress.is_logged(
                self.step
            ):  # not at lines on the terminal, which each process tells by its clock
                self.see_divergence()
            if self.progress.is_due(self.step) and not self.diverged:
                self.progress.step(self.step, *self.numbers())
            if self.step == run.steps and not self.diverged:
                if run.on_end:
                    run.on_end(run, self._state())
                self.progress.end(self.step)

    def numbers(self) -> tuple[float, dict[str, float]]:
        """Return the loss of the last step and its terms by name; wait once for the device."""
        scalars = [self.loss, *self.terms.values()]
        loss, *terms = torch.stack([scalar.double() for scalar in scalars]).tolist()
        return loss, dict(zip(self.terms, terms, strict=True))

    def see_divergence(self) -> None:
        """End the training if it has diverged; all its processes must call this after the same step."""
        bad_step = int(self.bad_step.item())
        if bad_step and not self.diverged:
            self.diverged = Diverged(self.run.steps_before + bad_step)
            self.run.on_divergence(self.diverged)

    def save(self) -> None:
        """Write a checkpoint if the training has not diverged.

        Do not end a training that has: only one process writes, but all must end after the same step.
        """
        if not self.bad_step.item():
            with self.random.in_use():
                self.checkpoint.write(self.run.number, self.step, self._state())

    def _state(self) -> dict[str, Tensor]:
        """Return the state as tensors by name, see `pack`."""
        return pack(self.parameters, self.buffers, self.optimiser)

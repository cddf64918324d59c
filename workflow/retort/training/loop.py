"""The training loop, used for teachers, distillation and fine-tuning alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.errors import Diverged
from retort.precision import float32_products
from retort.signals import Interrupted, Interruption
from retort.specs.protocol import Schedule
from retort.training import optim
from retort.training.agreement import Agreement
from retort.training.checkpoint import Checkpoint, State, are_due, pack, unpack
from retort.training.division import UNDIVIDED, Division, Loss
from retort.training.guard import Guard
from retort.training.loader import load_batches
from retort.training.progress import Progress
from retort.training.random_state import RandomState


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

    Raises:
        Diverged: the loss or a gradient became NaN or infinite.
        Interrupted: a signal asked the training to end; its state is written.
    """
    trainer = Trainer(run, seed * 1000 + run.number, precision, device, division)
    training = Training(trainer, checkpoint, progress)
    train_together([training], device, num_workers)
    if training.diverged:
        raise training.diverged


def train_together(trainings: Sequence[Training], device: str, num_workers: int = 0) -> None:
    """Train several training runs on the same batches: on each batch, each run takes a step.

    Each ends in the same bytes as if trained alone. They may have different numbers of steps, or resume at different
    steps. A run that diverges takes no further step; the others go on.

    Args:
        trainings: the training runs, with equal batches.
        device: 'cpu' or 'cuda'.
        num_workers: processes that prepare batches; results do not depend on it.

    Raises:
        Interrupted: a signal asked the training to end; all states are written.
    """
    for numbers in merge_ranges([training.left for training in trainings]):
        # `closing` ends the processes that prepare batches, also after an error
        with (
            Interruption() as interruption,
            closing(load_batches(trainings[0].batches, numbers.start, numbers.stop, device, num_workers)) as batches,
        ):
            agreement = Agreement(interruption)
            for number, batch in zip(numbers, batches, strict=True):
                for training in trainings:
                    if number in training.left:
                        training.take(batch)
                if not any(training.left for training in trainings):
                    break
                if received := agreement.after_step():
                    for training in trainings:
                        training.see_divergence()
                        training.save()
                    raise Interrupted(received, number + 1)
                unfinished = [training for training in trainings if number + 1 in training.left]
                if are_due([training.checkpoint for training in unfinished]):
                    for training in unfinished:
                        training.save()


def merge_ranges(ranges: Iterable[range]) -> list[range]:
    """Merge ranges that overlap or touch, and return them in order: [0-3, 2-5, 7-9] become [0-5, 7-9]."""
    merged: list[range] = []
    for each in sorted(filter(None, ranges), key=lambda each: each.start):
        if merged and each.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, each.stop))
        else:
            merged.append(each)
    return merged


class Training:
    """A training run in progress, alone or beside others.

    Args:
        trainer: takes its steps.
        checkpoint: where its state is read from and written to.
        progress: where its steps and losses are reported.
        on_end: called after its last step with the run and its state.
        on_divergence: called with the error if it diverges.

    Attributes:
        diverged: the error with its step, if the loss or a gradient became NaN or infinite; else None.
    """

    def __init__(
        self,
        trainer: Trainer,
        checkpoint: Checkpoint,
        progress: Progress,
        on_end: OnEnd | None = None,
        on_divergence: Callable[[Diverged], None] = lambda error: None,
    ) -> None:
        self.trainer, self.run, self.checkpoint, self.progress = trainer, trainer.run, checkpoint, progress
        self.on_end, self.on_divergence = on_end, on_divergence
        self.diverged: Diverged | None = None
        torch.manual_seed(trainer.seed)  # for dropout; each run has its own seed, so that a job can resume at any run
        self.step = trainer.resume(checkpoint.state)
        checkpoint.expect(trainer.parameters)
        self.random = RandomState()
        for module in self.run.modules:
            module.train()
        progress.begin(self.run.number, self.step, self.run.steps)
        self._end_if_done()

    @property
    def batches(self) -> Dataset[Any]:
        """The batches by number, in the form that `take` takes."""
        return self.trainer.division.batches(self.run.batches)

    @property
    def left(self) -> range:
        """The numbers, from 0, of the batches that are left."""
        return range(0) if self.diverged else range(self.step, self.run.steps)

    def take(self, batch: Any) -> None:
        """Take the next step, on its batch, and report it."""
        self.step += 1
        try:
            with self.random.in_use():
                self._step(batch)
        except Diverged as error:
            self._diverge(error)

    def _diverge(self, error: Diverged) -> None:
        self.diverged = error
        self.on_divergence(error)

    def _step(self, batch: Any) -> None:
        run, step, trainer, progress = self.run, self.step, self.trainer, self.progress
        trainer.step(step, batch)
        run.after_step(step)
        if progress.is_due(step):
            value, terms, diverged = trainer.numbers()
            # lines between the logged ones are due by each process's clock, and all processes must end after one step
            if diverged and progress.is_logged(step):
                raise diverged
            progress.step(step, value, terms)
        if step == run.steps and self.on_end:
            self.on_end(run, trainer.state())
        self._end_if_done()

    def see_divergence(self) -> None:
        """End a training that has diverged since its last line in the log; all processes must call this."""
        if self.left and (error := self.trainer.diverged()):
            self._diverge(error)

    def save(self) -> None:
        """Write a checkpoint if steps are left and the training has not diverged.

        Do not end a training that has: only one process writes, but all must end after the same step.
        """
        if self.step and self.left and not self.trainer.diverged():
            with self.random.in_use():
                self.checkpoint.write(self.run.number, self.step, self.trainer.state())

    def _end_if_done(self) -> None:
        if self.step == self.run.steps:
            self.progress.end(self.step)


class Trainer:
    """Take the steps of one training run; hold its optimiser, its divergence and its last loss.

    A step only queues its work on the device. To read the loss or a divergence, call `numbers` or `diverged`, which
    wait for the device.

    Args:
        run: the training run.
        seed: seed of the dropout.
        precision: 'bfloat16' for autocast, 'tf32' for products of matrices on a GPU, or 'float32'.
        device: 'cpu' or 'cuda'.
        division: how batches are divided among passes through the device.
    """

    def __init__(
        self, run: TrainingRun, seed: int, precision: str, device: str, division: Division = UNDIVIDED
    ) -> None:
        self.run, self.seed, self.precision, self.division = run, seed, precision, division
        self.parameters, self.buffers = optim.parameters(*run.modules), optim.buffers(*run.modules)
        self.optimiser = optim.adamw(self.parameters.values(), run.schedule)
        self.autocast = partial(torch.autocast, device, torch.bfloat16, enabled=precision == "bfloat16")
        self.guard = Guard(device)
        self.value, self.values = torch.zeros((), device=device), dict[str, Tensor]()

    def step(self, step: int, batch: Any) -> None:
        """Take a step, counted from 1, on a batch of `division.batches`; after a divergence, change no weight."""
        optim.set_rate(self.optimiser, optim.rate(step, self.run.steps, self.run.schedule))
        self.division.seed_dropout(self.seed, step)
        parameters = self.parameters.values()
        with float32_products(self.precision):
            self.value, self.values = self.division.backward(self.run.loss, batch, self.autocast, parameters)
        norm = optim.clip_grad_norm(parameters, self.run.schedule.max_grad_norm)  # before clipping
        optim.update(self.optimiser, self.guard.found_inf(step, self.value, norm))  # a NaN must not reach the weights

    def numbers(self) -> tuple[float, dict[str, float], Diverged | None]:
        """Return the loss of the last step, its terms by name and what `diverged` returns; wait once for the device."""
        scalars = [self.guard.first, self.value, *self.values.values()]
        first, value, *values = torch.stack([scalar.double() for scalar in scalars]).tolist()
        return value, dict(zip(self.values, values, strict=True)), self._divergence(int(first))

    def diverged(self) -> Diverged | None:
        """Return the error of the first step that diverged, None if none did; wait for the device."""
        return self._divergence(int(self.guard.first.item()))

    def _divergence(self, first: int) -> Diverged | None:
        """Return the error of the first step that diverged; None for 0, which stands for no step."""
        return Diverged(self.run.steps_before + first) if first else None

    def state(self) -> dict[str, Tensor]:
        """Return the state as tensors by name, see `pack`."""
        return pack(self.parameters, self.buffers, self.optimiser)

    def resume(self, state: State | None) -> int:
        """Restore a state of this run and return its step; return 0 if there is none, or it is of another run."""
        if state is None or state.run != self.run.number:
            return 0
        unpack(state.tensors, self.parameters, self.buffers, self.optimiser)
        return state.step

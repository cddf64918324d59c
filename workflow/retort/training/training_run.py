"""A training run: what is trained, its state from step to step, and its progress in the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TextIO

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.job.steps import StepsFile
from retort.specs.protocol import Schedule
from retort.training import optim
from retort.training.checkpoint import Checkpoint, RandomState, pack_state, unpack_state
from retort.training.how.micro_batches import Division, TrainingLoss, Values

LOGGED = 10  # steps between two lines in the log


class Progress:
    """The progress of one training, in the log of its job and in the file of steps next to it.

    Args:
        log: the log file.
        runs: number of training runs of the training.
        steps_file: the file of steps.
    """

    def __init__(self, log: TextIO, runs: int = 1, steps_file: StepsFile | None = None) -> None:
        self.log, self.runs, self.steps_file = log, runs, steps_file or StepsFile()
        self.run, self.steps = "", 1  # the beginning of lines about the training run, and its number of steps

    @classmethod
    def of(cls, job: RunningJob, seed: int, runs: int = 1) -> Progress:
        """Return the progress of a training of a job with this seed."""
        point = {"point": job.point} if job.point else {}
        return cls(job.log, runs, StepsFile(job.steps_file, job.slug, seed=seed, **point))

    def begin(self, number: int, start: int, steps: int) -> None:
        """Log that a training run begins after `start` steps: more than 0 if it is resumed, all if it is done."""
        self.run, self.steps = f"stage {number} of {self.runs}, " if self.runs > 1 else "", steps
        resumed = f", resumed at step {start}" if start else ""
        self.log.write(f"{self.run}{steps} steps{resumed}\n")
        # the point of a grid has its number, and one training run
        self.steps_file.begin(start, stage=min(number, self.runs), stages=self.runs, steps=steps)
        if start == steps:
            self.end(start)

    def is_logged(self, step: int) -> bool:
        """Return whether the log gets a line about a step: every LOGGED steps, and at the last."""
        return step % LOGGED == 0 or step == self.steps

    def step(self, step: int, loss: float, terms: Mapping[str, float], rate: float, norm: float, tokens: int) -> None:
        """Log a finished step: its loss with the terms, learning rate and norm of the gradient before clipping.

        Args:
            step: its number, from 1.
            loss: its loss.
            terms: the terms of the loss by name.
            rate: its learning rate.
            norm: the norm of the gradient.
            tokens: those of the batches since the last step that was logged.
        """
        measured = {"loss": loss, "terms": dict(terms), "learning_rate": rate, "grad_norm": norm}
        self.steps_file.add(step, measured, tokens)
        values = "  ".join(f"{name} {value:.5f}" for name, value in terms.items())
        self.log.write(f"step {step:5d}  loss {loss:.5f}  {values}\n")
        self.log.flush()

    def end(self, step: int) -> None:
        """Log that a training run is done."""
        self.log.write(f"{self.run}done after step {step}\n")
        self.log.flush()


@dataclass
class TrainingRun:
    """One training run of a job; a job of two stages has two.

    Args:
        modules: the modules to train; parameters that take no gradient are left alone.
        schedule: learning rate and the other settings, as in specs/protocol.py.
        steps: the number of steps.
        batches: the batch of each step by its number, from 0; package `data` has data sets for tasks and corpora.
        loss: batch -> (loss, its terms by name); only the loss differs between teachers, distillation and fine-tuning.
        number: the position of the training run in its job, from 1.
        steps_before: steps of the job's earlier training runs, added to the step that a divergence reports.
        close: called when the training run is done, to remove the hooks from the modules.
        after_step: called after each step with its number, from 1; returns the metric on dev if it has computed it.
    """

    modules: list[nn.Module]
    schedule: Schedule
    steps: int
    batches: Dataset[Batch]
    loss: TrainingLoss
    number: int = 1
    steps_before: int = 0
    close: Callable[[], None] = lambda: None
    after_step: Callable[[int], float | None] = lambda step: None


class Training:
    """A training run in progress, alone or next to companions; it resumes if the checkpoint holds a state of it.

    Args:
        run: the training run.
        seed: seed of the dropout.
        checkpoint: where its state is read from and written to.
        progress: where its steps and losses are reported.
        precision: 'bfloat16' runs the forward pass under autocast, 'tf32' multiplies matrices on a GPU in TF32, and
            'float32' does neither. Weights and moments are always in float32.
        device: 'cpu' or 'cuda'.
        division: how batches are divided.

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
        division: Division = Division(),  # noqa: B008
    ) -> None:
        self.run, self.checkpoint, self.progress = run, checkpoint, progress
        self.seed, self.precision, self.division = seed * 1000 + run.number, precision, division
        whole = torch.nn.ModuleList(run.modules)  # so that a name is unique over the modules: '0.layer.weight'
        self.parameters, self.buffers = dict(whole.named_parameters()), dict(whole.named_buffers())
        self.optimiser = optim.adamw(self.parameters.values(), run.schedule)
        self.autocast = partial(torch.autocast, device, torch.bfloat16, enabled=precision == "bfloat16")
        self.loss, self.terms = torch.zeros((), device=device), Values()  # of the last step
        self.norm, self.tokens = self.loss, 0  # of its gradient; of the batches since the last line of the log
        self.bad_step = torch.zeros((), dtype=torch.int64, device=device)  # the first that diverged; 0 for none
        self.diverged: Diverged | None = None
        torch.manual_seed(self.seed)  # for dropout; each run has its own seed, so that a job can resume at any run
        self.step = 0
        if state := checkpoint.begin_run(run.number):
            unpack_state(state.files, self.parameters, self.buffers, self.optimiser)
            self.step = state.step
        self.random = RandomState()
        whole.train()
        progress.begin(run.number, self.step, run.steps)

    @property
    def left(self) -> range:
        """The numbers, from 0, of the batches that are left."""
        return range(0) if self.diverged else range(self.step, self.run.steps)

    def note(self, loss: Tensor, terms: Values, norm: Tensor) -> Tensor:
        """Keep the loss of a step; return 1 if it, or one before, has diverged, else 0, without waiting for the device.

        Args:
            loss: the scalar loss of the step.
            terms: its terms by label.
            norm: the norm of the gradient.
        """
        self.loss, self.terms, self.norm = loss, terms, norm
        is_bad = ~(loss.isfinite() & norm.isfinite())
        self.bad_step = torch.where(is_bad & (self.bad_step == 0), self.step, self.bad_step)
        return (self.bad_step > 0).float()

    def report(self, tokens: int, dev: float | None) -> None:
        """Log the step just taken if it gets a line; only then wait for the device, and look for a divergence.

        Args:
            tokens: those of its batch, padding included.
            dev: the metric on dev after it; None if it was not computed.
        """
        self.tokens += tokens
        if dev is not None:
            self.progress.steps_file.add(self.step, {"dev": dev})
        if not self.progress.is_logged(self.step):
            return
        self.see_divergence()
        if self.diverged:
            return
        scalars = [self.loss, self.norm, *self.terms.values()]
        loss, norm, *terms = torch.stack([scalar.double() for scalar in scalars]).tolist()  # waits once
        rate = optim.rate(self.step, self.run.steps, self.run.schedule)
        self.progress.step(self.step, loss, dict(zip(self.terms, terms, strict=True)), rate, norm, self.tokens)
        self.tokens = 0
        if self.step == self.run.steps:
            self.progress.end(self.step)

    def see_divergence(self) -> None:
        """End the training if it has diverged; all its processes must call this after the same step."""
        bad_step = int(self.bad_step.item())
        if bad_step and not self.diverged:
            self.diverged = Diverged(self.run.steps_before + bad_step)

    def save(self) -> None:
        """Write a checkpoint if the training has not diverged.

        Do not end a training that has: only one process writes, but all must end after the same step.
        """
        if not self.bad_step.item():
            with self.random.in_use():
                state = pack_state(self.parameters, self.buffers, self.optimiser)
                self.checkpoint.write(self.run.number, self.step, state)

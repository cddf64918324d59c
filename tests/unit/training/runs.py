"""Training runs of a few steps for the tests of the loop, and how they are trained."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import torch
from retort.batch import Batch
from retort.job.attempts import NEVER, Clock
from retort.training import loop
from retort.training.checkpoint import Checkpoint
from retort.training.how.micro_batches import Division
from retort.training.training_run import Progress, Training, TrainingRun
from torch import nn
from torch.utils.data import Dataset

from tests.job_settings import schedule

SCHEDULE = schedule(steps=12, batch_size=4, warmup_ratio=0.25, weight_decay=0.1)


class Dropped(nn.Module):
    """A linear map after dropout, so that its steps depend on the random state."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.inner = nn.Linear(5, 3)
        self.unused = nn.Linear(2, 2)  # not used by the loss, so it has no state in the optimiser
        self.register_buffer("bank", torch.zeros(()))  # a buffer that each step changes, like a memory bank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.bank += 0.1
        return self.inner(nn.functional.dropout(x, 0.5, self.training)).square().mean() * (1 + self.bank.clone())


class Numbered(Dataset[Batch]):
    """Random batches, a function of their number; they cannot be pickled, as maps of memory should not be."""

    def __getitem__(self, number: int) -> Batch:
        values = torch.randn(4, 5, generator=torch.Generator().manual_seed(number))
        return Batch(input_ids=values, token_type_ids=values, attention_mask=values > 0)

    def __reduce__(self) -> str:
        raise AssertionError("a data set is not pickled")


def run_of(model: nn.Module, stop: int | None = None, bad: int | None = None, rates: Any = SCHEDULE) -> TrainingRun:
    """Return a training run; step `stop` raises, step `bad` and all later ones give a loss of NaN."""
    taken = itertools.count(1)

    def loss(batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        step = next(taken)
        if step == stop:
            raise KeyboardInterrupt
        value = model(batch.input_ids)
        return (value * float("nan") if bad and step >= bad else value), {"square": value.detach()}

    return TrainingRun([model], rates, rates.steps, Numbered(), loss)  # type: ignore[arg-type]


def training_of(
    run: TrainingRun, checkpoint: Checkpoint, division: Division = Division(), log: io.StringIO | None = None,  # noqa: B008
    precision: str = "float32",
) -> Training:  # fmt: skip
    """Return a training run in progress on the CPU, with seed 7."""
    return Training(run, 7, checkpoint, Progress(log or io.StringIO()), precision, "cpu", division)


def train(
    run: TrainingRun, at: Checkpoint | Path, *more: Any, workers: int = 0, clock: Clock = NEVER, **options: Any
) -> str:
    """Train a run to its end and return its log; `at` is a checkpoint, or the folder of one that is seldom written.

    Raises:
        Diverged: the run diverged.
    """
    checkpoint, log = at if isinstance(at, Checkpoint) else Checkpoint(at, {}, 1e9), io.StringIO()
    training = training_of(run, checkpoint, *more, log=log, **options)
    loop.train([training], "cpu", workers, clock)
    if training.diverged:
        raise training.diverged
    return log.getvalue()


def short_after(questions: int) -> Clock:
    """Return a clock that is short from this question on; it is asked after each step."""
    asked = itertools.count(1)

    class Counting(Clock):
        def is_short(self) -> bool:
            return next(asked) >= questions

    return Counting()


def state_of(run: TrainingRun) -> dict[str, torch.Tensor]:
    """Return weights and buffers of the modules of a run."""
    modules = enumerate(run.modules)
    return {f"{number}.{name}": x for number, module in modules for name, x in module.state_dict().items()}


def same(one: TrainingRun, other: TrainingRun) -> bool:
    """Return whether two runs have ended in the same weights and buffers."""
    mine, theirs = state_of(one), state_of(other)
    return mine.keys() == theirs.keys() and all(torch.equal(x, theirs[name]) for name, x in mine.items())

"""Training steps of made models on a made batch, of which time, memory and gradients are measured."""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import numpy as np
import torch

from retort import machine
from retort.batch import Batch
from retort.models import build, encoders
from retort.models.recorder import Recorder
from retort.objectives import loss_of
from retort.objectives.base import TrainingRows
from retort.settings.trainings import TermSettings
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule
from retort.training import optim
from retort.training.timing import times

REPEATS = 3  # of what is timed, at least
NUM_LABELS = 3
SCHEDULE = Schedule(steps=1, batch_size=1, learning_rate=1e-4)  # its steps and its batch size are not read
# the training rows, as many as in a data set of GLUE: memory banks hold a vector for each
ROWS = TrainingRows(65536, np.arange(65536) % NUM_LABELS)


class StepShape(NamedTuple):
    """A training step: its models, rows and tokens, and how many students share a pass of the teacher."""

    name: str
    student: Architecture
    teacher: Architecture | None
    vocabulary: int
    rows: int
    length: int
    precision: str = "bfloat16"
    companions: int = 1


class Models:
    """A teacher, its students and a batch of random tokens, in every second row of which the last tenth is padding.

    Args:
        shape: the step.
        device: 'cpu' or 'cuda'.
    """

    def __init__(self, shape: StepShape, device: str) -> None:
        torch.manual_seed(1)
        self.shape, self.device = shape, device
        sizes = (shape.teacher or shape.student, *[shape.student] * shape.companions)
        teacher, *students = (build.bert(each, shape.vocabulary, "classification", NUM_LABELS) for each in sizes)
        self.teacher, self.students = teacher.eval().to(device), [each.train().to(device) for each in students]
        encoders.round_once(self.teacher, shape.precision)
        input_ids = torch.randint(shape.vocabulary // 30, shape.vocabulary, (shape.rows, shape.length))
        attention_mask = torch.ones_like(input_ids, dtype=torch.bool)
        attention_mask[::2, shape.length - shape.length // 10 :] = False
        labels = torch.randint(NUM_LABELS, (shape.rows,))
        rows = torch.arange(shape.rows)
        self.batch = Batch(input_ids, torch.zeros_like(input_ids), attention_mask, labels, rows).to(device)


class Steps:
    """Students of one teacher on one batch, as the workflow trains companions.

    Args:
        models: the models and the batch.
        terms: the terms of the loss.
    """

    def __init__(self, models: Models, terms: list[TermSettings]) -> None:
        self.models = models
        student, teacher = (build.shape_of(each, NUM_LABELS) for each in (models.students[0], models.teacher))
        self.loss = loss_of(terms, student, teacher, ROWS).to(models.device)
        self.parameters = [
            dict(torch.nn.ModuleList([student, self.loss]).named_parameters()) for student in models.students
        ]
        self.optimisers = [optim.adamw(list(each.values()), SCHEDULE) for each in self.parameters]

    def backward(self) -> Iterator[int]:
        """Yield the number of each student as soon as it has its gradients, after one pass of the teacher."""
        models, precision = self.models, self.models.shape.precision
        keys = [self.loss.reads(side) for side in ("student", "teacher")]
        autocast = torch.autocast(models.device, torch.bfloat16, enabled=precision == "bfloat16")
        with machine.float32_products(precision), ExitStack() as stack:
            theirs: Any = {}
            if models.shape.teacher:
                recorder = stack.enter_context(closing(Recorder(models.teacher, keys[1])))
                with torch.no_grad(), autocast:
                    theirs = recorder(models.batch)
            for number, student in enumerate(models.students):
                with closing(Recorder(student, keys[0])) as own:
                    with autocast:
                        ours = own(models.batch)
                        loss = self.loss(ours, theirs, models.batch)[0]
                    loss.backward()
                yield number

    def step(self) -> None:
        """Take a step with each student."""
        for number in self.backward():
            self.optimisers[number].step()
            self.optimisers[number].zero_grad(set_to_none=True)

    def gradients(self) -> torch.Tensor:
        """Return all gradients of the first student as one vector."""
        next(self.backward())
        own = self.parameters[0].values()
        return torch.cat([parameter.grad.flatten() for parameter in own if parameter.grad is not None])

    def weights(self) -> torch.Tensor:
        """Return all weights of the first student as one vector."""
        return torch.cat([parameter.detach().flatten() for parameter in self.parameters[0].values()])


def median_seconds(run: Callable[[], object], device: str, lasting: float = 0.0) -> float:
    """Return the median time of a run, after one that warms up; it is repeated `REPEATS` times, or as long as given."""
    taken = times(run, device, 1 + REPEATS)[1:]
    return statistics.median(taken + times(run, device, int(lasting / max(min(taken), 1e-9)) - REPEATS))


def peak_memory(run: Callable[[], None], device: str) -> float:
    """Run a step and return its peak memory in bytes: of the GPU, or of this process on a CPU.

    On a CPU outside Linux it is not a number, because the peak cannot be reset there.
    """
    gc.collect()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        run()
        return float(torch.cuda.max_memory_allocated())
    known = machine.reset_max_rss()
    run()
    return machine.max_rss_mb() * 1024**2 if known else math.nan

"""Measure the cost of objectives: time and memory of a training step, as ratios to a step with a zero loss."""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from retort import machine
from retort.batch import Batch
from retort.bench.calibrate import wait
from retort.errors import RetortError
from retort.models import build
from retort.models.recorder import Recorder
from retort.objectives import WeightedSum, loss_of
from retort.objectives.base import TrainingRows
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.mappings import pairs_of
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule
from retort.training import optim

NUM_LABELS, VOCABULARY, MASKED = 3, 30522, 0.15
SCHEDULE = Schedule(steps=1, batch_size=1, learning_rate=1e-4)  # its steps and its batch size are not read
MAPPINGS: dict[str, tuple[str | None, ...]] = {
    "layer": ("last", "uniform"),
    "layers": ("emd",),
    "input": (None,),
    "output": (None,),
}

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]

Step = Callable[[], None]


@dataclass(frozen=True)
class Setting:
    """The models, the batch and the device of a measurement.

    Args:
        teacher: the sizes of the teacher.
        student: the sizes of the student.
        batch: examples per step.
        length: tokens per example; in every second example the last tenth is padding.
        precision: 'bfloat16' for autocast, or 'float32'.
        device: 'cpu' or 'cuda'.
        repeats: number of measured pairs of steps: one with the objective, one with a zero loss.
    """

    teacher: Architecture
    student: Architecture
    batch: int
    length: int
    precision: str
    device: str
    repeats: int


@dataclass(frozen=True)
class Cost:
    """Time and memory of one objective with one mapping, as ratios to a step with a zero loss.

    Args:
        objective: the name of the objective.
        mapping: the name of the mapping; empty for an objective without one.
        time: the ratio of the times; None if the objective does not fit the models.
        memory: the ratio of the memory peaks; None if it cannot be measured.
        reason: why the objective does not fit the models; empty if it does.
    """

    objective: str
    mapping: str
    time: float | None
    memory: float | None
    reason: str = ""


# the training rows, as many as in a data set of GLUE: memory banks hold a vector for each
ROWS = TrainingRows(65536, np.arange(65536) % NUM_LABELS)


def batch_of(setting: Setting, language: bool, vocabulary: int = VOCABULARY) -> Batch:
    """Draw random tokens with labels: one per masked position (if `language`), or one per example."""
    draw = torch.Generator().manual_seed(1)
    input_ids = torch.randint(vocabulary // 30, vocabulary, (setting.batch, setting.length), generator=draw)
    attention_mask = torch.ones_like(input_ids, dtype=torch.bool)
    attention_mask[::2, setting.length - setting.length // 10 :] = False
    labels, positions = torch.randint(NUM_LABELS, (setting.batch,), generator=draw), None
    if language:
        positions = torch.arange(0, input_ids.numel(), round(1 / MASKED))
        labels = input_ids.flatten()[positions]
    rows = torch.arange(setting.batch)
    batch = Batch(input_ids, torch.zeros_like(input_ids), attention_mask, labels, rows, positions)
    return batch.to(setting.device)


class Bench:
    """A teacher, a student and a batch, on which objectives are measured one after another.

    Args:
        setting: the sizes of the models and the batch, and the device.
        language: both models have a masked-LM head, which sees the masked positions, instead of a classifier.
    """

    def __init__(self, setting: Setting, language: bool) -> None:
        torch.manual_seed(1)
        self.setting, self.num_labels = setting, VOCABULARY if language else NUM_LABELS
        head = "masked-lm" if language else "classification"
        self.teacher, self.student = (
            build.bert(sizes, VOCABULARY, head, NUM_LABELS) for sizes in (setting.teacher, setting.student)
        )
        self.teacher.eval().to(setting.device)
        self.student.train().to(setting.device)
        self.batch = batch_of(setting, language)

    @contextlib.contextmanager
    def step(self, loss: WeightedSum | None) -> Iterator[Step]:
        """Yield a training step of the student, with a zero loss for None."""
        device, precision = self.setting.device, self.setting.precision
        modules: list[nn.Module] = [self.student] if loss is None else [self.student, loss.to(device)]
        optimiser = optim.adamw(list(optim.parameters(*modules).values()), SCHEDULE)
        # a zero loss reads the logits too, so that both models run up to their heads
        keys = [{("logits", None)} if loss is None else loss.reads(side) for side in ("student", "teacher")]
        with closing(Recorder(self.student, keys[0])) as student, closing(Recorder(self.teacher, keys[1])) as teacher:

            def run() -> None:
                with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
                    with torch.no_grad():
                        theirs = teacher(self.batch)
                    ours = student(self.batch)
                    total = 0 * ours["logits", None].sum() if loss is None else loss(ours, theirs, self.batch)[0]
                total.backward()
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)

            yield run

    def cost(self, name: str, mapping: str | None) -> Cost:
        """Measure an objective with its default options; its steps alternate with steps with a zero loss."""
        own, other = (build.shape_of(model, self.num_labels) for model in (self.student, self.teacher))
        options = catalogue.objectives()[name].options
        try:
            pairs = pairs_of(mapping, self.setting.student.layers, self.setting.teacher.layers) if mapping else []
            term = TermSettings(objective=name, version=1, pairs=pairs, weight=1.0, options=options)
            loss = loss_of([term], own, other, ROWS)
        except RetortError as error:
            return Cost(name, mapping or "", None, None, str(error))
        device = self.setting.device
        with self.step(None) as plain, self.step(loss) as distilled:
            plain(), distilled()
            memory = [peak(run, device) for run in (plain, distilled)]
            ratios = [seconds(distilled, device) / seconds(plain, device) for _ in range(self.setting.repeats)]
        memory_ratio = None if None in memory else memory[1] / memory[0]  # type: ignore[operator]
        return Cost(name, mapping or "", statistics.median(ratios), memory_ratio)


def seconds(run: Step, device: str) -> float:
    """Measure the time of a step in seconds, including the work that it queues on the device."""
    wait(device)
    start = time.perf_counter()
    run()
    wait(device)
    return time.perf_counter() - start


def peak(run: Step, device: str) -> float | None:
    """Run a step and measure its peak memory in bytes: of the GPU, or of this process on a CPU.

    On a CPU, return None outside Linux, where the peak cannot be reset.
    """
    gc.collect()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        run()
        return float(torch.cuda.max_memory_allocated())
    if not machine.reset_max_rss():
        return None
    run()
    return machine.max_rss_mb() * 1024**2


def _mappings(name: str) -> tuple[str | None, ...]:
    """Return the mappings with which an objective is measured."""
    return MAPPINGS[catalogue.objectives()[name].level or "layer"]


def count(names: list[str]) -> int:
    """Return how many costs `measure` yields."""
    return sum(len(_mappings(name)) for name in names)


def measure(setting: Setting, names: list[str]) -> Iterator[Cost]:
    """Yield the cost of every named objective with each of its mappings."""
    for language in (False, True):
        if chosen := [name for name in names if (name == "masked-lm") == language]:
            bench = Bench(setting, language)
            for name in chosen:
                yield from (bench.cost(name, each) for each in _mappings(name))


def lines(setting: Setting, costs: Iterator[Cost]) -> Iterator[str]:
    """Yield the lines of a Markdown table, each row as soon as its objective is measured."""
    teacher, student = (list(each.model_dump().values()) for each in (setting.teacher, setting.student))
    measured = f"{setting.batch} x {setting.length} tokens, {setting.precision}, {setting.device}; zero loss = 1"
    yield f"teacher {teacher}, student {student}, {measured}"
    yield "\n| objective | mapping | time | memory |\n| --- | --- | ---: | ---: |"
    for cost in costs:
        time, memory = ("-" if ratio is None else f"{ratio:.2f}" for ratio in (cost.time, cost.memory))
        yield f"| {cost.objective} | {cost.mapping} | {time} | {cost.reason or memory} |"

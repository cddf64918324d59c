"""A step as one would write it with transformers alone, next to which ours is timed."""

from __future__ import annotations

import math
import statistics
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.cost.bench.steps import REPEATS, Models, Steps, StepShape
from retort.models.encoders import layers_of
from retort.objectives.base import heads_of
from retort.settings.trainings import TermSettings
from retort.training.timing import times

PROJECTIONS = ("query", "key", "value")


class PlainSteps:
    """MiniLMv2's relations of the last layers: forward hooks, a softmax over all columns at once, and `F.kl_div`.

    Args:
        shape: the step.
        heads: relation heads.
        device: 'cpu' or 'cuda'.
    """

    def __init__(self, shape: StepShape, heads: int, device: str) -> None:
        models = Models(shape._replace(precision="float32"), device)  # autocast rounds the weights of the teacher, too
        self.batch, self.heads, self.device, self.precision = models.batch, heads, device, shape.precision
        self.teacher: Any = models.teacher
        self.student: Any = models.students[0]
        self.optimiser = torch.optim.AdamW(self.student.parameters(), lr=1e-4)
        self.caught: dict[tuple[str, str], Tensor] = {}
        for side, model in (("teacher", self.teacher), ("student", self.student)):
            model.set_attn_implementation("sdpa")
            for name in PROJECTIONS:
                module = layers_of(model)[-1].get_submodule(f"attention.self.{name}")
                module.register_forward_hook(lambda _, __, out, key=(side, name): self.caught.update({key: out}))

    def loss(self) -> Tensor:
        """Return the mean over heads and real tokens of the KL divergence, summed over the three relations."""
        mask = self.batch.attention_mask
        inputs = {"input_ids": self.batch.input_ids, "attention_mask": mask.long()}
        with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bfloat16"):
            with torch.no_grad():
                self.teacher.base_model(**inputs)
            self.student.base_model(**inputs)
        total = torch.zeros((), device=self.device)
        for name in PROJECTIONS:
            theirs, ours = (F.log_softmax(self.scores(self.caught[side, name]), -1) for side in ("teacher", "student"))
            each = F.kl_div(ours, theirs, reduction="none", log_target=True).sum(-1).mean(1)  # (batch, length)
            total = total + each[mask].mean()
        return total

    def scores(self, vectors: Tensor) -> Tensor:
        """Return the scores of a relation of vectors (batch, length, width), (batch, heads, length, length)."""
        x = heads_of(vectors.float(), self.heads)  # (batch, heads, length, size)
        scores = x @ x.mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~self.batch.attention_mask[:, None, None, :], -1e9)

    def step(self) -> None:
        """Take a step."""
        self.loss().backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.optimiser.zero_grad()


def against_plain(shape: StepShape, terms: list[TermSettings], device: str) -> float:
    """Return the median time of our step over that of the plain one; both take turns, after a first step of each."""
    heads = terms[0].options["heads"]
    assert isinstance(heads, int)
    forms = Steps(Models(shape, device), terms), PlainSteps(shape, heads, device)
    taken = [[times(form.step, device, 1)[0] for form in forms] for _ in range(1 + REPEATS)][1:]
    ours, plain = zip(*taken, strict=True)
    ratio: float = statistics.median(ours) / statistics.median(plain)
    return ratio

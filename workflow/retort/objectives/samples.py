"""Objectives on how the examples of a batch relate to each other."""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from retort.objectives.base import NEVER, Batch, Pair, Taps, objectives, one_of, product, required, wide
from retort.objectives.hidden import MapRule, linear_map

Reading = Literal["meant", "printed"]


@objectives.register("sample-similarity")
class SampleSimilarity:
    """KL divergence between softmax(G G^T / root of width) over the [CLS] vectors of a batch, averaged over examples.

    Taps are (batch, width). MLKD-BERT (2024), eq. 13-15, on the last layers.
    """

    version = 1
    taps = ("cls",)
    over = "batch"

    def __init__(self, shapes: Pair) -> None:
        pass

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        ours, theirs = (
            F.log_softmax(product(x, x.mT) / math.sqrt(x.shape[-1]), dim=-1) for x in (student["cls"], teacher["cls"])
        )
        return F.kl_div(ours, theirs, reduction="batchmean", log_target=True)


@objectives.register("sample-contrastive")
class SampleContrastive(nn.Module):
    """Supervised contrastive loss that draws together [CLS] vectors, of both models, of examples with equal labels.

    Taps are (batch, width); the student's vectors are mapped to the teacher's width and the 2 * batch vectors put
    below each other. MLKD-BERT (2024), eq. 16-17, on the last layers, with two readings. "meant" is the loss that the
    paper cites for it (Khosla et al., 2020): vectors of length one, the temperature inside the exponent, the mean over
    all vectors. "printed" is the formula to the letter: vectors as they are, the temperature outside the exponent,
    where it cancels, and a sum over all vectors inside a mean over all vectors, which makes it a plain sum.

    Args:
        temperature: the rho of eq. 17.
        reading: "meant" or "printed".
        scaled: multiply by the temperature.
        map: when a linear map stands before the comparison: always, widths-differ, never.
    """

    version = 1
    taps = ("cls",)
    over = "batch"
    learns = True

    def __init__(
        self,
        shapes: Pair,
        *,
        temperature: float = 0.07,
        reading: Reading = "meant",
        scaled: bool = False,
        map: MapRule = "always",
    ) -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.temperature, self.factor = temperature, temperature if scaled else 1.0
        self.printed = one_of("reading", reading, get_args(Reading)) == "printed"

    def forward(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        vectors = torch.cat([wide(self.map(wide(student["cls"]))), wide(teacher["cls"])])
        labels = required(batch.labels, "sample-contrastive").repeat(2)
        if not self.printed:
            vectors = F.normalize(vectors, dim=-1)
        scores = product(vectors, vectors.mT)
        if not self.printed:
            scores = scores / self.temperature
        own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        log_p = F.log_softmax(scores.masked_fill(own, NEVER), dim=-1)
        positive = (labels[:, None] == labels[None, :]) & ~own  # never empty: the other model's view is one
        losses = -torch.where(positive, log_p, 0).sum(-1) / positive.sum(-1)
        return self.factor * (losses.sum() if self.printed else losses.mean())

"""Objectives that compare how the examples of a batch relate to each other."""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from retort.batch import Batch
from retort.objectives.base import NEVER, Activations, Pair, objectives, product, required, wide
from retort.objectives.hidden import MapRule, linear_map

Reading = Literal["meant", "printed"]


@objectives.register("sample-similarity")
class SampleSimilarity:
    """KL divergence between softmax(G G^T / sqrt(width)) of the [CLS] vectors of a batch, averaged over examples.

    Activations are (batch, width), of the last layers. MLKD-BERT (2024), eq. 13-15:
    L_SS = 1/b sum_i KL(R_i^T || R_i^S).
    """

    activations = ("cls",)
    reduction = "batch"

    def __init__(self, shapes: Pair) -> None:
        pass

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # log R of eq. 14-15: (batch, batch)
        ours, theirs = (
            F.log_softmax(product(x, x.mT) / math.sqrt(x.shape[-1]), dim=-1) for x in (student["cls"], teacher["cls"])
        )
        return F.kl_div(ours, theirs, reduction="batchmean", log_target=True)  # eq. 13: 1/b sum_i


@objectives.register("sample-contrastive")
class SampleContrastive(nn.Module):
    """Supervised contrastive loss that draws together [CLS] vectors, of both models, of examples with equal labels.

    Activations are (batch, width), of the last layers; the student's vectors are mapped to the teacher's width, and the
    2 * batch vectors of both models are stacked. MLKD-BERT (2024), eq. 16-17, can be read in two ways:

    - "meant" is the loss that the paper cites (Khosla et al., 2020): vectors of length one, the temperature inside the
      exponent, and the mean over all vectors.
    - "printed" is the formula to the letter: vectors as they are, the temperature outside the exponent, where it
      cancels, and a sum over all vectors inside a mean over all vectors, which is a plain sum.

    Args:
        temperature: rho in eq. 17.
        reading: "meant" or "printed".
        scaled: multiply the loss by the temperature.
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    data = "task"
    activations = ("cls",)
    reduction = "batch"
    equal_widths = {"map": ["never"]}
    limits = {"temperature": {"ge": 0.001, "le": 1000}}

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
        self.printed = reading == "printed"

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        vectors = torch.cat([wide(self.map(wide(student["cls"]))), wide(teacher["cls"])])  # H: (2 batch, width)
        labels = required(batch.labels, "sample-contrastive").repeat(2)  # y: (2 batch,)
        if not self.printed:
            vectors = F.normalize(vectors, dim=-1)
        scores = product(vectors, vectors.mT)  # h_i . h_a: (2 batch, 2 batch)
        if not self.printed:
            scores = scores / self.temperature
        own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)  # A(i) leaves i itself out
        # log of exp(h_i . h_p / rho) / sum over A(i), eq. 17; as printed, rho cancels
        log_p = F.log_softmax(scores.masked_fill(own, NEVER), dim=-1)
        positive = (labels[:, None] == labels[None, :]) & ~own  # P(i); never empty: the other model's vector is in it
        losses = -torch.where(positive, log_p, 0).sum(-1) / positive.sum(-1)  # 1/|P(i)| sum over P(i): (2 batch,)
        return self.factor * (losses.sum() if self.printed else losses.mean())

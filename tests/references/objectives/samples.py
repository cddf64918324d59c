"""References for objectives on relations between examples."""

from __future__ import annotations

from typing import Any

import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import Case
from tests.references.plain import (
    mean,
    reference,
    relation_kl,
)


@reference(
    Case("sample-similarity"),
)
def sample_similarity(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(relation_kl([(student["cls"],) * 2], [(teacher["cls"],) * 2]))


@reference(
    Case("sample-contrastive", same=""),
    Case("sample-contrastive", {"reading": "printed"}, same=""),
    Case("sample-contrastive", {"scaled": True}, same=""),
)
def sample_contrastive(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    h = [*learned.map(student["cls"]), *teacher["cls"]]
    y, temperature = batch.labels.tolist() * 2, 0.07
    printed = case.options.get("reading") == "printed"
    if not printed:
        h = [x / x.norm() for x in h]

    def power(i: int, a: int) -> Tensor:
        if printed:
            return torch.exp(h[i] @ h[a]) / temperature
        return torch.exp(h[i] @ h[a] / temperature)

    inner = []
    for i in range(len(h)):
        others = [a for a in range(len(h)) if a != i]
        below = sum(power(i, a) for a in others)
        inner.append(mean([-torch.log(power(i, p) / below) for p in others if y[p] == y[i]]))
    loss = mean([sum(inner) for _ in h]) if printed else mean(inner)
    return loss * temperature if case.options.get("scaled") else loss

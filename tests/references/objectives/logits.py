"""References for objectives on predictions."""

from __future__ import annotations

from typing import Any

import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import SCORE, Case
from tests.references.plain import mean, reference, softmax, squares


def distributions(logits: Tensor, batch: Batch) -> list[Tensor]:
    """Return each row of logits that is one distribution; for the start and end of an answer, over real tokens only."""
    if logits.dim() == 2:
        return list(logits)
    return [logits[i, :n, end] for i, n in enumerate(batch.attention_mask.sum(1).tolist()) for end in (0, 1)]


@reference(
    Case("supervised", same=""),
    Case("supervised", student=SCORE, teacher=SCORE, same=""),
    Case("supervised", same="", span=True),
)
def supervised(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    rows = distributions(student["logits"], batch)
    if case.student.num_labels == 1:
        return mean([(row[0] - label) ** 2 for row, label in zip(rows, batch.labels, strict=True)])
    return mean([-torch.log(softmax(row)[label]) for row, label in zip(rows, batch.labels.flatten(), strict=True)])


@reference(
    Case("soft-labels", same="entropy"),
    Case("soft-labels", {"temperature": 2.5, "divergence": True}),
    Case("soft-labels", {"divergence": True}, span=True),
    Case("soft-labels", {"divergence": True, "class_mean": True}),
    Case("soft-labels", {"temperature": 2.5, "divergence": True, "class_mean": True}),
    Case("soft-labels", {"divergence": True, "class_mean": True}, span=True),
    Case("soft-labels", {"class_mean": True}, student=SCORE, teacher=SCORE),
    Case("soft-labels", {"temperature": 2.0}, same="entropy", span=True),
    Case("soft-labels", {"temperature": 2.5}, same="entropy"),
    Case("soft-labels", {"temperature": 2.5, "squared": False}, same="entropy"),
    Case("soft-labels", student=SCORE, teacher=SCORE),
)
def soft_labels(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    if case.student.num_labels == 1:
        return mean(squares(student["logits"], teacher["logits"]))
    rows, temperature = [], case.options.get("temperature", 1)
    both = (distributions(activations["logits"], batch) for activations in (student, teacher))
    for ours, theirs in zip(*both, strict=True):
        q, p = softmax(ours / temperature), softmax(theirs / temperature)
        below = p if case.options.get("divergence") else torch.ones_like(p)
        each = [a * torch.log(c / b) for a, b, c in zip(p, q, below, strict=True)]
        rows.append(mean(each) if case.options.get("class_mean") and not case.span else sum(each))
    return (temperature**2 if case.options.get("squared", True) else 1) * mean(rows)


@reference(Case("masked-lm", same=""))
def masked_lm(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    pairs = zip(student["logits"], batch.labels.tolist(), strict=True)
    return mean([-torch.log(softmax(row)[label]) for row, label in pairs if label != -100])

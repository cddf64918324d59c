"""References for objectives on relations between examples, of a batch or of a memory bank."""

from __future__ import annotations

from typing import Any

import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import CLASSES, Case
from tests.references.plain import mean, reference, relation_kl


@reference(
    Case("contrast", {"size": 6, "negatives": 4, "bank": 11, "seed": 5}, same=""),
    Case("contrast", {"size": 6, "negatives": 4, "bank": 11}, same="", layers=(2, 3)),
    Case("contrast", {"size": 6, "negatives": 4}, same=""),
)
def contrast(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values, bank, temperature = [], learned.bank.clone(), 0.07
    ours, theirs = (
        [side(torch.cat([layer[i] for layer in activations["cls"]])) for i in range(len(batch.attention_mask))]
        for side, activations in ((learned.student_map, student), (learned.teacher_map, teacher))
    )
    for a, b, negatives in zip(ours, theirs, learned.negatives(batch.rows).tolist(), strict=True):
        a, b = a / a.norm(), b / b.norm()
        true = torch.exp(a @ b / temperature)
        false = sum(torch.exp(a @ bank[row] / temperature) for row in negatives)
        values.append(-torch.log(true / (true + false)))
    return mean(values)


@reference(
    Case("noise-contrast", {"size": 6, "negatives": 4, "seed": 5}, same=""),
    Case("noise-contrast", {"size": 6, "negatives": 5, "other_classes": False}, same="", layers=(2, 3)),
)
def noise_contrast(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    """Return the loss of Tian et al. (2020), eq. 18-19, on the first batch, which sets both constants."""
    temperature, tiny, rows = 0.07, 1e-7, batch.rows.tolist()
    banks = learned.teacher_bank.clone(), learned.student_bank.clone()
    total, m, n = 0.0, case.options["negatives"], len(CLASSES)
    sides = zip((learned.student_map, learned.teacher_map), (student, teacher), banks, strict=True)
    negatives = learned.negatives(batch.rows).tolist()
    for side, activations, bank in sides:
        ends = [side(torch.cat([layer[i] for layer in activations["cls"]])) for i in range(len(rows))]
        scores = [
            [torch.exp((end / end.norm()) @ bank[b] / temperature) for b in [row, *drawn]]
            for end, row, drawn in zip(ends, rows, negatives, strict=True)
        ]
        constant = n * mean([score.detach() for of_row in scores for score in of_row])
        for own, *others in scores:
            total = total - torch.log(own / constant / (own / constant + m / n + tiny))
            total = total - sum(torch.log(m / n / (score / constant + m / n + tiny)) for score in others)
    return total / len(rows) / 2


@reference(Case("sample-similarity"))
def sample_similarity(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(relation_kl([(student["cls"],) * 2], [(teacher["cls"],) * 2]))


@reference(
    Case("sample-contrastive", same=""),
    Case("sample-contrastive", {"reading": "printed"}, same=""),
    Case("sample-contrastive", {"reading": "released"}, same=""),
)
def sample_contrastive(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    h = [*learned.map(student["cls"]), *teacher["cls"]]
    y, temperature = batch.labels.tolist() * 2, 0.07
    reported, released = (case.options.get("reading") == reading for reading in ("printed", "released"))
    if not reported:
        h = [x / x.norm() for x in h]

    def power(i: int, a: int) -> Tensor:
        if reported:
            return torch.exp(h[i] @ h[a]) / temperature
        return torch.exp(h[i] @ h[a] / temperature)

    inner = []
    for i in range(len(h)):
        others = [a for a in range(len(h)) if a != i]
        below = sum(power(i, a) for a in others)
        if released:
            below = below + 1e-7 * max(power(i, a) for a in range(len(h))).detach()
        inner.append(mean([-torch.log(power(i, p) / below) for p in others if y[p] == y[i]]))
    loss = mean([sum(inner) for _ in h]) if reported else mean(inner)
    return loss * temperature if released else loss

"""References for objectives on contrast with a memory bank."""

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
)


@reference(
    Case("contrast", {"size": 6, "negatives": 4, "bank": 11, "seed": 5}, same=""),
    Case("contrast", {"size": 6, "negatives": 4, "bank": 11}, same="", layers=(2, 3)),
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

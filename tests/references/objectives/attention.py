"""References for objectives on attention scores."""

from __future__ import annotations

import math
from typing import Any

import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import Case
from tests.references.plain import kl, lengths, mean, reference, softmax


@reference(
    Case("attention-mse"),
    Case("attention-mse", {"count_padding": True}),
    Case("attention-mse", {"zero_below": -0.5}),
)
def attention_mse(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values, zero = [], torch.zeros((), dtype=torch.float64)
    lowest = case.options.get("zero_below", -math.inf)
    for i, (n, keys) in enumerate(zip(lengths(batch, case), batch.attention_mask.sum(1).tolist(), strict=True)):
        for head in range(student["scores"].shape[1]):
            ours, theirs = (
                [zero if x <= lowest else x for x in activations["scores"][i, head, :n, :keys].flatten()]
                for activations in (student, teacher)
            )
            values += [(x - y) ** 2 for x, y in zip(ours, theirs, strict=True)] + [zero] * (n * (n - keys))
    return mean(values)


@reference(
    Case("attention-kl"),
    Case("attention-kl", {"padded_queries": True}),
    Case("attention-kl", {"floor": 0.1}, same=""),
)
def attention_kl(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    rows, columns = lengths(batch, case, "padded_queries"), batch.attention_mask.sum(1).tolist()
    for i, (queries, keys) in enumerate(zip(rows, columns, strict=True)):
        for head in range(student["scores"].shape[1]):
            for query in range(queries):
                p = softmax(teacher["scores"][i, head, query, :keys])
                q = softmax(student["scores"][i, head, query, :keys])
                values.append(kl(p, q, case.options.get("floor", 0.0)))
    return mean(values)

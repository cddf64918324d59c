"""References for objectives on the earth mover's distance between layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.optimize
import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import MANY_HEADS, Case
from tests.references.plain import mean, reference, squares


def layer_costs(student: Tensor, teacher: Tensor, kept: Callable[[Tensor], list[Tensor]]) -> list[list[Tensor]]:
    """Return the cost per unit from each student layer to each teacher layer; `kept` selects a layer's numbers."""
    return [[mean(squares(torch.stack(kept(s)), torch.stack(kept(t)))) for t in teacher] for s in student]


def earth_mover(costs: list[list[Tensor]], given: list[float], taken: list[float]) -> Tensor:
    """Return the cost of the cheapest transport, from its linear program: flows >= 0, row and column sums given."""
    rows, columns = len(given), len(taken)
    sums = [[float(i == row) for i in range(rows) for _ in range(columns)] for row in range(rows)]
    sums += [[float(j == column) for _ in range(rows) for j in range(columns)] for column in range(columns)]
    flat = [cost for row in costs for cost in row]
    used = [x / sum(given) for x in given] + [x / sum(taken) for x in taken]
    flow = scipy.optimize.linprog([float(cost.detach()) for cost in flat], A_eq=sums, b_eq=used).x
    return sum(float(carried) * cost for carried, cost in zip(flow, flat, strict=True))


@reference(
    Case("emd", layers=(2, 3)),
    Case("emd", {"smoothing": "share"}, layers=(2, 3)),
    Case("emd", {"attention": False, "map": "always"}, teacher=MANY_HEADS, layers=(3, 2)),
)
def emd(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    sizes = batch.attention_mask.sum(1).tolist()
    weights = learned.student_weights.tolist(), learned.teacher_weights.tolist()

    def tokens(layer: Tensor) -> list[Tensor]:
        return [x for i, n in enumerate(sizes) for x in layer[i, :n].flatten()]

    def pairs(layer: Tensor) -> list[Tensor]:
        return [x for i, n in enumerate(sizes) for x in layer[i, :, :n, :n].flatten()]

    total = earth_mover(layer_costs(learned.map(student["hidden"]), teacher["hidden"], tokens), *weights)
    if case.options.get("attention", True):
        total = total + earth_mover(layer_costs(student["scores"], teacher["scores"], pairs), *weights)
    return total

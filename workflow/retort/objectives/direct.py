"""An objective that compares queries, keys and values head by head, after a linear map for each head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from retort.batch import Batch
from retort.objectives.base import (
    Activations,
    MeanOver,
    Pair,
    counted,
    heads_of,
    mean_square,
    objectives,
    product,
    wide,
)


class HeadMaps(nn.Module):
    """One linear map for each relation head: (batch, heads, length, source) to (batch, heads, length, target).

    Args:
        heads: number of relation heads.
        source: the width of a student's relation head.
        target: the width of a teacher's relation head.
        orthogonal: keep each map's rows (its columns, where the target is smaller) orthonormal throughout training, by
            Cayley's formula from a skew-symmetric matrix: (I - A)^-1 (I + A).
    """

    def __init__(self, heads: int, source: int, target: int, orthogonal: bool) -> None:
        super().__init__()
        self.source, self.target, self.orthogonal = source, target, orthogonal
        if orthogonal:
            size = max(source, target)
            self.skew = nn.Parameter(torch.zeros(heads, size, size))  # starts as the identity, cut to the sizes
            return
        self.weight = nn.Parameter(torch.empty(heads, source, target))  # W_a: one matrix a head
        if source == target:
            nn.init.constant_(self.weight, 0)
            self.weight.data.diagonal(dim1=-2, dim2=-1).fill_(1)
        else:
            nn.init.uniform_(self.weight, -(source**-0.5), source**-0.5)  # the bounds of nn.Linear

    def matrices(self) -> Tensor:
        """Return the maps as matrices, (heads, source, target)."""
        if not self.orthogonal:
            return self.weight
        upper = self.skew.triu(1)  # (heads, size, size), only the part above the diagonal is used
        half = wide(upper - upper.mT) / 2  # A = -A^T, skew-symmetric; in float32, because solvers need it
        identity = torch.eye(half.shape[-1], dtype=half.dtype, device=half.device)
        # (I - A)^-1 (I + A), orthogonal; I - A is never singular, so the check of `solve`, which waits for the device,
        # is not needed
        rotation: Tensor = torch.linalg.solve_ex(identity - half, identity + half).result
        return rotation[:, : self.source, : self.target]

    def forward(self, x: Tensor) -> Tensor:
        """Return (batch, heads, length, target) for x (batch, heads, length, source)."""
        return product(x, self.matrices())


@objectives.register("direct")
class Direct(nn.Module):
    """Mean squared error between mapped queries, keys, values and the teacher's, summed over relation heads.

    Activations are (batch, length, width); the mean over real tokens and a head's width. DirectMiniLM (Udagawa et al.,
    2023), eq. 10: sum over queries, keys, values and over heads a of MSE(A_a^S W_a, A_a^T), each with its own map W_a.

    Args:
        heads: number of relation heads, which must divide both widths; None takes the teacher's attention heads.
        orthogonal: keep the maps orthogonal, so that equal mapped vectors mean equal products A A^T (eq. 11).
        count_padding: let padding tokens count like real ones.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    activations = ("queries", "keys", "values")
    divides_widths = ("heads", "teacher")
    reads_padding = {"count_padding": [True]}

    def __init__(
        self,
        shapes: Pair,
        *,
        heads: int | None = None,
        orthogonal: bool = False,
        count_padding: bool = False,
        mean_over: MeanOver = "tokens",
    ) -> None:
        super().__init__()
        self.heads = shapes.teacher.heads if heads is None else heads
        source, target = shapes.student.width // self.heads, shapes.teacher.width // self.heads
        self.maps = nn.ModuleList(
            HeadMaps(self.heads, source, target, orthogonal) for _ in self.activations
        )  # W_a of q, k, v
        self.count_padding, self.mean_over = count_padding, mean_over
        self.reduction = "examples" if count_padding or mean_over == "texts" else "tokens"

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mask = counted(batch, self.count_padding)
        losses = []
        for activation, maps in zip(self.activations, self.maps, strict=True):
            # (batch, length, width) -> (batch, heads, length, size) -> (batch, length, teacher width)
            mapped = maps(heads_of(wide(student[activation]), self.heads)).transpose(1, 2).flatten(2)
            # the sum over heads of means over a head's width = heads * the mean over the whole width
            losses.append(self.heads * mean_square(mapped, teacher[activation], mask, self.mean_over))
        return torch.stack(losses).sum()

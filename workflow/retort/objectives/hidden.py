"""Objectives that compare vectors, one for each token or each example, as they are or after a linear map."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from retort.batch import Batch
from retort.objectives.base import (
    REDUCTIONS,
    Activations,
    MeanOver,
    Pair,
    counted_tokens,
    heads_of,
    in_float32,
    mean_square,
    objectives,
    precise_product,
    token_mean,
)

MapRule = Literal["always", "widths-differ", "never"]


def linear_map(rule: MapRule, source: int, target: int) -> nn.Module:
    """Return a linear map without bias from the student's width to the teacher's, or the identity.

    Args:
        rule: "always" learns a map, which starts as the identity if the widths are equal; "widths-differ" learns one
            only if they differ; "never" compares the vectors as they are, so the widths must be equal.
        source: the student's width.
        target: the teacher's width.
    """
    if rule == "never" or (rule == "widths-differ" and source == target):
        return nn.Identity()
    learned = nn.Linear(source, target, bias=False)  # W_h of MLKD-BERT (2024), eq. 11
    if source == target:
        nn.init.eye_(learned.weight)  # the student often starts from the teacher's layers
    return learned


@objectives.register("hidden-cls")
class HiddenCls(nn.Module):
    """Mean squared error between the mapped student's and the teacher's [CLS] vector.

    Activations are (batch, width); the mean over the batch and the teacher's width. Wang et al. (2023), section 3,
    'Hid-CLS': L_hid = MSE(h^S W_h, h^T).

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    activations = ("cls",)
    reduction = "examples"
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        return F.mse_loss(
            in_float32(self.map(in_float32(student["cls"]))), in_float32(teacher["cls"])
        )  # (batch, teacher width)


@objectives.register("hidden-sequence")
class HiddenSequence(nn.Module):
    """Mean squared error between the mapped student's and the teacher's hidden states of all tokens.

    Activations are (batch, length, width); the mean over the batch's real tokens and the teacher's width. Wang et al.
    (2023), section 3, 'Hid-Seq': L_hid = MSE(H^S W_h, H^T); Udagawa et al. (2023), eq. 6; MLKD-BERT (2024), eq. 11.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
        one_map: all layers of the mapping share one map, as an equation with one W_h has it; else each has its own.
        count_padding: let padding tokens count like real ones.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    activations = ("hidden",)
    equal_widths = {"map": ["never"]}
    reads_padding = {"count_padding": [True]}

    def __init__(
        self,
        shapes: Pair,
        *,
        map: MapRule = "always",
        one_map: bool = False,
        count_padding: bool = False,
        mean_over: MeanOver = "tokens",
    ) -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.one_map, self.count_padding, self.mean_over = one_map, count_padding, mean_over
        self.reduction = "examples" if count_padding or mean_over == "texts" else "tokens"

    def share(self, first: HiddenSequence) -> None:
        """Take the map of the term's first pair of layers, if all its pairs have one."""
        self.map = first.map if self.one_map else self.map

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (batch, length, student width) -> (batch, length, teacher width)
        mapped, mask = self.map(in_float32(student["hidden"])), counted_tokens(batch, self.count_padding)
        return mean_square(mapped, teacher["hidden"], mask, self.mean_over)


@objectives.register("context-sequence")
class ContextSequence(nn.Module):
    """Mean squared error between the mapped student's and the teacher's attention outputs of all tokens.

    Activations are (batch, length, width), before the output projection; the mean over real tokens and the teacher's
    width. MLKD-BERT (2024), Table 6: eq. 11 applied to the attention sub-layer.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
        one_map: all layers of the mapping share one map, as an equation with one W_h has it; else each has its own.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    activations = ("context",)
    equal_widths = {"map": ["never"]}

    def __init__(
        self, shapes: Pair, *, map: MapRule = "always", one_map: bool = False, mean_over: MeanOver = "tokens"
    ) -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.one_map, self.mean_over, self.reduction = one_map, mean_over, REDUCTIONS[mean_over]

    def share(self, first: ContextSequence) -> None:
        """Take the map of the term's first pair of layers, if all its pairs have one."""
        self.map = first.map if self.one_map else self.map

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mapped = self.map(in_float32(student["context"]))  # (batch, length, teacher width)
        return mean_square(mapped, teacher["context"], batch.attention_mask, self.mean_over)


@objectives.register("hidden-cosine")
class HiddenCosine(nn.Module):
    """One minus the cosine between the student's and the teacher's hidden states, averaged over real tokens.

    Activations are (batch, length, width). DistilBERT (Sanh et al., 2019), section 2.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    activations = ("hidden",)
    reduction = "tokens"
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "widths-differ") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mapped = in_float32(self.map(in_float32(student["hidden"])))  # (batch, length, teacher width)
        # 1 - cos(h^S, h^T) of each token: (batch, length)
        return token_mean(1 - F.cosine_similarity(mapped, in_float32(teacher["hidden"]), dim=-1), batch.attention_mask)


@objectives.register("patient-cls")
class PatientCls(nn.Module):
    """Squared distance between the two [CLS] vectors after each is scaled to length one, averaged over the batch.

    Activations are (batch, width). Patient distillation (Sun et al., 2019), L_PT in section 3:
    |h^S / |h^S| - h^T / |h^T||^2.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
        width_mean: the mean of the squares over the width, as in the released code, and not their sum.
    """

    activations = ("cls",)
    reduction = "examples"
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "widths-differ", width_mean: bool = False) -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.factor = 1 / shapes.teacher.width if width_mean else 1.0

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mapped = F.normalize(
            in_float32(self.map(in_float32(student["cls"]))), dim=-1
        )  # (batch, teacher width), length one
        squares = (mapped - F.normalize(in_float32(teacher["cls"]), dim=-1)).square()
        return self.factor * squares.sum(-1).mean()  # the sum over the width, or its mean


@objectives.register("embedding-mse")
class EmbeddingMSE(nn.Module):
    """Mean squared error between the mapped student's and the teacher's embedding outputs.

    Activations are (batch, length, width); the mean over real tokens and the teacher's width. TinyBERT (Jiao et al.,
    2020): L_embd = MSE(E^S W_e, E^T).

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    level = "input"
    activations = ("embeddings",)
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always", mean_over: MeanOver = "tokens") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)  # W_e, without a bias
        self.mean_over, self.reduction = mean_over, REDUCTIONS[mean_over]

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (batch, length, student width) -> (batch, length, teacher width)
        mapped = self.map(in_float32(student["embeddings"]))
        return mean_square(mapped, teacher["embeddings"], batch.attention_mask, self.mean_over)


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
        half = in_float32(upper - upper.mT) / 2  # A = -A^T, skew-symmetric; in float32, because solvers need it
        identity = torch.eye(half.shape[-1], dtype=half.dtype, device=half.device)
        # (I - A)^-1 (I + A), orthogonal; I - A is never singular, so the check of `solve`, which waits for the device,
        # is not needed
        rotation: Tensor = torch.linalg.solve_ex(identity - half, identity + half).result
        return rotation[:, : self.source, : self.target]

    def forward(self, x: Tensor) -> Tensor:
        """Return (batch, heads, length, target) for x (batch, heads, length, source)."""
        return precise_product(x, self.matrices())


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
        mask = counted_tokens(batch, self.count_padding)
        losses = []
        for activation, maps in zip(self.activations, self.maps, strict=True):
            # (batch, length, width) -> (batch, heads, length, size) -> (batch, length, teacher width)
            mapped = maps(heads_of(in_float32(student[activation]), self.heads)).transpose(1, 2).flatten(2)
            # the sum over heads of means over a head's width = heads * the mean over the whole width
            losses.append(self.heads * mean_square(mapped, teacher[activation], mask, self.mean_over))
        return torch.stack(losses).sum()

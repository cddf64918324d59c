"""Objectives that compare vectors, one for each token or each example, as they are or after a linear map."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from retort.batch import Batch
from retort.objectives.base import (
    Activations,
    Pair,
    counted,
    heads_of,
    mean_square,
    objectives,
    one_of,
    product,
    token_mean,
    wide,
)

MapRule = Literal["always", "widths-differ", "never"]


def linear_map(rule: MapRule, source: int, target: int) -> nn.Module:
    """Return a linear map without bias from the student's width to the teacher's, or the identity.

    Args:
        rule: "always" learns a map, which starts as the identity where the widths agree; "widths-differ" learns one
            only where they differ; "never" compares the vectors as they are (`equal_widths`).
        source: the student's width.
        target: the teacher's width.
    """
    one_of("map", rule, get_args(MapRule))
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

    version = 1
    activations = ("cls",)
    reduction = "examples"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        return F.mse_loss(wide(self.map(wide(student["cls"]))), wide(teacher["cls"]))  # (batch, teacher width)


@objectives.register("hidden-sequence")
class HiddenSequence(nn.Module):
    """Mean squared error between the mapped student's and the teacher's hidden states of all tokens.

    Activations are (batch, length, width); the mean over the batch's real tokens and the teacher's width. Wang et al.
    (2023), section 3, 'Hid-Seq': L_hid = MSE(H^S W_h, H^T); Udagawa et al. (2023), eq. 6; MLKD-BERT (2024), eq. 11.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
        count_padding: let padding tokens count like real ones.
    """

    version = 1
    activations = ("hidden",)
    reduction = "tokens"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always", count_padding: bool = False) -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.count_padding = count_padding
        self.reduction = "examples" if count_padding else "tokens"  # with padding all examples have as many

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (batch, length, student width) -> (batch, length, teacher width)
        return mean_square(self.map(wide(student["hidden"])), teacher["hidden"], counted(batch, self.count_padding))


@objectives.register("context-sequence")
class ContextSequence(nn.Module):
    """Mean squared error between the mapped student's and the teacher's attention outputs of all tokens.

    Activations are (batch, length, width), before the output projection; the mean over real tokens and the teacher's
    width. MLKD-BERT (2024), Table 6: eq. 11 applied to the attention sub-layer.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    version = 1
    activations = ("context",)
    reduction = "tokens"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        return mean_square(self.map(wide(student["context"])), teacher["context"], batch.attention_mask)


@objectives.register("hidden-cosine")
class HiddenCosine(nn.Module):
    """One minus the cosine between the student's and the teacher's hidden states, averaged over real tokens.

    Activations are (batch, length, width). DistilBERT (Sanh et al., 2019), section 2.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    version = 1
    activations = ("hidden",)
    reduction = "tokens"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "widths-differ") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mapped = wide(self.map(wide(student["hidden"])))  # (batch, length, teacher width)
        # 1 - cos(h^S, h^T) of each token: (batch, length)
        return token_mean(1 - F.cosine_similarity(mapped, wide(teacher["hidden"]), dim=-1), batch.attention_mask)


@objectives.register("patient-cls")
class PatientCls(nn.Module):
    """Squared distance between the two [CLS] vectors after each is scaled to length one, averaged over the batch.

    Activations are (batch, width). Patient distillation (Sun et al., 2019), L_PT in section 3:
    |h^S / |h^S| - h^T / |h^T||^2.

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    version = 1
    activations = ("cls",)
    reduction = "examples"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "widths-differ") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mapped = F.normalize(wide(self.map(wide(student["cls"]))), dim=-1)  # (batch, teacher width), length one
        return (mapped - F.normalize(wide(teacher["cls"]), dim=-1)).square().sum(-1).mean()  # a sum over the width


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
            self.skew = nn.Parameter(torch.zeros(heads, size, size))  # gives the identity, cut where the sizes differ
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
        half = wide(upper - upper.mT) / 2  # A = -A^T, skew-symmetric; in float32, for no solver has 16 bits
        identity = torch.eye(half.shape[-1], dtype=half.dtype, device=half.device)
        # (I - A)^-1 (I + A), orthogonal; I - A is never singular, so solve_ex, which checks nothing and does not wait
        # for the device, is safe
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
    """

    version = 1
    activations = ("queries", "keys", "values")
    reduction = "tokens"
    has_parameters = True
    divides_widths = ("heads", "teacher")

    def __init__(
        self, shapes: Pair, *, heads: int | None = None, orthogonal: bool = False, count_padding: bool = False
    ) -> None:
        super().__init__()
        self.heads = shapes.teacher.heads if heads is None else heads
        source, target = shapes.student.width // self.heads, shapes.teacher.width // self.heads
        self.maps = nn.ModuleList(
            HeadMaps(self.heads, source, target, orthogonal) for _ in self.activations
        )  # W_a of q, k, v
        self.count_padding = count_padding
        self.reduction = "examples" if count_padding else "tokens"  # with padding all examples have as many

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        mask = counted(batch, self.count_padding)
        losses = []
        for activation, maps in zip(self.activations, self.maps, strict=True):
            # (batch, length, width) -> (batch, heads, length, size) -> (batch, length, teacher width)
            mapped = maps(heads_of(wide(student[activation]), self.heads)).transpose(1, 2).flatten(2)
            # the sum over heads of means over a head's width = heads * the mean over the whole width
            losses.append(self.heads * mean_square(mapped, teacher[activation], mask))
        return torch.stack(losses).sum()

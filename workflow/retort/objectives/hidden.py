"""Objectives that compare vectors, one for each token or each example, as they are or after a linear map."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from retort.batch import Batch
from retort.objectives.base import (
    REDUCTIONS,
    Activations,
    MeanOver,
    Pair,
    counted,
    mean_square,
    objectives,
    token_mean,
    wide,
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
        return F.mse_loss(wide(self.map(wide(student["cls"]))), wide(teacher["cls"]))  # (batch, teacher width)


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
        mapped, mask = self.map(wide(student["hidden"])), counted(batch, self.count_padding)
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
        mapped = self.map(wide(student["context"]))  # (batch, length, teacher width)
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
        mapped = F.normalize(wide(self.map(wide(student["cls"]))), dim=-1)  # (batch, teacher width), length one
        squares = (mapped - F.normalize(wide(teacher["cls"]), dim=-1)).square()
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
        mapped = self.map(wide(student["embeddings"]))
        return mean_square(mapped, teacher["embeddings"], batch.attention_mask, self.mean_over)

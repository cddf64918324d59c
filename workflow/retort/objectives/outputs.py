"""An objective that compares how the outputs of attention heads relate to each other inside one layer."""

from __future__ import annotations

import random
from typing import Literal, get_args

import torch
from torch import Tensor

from retort.batch import Batch
from retort.objectives.base import (
    JOINT,
    REDUCTIONS,
    Activations,
    MeanOver,
    Pair,
    hash_integers,
    objectives,
    one_of,
    required,
    wide,
)
from retort.objectives.relation_forms.choice import WEIGHTS, relation_divergence

Split = Literal["concat", "average", "random"]


@objectives.register("mha-output-relation")
class OutputRelation:
    """KL divergence between relations of the attention heads' outputs, averaged over splits and real tokens.

    Activations are (batch, length, width), before the output projection. MLKD-BERT (2024), eq. 8-10, where A_s is the
    number of splits: L_MHA = 1/(A_s |x|) sum_a sum_i KL(R_a,i^T || R_a,i^S) and R_a = softmax(O_a O_a^T / sqrt(d_s)).
    Section 4.5 has the two other ways to reduce the teacher's heads to the number of splits.

    Args:
        splits: number of splits of both outputs; None takes the student's attention heads.
        split: "concat" keeps the outputs of all teacher heads in a split, side by side; "average" takes their mean;
            "random" takes one of them.
        redraw: with "random", draw the teacher's heads for each batch, from the seed and the numbers of its rows; else
            they are drawn once.
        seed: seed of these draws.
        student_dropout: take the student's outputs from its forward pass, with dropout on the attention; else compute
            them without dropout.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    version = 1
    activations = ("context",)
    student_activations: tuple[str, ...] = ("context",)
    reduction = "tokens"
    divides_widths = ("splits", "student")
    holds_relations = True
    divides_teacher_heads = {"split": ["average", "random"]}

    def __init__(
        self,
        shapes: Pair,
        *,
        splits: int | None = None,
        split: Split = "concat",
        redraw: bool = False,
        seed: int = 0,
        student_dropout: bool = True,
        mean_over: MeanOver = "tokens",
    ) -> None:
        self.splits = shapes.student.heads if splits is None else splits
        self.split = one_of("split", split, get_args(Split))
        self.teacher_heads = shapes.teacher.heads
        self.members = max(1, self.teacher_heads // self.splits)  # teacher heads in a split
        draw = random.Random(seed)
        self.picks = [draw.randrange(self.members) for _ in range(self.splits)]  # one teacher head a split
        self.redraw, self.seed, self.mean_over = redraw and split == "random", seed, mean_over
        if not student_dropout:
            self.student_activations = ("undropped-context",)
        self.reduction = JOINT if self.redraw else REDUCTIONS[mean_over]  # the draw is of the whole batch

    def target(self, context: Tensor, batch: Batch) -> Tensor:
        """Return the teacher's outputs as (batch, length, splits * size), with the same size for each split."""
        if self.split == "concat":
            return context
        # (batch, length, splits, members, head size)
        size = context.shape[-1] // self.teacher_heads
        groups = context.reshape(*context.shape[:-1], self.splits, self.members, size)
        if self.split == "average":
            return wide(groups).mean(-2).flatten(-2)  # (batch, length, splits * head size)
        if self.redraw:
            each = torch.arange(self.splits, device=context.device)
            return groups[..., each, self.draw_heads(batch, each), :].flatten(-2)
        return torch.cat([groups[..., split, pick, :] for split, pick in enumerate(self.picks)], dim=-1)

    def draw_heads(self, batch: Batch, each: Tensor) -> Tensor:
        """Draw a teacher head for each split; return its number within the split, (splits,)."""
        rows = required(batch.rows, "mha-output-relation", "row numbers").to(each.device, non_blocking=True)
        first = hash_integers(self.seed + hash_integers(rows).sum())  # scalar, another one for another batch
        return hash_integers(first + each) % self.members

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        (name,), mask = self.student_activations, batch.attention_mask
        ours, theirs = student[name], self.target(teacher["context"], batch)
        weights = WEIGHTS[self.mean_over](mask, self.splits)
        # the splits stand where eq. 6 of MiniLMv2 has relation heads
        return relation_divergence((ours, ours), (theirs, theirs), self.splits, mask, weights)

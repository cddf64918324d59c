"""A contrastive objective with a memory of the teacher's vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from retort.objectives.base import Batch, Pair, Taps, objectives, product, required, wide

ODD = 0x9E3779B97F4A7C1  # a large odd number: neighbouring counts end up far apart
LOW = (1 << 31) - 1


def scattered(counts: Tensor) -> Tensor:
    """Pseudo-random integers from 0 to 2^31 - 1, the same for the same counts on every device."""
    for shift in (29, 32):
        counts = counts * ODD
        counts = counts ^ (counts >> shift)
    return (counts * ODD >> 31) & LOW


def end_to_end(vectors: Tensor) -> Tensor:
    """(batch, layers * width): the vectors (layers, batch, width) of each example, one layer's after the other."""
    return wide(vectors).transpose(0, 1).flatten(1)


@objectives.register("contrast")
class Contrast(nn.Module):
    """Contrastive loss that picks the teacher's [CLS] vector of the same example from those of other examples.

    Taps are (layers, batch, width); an example's vector is that of all layers of the mapping, end to end. Both sides
    are mapped to one small width and scaled to length one; the loss is the cross-entropy of the true pair among itself
    and its negatives. 'Hid-CLS-Contrast' of Wang et al. (2023), after CoDIR (Sun et al., 2020), with the memory bank of
    contrastive representation distillation (Tian et al., 2020).

    The bank starts with random vectors of length one. In training, each call moves the rows of its examples towards
    their new teacher vectors, after the loss. The negatives of an example depend on the seed, on the example and on
    the number of calls so far, which is saved with the bank: a resumed run draws what an unbroken one would.

    Args:
        size: the width that both sides are mapped to.
        negatives: how many other examples each pair is told from.
        temperature: divides the dot products.
        momentum: how much of a row of the bank stays when its example comes by.
        bank: rows of the bank; an example's row is its number in the data set modulo this.
        seed: of the bank's first vectors and of the negatives.
    """

    version = 1
    level = "layers"
    taps = ("cls",)
    over = "examples"
    learns = True
    bank: Tensor
    calls: Tensor

    def __init__(
        self,
        shapes: Pair,
        *,
        size: int = 128,
        negatives: int = 100,
        temperature: float = 0.07,
        momentum: float = 0.5,
        bank: int = 65536,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.student_map = nn.Linear(shapes.layers[0] * shapes.student.width, size)
        self.teacher_map = nn.Linear(shapes.layers[1] * shapes.teacher.width, size)
        self.count, self.temperature, self.momentum, self.seed = negatives, temperature, momentum, seed
        start = torch.randn(bank, size, generator=torch.Generator().manual_seed(seed))
        self.register_buffer("bank", F.normalize(start, dim=-1))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def negatives(self, rows: Tensor) -> Tensor:
        """(batch, negatives): rows of the bank at which this call's negatives stand, never an example's own."""
        each = torch.arange(self.count, device=rows.device)
        first = scattered(self.seed + scattered(self.calls + 1))
        drawn = scattered(scattered(first + rows[:, None]) + each)
        size = self.bank.shape[0]
        return (rows[:, None] + 1 + drawn % (size - 1)) % size

    def forward(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        rows = required(batch.rows, "contrast", "row numbers")
        ours = F.normalize(wide(self.student_map(end_to_end(student["cls"]))), dim=-1)
        theirs = F.normalize(wide(self.teacher_map(end_to_end(teacher["cls"]))), dim=-1)
        others = wide(self.bank[self.negatives(rows)])  # (batch, negatives, size)
        true = (ours * theirs).sum(-1, keepdim=True)
        false = product(others, ours[:, :, None]).squeeze(-1)
        scores = torch.cat([true, false], dim=-1) / self.temperature
        if self.training:
            self.remember(rows % self.bank.shape[0], theirs.detach())
        return -F.log_softmax(scores, dim=-1)[:, 0].mean()

    @torch.no_grad()
    def remember(self, rows: Tensor, vectors: Tensor) -> None:
        """Move rows of the bank towards vectors (batch, size), and count the call."""
        moved = self.momentum * self.bank[rows] + (1 - self.momentum) * vectors.to(self.bank.dtype)
        self.bank.index_copy_(0, rows, F.normalize(moved, dim=-1))
        self.calls += 1

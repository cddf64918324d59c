"""A contrastive objective with a memory bank of the teacher's vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from retort.batch import Batch
from retort.errors import RetortError
from retort.objectives.base import Activations, Pair, TrainingRows, objectives, product, required, wide
from retort.objectives.draws import draw_integers


def map_and_normalise(linear: nn.Linear, vectors: Tensor) -> Tensor:
    """Concatenate the layers of (layers, batch, width) vectors, map and scale them to length one: (batch, size)."""
    joined = wide(vectors).transpose(0, 1).flatten(1)  # (batch, layers * width)
    return F.normalize(wide(linear(joined)), dim=-1)


def bank_size(bank: int | None, rows: TrainingRows, name: str) -> int:
    """Return the number of rows of a memory bank.

    Args:
        bank: the option of the objective; None takes the number of training rows.
        rows: the training rows.
        name: the name of the objective, for the error.

    Raises:
        RetortError: the option is None and the number of training rows is unknown.
    """
    size = rows.count if bank is None else bank
    if size is None:
        raise RetortError(f"objective '{name}' needs the number of training rows", "set its option 'bank'")
    return max(2, size)  # with one row, an example would have no negative


@torch.no_grad()
def update_bank(bank: Tensor, rows: Tensor, vectors: Tensor, momentum: float) -> None:
    """Move rows of a bank towards their new vectors (batch, size), in place, and scale them to length one."""
    moved = momentum * bank[rows] + (1 - momentum) * vectors.to(bank.dtype)
    bank.index_copy_(0, rows, F.normalize(moved, dim=-1))


@objectives.register("contrast")
class Contrast(nn.Module):
    """Contrastive loss that picks the teacher's [CLS] vector of the same example from those of other examples.

    Activations are (layers, batch, width); the [CLS] vectors of all layers of the mapping are concatenated. Both sides
    are mapped to one small width and scaled to length one. With student vector s, teacher vector t, negatives n and
    temperature T, the loss of an example is -log(exp(s.t / T) / (exp(s.t / T) + sum_n exp(s.n / T))). The value is the
    mean over the batch. 'Hid-CLS-Contrast' of Wang et al. (2023), after CoDIR (Sun et al., 2020), with the memory bank
    of contrastive representation distillation (Tian et al., 2020).

    The bank starts with random vectors of length one. In training, each call first reads the negatives, then moves the
    rows of its examples towards their new teacher vectors. The negatives of an example depend on the seed, on the
    example and on the number of calls so far. Checkpoints hold that number with the bank, so a resumed run draws the
    same negatives as an unbroken one.

    Args:
        size: the width that both sides are mapped to.
        negatives: number of negatives of each example.
        temperature: divides the dot products.
        momentum: weight of the old vector when a row of the bank is updated; the new one has 1 - momentum.
        bank: number of rows of the bank; an example's row is its number in the data set modulo this. None takes the
            number of training rows.
        seed: seed of the bank's first vectors and of the negatives.
    """

    version = 1
    level = "layers"
    activations = ("cls",)
    reduction = "batch"  # a mean over examples, but each call changes the bank that the next one reads
    has_parameters = True
    bank: Tensor
    calls: Tensor
    limits = {
        "size": {"ge": 1, "le": 65536},
        "negatives": {"ge": 1, "le": 1000000},
        "temperature": {"ge": 0.001, "le": 1000},
        "momentum": {"ge": 0, "lt": 1},
        "bank": {"ge": 2, "le": 100000000},
    }

    def __init__(
        self,
        shapes: Pair,
        *,
        size: int = 128,
        negatives: int = 100,
        temperature: float = 0.07,
        momentum: float = 0.5,
        bank: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.student_map = nn.Linear(shapes.layers[0] * shapes.student.width, size)
        self.teacher_map = nn.Linear(shapes.layers[1] * shapes.teacher.width, size)
        self.count, self.temperature, self.momentum, self.seed = negatives, temperature, momentum, seed
        start = torch.randn(
            bank_size(bank, shapes.rows, "contrast"), size, generator=torch.Generator().manual_seed(seed)
        )
        self.register_buffer("bank", F.normalize(start, dim=-1))  # (bank, size)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def negatives(self, rows: Tensor) -> Tensor:
        """Return the bank rows of this call's negatives, (batch, negatives); never the example's own row."""
        drawn = draw_integers(self.seed, self.calls, rows, self.count)  # (batch, negatives)
        size = self.bank.shape[0]
        return (rows[:, None] + 1 + drawn % (size - 1)) % size  # own row + 1 ... own row + size - 1

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        rows = required(batch.rows, "contrast", "row numbers").to(self.bank.device, non_blocking=True)
        ours = map_and_normalise(self.student_map, student["cls"])  # s: (batch, size)
        theirs = map_and_normalise(self.teacher_map, teacher["cls"])  # t: (batch, size)
        others = wide(self.bank[self.negatives(rows)])  # n: (batch, negatives, size)
        true = (ours * theirs).sum(-1, keepdim=True)  # s.t: (batch, 1)
        false = product(others, ours[:, :, None]).squeeze(-1)  # s.n: (batch, negatives)
        scores = torch.cat([true, false], dim=-1) / self.temperature  # (batch, 1 + negatives)
        if self.training:
            self.remember(rows % self.bank.shape[0], theirs.detach())
        return -F.log_softmax(scores, dim=-1)[:, 0].mean()  # cross-entropy with the true pair, column 0

    @torch.no_grad()
    def remember(self, rows: Tensor, vectors: Tensor) -> None:
        """Move the given rows of the bank towards the vectors (batch, size), and count the call."""
        update_bank(self.bank, rows, vectors, self.momentum)
        self.calls += 1

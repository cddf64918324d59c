"""Objectives that compare how examples relate to each other: those of a batch, or of a memory bank."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from retort.batch import Batch
from retort.errors import RetortError
from retort.objectives.base import (
    NEVER,
    Activations,
    Pair,
    TrainingRows,
    draw_integers,
    in_float32,
    objectives,
    precise_product,
    required_values,
)
from retort.objectives.hidden import MapRule, linear_map

TINY = 1e-7  # of released code: keeps quotients of the contrastive losses finite
Reading = Literal["meant", "printed", "released"]


def map_and_normalise(linear: nn.Linear, vectors: Tensor) -> Tensor:
    """Concatenate the layers of (layers, batch, width) vectors, map and scale them to length one: (batch, size)."""
    joined = in_float32(vectors).transpose(0, 1).flatten(1)  # (batch, layers * width)
    return F.normalize(in_float32(linear(joined)), dim=-1)


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

    level = "layers"
    activations = ("cls",)
    joint = True  # a mean over examples, but each call changes the bank that the next one reads
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
        rows = required_values(batch.rows, "contrast", "row numbers").to(self.bank.device, non_blocking=True)
        ours = map_and_normalise(self.student_map, student["cls"])  # s: (batch, size)
        theirs = map_and_normalise(self.teacher_map, teacher["cls"])  # t: (batch, size)
        others = in_float32(self.bank[self.negatives(rows)])  # n: (batch, negatives, size)
        true = (ours * theirs).sum(-1, keepdim=True)  # s.t: (batch, 1)
        false = precise_product(others, ours[:, :, None]).squeeze(-1)  # s.n: (batch, negatives)
        scores = torch.cat([true, false], dim=-1) / self.temperature  # (batch, 1 + negatives)
        if self.training:
            update_bank(self.bank, rows % len(self.bank), theirs.detach(), self.momentum)
            self.calls += 1
        return -F.log_softmax(scores, dim=-1)[:, 0].mean()  # cross-entropy with the true pair, column 0


class OtherRows(nn.Module):
    """Draw rows of a data set for each row of a batch, from other classes than the row's own.

    Args:
        classes: the class of each row of the data set, (rows,).
    """

    order: Tensor
    classes: Tensor
    starts: Tensor
    sizes: Tensor

    def __init__(self, classes: np.ndarray) -> None:
        super().__init__()
        sizes = np.bincount(classes)  # (classes,)
        arrays = {
            "order": np.argsort(classes, kind="stable"),  # rows, class after class
            "classes": classes,
            "starts": np.cumsum(sizes) - sizes,  # (classes,), in the order
            "sizes": sizes,
        }
        for name, array in arrays.items():  # not saved: they follow from the rows
            self.register_buffer(name, torch.from_numpy(array.astype(np.int64)), persistent=False)

    def draw(self, rows: Tensor, numbers: Tensor) -> Tensor:
        """Return rows of other classes, (batch, draws).

        Args:
            rows: the rows of the batch, (batch,).
            numbers: a large random integer for each draw, (batch, draws).
        """
        own = self.classes[rows][:, None]  # (batch, 1)
        index = numbers % (len(self.order) - self.sizes[own])  # among the rows of other classes, in `order`
        return self.order[torch.where(index < self.starts[own], index, index + self.sizes[own])]


def classes_of(rows: TrainingRows, other_classes: bool) -> np.ndarray:
    """Return the class of each training row, (rows,).

    Args:
        rows: the training rows.
        other_classes: whether to use the labels as classes; if False, each row is a class of its own.

    Raises:
        RetortError: the labels are no classes, or all the same; or the number of rows is unknown.
    """
    if not other_classes:
        return np.arange(bank_size(None, rows, "noise-contrast"))
    labels = rows.labels
    if labels is None or labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or len(np.unique(labels)) < 2:
        what = "objective 'noise-contrast' draws rows of other classes, and the training rows have no two classes"
        raise RetortError(what, "set its option 'other_classes: false'")
    return labels


@objectives.register("noise-contrast")
class NoiseContrast(nn.Module):
    """Noise-contrastive loss that tells the true pair of [CLS] vectors from pairs with other examples, both ways.

    Activations are (layers, batch, width); the [CLS] vectors of all layers of the mapping are concatenated, mapped to
    one small width and scaled to length one. Each model has a bank with a vector for each training row.

    Take a vector v of one model, m rows drawn from the other model's bank of n rows, and the temperature T. A pair with
    row b has P(b) = exp(v.b / T) / Z, where the constant Z is n times the mean of exp(v.b / T) over the first batch.
    The loss of an example is -log(P(own) / (P(own) + m/n)) - sum_b log((m/n) / (P(b) + m/n)). The value is the mean
    over the batch and over both directions: student vectors against the teacher's bank, and teacher vectors against the
    student's. Contrastive representation distillation (Tian et al., 2020), eq. 18-19, as in the released code of Wang
    et al. (2023). The text of Wang et al. has 'contrast' instead.

    The banks start with random vectors. In training, each call moves the rows of its examples towards their new
    vectors, after it has read the banks. The draws depend on the seed, on the example and on the number of calls.

    Args:
        size: the width that both sides are mapped to.
        negatives: number of rows that are drawn for each example (m); a row may be drawn twice.
        temperature: divides the dot products (T).
        momentum: weight of the old vector when a row of a bank is updated; the new one has 1 - momentum.
        other_classes: draw rows of other classes than the example's own; else any other rows.
        seed: seed of the banks' first vectors and of the draws.
    """

    level = "layers"
    activations = ("cls",)
    joint = True  # each call changes the banks that the next one reads
    student_bank: Tensor
    teacher_bank: Tensor
    constants: Tensor
    calls: Tensor
    limits = {
        "size": {"ge": 1, "le": 65536},
        "negatives": {"ge": 1, "le": 1000000},
        "temperature": {"ge": 0.02, "le": 1000},
        "momentum": {"ge": 0, "lt": 1},
    }

    def __init__(
        self,
        shapes: Pair,
        *,
        size: int = 128,
        negatives: int = 100,
        temperature: float = 0.07,
        momentum: float = 0.5,
        other_classes: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.student_map = nn.Linear(shapes.layers[0] * shapes.student.width, size)
        self.teacher_map = nn.Linear(shapes.layers[1] * shapes.teacher.width, size)
        self.count, self.temperature, self.momentum, self.seed = negatives, temperature, momentum, seed
        self.others = OtherRows(classes_of(shapes.rows, other_classes))
        rows = bank_size(None, shapes.rows, "noise-contrast")
        generator, bound = torch.Generator().manual_seed(seed), (3 / size) ** 0.5  # of a length of about one
        for side in ("student", "teacher"):
            start = torch.rand(rows, size, generator=generator) * 2 * bound - bound
            self.register_buffer(f"{side}_bank", start)  # (rows, size)
        self.register_buffer("constants", torch.zeros(2))  # Z of both directions; 0: not set yet
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def negatives(self, rows: Tensor) -> Tensor:
        """Return the rows that this call draws for each example, (batch, negatives)."""
        return self.others.draw(rows, draw_integers(self.seed, self.calls, rows, self.count))

    def direction(self, vectors: Tensor, bank: Tensor, rows: Tensor, number: int) -> Tensor:
        """Return the scalar loss of one model's vectors against the other model's bank.

        Args:
            vectors: the vectors, (batch, size).
            bank: the bank of the other model, (rows, size).
            rows: for each vector the row of its own example, then those of the negatives, (batch, 1 + negatives).
            number: the index of the direction in `constants`.
        """
        count = len(bank)
        scores = (
            precise_product(in_float32(bank[rows]), vectors[:, :, None]).squeeze(-1) / self.temperature
        )  # (batch, 1 + negatives)
        fresh = scores.detach().exp().mean() * count
        constant = torch.where(self.constants[number] == 0, fresh, self.constants[number])
        if self.training:
            self.constants[number] = constant
        noise = self.count / count  # m / n
        pairs = scores.exp() / constant  # P: (batch, 1 + negatives)
        below = torch.log(pairs + noise + TINY)
        true = scores[:, 0] - torch.log(constant) - below[:, 0]  # log P(own) / (P(own) + m/n)
        false = torch.log(torch.full_like(below[:, 1:], noise)) - below[:, 1:]  # log (m/n) / (P(b) + m/n)
        return -(true + false.sum(1)).mean()

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        rows = required_values(batch.rows, "noise-contrast", "row numbers").to(self.calls.device, non_blocking=True)
        ours = map_and_normalise(self.student_map, student["cls"])  # (batch, size)
        theirs = map_and_normalise(self.teacher_map, teacher["cls"])  # (batch, size)
        pairs = torch.cat([rows[:, None], self.negatives(rows)], dim=1)  # (batch, 1 + negatives), the true row first
        value = self.direction(ours, self.teacher_bank, pairs, 0) + self.direction(theirs, self.student_bank, pairs, 1)
        if self.training:
            update_bank(self.student_bank, rows, ours.detach(), self.momentum)
            update_bank(self.teacher_bank, rows, theirs.detach(), self.momentum)
            self.calls += 1
        return value / 2  # the mean of both directions


@objectives.register("sample-similarity")
class SampleSimilarity:
    """KL divergence between softmax(G G^T / sqrt(width)) of the [CLS] vectors of a batch, averaged over examples.

    Activations are (batch, width), of the last layers. MLKD-BERT (2024), eq. 13-15:
    L_SS = 1/b sum_i KL(R_i^T || R_i^S).
    """

    activations = ("cls",)
    joint = True

    def __init__(self, shapes: Pair) -> None:
        pass

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # log R of eq. 14-15: (batch, batch)
        ours, theirs = (
            F.log_softmax(precise_product(x, x.mT) / math.sqrt(x.shape[-1]), dim=-1)
            for x in (student["cls"], teacher["cls"])
        )
        return F.kl_div(ours, theirs, reduction="batchmean", log_target=True)  # eq. 13: 1/b sum_i


@objectives.register("sample-contrastive")
class SampleContrastive(nn.Module):
    """Supervised contrastive loss that draws together [CLS] vectors, of both models, of examples with equal labels.

    Activations are (batch, width), of the last layers; the student's vectors are mapped to the teacher's width, and the
    2 * batch vectors of both models are stacked. MLKD-BERT (2024), eq. 16-17, can be read in several ways:

    - "meant" is the loss that the paper cites (Khosla et al., 2020): vectors of length one, the temperature inside the
      exponent, and the mean over all vectors.
    - "printed" is the formula to the letter: vectors as they are, the temperature outside the exponent, where it
      cancels, and a sum over all vectors inside a mean over all vectors, which is a plain sum.
    - "released" is the public code of the authors: as meant, times the temperature, and with 1e-7 added to the sum in
      the denominator, whose terms are divided by the largest term of all vectors, the own one included.

    Args:
        temperature: rho in eq. 17.
        reading: "meant", "printed" or "released".
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    data = "task"
    activations = ("cls",)
    joint = True
    equal_widths = {"map": ["never"]}
    limits = {"temperature": {"ge": 0.001, "le": 1000}}

    def __init__(
        self,
        shapes: Pair,
        *,
        temperature: float = 0.07,
        reading: Reading = "meant",
        map: MapRule = "always",
    ) -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.temperature, self.reading = temperature, reading

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss.

        Raises:
            RetortError: the batch has no labels, or several of each example.
        """
        labels = required_values(batch.labels, "sample-contrastive")
        if labels.ndim > 1:  # the first and the last token of a span
            what = f"compares examples by one label each, and these have {labels.shape[-1]}"
            raise RetortError(f"objective 'sample-contrastive' {what}", "name their task in the 'not_on' of its term")
        labels = labels.repeat(2)  # y: (2 batch,)
        vectors = torch.cat(
            [in_float32(self.map(in_float32(student["cls"]))), in_float32(teacher["cls"])]
        )  # H: (2 batch, width)
        if self.reading != "printed":
            vectors = F.normalize(vectors, dim=-1)
        scores = precise_product(vectors, vectors.mT)  # h_i . h_a: (2 batch, 2 batch)
        if self.reading != "printed":
            scores = scores / self.temperature
        own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)  # A(i) leaves i itself out
        others = scores.masked_fill(own, NEVER)
        # log of exp(h_i . h_p / rho) / sum over A(i), eq. 17; as reported, rho cancels
        log_p = F.log_softmax(others, dim=-1)
        if self.reading == "released":  # the sum is larger by 1e-7 times the largest term
            largest = scores.detach().amax(-1, keepdim=True)
            log_p = log_p - F.softplus(largest + math.log(TINY) - others.logsumexp(-1, keepdim=True))
        positive = (labels[:, None] == labels[None, :]) & ~own  # P(i); never empty: the other model's vector is in it
        losses = -torch.where(positive, log_p, 0).sum(-1) / positive.sum(-1)  # 1/|P(i)| sum over P(i): (2 batch,)
        value = losses.sum() if self.reading == "printed" else losses.mean()
        return self.temperature * value if self.reading == "released" else value

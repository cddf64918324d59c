"""References for students as released: the losses that the papers' public code computes, from what both models compute.

Each is written from that code, slow and obvious, in float64: mainlp/How-to-distill-your-BERT (wang2023) and
HandH1998/tmp_bert_mlkd, branches bert_mlkd and bert_mlkd_rand_head (mlkd2024). That code pads rows, and counts padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from retort.batch import Batch
from torch import Tensor

TINY = 1e-7


@dataclass
class Model:
    """What one model computes on a batch.

    Args:
        hidden: the states of all positions after the embeddings and after each layer, (batch, length, width) each.
        queries: of each layer, (batch, length, width); keys and values too.
        logits: (batch, classes).
        words: the word embeddings alone, after the layer norm of the embeddings, (batch, length, width).
        heads: the number of attention heads.
        real: (batch, length), True at real tokens.
    """

    hidden: list[Tensor]
    queries: list[Tensor]
    keys: list[Tensor]
    values: list[Tensor]
    logits: Tensor
    words: Tensor
    heads: int
    real: Tensor

    def scores(self, layer: int) -> Tensor:
        """Return attention scores before softmax, -inf where the key is padding: (batch, heads, query, key)."""
        queries, keys = (split(x[layer - 1], self.heads) for x in (self.queries, self.keys))
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
        return scores.masked_fill(~self.real[:, None, None, :], -math.inf)

    def outputs(self, layer: int) -> Tensor:
        """Return the outputs of all heads without dropout, side by side: (batch, length, width)."""
        of_heads = self.scores(layer).softmax(-1) @ split(self.values[layer - 1], self.heads)
        return of_heads.transpose(1, 2).flatten(2)

    @property
    def first(self) -> list[Tensor]:
        """The state of the first position after the embeddings and after each layer, (batch, width) each."""
        return [states[:, 0] for states in self.hidden]


@dataclass
class Example:
    """Both models on one batch.

    Args:
        student: the student.
        teacher: the teacher.
        batch: the batch, of which only the labels and the numbers of the rows are read.
        learned: for each term of the loss, the objective of each pair of layers, of which only maps and banks are read.
    """

    student: Model
    teacher: Model
    batch: Batch
    learned: list[list[Any]]

    def every(self, layers: int) -> Iterator[tuple[int, int]]:
        """Yield (student layer, teacher layer): each student layer with the last of its block of teacher layers."""
        block = (len(self.teacher.hidden) - 1) // layers
        yield from ((layer, block * layer) for layer in range(1, layers + 1))


Reference = Callable[[Example], Tensor]
REFERENCES: dict[tuple[str, int], Reference] = {}  # (student, number of its stage) -> the loss of its stage


def released(*stages: tuple[str, int]) -> Callable[[Reference], Reference]:
    """Return a decorator that makes a function the reference of these stages, (student, number) each."""

    def add(function: Reference) -> Reference:
        REFERENCES.update(dict.fromkeys(stages, function))
        return function

    return add


def split(x: Tensor, heads: int) -> Tensor:
    """Split (batch, length, width) into (batch, heads, length, width / heads)."""
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def divergence(teacher: Tensor, student: Tensor) -> Tensor:
    """Return KL(teacher || student) of distributions over the last dimension."""
    return (teacher * (teacher / student).log()).sum(-1)


def related(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean divergence of the rows of softmax(X X^T / sqrt(size)); X is (..., positions, size)."""
    ours, theirs = ((x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])).softmax(-1) for x in (student, teacher))
    return divergence(theirs, ours).mean()


# --- How to Distill your BERT (2023): task_specific_distillation, methods/method_comparison.py and crd


@released(("wang2023-hid-seq-released", 1))
def hidden_states(example: Example) -> Tensor:
    pairs = [(0, 0), *example.every(3)]
    both = [(example.student.hidden[s], example.teacher.hidden[t]) for s, t in pairs]
    return sum((ours - theirs).square().mean() for ours, theirs in both)


@released(("wang2023-att-mse-released", 1))
def attention_scores(example: Example) -> Tensor:
    total = 0.0
    for s, t in example.every(3):
        ours, theirs = example.student.scores(s), example.teacher.scores(t)
        ours, theirs = (torch.where(scores <= -100, 0, scores) for scores in (ours, theirs))
        total = total + (ours - theirs).square().mean()
    return total


@released(("wang2023-att-kl-released", 1))
def attention_distributions(example: Example) -> Tensor:
    total = 0.0
    for s, t in example.every(3):
        ours, theirs = example.student.scores(s).softmax(-1), example.teacher.scores(t).softmax(-1)
        logs = theirs * (theirs.clamp(min=1e-300).log() - ours.clamp(min=TINY).log())  # 0 log 0 is 0
        total = total + logs.sum(-1).mean()
    return total


@released(("wang2023-hid-cls-contrast-released", 1))
def noise_contrast(example: Example) -> Tensor:
    """Return the loss of the first batch, which sets both constants."""
    ((objective,),) = example.learned
    rows: Any = example.batch.rows
    drawn = objective.negatives(rows)
    ours = objective.student_map(torch.cat(example.student.first, dim=-1))
    theirs = objective.teacher_map(torch.cat(example.teacher.first, dim=-1))
    total = 0.0
    for vectors, bank in ((ours, objective.teacher_bank), (theirs, objective.student_bank)):
        n, m, bank = len(bank), drawn.shape[1], bank.clone()
        powers = []
        for vector, row, others in zip(vectors, rows, drawn, strict=True):
            vector = vector / vector.norm()
            powers.append(torch.stack([torch.exp(vector @ bank[b] / 0.07) for b in (row, *others)]))
        constant = torch.stack(powers).detach().mean() * n
        for own, *others in powers:
            total = total - torch.log(own / constant / (own / constant + m / n + TINY))
            total = total - sum(torch.log(m / n / (other / constant + m / n + TINY)) for other in others)
    return total / len(rows) / 2


@released(*((f"wang2023-{name}-released", 2) for name in ("hid-seq", "att-mse", "att-kl", "hid-cls-contrast")))
def predictions(example: Example) -> Tensor:
    return divergence(example.teacher.logits.softmax(-1), example.student.logits.softmax(-1)).mean()


# --- MLKD-BERT (2024): task_distill.py and losses.py


def first_stage(example: Example, outputs: Tensor) -> Tensor:
    """Return L_EMB + L_MHA + L_FFN; `outputs` is L_MHA."""
    maps = [objective.map for objective in example.learned[2]]
    pairs = zip(maps, [(0, 0), *example.every(4)], strict=True)
    states = [
        (linear(example.student.hidden[s]) - example.teacher.hidden[t]).square().mean() for linear, (s, t) in pairs
    ]
    return related(example.student.words, example.teacher.words) + outputs + sum(states)


@released(("mlkd2024-4-released", 1))
def all_heads(example: Example) -> Tensor:
    both = [(example.student.outputs(s), example.teacher.outputs(t)) for s, t in example.every(4)]
    return first_stage(example, sum(related(split(ours, 12), split(theirs, 12)) for ours, theirs in both))


@released(("mlkd2024-4-6-heads-random-released", 1))
def drawn_heads(example: Example) -> Tensor:
    """Return the loss with our draw of heads, which is the same in all layers."""
    total = 0.0
    for objective, (s, t) in zip(example.learned[1], example.every(4), strict=True):
        each = torch.arange(6)
        picked = 2 * each + objective.draw_heads(example.batch, each)  # one head of each two
        ours, theirs = split(example.student.outputs(s), 6), split(example.teacher.outputs(t), 12)[:, picked]
        total = total + related(ours, theirs)
    return first_stage(example, total)


@released(("mlkd2024-4-released", 2), ("mlkd2024-4-6-heads-random-released", 2))
def second_stage(example: Example) -> Tensor:
    """Return L_SS + L_SC + L_KD."""
    (_, (contrast,), _), student, teacher = example.learned, example.student, example.teacher
    similar = related(student.first[-1], teacher.first[-1])
    vectors = [x / x.norm() for x in (*contrast.map(student.first[-1]), *teacher.first[-1])]
    labels, losses = example.batch.labels.tolist() * 2, []
    for i, vector in enumerate(vectors):
        logits = torch.stack([vector @ other / 0.07 for other in vectors])
        logits = logits - logits.max().detach()
        others = [a for a in range(len(vectors)) if a != i]
        below = torch.log(sum(torch.exp(logits[a]) for a in others) + TINY)
        positive = [logits[a] - below for a in others if labels[a] == labels[i]]
        losses.append(-0.07 * sum(positive) / len(positive))
    soft = -(teacher.logits.softmax(-1) * student.logits.log_softmax(-1)).mean()
    return similar + sum(losses) / len(losses) + soft

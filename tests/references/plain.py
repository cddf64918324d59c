"""What references are written with: their registry, and loops over numbers, rows and heads.

A reference computes an objective as its paper writes it: plain loops over examples, heads and real tokens, without
attention masks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import Case

Reference = Callable[[Activations, Activations, Batch, Case, Any], Tensor]
REFERENCES: dict[str, Reference] = {}  # objective -> its reference
CASES: list[Case] = []  # the cases of all references


def reference(*cases: Case) -> Callable[[Reference], Reference]:
    """Return a decorator that makes a function the reference of an objective, for these cases of it.

    The function takes the activations of student and teacher, the batch, the case (options and sizes) and the built
    objective, of which it reads only the learned parameters and the stored state.
    """

    def add(function: Reference) -> Reference:
        REFERENCES[cases[0].name] = function
        CASES.extend(cases)
        return function

    return add


def cases_of(name: str) -> list[Case]:
    """Return the cases of an objective, at least one."""
    cases = [case for case in CASES if case.name == name]
    assert cases, f"objective '{name}' has no reference: add one to tests/references/objectives"
    return cases


def lengths(batch: Batch, case: Case, *switches: str) -> list[int]:
    """Return how many tokens of each example count: the real ones, or all if the case turns one of `switches` on."""
    if any(case.options.get(switch) for switch in switches or ("count_padding",)):
        return [batch.attention_mask.shape[1]] * len(batch.attention_mask)
    return batch.attention_mask.sum(1).tolist()


def mean(values: list[Tensor]) -> Tensor:
    return sum(values) / len(values)


def mean_of_texts(values: list[list[Tensor]], case: Case) -> Tensor:
    """Return the mean over all values of all texts, or over texts of each text's mean if the case says so."""
    if case.options.get("mean_over") == "texts" or case.options.get("normaliser") == "mean-of-texts":
        return mean([mean(of_text) for of_text in values])
    return mean([value for of_text in values for value in of_text])


def softmax(row: Tensor) -> Tensor:
    powers = torch.exp(row)
    return powers / powers.sum()


def kl(p: Tensor, q: Tensor, floor: float = 0.0) -> Tensor:
    return (p * torch.log(p / torch.where(q > floor, q, floor))).sum()


def squares(a: Tensor, b: Tensor) -> list[Tensor]:
    return list(((a - b) ** 2).flatten())


def vectors(student: Tensor, teacher: Tensor, batch: Batch, case: Case) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the student's and the teacher's vector of each token that counts."""
    for example, length in enumerate(lengths(batch, case)):
        for token in range(length):
            yield student[example, token], teacher[example, token]


def chunks(x: Tensor, heads: int) -> list[Tensor]:
    """Split (length, width) into one (length, width / heads) for each head."""
    size = x.shape[1] // heads
    return [x[:, head * size : (head + 1) * size] for head in range(heads)]


def relation_rows(a: Tensor, b: Tensor) -> list[Tensor]:
    """Return softmax(a b^T / sqrt(width)), row by row."""
    return [softmax(b @ x / math.sqrt(a.shape[1])) for x in a]


def relation_kl(
    ours: list[tuple[Tensor, Tensor]], theirs: list[tuple[Tensor, Tensor]], floor: float = 0.0
) -> list[Tensor]:
    """Return the divergence of every row of every head; a head is a pair of (rows, width) and (columns, width)."""
    values = []
    for (a, b), (c, d) in zip(ours, theirs, strict=True):
        values += [kl(p, q, floor) for q, p in zip(relation_rows(a, b), relation_rows(c, d), strict=True)]
    return values


def related(
    activations: Activations, a: str, b: str, heads: int, i: int, rows: int, columns: int
) -> list[tuple[Tensor, Tensor]]:
    """Return, for each head, the pair of a relation: row vectors of one activation, column vectors of another."""
    return list(zip(chunks(activations[a][i, :rows], heads), chunks(activations[b][i, :columns], heads), strict=True))


def activation_relation(activation: str, heads: Callable[[Case], int]) -> Callable[..., Tensor]:
    def compute(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
        values = []
        sizes = (lengths(batch, case, switch, "count_padding") for switch in ("padded_queries", "padded_keys"))
        for i, (rows, columns) in enumerate(zip(*sizes, strict=True)):
            ours, theirs = (
                related(activations, activation, activation, heads(case), i, rows, columns)
                for activations in (student, teacher)
            )
            values.append(relation_kl(ours, theirs, case.options.get("floor", 0.0)))
        return mean_of_texts(values, case)

    return compute


def sequence_mse(activation: str) -> Callable[..., Tensor]:
    def compute(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
        values = []
        for i, length in enumerate(lengths(batch, case)):
            values.append(squares(learned.map(student[activation][i, :length]), teacher[activation][i, :length]))
        return mean_of_texts(values, case)

    return compute

"""Every objective as its paper writes it: loops over examples, heads and real tokens, no mask, nothing clever.

Each takes the taps of both models, the batch, the case with its options and sizes, and the objective, of which it reads
what is learned or remembered and nothing else.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from retort.objectives import Batch, Taps
from torch import Tensor

from tests.references.examples import Case

LETTERS = {"q": "queries", "k": "keys", "v": "values"}


def lengths(batch: Batch, case: Case) -> list[int]:
    """How many tokens of each example count."""
    if case.options.get("count_padding"):
        return [batch.mask.shape[1]] * len(batch.mask)
    return batch.mask.sum(1).tolist()


def mean(values: list[Tensor]) -> Tensor:
    return sum(values) / len(values)


def softmax(row: Tensor) -> Tensor:
    powers = [torch.exp(x) for x in row]
    return torch.stack(powers) / sum(powers)


def kl(p: Tensor, q: Tensor) -> Tensor:
    return sum(a * torch.log(a / b) for a, b in zip(p, q, strict=True))


def squares(a: Tensor, b: Tensor) -> list[Tensor]:
    return [(x - y) ** 2 for x, y in zip(a.flatten(), b.flatten(), strict=True)]


def vectors(student: Tensor, teacher: Tensor, batch: Batch, case: Case) -> Iterator[tuple[Tensor, Tensor]]:
    """The two vectors of each token that counts."""
    for example, length in enumerate(lengths(batch, case)):
        for token in range(length):
            yield student[example, token], teacher[example, token]


def chunks(x: Tensor, heads: int) -> list[Tensor]:
    """(length, width) as one (length, width / heads) a head."""
    size = x.shape[1] // heads
    return [x[:, head * size : (head + 1) * size] for head in range(heads)]


def relation_rows(a: Tensor, b: Tensor) -> list[Tensor]:
    """softmax(a b^T / root of width), row by row."""
    return [softmax(torch.stack([x @ y for y in b]) / math.sqrt(a.shape[1])) for x in a]


def relation_kl(ours: list[tuple[Tensor, Tensor]], theirs: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """The divergence of every row of every head; a head is a pair of (length, width)."""
    values = []
    for (a, b), (c, d) in zip(ours, theirs, strict=True):
        values += [kl(p, q) for q, p in zip(relation_rows(a, b), relation_rows(c, d), strict=True)]
    return values


def tap_relation(tap: str, heads: Callable[[Case], int]) -> Callable[..., Tensor]:
    def form(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
        values = []
        for i, n in enumerate(lengths(batch, case)):
            ours = [(x, x) for x in chunks(student[tap][i, :n], heads(case))]
            theirs = [(x, x) for x in chunks(teacher[tap][i, :n], heads(case))]
            values += relation_kl(ours, theirs)
        return mean(values)

    return form


def distributions(logits: Tensor, batch: Batch) -> list[Tensor]:
    """The rows of logits that are one distribution each: of an answer's ends, the real tokens alone."""
    if logits.dim() == 2:
        return list(logits)
    return [logits[i, :n, end] for i, n in enumerate(batch.mask.sum(1).tolist()) for end in (0, 1)]


def supervised(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    rows = distributions(student["logits"], batch)
    if case.student.classes == 1:
        return mean([(row[0] - label) ** 2 for row, label in zip(rows, batch.labels, strict=True)])
    return mean([-torch.log(softmax(row)[label]) for row, label in zip(rows, batch.labels.flatten(), strict=True)])


def soft_labels(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    if case.student.classes == 1:
        return mean(squares(student["logits"], teacher["logits"]))
    rows, temperature = [], case.options.get("temperature", 1)
    both = (distributions(taps["logits"], batch) for taps in (student, teacher))
    for ours, theirs in zip(*both, strict=True):
        q, p = softmax(ours / temperature), softmax(theirs / temperature)
        below = p if case.options.get("divergence") else torch.ones_like(p)
        rows.append(sum(a * torch.log(c / b) for a, b, c in zip(p, q, below, strict=True)))
    return (temperature**2 if case.options.get("squared", True) else 1) * mean(rows)


def masked_lm(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    pairs = zip(student["logits"], batch.labels.tolist(), strict=True)
    return mean([-torch.log(softmax(row)[label]) for row, label in pairs if label != -100])


def cls_mse(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(squares(learned.map(student["cls"]), teacher["cls"]))


def sequence_mse(tap: str) -> Callable[..., Tensor]:
    def form(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
        values = []
        for ours, theirs in vectors(student[tap], teacher[tap], batch, case):
            values += squares(learned.map(ours), theirs)
        return mean(values)

    return form


def hidden_cosine(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for ours, theirs in vectors(student["hidden"], teacher["hidden"], batch, case):
        a = learned.map(ours)
        values.append(1 - a @ theirs / (a.norm() * theirs.norm()))
    return mean(values)


def patient_cls(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for ours, theirs in zip(learned.map(student["cls"]), teacher["cls"], strict=True):
        values.append(sum(squares(ours / ours.norm(), theirs / theirs.norm())))
    return mean(values)


def attention_mse(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for i, n in enumerate(lengths(batch, case)):
        for head in range(student["scores"].shape[1]):
            values += squares(student["scores"][i, head, :n, :n], teacher["scores"][i, head, :n, :n])
    return mean(values)


def attention_kl(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for i, n in enumerate(lengths(batch, case)):
        for head in range(student["scores"].shape[1]):
            for query in range(n):
                p = softmax(teacher["scores"][i, head, query, :n])
                values.append(kl(p, softmax(student["scores"][i, head, query, :n])))
    return mean(values)


def relations(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    heads, total = case.options["heads"], 0.0
    pairs = case.options.get("pairs", ["q-q", "k-k", "v-v"])
    for pair, weight in zip(pairs, case.options.get("weights", [1] * len(pairs)), strict=True):
        a, b = (LETTERS[letter] for letter in pair.split("-"))
        rows = []
        for i, n in enumerate(lengths(batch, case)):
            ours, theirs = (
                list(zip(chunks(taps[a][i, :n], heads), chunks(taps[b][i, :n], heads), strict=True))
                for taps in (student, teacher)
            )
            rows += relation_kl(ours, theirs)
        tokens = sum(lengths(batch, case))
        below = tokens if case.options.get("normaliser") == "sum" else tokens * heads
        total = total + weight * sum(rows) / below
    return total


def direct(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    total, heads = 0.0, case.options.get("heads", case.teacher.heads)
    for tap, maps in zip(("queries", "keys", "values"), learned.maps, strict=True):
        matrices = maps.matrices()
        for head in range(heads):
            values = []
            for i, n in enumerate(lengths(batch, case)):
                ours = chunks(student[tap][i, :n], heads)[head]
                theirs = chunks(teacher[tap][i, :n], heads)[head]
                values += squares(ours @ matrices[head], theirs)
            total = total + mean(values)
    return total


def mha_output_relation(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    splits, values = case.options.get("splits", case.student.heads), []
    draw = random.Random(case.options.get("seed", 0))
    group = case.teacher.heads // splits or 1
    picks = [draw.randrange(group) for _ in range(splits)]
    for i, n in enumerate(lengths(batch, case)):
        ours = chunks(student["context"][i, :n], splits)
        theirs = chunks(teacher["context"][i, :n], splits)
        if "split" in case.options:
            heads = chunks(teacher["context"][i, :n], case.teacher.heads)
            groups = [heads[split * group : (split + 1) * group] for split in range(splits)]
            if case.options["split"] == "average":
                theirs = [mean(members) for members in groups]
            else:
                theirs = [groups[split][pick] for split, pick in enumerate(picks)]
        values += relation_kl([(x, x) for x in ours], [(x, x) for x in theirs])
    return mean(values)


def sample_similarity(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(relation_kl([(student["cls"],) * 2], [(teacher["cls"],) * 2]))


def sample_contrastive(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    h = [*learned.map(student["cls"]), *teacher["cls"]]
    y, temperature = batch.labels.tolist() * 2, 0.07
    printed = case.options.get("reading") == "printed"
    if not printed:
        h = [x / x.norm() for x in h]

    def power(i: int, a: int) -> Tensor:
        if printed:
            return torch.exp(h[i] @ h[a]) / temperature
        return torch.exp(h[i] @ h[a] / temperature)

    inner = []
    for i in range(len(h)):
        others = [a for a in range(len(h)) if a != i]
        below = sum(power(i, a) for a in others)
        inner.append(mean([-torch.log(power(i, p) / below) for p in others if y[p] == y[i]]))
    if printed:
        return mean([sum(inner) for _ in h])
    return mean(inner)


def contrast(student: Taps, teacher: Taps, batch: Batch, case: Case, learned: Any) -> Tensor:
    values, bank, temperature = [], learned.bank.clone(), 0.07
    ours, theirs = learned.student_map(student["cls"]), learned.teacher_map(teacher["cls"])
    for a, b, negatives in zip(ours, theirs, learned.negatives(batch.rows).tolist(), strict=True):
        a, b = a / a.norm(), b / b.norm()
        true = torch.exp(a @ b / temperature)
        false = sum(torch.exp(a @ bank[row] / temperature) for row in negatives)
        values.append(-torch.log(true / (true + false)))
    return mean(values)


FORMS: dict[str, Callable[[Taps, Taps, Batch, Case, Any], Tensor]] = {
    "supervised": supervised,
    "soft-labels": soft_labels,
    "masked-lm": masked_lm,
    "hidden-cls": cls_mse,
    "hidden-sequence": sequence_mse("hidden"),
    "context-sequence": sequence_mse("context"),
    "hidden-cosine": hidden_cosine,
    "patient-cls": patient_cls,
    "embedding-mse": sequence_mse("embeddings"),
    "embedding-relation": tap_relation("embeddings", lambda case: 1),
    "attention-mse": attention_mse,
    "attention-kl": attention_kl,
    "value-relation": tap_relation("values", lambda case: case.teacher.heads),
    "relations": relations,
    "direct": direct,
    "hidden-relation": tap_relation("hidden", lambda case: case.options["heads"]),
    "mha-output-relation": mha_output_relation,
    "sample-similarity": sample_similarity,
    "sample-contrastive": sample_contrastive,
    "contrast": contrast,
}

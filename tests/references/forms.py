"""Every objective as its paper writes it: plain loops over examples, heads and real tokens, without attention masks.

Each function takes the activations of both models, the batch, the case (options and sizes) and the objective, of which
it reads only the learned parameters and the stored state.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import scipy.optimize
import torch
from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import Case
from tests.references.plain import chunks, kl, lengths, mean, related, relation_kl, softmax, squares, vectors

LETTERS = {"q": "queries", "k": "keys", "v": "values"}


def activation_relation(activation: str, heads: Callable[[Case], int]) -> Callable[..., Tensor]:
    def form(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
        values = []
        sizes = zip(lengths(batch, case, "padded_queries"), lengths(batch, case, "padded_keys"), strict=True)
        for i, (rows, columns) in enumerate(sizes):
            ours, theirs = (
                related(activations, activation, activation, heads(case), i, rows, columns)
                for activations in (student, teacher)
            )
            values += relation_kl(ours, theirs, case.options.get("floor", 0.0))
        return mean(values)

    return form


def distributions(logits: Tensor, batch: Batch) -> list[Tensor]:
    """Return each row of logits that is one distribution; for the start and end of an answer, over real tokens only."""
    if logits.dim() == 2:
        return list(logits)
    return [logits[i, :n, end] for i, n in enumerate(batch.attention_mask.sum(1).tolist()) for end in (0, 1)]


def supervised(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    rows = distributions(student["logits"], batch)
    if case.student.num_labels == 1:
        return mean([(row[0] - label) ** 2 for row, label in zip(rows, batch.labels, strict=True)])
    return mean([-torch.log(softmax(row)[label]) for row, label in zip(rows, batch.labels.flatten(), strict=True)])


def soft_labels(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    if case.student.num_labels == 1:
        return mean(squares(student["logits"], teacher["logits"]))
    rows, temperature = [], case.options.get("temperature", 1)
    both = (distributions(activations["logits"], batch) for activations in (student, teacher))
    for ours, theirs in zip(*both, strict=True):
        q, p = softmax(ours / temperature), softmax(theirs / temperature)
        below = p if case.options.get("divergence") else torch.ones_like(p)
        rows.append(sum(a * torch.log(c / b) for a, b, c in zip(p, q, below, strict=True)))
    return (temperature**2 if case.options.get("squared", True) else 1) * mean(rows)


def masked_lm(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    pairs = zip(student["logits"], batch.labels.tolist(), strict=True)
    return mean([-torch.log(softmax(row)[label]) for row, label in pairs if label != -100])


def cls_mse(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(squares(learned.map(student["cls"]), teacher["cls"]))


def sequence_mse(activation: str) -> Callable[..., Tensor]:
    def form(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
        values = []
        for ours, theirs in vectors(student[activation], teacher[activation], batch, case):
            values += squares(learned.map(ours), theirs)
        return mean(values)

    return form


def hidden_cosine(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for ours, theirs in vectors(student["hidden"], teacher["hidden"], batch, case):
        a = learned.map(ours)
        values.append(1 - a @ theirs / (a.norm() * theirs.norm()))
    return mean(values)


def patient_cls(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for ours, theirs in zip(learned.map(student["cls"]), teacher["cls"], strict=True):
        values.append(sum(squares(ours / ours.norm(), theirs / theirs.norm())))
    return mean(values)


def attention_mse(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values, zero = [], torch.zeros((), dtype=torch.float64)
    lowest = case.options.get("zero_below", -math.inf)
    for i, (n, keys) in enumerate(zip(lengths(batch, case), batch.attention_mask.sum(1).tolist(), strict=True)):
        for head in range(student["scores"].shape[1]):
            ours, theirs = (
                [zero if x <= lowest else x for x in activations["scores"][i, head, :n, :keys].flatten()]
                for activations in (student, teacher)
            )
            values += [(x - y) ** 2 for x, y in zip(ours, theirs, strict=True)] + [zero] * (n * (n - keys))
    return mean(values)


def attention_kl(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    rows, columns = lengths(batch, case, "padded_queries"), batch.attention_mask.sum(1).tolist()
    for i, (queries, keys) in enumerate(zip(rows, columns, strict=True)):
        for head in range(student["scores"].shape[1]):
            for query in range(queries):
                p = softmax(teacher["scores"][i, head, query, :keys])
                q = softmax(student["scores"][i, head, query, :keys])
                values.append(kl(p, q, case.options.get("floor", 0.0)))
    return mean(values)


def relations(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    heads, total = case.options["heads"], 0.0
    pairs = case.options.get("pairs", ["q-q", "k-k", "v-v"])
    rows, columns = lengths(batch, case, "padded_queries"), lengths(batch, case, "padded_keys")
    below = {"mean": sum(rows) * heads, "sum-over-heads": sum(rows), "sum": len(rows)}
    for pair, weight in zip(pairs, case.options.get("weights", [1] * len(pairs)), strict=True):
        a, b = (LETTERS[letter] for letter in pair.split("-"))
        values = []
        for i, (n, m) in enumerate(zip(rows, columns, strict=True)):
            values += relation_kl(*(related(activations, a, b, heads, i, n, m) for activations in (student, teacher)))
        total = total + weight * sum(values) / below[case.options.get("normaliser", "mean")]
    return total


def direct(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    total, heads = 0.0, case.options.get("heads", case.teacher.heads)
    for activation, maps in zip(("queries", "keys", "values"), learned.maps, strict=True):
        matrices = maps.matrices().to(student[activation].dtype)
        for head in range(heads):
            values = []
            for i, n in enumerate(lengths(batch, case)):
                ours = chunks(student[activation][i, :n], heads)[head]
                theirs = chunks(teacher[activation][i, :n], heads)[head]
                values += squares(ours @ matrices[head], theirs)
            total = total + mean(values)
    return total


def mha_output_relation(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
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


def sample_similarity(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(relation_kl([(student["cls"],) * 2], [(teacher["cls"],) * 2]))


def sample_contrastive(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
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
    loss = mean([sum(inner) for _ in h]) if printed else mean(inner)
    return loss * temperature if case.options.get("scaled") else loss


def contrast(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values, bank, temperature = [], learned.bank.clone(), 0.07
    ours, theirs = (
        [side(torch.cat([layer[i] for layer in activations["cls"]])) for i in range(len(batch.attention_mask))]
        for side, activations in ((learned.student_map, student), (learned.teacher_map, teacher))
    )
    for a, b, negatives in zip(ours, theirs, learned.negatives(batch.rows).tolist(), strict=True):
        a, b = a / a.norm(), b / b.norm()
        true = torch.exp(a @ b / temperature)
        false = sum(torch.exp(a @ bank[row] / temperature) for row in negatives)
        values.append(-torch.log(true / (true + false)))
    return mean(values)


def layer_costs(student: Tensor, teacher: Tensor, kept: Callable[[Tensor], list[Tensor]]) -> list[list[Tensor]]:
    """Return the cost per unit from each student layer to each teacher layer; `kept` selects a layer's numbers."""
    return [[mean(squares(torch.stack(kept(s)), torch.stack(kept(t)))) for t in teacher] for s in student]


def earth_mover(costs: list[list[Tensor]], given: list[float], taken: list[float]) -> Tensor:
    """Return the cost of the cheapest transport, from its linear program: flows >= 0, row and column sums given."""
    rows, columns = len(given), len(taken)
    sums = [[float(i == row) for i in range(rows) for _ in range(columns)] for row in range(rows)]
    sums += [[float(j == column) for _ in range(rows) for j in range(columns)] for column in range(columns)]
    flat = [cost for row in costs for cost in row]
    used = [x / sum(given) for x in given] + [x / sum(taken) for x in taken]
    flow = scipy.optimize.linprog([float(cost.detach()) for cost in flat], A_eq=sums, b_eq=used).x
    return sum(float(carried) * cost for carried, cost in zip(flow, flat, strict=True))


def emd(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    sizes = batch.attention_mask.sum(1).tolist()
    weights = learned.student_weights.tolist(), learned.teacher_weights.tolist()

    def tokens(layer: Tensor) -> list[Tensor]:
        return [x for i, n in enumerate(sizes) for x in layer[i, :n].flatten()]

    def pairs(layer: Tensor) -> list[Tensor]:
        return [x for i, n in enumerate(sizes) for x in layer[i, :, :n, :n].flatten()]

    total = earth_mover(layer_costs(learned.map(student["hidden"]), teacher["hidden"], tokens), *weights)
    if case.options.get("attention", True):
        total = total + earth_mover(layer_costs(student["scores"], teacher["scores"], pairs), *weights)
    return total


FORMS: dict[str, Callable[[Activations, Activations, Batch, Case, Any], Tensor]] = {
    "supervised": supervised,
    "soft-labels": soft_labels,
    "masked-lm": masked_lm,
    "hidden-cls": cls_mse,
    "hidden-sequence": sequence_mse("hidden"),
    "context-sequence": sequence_mse("context"),
    "hidden-cosine": hidden_cosine,
    "patient-cls": patient_cls,
    "embedding-mse": sequence_mse("embeddings"),
    "embedding-relation": activation_relation("embeddings", lambda case: 1),
    "attention-mse": attention_mse,
    "attention-kl": attention_kl,
    "value-relation": activation_relation("values", lambda case: case.teacher.heads),
    "relations": relations,
    "direct": direct,
    "hidden-relation": activation_relation("hidden", lambda case: case.options["heads"]),
    "mha-output-relation": mha_output_relation,
    "sample-similarity": sample_similarity,
    "sample-contrastive": sample_contrastive,
    "contrast": contrast,
    "emd": emd,
}

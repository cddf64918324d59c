"""References for objectives on relations between tokens."""

from __future__ import annotations

import random
from typing import Any

import torch
from retort.batch import Batch, Shape
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import MANY_HEADS, Case
from tests.references.plain import (
    activation_relation,
    chunks,
    lengths,
    mean,
    mean_of_texts,
    reference,
    related,
    relation_kl,
)

LETTERS = {"q": "queries", "k": "keys", "v": "values"}


@reference(
    Case("relations", {"heads": 4}),
    Case("relations", {"heads": 16}, student=Shape(32, 4, 8, 3), teacher=Shape(48, 6, 8, 3)),
    Case("relations", {"heads": 5}, student=Shape(20, 4, 8, 3), teacher=Shape(30, 6, 8, 3)),
    Case("relations", {"heads": 12, "normaliser": "sum-over-heads"}),
    Case("relations", {"heads": 3, "normaliser": "sum"}),
    Case("relations", {"heads": 3, "normaliser": "mean-of-texts"}),
    Case("relations", {"heads": 2, "pairs": ["q-k", "v-q", "v-v"], "weights": [0.5, 2.0, 1.0]}),
    Case("relations", {"heads": 4, "padded_queries": True, "padded_keys": True}),
    Case("relations", {"heads": 4, "padded_keys": True, "normaliser": "sum"}),
)
def relations(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    heads, total = case.options["heads"], 0.0
    pairs = case.options.get("pairs", ["q-q", "k-k", "v-v"])
    rows, columns = lengths(batch, case, "padded_queries"), lengths(batch, case, "padded_keys")
    below = {"mean": sum(rows) * heads, "sum-over-heads": sum(rows), "sum": len(rows), "mean-of-texts": len(rows)}
    each = [1 / (heads * n) if case.options.get("normaliser") == "mean-of-texts" else 1 for n in rows]
    for pair, weight in zip(pairs, case.options.get("weights", [1] * len(pairs)), strict=True):
        a, b = (LETTERS[letter] for letter in pair.split("-"))
        values = []
        for i, (n, m) in enumerate(zip(rows, columns, strict=True)):
            both = (related(activations, a, b, heads, i, n, m) for activations in (student, teacher))
            values += [each[i] * value for value in relation_kl(*both)]
        total = total + weight * sum(values) / below[case.options.get("normaliser", "mean")]
    return total


@reference(
    Case("mha-output-relation"),
    Case("mha-output-relation", {"splits": 4}),
    Case("mha-output-relation", {"split": "average"}, teacher=MANY_HEADS),
    Case("mha-output-relation", {"split": "random", "seed": 2}, teacher=MANY_HEADS),
    Case("mha-output-relation", {"split": "random", "seed": 2, "redraw": True}, teacher=MANY_HEADS),
    Case("mha-output-relation", {"dropout": False, "count_padding": True}),
    Case("mha-output-relation", {"mean_over": "texts"}),
)
def mha_output_relation(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    splits, values = case.options.get("splits", case.student.heads), []
    draw = random.Random(case.options.get("seed", 0))
    group = case.teacher.heads // splits or 1
    picks = [draw.randrange(group) for _ in range(splits)]
    if case.options.get("redraw"):
        picks = learned.draw_heads(batch, torch.arange(splits)).tolist()
    read = "undropped-context" if case.options.get("dropout") is False else "context"
    for i, n in enumerate(lengths(batch, case)):
        ours = chunks(student[read][i, :n], splits)
        theirs = chunks(teacher[read][i, :n], splits)
        if case.options.get("split"):
            heads = chunks(teacher[read][i, :n], case.teacher.heads)
            groups = [heads[split * group : (split + 1) * group] for split in range(splits)]
            if case.options["split"] == "average":
                theirs = [mean(members) for members in groups]
            else:
                theirs = [groups[split][pick] for split, pick in enumerate(picks)]
        values.append(relation_kl([(x, x) for x in ours], [(x, x) for x in theirs]))
    return mean_of_texts(values, case)


reference(
    Case("value-relation"),
    Case("value-relation", teacher=MANY_HEADS),
    Case("value-relation", {"padded_queries": True}),
    Case("value-relation", {"padded_keys": True, "floor": 0.05}, same=""),
)(activation_relation("values", lambda case: case.teacher.heads))
reference(
    Case("hidden-relation", {"heads": 4}),
    Case("hidden-relation", {"heads": 4, "mean_over": "texts"}),
    Case("hidden-relation", {"heads": 4, "count_padding": True}),
)(activation_relation("hidden", lambda case: case.options["heads"]))
reference(
    Case("embedding-relation"),
    Case("embedding-relation", {"mean_over": "texts"}),
    Case("embedding-relation", {"count_padding": True}),
)(activation_relation("embeddings", lambda case: 1))
reference(
    Case("word-relation"),
    Case("word-relation", {"mean_over": "texts"}),
    Case("word-relation", {"count_padding": True}),
)(activation_relation("words", lambda case: 1))

"""References for objectives on vectors of tokens and examples."""

from __future__ import annotations

from typing import Any

from retort.batch import Batch
from retort.objectives import Activations
from torch import Tensor

from tests.references.examples import NARROW, WIDE, Case
from tests.references.plain import chunks, lengths, mean, mean_of_texts, reference, sequence_mse, squares, vectors


@reference(
    Case("hidden-cls"),
    Case("hidden-cls", {"map": "never"}, teacher=NARROW),
)
def cls_mse(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    return mean(squares(learned.map(student["cls"]), teacher["cls"]))


@reference(Case("hidden-cosine"))
def hidden_cosine(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for ours, theirs in vectors(student["hidden"], teacher["hidden"], batch, case):
        a = learned.map(ours)
        values.append(1 - a @ theirs / (a.norm() * theirs.norm()))
    return mean(values)


@reference(
    Case("patient-cls"),
    Case("patient-cls", {"width_mean": True}),
)
def patient_cls(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    values = []
    for ours, theirs in zip(learned.map(student["cls"]), teacher["cls"], strict=True):
        of_width = squares(ours / ours.norm(), theirs / theirs.norm())
        values.append(mean(of_width) if case.options.get("width_mean") else sum(of_width))
    return mean(values)


@reference(
    Case("direct"),
    Case("direct", {"heads": 4, "orthogonal": True}, teacher=NARROW),
    Case("direct", {"heads": 2, "orthogonal": True}),
    Case("direct", {"heads": 2, "orthogonal": True}, student=WIDE, teacher=NARROW),
    Case("direct", {"count_padding": True}),
    Case("direct", {"mean_over": "texts"}),
)
def direct(student: Activations, teacher: Activations, batch: Batch, case: Case, learned: Any) -> Tensor:
    total, heads = 0.0, case.options.get("heads", case.teacher.heads)
    for activation, maps in zip(("queries", "keys", "values"), learned.maps, strict=True):
        matrices = maps.matrices().to(student[activation].dtype)
        for head in range(heads):
            values = []
            for i, n in enumerate(lengths(batch, case)):
                ours = chunks(student[activation][i, :n], heads)[head]
                theirs = chunks(teacher[activation][i, :n], heads)[head]
                values.append(squares(ours @ matrices[head], theirs))
            total = total + mean_of_texts(values, case)
    return total


reference(
    Case("hidden-sequence"),
    Case("hidden-sequence", {"map": "widths-differ"}, teacher=NARROW),
    Case("hidden-sequence", {"count_padding": True}),
    Case("hidden-sequence", {"mean_over": "texts"}),
)(sequence_mse("hidden"))
reference(
    Case("context-sequence"),
    Case("context-sequence", {"mean_over": "texts"}),
)(sequence_mse("context"))
reference(
    Case("embedding-mse"),
    Case("embedding-mse", {"mean_over": "texts"}),
)(sequence_mse("embeddings"))

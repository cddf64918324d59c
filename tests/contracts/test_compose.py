"""Tests of objectives as terms: they add up and list the activations they read; and a contract of all mappings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from retort.batch import Shape
from retort.errors import RetortError
from retort.objectives import Pair, WeightedSum, objectives
from retort.specs import catalogue
from retort.specs.catalogue import wrong_options
from retort.specs.mappings import mappings, pairs_of
from torch import Tensor

from tests.references.examples import NARROW, PADDED, WIDE, Case, activations_of, batch_of, compose

TERMS: list[dict[str, Any]] = [
    {"objective": "hidden-sequence", "mapping": "uniform", "weight": 0.5},
    {"objective": "relations", "mapping": {"single": {"layer": 5}}, "options": {"heads": 4, "pairs": ["q-k"]}},
    {"objective": "soft-labels", "weight": 2.0},
    {"objective": "supervised"},
    {"objective": "hidden-sequence", "mapping": {"listed": {"pairs": [[0, 0]]}}},
    {"objective": "embedding-mse"},
]


def built(terms: list[dict[str, Any]], student: Shape = NARROW, teacher: Shape = WIDE) -> WeightedSum:
    torch.manual_seed(0)
    return compose(terms, student, teacher, student_layers=2, teacher_layers=6).double()


def recorded(needs: set[tuple[str, int | None]], shape: Shape, seed: int) -> dict[tuple[str, int | None], Tensor]:
    case, size = Case("hidden-cls"), len(PADDED)
    return {
        key: activations_of(case, shape, size, seed + (key[1] or 0))[key[0]].requires_grad_()
        for key in sorted(needs, key=str)
    }


def both(total: WeightedSum) -> tuple[dict[tuple[str, int | None], Tensor], dict[tuple[str, int | None], Tensor]]:
    return recorded(total.reads("student"), NARROW, 0), recorded(total.reads("teacher"), WIDE, 50)


def test_needs_are_what_the_terms_read() -> None:
    total = built(TERMS)
    hidden = {("hidden", 1), ("hidden", 2), ("hidden", 0)}
    assert total.reads("student") == {*hidden, ("queries", 2), ("keys", 2), ("logits", None), ("embeddings", None)}
    hidden = {("hidden", 3), ("hidden", 6), ("hidden", 0)}
    assert total.reads("teacher") == {*hidden, ("queries", 5), ("keys", 5), ("logits", None), ("embeddings", None)}
    assert built([{"objective": "supervised"}]).reads("teacher") == set()


def test_the_total_is_the_weighted_sum_over_pairs() -> None:
    total, batch = built(TERMS), batch_of(Case("hidden-cls"), PADDED)
    student, teacher = both(total)
    loss, shares = total(student, teacher, batch)
    labels = "hidden-sequence relations soft-labels supervised hidden-sequence-2 embedding-mse"
    assert list(shares) == labels.split()
    assert not any(share.requires_grad for share in shares.values())
    torch.testing.assert_close(loss, sum(shares.values()))
    by_hand = sum(
        part({"hidden": student["hidden", s]}, {"hidden": teacher["hidden", t]}, batch)
        for part, (s, t) in zip(total.terms[0].instances, [(1, 3), (2, 6)], strict=True)
    )
    torch.testing.assert_close(shares["hidden-sequence"], 0.5 * by_hand)
    soft = objectives["soft-labels"](Pair(NARROW, WIDE))
    alone = soft({"logits": student["logits", None]}, {"logits": teacher["logits", None]}, batch)
    torch.testing.assert_close(shares["soft-labels"], 2 * alone)


def test_every_pair_has_a_map_of_its_own_and_all_are_reachable() -> None:
    total, batch = built(TERMS), batch_of(Case("hidden-cls"), PADDED)
    assert len(list(total.parameters())) == 4
    student, teacher = both(total)
    total(student, teacher, batch)[0].backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in total.parameters())


def test_options_have_the_limits_that_they_have_in_yaml() -> None:
    with pytest.raises(RetortError) as error:
        built([{"objective": "soft-labels", "options": {"temperature": 0.0}}])
    assert str(error.value).startswith("soft-labels.temperature: Input should be greater than or equal to")
    entry = catalogue.objectives()["soft-labels"]
    assert wrong_options(entry, {"temperature": 0.0}, "soft-labels") == [str(error.value)]


def test_layers_that_are_read_together_come_as_one_tensor() -> None:
    total = built([{"objective": "emd", "mapping": "emd", "options": {"attention": False}}])
    assert total.reads("student") == {("hidden", 1), ("hidden", 2)}
    assert total.reads("teacher") == {("hidden", layer) for layer in range(1, 7)}
    batch = batch_of(Case("hidden-cls"), PADDED)
    student, teacher = both(total)
    loss, _ = total.eval()(student, teacher, batch)
    stacked = [
        {"hidden": torch.stack([activations["hidden", layer] for layer in layers])}
        for activations, layers in ((student, (1, 2)), (teacher, range(1, 7)))
    ]
    (part,) = total.terms[0].instances
    assert torch.equal(loss, part(*stacked, batch))


# the layers that mappings pair

OPTIONS: dict[str, dict[str, Any]] = {"single": {"layer": 2}, "listed": {"pairs": [[1, 1], [2, 2]]}}
SIZES = [(1, 1), (2, 6), (3, 6), (4, 6), (5, 12), (6, 12), (6, 6), (12, 6), (12, 24)]  # layers of student and teacher


def pairs(name: str, student_layers: int, teacher_layers: int) -> list[tuple[int, int]]:
    """Return the pairs of a mapping for a student that starts from the first layers; none if the mapping refuses."""
    try:
        return pairs_of({name: OPTIONS.get(name, {})}, student_layers, teacher_layers, range(1, student_layers + 1))
    except RetortError:
        return []


@pytest.mark.parametrize("name", mappings)
def test_layers_exist_pairs_count_once_and_the_last_student_layer_learns(name: str) -> None:
    assert pairs(name, 3, 6)
    for student_layers, teacher_layers in SIZES:
        paired = pairs(name, student_layers, teacher_layers)
        assert paired == sorted(set(paired))
        assert name == "listed" or not paired or student_layers in {student for student, _ in paired}
        assert all(0 <= student <= student_layers and 0 <= teacher <= teacher_layers for student, teacher in paired)

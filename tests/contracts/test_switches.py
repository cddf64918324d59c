"""Contracts of the switches of objectives: what they read, what they share, and what they do with extreme values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from retort.errors import RetortError
from retort.objectives import Pair, objectives
from retort.objectives.base import UNKNOWN, TrainingRows
from retort.specs.catalogue import Requirements
from torch.overrides import TorchFunctionMode

from tests.contracts.test_objectives import PADDED, both
from tests.references.examples import CLASSES, MANY_HEADS, NARROW, WIDE, Case, batch_of, compose
from tests.references.objectives import CASES

ROWS = TrainingRows(len(CLASSES), np.array(CLASSES))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_objective_declares_the_options_with_which_it_reads_padding(case: Case) -> None:
    made = objectives[case.name]
    assert Requirements.of(vars(made)).counts_padding({**dict.fromkeys(PADDING), **case.options}) == case.padded


PADDING = ("count_padding", "padded_queries", "padded_keys")


@pytest.mark.parametrize("name", ["hidden-sequence", "context-sequence"])
@pytest.mark.parametrize("one_map", [True, False])
def test_layers_share_one_map_or_have_their_own(name: str, one_map: bool) -> None:
    term = {"objective": name, "mapping": "uniform", "options": {"one_map": one_map}}
    loss = compose([term], NARROW, WIDE, 3, 6)
    assert len(list(loss.parameters())) == (1 if one_map else 3)
    assert len({id(instance.map.weight) for instance in loss.terms[0].instances}) == (1 if one_map else 3)


def test_negatives_of_the_noise_contrast_are_of_other_classes_and_spread_evenly() -> None:
    objective = objectives["noise-contrast"](Pair(NARROW, WIDE, rows=ROWS), negatives=4000)
    rows, classes = torch.arange(len(CLASSES)), torch.tensor(CLASSES)
    drawn = objective.negatives(rows)
    assert not (classes[drawn] == classes[:, None]).any()
    for row, of_class in enumerate(classes):
        counts = torch.bincount(drawn[row], minlength=len(CLASSES))[classes != of_class] / 4000
        assert (counts - 1 / len(counts)).abs().max() < 5 * (1 / len(counts) / 4000) ** 0.5


@pytest.mark.parametrize("rows", [UNKNOWN, TrainingRows(3, np.zeros(3, np.int64)), TrainingRows(3, np.zeros(3))])
def test_rows_without_two_classes_have_no_negatives_of_other_classes(rows: TrainingRows) -> None:
    with pytest.raises(RetortError, match="draws rows of other classes, and the training rows have no two classes"):
        objectives["noise-contrast"](Pair(NARROW, WIDE, rows=rows))


def test_both_banks_follow_their_model_and_the_constants_stay_those_of_the_first_batch() -> None:
    case = Case("noise-contrast", {"size": 6, "negatives": 5, "momentum": 0.0})
    batch, (student, teacher) = batch_of(case, PADDED), both(case)
    one, other = case.build(), case.build()
    one(student, teacher, batch)
    for side, activations in (("student", student), ("teacher", teacher)):
        expected = torch.nn.functional.normalize(getattr(one, f"{side}_map")(activations["cls"][0]), dim=-1)
        torch.testing.assert_close(getattr(one, f"{side}_bank")[batch.rows], expected)
    constants = one.constants.clone()
    assert (constants > 0).all()
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(student, teacher, batch), other(student, teacher, batch))
    assert torch.equal(one.constants, constants)


def test_a_bank_is_as_large_as_the_training_set_unless_an_option_says_otherwise() -> None:
    assert len(objectives["contrast"](Pair(NARROW, WIDE, rows=ROWS)).bank) == len(CLASSES)
    assert len(objectives["contrast"](Pair(NARROW, WIDE, rows=ROWS), bank=5).bank) == 5
    with pytest.raises(RetortError, match="objective 'contrast' needs the number of training rows; set its option"):
        objectives["contrast"](Pair(NARROW, WIDE))


def test_heads_are_drawn_once_or_for_each_batch() -> None:
    options = {"split": "random", "redraw": True}
    objective = objectives["mha-output-relation"](Pair(NARROW, MANY_HEADS), **options)
    each = torch.arange(NARROW.heads)
    batches = [batch_of(Case("mha-output-relation"), PADDED) for _ in range(64)]
    for number, batch in enumerate(batches):
        batch.rows = torch.tensor([number, 1000 + number, 7])
    drawn = torch.stack([objective.draw_heads(batch, each) for batch in batches])
    assert torch.equal(objective.draw_heads(batches[3], each), drawn[3])
    assert (drawn.double().mean(0) - 0.5).abs().max() < 0.25  # each of two heads about as often, in every split
    assert set(drawn.unique().tolist()) == {0, 1}


@pytest.mark.parametrize("smoothing", ["softmax", "share"])
def test_weights_of_layers_stay_spread_with_the_released_smoothing(smoothing: str) -> None:
    case = Case("emd", {"smoothing": smoothing}, layers=(2, 3))
    batch, (student, teacher) = batch_of(case, PADDED), both(case)
    student["hidden"][1] += 5  # a higher cost of the second layer
    objective = case.build()
    for _ in range(5):
        objective(student, teacher, batch)
    assert objective.student_weights[0] > objective.student_weights[1]
    assert (objective.student_weights.min() > 0.05) == (smoothing == "share")  # softmax: one layer has nearly all
    torch.testing.assert_close(objective.student_weights.sum(), torch.ones((), dtype=torch.float64))


@pytest.mark.parametrize("smoothing", ["softmax", "share"])
def test_a_layer_that_costs_nothing_makes_the_next_loss_nan_and_never_a_transport_of_nothing(smoothing: str) -> None:
    case = Case("emd", {"smoothing": smoothing, "attention": False}, teacher=NARROW, layers=(2, 2))
    batch, (student, teacher) = batch_of(case, PADDED), both(case)
    student["hidden"] = student["hidden"].clone()
    student["hidden"][0] = teacher["hidden"][0]
    objective = case.build()
    assert objective(student, teacher, batch).isfinite()
    assert objective(student, teacher, batch).isnan()


@pytest.mark.parametrize("bad", [math.inf, math.nan, 1e200])
def test_costs_that_are_not_finite_make_the_loss_nan(bad: float) -> None:
    case = Case("emd", layers=(2, 3))
    batch, (student, teacher) = batch_of(case, PADDED), both(case)
    student["hidden"] = student["hidden"] * bad
    assert case.build()(student, teacher, batch).isnan()


def test_a_transport_reads_the_device_once() -> None:
    case = Case("emd", layers=(2, 3))
    batch, (student, teacher) = batch_of(case, PADDED), both(case)
    objective = case.build()
    with Reads() as reads:
        objective(student, teacher, batch)
    assert reads.names.count("cpu") == 1
    assert reads.names[0] == "cpu"  # what is read after it is what was copied


class Reads(TorchFunctionMode):
    """Notes the calls of a block that bring values to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if (name := getattr(function, "__name__", "")) in ("cpu", "numpy", "item", "tolist", "__bool__", "nonzero"):
            self.names.append(name)
        return function(*args, **(kwargs or {}))

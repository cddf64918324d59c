"""Contracts that every registered objective keeps, whatever it computes, and those of the switches of some."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from retort.batch import Shape
from retort.errors import RetortError
from retort.objectives import Pair, objectives
from retort.objectives.base import UNKNOWN, TrainingRows
from retort.objectives.hidden import HeadMaps
from retort.objectives.logits import choices
from retort.specs import catalogue
from retort.specs.student import Requirements
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from tests.references.examples import (
    CLASSES,
    MANY_HEADS,
    NARROW,
    PADDED,
    PER_TOKEN,
    WIDE,
    Case,
    activations_of,
    batch_of,
    both,
    compose,
)
from tests.references.objectives import CASES


def filled(activations: dict[str, Tensor], mask: Tensor, value: float) -> dict[str, Tensor]:
    """Return the activations with `value` wherever a padding token is a row, a query or a key."""
    real = dict.fromkeys(PER_TOKEN, mask[..., None])
    real["scores"] = (mask[:, None, :, None] & mask[:, None, None, :]).expand_as(activations["scores"])
    if activations["logits"].dim() == 3:
        real["logits"] = mask[..., None]
    return {
        activation: torch.where(real[activation], x, value) if activation in real else x
        for activation, x in activations.items()
    }


@pytest.mark.parametrize("case", [c for c in CASES if not c.padded], ids=str)
def test_padding_does_not_matter(case: Case) -> None:
    batch = batch_of(case, PADDED)
    student, teacher = both(case)
    mask = batch.attention_mask
    after = case.build()(filled(student, mask, 99.0), filled(teacher, mask, -99.0), batch)
    assert torch.equal(case.build()(student, teacher, batch), after)


@pytest.mark.parametrize("case", [c for c in CASES if c.padded], ids=str)
def test_padding_matters_where_it_is_to_count(case: Case) -> None:
    batch = batch_of(case, PADDED)
    student, teacher = both(case)
    before = case.build()(student, teacher, batch)
    after = case.build()(filled(student, batch.attention_mask, 9.0), teacher, batch)
    assert not torch.isclose(before, after)


@pytest.mark.parametrize("case", [c for c in CASES if c.same], ids=str)
def test_least_at_the_teacher(case: Case) -> None:
    case = dataclasses.replace(case, teacher=case.student, layers=(case.layers[0], case.layers[0]))
    batch = batch_of(case, PADDED)
    activations = activations_of(case, case.student, len(PADDED), seed=1)
    activations = {activation: x.requires_grad_() for activation, x in activations.items()}
    value = case.build()(activations, {activation: x.detach() for activation, x in activations.items()}, batch)
    least = torch.zeros((), dtype=value.dtype)
    if case.same == "entropy":
        temperature = case.options.get("temperature", 1.0)
        log_p = F.log_softmax(choices(activations["logits"] / temperature, batch.attention_mask), dim=-1)
        factor = temperature**2 if case.options.get("squared", True) else 1.0
        least = -factor * (log_p.exp() * log_p).sum(-1).mean().detach()
    torch.testing.assert_close(value.detach(), least, rtol=1e-10, atol=1e-12)
    for gradient in torch.autograd.grad(value, list(activations.values()), allow_unused=True):
        assert gradient is None or gradient.abs().max() < 1e-10


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_scalar_and_finite_with_padded_tails(case: Case, dtype: torch.dtype) -> None:
    lengths = (7, 1, 0)  # the last example is all padding
    batch = batch_of(case, lengths)
    batch.labels = batch.labels.float() if batch.labels.is_floating_point() else batch.labels
    student, teacher = both(case, dtype)
    student = {activation: (30 * x).detach().requires_grad_() for activation, x in student.items()}
    objective = case.build(torch.float32)
    value = objective(student, teacher, batch)
    assert value.shape == ()
    assert value.dtype == torch.float32
    assert value.isfinite()
    value.backward()
    learned = list(objective.parameters()) if isinstance(objective, torch.nn.Module) else []
    for x in [*student.values(), *learned]:
        assert x.grad is None or x.grad.isfinite().all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bfloat16_is_summed_in_float32(case: Case) -> None:
    batch = batch_of(case, PADDED)
    if batch.labels.is_floating_point():
        batch.labels = batch.labels.float()
    student, teacher = both(case, torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = case.build(torch.float32)(student, teacher, batch)
    student, teacher = (
        {activation: x.double() for activation, x in activations.items()} for activations in (student, teacher)
    )
    exact = case.build()(student, teacher, batch)
    tolerance = 2e-2 if isinstance(case.build(), torch.nn.Module) else 1e-5  # a learned map runs in 16 bits
    torch.testing.assert_close(rounded.double(), exact, rtol=tolerance, atol=tolerance)


class NoBlockingCopy(TorchFunctionMode):
    """Refuses copies to another device that the host waits for."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        names_device = any(isinstance(value, torch.device | str) for value in (*args[1:], *options.values()))
        is_copy = function.__name__ in ("cpu", "cuda") or (function.__name__ == "to" and names_device)
        assert not is_copy or options.get("non_blocking"), "the host waits for this copy"
        return function(*args, **options)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_waits_for_a_value(case: Case) -> None:
    """No objective reads a value on the host: on a GPU it would wait for all operations before it.

    The fake tensors of this test have no values, so reading one raises an error. An objective that must read
    one says why in `synchronises`.
    """
    if getattr(objectives[case.name], "synchronises", ""):
        pytest.skip(f"{case.name}: {objectives[case.name].synchronises}")
    with FakeTensorMode(allow_non_fake_inputs=False):
        batch, (student, teacher) = batch_of(case, PADDED, torch.float32), both(case, torch.float32)
        with NoBlockingCopy():
            assert case.build(None)(student, teacher, batch).shape == ()


@pytest.mark.parametrize("name", objectives)
def test_says_in_literals_what_it_is(name: str) -> None:
    made, entry = objectives[name], catalogue.objectives()[name]
    signature = inspect.signature(made.__init__).parameters
    assert entry.summary.endswith(".")
    assert len(entry.summary) < 120
    assert entry.version == getattr(made, "version", 1)
    assert entry.activations == made.activations
    assert entry.teacher_activations == getattr(made, "teacher_activations", made.activations)
    assert entry.level == getattr(made, "level", "layer")
    assert entry.options == {p.name: p.default for p in signature.values() if p.kind is p.KEYWORD_ONLY}


def test_labels_that_are_missing() -> None:
    case = Case("supervised")
    batch = dataclasses.replace(batch_of(case, PADDED), labels=None)
    with pytest.raises(RetortError, match="objective 'supervised' needs labels"):
        case.build()(activations_of(case, NARROW, 3, seed=1), {}, batch)


def test_spans_are_no_labels_to_draw_examples_together_by() -> None:
    case = Case("sample-contrastive")
    whole = batch_of(case, PADDED)
    spans = dataclasses.replace(whole, labels=torch.zeros(len(whole.input_ids), 2, dtype=torch.int64))
    said = "objective 'sample-contrastive' compares examples by one label each, and these have 2; .*'not_on'"
    with pytest.raises(RetortError, match=said):
        case.build()(activations_of(case, NARROW, 3, seed=1), activations_of(case, WIDE, 3, seed=2), spans)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)])
def test_orthogonal_maps_stay_orthogonal(sizes: tuple[int, int]) -> None:
    student, teacher = (Shape(width=2 * size, heads=2, intermediate=1, num_labels=1) for size in sizes)
    objective = objectives["direct"](Pair(student, teacher), orthogonal=True).double()
    for maps in objective.maps:
        maps.skew.data.normal_(std=3.0)
        w = maps.matrices()
        gram = w @ w.mT if sizes[0] <= sizes[1] else w.mT @ w
        torch.testing.assert_close(gram, torch.eye(min(sizes), dtype=w.dtype).expand_as(gram))


def test_an_orthogonal_map_has_all_degrees_of_freedom_of_a_rotation() -> None:
    maps = HeadMaps(1, 4, 4, orthogonal=True).double()
    basis = torch.eye(4, dtype=torch.double)[None, None]  # a row for each unit vector
    moved = torch.autograd.functional.jacobian(
        lambda skew: functional_call(maps, {"skew": skew}, (basis,)), maps.skew.detach()
    )
    assert torch.linalg.matrix_rank(moved.reshape(16, 16)) == 6  # 4 x 3 / 2


@pytest.mark.parametrize(("name", "sides"), [("contrast", ["teacher"]), ("noise-contrast", ["student", "teacher"])])
def test_banks_follow_their_models_and_a_resumed_run_draws_the_same(name: str, sides: list[str]) -> None:
    case = Case(name, {"size": 6, "negatives": 5, "momentum": 0.0} | ({"bank": 17} if name == "contrast" else {}))
    batch, models = batch_of(case, PADDED), dict(zip(("student", "teacher"), both(case), strict=True))
    one, other = case.build(), case.build()
    drawn = one.negatives(batch.rows)
    one(*models.values(), batch)
    for side in sides:
        bank = one.bank if name == "contrast" else getattr(one, f"{side}_bank")
        expected = F.normalize(getattr(one, f"{side}_map")(models[side]["cls"][0]), dim=-1)
        torch.testing.assert_close(bank[batch.rows], expected)
    assert not torch.equal(drawn, one.negatives(batch.rows))
    constants = one.constants.clone() if name == "noise-contrast" else torch.ones(1)
    assert (constants > 0).all()
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(*models.values(), batch), other(*models.values(), batch))
    assert name == "contrast" or torch.equal(one.constants, constants)  # those of the first batch
    state = {key: value.clone() for key, value in one.state_dict().items()}
    one.eval()(*models.values(), batch)
    assert all(torch.equal(value, state[key]) for key, value in one.state_dict().items())


def test_negatives_are_other_examples_and_spread_evenly() -> None:
    objective = objectives["contrast"](Pair(NARROW, WIDE), negatives=4000, bank=20)
    rows = torch.arange(20)
    drawn = objective.negatives(rows)
    assert not (drawn == rows[:, None]).any()
    counts = torch.bincount(drawn.flatten(), minlength=20) / 4000
    assert (counts - 1).abs().max() < 5 * math.sqrt(1 / 4000)


def test_layer_weights_follow_the_costs_in_training_alone_and_are_saved() -> None:
    case = Case("emd", layers=(2, 3))
    batch, (student, teacher) = batch_of(case, PADDED), both(case)
    one, other = case.build(), case.build()
    fixed = dataclasses.replace(case, options={"update": False}).build()
    for objective in (one.eval(), fixed):
        objective(student, teacher, batch)
        assert objective.student_weights.tolist() == [0.5, 0.5]
    one.train()(student, teacher, batch)
    torch.testing.assert_close(one.teacher_weights.sum(), torch.ones((), dtype=torch.float64))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(student, teacher, batch), other(student, teacher, batch))


def test_only_losses_that_compare_the_examples_of_a_batch_are_constant_on_one_example() -> None:
    constant = set()
    for case in CASES:
        student, teacher = both(case, size=1)
        leaves = [x.requires_grad_() for x in student.values()]
        value = case.build()(student, teacher, batch_of(case, (5,)))
        gradients = torch.autograd.grad(value, leaves, allow_unused=True)
        if all(gradient is None or not gradient.any() for gradient in gradients):
            constant.add(case.name)
    # so no batch of an epoch is much smaller than the others: data/batches.py
    assert constant == {"sample-similarity", "sample-contrastive"}


# switches of single objectives

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
    with InputFunctions() as reads:
        objective(student, teacher, batch)
    assert reads.names.count("cpu") == 1
    assert reads.names[0] == "cpu"  # what is read after it is what was copied


class InputFunctions(TorchFunctionMode):
    """Notes the calls of a block that bring values to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if (name := getattr(function, "__name__", "")) in ("cpu", "numpy", "item", "tolist", "__bool__", "nonzero"):
            self.names.append(name)
        return function(*args, **(kwargs or {}))

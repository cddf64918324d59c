"""Tests of the choice between the forms of the divergence between relations."""

from __future__ import annotations

import sys
import time
import types

import pytest
import torch
from retort.objectives.relation_forms import choice
from retort.objectives.relation_forms.in_pytorch import cached, plain
from torch import Tensor

CPU = torch.device("cpu")
KERNELS = "retort.objectives.relation_forms.fused"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "COMPARED", ((3, 9, 10, 20, 2),))
    monkeypatch.setattr(choice, "TIMED", (2, 8, 8, 8, 2))
    monkeypatch.setattr(choice, "RUNS", 3)


def fast(*arguments: object) -> Tensor:
    """Compute the loss without its gradient where it is timed; there, nobody looks at numbers."""
    student = arguments[0]
    if student[0].dtype == torch.bfloat16 and len(student[0]) == choice.TIMED[0]:
        return sum(vectors.sum() for vectors in student)
    return plain(*arguments)


def slow(*arguments: object) -> Tensor:
    time.sleep(0.05)
    return plain(*arguments)


def with_wrong_gradients(*arguments: object) -> Tensor:
    loss = plain(*arguments)
    return loss.detach() + 1.001 * (loss - loss.detach())


def broken(*arguments: object) -> Tensor:
    raise RuntimeError("out of resources:\n shared memory")


def test_a_device_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    device, asked = torch.device("meta"), []
    monkeypatch.setattr(choice, "CHOICES", {})
    made = choice.ChosenForm(plain, "plain", "why")
    monkeypatch.setattr(choice, "choose", lambda device, before: asked.append((device, before)) or made)
    assert (choice.choose_ahead(device, "fused: why"), choice.choose_ahead(device)) == ("plain: why", "plain: why")
    assert choice.form_on(device) is plain
    assert asked == [(device, "fused: why")]


def test_a_cpu_has_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "choose", broken)
    assert choice.choose_ahead(CPU, "fused: why") == ""
    assert choice.form_on(CPU) is cached


@pytest.mark.parametrize(
    ("form", "before", "said"),
    [
        (fast, "", "fused: the kernels agree with the plain form and are no slower"),
        (plain, "fused: it was faster", "fused: it was faster"),  # a resumed training goes on with its form
        (slow, "fused: it was faster", "fused: it was faster"),
        (cached, "plain: it was faster", "plain: it was faster"),
        (slow, "", "plain: the kernels take "),
        (with_wrong_gradients, "", "plain: the kernels differ by 1.0e-03 in torch.float32 "),
        (with_wrong_gradients, "fused: it was faster", "plain: the kernels differ by 1.0e-03 in torch.float32 "),
        (broken, "", "plain: the kernels fail: RuntimeError: out of resources: shared memory"),
        (broken, "fused: it was faster", "plain: the kernels fail: RuntimeError: out of resources: shared memory"),
        (None, "", "plain: triton is not installed"),
    ],
)
def test_kernels_are_chosen_if_they_agree_and_are_no_slower(
    form: choice.Form | None, before: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = None if form is None else types.ModuleType(KERNELS)
    monkeypatch.setitem(sys.modules, KERNELS, module)  # in the place of the kernels
    if module:
        module.fused_divergence = form
    chosen = choice.choose(CPU, before)
    assert str(chosen).startswith(said)
    assert chosen.form is (form if said.startswith("fused") else plain)


def test_a_comparison_draws_nothing_from_the_training_s_generator() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    choice.disagreement(cached, CPU)
    assert torch.equal(torch.random.get_rng_state(), before)

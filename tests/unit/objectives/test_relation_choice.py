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
    monkeypatch.setattr(choice, "RUNS", 1)


def kernels(form: choice.Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a form in the place of the kernels."""
    module = types.ModuleType(KERNELS)
    module.fused = form
    monkeypatch.setitem(sys.modules, KERNELS, module)


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
    made = choice.Choice(plain, "plain", "why")
    monkeypatch.setattr(choice, "choose", lambda device, before: asked.append((device, before)) or made)
    assert (choice.choose_ahead(device, "fused: why"), choice.choose_ahead(device)) == ("plain: why", "plain: why")
    assert choice.form_on(device) is plain
    assert asked == [(device, "fused: why")]


def test_a_cpu_has_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "choose", broken)
    assert choice.choose_ahead(CPU, "fused: why") == ""
    assert choice.form_on(CPU) is cached


def test_kernels_that_agree_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels(cached, monkeypatch)
    monkeypatch.setattr(choice, "slowness", lambda form, device: "")
    chosen = choice.choose(CPU)
    assert (chosen.form, chosen.name) == (cached, "fused")


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (slow, "the kernels take "),
        (with_wrong_gradients, "the kernels differ by 1.0e-03 in torch.float32 "),
        (broken, "the kernels fail: RuntimeError: out of resources: shared memory"),
    ],
)
def test_other_kernels_are_not(form: choice.Form, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels(form, monkeypatch)
    for before in ("", "fused: it was faster") if form is not slow else ("",):
        chosen = choice.choose(CPU, before)
        assert (chosen.form, chosen.name) == (plain, "plain")
        assert chosen.reason.startswith(reason)


@pytest.mark.parametrize(("form", "before"), [(slow, "fused: it was faster"), (cached, "plain: it was faster")])
def test_a_resumed_training_goes_on_with_its_form(
    form: choice.Form, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels(form, monkeypatch)
    monkeypatch.setattr(choice, "slowness", lambda form, device: "the kernels take 2.0 times as long")
    assert str(choice.choose(CPU, before)) == before
    assert str(choice.choose(CPU)) == "plain: the kernels take 2.0 times as long"


def test_without_triton_the_plain_form_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, KERNELS, None)
    assert choice.choose(CPU) == choice.Choice(plain, "plain", "triton is not installed")


def test_a_comparison_draws_nothing_from_the_training_s_generator() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    choice.disagreement(cached, CPU)
    assert torch.equal(torch.random.get_rng_state(), before)

"""Tests that a training step queues its work and waits for no value of it."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.errors import Diverged
from retort.training import optim
from retort.training import training_run as reporting
from retort.training.checkpoint import Checkpoint
from retort.training.how.micro_batches import Division
from retort.training.loop import take_step
from torch.utils._python_dispatch import TorchDispatchMode

from tests.unit.training.runs import same, train, training_of
from tests.unit.training.test_micro_batches import MASKED, MIXED, NAMES, SHORT, Texts, distillation

# Operations whose result's value or size the host needs: on a GPU it waits for all operations before them.
WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "_unique2", "unique_dim", "item")


class Waits(TorchDispatchMode):
    """Counts the operations of a block that would wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function._schema.name.removeprefix("aten::")
        by_mask = name in ("index", "index_put_") and any(x is not None and x.dtype == torch.bool for x in args[1])
        if name in WAITING or by_mask:
            self.counted[name] += 1
        return function(*args, **(kwargs or {}))


STATIC = [term for term in MIXED if term["objective"] != "emd"]  # which says why it waits: `synchronises`


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("division", [Division(), Division(2)], ids=["whole", "parts"])
@pytest.mark.parametrize(("terms", "masked"), [(STATIC, False), (SHORT, False), (MASKED, True)], ids=NAMES)
def test_a_step_waits_for_nothing(
    terms: list[dict[str, Any]], masked: bool, division: Division, precision: str, tmp_path: Path
) -> None:
    run = distillation(terms, masked)
    if precision == "bfloat16":
        [module.float() for module in run.modules]
        run.loss.teacher.model.float()  # type: ignore[attr-defined]
    training = training_of(run, Checkpoint(tmp_path, {}, 1e9), division, precision=precision)
    prepared = [division.divide(run.batches[number]).to("cpu") for number in range(3)]
    take_step(training, prepared[0])
    with Waits() as waits:
        take_step(training, prepared[1])
        take_step(training, prepared[2])
    assert waits.counted == {}
    training.step = 10
    with Waits() as waits:
        training.report()
    assert waits.counted["_local_scalar_dense"] <= 2  # for a divergence, and `tolist` copies all values at once
    assert float(training.loss) == pytest.approx(float(sum(training.terms.values())))


@pytest.mark.parametrize("logged", [1, 10])
def test_a_divergence_is_told_with_its_step_and_touches_no_weight(
    logged: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "LOGGED", logged)
    monkeypatch.setattr(optim, "rate", lambda step, steps, schedule: 0.01)  # of a shorter run too
    before, run = distillation(SHORT), distillation(SHORT)
    before.steps, run.steps_before = 1, 100
    loss, seen = run.loss, itertools.count(1)

    def infinite_at_two(batch: Any) -> Any:
        value, values = loss(batch)
        return value / (next(seen) != 2), values

    run.loss = infinite_at_two
    train(before, Checkpoint(tmp_path / "before", {}, 0.0))
    with pytest.raises(Diverged) as caught:
        train(run, Checkpoint(tmp_path / "run", {}, 0.0))
    assert caught.value.step == 102
    written = Checkpoint(tmp_path / "run", {}, 0.0).state
    assert written is not None
    assert written.step == 1  # no state after the divergence
    assert same(before, run)


def test_tf32_is_for_the_products_of_a_step_alone(tmp_path: Path) -> None:
    run, seen = distillation(SHORT), []
    loss = run.loss

    def asks(batch: Any) -> Any:
        seen.append(torch.backends.cuda.matmul.fp32_precision)
        return loss(batch)

    run.loss = asks
    before = torch.backends.cuda.matmul.fp32_precision
    for precision in ("tf32", "float32"):
        take_step(
            training_of(run, Checkpoint(tmp_path, {}, 1e9), precision=precision), Division().divide(Texts(False)[0])
        )
    assert seen == ["tf32", "ieee"]
    assert torch.backends.cuda.matmul.fp32_precision == before

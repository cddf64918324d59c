"""Tests that a training step queues its work and waits for no value of it."""

from __future__ import annotations

import io
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.errors import Diverged
from retort.training import optim
from retort.training import progress as reporting
from retort.training.checkpoint import Checkpoint
from retort.training.how.parts import UNDIVIDED, Comparison, Division, InParts
from retort.training.loop import Training, TrainingRun, train
from retort.training.progress import Progress
from torch.utils._python_dispatch import TorchDispatchMode

from tests.unit.training.test_parts import MASKED, MIXED, NAMES, SHORT, Texts, distillation

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


def training_of(run: TrainingRun, folder: Path, precision: str, division: Division = UNDIVIDED) -> Training:
    return Training(run, 1, Checkpoint(folder, {}, 1e9), Progress("job", io.StringIO()), precision, "cpu", division)


STATIC = [term for term in MIXED if term["objective"] != "emd"]  # which says why it waits: `synchronises`


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("division", [UNDIVIDED, InParts(2)], ids=lambda division: type(division).__name__)
@pytest.mark.parametrize(("terms", "masked"), [(STATIC, False), (SHORT, False), (MASKED, True)], ids=NAMES)
def test_a_step_waits_for_nothing(
    terms: list[dict[str, Any]], masked: bool, division: Division, precision: str, tmp_path: Path
) -> None:
    run = distillation(terms, masked)
    if precision == "bfloat16":
        [module.float() for module in run.modules]
        assert isinstance(run.loss, Comparison)
        run.loss.teacher.model.float()  # type: ignore[attr-defined]
    training = training_of(run, tmp_path, precision, division)
    prepared = [training.batches[number].to("cpu") for number in range(3)]
    training.take(prepared[0])
    with Waits() as waits:
        training.take(prepared[1])
        training.take(prepared[2])
    assert waits.counted == {}
    with Waits() as waits:
        value, values = training.numbers()
    assert waits.counted["_local_scalar_dense"] <= 1  # `tolist` copies all at once
    assert value == pytest.approx(sum(values.values()))


@pytest.mark.parametrize("logged", [1, 3, 10])
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
    train(before, 7, Checkpoint(tmp_path / "before", {}, 0.0), Progress("job", io.StringIO()), "float32", "cpu")
    with pytest.raises(Diverged) as caught:
        train(run, 7, Checkpoint(tmp_path / "run", {}, 0.0), Progress("job", io.StringIO()), "float32", "cpu")
    assert caught.value.step == 102
    written = Checkpoint(tmp_path / "run", {}, 0.0).state
    assert written is not None
    assert written.step == 1  # no state after the divergence
    for one, other in zip(before.modules, run.modules, strict=True):
        assert all(torch.equal(x, other.state_dict()[name]) for name, x in one.state_dict().items())


def test_tf32_is_for_the_products_of_a_step_alone(tmp_path: Path) -> None:
    run, seen = distillation(SHORT), []
    loss = run.loss

    def asks(batch: Any) -> Any:
        seen.append(torch.backends.cuda.matmul.fp32_precision)
        return loss(batch)

    run.loss = asks
    before = torch.backends.cuda.matmul.fp32_precision
    for precision in ("tf32", "float32"):
        training_of(run, tmp_path, precision).take(Texts(False)[0])
    assert seen == ["tf32", "ieee"]
    assert torch.backends.cuda.matmul.fp32_precision == before

"""Tests of the training loop, its schedule, its checkpoints, and divergence."""

from __future__ import annotations

import io
import itertools
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.engine.attempts import NEVER, Clock
from retort.errors import Diverged
from retort.training import checkpoint as checkpoint_module
from retort.training import optim
from retort.training.checkpoint import Checkpoint
from retort.training.loop import TrainingRun, train
from retort.training.progress import Progress
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tests.job_settings import schedule

SCHEDULE = schedule(steps=12, batch_size=4, warmup_ratio=0.25, weight_decay=0.1)


class Dropped(nn.Module):
    """A linear map after dropout, so that its steps depend on the random state."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(5, 3)
        self.unused = nn.Linear(2, 2)  # not used by the loss, so it has no state in the optimiser
        self.register_buffer("bank", torch.zeros(()))  # a buffer that each step changes, like a memory bank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.bank += 0.1
        return self.inner(nn.functional.dropout(x, 0.5, self.training)).square().mean() * (1 + self.bank.clone())


def made() -> Dropped:
    torch.manual_seed(1)
    return Dropped()


class Numbered(Dataset[Batch]):
    """Random batches, a function of their number; they cannot be pickled, as maps of memory should not be."""

    def __getitem__(self, number: int) -> Batch:
        values = torch.randn(4, 5, generator=torch.Generator().manual_seed(number))
        return Batch(input_ids=values, token_type_ids=values, attention_mask=values > 0)

    def __reduce__(self) -> str:
        raise AssertionError("a data set is not pickled")


def part(model: nn.Module, stop: int | None = None, bad: int | None = None) -> TrainingRun:
    """Return a training run of twelve steps; step `stop` raises, step `bad` gives a loss of NaN."""
    seen = itertools.count(1)

    def loss(batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        step = next(seen)
        if step == stop:
            raise KeyboardInterrupt
        value = model(batch.input_ids)
        return (value * float("nan") if step == bad else value), {"square": value.detach()}

    return TrainingRun(modules=[model], schedule=SCHEDULE, steps=12, batches=Numbered(), loss=loss)


def short_after(questions: int) -> Clock:
    """Return a clock that is short from this question on; it is asked after each step."""
    asked = itertools.count(1)

    class Counting(Clock):
        def is_short(self) -> bool:
            return next(asked) >= questions

    return Counting()


def progress() -> Progress:
    return Progress("job", io.StringIO())


def test_rate_rises_and_falls() -> None:
    rates = [optim.rate(step, 12, SCHEDULE) for step in range(1, 13)]
    assert rates[:3] == pytest.approx([0.01 / 3, 0.02 / 3, 0.01])
    assert rates[3:] == pytest.approx([0.01 * (10 - k) / 10 for k in range(1, 10)])
    assert all(rate > 0 for rate in rates)


def test_a_rate_may_stay_or_fall_towards_a_later_step() -> None:
    constant = schedule(steps=12, batch_size=4, warmup_ratio=0, lr_scheduler_type="constant_with_warmup")
    assert {optim.rate(step, 12, constant) for step in range(1, 13)} == {constant.learning_rate}
    later = schedule(steps=12, batch_size=4, warmup_ratio=0.25, decay_steps=21)
    rates = [optim.rate(step, 12, later) for step in range(1, 13)]
    assert rates[:3] == [optim.rate(step, 12, SCHEDULE) for step in range(1, 4)]
    assert rates[3:] == pytest.approx([0.01 * (19 - k) / 19 for k in range(1, 10)])  # zero after step 21
    assert later.scaled(2).decay_steps == 42


def test_biases_are_not_decayed_and_frozen_weights_never_reach_the_optimiser() -> None:
    model = made()
    model.unused.requires_grad_(False)
    optimiser = optim.adamw(model.parameters(), SCHEDULE)
    decays = {tuple(p.shape): group["weight_decay"] for group in optimiser.param_groups for p in group["params"]}
    assert decays == {(3, 5): 0.1, (3,): 0.0}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_training_goes_on_to_the_same_weights(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_module, "SHARE", 0)  # a write after every step
    whole = made()
    train(part(whole), 7, Checkpoint(tmp_path / "whole", {"a": 1}, 1e9), progress(), "float32", "cpu")
    cut = made()
    with pytest.raises(KeyboardInterrupt):
        train(part(cut, stop=8), 7, Checkpoint(tmp_path / "cut", {"a": 1}, 0.0), progress(), "float32", "cpu")
    assert [p.name for p in (tmp_path / "cut").glob("*.safetensors")] == ["run-1-step-7.1.safetensors"]
    again = made()
    checkpoint = Checkpoint(tmp_path / "cut", {"a": 1}, 1e9)
    assert checkpoint.state is not None
    assert checkpoint.state.step == 7
    train(part(again), 7, checkpoint, progress(), "float32", "cpu", workers)
    for (name, one), other in zip(whole.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other), name
    assert torch.equal(whole.bank, again.bank)
    assert not torch.equal(whole.inner.weight, made().inner.weight)


def test_state_of_other_settings_or_damaged_state_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(part(made(), stop=5), 7, Checkpoint(tmp_path, {"a": 1}, 0.0), progress(), "float32", "cpu")
    assert Checkpoint(tmp_path, {"a": 1}, 1.0).state is not None
    assert Checkpoint(tmp_path, {"a": 2}, 1.0).state is None
    next(tmp_path.glob("*.safetensors")).write_bytes(b"half a file")
    assert Checkpoint(tmp_path, {"a": 1}, 1.0).state is None


def test_notes_survive_and_belong_to_their_settings(tmp_path: Path) -> None:
    Checkpoint(tmp_path, "mine", 1.0).note({"dev": 0.5})
    assert Checkpoint(tmp_path, "mine", 1.0).notes() == [{"dev": 0.5}]
    assert Checkpoint(tmp_path, "others", 1.0).notes() == []


@pytest.mark.parametrize("clock", [NEVER, short_after(5)])  # the log would ask after step 10
def test_a_loss_that_is_not_a_number_is_a_result_with_its_step(clock: Clock, tmp_path: Path) -> None:
    late = part(made(), bad=4)
    late.steps_before = 100
    with pytest.raises(Diverged) as caught:
        train(late, 7, Checkpoint(tmp_path, {}, 1e9), progress(), "float32", "cpu", clock=clock)
    assert caught.value.step == 104


@pytest.mark.parametrize(("bad", "error"), [(4, Diverged), (None, KeyboardInterrupt)])
def test_worker_processes_end_with_a_training_that_fails(
    tmp_path: Path, bad: int | None, error: type[Exception]
) -> None:
    run, before, alive = part(made(), stop=None if bad else 8, bad=bad), multiprocessing.active_children(), set()

    def loss(batch: Batch, inner: Any = run.loss) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        alive.add(len(multiprocessing.active_children()) - len(before))
        return inner(batch)  # type: ignore[no-any-return]

    run.loss = loss
    with pytest.raises(error) as caught:  # it holds the frames of the training, and with them all that is not closed
        train(run, 7, Checkpoint(tmp_path, {}, 1e9), progress(), "float32", "cpu", num_workers=2)
    assert caught.value.__traceback__
    assert max(alive) == 2
    assert multiprocessing.active_children() == before


def test_the_log_holds_the_terms_by_name(tmp_path: Path) -> None:
    told = progress()
    train(part(made()), 7, Checkpoint(tmp_path, {}, 1e9), told, "float32", "cpu")
    assert "square 0." in told.log.getvalue()  # type: ignore[attr-defined]
    assert "done after step 12" in told.log.getvalue()  # type: ignore[attr-defined]


def test_the_terminal_shows_step_loss_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("retort.training.progress.EVERY", 0.0)
    train(part(made()), 7, Checkpoint(tmp_path, {}, 1e9), progress(), "float32", "cpu")
    lines = capsys.readouterr().err.splitlines()
    assert lines[5].startswith("    job: step 6 of 12, loss 0.")
    assert lines[5].endswith("s left")


@pytest.mark.parametrize("rows", [1, 5, 63, 64, 65, 2490])
def test_an_epoch_has_as_many_steps_as_with_the_dataloader_of_torch(rows: int) -> None:
    expected = len(DataLoader(range(rows), batch_size=32, drop_last=False))  # type: ignore[arg-type]
    assert schedule(epochs=1, batch_size=32).steps_on(rows) == expected
    assert schedule(epochs=3, batch_size=32).steps_on(rows) == 3 * expected


def test_parts_of_epochs_are_rounded_up() -> None:
    assert schedule(epochs=0.5, batch_size=4).steps_on(100) == 13
    assert schedule(epochs=0.1, batch_size=4).steps_on(120) == 3
    assert schedule(epochs=0.01, batch_size=32).steps_on(5) == 1
    assert schedule(steps=7, batch_size=32).steps_on(5) == 7


def test_a_grid_over_epochs() -> None:
    from retort.specs.protocol import Protocol

    protocol = Protocol.model_validate({
        "title": "t", "seeds": [1], "schedule": {"epochs": 3, "batch_size": 8, "learning_rate": 0.1},
        "grid": {"learning_rate": [0.1, 0.2], "batch_size": [8], "epochs": [2, 3]}, "tasks": {"short": {"steps": 5}},
    })  # fmt: skip
    assert protocol.grid is not None
    assert [tuple(point.values()) for point in protocol.grid.points()] == [
        (0.1, 8, 2), (0.1, 8, 3), (0.2, 8, 2), (0.2, 8, 3)
    ]  # fmt: skip
    assert (protocol.for_task("short").steps, protocol.for_task("short").epochs) == (5, None)
    assert (protocol.for_task("long").steps, protocol.for_task("long").epochs) == (None, 3)

"""Tests of the training loop, its schedule, its checkpoints, and divergence."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.engine.attempts import NEVER, Clock, Interrupted
from retort.errors import Diverged
from retort.training import optim
from retort.training.checkpoint import Checkpoint

from tests.job_settings import schedule
from tests.unit.training.runs import SCHEDULE, Dropped, run_of, same, short_after, train


def test_rate_rises_and_falls() -> None:
    rates = [optim.rate(step, 12, SCHEDULE) for step in range(1, 13)]
    assert rates[:3] == pytest.approx([0.01 / 3, 0.02 / 3, 0.01])
    assert rates[3:] == pytest.approx([0.01 * (10 - k) / 10 for k in range(1, 10)])
    assert all(rate > 0 for rate in rates)


def test_biases_are_not_decayed_and_frozen_weights_never_reach_the_optimiser() -> None:
    model = Dropped()
    model.unused.requires_grad_(False)
    optimiser = optim.adamw(model.parameters(), SCHEDULE)
    decays = {tuple(p.shape): group["weight_decay"] for group in optimiser.param_groups for p in group["params"]}
    assert decays == {(3, 5): 0.1, (3,): 0.0}


def test_a_rate_may_stay_or_fall_towards_a_later_step() -> None:
    constant = schedule(steps=12, batch_size=4, warmup_ratio=0, lr_scheduler_type="constant_with_warmup")
    assert {optim.rate(step, 12, constant) for step in range(1, 13)} == {constant.learning_rate}
    later = schedule(steps=12, batch_size=4, warmup_ratio=0.25, decay_steps=21)
    rates = [optim.rate(step, 12, later) for step in range(1, 13)]
    assert rates[:3] == [optim.rate(step, 12, SCHEDULE) for step in range(1, 4)]
    assert rates[3:] == pytest.approx([0.01 * (19 - k) / 19 for k in range(1, 10)])  # zero after step 21
    assert later.scaled(2).decay_steps == 42


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_training_goes_on_to_the_same_weights(tmp_path: Path, workers: int) -> None:
    whole, again = run_of(Dropped()), run_of(Dropped())
    train(whole, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(run_of(Dropped(), stop=8), Checkpoint(tmp_path / "cut", {}, 0.0))
    assert [p.name for p in (tmp_path / "cut").glob("*.safetensors")] == ["run-1-step-7.1.safetensors"]
    assert "12 steps, resumed at step 7\n" in train(again, tmp_path / "cut", workers=workers)
    assert same(whole, again)
    assert not same(whole, run_of(Dropped()))


@pytest.mark.parametrize("clock", [NEVER, short_after(5)])  # the log would ask after step 10
def test_a_loss_that_is_not_a_number_is_a_result_with_its_step(clock: Clock, tmp_path: Path) -> None:
    late = run_of(Dropped(), bad=4)
    late.steps_before = 100
    with pytest.raises(Diverged) as caught:
        train(late, tmp_path, clock=clock)
    assert caught.value.step == 104


@pytest.mark.parametrize(("bad", "error"), [(4, Diverged), (None, KeyboardInterrupt)])
def test_worker_processes_end_with_a_training_that_fails(
    tmp_path: Path, bad: int | None, error: type[Exception]
) -> None:
    run, alive = run_of(Dropped(), None if bad else 8, bad), set()
    before = multiprocessing.active_children()

    def loss(batch: Batch, inner: Any = run.loss) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        alive.add(len(multiprocessing.active_children()) - len(before))
        return inner(batch)  # type: ignore[no-any-return]

    run.loss = loss  # type: ignore[assignment]
    with pytest.raises(error) as caught:  # it holds the frames of the training, and with them all that is not closed
        train(run, tmp_path, workers=2)
    assert caught.value.__traceback__
    assert max(alive) == 2
    assert multiprocessing.active_children() == before


def job(folder: Path, clock: Clock, workers: int = 0) -> Any:
    """Train a model twice, as a job of two stages does, from where it was ended; return the last run."""
    model, checkpoint = Dropped(), Checkpoint(folder, {}, 1e9)
    run = run_of(model)
    for number in (1, 2):
        if not checkpoint.past(number):
            run = run_of(model)
            run.number = number
            train(run, checkpoint, workers=workers, clock=clock)
    return run


# in a stage, at its end, in the next
@pytest.mark.parametrize(("questions", "step", "workers"), [(5, 5, 2), (12, 1, 0), (17, 5, 0)])
def test_a_job_ahead_of_its_limit_writes_its_state_and_goes_on(
    questions: int, step: int, workers: int, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted, match=f"its time limit ended it after step {step}; its state is kept"):
        job(tmp_path / "cut", short_after(questions), workers)
    state = Checkpoint(tmp_path / "cut", {}, 1e9).state
    assert state is not None
    assert (state.run, state.step) == (1 if questions < 12 else 2, step)
    with pytest.raises(Interrupted):
        job(tmp_path / "cut", Clock(end=0.0))  # it begins ahead of its limit, and takes a step
    assert same(job(tmp_path / "cut", NEVER), job(tmp_path / "whole", NEVER))


def test_the_log_holds_the_terms_by_name(tmp_path: Path) -> None:
    log = train(run_of(Dropped()), tmp_path)
    assert "square 0." in log
    assert log.endswith("done after step 12\n")


@pytest.mark.parametrize(
    ("length", "rows", "steps"),
    [({"epochs": 3, "batch_size": 32}, 65, 9), ({"epochs": 3, "batch_size": 32}, 64, 6),
     ({"epochs": 0.5, "batch_size": 4}, 100, 13), ({"epochs": 0.1, "batch_size": 4}, 120, 3),
     ({"epochs": 0.01, "batch_size": 32}, 5, 1), ({"steps": 7, "batch_size": 32}, 5, 7)],
)  # fmt: skip
def test_epochs_and_parts_of_epochs_are_rounded_up(length: dict[str, Any], rows: int, steps: int) -> None:
    assert schedule(**length).steps_on(rows) == steps

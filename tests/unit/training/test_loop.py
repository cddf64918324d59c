"""Tests of the training loop: its schedule, divergence, states of which it goes on, and the best epoch."""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.errors import Diverged
from retort.job.attempts import NEVER, Clock, Interrupted
from retort.training import loop, optim
from retort.training.checkpoint import Checkpoint
from retort.training.finetuning import keep_best
from retort.training.training_run import TrainingRun
from torch import nn

from tests.job_settings import schedule
from tests.unit.training.runs import SCHEDULE, Dropped, run_of, same, short_after, train, training_of


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
    short = schedule(epochs=1, decay_steps=3).scaled(0.4)
    assert short.decay_steps == short.steps_on(6) == 2  # of 3 steps


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


@pytest.mark.parametrize("writes", [True, False])  # another process of the job may write
def test_a_state_is_of_no_use_once_an_earlier_run_is_trained_again(tmp_path: Path, writes: bool) -> None:
    def numbered(number: int, stop: int | None = None) -> TrainingRun:
        return dataclasses.replace(run_of(Dropped(), stop), number=number)

    with pytest.raises(KeyboardInterrupt):
        train(numbered(3, stop=8), Checkpoint(tmp_path, {}, 0.0))
    checkpoint, writing = (Checkpoint(tmp_path, {}, 0.0, writes=own) for own in (writes, True))
    again = numbered(3)
    train(numbered(1), writing)
    assert "resumed" not in train(numbered(1), checkpoint) + train(again, checkpoint)
    assert [checkpoint.past(number) for number in (2, 3)] == [True, False]
    whole = numbered(3)
    train(whole, tmp_path / "whole")
    assert same(again, whole)


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


def test_a_due_checkpoint_ends_no_training(tmp_path: Path) -> None:
    """It goes on to the next line of the log, in which all processes of a training ask."""
    diverging = training_of(run_of(Dropped(), bad=3), Checkpoint(tmp_path, {}, 0.0))
    loop.train([diverging], "cpu")
    assert diverging.diverged is not None
    assert (diverging.diverged.step, diverging.step) == (3, 10)
    assert training_of(run_of(Dropped()), Checkpoint(tmp_path, {}, 1e9)).step == 2  # no state after the divergence


@pytest.mark.parametrize("stop", [4, 11])  # before the log asks for the loss, and after
def test_a_divergence_is_seen_ahead_of_a_limit(stop: int, tmp_path: Path) -> None:
    runs = {"whole": run_of(Dropped()), "wild": run_of(Dropped(), bad=3)}
    trainings = [training_of(run, Checkpoint(tmp_path / name, {}, 1e9)) for name, run in runs.items()]
    with pytest.raises(Interrupted, match=f"its time limit ended it after step {stop}; its state is kept"):
        loop.train(trainings, "cpu", clock=short_after(stop))
    assert [each.diverged and each.diverged.step for each in trainings] == [None, 3]
    states = [Checkpoint(tmp_path / name, {}, 1e9).state for name in runs]
    assert [state and state.step for state in states] == [stop, None]


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


# the weights of the best epoch

ROWS = 20  # in batches of four: epochs end after steps 5 and 10, and the last step, 12, ends a part of one


class Scored:
    """Scores in the order in which they are asked for; keeps the weights that each was of."""

    def __init__(self, model: nn.Module, scores: list[float]) -> None:
        self.model, self.scores = model, iter(scores)
        self.seen: list[list[torch.Tensor]] = []

    def __call__(self) -> float:
        self.model.eval()  # as an evaluation does; the training must go on in training mode
        self.seen.append([weight.detach().clone() for weight in self.model.parameters()])
        return next(self.scores)


def trained(folder: Path, scores: list[float], stop: int | None = None) -> tuple[nn.Module, Scored]:
    """Train for twelve steps; if `stop` is given, the run is killed at this step and goes on from its checkpoint."""
    score = Scored(Dropped(), scores)
    if stop:
        killed = run_of(score.model, stop)
        keep_best(killed, score.model, score, ROWS)
        with pytest.raises(KeyboardInterrupt):
            train(killed, Checkpoint(folder, {}, 0.0))
        score.model = Dropped()
    run = run_of(score.model)
    keep_best(run, score.model, score, ROWS)
    train(run, folder)
    return score.model, score


@pytest.mark.parametrize(("scores", "best"), [([0.1, 0.5, 0.3], 1), ([0.1, 0.2, 0.3], 2), ([0.3, 0.3, 0.2], 0),
                                              ([math.nan, 0.2, math.nan], 1), ([math.nan] * 3, 2)])  # fmt: skip
def test_the_last_weights_are_those_of_the_first_best_epoch(tmp_path: Path, scores: list[float], best: int) -> None:
    model, score = trained(tmp_path, scores)
    assert len(score.seen) == 3
    for weight, kept in zip(model.parameters(), score.seen[best], strict=True):
        assert torch.equal(weight, kept)


def test_scoring_changes_no_step(tmp_path: Path) -> None:
    plain = Dropped()
    train(run_of(plain), tmp_path / "plain")
    model, _ = trained(tmp_path / "scored", [0.1, 0.2, 0.3])
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), plain.parameters(), strict=True))


@pytest.mark.parametrize("stop", [4, 8, 12])
def test_a_run_that_was_killed_ends_with_the_same_weights(tmp_path: Path, stop: int) -> None:
    whole, _ = trained(tmp_path / "whole", [0.5, 0.1, 0.2])
    resumed, score = trained(tmp_path / "cut", [0.5, 0.1, 0.2], stop)
    assert len(score.seen) == 3  # no epoch is scored twice
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), resumed.parameters(), strict=True))

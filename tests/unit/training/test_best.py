"""Tests that a training run ends with the weights of its best epoch, also after it was killed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from retort.training.checkpoint import Checkpoint
from retort.training.finetuning import keep_best
from torch import nn

from tests.unit.training.runs import Dropped, run_of, train

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

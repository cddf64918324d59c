"""Tests of the curves of the loss behind a cell."""

from __future__ import annotations

import json
import math
from pathlib import Path

from retort.tables.curves import POINTS, drawn_curves, loss_curve, losses_of


def test_a_curve_has_the_losses_of_its_seed_in_order(tmp_path: Path) -> None:
    lines = [{"seed": seed, "stage": stage, "step": step, "loss": seed * stage / step}
             for seed in (1, 2) for stage in (1, 2) for step in range(1, 101)]  # fmt: skip
    lines += [{"seed": 1, "dev": 0.5}, {"seed": 1, "loss": None}]
    (tmp_path / "job.steps.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    losses = losses_of(str(tmp_path / "job.log"))
    assert (len(losses[1]), losses[2][0], losses[2][100]) == (200, math.log(2), math.log(4))
    curve = loss_curve(losses[1])
    assert (len(curve), curve[0] > curve[POINTS // 2 - 1] < curve[POINTS // 2] > curve[-1]) == (POINTS, True)
    assert loss_curve([math.log(2), 0.0, 0.5]) == (math.log(2), 0.0, 0.5)


def test_without_steps_there_is_no_curve(tmp_path: Path) -> None:
    assert (losses_of(str(tmp_path / "job.log")), losses_of(""), loss_curve([])) == ({}, {}, ())
    assert drawn_curves([(), (1.0,)]) == []


def test_curves_share_their_axes():
    assert drawn_curves([(2.0, 0.0), (1.0, 1.0), ()]) == ["0,0 240,60", "0,30 240,30"]

"""Tests of the calibration: what is measured, in which precision, what is kept, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from retort.cli import main
from retort.cost import work
from retort.cost.bench import calibrate as measuring
from retort.cost.bench.calibrate import calibrate
from retort.cost.losses import NUMBER, RELATION_MOVES
from retort.cost.speed import Speed, speed_of_device
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.specs.model import Architecture

OUTPUT = Path("results/calibration.json")


def test_a_calibration_is_measured_kept_and_read(small: Architecture) -> None:
    found = calibrate("float32", gpu=False, output=OUTPUT, lasting=0.0)
    kept = json.loads(OUTPUT.read_text())
    assert (kept["threads"], kept["precision"]) == (1, "float32")
    assert found == pytest.approx(2 * 3 * work.forward(small, 4) / kept["seconds"])
    read = speed_of_device(None, gpu=False, config=read_config({"precision": "float32"}))
    assert (read.flops, read.bandwidth, read.start) == pytest.approx((found, kept["bandwidth"], 1.0))
    assert read.relations == kept["relations"] > 0
    assert read.origin.startswith("measured on cpu")


@pytest.mark.usefixtures("small")
def test_relations_take_what_is_left_of_the_time_of_their_loss() -> None:
    counted = 2 * RELATION_MOVES * NUMBER * 48 * measuring.RELATION_LENGTH**2 / 1e9  # seconds
    vectors = 2 * 12 * NUMBER * 128 * (48 + 768) / 1e9
    products = 2 * 2 * 128 * 128 * (48 + 768 + 2 * 48) / 1e12
    taken = 3 * counted + vectors + products
    assert measuring._relations("cpu", taken, Speed(1e12, 1e9, 0, "")) == pytest.approx(3)
    assert measuring._relations("cpu", counted, Speed(1e6, 1e9, 0, "")) == pytest.approx(0.5)  # at least half


def test_a_machine_without_a_gpu_says_nothing_of_a_study_on_gpus(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RetortError, match=r"the study trains on GPUs, and torch \S+ sees none on \S+; calibrate on a"):
        calibrate("bfloat16", gpu=True, output=OUTPUT)
    assert not OUTPUT.exists()
    Path("config.yaml").write_text('{"scale": "paper"}')
    assert main(["cost", "--config", "config.yaml", "--calibrate"]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert not said.out

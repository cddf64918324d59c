"""Tests of the speed by which work becomes hours: a calibration counts where it says something of the study's jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from retort.cost import speed
from retort.cost.speed import GUESSED, Speed, Work, guessed_speed, in_precision, speed_of_device
from retort.errors import RetortError
from retort.specs.config import ROOT, read_config

HERE, OTHER, GPU = "cpu: this one", "cpu: another one", "cuda: a GPU"
ON_CLUSTER = {"cluster": str(ROOT / "slurm/partitions.yaml")}
ON_GPU = {"scale": "paper"}
FILE = Path("results/calibration.json")


@pytest.fixture(autouse=True)
def on_this_machine(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder on a machine with a known CPU."""
    monkeypatch.setattr(speed, "processor_name", lambda: "this one")
    FILE.parent.mkdir()


def calibrated(device: str) -> None:
    """Write a calibration in bfloat16."""
    kept = {"flops": 2e9, "bandwidth": 3e9, "relations": 0.5, "start": 4, "device": device, "threads": 1}
    FILE.write_text(json.dumps({**kept, "precision": "bfloat16", "at": "2026-11-22T09"}))


@pytest.mark.parametrize(
    ("device", "keys", "precision", "start"),
    [
        (HERE, {}, "bfloat16", speed.FORK),
        (OTHER, ON_CLUSTER, "bfloat16", 4),
        (GPU, ON_GPU | ON_CLUSTER, "bfloat16", 4),
        (HERE, {}, "float32", None),
        (GPU, ON_GPU, "tf32", None),
        (HERE, ON_GPU, "bfloat16", None),
        (GPU, {}, "bfloat16", None),
        (OTHER, {}, "bfloat16", None),
    ],
)
def test_a_calibration_counts_if_it_says_something_of_the_jobs(
    device: str, keys: dict[str, Any], precision: str, start: float | None
) -> None:
    calibrated(device)
    config = read_config({"precision": precision, **keys})
    origin = f"measured on {device}, 1 thread(s), bfloat16, 2026-11-22"
    guessed = guessed_speed(config.gpus > 0, precision)
    guessed = guessed if config.cluster else replace(guessed, start=speed.FORK)
    expected = guessed if start is None else Speed(2e9, 3e9, start, origin, 0.5, speed.MEASURED_WITHIN)
    assert speed_of_device(None, config.gpus > 0, config) == expected


def test_without_a_calibration_it_is_a_guess_or_what_the_user_says() -> None:
    config = read_config({"precision": "bfloat16"})
    found = speed_of_device(None, gpu=False, config=config)
    assert found == replace(GUESSED[False], start=speed.FORK)
    in_float32 = speed_of_device(None, gpu=False, config=read_config({"precision": "float32"}))
    work = Work(flops=1e12, traffic=1e11)
    assert in_float32.hours(work, jobs=0) == speed.FLOAT32 * found.hours(work, jobs=0)
    assert speed_of_device(2e9, gpu=False, config=config).flops == 2e9
    FILE.write_text('{"flops": "many"}')
    with pytest.raises(RetortError, match=r"calibration\.json holds no calibration; measure again"):
        speed_of_device(None, gpu=False, config=config)


def test_on_a_gpu_encoders_take_longer_in_other_precisions() -> None:
    in_bfloat16, in_tf32, in_float32 = (
        speed_of_device(None, gpu=True, config=read_config({"precision": precision, **ON_GPU}))
        for precision in ("bfloat16", "tf32", "float32")
    )
    assert in_bfloat16 == replace(GUESSED[True], start=speed.FORK)
    # a fifth of the time at a peak of 312, 156 or 19.5 TFLOP/s, the rest to move numbers of two or four bytes
    for found, slower in ((in_tf32, 0.2 * 312 / 156 + 0.8 * 2), (in_float32, 0.2 * 312 / 19.5 + 0.8 * 2)):
        assert found.flops == pytest.approx(in_bfloat16.flops / slower)
        assert found.bandwidth == in_bfloat16.bandwidth  # losses are in float32 anyway
    assert in_float32.origin.endswith("; in float32, encoders take 4.8 times as long")
    assert in_precision(speed.H100, "tf32").flops == speed.H100.flops / 2


def test_hours_are_those_of_all_work() -> None:
    speed = Speed(flops=1e9, bandwidth=1e8, start=7, origin="")
    assert speed.hours(Work(flops=3.6e12), jobs=0) == 1
    assert speed.hours(Work(traffic=3.6e11), jobs=0) == 1
    assert speed.hours(Work(seconds=3600), jobs=0) == 1
    assert speed.hours(Work(), jobs=3600) == 7
    relations = Work(traffic=3.6e11, relation_traffic=2.7e11)
    assert speed.hours(relations, jobs=0) == 1
    for twice in (relations.times(2), relations + relations):
        assert replace(speed, relations=3.0).hours(twice, jobs=0) == 2 * (0.25 + 3 * 0.75)

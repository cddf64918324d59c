"""Tests of the speed by which work becomes hours: a calibration counts where it says something of the study's jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.cost import speed
from retort.cost.speed import GUESSED, speed_of_device
from retort.specs.config import Config, read_config

HERE, OTHER, GPU = "cpu: this one", "cpu: another one", "cuda: a GPU"
ON_CLUSTER = {"cluster": "slurm/partitions.yaml"}
ON_GPU = {"scale": "paper"}


@pytest.fixture(autouse=True)
def on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder on a machine with a known CPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "processor", lambda: "this one")


def config_of(keys: dict[str, Any], precision: str = "bfloat16") -> Config:
    """Return a configuration with some keys."""
    return read_config({"precision": precision, **keys})


def calibrated(device: str) -> None:
    """Write a calibration in bfloat16."""
    kept = {"flops": 2e9, "bandwidth": 3e9, "relations": 0.5, "start": 4, "fork": 1, "device": device, "threads": 1}
    Path("results").mkdir()
    Path("results/calibration.json").write_text(json.dumps({**kept, "precision": "bfloat16", "at": "2026-11-22T09"}))


@pytest.mark.parametrize(
    ("device", "keys", "start"),
    [(HERE, {}, 1), (HERE, ON_CLUSTER, 4), (OTHER, ON_CLUSTER, 4), (GPU, ON_GPU | ON_CLUSTER, 4), (GPU, ON_GPU, 1)],
)
def test_a_calibration_counts_and_the_origin_tells_on_what_it_was_measured(
    device: str, keys: dict[str, Any], start: float
) -> None:
    calibrated(device)
    config = config_of(keys)
    read = speed_of_device(None, config.gpus > 0, config)
    assert (read.flops, read.bandwidth, read.relations, read.start) == (2e9, 3e9, 0.5, start)
    assert read.origin == f"measured on {device}, 1 thread(s), bfloat16, 2026-11-22"


@pytest.mark.parametrize(
    ("device", "config", "reason"),
    [
        (HERE, config_of({}, "float32"), "the study trains in float32"),
        (GPU, config_of(ON_GPU | ON_CLUSTER, "tf32"), "the study trains in tf32"),
        (HERE, config_of(ON_GPU), "jobs run on a GPU"),
        (GPU, config_of({}), "jobs run on a CPU"),
        (OTHER, config_of({}), "this machine has another CPU, this one"),
    ],
)
def test_a_calibration_that_says_nothing_of_the_jobs_does_not_count(device: str, config: Config, reason: str) -> None:
    calibrated(device)
    gpu = config.gpus > 0
    read = speed_of_device(None, gpu, config)
    assert (read.flops, read.relations) == (GUESSED[gpu].flops, 1.0)
    told = f"results/calibration.json was measured on {device}, 1 thread(s), bfloat16, 2026-11-22, but {reason}"
    assert read.origin == f"{GUESSED[gpu].origin}; {told}; measure it with --calibrate or give it with --flops"


def test_without_a_calibration_it_is_a_guess_or_what_the_user_says() -> None:
    config = config_of({})
    origin = f"{GUESSED[False].origin}; measure it with --calibrate or give it with --flops"
    assert speed_of_device(None, gpu=False, config=config).origin == origin
    assert speed_of_device(2e9, gpu=False, config=config).flops == 2e9

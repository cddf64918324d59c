"""Tests that a killed run says what to type, and that its training goes on to the same bytes."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import SNAKEMAKE, read_json, snakemake
from tests.tiny.edit import change
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow

SCORE = "results/scores/tiny-attention/mood/seed-1.json"
WEIGHTS = "results/students/tiny-attention/mood/seed-1/model.safetensors"
CHECKPOINT = "results/checkpoints/scores.tiny-attention.mood.seed-1"


def long_study(folder: Path) -> Path:
    """Return a tiny study whose training runs are long enough to be killed in the middle."""
    make_study(folder, keep_weights=True, checkpoint_seconds=0.2)
    change(folder / "study", "protocols/short.yaml", "steps: 6", "steps: 300")
    return folder


def kill_in_the_middle(folder: Path) -> int:
    """Kill a run and its training with SIGKILL after the first checkpoint, and return the step of this checkpoint.

    It does not wait for a later one: where the disk is slow, checkpoints are so rare that there may be none.
    """
    command = [*SNAKEMAKE, "--directory", str(folder),
               "--configfile", str(folder / "config.yaml"), "--cores", "1", SCORE]  # fmt: skip
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    state = folder / CHECKPOINT / "state.json"
    end = time.monotonic() + 300
    while time.monotonic() < end and running.poll() is None:
        if state.is_file():
            jobs = psutil.Process(running.pid).children(recursive=True)
            for process in (running, *reversed(jobs)):
                process.kill()
            break
        time.sleep(0.02)
    assert running.wait(60) != 0
    assert not (folder / SCORE).exists()
    return int(read_json(state)["step"])


def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    whole, cut = long_study(tmp_path / "whole"), long_study(tmp_path / "cut")
    snakemake(whole, SCORE)
    step = kill_in_the_middle(cut)
    assert 0 < step < 300
    locked = snakemake(cut, SCORE, check=False)
    assert locked.returncode
    assert "--unlock" in locked.stdout + locked.stderr
    snakemake(cut, "--unlock")
    done = snakemake(cut, SCORE, "--rerun-incomplete")
    assert f"resumed at step {step} of 300" in done.stdout + done.stderr
    assert (cut / WEIGHTS).read_bytes() == (whole / WEIGHTS).read_bytes()
    mine, other = read_json(cut / SCORE), read_json(whole / SCORE)
    for key in ("metrics", "status", "seed", "split"):
        assert mine[key] == other[key]
    assert not (cut / CHECKPOINT).exists()

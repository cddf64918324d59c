"""Tests that the training of a killed run goes on to the same bytes."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from retort.job import fork_client

from tests.conftest import SNAKEMAKE, copy_study, read_json, server_of_jobs, snakemake
from tests.tiny.make import make_study
from tests.workflow.test_slurm_faults import ACTIVATIONS, lengthen

pytestmark = pytest.mark.workflow

SCORE = "results/scores/tiny-attention/mood/1-2.json"
WEIGHTS = "results/students/tiny-attention/mood/1-2/seed-1/model.safetensors"
STEPS = 60  # of each stage
CHECKPOINT = "results/checkpoints/scores.tiny-attention.mood.seed-1"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return a tiny study in which all is made but a training that is long enough to be killed in the middle."""
    folder = make_study(tmp_path / "base", keep_weights=True, checkpoint_seconds=0.1)
    lengthen(folder, STEPS, "Attention, then predictions")
    snakemake(folder, "results/teachers/tiny-teacher/mood/1")
    return folder


def kill_in_the_middle(folder: Path) -> int:
    """Kill a run and its training with SIGKILL after the first checkpoint, and return the step of this checkpoint.

    It does not wait for a later one: where the disk is slow, checkpoints are so rare that there may be none.
    """
    command = [*SNAKEMAKE, "--directory", str(folder),
               "--configfile", str(folder / "config.yaml"), "--cores", "1", SCORE]  # fmt: skip
    environment = os.environ | {fork_client.ADDRESS: server_of_jobs()}  # a fork ends with the process that asked for it
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(command, cwd=folder, env=environment, **quiet)
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


def test_a_killed_training_goes_on_to_the_same_bytes(base: Path, tmp_path: Path) -> None:
    whole, cut = (copy_study(base, tmp_path / name) for name in ("whole", "cut"))
    snakemake(whole, SCORE)
    step = kill_in_the_middle(cut)
    assert 0 < step < STEPS
    assert (cut / ACTIVATIONS).is_dir()
    done = snakemake(cut, SCORE)
    assert "record_activations" not in done.stdout + done.stderr  # they are still there
    assert not (cut / ACTIVATIONS).exists()  # and are needed no more
    assert f"resumed at step {step} of {STEPS}" in done.stdout + done.stderr
    assert (cut / WEIGHTS).read_bytes() == (whole / WEIGHTS).read_bytes()
    for mine, other in zip(read_json(cut / SCORE), read_json(whole / SCORE), strict=True):
        for key in ("metrics", "status", "seed", "split"):
            assert mine[key] == other[key]
    assert not (cut / CHECKPOINT).exists()

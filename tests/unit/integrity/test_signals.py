"""Tests that signals which Slurm sends to the first process of a step reach its trainings."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

# the process that runs the jobs of a Slurm job, a shell below it, and below the shell a training
STEP = """
import signal, subprocess, sys
from types import SimpleNamespace
from snakemake.scheduling.job_scheduler import JobScheduler
from retort.run_hooks import pass_signals_on
JobScheduler.exit_gracefully = lambda scheduler, *_: print("Snakemake ends", flush=True)
pass_signals_on()
signal.signal(signal.SIGTERM, lambda *_: JobScheduler.exit_gracefully(SimpleNamespace()))
subprocess.call(["sh", "-c", f"trap '' TERM; '{sys.executable}' -c '{sys.argv[1]}'; true"])
"""
TRAINING = """
import time
from retort.signals import Interruption
with Interruption() as interruption:
    print("trains", flush=True)
    while interruption.received is None:
        time.sleep(0.01)
    print("writes its state at", interruption.received.name, flush=True)
"""


@pytest.mark.parametrize("name", ["SIGURG", "SIGTERM"])
def test_a_signal_to_the_first_process_of_a_step_reaches_the_training(name: str) -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", STEP, TRAINING]
    environment = {"PYTHONPATH": str(root / "workflow"), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as step:
        assert step.stdout is not None
        assert step.stdout.readline() == "trains\n"
        step.send_signal(signal.Signals[name])
        said = step.stdout.read().splitlines()
    assert f"writes its state at {name}" in said
    assert ("Snakemake ends" in said) == (name == "SIGTERM")

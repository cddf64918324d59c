"""Tests of what is asked of Slurm, with pretended commands of Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from retort.engine import slurm

Put = Callable[..., Path]
SILENT = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
RUNNING = "echo '17|RUNNING|None'"


@pytest.mark.parametrize(
    ("squeue", "sacct", "state"),
    [
        (RUNNING, "exit 1", "RUNNING"),
        ("echo '17|COMPLETED|None'", "exit 1", "COMPLETED"),
        ("echo 'CLUSTER: here'; echo '17|FAILED|NonZeroExitCode'", "exit 1", "FAILED (NonZeroExitCode)"),
        ("echo '17|NODE_FAIL|NodeDown'", "exit 1", "NODE_FAIL (NodeDown)"),  # the node may be out of reach
        ("", "echo '17|CANCELLED by 1000|None'", "CANCELLED by 1000"),
        ("echo '18|RUNNING|None'", "echo '17|TIMEOUT|'", "TIMEOUT"),
        ("", "echo '17|RUNNING|None'", "UNKNOWN"),  # a record that nobody closed
        ("", SILENT, "UNKNOWN"),
        (f'[ -n "$SQUEUE_PARTITION" ] || {RUNNING}', "exit 1", "RUNNING"),
    ],
)
def test_the_state_of_a_job(squeue: str, sacct: str, state: str, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    asked = put(squeue=squeue, sacct=sacct)
    assert slurm.states("run-1", ["17"]) == {"17": state}
    assert all(
        "--name=run-1" in line for line in asked.read_text().splitlines()
    )  # another run may have a job of the same id


@pytest.mark.parametrize("scripts", [{"squeue": SILENT, "sacct": RUNNING}, {}])
def test_a_slurm_that_is_silent_or_not_there_says_nothing(scripts: dict[str, str], put: Put) -> None:
    put(**scripts)
    assert slurm.states("run-1", ["17"]) is None

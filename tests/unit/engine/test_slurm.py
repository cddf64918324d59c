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
    ("squeue", "sacct", "state", "ended"),
    [
        (RUNNING, "exit 1", "RUNNING", False),
        ("echo '17|COMPLETED|None'", "exit 1", "COMPLETED", True),
        ("echo 'CLUSTER: here'; echo '17|FAILED|NonZeroExitCode'", "exit 1", "FAILED (NonZeroExitCode)", True),
        ("echo '17|NODE_FAIL|NodeDown'", "exit 1", "NODE_FAIL (NodeDown)", False),  # the node may be out of reach
        ("", "echo '17|CANCELLED by 1000|None'", "CANCELLED by 1000", True),
        ("echo '18|RUNNING|None'", "echo '17|TIMEOUT|'", "TIMEOUT", True),
        ("", "echo '17|RUNNING|None'", "UNKNOWN", False),  # a record that nobody closed
        ("", SILENT, "UNKNOWN", False),
        (f'[ -n "$SQUEUE_PARTITION" ] || {RUNNING}', "exit 1", "RUNNING", False),
    ],
)
def test_the_state_of_a_job(
    squeue: str, sacct: str, state: str, ended: bool, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    asked = put(squeue=squeue, sacct=sacct)
    assert slurm.states("run-1", ["17"]) == {"17": state}
    assert slurm.has_ended("run-1", "17") is ended
    assert all(
        "--name=run-1" in line for line in asked.read_text().splitlines()
    )  # another run may have a job of the same id


@pytest.mark.parametrize("scripts", [{"squeue": SILENT, "sacct": RUNNING}, {}])
def test_a_slurm_that_is_silent_or_not_there_says_nothing(scripts: dict[str, str], put: Put) -> None:
    put(**scripts)
    assert slurm.states("run-1", ["17"]) is None
    assert not slurm.has_ended("run-1", "17")

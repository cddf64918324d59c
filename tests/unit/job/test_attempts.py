"""Tests of attempts at a job: how often, after what, and how near its time limit is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from retort.job import attempts
from retort.job.attempts import KILLED, NEVER, Attempt, Clock, attempt

LOG, NOTE = "results/logs/rule/a.log", Path("results/.locks/rule.a.attempt")
KILL = f"""
import os
from pathlib import Path
from retort.job.attempts import attempt
with attempt(Path('{NOTE}')):
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def one_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of results, in a run of Snakemake, outside Slurm."""
    monkeypatch.setenv(attempts.RUN, "run-1")


def fails(error: str | BaseException = "no luck") -> None:
    """Begin an attempt that fails."""
    error = OSError(error) if isinstance(error, str) else error
    with pytest.raises(type(error)), attempt(NOTE):
        raise error


def is_killed() -> None:
    """Begin an attempt in a process that is killed."""
    assert subprocess.run([sys.executable, "-c", KILL], check=False).returncode == -9


def test_a_stop_by_the_user_and_a_success_leave_no_failure() -> None:
    fails()
    fails(KeyboardInterrupt())
    assert not NOTE.exists()
    NOTE.write_text("half")  # a damaged one blocks nothing
    with attempt(NOTE):
        pass
    assert not NOTE.exists()


def test_a_job_has_failed_in_the_run_that_tried_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts.failure_reason(LOG) == ""
    is_killed()
    assert attempts.failure_reason(LOG) == KILLED
    attempts.note_refusal(LOG, "out of memory")  # Slurm knows more
    assert attempts.failure_reason(LOG) == "out of memory"
    fails("no luck")
    attempts.note_refusal(LOG, "it ended with status 1")  # and here less
    assert attempts.failure_reason(LOG) == "no luck"
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert attempts.failure_reason(LOG) == ""
    attempts.note_refusal(LOG, "no such partition")
    assert attempts.failure_reason(LOG) == "no such partition"
    assert Attempt.read(NOTE) == Attempt("run-2", "no such partition")


def test_the_reason_says_that_the_memory_of_the_gpu_was_too_small() -> None:
    error = RuntimeError("Caught an error in a thread.\nTraceback\nCUDA error: out of memory\nmore")
    assert attempts.reason_of(error).startswith(
        "the GPU has too little memory for its batches (CUDA error: out of memory); set micro_batch, below "
        "its batch_size, in the configuration or in its schedule"
    )


@pytest.mark.parametrize(
    ("minutes", "mem_mb", "end", "clock"),
    [
        (60, 8_000, None, Clock(4_600.0, 200.0)),  # counted from the beginning; 80 s for 8 GB
        (60, 8_000, 2_600.0, Clock(2_600.0, 200.0)),  # Slurm knows better
        (10, 200_000, None, Clock(1_600.0, 120.0)),  # at most a fifth of the time
        (0, 8_000, None, NEVER),
    ],
)
def test_the_time_to_write_grows_with_the_memory_of_a_job(
    minutes: int, mem_mb: int, end: float | None, clock: Clock
) -> None:
    assert attempts.clock_of(minutes, mem_mb, end, began=1_000.0) == clock

"""Tests of attempts at a job: how often, after what, with how many rows at once, and how near its time limit is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from retort.engine import attempts
from retort.engine.attempts import KILLED, NEVER, Attempt, Clock, GivenUp, Interrupted, attempt
from retort.engine.job import job

from tests.rule_job import rule_job

LOG, NOTE = "results/logs/rule/a.log", Path("results/.locks/rule.a.attempt")
RESULTS = [Path("results/scores/s/mood/seed-1.json"), Path("results/scores/s/mood/seed-2.json")]
TOO_SMALL = "CUDA out of memory. Tried to allocate 2.00 GiB."
KILL = f"""
import os
from pathlib import Path
from retort.engine.attempts import attempt
with attempt(Path('{NOTE}'), map(Path, {list(map(str, RESULTS))})):
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of results, in a run of Snakemake, outside Slurm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(attempts.RUN, "run-1")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


def fails(error: str | BaseException = "no luck") -> None:
    """Begin an attempt that fails."""
    error = OSError(error) if isinstance(error, str) else error
    with pytest.raises(type(error)) as raised, attempt(NOTE, RESULTS):
        raise error
    assert raised.value is error  # the attempt could begin


def is_killed() -> None:
    """Begin an attempt in a process that is killed."""
    assert subprocess.run([sys.executable, "-c", KILL], check=False).returncode == -9


def refusal() -> str:
    """Return why no further attempt begins; empty if one begins, which then fails."""
    try:
        with attempt(NOTE, RESULTS):
            raise OSError("no luck")
    except GivenUp as given_up:
        return str(given_up).removeprefix("given up after 2 failures without a step forward; the last one: ")
    except OSError:
        return ""


def gets_to(step: int, seed: int = 1) -> Path:
    """Leave the checkpoint of a seed at this step; return its folder."""
    folder = Path(f"results/checkpoints/scores.s.mood.seed-{seed}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.json").write_text(json.dumps({"run": 1, "step": step}))
    return folder


def test_two_failures_without_a_step_are_enough_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fails("one")
    fails("\n \n  the reason\nand more")
    assert refusal() == "the reason"
    monkeypatch.setenv(attempts.RUN, "run-2")
    is_killed()
    is_killed()
    assert refusal() == KILLED


def test_any_step_forward_begins_the_count_anew() -> None:
    fails()
    for step in (1, 2):
        gets_to(step)
        fails()
    (gets_to(2) / "notes.jsonl").write_text("the first run\n")
    fails()
    gets_to(1, seed=2)
    fails()
    shutil.rmtree(gets_to(0))
    Path("results/kept/scores.s.mood.seed-1").mkdir(parents=True)  # the first seed is done
    fails()
    fails()
    assert refusal() == "no luck"


def test_a_job_that_slurm_queues_again_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    for _ in range(3):  # a lost node, or a preemption
        is_killed()
    fails(Interrupted(7))  # ahead of its time limit, but without a step forward
    monkeypatch.setenv("SLURM_JOB_ID", "13")  # Snakemake tries it again
    fails()
    assert refusal() == "no luck"


def test_a_stop_by_the_user_and_a_success_leave_no_failure() -> None:
    fails()
    fails(KeyboardInterrupt())
    assert not NOTE.exists()
    NOTE.write_text("half")  # a damaged one blocks nothing
    with attempt(NOTE, RESULTS):
        pass
    assert not NOTE.exists()


def test_a_job_has_failed_in_the_run_that_tried_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts.failure(LOG) == ""
    is_killed()
    assert attempts.failure(LOG) == KILLED
    attempts.note_refusal(LOG, "out of memory")  # Slurm knows more
    assert attempts.failure(LOG) == "out of memory"
    fails("no luck")
    attempts.note_refusal(LOG, "it ended with status 1")  # and here less
    assert attempts.failure(LOG) == "no luck"
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert attempts.failure(LOG) == ""
    attempts.note_refusal(LOG, "no such partition")
    assert attempts.failure(LOG) == "no such partition"
    assert Attempt.read(NOTE) == Attempt("run-2", "", "", reason="no such partition")  # without failures of run-1


def rows_at_once(error: str = "no luck", **resources: int) -> int | None:
    """Return the rows that an attempt of a job takes at once; it fails with this error."""
    with pytest.raises(OSError, match=error), job(rule_job(output=list(RESULTS), resources=resources)) as running:
        raise OSError(error)
    return running.micro_batch


@pytest.mark.parametrize(
    ("resources", "found"),
    [({"micro_batch": 60, "rows": 90}, [60, 30, 20]), ({"rows": 7}, [None, 4, 3]), ({}, [None, None, None])],
)
def test_only_a_gpu_that_was_too_small_makes_the_rows_fewer(resources: dict[str, int], found: list[int | None]) -> None:
    first, second, third = found
    ends = [(TOO_SMALL, first), ("no luck", second), (f"process 1: {TOO_SMALL}", second), ("no luck", third)]
    for step, (error, rows) in enumerate(ends, start=1):
        assert rows_at_once(error, **resources) == rows
        gets_to(step)
    is_killed()
    assert rows_at_once(**resources) == third


def test_a_training_that_goes_on_in_a_new_run_keeps_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    fails(TOO_SMALL)
    folder = gets_to(1)
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert rows_at_once(rows=8) == 4  # other parts would draw other dropout
    shutil.rmtree(folder)
    monkeypatch.setenv(attempts.RUN, "run-3")
    assert rows_at_once(rows=8) is None


def test_the_reason_says_that_the_memory_of_the_gpu_was_too_small() -> None:
    error = RuntimeError("Caught an error in a thread.\nTraceback\nCUDA error: out of memory\nmore")
    assert attempts.reason_of(error) == "Caught an error in a thread. CUDA error: out of memory"


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

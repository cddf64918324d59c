"""Tests of jobs that are attempted again: how often, and after what."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from retort import attempts, slurm
from retort.attempts import GivenUp, attempt
from retort.errors import RetortError
from retort.jobs import job
from retort.signals import Interrupted

from tests.conftest import ROOT
from tests.rule_job import rule_job


@pytest.fixture(autouse=True)
def one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of results, in a run of Snakemake, outside Slurm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(attempts.RUN, "run-1")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


def fails(reason: str = "no luck") -> None:
    """Begin an attempt that fails."""
    with pytest.raises(OSError, match=reason), attempt(Path("a.attempt"), [Path("state")]):
        raise OSError(reason)


def is_killed() -> None:
    """Begin an attempt in a process that is killed."""
    code = "with attempt(Path('a.attempt'), [Path('state')]): os.kill(os.getpid(), 9)"
    code = f"import os; from retort.attempts import *\n{code}"
    subprocess.run([sys.executable, "-c", code], check=False)


def gets_to(step: int, folder: str = "state") -> None:
    """Leave a checkpoint of this step."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, "state.json").write_text(json.dumps({"run": 1, "step": step}))


def test_two_failures_without_a_step_are_enough() -> None:
    fails("one")
    fails("two")
    with pytest.raises(GivenUp, match="given up after 2 failures without a step forward; the last one: two"):
        fails()


def test_an_error_that_begins_with_an_empty_line_has_a_reason() -> None:
    fails("\n \n  the reason\nand more")
    kept = attempts.Attempt.read(Path("a.attempt"))
    assert kept is not None
    assert kept.reason == "the reason"


def test_a_killed_process_has_failed() -> None:
    is_killed()
    is_killed()
    with pytest.raises(GivenUp, match="the last one: it was killed"):
        fails()


def test_a_step_forward_begins_the_count_anew() -> None:
    for step in range(4):
        fails()
        gets_to(step + 1)
    fails()
    fails()
    with pytest.raises(GivenUp):
        fails()


def test_a_lost_node_and_a_preemption_are_no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    for _ in range(4):
        is_killed()
    fails()
    monkeypatch.setenv("SLURM_JOB_ID", "13")  # Snakemake's retry
    fails()
    with pytest.raises(GivenUp):
        fails()


def test_a_preemption_after_which_slurm_does_not_queue_the_job_again_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(4):
        monkeypatch.setenv("SLURM_JOB_ID", str(number))
        is_killed()
        attempts.note_lost(str(number))
    assert short() == (0, 0)
    monkeypatch.setenv("SLURM_JOB_ID", "13")
    fails()
    fails()
    with pytest.raises(GivenUp):
        fails()
    attempts.begin_run()
    assert not attempts.LOST.exists()


TOO_SMALL = "CUDA out of memory. Tried to allocate 2.00 GiB."


def short() -> tuple[int, int]:
    """Return for how many attempts the RAM may have been too small, and for how many the memory of a GPU."""
    found = attempts.next_attempt(Path("a.attempt"), [Path("state")])
    return found.ram, found.gpu_memory


def test_an_attempt_knows_for_which_before_it_a_memory_was_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    assert short() == (0, 0)
    is_killed()
    assert short() == (1, 0)
    fails(TOO_SMALL)
    gets_to(1)
    fails()
    assert short() == (1, 1)
    gets_to(2)
    is_killed()
    gets_to(3)  # as after a preemption: it was not short of memory
    assert short() == (1, 1)
    monkeypatch.setenv(attempts.RUN, "run-2")
    assert short() == (0, 1)  # the training goes on, in parts that fit
    shutil.rmtree("state")
    assert short() == (0, 0)


def test_a_job_that_slurm_queues_again_asks_for_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    is_killed()
    assert short() == (0, 0)
    monkeypatch.setenv("SLURM_JOB_ID", "")  # Snakemake plans the next one
    assert short() == (1, 0)
    monkeypatch.setenv("SLURM_JOB_ID", "13")  # and so does the process of that one
    assert short() == (1, 0)


def test_another_run_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fails()
    fails()
    monkeypatch.setenv(attempts.RUN, "run-2")
    fails()


def test_success_forgets_the_attempts() -> None:
    fails()
    with attempt(Path("a.attempt"), [Path("state")]):
        pass
    assert not Path("a.attempt").exists()


def test_a_job_that_trains_students_side_by_side_is_as_far_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setattr(slurm, "queue_again", lambda after="": True)

    def is_interrupted() -> str:
        """Return the line that the job ends with, after a signal or because it is given up."""
        settings = {name: {} for name in ("one", "other")}
        with pytest.raises(SystemExit), job(rule_job(rule="distill_together", params={"settings": settings})):
            raise Interrupted(signal.SIGURG, 10)
        return capsys.readouterr().err

    for step in range(4):
        gets_to(step, "results/checkpoints/distill_student.other")
        assert "SIGURG ended it" in is_interrupted()
    gets_to(9, "results/checkpoints/distill_student.neither")
    assert "SIGURG ended it" in is_interrupted()
    assert "given up after 2 failures without a step forward" in is_interrupted()


def test_students_are_left_to_jobs_of_their_own_where_nothing_tries_it_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ends_with(RuntimeError("out of memory")) == 0
    assert "distill_together(a): out of memory; left to distill_student" in capsys.readouterr().err
    assert ends_with(Interrupted(signal.SIGTERM, 10)) == 1


def test_students_are_left_to_jobs_of_their_own_once_slurm_has_tried_it_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    assert [ends_with(RetortError("no room")) for _ in range(3)] == [1, 1, 0]
    assert "the last one: no room; left to distill_student" in capsys.readouterr().err


STAMP = Path("results/together/a.done")


def test_the_job_itself_writes_the_stamp_that_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snakemake would touch that of a job which ended unseen; it starts one without its stamp again."""
    rules = (ROOT / "workflow/rules/students.smk").read_text()
    assert 'temp("results/together/{companions}.done")' in rules
    with job(together()):
        assert not STAMP.exists()
    assert STAMP.exists()
    STAMP.unlink()
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    stamped = [(ends_with(RetortError("no room")), STAMP.exists()) for _ in range(3)]
    assert stamped == [(1, False), (1, False), (0, True)]  # given up, and left to the jobs of the students


def together() -> SimpleNamespace:
    """Return a job that trains students side by side."""
    return rule_job(rule="distill_together", params={"settings": {"one": {}}}, output=[str(STAMP)])


def ends_with(error: Exception) -> int | str | None:
    """Return the exit status of a job that trains students side by side, and meets an error."""
    with pytest.raises(SystemExit) as ended, job(together()):
        raise error
    return ended.value.code


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("first\nsecond", "first"),
        ("CUDA out of memory. Tried\nmore", "CUDA out of memory. Tried"),
        ("Caught an error in pin memory thread for device 0.\nTraceback\nCUDA error: out of memory\nmore",
         "Caught an error in pin memory thread for device 0. CUDA error: out of memory"),
    ],
)  # fmt: skip
def test_the_reason_says_that_the_memory_of_the_gpu_was_too_small(message: str, reason: str) -> None:
    assert attempts.reason_of(RuntimeError(message)) == reason

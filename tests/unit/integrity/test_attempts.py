"""Tests of jobs that are attempted again: how often, after what, and by whom."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort import attempts, handover, slurm
from retort.attempts import GivenUp, attempt
from retort.errors import RetortError
from retort.jobs import job
from retort.run_hooks import remove_kept_results
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


TOO_SMALL = "CUDA out of memory. Tried to allocate 2.00 GiB."


def short() -> tuple[int, int]:
    """Return for how many attempts the RAM may have been too small, and for how many the memory of a GPU."""
    found = attempts.next_of(Path("a.attempt"), [Path("state")])
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


# --- two runs of Snakemake

HOLD = """
import sys, time
from pathlib import Path
from retort.jobs import job
from tests.rule_job import rule_job
with job(rule_job(output=["results/x/score.json", "results/x/model"], params={"settings": {"a": 1}})):
    print("at work", flush=True)
    sys.stdin.readline()
    Path("results/x/model").mkdir(parents=True)
    Path("results/x/model/weights").write_text("weights")
    Path("results/x/score.json").write_text("{}")
"""
OUTPUTS = ["results/x/score.json", "results/x/model"]


@pytest.mark.parametrize("new_run", [True, False])  # the old run's Snakemake was killed; Slurm called the old job lost
def test_a_second_job_waits_for_the_one_at_work_and_takes_over(
    new_run: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=at_root()
    )
    assert old.stdout is not None
    assert old.stdin is not None
    assert old.stdout.readline() == "at work\n"
    if new_run:
        attempts.begin_run()
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    monkeypatch.setattr(handover, "POLL", 0.01)
    asked: list[str] = []

    def queue_again(after: str) -> bool:
        asked.append(after)
        finish(old)
        return False  # as outside Slurm

    monkeypatch.setattr(handover.slurm, "queue_again", queue_again)
    with pytest.raises(SystemExit) as ended, job(rule_job(output=OUTPUTS, params={"settings": {"a": 1}})):
        pytest.fail("it does the work again")
    assert ended.value.code == 0
    assert asked == ["17"]
    assert Path("results/x/model/weights").read_text() == "weights"
    said = capsys.readouterr().err
    assert f"is already at work elsewhere: process {old.pid}" in said
    assert "waits for its end" in said
    assert "an earlier job has made it" in said
    assert [path.name for path in Path("results/.locks").iterdir()] == ["rule.a.lock"]


def at_root() -> dict[str, str]:
    """Return an environment in which the tests can be imported."""
    root = str(Path(__file__).parents[3])
    return {**os.environ, "SLURM_JOB_ID": "17", "PYTHONPATH": os.pathsep.join([root, f"{root}/workflow"])}


def finish(old: subprocess.Popen[str]) -> None:
    """Let the old job end, and delete its results as Snakemake does before it starts a job."""
    old.communicate("go\n", timeout=60)
    shutil.rmtree("results/x")


@pytest.mark.parametrize("settings", [{"a": 1}, {"a": 2}])
def test_results_of_other_settings_are_not_taken_over(
    settings: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("results/x").mkdir(parents=True)
    attempts.begin_run()
    monkeypatch.setenv(attempts.RUN, "an older run")
    with job(rule_job(output=["results/x/score.json"], params={"settings": {"a": 1}})):
        Path("results/x/score.json").write_text("{}")
    worked = False
    try:
        with job(rule_job(output=["results/x/score.json"], params={"settings": settings})):
            worked = True
    except SystemExit:
        pass
    assert worked == (settings == {"a": 2})


def test_a_new_run_forgets_who_waited_in_an_older_one() -> None:
    folder = handover.waiting(attempts.LOCKS / "rule.a")
    folder.mkdir(parents=True)
    (folder / "12").touch()
    attempts.begin_run()
    assert not folder.exists()


def test_the_latest_run_keeps_nothing_twice() -> None:
    Path("results/x").mkdir(parents=True)
    attempts.begin_run()
    with job(rule_job(output=["results/x/score.json"])):
        Path("results/x/score.json").write_text("{}")
    assert not list(Path("results/.locks").glob("*.results"))


# --- trainings on Slurm


def begin(score: Path) -> Any:
    """Return the job of a training on Slurm that has written a checkpoint."""
    attempts.begin_run()
    score.parent.mkdir(parents=True, exist_ok=True)
    return rule_job(output=[str(score)], params={"settings": {"a": 1}})


def test_a_training_on_slurm_keeps_its_results_until_the_run_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    score = Path("results/x/score.json")
    trained = begin(score)
    with job(trained) as running:
        running.checkpoints.mkdir(parents=True)
        score.write_text("{}")
    assert not running.checkpoints.exists()
    score.unlink()  # as Snakemake does where it has not seen it in time
    with pytest.raises(SystemExit) as ended, job(trained):
        pytest.fail("it does the work again")
    assert ended.value.code == 0
    assert score.read_text() == "{}"


def test_a_training_whose_results_are_not_all_there_keeps_its_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    with job(begin(Path("results/x/score.json"))) as running:
        running.checkpoints.mkdir(parents=True)
    assert running.checkpoints.exists()


@pytest.mark.parametrize(("fails", "copied"), [("link", True), ("both", False)])
def test_results_that_cannot_be_linked_are_copied(
    fails: str, copied: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setattr("os.link", refused)
    if fails == "both":
        monkeypatch.setattr("shutil.copy2", refused)
    score, log = Path("results/x/score.json"), tmp_path / "job.log"
    trained = begin(score)
    trained.log = [str(log)]
    with job(trained) as running:
        running.checkpoints.mkdir(parents=True)
        score.write_text("{}")
    assert handover.kept(attempts.LOCKS / "rule.a").joinpath("key.json").exists() == copied
    assert ("not kept for another attempt" in log.read_text()) != copied  # the job has succeeded all the same


# --- jobs that share a Slurm job


def test_a_job_that_shares_its_slurm_job_keeps_its_results_until_the_run_has_succeeded() -> None:
    Path("results/x").mkdir(parents=True)
    attempts.begin_run()
    score, jobs = Path("results/x/score.json"), [SimpleNamespace(rule=SimpleNamespace(name="rule"), wildcards=["a"])]
    shared = rule_job(output=[str(score)], params={"settings": {"a": 1}}, resources={"in_turn": 1})

    with job(shared):
        score.write_text("{}")
    for _ in range(2):
        score.unlink()  # as Snakemake does with all of a group of which one failed
        with pytest.raises(SystemExit) as ended, job(shared):
            pytest.fail("it does the work again")
        assert ended.value.code == 0
        assert score.read_text() == "{}"

    shared.params["settings"] = {"a": 2}
    with job(shared):
        score.write_text("[]")
    score.unlink()
    assert handover.restore(attempts.LOCKS / "rule.a", [score])  # the group is given up
    assert score.read_text() == "[]"
    assert not handover.restore(attempts.LOCKS / "rule.a", [score])

    with job(shared):
        score.write_text("()")
    attempts.begin_run()
    assert not handover.restore(attempts.LOCKS / "rule.a", [score])  # of a run before: its settings may be others

    shared.params["settings"] = {"a": 3}
    with job(shared):
        score.write_text("{}")
    assert handover.kept(attempts.LOCKS / "rule.a").is_dir()
    remove_kept_results(SimpleNamespace(jobs=jobs))
    assert not handover.kept(attempts.LOCKS / "rule.a").exists()

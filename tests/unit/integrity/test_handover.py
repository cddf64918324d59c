"""Tests of results that one job hands over to another attempt at it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort import attempts, handover
from retort.jobs import job
from retort.run_hooks import remove_kept_results

from tests.rule_job import rule_job


@pytest.fixture(autouse=True)
def one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of results, in a run of Snakemake, outside Slurm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(attempts.RUN, "run-1")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


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
    old = at_work()
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


def at_work() -> subprocess.Popen[str]:
    """Start a job in another process, of Slurm job 17, and return when it is at work; a line ends it."""
    environment, pipe = at_root(), subprocess.PIPE
    other = subprocess.Popen([sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe, text=True, env=environment)
    assert other.stdout is not None
    assert other.stdout.readline() == "at work\n"
    return other


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
    folder = handover.waiting_folder(attempts.LOCKS / "rule.a")
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


# --- jobs that share a Slurm job


def test_a_slurm_job_is_queued_again_when_no_other_job_in_it_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    other = at_work()
    for slurm_job, has_none in (("17", False), ("18", True), ("", True)):
        monkeypatch.setenv("SLURM_JOB_ID", slurm_job)
        assert handover.wait_for_neighbours(0) is has_none
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    with job(rule_job(output=["results/y/score.json"], wildcards=["mine"])):
        Path("results/y").mkdir(parents=True)
        Path("results/y/score.json").write_text("{}")
        assert not handover.wait_for_neighbours(0)
        other.kill()  # it leaves its claim
        other.wait()
        assert handover.wait_for_neighbours(60)


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
    assert handover.kept_folder(attempts.LOCKS / "rule.a").joinpath("key.json").exists() == copied
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
    assert handover.kept_folder(attempts.LOCKS / "rule.a").is_dir()  # for the next job, which knows the key

    shared.params["settings"] = {"a": 3}
    with job(shared):
        score.write_text("{}")
    assert handover.kept_folder(attempts.LOCKS / "rule.a").is_dir()
    remove_kept_results(SimpleNamespace(jobs=jobs))
    assert not handover.kept_folder(attempts.LOCKS / "rule.a").exists()

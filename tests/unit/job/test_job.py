"""Tests of how a job begins and ends: its claim, what it may see, one line for what the user can change."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from retort import checksums
from retort.atomic import write_json, write_text
from retort.job import attempts, planned_run
from retort.job.attempts import Interrupted
from retort.job.context import RunningJob, download, job, this_code
from retort.job.planned_run import PlannedJob
from retort.run import run_folder as run

from tests.rule_job import rule_job

pytestmark = pytest.mark.usefixtures("folder")
LOG, SCORE = Path("rule.a.log"), Path("results/scores/s/mood/1-2.json")
FULL = OSError(28, "No space left on device", "results/x")


def status_of(error: BaseException) -> int | str | None:
    """Return the exit status of a job that meets an error."""
    with pytest.raises(SystemExit) as ended, job(rule_job()):
        raise error
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FULL, "cannot write results/x: No space left on device; free some space"),
        (OSError(30, "Read-only file system", "x"), "cannot write x: Read-only file system; make the folder writable"),
    ],
)
def test_what_the_user_can_change_is_a_line_on_the_terminal_and_a_traceback_in_the_log(
    error: OSError, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(error) == 1
    assert capsys.readouterr().err == f"rule(a): {said}\n  log: rule.a.log\n"
    assert LOG.read_text().startswith("Traceback")


@pytest.mark.parametrize("kept", [0, 1, 4096, 20_000])
def test_a_full_disk_gives_one_line_and_no_half_file(
    kept: int, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log fills the disk but for some bytes; what follows is the score, the checksums, and the end of the log."""

    def fill_the_disk() -> None:
        with job(rule_job(output=[SCORE])) as running:
            free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
            Path("filler").write_bytes(bytes(max(0, free - kept)))
            running.log.write("x" * 3000)
            write_json(SCORE, {"answers": [1] * 40_000})

    with pytest.raises(SystemExit):
        fill_the_disk()
    said = r"rule\(a\): cannot write .*No space left on device; free some space\n  log: rule\.a\.log\n"
    assert re.fullmatch(said, capsys.readouterr().err)
    assert not SCORE.exists()
    assert not [path for path in small_disk.rglob("*") if path.suffix == ".part"]
    Path("filler").unlink()
    with job(rule_job(output=[SCORE])):  # the next one finds no claim and no half file
        write_json(SCORE, {"answers": [1]})


def test_a_job_that_ctrl_c_ends_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It reaches all jobs: their tracebacks would mix on the terminal."""
    with pytest.raises(SystemExit) as ended, job(rule_job()):
        raise KeyboardInterrupt
    assert (ended.value.code, capsys.readouterr().err) == (attempts.INTERRUPTED, "")


@pytest.mark.parametrize(("plan", "parent", "taken"), [("a", "a", True), ("b", "a", False), ("a", "b", False)])
def test_a_job_that_another_process_runs_waits_and_takes_what_is_whole(
    plan: str, parent: str, taken: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is made again by another plan, or from another parent."""
    monkeypatch.setenv(attempts.RUN, "run")
    write_text(planned_run.FOLDER / f"run{planned_run.JOBS}", "")
    for each in {"a", plan}:
        write_text(planned_run.FOLDER / each / "config.json", "{}")
    described = rule_job(input=[put_parent("a")], output=[str(SCORE)])
    first = contextlib.ExitStack()

    def end_first(_: float) -> None:
        with monkeypatch.context() as its, first:
            its.setenv(planned_run.VARIABLE, "results/runs/a")
            write_text(SCORE, "made")
        put_parent(parent)

    monkeypatch.setattr(time, "sleep", end_first)
    monkeypatch.setenv(planned_run.VARIABLE, "results/runs/a")
    first.enter_context(job(described))
    monkeypatch.setenv(planned_run.VARIABLE, f"results/runs/{plan}")
    with pytest.raises(SystemExit) if taken else contextlib.nullcontext() as ended, job(described) as running:
        running.say("it is made again")
    assert f"waits for the end of process {os.getpid()} on" in (said := capsys.readouterr().err)
    assert ("it is made again" in said, "another process has made it" in said) == (not taken, taken)
    assert ended is None or ended.value.code == 0
    assert not list(attempts.LOCKS.iterdir())


def put_parent(content: str) -> str:
    """Make a result that a job reads, with its checksums; return its path."""
    path = Path("results/scores/parent.json")
    write_text(path, content)
    checksums.take(path, "rule(parent)", this_code(), (), {})
    return str(path)


@pytest.mark.parametrize(("of_script", "seen"), [(job, None), (download, "secret")])
def test_tokens_are_only_for_jobs_that_download(
    of_script: Callable[..., AbstractContextManager[RunningJob]], seen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("HF_TOKEN", "PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY")
    for name in names:
        monkeypatch.setenv(name, "secret")
    with of_script(rule_job()):
        assert [os.environ.get(name) for name in names] == [seen] * len(names)


def test_checkpoints_stay_until_the_job_has_succeeded() -> None:
    left = SCORE.with_name(f".{SCORE.name}.another-system.1.part")
    left.parent.mkdir(parents=True)
    left.touch()
    os.utime(left, (1, 1))
    checkpoints = Path("results/checkpoints/scores.s.mood.1-2")
    for error in (FULL, SystemExit()):  # it fails, and it is stopped
        checkpoints.mkdir(parents=True, exist_ok=True)
        with pytest.raises(SystemExit), job(rule_job(output=[SCORE])) as running:
            raise error
        assert running.checkpoints == checkpoints
        assert checkpoints.exists()
        assert not left.exists()  # of a process that was killed
    with job(rule_job(output=[SCORE])):
        write_json(SCORE, {})
    assert not checkpoints.exists()


@pytest.fixture
def asked(folder: Path, put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in Slurm job 12; return the file to which its scontrol writes what it is asked."""
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setattr("retort.job.context.ENDING", 0.0)
    return put(scontrol="")


def test_a_training_that_its_limit_ended_is_queued_again_and_no_other_job(
    asked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(Interrupted(7)) == 1
    assert "rule(a): its time limit ended it after step 7; its state is kept" in capsys.readouterr().err
    assert asked.read_text() == "scontrol requeue 12\n"
    assert not list(attempts.LOCKS.glob("*.attempt"))  # it waits, and has not failed
    assert status_of(FULL) == 1
    run.claim(run.RunWork(frozenset({PlannedJob("rule:name=a")})))
    monkeypatch.setenv(attempts.RUN, "0")  # the job began before the run, which has a job of its own
    assert status_of(Interrupted(7)) == 1
    assert asked.read_text() == "scontrol requeue 12\n"


@pytest.mark.usefixtures("asked")
def test_a_job_of_slurm_knows_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> float | None:
        with job(rule_job(resources={"runtime": 30, "mem_mb": 1000})) as running:
            return running.clock.end

    monkeypatch.setenv("SLURM_JOB_END_TIME", "4000000000")
    assert end() == 4e9
    monkeypatch.delenv("SLURM_JOB_END_TIME")
    assert end() == pytest.approx(time.time() + 1800, abs=60)  # squeue is not there
    monkeypatch.delenv("SLURM_JOB_ID")
    assert end() is None


@pytest.mark.parametrize(
    ("gpu", "cuda", "config", "expected"),
    [(0, True, {}, 0), (1, True, {}, 2), (0, False, {"dataloader_num_workers": 3}, 3),
     (1, True, {"dataloader_num_workers": 0}, 0)],
)  # fmt: skip
def test_a_job_with_a_gpu_has_two_processes_that_prepare_batches_unless_the_configuration_says_otherwise(
    gpu: int, cuda: bool, config: dict[str, int | None], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: cuda)
    monkeypatch.setattr("torch.cuda.device_count", lambda: int(cuda))
    with job(rule_job(resources={"gpu": gpu}, config=config)) as running:
        assert running.num_workers == expected

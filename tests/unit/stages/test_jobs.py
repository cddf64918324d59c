"""Tests of how a job ends that fails: one line for what the user can change, the traceback in its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rule_job import rule_job


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "results/x"), "cannot write results/x: No space left"),
        (OSError(30, "Read-only file system", "results/x"), "make the folder writable"),
        (PermissionError(13, "Permission denied", "results/x"), "cannot write results/x"),
    ],
)
def test_full_or_read_only_results(
    error: OSError, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit), job(stand_in(tmp_path / "log")):
        raise error
    assert said in capsys.readouterr().err
    assert "Traceback" in (tmp_path / "log").read_text()


def stand_in(log: Path) -> object:
    """Return a stand-in for Snakemake's object, with the few attributes that a job reads."""
    return rule_job(log=[str(log)])


def test_a_bug_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError), job(stand_in(tmp_path / "log")):
        _ = 1 / 0


def test_a_job_that_was_promised_a_gpu_and_sees_none_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit), job(rule_job(rule="run_grid", resources={"gpu": 1})) as running:
        assert running.device == "cuda"
    line = capsys.readouterr().err.splitlines()[0]
    assert line.startswith("run_grid(a): the job was promised a GPU, and torch ")
    assert "--set-resources run_grid:gpu=0" in line


def test_a_disk_that_is_full_when_the_log_is_closed_gives_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit), job(stand_in(Path("/dev/full"))) as running:
        running.log.write("a line that is still in memory when the log is closed")
    assert capsys.readouterr().err.startswith("rule(a): cannot write results/: No space left on device")


def test_a_signal_ahead_of_the_limit_queues_the_job_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import signal

    from retort import slurm
    from retort.jobs import job
    from retort.signals import Interrupted

    (tmp_path / "scontrol").write_text('#!/bin/sh\necho "$@" >> asked\n')
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setattr(slurm, "END", 0.0)
    for number in (signal.SIGTERM, signal.SIGURG):
        with pytest.raises(SystemExit) as ended, job(stand_in(tmp_path / "log")):
            raise Interrupted(number, 7)
        assert ended.value.code == 1
    assert (tmp_path / "asked").read_text() == "requeue 12\n"
    assert "SIGURG ended it after step 7; its state is kept" in capsys.readouterr().err
    (tmp_path / "asked").unlink()
    assert not slurm.queue_again(after="9")  # where it returns, Slurm has not ended the process
    # the dependency comes second: Slurm changes none of a job at work
    assert (tmp_path / "asked").read_text() == "requeue 12\nupdate JobId=12 Dependency=afterany:9\n"

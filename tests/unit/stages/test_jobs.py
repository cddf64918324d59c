"""Tests of how a job ends that fails: one line for what the user can change, the traceback in its log."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
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
    assert "--config device=cpu" in line


def test_a_disk_that_is_full_when_the_log_is_closed_gives_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit), job(stand_in(Path("/dev/full"))) as running:
        running.log.write("a line that is still in memory when the log is closed")
    assert capsys.readouterr().err.startswith("rule(a): cannot write results/: No space left on device")


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the current folder, on a disk of 128 KiB; skip the test where none can be mounted."""
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(tmp_path / "disk")]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    with monkeypatch.context() as inside:
        inside.chdir(tmp_path / "disk")
        yield tmp_path / "disk"
    subprocess.run(["umount", str(tmp_path / "disk")], check=True)


@pytest.mark.parametrize("kept", [0, 1, 4096, 20_000])
def test_a_full_disk_gives_one_line_and_no_half_file(
    kept: int, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log fills the disk but for some bytes; what follows is the score, the checksums, and the end of the log."""
    from retort.atomic import write_json
    from retort.jobs import job

    output = Path("results/scores/s/mood/seed-1.json")

    def fill_the_disk() -> None:
        with job(rule_job(output=[str(output)], log=["job.log"])) as running:
            free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
            Path("filler").write_bytes(bytes(max(0, free - kept)))
            running.log.write("x" * 3000)
            write_json(output, {"answers": [1] * 40_000})

    with pytest.raises(SystemExit) as ended:
        fill_the_disk()
    assert ended.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("rule(a): cannot write ")
    assert lines[0].endswith("No space left on device; free some space")
    assert lines[1:] == ["  log: job.log"]
    assert not output.exists()
    assert not [path for path in small_disk.rglob("*") if path.suffix == ".part"]
    Path("filler").unlink()
    with job(rule_job(output=[str(output)], log=["job.log"])):  # the next one finds no lock and no half file
        write_json(output, {"answers": [1]})
    assert output.read_text().startswith("{")


def test_a_signal_ahead_of_the_limit_queues_the_job_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import signal

    from retort import slurm
    from retort.attempts import RUN, begin_run
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
    short = stand_in(tmp_path / "log")
    short.resources = {"only_saves": 1}  # it fails instead: Snakemake tries it again, with more time
    with pytest.raises(SystemExit), job(short):
        raise Interrupted(signal.SIGURG, 7)
    assert (tmp_path / "asked").read_text() == "requeue 12\n"
    assert "SIGURG ended it after step 7; its state is kept" in capsys.readouterr().err
    begin_run()
    monkeypatch.setenv(RUN, "an earlier one")  # whose jobs would wait in the queue only to end at once
    with pytest.raises(SystemExit), job(stand_in(tmp_path / "log")):
        raise Interrupted(signal.SIGURG, 7)
    assert (tmp_path / "asked").read_text() == "requeue 12\n"
    (tmp_path / "asked").unlink()
    assert not slurm.queue_again(after="9")  # where it returns, Slurm has not ended the process
    # the dependency comes second: Slurm changes none of a job at work
    assert (tmp_path / "asked").read_text() == "requeue 12\nupdate JobId=12 Dependency=afterany:9\n"

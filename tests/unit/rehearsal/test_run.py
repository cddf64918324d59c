"""Tests of running jobs in one process: what fails is told with its log, and the rest of the process is unharmed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.cli import main
from retort.rehearsal.progress import Progress, summary
from retort.rehearsal.run import Done, Rehearsal

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
TWO_JOBS = """
import os
from types import SimpleNamespace
from retort import machine
from retort.rehearsal import run
machine.keep_freed_memory()  # as every job does
sizes = iter([300, 0])  # blocks of 1 MB
def fill(path):
    blocks = [b"1" * 2**20 for _ in range(next(sizes))]
    blocks.append(blocks)  # as a model that holds itself
run._fails = fill
rehearsal = run.Rehearsal(lambda done, total: None)
for _ in range(2):
    rehearsal.script(SimpleNamespace(log=[], rulename="distil", wildcards=[]), "script.py")
print(*(job.peak for job in rehearsal.jobs), machine.reset_max_rss())
"""


def rehearsed(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """Run a script as the job of a student on a task; return the rehearsal."""
    monkeypatch.chdir(folder)
    (folder / "script.py").write_text(source)
    script = SimpleNamespace(log=["logs/job.log"], rulename="distil", wildcards=["pocket-kd", "movies"])
    rehearsal = Rehearsal(Progress(folder))
    rehearsal.count(2)
    try:
        rehearsal.script(script, str(folder / "script.py"))
    except RuntimeError:
        assert rehearsal.jobs[0].failed
    return rehearsal


def test_a_job_runs_here_and_its_lines_stand_in_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = list(sys.path)
    source = "import sys\nsys.path.append('elsewhere')\nprint('said', file=sys.stderr)\n"
    rehearsal = rehearsed(tmp_path, source, monkeypatch)
    assert [job.failed for job in rehearsal.jobs] == [False]
    assert (tmp_path / "logs/job.log").read_text() == "said\n"
    assert sys.path == paths


@pytest.mark.parametrize("source", ["import sys\nprint('the width', file=sys.stderr)\nsys.exit(1)", "1 / 0"])
def test_a_failure_is_told_with_the_student_and_the_log(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rehearsal = rehearsed(tmp_path, source, monkeypatch)
    told = capsys.readouterr().err
    assert rehearsal.jobs[0].failed
    assert "failed: distil(pocket-kd, movies)" in told
    assert str(tmp_path / "logs/job.log") in told
    assert ("the width" if "width" in source else "ZeroDivisionError") in told


def test_a_job_does_not_have_the_memory_of_a_larger_one_before_it() -> None:
    """Run them in a process of their own, for this one has held much more."""
    done = subprocess.run([sys.executable, "-c", TWO_JOBS], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    larger, smaller, free = done.stdout.split()
    if free == "False":
        pytest.skip("the kernel does not let a process reset its mark")
    assert float(smaller) < 150 < 300 < float(larger)


def test_a_bar_leaves_nothing_of_longer_lines_and_ends_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def two_jobs(rehearsal: Rehearsal, arguments: list[str]) -> int:
        for failed in (True, False):
            rehearsal.tell(Done("distil", ("kd",), 1.0, 500.0, "job.log", failed), 2)
        return 0

    monkeypatch.setattr("retort.rehearsal.run.run", two_jobs)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["rehearse", "mlkd2024", "--distinct", "--folder", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    drawn = told.split("\r")[1:]
    assert [line[:4] for line in drawn] == ["\033[Kf", "\033[K[", "\033[K["]  # the failure, and the bar after each job
    assert drawn[-1].endswith("2 of 2 jobs, 1 failed, 0 min left\n")


def test_the_summary_counts_jobs_and_their_time_by_rule() -> None:
    jobs = [Done("distil", (), 2.0, 500.0, "", False), Done("distil", (), 1.0, 700.0, "", False)]
    lines = list(summary([*jobs, Done("encode", (), 0.5, 800.0, "", False)]))
    assert lines[1].split() == ["distil", "2", "3.0", "2.0"]
    assert "800 MB" in lines[-1]

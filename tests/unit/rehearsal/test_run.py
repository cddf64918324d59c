"""Tests of running jobs in one process: what fails is told with its log, and the rest of the process is unharmed."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.cli import main
from retort.cli.rehearse import _arguments, _config
from retort.plan.failed_jobs import QUIET
from retort.rehearsal.progress import Progress, summary
from retort.rehearsal.run import Done, Rehearsal, Warnings, run
from snakemake.logging import DefaultFilter
from snakemake.settings.enums import Quietness

from tests.conftest import ROOT

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
    return True
run._run_script = fill
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


def end_of_rehearsal(
    run: Callable[[Rehearsal, list[str]], int], monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str
) -> int:
    """Rehearse in a folder with a stand-in for Snakemake, and without a plan; return the exit status."""
    monkeypatch.setattr("retort.rehearsal.run.run", run)
    monkeypatch.setattr("retort.plan.plan.Plan", lambda config: SimpleNamespace(study=SimpleNamespace(papers=["tiny"])))
    monkeypatch.setattr("retort.rehearsal.distinct.distinct_trainings", lambda plan: [])
    monkeypatch.setattr("retort.cost.report.of_one_process", lambda plan, papers: ["as expected"])
    status = main(["rehearse", *arguments, "--folder", str(folder)])
    assert isinstance(status, int)
    return status


@pytest.mark.parametrize(("stopped", "line"), [
    (True, "stopped; run it again to go on\n"), (False, "Snakemake ended with an error; its own log is in {}"),
])  # fmt: skip
def test_a_rehearsal_that_did_not_end_has_no_pages(
    stopped: bool, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(rehearsal: Rehearsal, arguments: list[str]) -> int:
        rehearsal.stopped = stopped
        return 1

    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/index.html").touch()
    os.utime(tmp_path / "reports/index.html", (0, 0))  # of an earlier rehearsal
    assert end_of_rehearsal(ends, monkeypatch, tmp_path) == 1
    told = capsys.readouterr()
    assert told.out == "0 jobs, 0 failed\n"
    assert told.err.startswith(line.format(tmp_path))


def test_the_lock_of_a_killed_rehearsal_can_be_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[str] = []
    assert end_of_rehearsal(lambda rehearsal, words: given.extend(words) or 0, monkeypatch, tmp_path, "--unlock") == 0
    assert given[-1] == "--unlock"
    assert capsys.readouterr().out == ""  # nothing has run


def test_the_pages_are_named_where_they_were_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end_of_rehearsal(lambda rehearsal, arguments: 0, monkeypatch, tmp_path) == 0
    assert capsys.readouterr().out.endswith(f"as expected\n0 jobs, 0 failed; the pages are in {tmp_path}/reports\n")

    def fails(rehearsal: Rehearsal, arguments: list[str]) -> int:
        rehearsal.tell(done := Done("distil", ("kd",), 1.0, 500.0, "job.log", True), 2)
        rehearsal.jobs.append(done)
        (tmp_path / "reports/tiny").mkdir(parents=True)
        (tmp_path / "reports/tiny/index.html").touch()
        return 1

    assert end_of_rehearsal(fails, monkeypatch, tmp_path) == 1
    assert capsys.readouterr().out.endswith(f"1 jobs, 1 failed; the pages are in {tmp_path}/reports\n")


def test_distinct_trainings_of_a_paper_that_trains_nothing_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def runs(rehearsal: Rehearsal, arguments: list[str]) -> int:
        raise AssertionError(f"this runs {arguments}")

    assert end_of_rehearsal(runs, monkeypatch, tmp_path, "tiny", "--distinct") == 0
    assert capsys.readouterr().out == "no student of tiny is trained\n"


def test_a_configuration_for_gpus_of_a_cluster_can_be_rehearsed(tmp_path: Path) -> None:
    path = tmp_path / "gpus.yaml"
    path.write_text("scale: paper\nprecision: tf32\ncluster: slurm/partitions.yaml\nstudents_together: 2\n")
    config = _config(argparse.Namespace(config=str(path)))
    assert (config.scale, config.precision, config.cluster, config.students_together) == ("rehearsal", "auto", None, 2)


def test_only_what_snakemake_warns_of_is_shown_and_no_failure_twice() -> None:
    told = list[str]()
    rehearsal = Rehearsal(lambda done, total: None, told.append)
    logger = logging.Logger("snakemake")
    logger.addHandler(Warnings(rehearsal))
    logger.info("Select jobs to execute...")
    logger.error("the directory is locked")
    rehearsal.jobs.append(Done("distil", (), 1.0, 500.0, "job.log", True))
    logger.error("a job has failed")
    assert told == ["the directory is locked"]


def test_quiet_runs_write_errors_into_their_logs() -> None:
    options = ["--cores", "1", "--scheduler", "greedy", "--keep-going", "--rerun-incomplete", *QUIET]
    assert _arguments(Path("folder"), Path("config.json"))[-len(options) :] == options
    written = DefaultFilter(Quietness.parse_choices_set(QUIET[1:]), False, False, False, False)
    error = logging.makeLogRecord({"levelno": logging.ERROR, "msg": "LockException"})
    assert written.filter(error)
    makefile = (ROOT / "Makefile").read_text()
    assert f"\nquiet = {' '.join(QUIET)} #" in makefile
    assert "--quiet all" not in makefile


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt this process, which a shell that runs the tests in its background makes it ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_a_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: list[str]) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("snakemake.cli.main", interrupted)
    rehearsal = Rehearsal(lambda done, total: None)
    assert run(rehearsal, []) == 1
    assert rehearsal.stopped
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # as before


def test_the_summary_counts_jobs_and_their_time_by_rule() -> None:
    jobs = [Done("distil", (), 2.0, 500.0, "", False), Done("distil", (), 1.0, 700.0, "", False)]
    lines = list(summary([*jobs, Done("encode", (), 0.5, 800.0, "", False)]))
    assert lines[1].split() == ["distil", "2", "3.0", "2.0"]
    assert "800 MB" in lines[-1]

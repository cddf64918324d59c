"""Tests of the screen of a run: its bar, its time left, what it shows, and that everything reaches the log file."""

from __future__ import annotations

import io
import logging
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from retort.screen.handler import Screen, in_words
from retort.screen.state import RunState
from rich.console import Console
from snakemake_interface_logger_plugins.common import LogEvent

from tests.conftest import ROOT


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_weighs_jobs_by_their_rule() -> None:
    clock = Clock()
    state = RunState(clock)
    state.begin({"total": 6, "all": 1, "train": 3, "print": 2})
    assert state.seconds_left() is None
    state.start(1, "train", {"student": "a"})
    state.start(2, "print", {})
    clock.now = 1.0
    state.finish(2)
    clock.now = 10.0
    state.finish(1)
    state.start(3, "train", {"student": "b"})
    clock.now = 14.0
    # 2 trainings of 10 s and a print of 1 s, of which 4 s are done; one job at a time
    assert state.seconds_left() == pytest.approx(2 * 10 + 1 - 4)
    assert (state.done, state.total, [job.name for job in state.running.values()]) == (2, 6, ["train(b)"])


def test_a_failed_job_is_no_measure_of_time() -> None:
    state = RunState(Clock())
    state.begin({"total": 2, "train": 2})
    state.start(1, "train", {})
    failed = state.fail(1)
    assert failed is not None
    assert failed.name == "train"
    assert (state.failed, state.done, state.seconds_left()) == (1, 0, None)


@pytest.mark.parametrize(("seconds", "words"), [(12.3, "12 s"), (61, "1 min"), (3700, "1 h 1 min")])
def test_durations(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


class Written:
    """What jobs wrote, as the screen reads it."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)
        self.terminal = io.StringIO()

    def lines(self) -> list[str]:
        lines, self.left = self.left, []
        return lines

    def append_to(self, log: Path) -> None:
        """Do nothing."""


def screen_of(*lines: str) -> tuple[Screen, io.StringIO]:
    written: Any = Written(*lines)
    screen = Screen(written, lambda: None)
    screen.console = Console(file=written.terminal, width=100)
    return screen, written.terminal


def record(event: LogEvent | None, level: int = logging.INFO, message: str = "", **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(made).update({**({"event": event} if event else {}), **fields})
    return made


def test_results_stay_below_the_bar_and_everything_else_is_shown_once() -> None:
    screen, out = screen_of("    train(a, 1): accuracy 0.70  (2 s)", "Warning: odd", "Warning: odd", "")
    screen.state.begin({"total": 3, "train": 2})
    screen.emit(record(LogEvent.JOB_INFO, jobid=1, rule_name="train", wildcards={"student": "b"}, log=[]))
    screen.console.print(screen.render())
    text = out.getvalue()
    assert text.count("Warning: odd") == 1
    assert "last: train(a, 1): accuracy 0.70  (2 s)" in text
    assert "train(b)" in text
    assert "0 of 3 jobs" in text


def test_warnings_and_failures_are_shown_and_the_rest_is_not() -> None:
    screen, out = screen_of()
    screen.state.begin({"total": 2, "train": 2})
    screen.emit(record(LogEvent.JOB_INFO, jobid=1, rule_name="train", wildcards={"student": "b"}, log=["l.log"]))
    screen.emit(record(None, message="Building DAG of jobs..."))
    screen.emit(record(None, logging.WARNING, "left out: cc100"))
    screen.emit(record(LogEvent.JOB_ERROR, logging.ERROR, jobid=1, rule_name="train", log=["l.log"]))
    assert out.getvalue().splitlines() == ["left out: cc100", "failed: train(b); log: l.log"]


CAPTURE = """
import os, pathlib, subprocess, sys
from retort.screen.captured import CapturedErrors
log = pathlib.Path(sys.argv[1]); log.write_text("before\\n")
captured = CapturedErrors()
subprocess.run(["sh", "-c", "echo of a job >&2"]); os.write(2, b"half")
assert list(captured.lines()) == ["of a job"]
captured.append_to(log); os.write(2, b" and whole\\nlast")
assert list(captured.release()) == ["half and whole", "last"]
captured.append_to(log); os.write(2, b"the terminal again\\n")
"""


def test_what_jobs_write_goes_to_the_log_and_not_to_the_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CAPTURE, str(tmp_path / "log")], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
    )  # fmt: skip
    assert done.stderr == "the terminal again\n"
    assert (tmp_path / "log").read_text() == "before\nof a job\nhalf and whole\nlast"


SNAKEFILE = 'rule all:\n    output: "out"\n    shell: "echo noise >&2; echo \'    all: done\' >&2; touch out"\n'


def run_plugin(folder: Path, **streams: Any) -> subprocess.Popen[bytes]:
    (folder / "Snakefile").write_text(SNAKEFILE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "TERM": "xterm"}
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--logger", "retort"]
    return subprocess.Popen(command, cwd=folder, env=environment, **streams)


@pytest.mark.slow
def test_plain_lines_where_standard_error_is_no_terminal(tmp_path: Path) -> None:
    _, err = run_plugin(tmp_path, stderr=subprocess.PIPE).communicate()
    text = err.decode()
    assert "1 of 1 steps (100%) done" in text
    assert "    all: done" in text
    assert "\x1b[" not in text


@pytest.mark.slow
def test_a_quiet_screen_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = run_plugin(tmp_path, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    assert process.wait() == 0
    text = shown.decode()
    assert "1 of 1 jobs done in" in text
    assert "noise" in text
    assert "Finished jobid" not in text
    log = next(tmp_path.glob(".snakemake/log/*.log")).read_text()
    assert "noise\n    all: done" in log
    assert "1 of 1 steps (100%) done" in log

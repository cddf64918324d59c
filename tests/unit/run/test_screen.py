"""Tests of the terminal of a run: its time left, and real runs with and without a terminal."""

from __future__ import annotations

import os
import pty
import re
import socket
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.run.screen import name_of, seconds_left

from tests.conftest import begin_snakemake, run_snakemake

SNAKEFILE = """
rule all:
    input: "good", "bad"

rule make:
    output: "{name}"
    log: "{name}.log"
    shell:
        "for stream in 1 2; do if [ -t $stream ]; then echo to the terminal itself; fi; done; "
        "echo on standard output; echo '10%\\r20%' >&2; echo '[bold] of {wildcards.name}' >&2; sleep 1; "
        "if [ {wildcards.name} = bad ]; then exit 1; fi; touch {output}"
"""


def test_the_time_left_weighs_jobs_by_the_mean_of_their_rule_or_of_all_jobs() -> None:
    took = {"train": [8.0, 12.0], "print": [1.0]}
    waiting, running = Counter(train=2, print=3), [("train", 4.0), ("print", 5.0)]
    assert seconds_left(took, waiting, running) == pytest.approx((2 * 10 + 3 * 1 + 6 + 0) / 2)
    assert seconds_left({"train": [8.0, 12.0], "print": [4.0]}, Counter(page=2), []) == pytest.approx(2 * 8)
    assert seconds_left({"train": []}, Counter(train=2), [("train", 4.0)]) == 0


def test_a_job_has_the_name_of_its_rule_and_its_wildcards() -> None:
    job = SimpleNamespace(rule_name="distill_on_task", wildcards={"student": "kd", "task": "mood", "seeds": "1-2"})
    assert name_of(job) == "distill_on_task(kd, mood, 1-2)"
    assert name_of(SimpleNamespace(rule_name="make_index", wildcards=None)) == "make_index"
    assert name_of(SimpleNamespace(rule_name="all")) == "all"


def run(folder: Path, *arguments: str, terminal: bool = True) -> str:
    """Run the Snakefile with the logger, and return what it writes to a terminal, or to pipes."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with socket.socket(socket.AF_UNIX) as watcher:
        usual = ("--cores", "2", "--keep-going", "--logger", "retort")
        begin_snakemake(watcher, [theirs] * 3, folder, *usual, *arguments, TERM="xterm")
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def _read(source: int) -> bytes:
    try:
        return os.read(source, 4096)
    except OSError:  # the other end of a terminal is closed
        return b""


@pytest.mark.slow
def test_on_a_terminal_a_bar_and_above_it_what_jobs_write_and_failures(tmp_path: Path) -> None:
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run(tmp_path))
    lines = [line.rstrip() for line in re.split(r"[\r\n]", shown)]
    for name in ("good", "bad"):
        assert f"[bold] of {name}" in lines
        assert any(line.startswith(f"  make({name})  ") for line in lines)
    assert "20%" in lines
    assert lines.count("on standard output") == 2
    assert "failed: make(bad), log: bad.log" in lines
    assert re.fullmatch(r"[━╺╸]+ 1 of 3 jobs done, 1 failed, \d+ s", [line for line in lines if line][-1])
    assert "to the terminal itself" not in shown  # else it would tear the bar
    assert "Finished jobid" not in shown
    log = next(tmp_path.glob(".snakemake/log/*.log"))
    assert f"Complete log(s): {log}" in lines
    assert "Finished jobid" in log.read_text()
    assert "Error in rule make" in log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False])
def test_a_dry_run_has_its_short_form(tmp_path: Path, *, terminal: bool) -> None:
    lines = run(tmp_path, "--dry-run", terminal=terminal).splitlines()
    assert lines.count("Job stats:") == 1
    first = lines.index("Reasons (with -p, Snakemake lists every job):")
    assert lines[first + 1 : first + 3] == [
        "        1  all: follows from other jobs",
        "        2  make: not made yet",
    ]
    assert not any(line.startswith(("rule make:", "Shell command:")) for line in lines)
    assert "jobs done" not in "".join(lines)


@pytest.mark.slow
def test_the_short_form_goes_where_snakemake_writes_a_dry_run_to(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    done = run_snakemake(tmp_path, "--cores", "2", "--logger", "retort", "--dry-run")
    assert "        2  make: not made yet" in done.stdout.splitlines()
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--configfile {}", "--configfile={}"])
def test_a_pipe_as_configuration_keeps_nobody_waiting(tmp_path: Path, option: str) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    os.mkfifo(tmp_path / "pipe")
    done = run_snakemake(tmp_path, "--cores", "1", "--logger", "retort", *option.format("pipe").split())
    assert (done.returncode, done.stderr) == (1, "pipe is a pipe, which cannot be read again; put a file here\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "terminal"), [("--dry-run -p", True), ("--verbose", True), ("--printshellcmds", False)]
)
def test_elsewhere_snakemake_writes_its_usual_lines(tmp_path: Path, arguments: str, *, terminal: bool) -> None:
    written = run(tmp_path, *arguments.split(), terminal=terminal)
    assert "Job stats" in written
    assert "rule make:" in written
    assert "jobs done" not in written
    assert "\x1b[?25l" not in written

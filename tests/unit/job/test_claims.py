"""Tests of claims: no two processes do the same job, and dead ones block nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from retort.job.locks import AtWork, hold_claim

HOLD = """
import sys
from pathlib import Path
from retort.job.locks import hold_claim
with hold_claim(Path(sys.argv[1]), "rule(a)"):
    print("held", flush=True)
    sys.stdin.readline()
print("done", flush=True)
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the claim."""
    return tmp_path / "locks" / "rule.a"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    """Start a process in a job of Slurm that claims the work, holds it until it gets a line, and is killed at last."""
    started = []

    def start(slurm_job: str = "17") -> subprocess.Popen[str]:
        pipe, environment = subprocess.PIPE, {**os.environ, "SLURM_JOB_ID": slurm_job}
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path)], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def holds(process: subprocess.Popen[str]) -> bool:
    """Return whether a process holds the claim, once it has said so or ended."""
    assert process.stdout is not None
    return process.stdout.readline() == "held\n"


def test_a_second_process_ends_and_names_the_first(start: Start, path: Path) -> None:
    first = start()
    assert holds(first)
    first.send_signal(signal.SIGSTOP)  # a process that hangs has its job
    with pytest.raises(AtWork) as error, hold_claim(path, "rule(a)"):
        pytest.fail("both are at work")
    said = str(error.value)
    assert said.startswith(f"rule(a) is already at work elsewhere: process {first.pid} on ")
    assert ", Slurm job 17, since 20" in said
    assert said.endswith("; wait for its end, then run again")
    first.send_signal(signal.SIGCONT)
    assert first.communicate("\n")[0] == "done\n"
    assert not path.exists()


def test_the_claim_of_a_killed_process_is_free(start: Start, path: Path) -> None:
    first = start()
    assert holds(first)
    first.kill()
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)  # its exit status stays unread
    with hold_claim(path, "rule(a)"):
        assert f"process {os.getpid()} on " in json.loads(path.read_text())["who"]
    assert not list(path.parent.iterdir())


def test_of_many_that_want_a_job_one_does_it(start: Start, path: Path) -> None:
    many = [start(slurm_job) for slurm_job in "1234"]
    assert sum(map(holds, many)) == 1


def test_a_job_that_slurm_has_queued_again_takes_the_claim_of_its_earlier_start(
    start: Start, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node of that start is lost, and may still hold it."""
    first = start()
    assert holds(first)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    with hold_claim(path, "rule(a)"):
        first.communicate("\n")
        assert json.loads(path.read_text())["slurm_job"] == "17"
    assert not path.exists()

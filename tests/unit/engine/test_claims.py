"""Tests of claims: no two processes do the same job, also on different machines, and dead ones block nobody.

Processes stand in for machines: each has a name of its own for the system it runs on. The files of the claims are real.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from retort.engine.locks import AtWork, Owner, claimed

HOLD = """
import sys
from pathlib import Path
from retort import machine
from retort.engine.locks import claimed
if sys.argv[2]:
    machine.name = lambda: sys.argv[2]
with claimed(Path(sys.argv[1]), "rule(a)", beat=0.2, dead=float(sys.argv[3])):
    print("held", flush=True)
    sys.stdin.readline()
print("done", flush=True)
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the claim."""
    (tmp_path / "locks").mkdir()
    return tmp_path / "locks" / "rule.a"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    """Start a process that claims the job, holds it until it gets a line, and is killed at the end of the test."""
    started = []

    def start(machine: str, dead: float = 30, waits: bool = True) -> subprocess.Popen[str]:
        command, pipe = [sys.executable, "-c", HOLD, str(path), machine, str(dead)], subprocess.PIPE
        environment = {**os.environ, "SLURM_JOB_ID": "17"}
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
        started.append(process)
        assert process.stdout is not None
        assert not waits or process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def seconds_until_held(path: Path, dead: float) -> float:
    """Claim the job here, and return how long that took."""
    began = time.monotonic()
    with claimed(path, "rule(a)", dead=dead):
        assert json.loads(path.read_text())["pid"] == os.getpid()
        took = time.monotonic() - began
    assert not list(path.parent.iterdir())
    return took


def refused(path: Path) -> str:
    """Return the line with which a claim of this process is refused, at once or after a touch."""
    with pytest.raises(AtWork) as error, claimed(path, "rule(a)", dead=600):
        pytest.fail("both are at work")
    return str(error.value)


def of_another_machine(path: Path, slurm_job: str = "") -> None:
    """Write the claim of a process of another machine, which gives no sign of life."""
    path.write_text(json.dumps(asdict(Owner("node7", 1, "another-system", slurm_job, "run-1", "2026-01-01"))))


@pytest.mark.parametrize("machine", ["", "another-system"])
def test_a_second_process_ends_and_names_the_first(machine: str, start: Start, path: Path) -> None:
    first = start(machine)
    said = refused(path)
    assert said.startswith(f"rule(a) is already at work elsewhere: process {first.pid} on ")
    assert ", Slurm job 17, since 20" in said
    assert said.endswith("; wait for its end, then run again")
    assert first.communicate("\n")[0] == "done\n"
    assert not path.exists()


@pytest.mark.parametrize(("machine", "dead", "least"), [("", 60, 0), ("another-system", 1, 1)])
def test_the_claim_of_a_killed_process_is_free(
    machine: str, dead: float, least: float, start: Start, path: Path
) -> None:
    """At once if it was of this machine, also as a zombie, else once it has been silent for long enough."""
    first = start(machine)
    first.kill()
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)  # its exit status stays unread
    assert least <= seconds_until_held(path, dead) < 10


def test_a_process_that_was_stopped_ends_once_another_has_its_job(start: Start, path: Path) -> None:
    """A machine that hangs, a container that is paused: it must not go on where another process is at work."""
    first = start("another-system")
    first.send_signal(signal.SIGSTOP)
    with claimed(path, "rule(a)", dead=1):
        first.send_signal(signal.SIGCONT)
        assert first.wait(20) == 1
        assert json.loads(path.read_text())["pid"] == os.getpid()
    said = first.communicate()[1]
    assert f"rule(a) was silent for too long and is at work elsewhere: process {os.getpid()} on " in said


@pytest.mark.slow
def test_of_many_that_want_the_job_of_a_dead_process_one_does_it(start: Start, path: Path) -> None:
    for _ in range(2):
        of_another_machine(path)
        many = [start(f"system-{number}", dead=1, waits=False) for number in range(4)]
        time.sleep(4)  # those that lost the claim have noticed
        assert sum("done\n" in process.communicate("\n")[0] for process in many) == 1
        assert not list(path.parent.iterdir())


@pytest.mark.parametrize("content", ["", "[]", '{"host": 1}', "half"])
def test_a_damaged_claim_blocks_nobody(content: str, path: Path) -> None:
    path.write_text(content)
    assert seconds_until_held(path, dead=0.2) < 5


@pytest.mark.parametrize(
    ("job", "answer", "waits"),
    [
        ("8", "8|COMPLETED|None", False),
        ("8", "8|RUNNING|None", True),
        ("9", "9|RUNNING|None", False),  # this process's own job, which Slurm has queued again
    ],
)
def test_a_job_of_slurm_that_has_ended_is_not_waited_for(
    job: str, answer: str, waits: bool, path: Path, put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(squeue=f"echo '{answer}'", sacct="exit 1")
    monkeypatch.setenv("SLURM_JOB_NAME", "run-1")
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    of_another_machine(path, job)
    assert (seconds_until_held(path, dead=2) >= 2) == waits

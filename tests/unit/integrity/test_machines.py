"""Tests of locks on a file system that does not show the locks of one machine to another.

Processes stand in for machines: each has a name of its own for the system it runs on, and a lock of the operating
system that no other process sees. The files of the claims are real.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from retort import locks, machine, slurm
from retort.errors import RetortError
from retort.locks import Claim, Owner, locked

pytestmark = pytest.mark.slow

ELSEWHERE = """
import os, sys, time
from pathlib import Path
from retort import locks, machine
machine.name = lambda: f"system-{sys.argv[1]}"
nothing = lambda *_, **__: None
locks.FileLock = type("Unseen", (), {"__init__": nothing, "acquire": nothing, "release": nothing})
path = Path(sys.argv[2])
"""
HOLD = """
with locks.locked(path, "rule(a)", beat=0.2, dead=float(sys.argv[3])):
    print("held", flush=True)
    sys.stdin.readline()
print("done", flush=True)
"""
# in each round, all remove the claim of one dead process, and all want to be the next
RACE = """
dead, mine = b"of a dead process", locks.Claim(path, locks.Owner.this_process())
for number in range(int(sys.argv[3])):
    print("ready", flush=True)
    sys.stdin.readline()
    before, won = mine.read(), False
    for _ in range(3):
        won = won or mine.create()
        if not won and before:
            mine.remove(before[0])
    time.sleep(1)
    print(int(won and mine.touch()), flush=True)
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a script on what stands in for another machine; all are killed at the end."""
    started = []

    def start(script: str, number: int, argument: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", ELSEWHERE + script, str(number), str(tmp_path / "job"), str(argument)]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def send(process: subprocess.Popen[str]) -> None:
    """Let a process go on that waits for a line."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process one of another machine too: the locks of the others are not seen here."""
    monkeypatch.setattr(locks.FileLock, "acquire", lambda *_, **__: None)


@pytest.mark.usefixtures("unseen")
def test_a_process_of_another_machine_keeps_a_job_to_itself(start: Start, tmp_path: Path) -> None:
    other = start(HOLD, 1, 30)
    assert line_of(other) == "held"
    began = time.monotonic()
    with pytest.raises(RetortError, match=f"process {other.pid} on "), locked(tmp_path / "job", "rule(a)", dead=30):
        pytest.fail("both are at work")
    assert time.monotonic() - began < 15  # a sign of life is enough
    send(other)
    assert line_of(other) == "done"
    with locked(tmp_path / "job", "rule(a)"):
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()


@pytest.mark.usefixtures("unseen")
def test_a_killed_process_of_another_machine_is_taken_over(start: Start, tmp_path: Path) -> None:
    other = start(HOLD, 1, 30)
    assert line_of(other) == "held"
    other.kill()
    other.wait()
    with locked(tmp_path / "job", "rule(a)", dead=1):
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


@pytest.mark.usefixtures("unseen")
def test_a_process_that_was_stopped_ends_once_another_has_its_job(start: Start, tmp_path: Path) -> None:
    """A machine that hangs, a container that is paused: it must not go on where another process is at work."""
    other = start(HOLD, 1, 30)
    assert line_of(other) == "held"
    other.send_signal(signal.SIGSTOP)
    with locked(tmp_path / "job", "rule(a)", dead=1):
        other.send_signal(signal.SIGCONT)
        assert other.wait(20) == 1
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()
    assert other.stderr is not None
    assert "rule(a) was silent for too long and is at work elsewhere: process" in other.stderr.read()


def test_a_process_whose_claim_is_gone_claims_again(start: Start, tmp_path: Path) -> None:
    other = start(HOLD, 1, 30)
    assert line_of(other) == "held"
    (tmp_path / "job").unlink()
    end = time.monotonic() + 20
    while not (tmp_path / "job").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    send(other)
    assert line_of(other) == "done"


def test_of_many_that_remove_a_claim_at_most_one_is_the_next(start: Start, tmp_path: Path) -> None:
    many, rounds = 4, 4
    racers = [start(RACE, number, rounds) for number in range(many)]
    for _ in range(rounds):
        (tmp_path / "job").unlink(missing_ok=True)
        (tmp_path / "job").write_bytes(b"of a dead process")
        for racer in racers:
            assert line_of(racer) == "ready"
        for racer in racers:
            send(racer)
        assert sum(int(line_of(racer)) for racer in racers) <= 1
    assert [path.name for path in tmp_path.iterdir()] == ["job"]


def claims(path: Path, *names: str) -> list[Claim]:
    """Return the claims of one job by processes of several machines."""
    return [Claim(path, Owner(name, 1, "", "2026-01-01 00:00:00", name)) for name in names]


def test_a_claim_that_took_the_place_of_a_dead_one_is_put_back(tmp_path: Path) -> None:
    first, second, dead = claims(tmp_path / "job", "first", "second", "dead")
    dead.create()
    first.remove(dead.content)
    assert first.create()
    second.remove(dead.content)  # it read the claim before the first one removed it
    assert not second.create()
    assert first.touch()
    assert not second.touch()


def test_a_claim_that_cannot_be_put_back_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, dead = claims(tmp_path / "job", "first", "second", "third", "dead")
    assert first.create()
    read = Path.read_bytes

    def reading(path: Path) -> bytes:
        assert third.create()  # while the second one holds the claim of the first in its hands
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    second.remove(dead.content)
    assert third.touch()
    assert not first.touch()


def test_a_full_disk_leaves_no_empty_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (claim,) = claims(tmp_path / "job", "first")
    monkeypatch.setattr(locks, "open", lambda *_: open("/dev/full", "wb"), raising=False)  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        claim.create()
    assert not (tmp_path / "job").exists()


# --- a job of Slurm that has ended is not waited for

SQUEUE = "#!/bin/sh\necho \"$@\" >> {0}/asked\necho '{1}' >&{2}\nexit {3}\n"


@pytest.mark.parametrize(
    ("answer", "stream", "status", "ended"),
    [
        ("17 COMPLETED", 1, 0, True),
        ("17 CANCELLED", 1, 0, True),
        ("", 1, 0, False),  # it was left out of the answer
        ("slurm_load_jobs error: Invalid job id specified", 2, 1, True),
        ("17 RUNNING", 1, 0, False),
        ("17 PENDING", 1, 0, False),
        ("17 NODE_FAIL", 1, 0, False),
        ("slurm_load_jobs error: Unable to contact slurm controller", 2, 1, False),
    ],
)
def test_what_slurm_says_of_a_job(
    answer: str, stream: int, status: int, ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(tmp_path, monkeypatch, SQUEUE.format(tmp_path, answer, stream, status))
    assert slurm.has_ended("17") is ended
    assert (tmp_path / "asked").read_text().endswith("--jobs 17\n")


def test_what_slurm_says_of_several_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(tmp_path, monkeypatch, SQUEUE.format(tmp_path, "17 RUNNING\n19 FAILED", 1, 0))
    assert slurm.states_of(["17", "18", "19"]) == {"17": "RUNNING", "19": "FAILED"}
    assert (tmp_path / "asked").read_text().endswith("--jobs 17,18,19\n")


@pytest.mark.parametrize(
    ("answer", "stream", "status", "ended"),
    [("slurm_load_jobs error: Invalid job id specified", 2, 1, False), ("17 COMPLETED", 1, 0, True)],
)
def test_slurm_may_hide_the_jobs_of_others(
    answer: str, stream: int, status: int, ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(tmp_path, monkeypatch, SQUEUE.format(tmp_path, answer, stream, status))
    assert slurm.has_ended("17", ours=False) is ended


@pytest.mark.parametrize("waits", [False, True])
def test_a_claim_of_another_account_is_believed_as_long_as_it_may_live(
    waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(tmp_path, monkeypatch, SQUEUE.format(tmp_path, "Invalid job id specified", 2, 1))
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "here")
    account = os.getuid() + waits
    monkeypatch.setattr(os, "getuid", lambda: account)
    owner = Owner("node7", 1, "8", "2026-01-01 00:00:00", "another-system", "here")
    assert Claim(tmp_path / "job", owner).create()
    began = time.monotonic()
    with locked(tmp_path / "job", "rule(a)", dead=0.5):
        assert (time.monotonic() - began >= 0.5) == waits


def test_no_variable_of_the_user_leaves_out_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(tmp_path, monkeypatch, '#!/bin/sh\n[ -n "$SQUEUE_PARTITION" ] || echo "17 RUNNING"\n')
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    assert slurm.states_of(["17"]) == {"17": "RUNNING"}


def answers(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a squeue on the path."""
    (folder / "squeue").write_text(script)
    (folder / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_without_slurm_nothing_is_known_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert not slurm.has_ended("17")
    assert slurm.states_of(["17"]) is None


@pytest.mark.parametrize(("cluster", "waits"), [("here", False), ("there", True), ("", True)])
def test_only_the_slurm_of_a_job_is_asked(
    cluster: str, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clusters may share a file system, and number their jobs alike."""
    answers(tmp_path, monkeypatch, SQUEUE.format(tmp_path, "8 CANCELLED", 1, 0))
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "here")
    owner = Owner("node7", 1, "8", "2026-01-01 00:00:00", "another-system", cluster)
    assert Claim(tmp_path / "job", owner).create()
    began = time.monotonic()
    with locked(tmp_path / "job", "rule(a)", dead=1):
        assert (time.monotonic() - began >= 1) == waits
    assert (tmp_path / "asked").exists() != waits


# --- what a machine is


def test_a_machine_knows_its_own_processes() -> None:
    assert machine.name() == machine.name()
    assert set(machine.name()) <= set("0123456789abcdef-")
    assert machine.is_alive(os.getpid())
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert not machine.is_alive(process.pid)


def test_two_machines_of_one_host_name_are_two(tmp_path: Path) -> None:
    """As with containers: the process id of an owner of another system says nothing here."""
    owner = Owner.this_process()
    assert owner.is_this_process
    other = Owner(owner.host, owner.pid, "", owner.since, "another-system")
    assert not other.is_this_process
    assert not other.has_ended(has_locks=True)
    assert Owner(owner.host, owner.pid, "", owner.since, owner.machine).has_ended(has_locks=True)
    assert not owner.has_ended(has_locks=False)

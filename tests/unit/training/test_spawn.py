"""Tests of functions that run in several new processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from retort.training import spawn
from retort.training.spawn import ProcessFailed, run_in_processes

pytestmark = pytest.mark.slow

SCRIPT = """
from retort.training import spawn
spawn.START = "fork"
from tests.unit.training.test_spawn import sleep
spawn.run_in_processes(2, sleep, {folder!r})
"""


def square(rank: int, number: int) -> tuple[int, int]:
    """Return what tells the process and its argument."""
    return rank, number**2


def end(rank: int, status: int) -> None:
    """End process 1; the other one waits for it in vain."""
    if rank:
        os._exit(status) if status >= 0 else os.kill(os.getpid(), -status)
    time.sleep(60)


def sleep(rank: int, folder: str) -> int:
    """Wait for a SIGTERM, and return its number; a file says that this process has begun, and another one its end."""
    received = []
    signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    Path(folder, f"begun-{rank}").touch()
    while not received:
        time.sleep(0.01)
    Path(folder, f"ended-{rank}").touch()
    return received[0]


def send(rank: int, number: int, folder: str) -> int:
    """Let process 1 send the parent a signal once all have begun; return that which this process receives."""

    def tell_parent() -> None:
        _wait_for(Path(folder), "begun-0", "begun-1")  # from here on, both note a signal
        os.kill(os.getppid(), number)

    if rank:
        threading.Thread(target=tell_parent).start()
    return sleep(rank, folder)


def _wait_for(folder: Path, *names: str) -> None:
    """Wait until these files are there, for at most a minute."""
    deadline = time.monotonic() + 60
    while not all((folder / name).exists() for name in names):
        assert time.monotonic() < deadline, f"{names} are not there"
        time.sleep(0.01)


def test_the_result_is_that_of_process_0_and_new_processes_do_not_run_the_main_module() -> None:
    assert run_in_processes(2, square, 3) == (0, 9)


@pytest.mark.usefixtures("forked_processes")
@pytest.mark.parametrize(("status", "said"), [(3, "exit status 3"), (-signal.SIGKILL, "SIGKILL ended it")])
def test_when_one_process_fails_the_others_are_ended(status: int, said: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ProcessFailed, match=f"process 1: {said}"):
        run_in_processes(2, end, status)
    assert time.monotonic() - begun < spawn.GRACE


@pytest.mark.usefixtures("forked_processes")
def test_a_sigterm_is_passed_on_to_all_processes(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert run_in_processes(2, send, signal.SIGTERM, str(tmp_path)) == signal.SIGTERM
    _wait_for(tmp_path, "ended-0", "ended-1")
    assert signal.getsignal(signal.SIGTERM) is before


def test_processes_end_when_their_parent_was_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT.format(folder=str(tmp_path))], cwd=root)
    _wait_for(tmp_path, "begun-0", "begun-1")
    parent.kill()
    assert parent.wait() == -signal.SIGKILL
    _wait_for(tmp_path, "ended-0", "ended-1")

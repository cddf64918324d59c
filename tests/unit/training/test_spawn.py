"""Tests of functions that run in several new processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from retort.atomic import replacing
from retort.training.how.launch import ProcessFailed, run_in_processes

from tests.unit.training.test_loader import runs

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


def sleep(rank: int, folder: str) -> None:
    """Sleep; a file holds the number of this process."""
    with replacing(Path(folder, f"begun-{rank}")) as part:
        part.write_text(str(os.getpid()))
    time.sleep(60)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for at most half a minute."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_result_is_that_of_process_0_and_new_processes_do_not_run_the_main_module() -> None:
    assert run_in_processes(2, square, 3) == (0, 9)


@pytest.mark.usefixtures("forked_processes")
@pytest.mark.parametrize(("status", "said"), [(3, "exit status 3"), (-signal.SIGKILL, "SIGKILL ended it")])
def test_when_one_process_fails_the_others_are_ended(status: int, said: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ProcessFailed, match=f"process 1: {said}"):
        run_in_processes(2, end, status)
    assert time.monotonic() - begun < 30.0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_when_their_parent_does(sent: signal.Signals, tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT.format(folder=str(tmp_path))], cwd=root)
    begun = [tmp_path / f"begun-{rank}" for rank in range(2)]
    wait_until(lambda: all(path.exists() for path in begun))
    parent.send_signal(sent)
    assert parent.wait() == -sent
    wait_until(lambda: not any(runs(int(path.read_text())) for path in begun))

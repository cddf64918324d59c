"""Tests of the server that forks jobs: a fork must be like the process that it stands in for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from retort import forkserver, run_hooks

from tests.conftest import ROOT

HEAD = "import os, sys\nfrom retort.forkserver import hand_over\nstarted = os.getpid()\nhand_over()\n"
SLEEP = "import time\nprint(os.getpid(), flush=True)\ntime.sleep(60)"  # of a fork that tells its process number
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a server that has imported a module which the tests can ask for, and return its address."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "workflow"))
    monkeypatch.delenv(forkserver.ADDRESS, raising=False)
    with started():
        yield os.environ[forkserver.ADDRESS]


@contextlib.contextmanager
def started(module: str = "colorsys") -> Iterator[None]:
    """Start a server for a block, which imports a module."""
    forkserver.start(dict(os.environ), preloaded=(module,))
    yield
    server = forkserver._servers.pop()
    if server.stdin:
        server.stdin.close()
    assert server.wait(20) == 0
    assert not Path(os.environ.pop(forkserver.ADDRESS)).parent.exists()


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a script in a process of its own, which asks the server for a fork where there is one."""

    def start(body: str, *arguments: str, head: str = HEAD, **environment: str) -> subprocess.Popen[str]:
        (tmp_path / "script.py").write_text(head + body)
        command = [sys.executable, str(tmp_path / "script.py"), *arguments]
        pipe = subprocess.PIPE
        environment = {**os.environ, **environment}
        return subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True, env=environment)

    return start


def started_fork(client: subprocess.Popen[str]) -> int:
    """Wait for the first line of a client's fork, its process number, and return that."""
    assert client.stdout is not None
    return int(client.stdout.readline())


def is_gone(process: int) -> bool:
    """Return True as soon as a process has ended, False if it has not after 20 seconds."""
    for _ in range(200):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_a_fork_has_the_imports_of_the_server_and_all_else_of_its_client(address: str, start: Start) -> None:
    """Modules are loaded; arguments, folder, variables and streams are those of the process that asked."""
    body = (
        "print('colorsys' in sys.modules, sys.argv[1], os.getcwd(), os.getenv('COLOUR'))\nprint('e', file=sys.stderr)"
    )
    client = start(body, "one", COLOUR="red")
    out, err = client.communicate(timeout=60)
    assert out.split() == ["True", "one", str(Path(client.args[1]).parent), "red"]  # type: ignore[index]
    assert (err, client.returncode) == ("e\n", 0)


def test_without_a_server_the_script_runs_in_its_own_process(start: Start) -> None:
    """The address may be absent, or of a server that has ended."""
    body = "print('colorsys' in sys.modules, os.getpid() == started)"
    assert start(body).communicate(timeout=60)[0].split() == ["False", "True"]
    gone = start(body, **{forkserver.ADDRESS: "/nowhere/socket"})
    assert gone.communicate(timeout=60)[0].split() == ["False", "True"]


def test_a_long_path_of_temporary_files_is_no_place_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "workflow"))
    monkeypatch.delenv(forkserver.ADDRESS, raising=False)
    with started():
        assert start("print('colorsys' in sys.modules)").communicate(timeout=60)[0].split() == ["True"]


@pytest.mark.parametrize("place", ["/nowhere", None])
def test_a_server_that_cannot_start_is_done_without(
    place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no folder for its socket, or no process for it."""
    monkeypatch.setattr(tempfile, "tempdir", place or str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.delenv(forkserver.ADDRESS, raising=False)
    forkserver.start(dict(os.environ), preloaded=())
    assert forkserver.ADDRESS not in os.environ
    assert not list(tmp_path.iterdir())


def test_a_run_in_a_job_or_a_run_uses_the_server_that_is_there(address: str) -> None:
    before = list(forkserver._servers)
    forkserver.start(dict(os.environ), preloaded=())
    assert os.environ[forkserver.ADDRESS] == address
    assert forkserver._servers == before


@pytest.mark.usefixtures("address")
def test_a_run_of_other_code_starts_a_server_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forkserver, "identity", lambda: "other")
    first = os.environ[forkserver.ADDRESS]
    with started():
        assert os.environ[forkserver.ADDRESS] != first
    monkeypatch.setenv(forkserver.ADDRESS, first)


def test_other_code_runs_in_its_own_process(address: str, start: Start) -> None:
    """A server that was started with another interpreter or code does not stand in."""
    other = "from retort import forkserver\nforkserver.identity = lambda: 'other'\n"
    body = "print('colorsys' in sys.modules, os.getpid() == started)"
    assert start(body, head=other + HEAD).communicate(timeout=60)[0].split() == ["False", "True"]


@pytest.mark.parametrize(
    ("body", "status", "last"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit('a line')", 1, "a line"),
        ("raise ValueError('a bug')", 1, "ValueError: a bug"),
        ("os.kill(os.getpid(), 9)", 137, ""),
    ],
)
def test_the_client_ends_as_its_fork_did(address: str, start: Start, body: str, status: int, last: str) -> None:
    """Exit statuses, tracebacks and signals reach whoever started the client."""
    client = start(body)
    _, err = client.communicate(timeout=60)
    assert client.returncode == status
    assert (err.strip().splitlines() or [""])[-1] == last


def test_a_signal_to_the_client_reaches_the_fork(address: str, start: Start) -> None:
    """The fork can act on SIGTERM before it ends, such as write a checkpoint."""
    client = start(f"import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n{SLEEP}")
    started_fork(client)
    client.send_signal(signal.SIGTERM)
    assert client.wait(20) == 7


def test_a_signal_to_all_processes_ends_the_fork_alone(address: str, start: Start) -> None:
    """Slurm sends SIGTERM to every process of a step; the fork has the time that it takes to write its state."""
    client = start(f"import signal\nsignal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), sys.exit(7)))\n{SLEEP}")
    for process in (forkserver._servers[-1].pid, client.pid, started_fork(client)):
        os.kill(process, signal.SIGTERM)
    assert client.wait(20) == 7


def test_a_fork_that_knows_no_signal_ends_by_it(address: str, start: Start) -> None:
    client = start(SLEEP)
    os.kill(started_fork(client), signal.SIGTERM)
    assert client.wait(20) == 128 + signal.SIGTERM


def test_a_killed_client_takes_its_fork_along(address: str, start: Start) -> None:
    """Nobody waits for a fork whose client is gone, and it would hold the job's lock."""
    client = start(SLEEP)
    fork = started_fork(client)
    assert fork != client.pid
    client.kill()
    assert is_gone(fork)


def test_a_client_that_is_killed_before_its_answer_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(3)\n")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'workflow'}:{tmp_path}")
    monkeypatch.delenv(forkserver.ADDRESS, raising=False)
    with started("slow"):
        killed = start("print('too late')")
        time.sleep(1.5)  # it has sent its request, and waits for the server
        killed.kill()
        assert killed.communicate()[0] == ""
        assert start("print('slow' in sys.modules)").communicate(timeout=60)[0].split() == ["True"]


def test_a_server_starts_where_it_pays_and_sees_no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on one machine pays from its fourth job on; a Slurm job, of which most train, from its second."""
    started: list[tuple[str, ...]] = []

    def start(environment: dict[str, str], preloaded: tuple[str, ...]) -> None:
        assert "HF_TOKEN" not in environment
        started.append(preloaded)

    monkeypatch.setattr(forkserver, "start", start)
    monkeypatch.setenv("HF_TOKEN", "secret")
    for jobs in (1, 2, 4):
        run_hooks.start_forkserver(jobs)
        run_hooks.start_forkserver_on_node(jobs)
    assert started == [forkserver.ON_NODES, forkserver.PRELOADED, forkserver.ON_NODES]

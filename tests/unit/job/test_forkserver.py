"""Tests of the server that forks jobs: a fork must be like the process that it stands in for."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from retort.job import fork_client, forkserver

from tests.conftest import ROOT

STARTER = """import os, sys; from retort.job import fork_client, forkserver
forkserver.start((sys.argv[1],)); print(os.environ[fork_client.ADDRESS], flush=True)
sys.stdin.read()"""
HEAD = "import os, sys, time\n"
SLEEP = "import time\nprint(os.getpid(), flush=True)\ntime.sleep(60)"  # of a fork that tells its process number
WHERE = "print('colorsys' in sys.modules)"  # only a server has loaded it
EDITED = "import colorsys, retort.provenance as p; p.digest_code = str"  # as if files had been edited meanwhile
KILL = "os.kill(os.getpid(), {})"
ENDS = [(KILL.format(2), 1, "KeyboardInterrupt"), (KILL.format(9), 137, ""), (KILL.format(15), 143, ""), ("", 0, "")]
ENDS += [("sys.exit(3)", 3, ""), ("sys.exit('a line')", 1, "a line"), ("raise KeyError", 1, "KeyError")]
Start = Callable[..., subprocess.Popen[str]]


def python(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python process in the folder of its script."""
    folders = [Path(argument).parent for argument in arguments if argument.endswith("script.py")]
    settings = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | {"cwd": (folders or [None])[0]}
    return subprocess.Popen([sys.executable, *arguments], text=True, env={**os.environ, **environment}, **settings)


@contextlib.contextmanager
def serving(module: str = "colorsys", **environment: str) -> Iterator[str]:
    """Start a server that has imported a module, and yield its address; it must end when its starter is killed."""
    with python("-c", STARTER, module, **{fork_client.ADDRESS: "", "HF_TOKEN": "secret", **environment}) as starter:
        yield (address := next(starter.stdout).strip())
        starter.kill()
    end = time.monotonic() + 20
    while Path(address).parent.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of a server that the tests of this file share."""
    with serving() as address:
        yield address


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a script in a process of its own, which asks a server for a fork."""

    def start(address: str, body: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        (tmp_path / "script.py").write_text(HEAD + body)
        client = "-I", "-S", fork_client.__file__, str(tmp_path / "script.py")
        return python(*client, *arguments, **{fork_client.ADDRESS: address, **environment})

    return start


def is_forked(client: subprocess.Popen[str]) -> bool:
    """Return whether the script of a client, `WHERE`, ran in a fork."""
    return {"True\n": True, "False\n": False}[client.communicate(timeout=60)[0]]


def fork_of(client: subprocess.Popen[str]) -> tuple[psutil.Process, psutil.Process]:
    """Wait for the first line of a client's fork, its process number; return the fork and its server."""
    fork = psutil.Process(int(next(client.stdout)))
    return fork, fork.parents()[1]


def test_a_fork_has_all_but_its_imports_of_its_client(address: str, start: Start, tmp_path: Path) -> None:
    """Modules are loaded; arguments, folder, variables and streams are those of the client; the server has no token."""
    body = f"""{WHERE}; import multiprocessing as m
print(input(), m.get_start_method(True), 'HF_TOKEN' in open(f'/proc/{{os.getppid()}}/environ').read())
print(sys.argv[1], os.getcwd(), os.getenv('COLOUR'), os.getenv('{fork_client.ADDRESS}'), file=sys.stderr)"""
    client = start(address, body, "one", COLOUR="red")
    assert client.communicate("typed", timeout=60) == ("True\ntyped None False\n", f"one {tmp_path} red None\n")


def test_a_copy_of_the_package_has_a_server_of_its_own(address: str, start: Start, tmp_path: Path) -> None:
    """A server stands in for its own code only, and serves the runs that are started within a run."""
    shutil.copytree(ROOT / "workflow/retort", tmp_path / "retort")
    with serving(PYTHONPATH=str(tmp_path)) as other:
        assert Path(other).name != Path(address).name
        assert is_forked(start(other, WHERE))
    assert python("-c", STARTER, "", **{fork_client.ADDRESS: address}).communicate(timeout=60)[0] == f"{address}\n"


def test_a_shell_command_asks_for_a_fork_where_it_calls_this_python(address: str, tmp_path: Path) -> None:
    """Other programs, and this one by another name, are what they are; a download has a process of its own."""
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", fork_client.ADDRESS: address}
    (tmp_path / "another-python").symlink_to(sys.executable)
    download = next((ROOT / "workflow/scripts").glob(f"*{fork_client.DOWNLOADS[1:]}"))
    assert "with download(snakemake)" in download.read_text()
    calls = [(sys.executable, "a.make_page.py", "True"), (sys.executable, f"a.{download.name}", "False")]
    for program, name, said in [*calls, ("another-python", "a.py", "False"), ("echo", "a.py", f"{tmp_path}/a.py")]:
        (tmp_path / name).write_text(f"import sys\n{WHERE}")
        command = ["bash", "-c", f"{forkserver.shell_prefix()}{program} {tmp_path / name}"]
        assert subprocess.run(command, env=environment, capture_output=True, text=True).stdout == f"{said}\n"


def test_a_server_starts_while_others_end(tmp_path: Path) -> None:
    """A start looks into the folders of all servers, and some of them are deleted meanwhile."""
    folders = [tmp_path / f"{forkserver.PREFIX}{number}" for number in range(2000)]
    for folder in folders:
        folder.mkdir()
    head = f"from retort.job import forkserver; forkserver.FOLDER = {str(tmp_path)!r}; print(flush=True)\n"
    starter = python("-c", head + STARTER, "colorsys", **{fork_client.ADDRESS: ""})
    next(starter.stdout)
    for folder in folders:
        folder.rmdir()
    assert Path(starter.communicate(timeout=60)[0].strip()).parent.parent == tmp_path


@pytest.mark.parametrize(("body", "status", "last"), ENDS)
def test_the_client_ends_as_its_fork_did(address: str, start: Start, body: str, status: int, last: str) -> None:
    """Exit statuses, tracebacks and signals reach whoever started the client."""
    client = start(address, body)
    assert client.communicate(timeout=60)[1].strip().split("\n")[-1] == last
    assert client.returncode == status


@pytest.mark.parametrize(("number", "processes", "status"), [(15, 1, 7), (15, 4, 7), (2, 4, 7), (9, 1, -9)])
def test_a_signal_ends_the_fork_alone(number: int, processes: int, status: int, address: str, start: Start) -> None:
    """SIGTERM and Ctrl-C may reach all processes, and the fork may write its state; a killed client takes it along."""
    ends = "import signal\nfor number in (2, 15): signal.signal(number, lambda *_: (time.sleep(1), sys.exit(7)))\n"
    client = start(address, ends + SLEEP)
    fork, server = fork_of(client)
    assert len(server.children()) <= 2  # those before are collected, but perhaps for the last one
    for process in (client.pid, fork.ppid(), server.pid, fork.pid)[:processes]:
        os.kill(process, number)
    assert client.wait(20) == status
    fork.wait(20)
    assert is_forked(start(address, WHERE))


def test_a_killed_server_does_no_harm(start: Start) -> None:
    """Jobs that run go on; later ones run in processes of their own, as without any server."""
    with serving() as address:
        client = start(address, SLEEP)
        fork_of(client)[1].kill()
        assert not any(is_forked(start(each, WHERE)) for each in (address, ""))
        client.terminate()
        assert client.wait(20) == 143
        shutil.rmtree(Path(address).parent)


@pytest.mark.parametrize(("line", "served"), [("import colorsys", True), ("exit()", False), (EDITED, False)])
def test_clients_wait_for_the_imports_of_the_server(line: str, served: bool, start: Start, tmp_path: Path) -> None:
    """A client that is killed meanwhile harms no other; if the server ends, they run in processes of their own."""
    (tmp_path / "slow.py").write_text(f"import time\ntime.sleep(2)\n{line}\n")
    with serving("slow", PYTHONPATH=f"{ROOT / 'workflow'}:{tmp_path}") as address:
        killed = start(address, WHERE)
        time.sleep(1)  # it has sent its request, and waits
        killed.kill()
        assert killed.communicate()[0] == ""
        assert is_forked(start(address, WHERE)) == served


def test_the_next_server_deletes_the_folders_of_dead_ones() -> None:
    """Not that of a server that listens, nor a new one, which may be about to listen."""
    made = {
        name: tempfile.mkdtemp(prefix=forkserver.PREFIX, dir=forkserver.FOLDER) for name in ("dead", "alive", "new")
    }
    with contextlib.ExitStack() as sockets:
        for name, folder in made.items():
            listener = sockets.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"{folder}/socket")
            listener.listen() if name == "alive" else listener.close()
            if name != "new":
                os.utime(f"{folder}/socket", (1, 1))
        with serving():
            assert [name for name, folder in made.items() if Path(folder).exists()] == ["alive", "new"]
    for folder in made.values():
        shutil.rmtree(folder, ignore_errors=True)


def test_a_server_that_hangs_in_an_import_keeps_no_job_waiting_and_ends_with_its_run(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hangs.py").write_text("import time\nwhile True:\n    time.sleep(1)\n")
    with python(
        "-c", STARTER, "hangs", **{fork_client.ADDRESS: "", "PYTHONPATH": f"{ROOT}/workflow:{tmp_path}"}
    ) as run:
        address = next(run.stdout).strip()
        server = psutil.Process(run.pid).children()[0]
        monkeypatch.setattr(fork_client, "PATIENCE", 0.5)
        with socket.socket(socket.AF_UNIX) as client:
            assert not fork_client.begins(client, address, (0, 1, 2), [], [], "/", {})
        run.kill()
    server.wait(10)  # until it has ended
    shutil.rmtree(Path(address).parent)

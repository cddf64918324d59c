"""Tests of the GPUs that jobs share without Slurm: pretend GPUs, real processes, kills."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from retort.job import fork_client, forkserver, gpus
from retort.job.context import job

from tests.rule_job import rule_job

HOLD = """
import os, sys, time
from retort.job import gpus
with gpus.hold(int(sys.argv[1]), lambda line: print(line, flush=True)):
    print("has", os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    own = [f"{sys.argv[2]}/{name}" for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
    [os.open(path, os.O_CREAT | os.O_EXCL) for path in own]
    if len(sys.argv) > 3:
        os.fork() or time.sleep(60)  # as a process that prepares batches
        sys.stdin.readline()
    time.sleep(0.3)
    [os.unlink(path) for path in own]
"""
TOO_LITTLE = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which 1.00 GiB is free."
    " Process 7 has {others} GiB memory in use. Including non-PyTorch memory, this process has {own} GiB memory in use."
)
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def pretend(folder: Path, put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Pretend that the machine has four GPUs, of which processes fill the first; return their names."""
    names = [f"GPU-{os.getpid()}-{number}" for number in range(4)]
    rows = (f"{n}, {name}, {8000 if n == 0 else 300}, 16000" for n, name in enumerate(names))
    put(**{"nvidia-smi": "\n".join(f"echo '{row}'" for row in rows)})
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    yield names
    for path in gpus.FOLDER.glob(f"GPU-{os.getpid()}-*"):
        path.unlink()


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a process that holds so many GPUs, and notes each as its own for a while."""
    started = list[subprocess.Popen[str]]()

    def start(number: int, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, str(number), str(folder), *more]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, start_new_session=True, **streams))
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what it has forked, which holds its streams
        process.communicate()


@pytest.mark.parametrize("numbers", [[1] * 12, [1, 2, 1, 2, 1, 2]], ids=["12 of one", "6 of one or two"])
def test_no_two_jobs_have_the_same_gpu(numbers: list[int], start: Start, pretend: list[str]) -> None:
    jobs = [start(number) for number in numbers]
    for process, number in zip(jobs, numbers, strict=True):
        said = process.communicate()[0].splitlines()
        assert process.returncode == 0  # a second holder of a GPU could not note it
        assert len(set(pretend) & set(said[-1].removeprefix("has ").split(","))) == number


def test_a_kill_frees_the_gpus_at_once(start: Start, pretend: list[str], folder: Path) -> None:
    first = start(4, "waits")
    assert first.stdout.readline() == f"has {','.join(pretend)}\n"
    second = start(2)
    assert second.stdout.readline().startswith(f"waits for 2 of 4 GPUs, after process {first.pid} on ")
    for name in pretend:
        (folder / name).unlink()
    first.kill()  # and not the process that it has forked
    assert second.stdout.readline() == f"has {','.join(pretend[1:3])}\n"  # another process fills the first


SETS = {"2,0": [2, 0], "GPU-{pid}-3": [3], "1,-1,2": [1], "": [], "9": [], "0,0": [0]}


@pytest.mark.parametrize(("given", "names"), SETS.items())
def test_cuda_visible_devices_is_the_set_to_choose_from(
    given: str, names: list[int], pretend: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(gpus.VISIBLE, given.format(pid=os.getpid()))
    assert gpus.visible() == [pretend[number] for number in names]
    assert gpus.limit() == (len(names) or None)


def test_slurm_gives_gpus_itself_and_without_nvidia_smi_names_are_taken_as_they_are(
    put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(**{"nvidia-smi": "exit 9"})
    assert gpus.limit() is None
    monkeypatch.setenv(gpus.VISIBLE, "0,MIG-a/1/0")
    assert gpus.visible() == ["0", "MIG-a/1/0"]
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    assert gpus.limit() is None
    with gpus.hold(1, pytest.fail):
        assert os.environ[gpus.VISIBLE] == "0,MIG-a/1/0"


@pytest.mark.parametrize(("others", "is_taken"), [(70, True), (0.5, False)])
def test_memory_that_another_process_took_does_not_count(
    others: float, is_taken: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpus, "run_again", lambda: sys.exit("again"))
    error = RuntimeError(TOO_LITTLE.format(others=others, own=78 - others))
    with pytest.raises(SystemExit) as ended, job(rule_job(resources={"gpu": 1})):
        raise error
    again = "other processes hold 70 of the 79 GiB of its GPU; it is tried again as it was\n"
    said = again if is_taken else "the GPU has too little memory for its batches (CUDA out of memory."
    assert ended.value.code == ("again" if is_taken else 1)
    assert capsys.readouterr().err.startswith(f"rule(a): {said}")


def test_memory_that_is_missing_at_the_start_is_asked_for(pretend: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VISIBLE, "0")
    monkeypatch.setenv(fork_client.TRIED, str(gpus.TRIES))
    monkeypatch.setattr(gpus, "PAUSE", 0)
    with pytest.raises(gpus.MemoryTaken) as error, gpus.hold(1, pytest.fail):
        raise RuntimeError("CUDA error: out of memory")
    assert str(error.value).startswith(
        "other processes hold 8 of the 16 GiB of its GPU; run again when they have ended, "
    )
    assert not gpus.tries_again()


def test_a_job_that_is_tried_again_is_a_new_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a fork of the server as in a process of its own; what Snakemake waits for goes on."""
    script = folder / "script.py"
    script.write_text(
        "import os\nfrom retort.job import gpus\ntried = os.environ.get('RETORT_TRIED')\nprint(tried, flush=True)\n"
        "if tried != '2':\n    gpus.run_again()\n"
    )
    forkserver.start(("retort.job.gpus",))
    for client in ([], ["-I", "-S", fork_client.__file__]):
        subprocess.run([sys.executable, *client, str(script)], check=True)
        assert capfd.readouterr().out == "None\n1\n2\n"
    monkeypatch.delenv(fork_client.ADDRESS)


@pytest.mark.slow
def test_what_the_server_of_forks_imports_does_not_touch_cuda() -> None:
    """A fork of a process that has asked CUDA for its GPUs cannot choose among them any more."""
    code = """import importlib, sys, torch
torch.cuda.init = torch.cuda.is_available = torch.cuda.device_count = sys.exit
for module, _, function in (name.partition(":") for name in sys.argv[1:]):
    getattr(importlib.import_module(module), function or "__dir__")()
print("untouched")"""
    command = [sys.executable, "-c", code, *forkserver.PRELOADED]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == "untouched\n"

"""Tests of locks: no two processes do the same job, and those that died block nobody."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from retort import machine
from retort.errors import RetortError
from retort.jobs import job
from retort.locks import Owner, locked

from tests.rule_job import rule_job

HOLD = """
import sys, time
from pathlib import Path
from retort.locks import locked
with locked(Path(sys.argv[1]), "rule(a)"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """Yield a process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "job")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SLURM_JOB_ID": "17"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_a_second_process_stops_and_names_the_first(holder: Any, tmp_path: Path) -> None:
    with pytest.raises(RetortError) as refused, locked(tmp_path / "job", "rule(a)"):
        pytest.fail("both are at work")
    assert f"rule(a) is already at work elsewhere: process {holder.pid} on " in str(refused.value)
    assert ", Slurm job 17, since 20" in str(refused.value)
    assert "wait for its end" in str(refused.value)


def test_the_lock_of_a_killed_process_is_free(holder: Any, tmp_path: Path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with locked(tmp_path / "job", "rule(a)"):
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()
    assert not (tmp_path / "job").exists()


def of_another_machine(path: Path) -> None:
    """Write an owner whose lock this machine does not see."""
    path.write_text(json.dumps({"host": "node7", "pid": 1, "slurm_job": "8", "since": "2026-01-01 00:00:00"}))


def test_a_live_process_of_another_machine_is_known_by_its_signs_of_life(tmp_path: Path) -> None:
    of_another_machine(tmp_path / "job")
    code = "import os, sys, time\nfor _ in range(40): time.sleep(0.1); os.utime(sys.argv[1])"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "job")])
    try:
        with pytest.raises(RetortError, match="process 1 on node7, Slurm job 8"), locked(tmp_path / "job", "a", dead=3):
            pytest.fail("both are at work")
    finally:
        process.kill()
        process.wait()


def test_a_dead_process_of_another_machine_is_taken_over(tmp_path: Path) -> None:
    of_another_machine(tmp_path / "job")
    start = time.monotonic()
    with locked(tmp_path / "job", "rule(a)", dead=0.5):
        assert time.monotonic() - start >= 0.5
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()


def test_a_lock_that_a_file_server_keeps_for_a_dead_machine_blocks_nobody(holder: Any, tmp_path: Path) -> None:
    of_another_machine(tmp_path / "job")  # in place of the claim of the holder, which keeps the system's lock
    with locked(tmp_path / "job", "rule(a)", dead=0.5):
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()


def test_a_process_that_works_without_the_systems_lock_is_no_dead_one(holder: Any, tmp_path: Path) -> None:
    of_another_machine(tmp_path / "job")
    begun = threading.Event()

    def work() -> None:
        with locked(tmp_path / "job", "rule(a)", dead=0.5, beat=0.1):
            begun.set()
            time.sleep(3)

    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(work)
        assert begun.wait(20)
        holder.kill()  # as if the file server gave the lock of the dead machine back
        holder.wait()
        with pytest.raises(RetortError, match="already at work"), locked(tmp_path / "job", "rule(a)", dead=30):
            pytest.fail("both are at work")
        first.result()


def test_a_process_killed_on_a_file_system_without_locks_blocks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> None:
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr("fcntl.flock", missing)
    with locked(tmp_path / "job", "rule(a)"):
        left = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path, content in left.items():
        path.write_bytes(content.replace(machine.name().encode(), b"another"))
    with locked(tmp_path / "job", "rule(a)", dead=0.5):
        owner = Owner.of((tmp_path / "job").read_bytes())
        assert owner is not None
        assert owner.is_this_process


def test_the_owner_gives_signs_of_life(tmp_path: Path) -> None:
    with locked(tmp_path / "job", "rule(a)", beat=0.05):
        before = (tmp_path / "job").stat().st_mtime_ns
        time.sleep(0.5)
        assert (tmp_path / "job").stat().st_mtime_ns > before


@pytest.mark.parametrize("content", ["", "[]", '{"host": 1}', "null", "half"])
def test_a_damaged_owner_blocks_nobody(content: str, tmp_path: Path) -> None:
    (tmp_path / "job").write_text(content)
    with locked(tmp_path / "job", "rule(a)", dead=0.2):
        assert json.loads((tmp_path / "job").read_text())["pid"] == os.getpid()


def test_the_same_job_does_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with job(rule_job()), job(rule_job(wildcards=["b"])), pytest.raises(SystemExit), job(rule_job(wildcards=["b"])):
        pytest.fail("both are at work")
    assert "rule(b): rule(b) is already at work elsewhere: process" in capsys.readouterr().err


@pytest.mark.parametrize(("rule", "seen"), [("finetune_teacher", None), ("fetch_source", "secret")])
def test_tokens_are_only_for_jobs_that_download(
    rule: str, seen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("HF_TOKEN", "PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY")
    for name in names:
        monkeypatch.setenv(name, "secret")
    with job(rule_job(rule=rule)):
        assert [os.environ.get(name) for name in names] == [seen] * len(names)

"""Fixtures that unit tests share."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from retort.study.study import Study

from tests.conftest import whole_study
from tests.tiny.variant import write_study


@pytest.fixture(scope="session")
def whole() -> Study:
    """Return the study of all papers, which no test changes."""
    return whole_study()


@pytest.fixture(scope="session")
def whole_paper() -> Study:
    """Return the study of all papers at the papers' own scale, which no test changes."""
    return whole_study("paper")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the current folder one of the test's own, and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def config(here: Path) -> dict[str, Any]:
    """Return the configuration of the tiny study's variant, whose results go to the current folder."""
    return write_study(here / "study")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, outside Slurm, and return it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return tmp_path


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the current folder, on a disk of 128 KiB; skip the test where none can be mounted."""
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(tmp_path / "disk")]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    with monkeypatch.context() as inside:
        inside.chdir(tmp_path / "disk")
        yield tmp_path / "disk"
    subprocess.run(["umount", str(tmp_path / "disk")], check=True)


@pytest.fixture
def forked_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a training on several processes fork them: a fork imports nothing again, and without a GPU it works."""
    monkeypatch.setattr("retort.training.how.launch.START", "fork")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # a launch sets it, and the test takes it back


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes commands of Slurm, as the only ones that are found; none is there before.

    It returns the file to which each command appends its name and arguments.
    """
    folder = tmp_path / "slurm"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def put(**scripts: str) -> Path:
        for name, script in scripts.items():
            (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/asked\n{script}\n')
            (folder / name).chmod(0o755)
        return folder / "asked"

    return put

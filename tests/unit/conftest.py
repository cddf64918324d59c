"""Fixtures that unit tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tiny.variant import write_study


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the configuration of the tiny study's variant, whose results go to the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_study(tmp_path / "study")


@pytest.fixture
def forked_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a training on several processes fork them: a fork imports nothing again, and without a GPU it works."""
    monkeypatch.setattr("retort.training.how.launch.START", "fork")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # a launch sets it, and the test takes it back

"""Fixtures of tests of the engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


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

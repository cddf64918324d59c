"""Test that trainings of every sort of the four papers run, in miniature."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def test_trainings_of_every_sort_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "retort", "rehearse", "--distinct", "--folder", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout
    assert len(list(tmp_path.glob("results/scores/*/*/*[0-9].json"))) > 40

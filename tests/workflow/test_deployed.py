"""Tests of the workflow as a module of another one, which is how snakedeploy deploys it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.workflow

# as snakedeploy 0.17 writes it, after the step of config/README.md that completes the path
DEPLOYED = f"""
from snakemake.utils import min_version

min_version("6.10.0")

configfile: "config/config.yaml"

module main:
    snakefile:
        "{ROOT}/workflow/Snakefile"
    config:
        config

use rule * from main
"""
TABLE = "results/tables/tiny/table1.csv"


def deployed(folder: Path, *arguments: str) -> str:
    """Run the deployed workflow in its folder, and return what it says."""
    (folder / "config").mkdir(exist_ok=True)
    shutil.copy(folder / "config.yaml", folder / "config")
    (folder / "workflow").mkdir(exist_ok=True)
    (folder / "workflow/Snakefile").write_text(DEPLOYED)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": ""},  # which finds retort only where it is installed
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_deployed_workflow_goes_on_with_a_run_and_makes_the_same_bytes(copied: Path) -> None:
    assert "Nothing to be done" in deployed(copied, "-n")
    before = (copied / TABLE).read_bytes()
    (copied / TABLE).unlink()
    deployed(copied, TABLE)
    assert (copied / TABLE).read_bytes() == before

"""Tests of variables of the environment that libraries read: ours hold in every process, the user's where they may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from retort import machine
from retort.cli import main

from tests.conftest import ROOT
from tests.tiny.make import make_study

# what a notebook's kernel, a shell of TensorFlow and a launcher of trainings leave in the environment
FOREIGN = dict.fromkeys(machine.OUR_VARIABLES, "1") | {"USE_TORCH": "0", "HF_DATASETS_IN_MEMORY_MAX_SIZE": "all"}
FOREIGN["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
USERS = {"HF_HOME": "/somewhere", "MKL_NUM_THREADS": "3", "HF_ENDPOINT": "https://mirror"}


def test_ours_hold_and_those_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**FOREIGN, **USERS}.items():
        monkeypatch.setenv(name, value)
    assert main(["list", "mappings"]) == 0
    assert {name: os.environ.get(name) for name in {**FOREIGN, **USERS}} == machine.OUR_VARIABLES | USERS


@pytest.mark.workflow
def test_pages_are_made_from_a_notebook(tmp_path: Path) -> None:
    """As `make pages` makes them: the run, its server of forks and its jobs begin where foreign variables are set."""
    make_study(tmp_path)
    options = "--configfile", "config.yaml", "--cores", "1", "--config", "papers=[]"
    program = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *options]
    subprocess.run(program, env={**os.environ, **FOREIGN}, cwd=tmp_path, check=True)
    assert (tmp_path / "reports/index.html").exists()

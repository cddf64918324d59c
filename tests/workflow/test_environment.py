"""Tests of variables of the environment that libraries read: ours hold in every process, the user's where they may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from retort import environment

from tests.conftest import ROOT
from tests.tiny.make import make_study

# what a notebook's kernel, a shell of TensorFlow and a launcher of trainings leave in the environment
FOREIGN = {
    **dict.fromkeys(environment.OURS, "1"),
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "USE_TORCH": "0",
    "HF_DATASETS_IN_MEMORY_MAX_SIZE": "all",
}
USERS = {"HF_HOME": "/somewhere", "MKL_NUM_THREADS": "3", "HF_ENDPOINT": "https://mirror", "CUDA_LAUNCH_BLOCKING": "1"}
LIBRARIES = "import matplotlib.pyplot, torch, transformers; from datasets import config; assert config.TORCH_AVAILABLE"
# where a process begins, with what Python runs there; then the libraries can be imported
BEGINNINGS = {
    "the command": "from retort.cli import main; main(['list', 'mappings'])",
    "a run": "from retort.run.workflow import Run; Run({'papers': []}, {}, is_dry=True)",
}


def said_by(folder: Path, *arguments: str) -> str:
    """Return what a Python process says as errors that ends well in a folder, where foreign variables are set."""
    program = [sys.executable, *arguments]
    done = subprocess.run(
        program, env={**os.environ, **FOREIGN}, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_ours_hold_and_those_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**FOREIGN, **USERS}.items():
        monkeypatch.setenv(name, value)
    environment.settle()
    assert {name: os.environ.get(name) for name in FOREIGN} == environment.OURS
    assert {name: os.environ[name] for name in USERS} == USERS


@pytest.mark.slow
@pytest.mark.parametrize("where", BEGINNINGS)
def test_libraries_are_imported_where_a_process_begins(where: str) -> None:
    assert not said_by(ROOT, "-c", f"{BEGINNINGS[where]}; {LIBRARIES}")


@pytest.mark.workflow
def test_pages_are_made_from_a_notebook(tmp_path: Path) -> None:
    folder = make_study(tmp_path)
    options = "--configfile", "config.yaml", "--cores", "1", "--config", "papers=[]"  # as `make pages`
    said = said_by(folder, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *options)
    assert "Traceback" not in said
    assert list((folder / "reports").glob("*.html"))

"""Tests that show faults of Snakemake: one that fails says that the fault is mended, and its repair can go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow
SNAKEFILE = f"""
import sys
sys.path.insert(0, "{ROOT}/workflow")
from retort.engine.repairs import look_once
onstart:
    if config.get("repaired"):
        look_once(workflow.scheduler)
rule all:
    input: expand("made/{{number}}", number=range(30))
rule make:
    output: "made/{{number}}"
    shell: "sleep 0.3; touch {{output}}"
"""


@pytest.mark.parametrize(("config", "few"), [([], False), (["--config", "repaired=1"], True)])
def test_each_job_adds_a_look_a_second(config: list[str], few: bool, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--cores", "3", "--scheduler", "greedy", "--verbose", *config]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    looks = done.stderr.count("Ready jobs: ")
    assert (looks <= 31) == few

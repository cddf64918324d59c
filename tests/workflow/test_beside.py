"""Tests of runs beside runs: GPUs that they share, and two runs in one folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import snakemake
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow

TOY = """
workflow.register_resource("gpu", 2)
rule all:
    input: expand("{name}{number}", name=["trained", "prepared"], number=range(4))
rule train:
    output: "trained{number}"
    resources: gpu=1
    shell: "echo begins >> log; sleep 1; echo ends >> log; touch {output}"
rule prepare:
    output: "prepared{number}"
    shell: "touch {output}"
"""


def test_as_many_trainings_run_as_there_are_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Snakefile").write_text(TOY)
    command = [sys.executable, "-m", "snakemake", "--cores", "8", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    at_once = [0]
    for line in (tmp_path / "log").read_text().split():
        at_once.append(at_once[-1] + (1 if line == "begins" else -1))
    assert max(at_once) == 2
    folder = make_study(tmp_path / "tiny", scale="paper")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "pretend-a,pretend-b")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    teacher = "results/teachers/tiny-teacher/mood/1"
    said = snakemake(folder, teacher, check=False).stderr
    assert 'gpu=Resource("gpu", 2)' in said
    assert "the job was promised a GPU, and torch" in said
    assert 'gpu=Resource("gpu", 1)' in snakemake(folder, teacher, "--resources", "gpu=1", check=False).stderr

"""Tests of how Snakemake schedules a run, in small runs of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SNAKEFILE = """
import sys
sys.path.insert(0, {package!r})
from retort.plan.scheduling import make_first, start_at_once

onstart:
    make_first(workflow.dag, ["last.txt"])
    start_at_once(workflow.scheduler)
    print("limit:", workflow.scheduler.job_rate_limiter, file=sys.stderr)

rule all:
    input: "first.txt", "last.txt"

rule first:
    output: "first.txt"
    shell: "echo first >> order; touch {{output}}"

rule middle:
    output: "middle.txt"
    shell: "echo middle >> order; touch {{output}}"

rule last:
    input: "middle.txt"
    output: "last.txt"
    shell: "echo last >> order; touch {{output}}"
"""


def run(folder: Path, *arguments: str) -> str:
    """Run the small workflow in a folder, and return what Snakemake prints."""
    (folder / "Snakefile").write_text(SNAKEFILE.format(package=str(ROOT / "workflow")))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "all", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr


def test_a_file_and_all_that_it_is_made_from_come_first(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert (tmp_path / "order").read_text().split() == ["middle", "last", "first"]
    assert "limit: None" in said


@pytest.mark.parametrize("limit", ["50/1s", "100/1m"])
def test_a_limit_of_the_command_line_holds(limit: str, tmp_path: Path) -> None:
    assert "JobRateLimiter" in run(tmp_path, "--max-jobs-per-timespan", limit)

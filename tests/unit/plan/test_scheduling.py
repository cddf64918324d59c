"""Tests of how Snakemake schedules a run, in small runs of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SNAKEFILE = """
from retort.plan.scheduling import make_first, start_at_once

rule all:
    input: [f"tables/{number}" for number in range(8)]

rule train:
    output: "scores/{number}"
    shell: "touch {output}"

rule collect:
    input: "scores/{number}"
    output: "tables/{number}"
    shell: "touch {output}"

onstart:
    make_first(workflow.dag, ["tables/6"])
    start_at_once(workflow.scheduler)
    print("limit:", workflow.scheduler.job_rate_limiter, file=sys.stderr)
"""


def run(folder: Path, *arguments: str) -> str:
    """Run the small workflow in a folder, and return what Snakemake prints."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--nocolor", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_a_file_is_made_before_all_others(tmp_path: Path) -> None:
    said = run(tmp_path)
    made = re.findall(r"output: (\S+/\d)", said)
    assert made[:2] == ["scores/6", "tables/6"]
    assert len(made) == 16
    assert "falling back" not in said  # Snakemake's scheduler can weigh the priority
    assert "limit: None" in said


@pytest.mark.parametrize("limit", ["50/1s", "100/2s"])
@pytest.mark.slow
def test_a_limit_of_the_command_line_holds(limit: str, tmp_path: Path) -> None:
    assert "JobRateLimiter" in run(tmp_path, "tables/1", "--max-jobs-per-timespan", limit)

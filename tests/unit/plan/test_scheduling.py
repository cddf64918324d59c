"""What a run makes first."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SNAKEFILE = """
from retort.plan.scheduling import make_first

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
"""


def test_a_file_is_made_before_all_others(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--nocolor"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    made = re.findall(r"output: (\S+/\d)", run.stderr)
    assert made[:2] == ["scores/6", "tables/6"]
    assert len(made) == 16
    assert "falling back" not in run.stderr  # Snakemake's scheduler can weigh the priority

"""Tests of the workflow as a module of another one, which is how snakedeploy deploys it."""

from __future__ import annotations

import os
import re
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
GUIDE = "config/README.md"


def run(command: list[str], folder: Path, package: str = "") -> str:
    """Run a command in a folder, with retort from `package` or else as it is installed; return what it says."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": package, "PATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def deployed(folder: Path, *arguments: str) -> str:
    """Run the deployed workflow in its folder, and return what it says."""
    (folder / "config").mkdir(exist_ok=True)
    shutil.copy(folder / "config.yaml", folder / "config")
    (folder / "workflow").mkdir(exist_ok=True)
    (folder / "workflow/Snakefile").write_text(DEPLOYED)
    return run([sys.executable, "-m", "snakemake", "--cores", "2", *arguments], folder)


def test_a_deployed_workflow_goes_on_with_a_run_and_makes_the_same_bytes(copied: Path) -> None:
    assert "Nothing to be done" in deployed(copied, "-n")
    before = (copied / TABLE).read_bytes()
    (copied / TABLE).unlink()
    deployed(copied, TABLE)
    assert (copied / TABLE).read_bytes() == before


def test_a_clone_runs_its_own_package_where_another_one_is_installed(repository: Path, tmp_path: Path) -> None:
    with (repository / "workflow/retort/plan/plan.py").open("a") as module:
        module.write('print("planned by the package next to the Snakefile")\n')
    template = repository / "workflow/retort/report/templates/audit.html"
    template.write_text(template.read_text().replace("the papers report</h1>", "the papers of the clone print</h1>"))
    folder, page = tmp_path / "own", "reports/audit.html"
    folder.mkdir()
    shutil.copy(ROOT / "config.yaml", folder)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(repository / "workflow/Snakefile"), page]
    said = run([*snakemake, "--logger", "retort", "--cores", "1"], folder, str(ROOT / "workflow"))
    assert "planned by the package next to the Snakefile" in said
    assert re.search(r"findings in \d{4} numbers of \d\d tables", said)
    assert "the papers of the clone print</h1>" in (folder / page).read_text()
    assert "Nothing to be done" in run([*snakemake, "-n"], folder, str(ROOT / "workflow"))

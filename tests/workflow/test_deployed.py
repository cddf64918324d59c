"""Tests of the workflow as a module of another one, which is how snakedeploy deploys it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from retort.results.tidy import read

from tests.conftest import ROOT
from tests.contracts.guides import copy_project
from tests.tiny.make import make_study

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
        module.write('print("planned by the package beside the Snakefile")\n')
    template = repository / "workflow/retort/report/templates/audit.html"
    template.write_text(template.read_text().replace("the papers print</h1>", "the papers of the clone print</h1>"))
    folder, page = tmp_path / "own", "reports/audit.html"
    folder.mkdir()
    shutil.copy(ROOT / "config.yaml", folder)
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(repository / "workflow/Snakefile"), page]
    said = run([*snakemake, "--logger", "retort", "--cores", "1"], folder, str(ROOT / "workflow"))
    assert "planned by the package beside the Snakefile" in said
    assert re.search(r"findings in \d{4} numbers of \d\d tables", said)
    assert "the papers of the clone print</h1>" in (folder / page).read_text()
    assert "Nothing to be done" in run([*snakemake, "-n"], folder, str(ROOT / "workflow"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a git repository with the files of this one, as snakedeploy takes them from."""
    (folder := tmp_path / "clone").mkdir()
    copy_project(folder)
    shutil.copytree(ROOT / "config", folder / "config", symlinks=True)
    shutil.copy(ROOT / "LICENSE", folder)
    user = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*user, "commit", "-q", "-m", "All"]):
        run(["git", *arguments], folder)
    return folder


def documented(clone: Path) -> list[str]:
    """Return the commands of the guide that deploy the workflow from a clone and run it."""
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if "snakedeploy" in block]
    return str(block).replace("/path/to/clone", str(clone)).splitlines()


@pytest.mark.skipif(not shutil.which("snakedeploy"), reason="snakedeploy is not installed (CONTRIBUTING.md)")
def test_what_the_guide_deploys_runs_from_empty_to_the_bytes_of_any_run(
    clone: Path, finished: Path, tmp_path: Path
) -> None:
    *deploy, start = documented(clone)
    assert deploy[0].startswith("snakedeploy ")
    assert start.startswith("snakemake ")
    run(["bash", "-e", "-c", "\n".join(deploy)], tmp_path)
    folder = tmp_path / "my-folder"
    (make_study(folder) / "config.yaml").replace(folder / "config/config.yaml")  # as a user edits it
    run(["bash", "-c", start], folder)
    every = sorted(finished.glob("results/tables/tiny/*.csv"))
    tables = [path for path in every if not {line.unit for line in read(path)} & {"ms", "times"}]  # times differ
    assert finished / TABLE in tables
    for path in tables:
        assert (folder / path.relative_to(finished)).read_bytes() == path.read_bytes(), path.name
    assert (folder / "reports/index.html").is_file()

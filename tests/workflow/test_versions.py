"""Run tests with the oldest and the newest allowed version of Snakemake and of its Slurm plugin."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from retort.run.run_folder import BOUNDS

from tests.conftest import ROOT

pytestmark = [pytest.mark.workflow, pytest.mark.network]

OLDEST = [f"{name}=={next(s.version for s in SpecifierSet(b) if s.operator == '>=')}" for name, b in BOUNDS.items()]
NEWEST = [f"{name}{bounds}" for name, bounds in BOUNDS.items()]
# the tiny study from end to end, and what a second run and one with another seed plan; the terminal; the Slurm plugin
TESTS = [
    "tests/workflow/test_incremental.py::test_a_change_runs_again_what_depends_on_it[nothing]",
    "tests/workflow/test_incremental.py::test_a_change_runs_again_what_depends_on_it[seed]",
    "tests/unit/run/test_screen.py",
    "tests/unit/run/test_executor.py",
]


@pytest.mark.parametrize("versions", [OLDEST, NEWEST], ids=["oldest", "newest"])
def test_the_workflow_runs(versions: list[str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if "network" not in request.config.getoption("markexpr"):
        pytest.skip("installs packages: asked for by -m network (CONTRIBUTING.md)")
    python = environment_above(tmp_path / "environment")
    pip = [python, "-m", "pip", "install", "--quiet", "--upgrade", *versions]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    about = f"from importlib.metadata import version; print(*map(version, {list(BOUNDS)}))"
    print(subprocess.run([python, "-c", about], capture_output=True, text=True, check=True).stdout)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [python, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "tests")]
    done = subprocess.run([*command, *TESTS], cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def environment_above(folder: Path) -> str:
    """Make an environment that has all packages of this one, but for what is installed in it; return its Python."""
    venv.create(folder)
    site = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
    Path(site, "below.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return str(folder / "bin/python")

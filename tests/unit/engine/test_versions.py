"""Tests of the versions of Snakemake and its plugin that are let in, and that all files agree on them."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from retort.engine.run import BOUNDS

from tests.conftest import ROOT, SNAKEMAKE

SLURM = "snakemake-executor-plugin-slurm"


@pytest.mark.parametrize(("name", "version"), [("snakemake", "9.25.2"), ("snakemake", "9.28.0"), (SLURM, "2.7.1")])
def test_another_version_is_refused_in_a_line(name: str, version: str, tmp_path: Path) -> None:
    about = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    done = subprocess.run(
        [*SNAKEMAKE, "--cores", "1", "-n"], cwd=tmp_path, text=True,
        capture_output=True, check=False, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    right, how = f"{name}{BOUNDS[name]}", "install another version: pip install"
    line = f"{name} {version} is installed, and this workflow needs {right}; {how} '{right}'"
    said = done.stdout + done.stderr
    assert line in said.splitlines()
    assert "Traceback" not in said


def test_the_project_asks_for_the_same_versions_and_the_lock_has_one_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = set(project["dependencies"])
    locked = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
    for name, bounds in BOUNDS.items():
        assert f"{name}{bounds}" in asked
        assert SpecifierSet(bounds).contains(locked[name])

"""Tests that run the linters and type checks, so that one command tells whether a change is fine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

TOOLS = {
    "ruff check": ["ruff", "check", "workflow", "tests"],
    "ruff format": ["ruff", "format", "--check", "workflow/retort", "workflow/scripts", "tests"],
    "snakefmt": ["snakefmt", "--check", "Snakefile", "workflow/Snakefile", "workflow/rules"],
    "snakemake --lint": ["snakemake", "--lint"],
    "mypy": ["mypy"],
}


@pytest.mark.parametrize("name", TOOLS)
def test_clean(name: str) -> None:
    tool, *arguments = TOOLS[name]
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_conda_environments_name_the_versions_of_the_lock() -> None:
    import yaml

    lock = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split() if "==" in line)
    names = {"pytorch": "torch", "snakemake-minimal": "snakemake", "python-xxhash": "xxhash"}
    for path in sorted((ROOT / "envs").glob("*.yaml")):
        pinned = [str(item) for item in yaml.safe_load(path.read_text())["dependencies"] if "=" in str(item)]
        assert pinned
        for item in pinned:
            name, version = item.replace(">=", "=").split("=")
            if name != "python":
                assert lock[names.get(name, name).replace("_", "-")] == version, f"{path.name}: {item}"


def test_no_file_holds_an_address_of_a_registry() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--" not in text
    assert all("==" in line for line in text.split())

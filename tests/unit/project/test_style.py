"""Tests that run the linters and type checks, so that one command tells whether a change is fine."""

from __future__ import annotations

import re
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
OTHER_WORDS = (  # for what the glossary has a word; pages, study files and guides use that one
    r"printed (?:number|value|score|mean|one|cell|row)s?|as printed|in print|published (?:number|value|score|one)s?"
    r"|borne out|did not show|contradicted as|means lean|tasks drawn|draws of the means|beside|so many times|so much"
)


@pytest.mark.parametrize("name", TOOLS)
def test_clean(name: str) -> None:
    tool, *arguments = TOOLS[name]
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_study_files_and_guides_use_the_words_of_the_glossary() -> None:
    templates = [
        path for path in (ROOT / "workflow/retort").glob("*/templates/*.*") if path.suffix not in {".js", ".css"}
    ]
    study = [path for path in (ROOT / "workflow").rglob("*.yaml") if path.parent.name != "recorded"]
    guides = [path for path in (ROOT / "workflow").rglob("*.md") if path.stem != "preregistration"]
    assert min(map(len, (templates, study, guides))) > 10
    for path in (*templates, *study, *guides, *ROOT.glob("*/README.md"), ROOT / "README.md"):
        text = re.sub(r"^( *)quote:.*(?:\n\1 +.*)*", "", path.read_text(), flags=re.MULTILINE)  # the paper's own words
        assert re.findall(rf"\b(?:{OTHER_WORDS})\b", text) == [], path


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

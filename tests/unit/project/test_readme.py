"""Tests that the README is right: its commands exist, its numbers are the recorded ones."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml
from retort.cli import parser
from retort.cli.base import verbs
from retort.cost import memory, resources
from retort.tables.render import markdown_escape

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
TABLE = yaml.safe_load((ROOT / "workflow/papers/pocket/table1.yaml").read_text())


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"\bmake (\w+)`", README)) | set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    assert {"run", "test"} <= targets
    for target in sorted(targets):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_every_verb_exists() -> None:
    named = set(re.findall(r"`?retort (list|check|record|\w+)`?(?= {2,}#)", README))
    assert named
    assert named <= set(verbs)
    assert parser().format_help()


def test_continuous_integration_calls_the_test_command_alone() -> None:
    lines = (ROOT / ".ci/run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make test"]


def test_every_link_leads_to_a_file() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", README):
        name = target[0] or target[1]
        assert (ROOT / name).exists(), name


def rows_of_table_1() -> dict[str, list[str]]:
    """Return the cells of each row of the README's copy of table 1, by the row's label."""
    header = f"| | {' | '.join(column['label'] for column in TABLE['columns'])} |"
    below = README[README.index(header) :].split("\n\n")[0].splitlines()[2:]
    return {label: cells for label, *cells in ([cell.strip() for cell in line.split("|")[1:-1]] for line in below)}


@pytest.mark.parametrize("label", rows_of_table_1())
def test_table_1_is_that_of_the_recorded_run(label: str) -> None:
    student = {markdown_escape(row["label"]): row["student"] for row in TABLE["rows"]}[label]
    for column, cell in zip(TABLE["columns"], rows_of_table_1()[label], strict=False):
        mean, *std = TABLE["published"][student][column["label"]]
        assert cell.strip("*") == " ± ".join(f"{number:.1f}" for number in (mean, *std)), column["label"]


@pytest.mark.parametrize("name", ["README.md", "slurm/study.yaml"])
def test_what_jobs_ask_for_is_told_as_it_is(name: str) -> None:
    text = " ".join((ROOT / name).read_text().replace("\n#", "\n").split())
    time = f"{resources.MARGIN} times the time that `retort cost` predicts and {resources.SPARE_MINUTES} minutes more"
    assert f"Jobs ask for {time}, and for {memory.RAM_MARGIN} times the memory" in text


def test_no_word_is_left_to_fill_in() -> None:
    assert not re.findall(r"@[A-Z][\w-]*@", README)

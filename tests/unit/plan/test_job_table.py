"""Tests that the table of jobs, by which costs are planned without Snakemake, has the rules that Snakemake runs."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.conftest import ROOT, SNAKEFILE, read_json, run_snakemake
from tests.tiny.make import STUDY
from tests.unit.plan.compared import FILE

# settings get names, by which they are compared; what is marked as `ancient` stays a function
COMPARING = f"""
from retort.plan.plan import Plan
from tests.unit.plan import compared

Plan.at = compared.named_settings
ancient = lambda value: value

include: "{SNAKEFILE}"

compared.write(workflow.rules, plan)
"""
Sides = dict[str, dict[str, Any]]
# weights that nobody keeps; made sources, and weights that are kept for a server; pages of papers that are not run
STUDIES: dict[str, dict[str, Any]] = {
    "tiny": {"papers": ["tiny"], "study": str(STUDY)},
    "miniature": {"papers": ["mlkd2024"], "scale": "rehearsal"},
    "reported": {"papers": []},
}


@pytest.fixture(scope="module", params=STUDIES)
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """Return the rules of a study as Snakemake knows them, and as the table does."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "config.yaml").write_text(json.dumps({**STUDIES[request.param], "precision": "float32"}))
    (folder / "Snakefile").write_text(COMPARING)
    paths = os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT)])
    done = run_snakemake(folder, "--list-rules", "--dry-run", "--configfile", "config.yaml", PYTHONPATH=paths)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Sides = read_json(folder / FILE)
    return found


def test_the_table_has_the_rules_of_the_workflow(sides: Sides) -> None:
    assert sides["table"].keys() == sides["snakemake"].keys()
    assert len(sides["table"]) > 20


@pytest.mark.parametrize("part", ["outputs", "inputs", "params", "log", "script"])
def test_each_rule_of_the_table_has_the_parts_that_it_has_in_snakemake(part: str, sides: Sides) -> None:
    table, snakemake = ({name: rule[part] for name, rule in rules.items()} for rules in sides.values())
    assert table == snakemake


def test_what_constrains_a_wildcard_in_the_table_does_so_in_snakemake_and_no_rule_says_more(sides: Sides) -> None:
    for name, rule in sides["table"].items():
        snakemake, table = sides["snakemake"][name], rule["constraints"].items()
        assert snakemake["own constraints"].items() <= table <= snakemake["constraints"].items(), name


def test_the_compared_parts_are_of_every_kind(sides: Sides) -> None:
    made = sides["snakemake"]["finetune_student"]
    assert made["outputs"]["scores"] == "results/scores/{student}/{task}/{seeds}.json"
    assert made["inputs"]["student"] == "results/students/{student}/model"
    assert made["inputs"]["trials"] == "InputFunctions.grid"
    assert made["params"] == {"settings": "settings: finetunings student task", "reads_weights": "Plan.reads_weights"}
    assert made["constraints"]["seeds"] == r"\d+(-\d+)*"
    assert sides["snakemake"]["make_index"]["inputs"]["pages"] == "InputFunctions.pages_of_papers"

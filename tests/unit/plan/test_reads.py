"""Tests of what jobs read: the files that tables, claims and pages are made again after."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.cost.jobs import Jobs
from retort.plan.job_table import rules_of
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.specs.config import read_config

from tests.tiny.edit import set_value, write
from tests.tiny.variant import write_study


def rules(config: dict[str, Any]) -> dict[str, Rule]:
    """Return the rules of a study by name."""
    return {rule.name: rule for rule in rules_of(Plan(read_config(config)))}


def test_claims_page_and_index_are_made_again_after_a_recording(here: Path) -> None:
    config, study = write_study(here / "study"), here / "study"
    recording = {"run": {"machine": "a laptop"}, "replacements": {}, "runs": 3}
    write(study, "papers/tiny/recorded/reduced.yaml", {**recording, "tables": {"table1": {"B": {"Pearson": [60, 1]}}}})
    write(study, "scales/reduced.yaml", {"title": "Between"})
    write(study, "scales/pocket.yaml", {"title": "Here", "papers": "ours"})
    every = rules(config)
    for name in ("check_claims", "make_page", "make_index"):
        files = every[name].input_paths(SimpleNamespace(paper="tiny"))
        assert {"study/papers/tiny/recorded/reduced.yaml", "study/scales/reduced.yaml"} <= {*files}


def test_a_table_is_made_again_after_a_change_of_the_file_that_holds_it_or_its_columns(
    study_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study_folder.parent)
    row = {"student": "kd", "label": "A"}
    table = {"kind": "scores", "title": "T", "question": "Q?", "columns": "mood-and-ratings", "rows": [row]}
    cells = {"table": "table7", "rows": ["A"], "columns": ["Mood"]}
    quote = {"section": "S", "text": "T"}
    claim = {"quote": quote, "says": "S", "where": "W", "compare": "value", "number": "1", "cells": [cells]}
    set_value(study_folder, "papers/tiny/paper.yaml", "tables", to={"table7": table})
    set_value(study_folder, "papers/tiny/paper.yaml", "claims", to={"value-of-one": claim})
    every = rules({"papers": ["tiny"], "study": str(study_folder)})
    paper, columns = "study/papers/tiny/paper.yaml", "study/papers/columns.yaml"
    assert {paper, columns} <= {*every["make_table"].input_paths(SimpleNamespace(paper="tiny", table="table7"))}
    assert not {paper, columns} & {*every["make_table"].input_paths(SimpleNamespace(paper="tiny", table="table1"))}
    claims = {*every["check_claims"].input_paths(SimpleNamespace(paper="tiny"))}
    assert {paper, "study/papers/tiny/claims.yaml", "results/tables/tiny/table7.csv"} <= claims


def test_all_behind_a_page_is_of_its_own_paper() -> None:
    plan = Plan(read_config({}))
    jobs, papers = Jobs(plan), set(plan.study.papers)
    for paper in papers:
        behind = jobs.behind([f"reports/{paper}/index.html"])
        folders = {folder for job in behind for path in (*job.inputs, *job.outputs) for folder in Path(path).parts}
        assert folders & papers == {paper}


def test_the_page_of_a_paper_that_is_not_run_is_made_again_after_a_change_of_a_setting_that_it_lists() -> None:
    page = rules({})["make_page"]
    lists, another = (set(page.input_paths(SimpleNamespace(paper=paper))) for paper in ("udagawa2023", "pocket"))
    settings = {f"workflow/{name}.yaml" for name in ("protocols/udagawa2023-mono", "models/roberta-base", "tasks/mnli")}
    assert settings <= lists
    assert not settings & another  # its tables depend on the settings of its scores


ASSUMED = {"points": 1.2, "because": "measured"}


def test_tables_are_made_again_after_a_change_of_what_is_assumed_of_distillations(study_folder: Path) -> None:
    def params(name: str) -> list[Any]:
        of = SimpleNamespace(paper="tiny", table=name)
        make = rules({"papers": ["tiny"], "study": str(study_folder)})["make_table"]
        return [make.params[key](of) for key in ("compares", "verdicts")]

    scores, tests = params("table1"), params("table3")
    set_value(study_folder, "papers/tiny/table1.yaml", "assumed_distillation_std", to=ASSUMED)
    assert params("table1") == scores  # it reads the file
    assert params("table3") != tests
    tests = params("table3")
    set_value(study_folder, "papers/tiny/paper.yaml", "assumed_distillation_std", to={**ASSUMED, "points": 1.3})
    assert (params("table1") != scores, params("table3") != tests) == (True, True)

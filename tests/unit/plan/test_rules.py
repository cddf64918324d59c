"""Tests of the rules that Snakemake and the cost model read: which rule makes a file, and from which files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.plan.plan import Plan
from retort.plan.rules import Rules
from retort.specs.config import read_config

from tests.tiny.edit import set_value, write
from tests.tiny.variant import write_study
from tests.unit.study.test_scale import study_config


def test_a_job_of_smaller_models_says_from_which_one(tmp_path: Path) -> None:
    for scale, said in (("paper", None), ("reduced", "finetune_teacher(tiny-teacher, mood), smaller, from half")):
        rules = Rules(Plan(read_config(study_config(tmp_path / scale, scale))), {}, {})
        message = rules.message(rules["finetune_teacher"])
        wildcards = SimpleNamespace(teacher="tiny-teacher", task="mood")
        assert (message and message.format(wildcards=wildcards)) == said


def test_claims_page_and_index_are_made_again_after_a_recording(here: Path) -> None:
    config, study = write_study(here / "study"), here / "study"
    recording = {"run": {"machine": "a laptop"}, "replacements": {}, "runs": 3}
    write(study, "papers/tiny/recorded/reduced.yaml", {**recording, "tables": {"table1": {"B": {"Pearson": [60, 1]}}}})
    write(study, "scales/reduced.yaml", {"title": "Between"})
    write(study, "scales/pocket.yaml", {"title": "Here", "papers": "ours"})
    rules = Rules(Plan(read_config(config)), {}, {})
    for name in ("check_claims", "make_page", "make_index"):
        files = rules[name].input_paths(SimpleNamespace(paper="tiny"))
        assert {"study/papers/tiny/recorded/reduced.yaml", "study/scales/reduced.yaml"} <= {*files}


def test_a_table_is_made_again_after_a_change_of_the_file_that_holds_it_or_its_columns(
    study_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study_folder.parent)
    row = {"student": "kd", "label": "A"}
    table = {"kind": "scores", "title": "T", "question": "Q?", "columns": "mood-and-ratings", "rows": [row]}
    cells = {"table": "table7", "rows": ["A"], "columns": ["Mood"]}
    claim = {"says": "S", "where": "W", "compare": "value", "number": "1", "cells": [cells]}
    set_value(study_folder, "papers/tiny/paper.yaml", "tables", to={"table7": table})
    set_value(study_folder, "papers/tiny/paper.yaml", "claims", to={"value-of-one": claim})
    rules = Rules(Plan(read_config({"papers": ["tiny"], "study": str(study_folder)})), {}, {})
    paper, columns = "study/papers/tiny/paper.yaml", "study/papers/columns.yaml"
    assert {paper, columns} <= {*rules["make_table"].input_paths(SimpleNamespace(paper="tiny", table="table7"))}
    assert not {paper, columns} & {*rules["make_table"].input_paths(SimpleNamespace(paper="tiny", table="table1"))}
    claims = {*rules["check_claims"].input_paths(SimpleNamespace(paper="tiny"))}
    assert {paper, "study/papers/tiny/claims.yaml", "results/tables/tiny/table7.csv"} <= claims

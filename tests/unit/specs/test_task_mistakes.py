"""Tests of the messages for mistakes in the YAML of a task whose splits have separate files."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.plan import resolve
from retort.specs.config import Config
from retort.study.load import open_study

from tests.tiny.edit import change, problems
from tests.unit.specs.test_mistakes import TABLE

FILED = """
title: A task with files
source: texts
task_type: classification
labels: [sad, glad]
metrics: [accuracy]
subsets: [one, two]
splits:
  train: {rows: 9}
  dev: {rows: {one: 4, two: 5}, subsets: true}
  test: {rows: 3, labelled: false}
read:
  local:
    format: tsv
    files: {train: train.tsv, dev: 'dev-{subset}.tsv', test: test.tsv}
    columns: {text: sentence, label: label}
    label_names: [down, up]
evaluation_split: dev
submission: {files: {test: Mine.tsv}, label_names: ['0', '1']}
max_length: 16
version: 1
sample:
  - {text: a glad day, label: glad}
  - {text: a sad day, label: sad}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format: tsv", "format: tsvv", "read.local: no format is called 'tsvv'; did you mean 'tsv'?"),
        ("format: tsv", "format: tsv\n    options: {heading: true}", "no option of format 'tsv' is called 'heading'"),
        ("columns: {text: sentence,", "columns: {txt: sentence,", "no field is called 'txt'; did you mean 'text'?"),
        ("columns: {text: sentence,", "columns: {", "read.local.columns: 'text' is missing"),
        ("files: {train: train.tsv", "files: {trian: train.tsv", "no split is called 'trian'; did you mean 'train'?"),
        ("train: train.tsv", "train: ../train.tsv", "'../train.tsv' leaves its folder"),
        (
            "'dev-{subset}.tsv'",
            "dev.tsv",
            "read.local.files.dev: '{subset}' is for splits with subsets, and for them all",
        ),
        (
            "format: tsv",
            "format: tsv\n    name: plain",
            "read.local.name: only data sets of the hub have configurations",
        ),
        ("{one: 4, two: 5}", "{one: 4}", "splits.dev.rows: give a number for each of one, two"),
        ("subsets: [one, two]", "subsets: []", "splits.dev.subsets: the task names no subsets"),
        ("    label_names: [down, up]", "    label_names: [down]", "read.local.label_names: 1 names for 2 labels"),
        (
            "label_names: [down, up]",
            "label_names: [no, yes]",
            "read.local.label_names.1: Input should be a valid string, not False; put it in quotes",
        ),
        ("label_names: ['0', '1']", "label_names: ['0']", "submission.label_names: 1 names for 2 labels"),
        ("{test: Mine.tsv}", "{tset: Mine.tsv}", "submission.files: no split is called 'tset'; did you mean 'test'?"),
        ("evaluation_split: dev", "evaluation_split: test", "evaluation_split: split 'test' has no labels"),
        ("train: {rows: 9}", "train: {rows: 9, source: txts}", "no source is called 'txts'; did you mean 'texts'?"),
    ],
)
def test_a_mistake_in_a_task_with_files(study_folder: Path, old: str, new: str, said: str) -> None:
    (study_folder / "tasks/filed.yaml").write_text(FILED)
    assert problems(study_folder) == []
    change(study_folder, "tasks/filed.yaml", old, new)
    assert any(said in line for line in problems(study_folder)), problems(study_folder)


OWN = "source: {title: T, path: texts}"


def test_a_task_may_hold_its_source(study_folder: Path) -> None:
    (study_folder / "tasks/filed.yaml").write_text(FILED.replace("source: texts", OWN))
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    assert study.tasks["filed"].source == "filed"
    assert study.tasks["filed"].sources == ["filed"]
    assert resolve.source(study, "filed").model_dump() == {"path": "texts"}
    assert study.files["sources", "filed"] == study_folder / "tasks/filed.yaml"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{title: T, paht: texts}", "source.paht: no key is called 'paht'; did you mean 'path'?"),
        ("{title: T}", "source: where the files come from is missing; give one of the keys 'path', 'hub'"),
        ("{title: T, hub: {repository: a/b, repo_type: dataset}}", "source.hub.files: Field required"),
        ("5", "source: Input should be a valid string"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_source_of_a_task(study_folder: Path, source: str, said: str) -> None:
    (study_folder / "tasks/filed.yaml").write_text(FILED.replace("source: texts", f"source: {source}"))
    lines = [line for line in problems(study_folder) if line.startswith("study/tasks/filed.yaml: ")]
    assert any(said in line for line in lines), problems(study_folder)
    assert not any("no source is called" in line for line in problems(study_folder))


def test_a_source_of_a_task_whose_name_is_taken(study_folder: Path) -> None:
    (study_folder / "tasks/texts.yaml").write_text(FILED.replace("source: texts", OWN))
    assert problems(study_folder) == [
        "study/tasks/texts.yaml: source: sources/texts.yaml has this name too; write `source: texts`, or rename one"
    ]


def test_a_column_names_the_subset_that_it_shows(study_folder: Path) -> None:
    (study_folder / "tasks/filed.yaml").write_text(FILED)
    change(study_folder, TABLE, "task: mood, metric: accuracy", "task: filed, metric: accuracy")
    said = "metric of filed: no metric is called 'accuracy'; did you mean"
    assert any(said in line for line in problems(study_folder)), problems(study_folder)
    change(study_folder, TABLE, "task: filed, metric: accuracy", "task: filed, subset: two, metric: accuracy")
    assert problems(study_folder) == []


def test_a_form_that_a_used_task_does_not_know(study_folder: Path) -> None:
    (study_folder / "tasks/filed.yaml").write_text(FILED.replace("local:", "hub:"))
    assert problems(study_folder) == []  # nothing uses it
    change(study_folder, TABLE, "task: mood, metric: accuracy", "task: filed, subset: two, metric: accuracy")
    assert problems(study_folder) == [
        "study/tasks/filed.yaml: read: 'local' is missing, where the files of source 'texts' are; see data_dir"
    ]

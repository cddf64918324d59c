"""Tests of tasks whose splits have files: what the study must say to read them."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.mistakes.filed import FILED
from tests.tiny.edit import TABLE, change, problems


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

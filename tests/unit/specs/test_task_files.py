"""Tests of tasks whose splits have files: what the study must say to read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.plan import resolve_data
from retort.specs.config import Config
from retort.study.load import open_study

from tests.contracts.mistakes.tasks import FILED
from tests.tiny.edit import TABLE, change, problems
from tests.tiny.make import make_encoder


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


OWN = "source: {title: T, path: texts}"


def test_a_task_may_hold_its_source(study_folder: Path) -> None:
    (study_folder / "tasks/filed.yaml").write_text(FILED.replace("source: texts", OWN))
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    assert study.tasks["filed"].source == "filed"
    assert study.tasks["filed"].sources == ["filed"]
    assert resolve_data.fetched(study, "filed").model_dump() == {"path": "texts"}
    assert study.files["sources", "filed"] == study_folder / "tasks/filed.yaml"


def test_the_model_of_a_folder_says_where_it_is_and_its_config_says_the_rest(study_folder: Path) -> None:
    make_encoder(path := study_folder.parent / "mine")
    (study_folder / "models/mine.yaml").write_text(f"title: T\nsource: {{title: Weights of mine, path: {path}}}\n")
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    sizes = ("architecture", "vocabulary", "positions")
    mine, encoder = (study.models[name].model_dump(include={*sizes}) for name in ("mine", "encoder"))
    assert mine == encoder
    assert resolve_data.fetched(study, "mine").model_dump() == {"path": str(path)}
    (path / "config.json").unlink()
    said = f"study/models/mine.yaml: source: {path}/config.json is missing, which says architecture and vocabulary"
    assert [line.partition(";")[0] for line in problems(study_folder)] == [said]
    (study_folder / "tasks/mine.yaml").write_text(FILED.replace("source: texts", OWN))
    taken = "source: models/mine.yaml gives a source of this name too; write `source: mine`, or rename one"
    assert f"study/tasks/mine.yaml: {taken}" in problems(study_folder)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{title: T, paht: texts}", "source.paht: no key is called 'paht'; did you mean 'path'?"),
        ("{title: T}", "source: where the files come from is not clear; give one of the keys 'path', 'hub'"),
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
        "study/tasks/texts.yaml: source: sources/texts.yaml gives a source of this name too; write `source: texts`, "
        "or rename one"
    ]

"""Tests of what a student may start from: its inputs and settings, or a one-line message if it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.plan import resolve, resolve_data
from retort.plan.plan import Plan
from retort.specs.config import Config
from retort.study.load import open_study

from tests.tiny.edit import problems, set_value, write

STUDENTS = "papers/tiny/students.yaml"
ENCODER = {"title": "A random encoder", "source": "encoder", "vocabulary": 90}
TWO = {"layers": 2, "heads": 3, "hidden": 24, "intermediate": 48}


@pytest.fixture
def study_folder(study_folder: Path) -> Path:
    """Return the tiny study with added published models of two layers."""
    narrow = {**TWO, "embedding": 8}
    for name, architecture, vocabulary in (("small", TWO, 90), ("foreign", TWO, 91), ("narrow", narrow, 90)):
        model = {**ENCODER, "architecture": architecture, "vocabulary": vocabulary}
        write(study_folder, f"models/{name}.yaml", model)
    return study_folder


def change(study_folder: Path, student: str, **fields: Any) -> None:
    """Set these fields of a student."""
    for name, value in fields.items():
        set_value(study_folder, STUDENTS, student, name, to=value)


def config(study_folder: Path) -> Config:
    """Return the configuration of the study."""
    return Config(papers=["tiny"], study=str(study_folder))


@pytest.mark.parametrize(
    ("student", "start", "said"),
    [
        ("kd", {}, "initialisation: give exactly one of layers, truncated, student, checkpoint, random"),
        ("kd", {"truncated": True, "layers": [1, 2]}, "initialisation: give exactly one of layers, truncated"),
        ("kd", {"checkpoint": "small", "random": True}, "initialisation: give exactly one of layers, truncated"),
        ("narrow", {"truncated": True},
         "narrow.initialisation.truncated: a student of width 16 x 32 cannot take layers of a teacher of 24 x 48; "
         "use 'random: true'"),
        ("kd", {"checkpoint": "smal"},
         "kd.initialisation.checkpoint: no model is called 'smal'; did you mean 'small'?"),
        ("kd", {"checkpoint": "encoder"},
         "kd.initialisation.checkpoint: 'encoder' has layers: 4, the student's architecture layers: 2"),
        ("kd", {"checkpoint": "narrow"},
         "kd.initialisation.checkpoint: 'narrow' has embedding: 8, the student's architecture embedding: none"),
        ("kd", {"checkpoint": "foreign"},
         "kd.initialisation.checkpoint: 'foreign' has a vocabulary of 91 tokens, teacher 'tiny-teacher' one of 90"),
        ("kd", {"checkpoint": "../small"}, "initialisation.checkpoint"),
    ],
)  # fmt: skip
def test_a_start_that_cannot_be_gets_one_clear_line(
    study_folder: Path, student: str, start: dict[str, Any], said: str
) -> None:
    change(study_folder, student, initialisation=start)
    found = problems(study_folder)
    assert any(said in line for line in found), found
    assert all("\n" not in line and "students.yaml" in line for line in found)


@pytest.mark.parametrize(
    ("architecture", "start", "said"),
    [
        ({**TWO, "layers": 6}, {"truncated": True}, "truncated: teacher 'tiny-teacher' has no layer 6; it has 4"),
        ({**TWO, "embedding": 8}, {"layers": [2, 4]},
         "a student of width 24 x 48 with embeddings of 8 cannot take layers of a teacher of 24 x 48"),
        ({**TWO, "embedding": 24}, {"random": True}, "embedding (24) is not smaller than hidden (24); leave it out"),
        ({**TWO, "embeding": 8}, {"random": True}, "no key is called 'embeding'; did you mean 'embedding'?"),
    ],
)  # fmt: skip
def test_an_architecture_that_does_not_fit(
    study_folder: Path, architecture: dict[str, int], start: dict[str, Any], said: str
) -> None:
    change(study_folder, "kd", architecture=architecture, initialisation=start)
    assert any(said in line for line in problems(study_folder))


def test_a_parent_that_reads_other_tokens(study_folder: Path) -> None:
    other = {"title": "Another", "model": "foreign", "protocol": "short"}
    set_value(study_folder, "papers/tiny/paper.yaml", "teachers", "other", to=other)
    change(study_folder, "narrow", teacher="tiny-other")
    said = "predicting.initialisation.student: 'tiny-narrow' has a vocabulary of 91 tokens"
    assert any(said in line for line in problems(study_folder))


def test_truncated_is_the_first_layers(study_folder: Path) -> None:
    change(study_folder, "kd", initialisation={"truncated": True})
    change(study_folder, "attention", initialisation={"layers": [1, 2]})
    study = open_study(config(study_folder))
    assert resolve.reads_teacher(study.students["tiny-kd"])
    starts = [
        resolve.task_distillation(study, name, "mood").initialisation.as_json()
        for name in ("tiny-kd", "tiny-attention")
    ]
    assert starts[0] == starts[1] == {"layers": [1, 2], "of": "teacher", "student": None, "random": False}


def test_settings_name_what_a_student_starts_from(study_folder: Path) -> None:
    change(study_folder, "kd", initialisation={"checkpoint": "small"})
    change(study_folder, "narrow", architecture=TWO, initialisation={"checkpoint": "small"})
    change(study_folder, "predicting", architecture=TWO)
    study = open_study(config(study_folder))
    published = resolve_data.model(study, "small")
    assert resolve.task_distillation(study, "tiny-kd", "mood").parent == published
    assert resolve.corpus_distillation(study, "tiny-predicting").as_json()["parent"]["parent"] == published.as_json()
    assert "parent" not in resolve.task_distillation(study, "tiny-attention", "mood").as_json()
    assert "embedding" not in published.as_json()["architecture"]
    assert resolve_data.model(study, "narrow").architecture.embedding == 8


def test_a_published_model_may_have_other_attention_heads(study_folder: Path) -> None:
    change(study_folder, "kd", architecture={**TWO, "heads": 6}, initialisation={"checkpoint": "small"})
    assert problems(study_folder) == []


def test_the_plan_has_the_folder_that_a_student_starts_from(study_folder: Path) -> None:
    change(study_folder, "kd", initialisation={"checkpoint": "small"})
    plan = Plan(config(study_folder))
    folders = {name: plan.parent(f"tiny-{name}") for name in ("kd", "attention", "narrow", "predicting")}
    assert folders == {
        "kd": ["results/sources/encoder"],
        "attention": [],
        "narrow": [],
        "predicting": ["results/students/tiny-narrow/model"],
    }

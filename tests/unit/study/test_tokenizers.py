"""Tests of models that have another model's tokenizer: they share encoded data, and mistakes are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.plan.plan import Plan
from retort.specs.config import Config
from retort.study.cells import of_folder, required

from tests.tiny.edit import problems, set_value, write

SHAPE = {"layers": 4, "heads": 3, "hidden": 24, "intermediate": 48}


def with_larger(study_folder: Path, **changes: Any) -> None:
    """Make the teacher a model that has the tokenizer of the tiny encoder."""
    model = {"title": "L", "source": "larger", "vocabulary": 90, "architecture": SHAPE, "tokenizer": "encoder"}
    write(study_folder, "models/larger.yaml", {**model, **changes})
    write(study_folder, "sources/larger.yaml", {"title": "L", "path": "larger"})
    set_value(study_folder, "papers/tiny/paper.yaml", "teachers", "teacher", "model", to="larger")


def test_models_with_one_tokenizer_share_encoded_data(study_folder: Path) -> None:
    with_larger(study_folder)
    plan = Plan(Config(papers=["tiny"], study=str(study_folder)))
    assert plan.encoded("tiny-teacher", "mood") == "results/encoded/mood/encoder"
    assert plan.blocks("tiny-teacher", "sentences") == "results/corpora/sentences/encoder"
    for name in ("tiny-teacher", "tiny-kd"):
        assert plan.pretrained_folder(name) == "results/sources/larger"
        assert plan.tokenizer_folder(name) == plan.model_folder("encoder") == "results/sources/encoder"
    assert {"larger", "encoder"} <= of_folder("sources", required(plan.study))
    assert list(plan.settings.tasks) == list(plan.settings.corpora) == ["encoder"]


def test_settings_name_the_source_of_the_tokenizer(study_folder: Path) -> None:
    with_larger(study_folder)
    settings = Plan(Config(papers=["tiny"], study=str(study_folder))).settings
    assert settings.tasks["encoder"]["mood"].as_json()["tokenizer"]["local"] == "encoder"
    assert settings.corpora["encoder"]["sentences"].as_json()["tokenizer"]["local"] == "encoder"
    model = settings.teachers["tiny-teacher"]["mood"].model.as_json()
    assert (model["source"]["local"], model["tokenizer"]["local"]) == ("larger", "encoder")


def test_a_model_with_its_own_tokenizer_has_the_settings_that_it_had(study_folder: Path) -> None:
    settings = Plan(Config(papers=["tiny"], study=str(study_folder))).settings
    assert "tokenizer" not in settings.teachers["tiny-teacher"]["mood"].model.as_json()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tokenizer": "encodr"}, "no model is called 'encodr'; did you mean 'encoder'?"),
        ({"tokenizer": "larger"}, "tokenizer: leave it out; without it, a model has its own"),
        ({"vocabulary": 91}, "tokenizer: 'encoder' has 90 tokens, 'larger' 91; they cannot share one"),
    ],
)
def test_a_mistake_in_the_tokenizer(study_folder: Path, changes: dict[str, Any], said: str) -> None:
    with_larger(study_folder, **changes)
    assert any(said in line for line in problems(study_folder)), problems(study_folder)


def test_a_tokenizer_is_named_by_the_model_that_brings_it(study_folder: Path) -> None:
    with_larger(study_folder)
    model = {"title": "S", "source": "larger", "vocabulary": 90, "architecture": SHAPE, "tokenizer": "larger"}
    write(study_folder, "models/small.yaml", model)
    expected = "study/models/small.yaml: tokenizer: 'larger' has that of 'encoder'; name this one"
    assert problems(study_folder) == [expected]

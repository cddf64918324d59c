"""Tests that a published model is the one that the study describes, checked where its config.json is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.models.initialise import check_published
from retort.settings import ModelSettings

from tests.tiny.make import family_config

SHAPE = {"layers": 4, "heads": 3, "hidden": 21, "intermediate": 50}


def described(**changes: Any) -> ModelSettings:
    """Return the settings of the tiny encoder of a family, with changes."""
    given = {
        "architecture": SHAPE,
        "vocabulary": 90,
        "positions": 32,
        "version": 1,
        "source": {"local": "encoder", "sha256": "0" * 64},
    }
    return ModelSettings.model_validate({**given, **changes})


@pytest.mark.parametrize(("family", "vocabulary"), [("bert", 90), ("roberta", 300), ("xlm-roberta", 300)])
def test_the_described_model_is_right(family: str, vocabulary: int, tmp_path: Path) -> None:
    """RoBERTa has two positions more than tokens: it counts from its padding token."""
    family_config(family).save_pretrained(tmp_path)
    check_published(tmp_path, described(vocabulary=vocabulary))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"architecture": {**SHAPE, "layers": 6}}, "num_hidden_layers is 4; the study says layers: 6"),
        ({"architecture": {**SHAPE, "heads": 7}}, "num_attention_heads is 3; the study says heads: 7"),
        ({"architecture": {**SHAPE, "hidden": 24}}, "hidden_size is 21; the study says hidden: 24"),
        ({"architecture": {**SHAPE, "intermediate": 51}}, "intermediate_size is 50; the study says intermediate: 51"),
        ({"vocabulary": 91}, "vocab_size is 90; the study says vocabulary: 91"),
        ({"positions": 64}, "it takes 32 tokens; the study says positions: 64"),
    ],
)
def test_a_config_that_contradicts_the_study(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    family_config("bert").save_pretrained(tmp_path)
    with pytest.raises(RetortError) as caught:
        check_published(tmp_path, described(**changes))
    assert str(caught.value).endswith(f"config.json: {line}")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "holds no config.json; a model is config.json, model.safetensors, tokenizer.json"),
        ("{", "config.json cannot be read"),
        ("[]", "config.json cannot be read"),
        (json.dumps({"model_type": "nothing"}), "config.json cannot be read"),
        (json.dumps({"hidden_size": 21}), "config.json cannot be read"),
    ],
)
def test_a_config_that_cannot_be_read(content: str | None, line: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(RetortError) as caught:
        check_published(tmp_path, described())
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_usual_number_of_positions_changes_no_settings() -> None:
    assert "positions" not in described(positions=512).as_json()
    assert described(positions=32).as_json()["positions"] == 32

"""Tests on models built without memory: sizes as the papers print them, and a module for every activation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from retort.models import build
from retort.models.recorder import MODULES, Key, Recorder
from retort.specs.model import Architecture

VOCABULARY = {"bert": 30522, "roberta": 50265, "xlm-roberta": 250002}
Shape = tuple[int, int, int, int, int | None]  # layers, heads, hidden, intermediate, embedding
BASE: Shape = (12, 12, 768, 3072, None)
LARGE: Shape = (24, 16, 1024, 4096, None)
HALF: Shape = (6, 12, 768, 3072, None)
SMALL: Shape = (6, 12, 384, 1536, None)
DEEP: Shape = (12, 12, 384, 1536, None)
NARROW: Shape = (12, 12, 384, 1536, 128)
BUILT = [("bert", DEEP), ("roberta", DEEP), ("roberta", NARROW), ("xlm-roberta", NARROW)]  # and those named below

# family, shape, exact parameters with the pooler
TEACHERS = [
    ("bert", BASE, 109_482_240),
    ("bert", LARGE, 335_141_888),
    ("roberta", BASE, 124_645_632),
    ("roberta", LARGE, 355_359_744),
    ("xlm-roberta", BASE, 278_043_648),
    ("xlm-roberta", LARGE, 559_890_432),
]
# family, shape, millions of parameters as printed, where
PRINTED = [
    ("bert", BASE, 109, "MiniLMv2 table 1, MLKD-BERT table 1"),
    ("bert", BASE, 110, "Udagawa et al. table 1, teacher"),
    ("roberta", BASE, 125, "MiniLMv2 table 1"),
    ("xlm-roberta", BASE, 277, "MiniLMv2 table 5, Udagawa et al. table 1"),
    ("bert", HALF, 66, "MiniLMv2 table 1, Udagawa et al. table 1, 6L-DistilBERT"),
    ("bert", HALF, 67.0, "MLKD-BERT table 1, 6 layers"),
    ("roberta", HALF, 81, "MiniLMv2 table 1"),
    ("xlm-roberta", HALF, 234, "Udagawa et al. table 1, 6L-DistilBERT"),
    ("bert", SMALL, 22, "MiniLMv2 table 1"),
    ("bert", SMALL, 23, "Udagawa et al. table 1, 6L"),
    ("roberta", SMALL, 30, "MiniLMv2 table 1"),
    ("xlm-roberta", SMALL, 107, "MiniLMv2 table 5"),
    ("xlm-roberta", SMALL, 106, "Udagawa et al. table 1, 6L"),
    ("xlm-roberta", DEEP, 117, "MiniLMv2 table 5"),
    ("bert", NARROW, 25, "MiniLMv2 table 9, 12x384 with embeddings of 128"),
    ("bert", (4, 12, 576, 768, None), 27, "Udagawa et al. table 1, 4L"),
    ("xlm-roberta", (4, 12, 576, 768, None), 153, "Udagawa et al. table 1, 4L"),
    ("bert", (3, 12, 384, 1024, None), 16, "Udagawa et al. table 1, 3L"),
    ("xlm-roberta", (3, 12, 384, 1024, None), 100, "Udagawa et al. table 1, 3L"),
    ("bert", (4, 12, 312, 1200, None), 14.5, "MLKD-BERT table 1, 4 layers"),
    ("bert", (4, 12, 768, 3072, None), 52.2, "MLKD-BERT table 1, DistilBERT of 4 layers"),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds only the configurations of the published base models, by family."""
    from transformers import AutoConfig

    home = tmp_path_factory.mktemp("published")
    for family, size in VOCABULARY.items():
        own = {} if family == "bert" else {"max_position_embeddings": 514, "type_vocab_size": 1}
        AutoConfig.for_model(family, vocab_size=size, **own).save_pretrained(home / family)
    return home


def built(published: Path, family: str, shape: Shape) -> Any:
    """Build the encoder on the meta device: shapes without values."""
    names = ("layers", "heads", "hidden", "intermediate", "embedding")
    architecture = Architecture.model_validate(dict(zip(names, shape, strict=True)))
    with torch.device("meta"):
        return build.blank(published / family, architecture)


def count(model: Any, leave_out: str = "-") -> int:
    """Return the number of parameters, without those whose names start with `leave_out`."""
    return sum(weight.numel() for name, weight in model.named_parameters() if not name.startswith(leave_out))


@pytest.mark.parametrize(("family", "shape", "parameters"), TEACHERS)
def test_teachers_have_the_published_size(published: Path, family: str, shape: Shape, parameters: int) -> None:
    assert count(built(published, family, shape)) == parameters


@pytest.mark.parametrize(("family", "shape", "millions", "where"), PRINTED)
def test_parameters_are_those_that_the_papers_print(
    published: Path, family: str, shape: Shape, millions: float, where: str
) -> None:
    """The numbers match the printed millions, which are rounded or truncated, with or without the pooler."""
    model = built(published, family, shape)
    assert count(model, leave_out="pooler") // 10**6 <= millions <= -(-count(model) // 10**6), where


@pytest.mark.parametrize(("family", "shape"), [*BUILT, *(row[:2] for row in (*TEACHERS, *PRINTED))])
def test_every_activation_has_a_module(published: Path, family: str, shape: Shape) -> None:
    keys: set[Key] = {("embeddings", None), ("hidden", 0)}
    keys |= {(activation, layer) for activation in (*MODULES, "scores", "cls") for layer in range(1, shape[0] + 1)}
    recorder = Recorder(built(published, family, shape), keys)
    assert len(recorder.handles) == 1 + len(MODULES) * shape[0]  # the embeddings are layer 0
    recorder.close()


def test_a_student_of_a_roberta_teacher_has_its_vocabulary_and_positions(published: Path) -> None:
    for embedding in (None, 128):
        config = built(published, "xlm-roberta", (12, 12, 384, 1536, embedding)).config
        assert (config.vocab_size, config.type_vocab_size, config.pad_token_id) == (250002, 1, 1)
        first = 0 if embedding else 2  # the first position; both have 512 positions
        assert config.max_position_embeddings - first == 512

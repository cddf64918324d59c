"""Tests that a published DistilBERT is read as a BERT."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from retort.errors import RetortError
from retort.models.build import blank, check_shape, load
from retort.models.initialise import StartFolders, initialise
from retort.specs.model import Architecture
from transformers import DistilBertConfig, DistilBertForMaskedLM, DistilBertModel

from tests.job_settings import distillation_settings

ARCHITECTURE = Architecture(layers=2, heads=3, hidden=12, intermediate=20)
CONFIG = DistilBertConfig(
    n_layers=2, n_heads=3, dim=12, hidden_dim=20, vocab_size=30, max_position_embeddings=16, initializer_range=0.5
)
HEADS = ["none", "classification", "masked-lm", "span"]


@pytest.fixture(params=[DistilBertModel, DistilBertForMaskedLM])
def published(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the folder of a DistilBERT, without or with its head."""
    torch.manual_seed(1)
    request.param(CONFIG).save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("head", HEADS)
def test_hidden_states_are_those_of_the_published_model(published: Path, head: str) -> None:
    input_ids = torch.tensor([[2, 7, 9, 3, 0], [2, 11, 8, 29, 3]])
    mask = (input_ids != 0).long()
    types = torch.tensor([[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]])
    with torch.no_grad():
        theirs = DistilBertModel.from_pretrained(published).eval()(input_ids, mask).last_hidden_state
        model = load(published, head, num_labels=2).eval()
        ours = model.base_model(input_ids, mask, token_type_ids=types).last_hidden_state  # type: ignore[operator]
    assert torch.allclose(ours[mask.bool()], theirs[mask.bool()], atol=1e-6)


def test_a_student_starts_from_it(published: Path) -> None:
    folders = StartFolders(teacher=None, model=str(published), tokenizer=str(published), parent=str(published))
    student = initialise(distillation_settings(ARCHITECTURE), 30, folders, "classification", 2)
    alike = {k: v.shape for k, v in blank(published, ARCHITECTURE, "classification", 2).state_dict().items()}
    assert {name: weight.shape for name, weight in student.state_dict().items()} == alike
    with pytest.raises(RetortError, match="num_hidden_layers is 2"):
        check_shape(published, ARCHITECTURE.model_copy(update={"layers": 3}), 30)

"""The teacher while it teaches."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from retort.objectives.base import Batch
from retort.specs import settings
from retort.specs.book import open_book
from retort.specs.config import Config
from retort.stages.distill import online

HIDDEN = ("hidden", 2)


def batch() -> Batch:
    ids = torch.arange(5, 17).reshape(3, 4)
    return Batch(ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool))


def test_a_teacher_is_a_fixed_function(encoder: Path) -> None:
    teach = online(encoder, "none", 1, "cpu")({HIDDEN}, False)
    assert torch.equal(teach(batch())[HIDDEN], teach(batch())[HIDDEN])


def test_a_teacher_may_keep_its_dropout(encoder: Path) -> None:
    teach = online(encoder, "none", 1, "cpu")({HIDDEN}, True)
    assert not torch.equal(teach(batch())[HIDDEN], teach(batch())[HIDDEN])


@pytest.mark.parametrize("dropout", [False, True])
def test_taps_are_recorded_of_a_fixed_teacher_alone(study: Path, dropout: bool) -> None:
    file = study / "papers" / "tiny" / "students.yaml"
    book = open_book(Config(papers=["tiny"], study=str(study)))
    name = next(
        name for name in book.students if book.students[name].road == "task" and settings.recorded(book, name, "mood")
    )
    text = file.read_text()
    file.write_text(text.replace("{data: task,", f"{{data: task, teacher_dropout: {str(dropout).lower()},"))
    assert file.read_text() != text
    assert settings.recorded(open_book(Config(papers=["tiny"], study=str(study))), name, "mood") is not dropout

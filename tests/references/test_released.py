"""Tests that every student as released has the loss that the public code of its paper computes."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from retort.batch import Batch
from retort.models import build
from retort.models.recorder import Key, Recorder
from retort.objectives import loss_of
from retort.objectives.base import TrainingRows
from retort.plan import resolve
from retort.settings.trainings import TaskDistillationSettings
from retort.specs.model import Architecture
from torch import Tensor

from tests.conftest import whole_study
from tests.references.examples import CLASSES
from tests.references.released import REFERENCES, Example, Model

TASK, CLASS_COUNT = "mnli", 3
LENGTHS, LENGTH = (7, 4, 2), 9  # real tokens of each row; all are padded beyond the longest


@functools.cache
def students() -> dict[str, TaskDistillationSettings]:
    """Return the settings of every student of all papers whose name says that it is as released."""
    study = whole_study("paper")
    return {name: resolve.task_distillation(study, name, TASK) for name in study.students if "released" in name}


def batch() -> Batch:
    real = torch.arange(LENGTH)[None, :] < torch.tensor(LENGTHS)[:, None]
    ids = torch.randint(1, 50, real.shape, generator=torch.Generator().manual_seed(1)) * real
    return Batch(ids, torch.zeros_like(ids), real, torch.tensor([1, 0, 1]), torch.tensor([3, 8, 13]))


def network(layers: int, heads: int, width: int) -> Any:
    """Return a small model with large random weights, with dropout on, in float64."""
    sizes = Architecture(layers=layers, heads=heads, hidden=width, intermediate=20)
    made = build.bert(sizes, 50, "classification", CLASS_COUNT)
    for parameter in made.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    return made.double().train()


def run(made: Any, read: set[Key], rows: Batch) -> tuple[dict[Key, Tensor], Model]:
    """Run a model once; return what a loss reads of it, and what a reference reads."""
    layers = range(1, made.config.num_hidden_layers + 1)
    states = [("hidden", layer) for layer in (0, *layers)]
    inner = {name: [(name, layer) for layer in layers] for name in ("queries", "keys", "values")}
    wanted = {*read, *states, *itertools.chain(*inner.values()), ("logits", None), ("words", None)}
    found = Recorder(made, wanted)(rows)
    of_layers = {name: [found[key] for key in keys] for name, keys in inner.items()}
    embeddings = made.base_model.embeddings
    words = embeddings.LayerNorm(embeddings.word_embeddings(rows.input_ids))
    model = Model(
        hidden=[found[key] for key in states],
        **of_layers,
        logits=found["logits", None],
        words=words,
        heads=made.config.num_attention_heads,
        real=rows.attention_mask,
    )
    return {key: found[key] for key in read}, model


STAGES = [(name, number) for name, found in students().items() for number in range(1, len(found.stages) + 1)]


def test_every_student_as_released_has_a_reference() -> None:
    assert set(STAGES) == set(REFERENCES)


@pytest.mark.parametrize(("name", "number"), STAGES)
def test_value_and_gradient_are_those_of_the_released_code(name: str, number: int) -> None:
    torch.manual_seed(3)
    found = students()[name]
    stage, size = found.stages[number - 1], found.architecture
    student = network(size.layers, size.heads, 24)
    teacher = network(12, 12, 24 if size.hidden == 768 else 36)
    shapes = [build.shape_of(model, CLASS_COUNT) for model in (student, teacher)]
    loss = loss_of(stage.terms, *shapes, TrainingRows(len(CLASSES), np.array(CLASSES))).double()
    rows = batch()
    read, ours = run(student, loss.reads("student"), rows)
    with torch.no_grad():
        teacher_read, theirs = run(teacher, loss.reads("teacher"), rows)
    learned = [[*term.instances] for term in loss.terms]
    expected = REFERENCES[name, number](Example(ours, theirs, rows, learned))
    value, _ = loss(read, teacher_read, rows)
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-9)
    weights = [*student.parameters(), *loss.parameters()]
    gradients = [torch.autograd.grad(x, weights, retain_graph=True, allow_unused=True) for x in (value, expected)]
    assert any(gradient is not None and gradient.any() for gradient in gradients[0])
    for own, wanted in zip(*gradients, strict=True):
        assert (own is None) == (wanted is None)
        assert own is None or torch.allclose(own, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", students())
def test_a_teacher_keeps_its_dropout_and_mlkd_bert_pads_all_rows_to_one_length(name: str) -> None:
    assert students()[name].pooler_relu == name.startswith("mlkd2024")
    for stage in students()[name].stages:
        assert stage.teacher_dropout
        counts = any(term.options.get("count_padding") for term in stage.terms)
        assert stage.schedule.pad_to_max_length == (counts and name.startswith("mlkd2024"))

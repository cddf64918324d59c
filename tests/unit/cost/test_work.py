"""Tests of FLOPs, traffic and sizes, against torch's counter and against sums by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.cost import losses, work
from retort.cost.speed import Work
from retort.cost.training_work import TrainingCost
from retort.cost.volume import Rows
from retort.cost.work import Head
from retort.models import build
from retort.models.recorder import Recorder
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from torch.utils.flop_counter import FlopCounterMode

from tests.job_settings import schedule

LENGTH, ROWS = 7, 3
WIDE = Architecture(layers=3, heads=2, hidden=16, intermediate=40)
NARROW = WIDE.model_copy(update={"embedding": 6})
TEACHER = WIDE.model_copy(update={"layers": 4, "heads": 8, "hidden": 20})
CLASSES, TOKENS = 5, 90  # TOKENS: of the vocabulary of the tiny encoder
HEADS = {"classification": work.classifier(CLASSES), "span": work.span(LENGTH),
         "masked-lm": work.masked_lm(TOKENS, 1, LENGTH)}  # fmt: skip


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "training"])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("architecture", [WIDE, NARROW], ids=["wide", "narrow"])
def test_flops_are_those_that_torch_counts(
    encoder: Path, architecture: Architecture, head: str, backward: bool
) -> None:
    model: Any = build.blank(encoder, architecture, head, CLASSES)
    model.set_attn_implementation("eager")  # the counter does not count fused attention on a CPU
    ones = torch.ones(ROWS, LENGTH, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        logits = model(input_ids=ones, attention_mask=ones)[0]
        if backward:
            logits.sum().backward()
    once = work.forward(architecture, LENGTH) + HEADS[head].flops(architecture)
    assert counter.get_total_flops() == ROWS * once * (work.TRAINED if backward else 1)


@pytest.mark.parametrize("architecture", [WIDE, NARROW], ids=["wide", "narrow"])
def test_flops_of_a_model_of_which_the_head_alone_is_read(encoder: Path, architecture: Architecture) -> None:
    model: Any = build.blank(encoder, architecture, "classification")
    model.set_attn_implementation("eager")
    ones = torch.ones(ROWS, LENGTH, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        Recorder(model, {("logits", None)})(Batch(ones, ones * 0, ones.bool()))
    once = work.classifier(model.config.num_labels).pass_over(architecture, LENGTH)
    assert counter.get_total_flops() == ROWS * once


def term(objective: str, *pairs: tuple[int, int], **options: Any) -> TermSettings:
    """Return the settings of a term, with these options next to the objective's own."""
    defaults = catalogue.objectives()[objective].options
    settings = {"objective": objective, "version": 1, "pairs": pairs, "weight": 1.0, "options": {**defaults, **options}}
    return TermSettings.model_validate(settings)


def stage_work(terms: list[TermSettings], kept: int | None = None) -> tuple[Work, Work]:
    """Return the work of a stage of two steps of five rows; a pass of the heads takes 11 and 13 FLOPs."""
    head = Head(lambda size: 13.0 if size is TEACHER else 11.0, outputs=2, kept=kept)
    stage = schedule(steps=2, batch_size=5), Rows(100, LENGTH), LENGTH
    training = TrainingCost(terms, *stage, lambda _: head, "bfloat16", TOKENS, WIDE, TEACHER)
    return training.own, training.taught


@pytest.mark.parametrize(
    ("terms", "own", "taught", "head", "their_head"),
    [
        ([term("hidden-sequence", (1, 2))], 1, 2, 0, 0),  # no term reads above student layer 1 and teacher layer 2
        ([term("attention-kl", (2, 3), (1, 1))], 2, 3, 0, 0),
        ([term("soft-labels")], 3, 4, 1, 1),
        ([term("supervised")], 3, 0, 1, 0),
        ([term("hidden-cls", (1, 4)), term("supervised")], 3, 4, 1, 0),
    ],
)
def test_a_stage_stops_at_the_last_layer_that_is_read(
    terms: list[TermSettings], own: int, taught: int, head: int, their_head: int
) -> None:
    student, teacher = stage_work(terms)
    assert student.flops == 10 * 3 * (work.forward(WIDE, LENGTH, own) + head * 11)
    assert teacher == Work(flops=10 * (work.forward(TEACHER, LENGTH, taught) + their_head * 13))
    assert student.traffic > 0


@pytest.mark.parametrize(("objective", "kept"), [("supervised", 1), ("hidden-cls", 1), ("hidden-sequence", None)])
def test_a_stage_computes_the_positions_of_the_last_layer_that_are_read(objective: str, kept: int | None) -> None:
    pairs = [] if objective == "supervised" else [(3, 2)]
    student, teacher = stage_work([term("soft-labels"), term(objective, *pairs)], kept=1)
    assert student.flops == 10 * 3 * (work.forward(WIDE, LENGTH, kept=kept) + 11)
    assert teacher == Work(flops=10 * (work.forward(TEACHER, LENGTH, kept=1) + 13))


def test_relations_are_products_of_their_vectors_and_traffic_of_their_numbers() -> None:
    pairs: Any = {"pairs": ["q-q", "v-v"], "heads": 4}
    cost = losses.cost_of([term("relations", (1, 2), **pairs)], WIDE, TEACHER, LENGTH, outputs=0)
    products = LENGTH * LENGTH * (16 + 20) + 2 * LENGTH * LENGTH * 16  # relations of both sides; two gradients
    assert cost.work.flops == 2 * 2 * products
    assert cost.work.traffic == 2 * (20 * 4 * 4 * LENGTH**2 + 12 * 4 * LENGTH * (16 + 20))
    assert (cost.relation, cost.relation_heads) == (4 * LENGTH**2, 4)
    assert cost.work.relation_traffic == 2 * 20 * 4 * 4 * LENGTH**2


def test_a_relation_has_the_heads_that_its_objective_says() -> None:
    expected = {"value-relation": 8, "hidden-relation": 2, "mha-output-relation": 2, "embedding-relation": 1}
    for name, heads in expected.items():
        assert losses.cost_of([term(name, (1, 1))], WIDE, TEACHER, LENGTH, 0).relation_heads == heads, name

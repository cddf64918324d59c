"""Tests of FLOPs, traffic and sizes, against torch's counter and against sums by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.cost import losses, work
from retort.cost.preprocessing import Rows
from retort.cost.work import Work
from retort.models import build
from retort.models.recorder import Recorder
from retort.settings.trainings import StageSettings, TermSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from torch.utils.flop_counter import FlopCounterMode

from tests.job_settings import schedule

LENGTH, ROWS = 7, 3
WIDE = Architecture(layers=3, heads=2, hidden=16, intermediate=40)
NARROW = WIDE.model_copy(update={"embedding": 6})
BASE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)


def counted(encoder: Path, architecture: Architecture, head: str, backward: bool) -> tuple[torch.nn.Module, int]:
    """Return a model with a head, and the FLOPs that torch counts for ROWS rows of LENGTH tokens."""
    model: Any = build.blank(encoder, architecture, head, 5)
    model.set_attn_implementation("eager")  # the counter does not count fused attention on a CPU
    input_ids = torch.ones(ROWS, LENGTH, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        logits = model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids))[0]
        if backward:
            logits.sum().backward()
    return model, counter.get_total_flops()


@pytest.mark.parametrize("architecture", [WIDE, NARROW], ids=["wide", "narrow"])
def test_parameters_are_those_of_the_model(encoder: Path, architecture: Architecture) -> None:
    model: Any = build.blank(encoder, architecture, "span", 2)
    linear = [m for m in model.base_model.modules() if isinstance(m, torch.nn.Linear)]
    assert work.matmul_parameters(architecture) == sum(m.weight.numel() for m in linear)


def test_parameters_of_bert_base() -> None:
    assert work.matmul_parameters(BASE) == 84_934_656  # 85.6 million without embeddings, less biases and norms


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "training"])
@pytest.mark.parametrize("architecture", [WIDE, NARROW], ids=["wide", "narrow"])
def test_flops_are_those_that_torch_counts(encoder: Path, architecture: Architecture, backward: bool) -> None:
    model, found = counted(encoder, architecture, "classification", backward)
    once = work.forward(architecture, LENGTH) + work.classifier(architecture, model.config.num_labels)
    assert found == ROWS * once * (work.TRAINED if backward else 1)


@pytest.mark.parametrize("architecture", [WIDE, NARROW], ids=["wide", "narrow"])
def test_flops_of_a_model_of_which_the_head_alone_is_read(encoder: Path, architecture: Architecture) -> None:
    model: Any = build.blank(encoder, architecture, "classification")
    model.set_attn_implementation("eager")
    ones = torch.ones(ROWS, LENGTH, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        Recorder(model, {("logits", None)})(Batch(ones, ones * 0, ones.bool()))
    once = work.forward(architecture, LENGTH, kept=1) + work.classifier(architecture, model.config.num_labels)
    assert counter.get_total_flops() == ROWS * once


def test_flops_of_a_masked_lm_head(encoder: Path) -> None:
    model, found = counted(encoder, NARROW, "masked-lm", backward=False)
    head = work.masked_lm(NARROW, model.config.vocab_size, positions=LENGTH)
    assert found == ROWS * (work.forward(NARROW, LENGTH) + head)


def test_flops_of_a_span_head(encoder: Path) -> None:
    _, found = counted(encoder, WIDE, "span", backward=False)
    assert found == ROWS * (work.forward(WIDE, LENGTH) + work.span(WIDE, LENGTH))


def test_epochs_see_every_row() -> None:
    assert work.examples(schedule(steps=5, batch_size=8), 80) == 40
    assert work.examples(schedule(steps=5, batch_size=8), 3) == 15  # a batch has all three rows
    assert work.examples(schedule(epochs=2, batch_size=8), 20) == 40
    assert work.examples(schedule(epochs=0.1, batch_size=8), 3) == 3  # one step, on all three rows


RELATIONS = {"value-relation": 8, "hidden-relation": 2, "mha-output-relation": 2, "embedding-relation": 1}


def term(objective: str, *pairs: tuple[int, int], **options: Any) -> TermSettings:
    """Return the settings of a term, with these options beside the objective's own."""
    defaults = catalogue.objectives()[objective].options
    settings = {"objective": objective, "version": 1, "pairs": pairs, "weight": 1.0, "options": {**defaults, **options}}
    return TermSettings.model_validate(settings)


STAGES = [
    ([term("hidden-sequence", (1, 2))], 1, 2, 0, 0),  # no term reads above student layer 1 and teacher layer 2
    ([term("attention-kl", (2, 3), (1, 1))], 2, 3, 0, 0),
    ([term("soft-labels")], 3, 4, 1, 1),
    ([term("supervised")], 3, 0, 1, 0),
    ([term("hidden-cls", (1, 4)), term("supervised")], 3, 4, 1, 0),
]


@pytest.mark.parametrize(("terms", "own", "taught", "head", "their_head"), STAGES)
def test_a_stage_stops_at_the_last_layer_that_is_read(
    terms: list[Any], own: int, taught: int, head: int, their_head: int
) -> None:
    teacher = WIDE.model_copy(update={"layers": 4, "hidden": 20})
    stage = StageSettings(data="task", terms=terms, schedule=schedule(steps=2, batch_size=5), teacher_dropout=False)
    student_pass = work.forward(WIDE, LENGTH, own) + head * 11
    teacher_pass = work.forward(teacher, LENGTH, taught) + their_head * 13
    own, taught = work.stage(stage, Rows(100, LENGTH), WIDE, teacher, (11.0, 13.0), outputs=2)
    assert own.flops == 10 * 3 * student_pass
    assert taught == Work(flops=10 * teacher_pass)
    assert own.traffic > 0


@pytest.mark.parametrize(("objective", "kept"), [("soft-labels", 1), ("hidden-cls", 1), ("hidden-sequence", None)])
def test_a_stage_computes_the_positions_of_the_last_layer_that_are_read(objective: str, kept: int | None) -> None:
    terms: Any = [term("soft-labels"), *([term(objective, (3, 2))] if objective != "soft-labels" else [])]
    stage = StageSettings(data="task", terms=terms, schedule=schedule(steps=2, batch_size=5), teacher_dropout=False)
    teacher = WIDE.model_copy(update={"layers": 4, "hidden": 20})
    own, taught = work.stage(stage, Rows(100, LENGTH), WIDE, teacher, (11.0, 13.0), outputs=2, kept=1)
    assert own.flops == 10 * 3 * (work.forward(WIDE, LENGTH, kept=kept) + 11)
    assert taught == Work(flops=10 * (work.forward(teacher, LENGTH, kept=1) + 13))


def test_relations_are_products_of_their_vectors_and_traffic_of_their_numbers() -> None:
    teacher = WIDE.model_copy(update={"hidden": 20})
    pairs: Any = {"pairs": ["q-q", "v-v"], "heads": 4}
    cost = losses.cost_of([term("relations", (1, 2), **pairs)], WIDE, teacher, LENGTH, outputs=0)
    products = LENGTH * LENGTH * (16 + 20) + 2 * LENGTH * LENGTH * 16  # relations of both sides; two gradients
    assert cost.flops == 2 * 2 * products
    assert cost.traffic == 2 * (20 * 4 * 4 * LENGTH**2 + 12 * 4 * LENGTH * (16 + 20))
    assert (cost.relation, cost.relation_heads) == (4 * LENGTH**2, 4)
    assert cost.relation_traffic == 2 * 20 * 4 * 4 * LENGTH**2


def test_a_relation_has_the_heads_that_its_objective_says() -> None:
    teacher = WIDE.model_copy(update={"heads": 8})
    heads = {name: losses.cost_of([term(name, (1, 1))], WIDE, teacher, LENGTH, 0).relation_heads for name in RELATIONS}
    assert heads == RELATIONS


def test_the_optimiser_moves_what_is_trained() -> None:
    every, learned = (work.parameters(WIDE, 100, frozen) for frozen in ((), ("embeddings",)))
    assert every - learned == (100 + work.POSITIONS) * WIDE.hidden
    still = schedule(steps=5, freeze=["embeddings"])
    assert work.updates(WIDE, 100, still, 80).traffic == work.UPDATED * learned * 5


def test_parameters_are_nearly_those_of_bert_base() -> None:
    assert work.parameters(BASE, 30522) == pytest.approx(108_891_648, rel=1e-3)  # without the pooler


# --- the tiny study

"""Measure the cost of objectives: time and memory of a training step, as ratios to a step with a zero loss."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from retort.bench.steps import LANGUAGE, Models, Shape, Training, peak, seconds
from retort.errors import RetortError
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.mappings import pairs_of

MAPPINGS: dict[str, tuple[str | None, ...]] = {
    "layer": ("last", "uniform"),
    "layers": ("emd",),
    "input": (None,),
    "output": (None,),
}

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def cost(models: Models, name: str, mapping: str | None) -> tuple[float, float]:
    """Return time and memory of a step with an objective, with its default options, as ratios to a zero loss.

    Args:
        models: the models and the batch.
        name: the objective.
        mapping: of its layers; None for an objective without one.

    Raises:
        RetortError: the objective does not fit the models.
    """
    student, teacher = models.shape.student, models.shape.teacher
    assert teacher
    pairs = pairs_of(mapping, student.layers, teacher.layers) if mapping else []
    options = catalogue.objectives()[name].options
    term = TermSettings(objective=name, version=1, pairs=pairs, weight=1.0, options=options)
    steps = [Training(models, terms).step for terms in ([], [term])]
    plain, distilled = (seconds(step, models.device) for step in steps)
    least, most = (peak(step, models.device) for step in steps)
    return distilled / plain, most / least


def mappings_of(name: str) -> tuple[str | None, ...]:
    """Return the mappings with which an objective is measured."""
    return MAPPINGS[catalogue.objectives()[name].level or "layer"]


def lines(shape: Shape, device: str, names: list[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table, each row as soon as its objective is measured."""
    teacher, student = (list(each.model_dump().values()) for each in (shape.teacher, shape.student) if each)
    measured = f"{shape.rows} x {shape.length} tokens, {shape.precision}, {device}; zero loss = 1"
    yield f"teacher {teacher}, student {student}, {measured}"
    yield "\n| objective | mapping | time | memory |\n| --- | --- | ---: | ---: |"
    for head in ("classification", LANGUAGE):
        chosen = [name for name in names if (name == LANGUAGE) == (head == LANGUAGE)]
        models = Models(shape, device, head) if chosen else None
        for name, mapping in ((each, mapping) for each in chosen for mapping in mappings_of(each)):
            assert models
            try:
                shown = [f"{ratio:.2f}" for ratio in cost(models, name, mapping)]
            except RetortError as error:
                shown = ["-", str(error)]
            yield f"| {' | '.join([name, mapping or '', *shown])} |"

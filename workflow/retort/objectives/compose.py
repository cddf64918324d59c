"""The loss of a stage: a weighted sum of objectives, each summed over the layer pairs of its mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from retort.batch import Batch, Shape
from retort.errors import RetortError
from retort.objectives.base import UNKNOWN, Pair, TrainingRows, objectives, of_part
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.student import ModelSize, Requirements

Key = tuple[str, int | None]  # (name of an activation, layer); the layer of logits is None
LayerActivations = Mapping[Key, Tensor]
Layers = int | None | tuple[int, ...]  # one layer, None for what a model has once, or several layers


@dataclass
class LossTerm:
    """One objective over all its layer pairs.

    Args:
        label: the name of the term in the logs, unique in the loss.
        weight: factor of the sum over the pairs.
        pairs: (student layer, teacher layer) of each pair; only (None, None) for embeddings and logits, which a model
            has once; only one pair of tuples for an objective that reads several layers at once.
        instances: an instance of the objective for each pair, with its own linear maps and buffers.
    """

    label: str
    weight: float
    pairs: Sequence[tuple[Layers, Layers]]
    instances: list[Callable[..., Tensor]]

    @property
    def reduction(self) -> str:
        """What the value is the mean over; a joint term, which needs all examples of a batch at once, has none."""
        reduction: str = self.instances[0].reduction  # type: ignore[attr-defined]
        return reduction

    def keys(self, side: str) -> set[Key]:
        """Return the (activation, layer) keys to record for a side, 'student' or 'teacher'."""
        which = ("student", "teacher").index(side)
        return {
            (activation, layer)
            for pair, instance in zip(self.pairs, self.instances, strict=True)
            for activation in activations_of(instance, side)
            for layer in layers_of(pair[which])
        }

    def value(self, student: LayerActivations, teacher: LayerActivations, batch: Batch) -> Tensor:
        """Return the scalar sum over the layer pairs, without the weight."""
        values = [
            instance(_read(instance, "student", student, s), _read(instance, "teacher", teacher, t), batch)
            for (s, t), instance in zip(self.pairs, self.instances, strict=True)
        ]
        return torch.stack(values).sum()  # sum over layer pairs, as Udagawa et al. (2023), eq. 6


class WeightedSum(nn.Module):
    """A weighted sum of terms; its parameters are those of the objectives, such as linear maps."""

    def __init__(self, terms: list[LossTerm]) -> None:
        super().__init__()
        self.terms = terms
        # in a ModuleDict, so that the optimiser and the checkpoint find the parameters and buffers of the objectives
        self.learned = nn.ModuleDict(
            {
                term.label: nn.ModuleList(instance for instance in term.instances if isinstance(instance, nn.Module))
                for term in terms
            }
        )

    def reads(self, side: str) -> set[Key]:
        """Return the (activation, layer) keys to record for a side, 'student' or 'teacher'."""
        return set().union(*(term.keys(side) for term in self.terms))

    def forward(
        self, student: LayerActivations, teacher: LayerActivations, batch: Batch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the scalar loss, and label -> weighted value of each term, detached from the graph."""
        # loss = sum over terms of weight * sum over layer pairs of the objective
        values = {term.label: term.weight * term.value(student, teacher, batch) for term in self.terms}
        return torch.stack(list(values.values())).sum(), {label: value.detach() for label, value in values.items()}

    @property
    def holds_relations(self) -> bool:
        """Whether a term compares relations between tokens, which several forms can compute."""
        return any(getattr(term.instances[0], "holds_relations", False) for term in self.terms)

    def of_part(
        self, student: LayerActivations, teacher: LayerActivations, part: Batch, whole: Batch
    ) -> dict[str, Tensor]:
        """Return label -> share of a part of a batch in the weighted value of each term; none of them is joint."""
        return {
            term.label: term.weight * of_part(term.value(student, teacher, part), term.reduction, part, whole)
            for term in self.terms
        }


def layers_of(layers: Layers) -> tuple[int | None, ...]:
    """Return the layers as a tuple, lowest first."""
    return layers if isinstance(layers, tuple) else (layers,)


def activations_of(objective: Any, side: str) -> tuple[str, ...]:
    """Return the activations that an objective reads on one side: its `{side}_activations`, else `activations`."""
    activations: tuple[str, ...] = getattr(objective, f"{side}_activations", objective.activations)
    return activations


def _read(objective: Any, side: str, recorded: LayerActivations, layers: Layers) -> dict[str, Tensor]:
    """Return what an objective reads: tensors of one layer, or (layers, ...) of several layers, lowest first."""
    return {
        activation: torch.stack([recorded[activation, layer] for layer in layers])  # (layers, batch, ...)
        if isinstance(layers, tuple)
        else recorded[activation, layers]
        for activation in activations_of(objective, side)
    }


def _pairs_as_read(objective: str, pairs: Sequence[tuple[int, int]]) -> Sequence[tuple[Layers, Layers]]:
    """Return pairs of layers in the form of `Term.pairs`."""
    level = getattr(objectives[objective], "level", "layer")
    if level in ("input", "output"):  # embeddings and logits, which a model has once
        return [(None, None)]
    if level == "layers":  # all layers at once; a layer that the mapping names twice is read once
        student, teacher = (tuple(sorted(set(layers))) for layers in zip(*pairs, strict=True))
        return [(student, teacher)]
    return pairs


def loss_of(terms: Sequence[TermSettings], student: Shape, teacher: Shape, rows: TrainingRows = UNKNOWN) -> WeightedSum:
    """Build the loss of a stage for two models of the given sizes.

    Args:
        terms: the terms; their mappings are resolved to pairs of layers. In the logs, each is called by its objective,
            and the second and further ones of an objective have a number: '-2', '-3', ...
        student: the student's sizes.
        teacher: the teacher's sizes.
        rows: the rows that the stage is trained on.

    Raises:
        RetortError: an objective does not exist, does not fit the sizes of the two models, or gets an option that it
            does not have, or a value beyond the option's limits.
    """
    composed: list[LossTerm] = []
    sizes = [ModelSize(shape.width, shape.heads) for shape in (student, teacher)]
    for term in terms:
        make = objectives[term.objective]
        if wrong := catalogue.wrong_options(catalogue.objectives()[term.objective], term.options, term.objective):
            raise RetortError("; ".join(wrong))
        for misfit in Requirements.of(vars(make)).unmet(term.options, *sizes):
            raise RetortError(misfit.message, misfit.hint)
        pairs = _pairs_as_read(term.objective, term.pairs)
        shapes = [Pair(student, teacher, (len(layers_of(s)), len(layers_of(t))), rows) for s, t in pairs]
        instances = [make(pair, **term.options) for pair in shapes]
        for instance in filter(lambda each: hasattr(each, "share"), instances[1:]):
            instance.share(instances[0])
        number = 1 + sum(other.objective == term.objective for other in terms[: len(composed)])
        label = term.objective if number == 1 else f"{term.objective}-{number}"
        composed.append(LossTerm(label, term.weight, pairs, instances))
    return WeightedSum(composed)


def single_loss(objective: str, shape: Shape) -> WeightedSum:
    """Build the loss of a model that is trained without a teacher: one objective on its output."""
    return loss_of([TermSettings(objective=objective, version=1, pairs=[], weight=1.0, options={})], shape, shape)

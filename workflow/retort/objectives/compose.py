"""The loss of a stage: a weighted sum of objectives, each summed over the layer pairs of its mapping."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from retort.batch import Batch, Shape
from retort.errors import RetortError
from retort.objectives.base import JOINT, UNKNOWN, Pair, TrainingRows, objectives, of_part
from retort.registry import unknown
from retort.settings import TermSettings
from retort.specs.catalogue import ModelSize, Requirements
from retort.specs.mappings import mappings, pairs_of

Key = tuple[str, int | None]  # (name of an activation, layer); the layer of logits is None
LayerActivations = Mapping[Key, Tensor]
Layers = int | None | tuple[int, ...]  # one layer, None for what a model has once, or several layers

TERM_KEYS = ("objective", "mapping", "weight", "options")
ONCE = ("input", "output")  # levels whose activation a model has once: embeddings and logits
TOGETHER = "layers"  # level of the objectives that read all layers of their mapping at once


@dataclass
class Term:
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
    pairs: list[tuple[Layers, Layers]]
    instances: list[Callable[..., Tensor]]

    @property
    def reduction(self) -> str:
        """What the value is the mean over; 'batch', the default, if the objective needs all examples at once."""
        reduction: str = getattr(self.instances[0], "reduction", JOINT)
        return reduction

    def keys(self, side: str) -> set[Key]:
        """Return the (activation, layer) keys to record for a side, 'student' or 'teacher'."""
        which = ("student", "teacher").index(side)
        pairs = zip(self.pairs, self.instances, strict=True)
        return {
            (activation, layer)
            for pair, instance in pairs
            for activation in activations_of(instance, side)
            for layer in layers_of(pair[which])
        }

    def value(self, student: LayerActivations, teacher: LayerActivations, batch: Batch) -> Tensor:
        """Return the scalar sum over the layer pairs, without the weight."""
        values = [
            instance(
                {
                    activation: read_activation(student, activation, s)
                    for activation in activations_of(instance, "student")
                },
                {
                    activation: read_activation(teacher, activation, t)
                    for activation in activations_of(instance, "teacher")
                },
                batch,
            )
            for (s, t), instance in zip(self.pairs, self.instances, strict=True)
        ]
        return torch.stack(values).sum()  # sum over layer pairs, as Udagawa et al. (2023), eq. 6


class WeightedSum(nn.Module):
    """A weighted sum of terms; its parameters are those of the objectives, such as linear maps."""

    def __init__(self, terms: list[Term]) -> None:
        super().__init__()
        self.terms = terms
        # in a ModuleDict, so that the optimiser and the checkpoint find the parameters and buffers of the objectives
        self.learned = nn.ModuleDict(
            {
                term.label: nn.ModuleList(instance for instance in term.instances if isinstance(instance, nn.Module))
                for term in terms
            }
        )

    def needs(self, side: str) -> set[Key]:
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

    @property
    def joint(self) -> list[Term]:
        """The terms that need all examples of a batch at once; the others are sums over parts of a batch."""
        return [term for term in self.terms if term.reduction == JOINT]

    def of_part(
        self, student: LayerActivations, teacher: LayerActivations, part: Batch, whole: Batch
    ) -> dict[str, Tensor]:
        """Return label -> share of a part of a batch in the weighted value of each term that is not joint."""
        return {
            term.label: term.weight * of_part(term.value(student, teacher, part), term.reduction, part, whole)
            for term in self.terms
            if term.reduction != JOINT
        }

    def of_joint(self, student: LayerActivations, teacher: LayerActivations, whole: Batch) -> dict[str, Tensor]:
        """Return label -> weighted value of each joint term on a whole batch."""
        return {term.label: term.weight * term.value(student, teacher, whole) for term in self.joint}


def layers_of(layers: Layers) -> tuple[int | None, ...]:
    """Return the layers as a tuple, lowest first."""
    return layers if isinstance(layers, tuple) else (layers,)


def read_activation(recorded: LayerActivations, activation: str, layers: Layers) -> Tensor:
    """Return an activation: the tensor of one layer, or (layers, ...) of several layers, lowest first."""
    if isinstance(layers, tuple):
        return torch.stack([recorded[activation, layer] for layer in layers])  # (layers, batch, ...)
    return recorded[activation, layers]


def activations_of(objective: Any, side: str) -> tuple[str, ...]:
    """Return the activations that an objective reads on one side: its `{side}_activations`, else `activations`."""
    activations: tuple[str, ...] = getattr(objective, f"{side}_activations", objective.activations)
    return activations


def _layer_pairs(term: Mapping[str, Any], student_layers: int, teacher_layers: int) -> list[tuple[int, int]]:
    """Return the (student layer, teacher layer) pairs of a term; empty for an objective without layers.

    Raises:
        RetortError: the objective needs a mapping and has none, or has one and needs none.
    """
    name, mapping = term["objective"], term.get("mapping")
    if _level_of(name) in ONCE:
        if mapping is not None:
            raise RetortError(f"objective '{name}' has no layers to map", "leave the mapping out")
        return []
    if mapping is None:
        raise RetortError(f"objective '{name}' needs a mapping", f"one of: {', '.join(mappings)}")
    return pairs_of(mapping, student_layers, teacher_layers)


def _pairs_as_read(objective: str, pairs: Sequence[tuple[int, int]]) -> list[tuple[Layers, Layers]]:
    """Return pairs of layers in the form of `Term.pairs`."""
    level = _level_of(objective)
    if level in ONCE:
        return [(None, None)]
    if level != TOGETHER:
        return [*pairs]
    # a layer that the mapping names twice is read once
    return [(tuple(sorted({s for s, _ in pairs})), tuple(sorted({t for _, t in pairs})))]


def _version_of(objective: str) -> int:
    return int(getattr(objectives[objective], "version", 1))


def _level_of(objective: str) -> str:
    level: str = getattr(objectives[objective], "level", "layer")
    return level


def unique_label(name: str, taken: list[str]) -> str:
    """Return the name, followed by '-2', '-3', ... if it is taken already."""
    number = 1
    label = name
    while label in taken:
        number += 1
        label = f"{name}-{number}"
    return label


def check_sizes(name: str, options: Mapping[str, Any], student: Shape, teacher: Shape) -> None:
    """Check that two models meet what an objective requires of their sizes.

    Raises:
        RetortError: they do not.
    """
    make = objectives[name]
    known = inspect.signature(make).parameters.values()
    defaults = {parameter.name: parameter.default for parameter in known if parameter.kind is parameter.KEYWORD_ONLY}
    sizes = [ModelSize(shape.width, shape.heads) for shape in (student, teacher)]
    for misfit in Requirements.of(vars(make)).unmet({**defaults, **options}, *sizes):
        raise RetortError(misfit.message, misfit.hint)


def loss_of(terms: Sequence[TermSettings], student: Shape, teacher: Shape, rows: TrainingRows = UNKNOWN) -> WeightedSum:
    """Build the loss of a stage for two models of the given sizes.

    Args:
        terms: the terms; their mappings are resolved to pairs of layers.
        student: the student's sizes.
        teacher: the teacher's sizes.
        rows: the rows that the stage is trained on.

    Raises:
        RetortError: there is no term, or an objective or an option is wrong.
    """
    composed: list[Term] = []
    if not terms:
        raise RetortError("a loss needs at least one term", "list an objective")
    for term in terms:
        make = objectives[term.objective]
        check_sizes(term.objective, term.options, student, teacher)
        pairs = _pairs_as_read(term.objective, term.pairs)
        shapes = [Pair(student, teacher, (len(layers_of(s)), len(layers_of(t))), rows) for s, t in pairs]
        instances = [make(sizes, **term.options) for sizes in shapes]
        for instance in filter(lambda each: hasattr(each, "share"), instances[1:]):
            instance.share(instances[0])
        label = unique_label(term.objective, [other.label for other in composed])
        composed.append(Term(label, term.weight, pairs, instances))
    return WeightedSum(composed)


def single_loss(objective: str, shape: Shape) -> WeightedSum:
    """Build the loss of a model that is trained without a teacher: one objective on its output."""
    term = TermSettings(objective=objective, version=_version_of(objective), pairs=[], weight=1.0, options={})
    return loss_of([term], shape, shape)


def compose(
    terms: list[dict[str, Any]],
    student: Shape,
    teacher: Shape,
    student_layers: int,
    teacher_layers: int,
    rows: TrainingRows = UNKNOWN,
) -> WeightedSum:
    """Build the loss that a list of terms describes, for two models of the given sizes.

    Args:
        terms: each {"objective": name, "mapping": name or {name: options}, "weight": 1.0, "options": {...}}. Only the
            objective is required, and the mapping if the objective reads layers.
        student: the student's sizes.
        teacher: the teacher's sizes.
        student_layers: number of the student's layers.
        teacher_layers: number of the teacher's layers.
        rows: the rows that the student is trained on.

    Raises:
        RetortError: there is no term, a key, an objective, an option or a mapping is wrong, or an objective does not
            fit the sizes of the two models.
    """
    resolved = []
    for term in terms:
        for key in term:
            if key not in TERM_KEYS:
                raise unknown("key of a term", key, TERM_KEYS)
        resolved.append(
            TermSettings(
                objective=term["objective"],
                version=_version_of(term["objective"]),
                pairs=_layer_pairs(term, student_layers, teacher_layers),
                weight=term.get("weight", 1.0),
                options=term.get("options") or {},
            )
        )
    return loss_of(resolved, student, teacher, rows)

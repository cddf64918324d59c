"""A stage's loss: a weighted sum of objectives, each over the layer pairs of its mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from retort.errors import RetortError
from retort.mappings import called, mappings, pairs_of
from retort.objectives.base import Batch, Pair, Shape, objectives
from retort.registry import unknown

Key = tuple[str, int | None]  # a tap and its layer; None for embeddings and logits
Recorded = Mapping[Key, Tensor]
Place = int | None | tuple[int, ...]  # where an objective reads: a layer, what a model has once, or several layers

TERM_KEYS = ("objective", "mapping", "weight", "options")
ONCE = ("input", "output")  # the levels that a model has once: embeddings and logits
TOGETHER = "layers"  # the level of objectives that read all layers of their mapping at once


@dataclass
class Term:
    """One objective over all its layer pairs.

    Args:
        label: the name under which the logs show it, unique in its sum.
        weight: multiplies the sum over the pairs.
        pairs: (student layer, teacher layer); (None, None) for embeddings and logits, which a model has once; one pair
            of tuples for an objective that reads several layers at once.
        parts: an objective for each of the pairs, with maps and state of its own.
    """

    label: str
    weight: float
    pairs: list[tuple[Place, Place]]
    parts: list[Callable[..., Tensor]]

    def keys(self, side: str) -> set[Key]:
        """The (tap, layer) that the named side, 'student' or 'teacher', must record."""
        which = ("student", "teacher").index(side)
        pairs = zip(self.pairs, self.parts, strict=True)
        return {(tap, layer) for pair, part in pairs for tap in taps_of(part, side) for layer in layers_of(pair[which])}

    def value(self, student: Recorded, teacher: Recorded, batch: Batch) -> Tensor:
        """The scalar sum over the pairs, before the weight."""
        values = [
            part(
                {tap: read(student, tap, s) for tap in taps_of(part, "student")},
                {tap: read(teacher, tap, t) for tap in taps_of(part, "teacher")},
                batch,
            )
            for (s, t), part in zip(self.pairs, self.parts, strict=True)
        ]
        return torch.stack(values).sum()


class Sum(nn.Module):
    """The sum of terms, as a module whose parameters are those of the objectives' maps."""

    def __init__(self, terms: list[Term]) -> None:
        super().__init__()
        self.terms = terms
        self.learned = nn.ModuleDict(
            {term.label: nn.ModuleList(part for part in term.parts if isinstance(part, nn.Module)) for term in terms}
        )

    def needs(self, side: str) -> set[Key]:
        """The (tap, layer) that 'student' or 'teacher' must record; embeddings and logits have None."""
        return set().union(*(term.keys(side) for term in self.terms))

    def forward(self, student: Recorded, teacher: Recorded, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The scalar loss, and by label each term's share of it (weight included), cut from the graph."""
        shares = {term.label: term.weight * term.value(student, teacher, batch) for term in self.terms}
        return torch.stack(list(shares.values())).sum(), {label: share.detach() for label, share in shares.items()}


def layers_of(place: Place) -> tuple[int | None, ...]:
    """The layers at a place, lowest first."""
    return place if isinstance(place, tuple) else (place,)


def read(recorded: Recorded, tap: str, place: Place) -> Tensor:
    """A tap at a place: the tensor of one layer, or (layers, ...) those of several, lowest first."""
    if isinstance(place, tuple):
        return torch.stack([recorded[tap, layer] for layer in place])
    return recorded[tap, place]


def taps_of(objective: Any, side: str) -> tuple[str, ...]:
    """The taps that an objective reads on one side; both sides the same unless it says otherwise."""
    taps: tuple[str, ...] = getattr(objective, f"{side}_taps", objective.taps)
    return taps


def term_pairs(term: Mapping[str, Any], student_layers: int, teacher_layers: int) -> list[tuple[Any, Any]]:
    """The pairs of a term: those of its mapping, one pair of all its layers, or the one pair without layers."""
    name, mapping = term["objective"], term.get("mapping")
    level = getattr(objectives[name], "level", "layer")
    if level in ONCE:
        if mapping is not None:
            raise RetortError(f"objective '{name}' has no layers to map", "leave the mapping out")
        return [(None, None)]
    if mapping is None:
        raise RetortError(f"objective '{name}' needs a mapping", f"one of: {', '.join(mappings)}")
    pairs = pairs_of(mapping, student_layers, teacher_layers)
    if level != TOGETHER:
        return pairs
    return [(tuple(sorted({s for s, _ in pairs})), tuple(sorted({t for _, t in pairs})))]


def unique(name: str, taken: list[str]) -> str:
    """The name, with a number behind it from its second use on."""
    number = 1
    label = name
    while label in taken:
        number += 1
        label = f"{name}-{number}"
    return label


def compose(
    terms: list[dict[str, Any]], student: Shape, teacher: Shape, student_layers: int, teacher_layers: int
) -> Sum:
    """The loss that a list of terms describes, for two models of the given sizes.

    Args:
        terms: each {"objective": name, "mapping": name or {name: options}, "weight": 1.0, "options": {...}}; all but
            the objective may be missing, the mapping only where the objective has no layers.
    """
    built: list[Term] = []
    if not terms:
        raise RetortError("a loss needs at least one term", "list an objective")
    for term in terms:
        for key in term:
            if key not in TERM_KEYS:
                raise unknown("key of a term", key, TERM_KEYS)
        name = term["objective"]
        pairs = term_pairs(term, student_layers, teacher_layers)
        make = objectives[name]
        options = term.get("options") or {}
        shapes = [Pair(student, teacher, (len(layers_of(s)), len(layers_of(t)))) for s, t in pairs]
        parts = [called("objective", name, make, options, sizes) for sizes in shapes]
        label = unique(name, [other.label for other in built])
        built.append(Term(label, float(term.get("weight", 1.0)), pairs, parts))
    return Sum(built)

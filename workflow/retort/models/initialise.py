"""First weights of a student: teacher layers, another student's or a published checkpoint, or random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from retort.errors import RetortError
from retort.models.build import blank, check_shape, has_masked_lm, load
from retort.models.taps import embeddings_of, heads_on, layers_of

WIDTHS = ("hidden_size", "intermediate_size", "embedding_size")


def take_layers(student: Any, source: Any, layers: list[int]) -> None:
    """Nothing; the student has the source's embeddings, listed layers (from 1) and heads.

    Raises:
        RetortError: a layer is deeper than the source, or the widths differ.
    """
    own, other = layers_of(student), layers_of(source)
    if max(layers) > len(other):
        raise RetortError(f"teacher has no layer {max(layers)}", f"it has {len(other)}")
    mine, theirs = ([getattr(m.config, width, m.config.hidden_size) for width in WIDTHS] for m in (student, source))
    if mine != theirs:
        raise RetortError(f"a student of {_widths(mine)} cannot take layers of {_widths(theirs)}", "use 'random: true'")
    for to, given in zip(embeddings_of(student), embeddings_of(source), strict=True):
        to.load_state_dict(given.state_dict())
    for index, layer in enumerate(layers):
        own[index].load_state_dict(other[layer - 1].state_dict())
    take_heads(student, source)


def _widths(widths: list[int]) -> str:
    hidden, intermediate, embedding = widths
    return f"width {hidden} x {intermediate} (embeddings {embedding})"


@torch.no_grad()
def take_heads(student: Any, source: Any) -> None:
    """Nothing; the student has the source's pooler and heads, where both have one of the same shape.

    A masked-LM head ends in the word embeddings; those of the student stay its own.
    """
    tied = {id(weight) for module in embeddings_of(student) for weight in module.parameters()}
    theirs = heads_on(source)
    for name, mine in heads_on(student).items():
        if name in theirs and _alike(mine, theirs[name]):
            given = theirs[name].state_dict()
            for key, weight in mine.named_parameters():
                if id(weight) not in tied:
                    weight.copy_(given[key])


def with_pooler(student: Any, architecture: dict[str, int], source: Path | str) -> Any:
    """The student without its masked-LM head and with a pooler, as fine-tuning wants it.

    transformers builds masked-LM models without a pooler; its weights are those of the folder `source`, the student's
    parent or the published model, as every student without such a head has them. ELECTRA models have none at all.
    """
    bare = student.base_model
    if getattr(bare, "pooler", bare) is not None:
        return bare
    encoder: Any = blank(source, architecture)
    encoder.load_state_dict(bare.state_dict(), strict=False)
    take_heads(encoder, load(source))
    return encoder


def _alike(one: nn.Module, other: nn.Module) -> bool:
    return {k: v.shape for k, v in one.state_dict().items()} == {k: v.shape for k, v in other.state_dict().items()}


def initialise(
    settings: dict[str, Any],
    teacher: Path | str | None,
    model: Path | str,
    parent: Path | str | None,
    head: str,
    classes: int,
) -> nn.Module:
    """A student before its first step.

    Args:
        settings: architecture and initialisation, as the book resolves them.
        teacher: the folder of the fine-tuned teacher.
        model: the folder of the model as published.
        parent: the folder of the student or of the published model that this one starts from, where it does.
        head, classes: the head that the student gets.

    Raises:
        RetortError: the parent is of another architecture or vocabulary than the book says.
    """
    start, architecture = settings["initialisation"], settings["architecture"]
    if parent is not None:
        sizes = {name: size for name, size in architecture.items() if name != "heads"}
        check_shape(parent, sizes, settings["teacher"]["model"]["vocabulary"])
        return _grown(parent, teacher, head, classes, architecture["heads"])
    student = blank(model, architecture, head, classes)
    if start["layers"] is not None:
        source = load(teacher if start["of"] == "teacher" else model, head, classes)
        take_layers(student, source, start["layers"])
    return student


def _grown(parent: Path | str, teacher: Path | str | None, head: str, classes: int, heads: int) -> nn.Module:
    """The parent, its width cut into `heads`, with a head; a masked-LM head is the teacher's, where it has none."""
    grown = load(parent, head, classes, heads)
    if head == "masked-lm" and teacher is not None and not has_masked_lm(parent):
        take_heads(grown, load(teacher, head, classes))
    return grown

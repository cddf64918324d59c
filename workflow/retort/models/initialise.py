"""First weights of a student: listed teacher layers, another student's checkpoint, or random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from retort.errors import RetortError
from retort.models.build import blank, load


def take_layers(student: Any, source: Any, layers: list[int]) -> None:
    """Nothing; the student has the source's embeddings, listed layers (from 1) and heads.

    Raises:
        RetortError: a layer is deeper than the source, or the widths differ.
    """
    own, other = student.base_model, source.base_model
    depth = len(other.encoder.layer)
    if max(layers) > depth:
        raise RetortError(f"teacher has no layer {max(layers)}", f"it has {depth}")
    if student.config.hidden_size != source.config.hidden_size:
        raise RetortError(
            f"a student of width {student.config.hidden_size} cannot take layers of width {source.config.hidden_size}",
            "use 'random: true'",
        )
    own.embeddings.load_state_dict(other.embeddings.state_dict())
    for index, layer in enumerate(layers):
        own.encoder.layer[index].load_state_dict(other.encoder.layer[layer - 1].state_dict())
    if own.pooler is not None and other.pooler is not None:
        own.pooler.load_state_dict(other.pooler.state_dict())
    take_head(student, source)


def take_head(student: Any, source: Any) -> None:
    """Nothing; the student has the source's head, where both have one of the same shape."""
    for name in ("classifier", "qa_outputs", "cls", "lm_head"):
        mine, theirs = getattr(student, name, None), getattr(source, name, None)
        if isinstance(mine, nn.Module) and isinstance(theirs, nn.Module) and _alike(mine, theirs):
            mine.load_state_dict(theirs.state_dict())


def with_pooler(student: Any, architecture: dict[str, int], source: Path | str) -> Any:
    """The student without its masked-LM head and with a pooler, as fine-tuning wants it.

    transformers builds masked-LM models without a pooler; its weights are those of the folder `source`, the student's
    parent or the published model, as every student without such a head has them.
    """
    if getattr(student.base_model, "pooler", None) is not None:
        return student
    encoder: Any = blank(source, architecture)
    encoder.load_state_dict(student.base_model.state_dict(), strict=False)
    other: Any = load(source)
    if _alike(encoder.pooler, other.pooler):
        encoder.pooler.load_state_dict(other.pooler.state_dict())
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
        parent: the folder of the student that this one starts from, where it does.
        head, classes: the head that the student gets.
    """
    start, architecture = settings["initialisation"], settings["architecture"]
    if start["student"] is not None:
        if parent is None:
            raise RetortError(f"student '{start['student']}' has no checkpoint here")
        grown = load(parent, head, classes)
        if head == "masked-lm":
            take_head(grown, load(teacher, head, classes))
        return grown
    student = blank(model, architecture, head, classes)
    if start["layers"] is not None:
        source = load(teacher if start["of"] == "teacher" else model, head, classes)
        take_layers(student, source, start["layers"])
    return student

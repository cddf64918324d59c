"""Initialise a student: from teacher layers, another student, a released checkpoint, or at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from retort.errors import RetortError
from retort.models.build import blank, check_shape, has_masked_lm, load
from retort.models.encoders import embeddings_of, heads_on, layers_of
from retort.settings.inputs import ModelSettings
from retort.settings.trainings import DistillationSettings

WIDTHS = ("hidden_size", "intermediate_size", "embedding_size")


@dataclass(frozen=True)
class StartFolders:
    """The folders that a student may start from.

    Args:
        teacher: the folder of the teacher; None if the student reads nothing of it.
        model: the folder of the released model behind the teacher, which gives the family.
        tokenizer: the folder of the tokenizer with which the data is encoded.
        parent: the folder of the student or released model that the student starts from; None if there is none.
    """

    teacher: str | None
    model: str
    tokenizer: str
    parent: str | None


def check_released(folder: Path | str, model: ModelSettings) -> None:
    """Check that the folder of a released model holds the model that the study describes.

    Raises:
        RetortError: a field of its config.json differs.
    """
    check_shape(folder, model.architecture, model.vocabulary, positions=model.positions)


def take_layers(student: Any, source: Any, layers: list[int], new_heads: bool = False) -> None:
    """Copy the source's embeddings, listed layers and heads into the student.

    Args:
        student: the model to initialise.
        source: the model whose weights are copied.
        layers: numbers of the source's layers, from 1; the i-th number becomes the student's i-th layer.
        new_heads: leave the student's pooler and heads as they are.

    Raises:
        RetortError: the source has no such layer, or the widths of the two models differ.
    """
    own, other = layers_of(student), layers_of(source)
    if max(layers) > len(other):
        raise RetortError(f"teacher has no layer {max(layers)}", f"it has {len(other)}")
    # attention heads are not compared: no weight's shape depends on their number
    mine, theirs = ([getattr(m.config, width, m.config.hidden_size) for width in WIDTHS] for m in (student, source))
    if mine != theirs:
        ours, others = ("width {} x {} (embeddings {})".format(*each) for each in (mine, theirs))
        raise RetortError(f"a student of {ours} cannot take layers of {others}", "use 'random: true'")
    # the embeddings are always copied, as in Wang et al. (2023), section 4
    for copy, original in zip(embeddings_of(student), embeddings_of(source), strict=True):
        copy.load_state_dict(original.state_dict())
    for index, layer in enumerate(layers):
        own[index].load_state_dict(other[layer - 1].state_dict())  # papers count layers from 1
    if not new_heads:
        take_heads(student, source)


@torch.no_grad()
def take_heads(student: Any, source: Any) -> None:
    """Copy the source's pooler and heads into the student, if both models have them in the same shape.

    Do not copy the last layer of a masked-LM head, which is tied to the word embeddings.
    """
    # a tied weight is one object under two names
    tied = {id(weight) for module in embeddings_of(student) for weight in module.parameters()}
    theirs = heads_on(source)
    for name, mine in heads_on(student).items():
        weights = theirs[name].state_dict() if name in theirs else {}
        if {key: w.shape for key, w in mine.state_dict().items()} == {key: w.shape for key, w in weights.items()}:
            for key, weight in mine.named_parameters():
                if id(weight) not in tied:
                    weight.copy_(weights[key])


def with_pooler(student: Any, settings: DistillationSettings, source_folder: Path | str, seed: int) -> Any:
    """Return the student without its masked-LM head and with a pooler, as fine-tuning needs it.

    transformers builds masked-LM models without a pooler. The student gets the pooler with which it would have started
    without a masked-LM head: that of its parent or of the released model, or a random one, also where these have none.
    ELECTRA models have no pooler and are returned without one.

    Args:
        student: the distilled model.
        settings: the settings of its distillation.
        source_folder: the folder of the model that gives the pooler.
        seed: the seed with which `initialise_student` drew the student's first weights.
    """
    bare = student.base_model
    if getattr(bare, "pooler", bare) is not None:  # None: built without a pooler; no such attribute: ELECTRA
        return bare
    torch.manual_seed(seed)  # a random pooler depends neither on the training nor on companions
    source = None if settings.initialisation.random else load(source_folder)
    encoder: Any = blank(source_folder, settings.architecture)
    encoder.load_state_dict(bare.state_dict(), strict=False)  # all but the pooler
    if source is not None:
        take_heads(encoder, source)
    return encoder


def initialise_student(
    settings: DistillationSettings,
    vocabulary: int,
    folders: StartFolders,
    head: str,
    num_labels: int,
    labels: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> nn.Module:
    """Return a student before its first training step.

    Args:
        settings: the student's settings, with its architecture and initialisation.
        vocabulary: number of tokens in the vocabulary.
        folders: the folders of the teacher, the released model and the parent.
        head: the student's head, a key of `build.HEADS`.
        num_labels: number of outputs of the head.
        labels: the names of the outputs of a classification head.
        say: called with a line about the head of a model that was fine-tuned before.

    Raises:
        RetortError: the parent has another architecture or vocabulary than the study states.
    """
    start, architecture = settings.initialisation, settings.architecture
    if folders.parent is not None:
        # the parent may have any number of attention heads: no weight depends on it, and the student has its own
        check_shape(folders.parent, architecture, vocabulary, any_heads=True)
        student = load(folders.parent, head, num_labels, architecture.heads, labels, say)
        if head == "masked-lm" and folders.teacher is not None and not has_masked_lm(folders.parent):
            take_heads(student, load(folders.teacher, head, num_labels))
        return student
    student = blank(folders.model, architecture, head, num_labels)  # random, where no layers are copied
    if start.layers is not None:
        source_folder = folders.teacher if start.of == "teacher" else folders.model
        assert source_folder is not None  # a student that takes layers of its teacher reads the teacher
        # a teacher's head is of the student's own task: there is nothing to say
        source = load(source_folder, head, num_labels, labels=labels, say=None if start.of == "teacher" else say)
        take_layers(student, source, start.layers, start.new_heads)
    return student

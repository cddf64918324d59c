"""The work of models: FLOPs of encoders and heads, their weights, and the bytes that the optimiser moves.

A multiply-add of a matrix product is two FLOPs; norms, softmax and losses are left out. A backward pass takes twice the
FLOPs of the forward pass: one product for the gradient of the input, and one for the gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from retort.cost.speed import Work
from retort.settings.inputs import TaskSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule, steps_per_epoch

POSITIONS = 516  # rows of the position and token type embeddings, and of a norm
TRAINED = 3  # passes of a training step: forward, and backward, which counts twice
UPDATED = 48  # bytes that a step moves for each weight: 28 of AdamW, 12 of the gradient's norm, 8 to make gradients


def matmul_parameters(architecture: Architecture, layers: int | None = None) -> int:
    """Count the weights of an encoder that are multiplied at every token: all matrices but the looked-up embeddings.

    Args:
        architecture: the sizes of the encoder.
        layers: count only this many of the first layers; None for all.
    """
    depth = architecture.layers if layers is None else layers
    return depth * architecture.layer_weights + (architecture.embedding or 0) * architecture.hidden


def parameters(architecture: Architecture, vocabulary: int, frozen: Sequence[str] = ()) -> int:
    """Count the weights of an encoder that are not frozen: embeddings, matrices, biases and norms.

    Args:
        architecture: the sizes of the encoder.
        vocabulary: the number of tokens in its vocabulary.
        frozen: weights to leave out: 'embeddings', 'encoder'.
    """
    width = architecture.embedding or architecture.hidden
    vectors = architecture.layers * (9 * architecture.hidden + architecture.intermediate)  # biases and norms
    counts = {"embeddings": (vocabulary + POSITIONS) * width, "encoder": matmul_parameters(architecture) + vectors}
    return sum(count for name, count in counts.items() if name not in frozen)


def forward(architecture: Architecture, length: float, layers: int | None = None, kept: float | None = None) -> float:
    """Return the FLOPs of one row through an encoder.

    Args:
        architecture: the sizes of the encoder.
        length: tokens of the row.
        layers: run only this many of the first layers; None for all.
        kept: number of positions at which the last layer computes what follows its attention; None for all.
    """
    depth = architecture.layers if layers is None else layers
    attention = 4 * length**2 * architecture.hidden  # queries times keys, attention weights times values
    left_out = 0.0 if kept is None or not depth else architecture.weights_after_attention * (length - kept)
    return 2 * (matmul_parameters(architecture, layers) * length - left_out) + depth * attention


@dataclass(frozen=True)
class Head:
    """What follows an encoder.

    Args:
        flops: returns the FLOPs of one row, by the sizes of the encoder.
        outputs: logits of a row.
        kept: positions of the last layer that it reads; None for all.
    """

    flops: Callable[[Architecture], float]
    outputs: float
    kept: int | None = None

    def pass_over(self, architecture: Architecture, length: float) -> float:
        """Return the FLOPs of one row through an encoder and this head."""
        return forward(architecture, length, kept=self.kept) + self.flops(architecture)


def classifier(outputs: int) -> Head:
    """Return a pooler and a classifier, which see only the first position."""
    return Head(lambda size: 2 * size.hidden * (size.hidden + outputs), outputs, kept=1)


def span(length: float) -> Head:
    """Return a span head, which gives a start and an end logit at each of `length` positions."""
    return Head(lambda size: 2 * size.hidden * 2 * length, 2 * length)


def masked_lm(vocabulary: int, masked: float, length: float) -> Head:
    """Return a masked-LM head, a dense layer and the decoder, at a fraction of the positions of a row."""

    def flops(size: Architecture) -> float:
        width = size.embedding or size.hidden
        return 2 * width * (size.hidden + vocabulary) * masked * length

    return Head(flops, masked * length * vocabulary)


def head_of(task: TaskSettings, length: float) -> Head:
    """Return the head of a task, for rows of `length` tokens."""
    if catalogue.task_types()[task.task_type].facts["has_windows"]:
        return span(length)
    return classifier(len(task.labels) or 1)


def examples(schedule: Schedule, rows: int) -> float:
    """Return how many rows a training run reads: its steps times the mean number of rows in a step."""
    return schedule.steps_on(rows) * rows / steps_per_epoch(rows, schedule.batch_size)


def updates(architecture: Architecture, vocabulary: int, schedule: Schedule, rows: int) -> Work:
    """Return the work of the optimiser, which updates all weights that are trained at each step."""
    trained = parameters(architecture, vocabulary, schedule.freeze)
    return Work(traffic=UPDATED * trained * schedule.steps_on(rows))

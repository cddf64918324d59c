"""FLOPs of encoders: two per multiply-add of a matrix product; norms, softmax and losses are left out.

A backward pass takes twice the FLOPs of the forward pass: one product for the gradient of the input, and one for the
gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from retort.specs.model import Architecture

POSITIONS = 516  # rows of the position and token type embeddings, and of a norm
TRAINED = 3  # passes of a training step: forward, and backward, which counts twice


def matmul_parameters(architecture: Architecture, layers: int | None = None) -> int:
    """Count the weights of an encoder that are multiplied at every token: all matrices but the looked-up embeddings.

    Args:
        architecture: the sizes of the encoder.
        layers: count only this many of the first layers; None for all.
    """
    depth = architecture.layers if layers is None else layers
    projection = (architecture.embedding or 0) * architecture.hidden
    return depth * architecture.layer_weights + projection


def parameters(architecture: Architecture, vocabulary: int, frozen: Sequence[str] = ()) -> int:
    """Count the weights of an encoder that are not frozen: embeddings, matrices, biases and norms.

    Args:
        architecture: the sizes of the encoder.
        vocabulary: the number of tokens in its vocabulary.
        frozen: weights to leave out: 'embeddings', 'encoder'.
    """
    width = architecture.embedding or architecture.hidden
    vectors = architecture.layers * (9 * architecture.hidden + architecture.intermediate)  # biases and norms
    counts = {
        "embeddings": (vocabulary + POSITIONS) * width,
        "encoder": matmul_parameters(architecture) + vectors,
    }
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


def classifier(architecture: Architecture, outputs: int) -> float:
    """Return the FLOPs of one row through a pooler and a classifier, which see only the first position."""
    return 2 * architecture.hidden * (architecture.hidden + outputs)


def span(architecture: Architecture, length: float) -> float:
    """Return the FLOPs of one row through a span head, which gives a start and an end logit at every position."""
    return 2 * architecture.hidden * 2 * length


def masked_lm(architecture: Architecture, vocabulary: int, positions: float) -> float:
    """Return the FLOPs of one row through a masked-LM head at its masked positions: a dense layer and the decoder."""
    width = architecture.embedding or architecture.hidden
    return 2 * width * (architecture.hidden + vocabulary) * positions

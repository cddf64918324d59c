"""FLOPs of encoders: two a multiplication and addition in a matrix product; norms, softmax and losses are left out.

A backward pass takes twice the forward pass: one product for the gradient of the input, one for that of the weights.
"""

from __future__ import annotations

from typing import Any

TRAINED = 3  # forward, and backward twice that
Architecture = dict[str, Any]


def matmul_parameters(architecture: Architecture, layers: int | None = None) -> int:
    """Weights of an encoder that take part in a matrix product at every token; embeddings are looked up.

    Args:
        architecture: layers, heads, hidden, intermediate, and embedding where it is narrower.
        layers: only the first so many.
    """
    hidden, narrow = architecture["hidden"], architecture.get("embedding")
    depth = architecture["layers"] if layers is None else layers
    each = 4 * hidden**2 + 2 * hidden * architecture["intermediate"]  # queries, keys, values, output; up, down
    return depth * each + (narrow * hidden if narrow else 0)


def forward(architecture: Architecture, length: float, layers: int | None = None) -> float:
    """FLOPs of one row of `length` tokens through an encoder, or through its first layers."""
    depth = architecture["layers"] if layers is None else layers
    attention = 4 * length**2 * architecture["hidden"]  # queries with keys, weights with values
    return 2 * matmul_parameters(architecture, layers) * length + depth * attention


def classifier(architecture: Architecture, outputs: int) -> float:
    """FLOPs of one row through a pooler and a classifier, which see the first position alone."""
    return 2 * architecture["hidden"] * (architecture["hidden"] + outputs)


def span(architecture: Architecture, length: float) -> float:
    """FLOPs of one row through a span head: a start and an end at every position."""
    return 2 * architecture["hidden"] * 2 * length


def masked_lm(architecture: Architecture, vocabulary: int, positions: float) -> float:
    """FLOPs of one row through a masked-LM head at its masked positions: a dense layer, then the vocabulary."""
    width = architecture.get("embedding") or architecture["hidden"]
    return 2 * width * (architecture["hidden"] + vocabulary) * positions

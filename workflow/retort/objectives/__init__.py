"""All objectives: importing this package registers them."""

from __future__ import annotations

from retort.objectives import attention, contrast, embeddings, hidden, logits, relations, samples, transport
from retort.objectives.base import Batch, Pair, Shape, Taps, objectives
from retort.objectives.compose import Sum, Term, compose

__all__ = [
    "Batch",
    "Pair",
    "Shape",
    "Sum",
    "Taps",
    "Term",
    "attention",
    "compose",
    "contrast",
    "embeddings",
    "hidden",
    "logits",
    "objectives",
    "relations",
    "samples",
    "transport",
]

"""The precision in which a GPU multiplies matrices of float32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """Multiply matrices of float32 inside a block as a precision says: 'tf32' keeps 10 bits of each factor's 23.

    Sums are in float32 in any case, and so is everything on a CPU.
    """
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        matmul.fp32_precision = before

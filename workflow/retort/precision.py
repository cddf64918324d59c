"""The precision in which a GPU multiplies matrices of float32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """Set the precision in which a GPU multiplies float32 matrices inside a block.

    Args:
        precision: 'tf32' rounds the factors to 10 bits of mantissa in place of 23; all others multiply in full
            float32. Sums are in float32 in any case, and so is everything on a CPU.
    """
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        matmul.fp32_precision = before
